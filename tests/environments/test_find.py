"""A recipe is found in what a project already says to its CI, one rule a test. Nothing of it is executed."""

import json
import subprocess
import time
from pathlib import Path
from textwrap import dedent

import pytest

from codegate.environments import FoundRecipe, Recipe, find_recipes, is_obtainable, recipe_yaml
from codegate.environments.tools import Has
from codegate.suite import Tree, TreeFile, parse_yaml

CI = ".github/workflows/ci.yml"


def tree(files: dict[str, str]) -> Tree:
    return Tree({path: TreeFile(text.encode()) for path, text in files.items()})


def find_recipe(files: Tree, path: str = "", has: Has | None = None) -> FoundRecipe:
    """Return the recipe that is tried first."""
    return find_recipes(files, path, has=has)[0]


def _compiled(options: str = "") -> str:
    """Return what compiles all that Go tests need and that is not the project's own."""
    listed = " ".join(filter(None, ["go list -e -deps -test", options]))
    own = "{{if or .Standard (and .Module (not .Module.Main))}}{{.ImportPath}}{{end}}"
    return f"{listed} -f '{own}' ./... | xargs -r {' '.join(filter(None, ['go build', options]))}"


def workflow(steps: str, job: str = "runs-on: ubuntu-latest", on: str = "[push, pull_request]") -> str:
    """Return a workflow with one job ``test``; ``job`` and ``steps`` are its lines."""
    lines = [
        f"on: {on}",
        "jobs:",
        "  test:",
        *(f"    {line}" for line in dedent(job).strip().splitlines()),
        "    steps:",
    ]
    return "\n".join([*lines, *(f"    {line}" for line in dedent(steps).strip("\n").splitlines())]) + "\n"


def found_in(steps: str, job: str = "runs-on: ubuntu-latest", **others: str) -> FoundRecipe:
    """Return what is found with one workflow; other files are given by their paths, with ``__`` for a slash."""
    files = {name.replace("__", "/").replace("_dot_", "."): text for name, text in others.items()}
    return find_recipe(tree({CI: workflow(steps, job), **files}))


def test_steps_before_the_tests_are_set_up_and_the_command_keeps_its_flags() -> None:
    found = found_in(
        """
        - uses: actions/checkout@v4
        - uses: actions/setup-python@v5
          with: {python-version: '3.13'}
        - run: npm ci
        - run: |
            uv sync
            mkdir data
        - run: uv run pytest -n auto -m "not slow"
        - run: twine upload dist/*
        """
    )
    assert found.recipe == Recipe(
        tools={"python": "3.13"}, setup=("npm ci", "uv sync\nmkdir data"), tests="uv run pytest -n auto -m 'not slow'"
    )
    assert found.left_out == ()
    assert found.sources["setup.1"] == f"`{CI}`, job `test`"


def test_variables_of_workflow_job_and_step_are_the_recipes() -> None:
    steps = "- run: pip install -r r.txt\n- run: pytest\n  env: {DB: sqlite, LEVEL: '${{ env.OUTER }}-2'}"
    text = workflow(steps, "runs-on: ubuntu-latest\nenv: {KEY: dummy}")
    found = find_recipe(tree({CI: f"env: {{OUTER: one}}\n{text}"}))
    assert found.recipe.env == {"OUTER": "one", "KEY": "dummy", "DB": "sqlite", "LEVEL": "one-2"}


def test_a_workflow_is_read_as_github_reads_yaml_with_aliases_and_without_old_truths() -> None:
    env = "env: &env {GO111MODULE: on, DAY: 2026-01-02, CI: true}"
    found = found_in("- run: go test ./...", f"runs-on: x\n{env}\nservices: {{redis: {{image: redis, env: *env}}}}")
    assert found.recipe.env == {"GO111MODULE": "on", "DAY": "2026-01-02", "CI": "true"}
    assert found.recipe.services == ("redis",)


def test_what_wraps_nodes_own_runner_gives_way_to_it_and_a_small_part_of_the_tests_comes_last() -> None:
    files = {
        "package.json": '{"scripts": {"test": "borp"}}',
        **{f"test/{name}.test.js": "const { test } = require('node:test')\n" for name in ("a", "b", "c")},
        "bundled/package.json": '{"scripts": {"test": "node check.js"}}',
        "bundled/test/d.js": "require('assert')\n",
    }
    of_job = workflow("- run: npm install\n- run: npm test\n  working-directory: bundled")
    first, last = find_recipes(tree({CI: of_job, **files}))
    assert first.recipe.tools == {"node": "24"}, "nothing names one, and images have none"
    assert (first.recipe.tests, first.recipe.setup, first.recipe.folder) == ("node --test", ("npm install",), "")
    assert (last.recipe.tests, last.recipe.folder) == ("npm test", "bundled")


def test_a_variable_with_places_of_cis_machine_is_left_out_and_named() -> None:
    makefile = "test:\n\tgo test ./...\n"
    found = found_in('- run: COLOR="no $X" A=1 PATH=$HOME/go/bin:$PATH make test\n  env: {X: y}', Makefile=makefile)
    assert found.recipe.tests == "go test ./..."
    assert found.recipe.env == {"X": "y", "COLOR": "no y", "A": "1"}
    assert found.left_out == ("the variable `PATH`: `$HOME` has no value here",)
    found = found_in("- run: NOW=$(date +%s) A=${{ secrets.A }} B='x y' pytest")
    assert (found.recipe.tests, found.recipe.env) == ("pytest", {"B": "x y"})
    assert [clause[:18] for clause in found.left_out] == ["the variable `NOW`", "the variable `A`: "]


def test_variables_of_a_set_up_step_are_its_own() -> None:
    found = found_in("- run: make assets\n  env: {NODE_ENV: a b}\n- run: pytest")
    assert found.recipe.setup == ("export NODE_ENV='a b'\nmake assets",)
    assert found.recipe.env == {}


def test_what_only_github_knows_is_left_out_and_named() -> None:
    found = found_in(
        """
        - run: |
            pip install -r requirements.txt
            curl -H ${{ github.token }} example.com
        - run: pytest
          env: {TOKEN: '${{ secrets.TOKEN }}', OTHER: '1'}
        """
    )
    assert found.recipe.setup == ("pip install -r requirements.txt",)
    assert found.recipe.env == {"OTHER": "1"}
    assert found.left_out == (
        "`github.token` has no value here",
        "the variable `TOKEN`: `secrets.TOKEN` has no value here",
    )


MATRIX = "runs-on: ubuntu-latest\nstrategy: {matrix: {python-version: ['3.9', '3.13', '3.14'], db: [sqlite, postgres]}}"
ON_MATRIX = """
- uses: actions/setup-python@v5
  with: {python-version: '${{ matrix.python-version }}'}
- run: start-postgres
  if: matrix.db == 'postgres'
- run: pip install -r requirements.txt
  if: ${{ matrix.python-version != '3.9' && success() }}
- run: pytest
  env: {DB: '${{ matrix.db }}'}
"""


def test_of_a_matrix_the_newest_version_and_the_first_of_all_else_is_taken() -> None:
    recipe = found_in(ON_MATRIX, MATRIX).recipe
    assert recipe.tools == {"python": "3.14"}
    assert recipe.env == {"DB": "sqlite"}
    assert recipe.setup == ("pip install -r requirements.txt",)


@pytest.mark.parametrize(
    ("condition", "runs"),
    [
        ("endsWith(matrix.python-version, 't')", False),
        ("endsWith(matrix.db, 'LITE')", True),
        ("format('{1}-{0}', matrix.db, 'x') != 'x-sqlite'", False),
        ("contains(toJSON(matrix.hosts), 'c')", False),
        ("fromJSON('{\"sqlite\": false}')[matrix.db]", False),
        ("matrix.db == 'sqlite' == false", False),
        ("matrix.db != 'mysql' == true", True),
        ("hashFiles('requirements.txt') == ''", True),  # only GitHub knows: the step is kept
    ],
)
def test_a_step_is_left_out_by_the_value_of_githubs_expression(condition: str, runs: bool) -> None:
    steps = f"""
    - run: echo "PYTHON_GIL=0" >> $GITHUB_ENV
      if: {json.dumps(condition)}
    - run: pytest
    """
    job = MATRIX.replace("db:", "hosts: [[a, b]], db:")
    assert found_in(steps, job).recipe.env == ({"PYTHON_GIL": "0"} if runs else {})


@pytest.mark.parametrize("text", ["toJSON(inputs)", "inputs"])
def test_a_value_that_github_knows_in_part_is_left_out_and_named(text: str) -> None:
    action = f"""
    inputs: {{token: {{default: ''}}}}
    runs:
      using: composite
      steps:
        - {{run: "echo '${{{{ {text} }}}}' > given", shell: bash}}
        - {{run: mkdir data, shell: bash}}
    """
    steps = """
    - uses: ./.github/prepare
      with: {token: '${{ secrets.TOKEN }}'}
    - run: pytest
    """
    found = found_in(steps, **{".github/prepare/action.yml": dedent(action)})
    assert found.recipe.setup == ("mkdir data",)
    assert f"`{text}` has no value here" in found.left_out


def test_a_toolchain_that_an_index_brings_is_to_be_had() -> None:
    jobs = """
    on: push
    jobs:
      a:
        runs-on: ubuntu-latest
        steps: [{uses: actions/setup-node@v4, with: {node-version: 98}}, {run: npx vitest}]
      b: {runs-on: ubuntu-latest, steps: [{run: npx vitest --project one}]}
    """
    found = find_recipe(tree({CI: dedent(jobs)}), has=is_obtainable)
    assert (found.recipe.tests, found.recipe.tools) == ("npx vitest", {"node": "98"})


def test_a_matrix_excludes_and_includes() -> None:
    job = """
    runs-on: ${{ matrix.os }}
    continue-on-error: ${{ matrix.experimental == true }}
    strategy:
      matrix:
        os: [windows-latest, ubuntu-latest]
        python: ['3.12', '3.13']
        exclude: [{os: ubuntu-latest, python: '3.13'}]
        include:
          - {os: ubuntu-latest, python: 3.15-dev, experimental: true}
          - {python: '3.12', flags: --strict}
    """
    action = "- uses: actions/setup-python@v5\n  with: {python-version: '${{ matrix.python }}'}"
    recipe = found_in(f"{action}\n- run: pytest ${{{{ matrix.flags }}}}", job).recipe
    assert (recipe.tools, recipe.tests) == ({"python": "3.12"}, "pytest --strict")


def test_what_a_matrix_adds_comes_behind_its_own_combinations() -> None:
    job = """
    runs-on: ubuntu-latest
    strategy:
      matrix:
        options: ['--strict --no-header']
        include: [{options: --old}]
    """
    assert found_in("- run: pytest ${{ matrix.options }}", job).recipe.tests == "pytest --strict --no-header"


def test_uv_run_installs_what_no_step_before_it_did() -> None:
    run = "- run: uv run --no-dev --group test python -m pytest --cov"
    assert found_in(run).recipe.setup == ("uv run --no-dev --group test python -m pytest --help",)
    assert found_in(f"- run: uv sync --group test\n{run}").recipe.setup == ("uv sync --group test",)


VOLTA = '{"volta": {"node": "20.9.0"}, "engines": {"node": ">=18"}}'
RUST = '[toolchain]\nchannel = "1.85.0"\ncomponents = ["clippy"]\n'


@pytest.mark.parametrize(
    ("action", "given", "files", "tools"),
    [
        ("actions/setup-node@v4", "node-version-file: .nvmrc", {".nvmrc": "v22.3.0\n"}, {"node": "22"}),
        ("actions/setup-node@v4", "node-version: 20.x", {}, {"node": "20"}),
        ("actions/setup-node@v4", "node-version: lts/*", {}, {"node": "24"}),
        ("actions/setup-go@v5", "go-version-file: go.mod", {"go.mod": "module a\n\ngo 1.26.2\n"}, {"go": "1.26"}),
        ("actions/setup-java@v4", "{distribution: temurin, java-version: 21}", {}, {"java": "21"}),
        ("actions/setup-python@v5", "{}", {".python-version": "3.12.4"}, {"python": "3.12"}),
        (
            "oven-sh/setup-bun@v2",
            "bun-version-file: .tool-versions",
            {".tool-versions": "bun  1.2.19"},
            {"bun": "1.2.19"},
        ),
        ("actions/setup-node@v4", "{}", {"package.json": VOLTA}, {"node": "20"}),
        ("pnpm/action-setup@v4", "{}", {"package.json": '{"packageManager": "pnpm@9.1.0+sha1.a"}'}, {"pnpm": "9.1.0"}),
        ("dtolnay/rust-toolchain@stable", "{components: clippy}", {}, {"rust": "stable"}),
        ("dtolnay/rust-toolchain@master", "{toolchain: 1.80}", {}, {"rust": "1.8"}),
        ("actions-rust-lang/setup-rust-toolchain@v1", "{}", {"rust-toolchain.toml": RUST}, {"rust": "1.85.0"}),
        ("actions-rust-lang/setup-rust-toolchain@v1", "{}", {"rust-toolchain": RUST}, {"rust": "1.85.0"}),
        ("dtolnay/rust-toolchain@stable", "{}", {"rust-toolchain": "nightly-2024-05-01\n"}, {"rust": "stable"}),
        ("astral-sh/setup-uv@v6", "{version: 0.9.1, python-version: '3.13'}", {}, {"python": "3.13"}),
    ],
)
def test_set_up_actions_bring_toolchains(action: str, given: str, files: dict[str, str], tools: dict[str, str]) -> None:
    steps = f"- uses: {action}\n  with:\n    {given}\n- run: make check-all-tests"
    assert find_recipe(tree({CI: workflow(steps), **files})).recipe.tools == tools


def test_an_action_that_is_not_known_is_left_out_and_named() -> None:
    found = found_in("- uses: actions/cache@v4\n- uses: some/database@v1\n- run: pytest")
    assert found.left_out == ("`uses: some/database` is no action that is known here",)


def test_actions_of_the_repository_are_followed() -> None:
    action = """
    inputs: {extra: {default: all}}
    runs:
      using: composite
      steps:
        - uses: actions/setup-python@v5
          with: {python-version: '3.13'}
        - run: uv sync --extra ${{ inputs.extra }}
          shell: bash
    """
    own = {".github/actions/prepare/action.yml": dedent(action)}
    found = find_recipe(
        tree({CI: workflow("- uses: ./.github/actions/prepare\n  with: {extra: dev}\n- run: pytest"), **own})
    )
    assert found.recipe == Recipe(tools={"python": "3.13"}, setup=("uv sync --extra dev",), tests="pytest")
    assert found.sources["setup.0"] == f"`.github/actions/prepare`, used by `{CI}`, job `test`"


def test_workflows_that_are_called_are_followed() -> None:
    caller = "on: pull_request\njobs:\n  all:\n    uses: ./.github/workflows/unit.yml\n    with: {mark: fast}\n"
    called = workflow("- run: pytest -m ${{ inputs.mark }}", on="{workflow_call: {inputs: {mark: {type: string}}}}")
    found = find_recipe(tree({CI: caller, ".github/workflows/unit.yml": called}))
    assert found.recipe.tests == "pytest -m fast"


JOBS = """
on: [push, pull_request]
jobs:
  windows: {runs-on: windows-latest, steps: [{run: pytest -k windows}]}
  e2e: {runs-on: ubuntu-latest, steps: [{run: pytest e2e}]}
  database: {runs-on: ubuntu-latest, services: {db: {image: 'postgres:16'}}, steps: [{run: pytest}]}
  unit: {runs-on: ubuntu-latest, steps: [{run: pytest -q}]}
  coverage: {runs-on: ubuntu-latest, steps: [{run: coverage run -m pytest -q}]}
"""


@pytest.mark.requirement("M10")
def test_of_several_test_jobs_the_plainest_one_is_tried_first_and_then_what_files_imply() -> None:
    nightly = workflow("- run: pytest", on="{schedule: [{cron: '0 0 * * *'}]}")
    files = {CI: JOBS, ".github/workflows/a.yml": nightly, "uv.lock": "", "tests/test_a.py": ""}
    assert [found.place for found in find_recipes(tree(files))] == [
        f"`{CI}`, job `unit`",
        f"`{CI}`, job `coverage`",
        f"`{CI}`, job `database`",
        "`uv.lock`",
    ]


@pytest.mark.parametrize(
    ("command", "few"),
    [
        ("pytest tests", False),
        ("pytest --ignore tests/slow", False),
        ("pytest --check-build=dist tests/slow", True),
        ("pytest tests/test_1.py::test_x", True),
        ("python -m unittest tests.test_1.Own.test_x", True),
    ],
)
def test_what_a_command_names_is_counted_in_the_tests_of_its_language(command: str, few: bool) -> None:
    files = {f"tests/test_{number}.py": "" for number in range(4)} | {"tests/slow/test_a.py": ""}
    files |= {f"src/part_{number}.rs": "" for number in range(9)}
    jobs = (
        f"a: {{runs-on: x, steps: [{{run: {command}}}]}}\n  b: {{runs-on: x, steps: [{{run: pytest --pyargs shop}}]}}"
    )
    first = find_recipe(tree({CI: f"on: push\njobs:\n  {jobs}\n", **files}))
    assert (first.recipe.tests != command) == few


def test_the_toolchain_of_an_image_is_left_to_it() -> None:
    job = "{runs-on: x, container: 'node:18', steps: [{run: npx mocha}]}"
    package = '{"scripts": {"test": "mocha"}, "engines": {"node": ">=18"}}'
    recipe = find_recipe(tree({CI: f"on: push\njobs:\n  a: {job}\n", "package.json": package, "test/a.js": ""})).recipe
    assert (recipe.image, recipe.tools) == ("node:18", {})


def test_recipes_that_are_equal_are_tried_once() -> None:
    jobs = "on: push\njobs:\n  a: {runs-on: x, steps: [{run: pytest}]}\n  b: {runs-on: x, steps: [{run: pytest}]}\n"
    assert [found.place for found in find_recipes(tree({CI: jobs}))] == [f"`{CI}`, job `a`"]


def test_a_version_that_is_not_to_be_had_gives_way_to_the_nearest_that_is() -> None:
    steps = "- uses: actions/setup-python@v5\n  with: {python-version: '3.14'}\n- run: tox -e py"
    files = {CI: workflow(steps), "tox.ini": "[testenv]\ncommands = pytest\n"}
    found = find_recipe(tree(files), has=lambda _, version: version in {"3.9", "3.12"})
    assert found.recipe.tools == {"python": "3.12"}
    assert "run --notest -e py312 " in found.recipe.setup[0]
    assert "python 3.14 is not to be had here: 3.12 is taken" in found.left_out


@pytest.mark.parametrize(
    ("engines", "files", "tools"),
    [
        (">= 18", {}, {"node": "24"}),
        ("^20.19.0 || ^22.12.0 || >=23", {}, {"node": "24"}),
        (">=26.1", {}, {"node": "26"}),
        (">=20 <23", {}, {"node": "20"}),
        ("23", {}, {"node": "24"}),
        ("", {".nvmrc": "v16.3"}, {"node": "20"}),
        ("", {"go.mod": "module a\n\ngo 1.17\n", "a_test.go": "", "b_test.go": ""}, {"go": "1.21"}),
    ],
)
def test_a_lower_bound_is_no_pin_and_what_no_index_has_gives_way(
    engines: str, files: dict[str, str], tools: dict[str, str]
) -> None:
    package = json.dumps({"scripts": {"test": "mocha"}, "engines": {"node": engines}})
    assert find_recipe(tree({"package.json": package, "test/a.js": "", **files})).recipe.tools == tools


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"setup.py": "'Programming Language :: Python :: 3.9', 'Programming Language :: Python :: 3.8'"}, "3.9"),
        (
            {"setup.cfg": "[metadata]\nclassifiers =\n    Programming Language :: Python :: 3.5\n", "setup.py": ""},
            "3.8",
        ),
        ({"pyproject.toml": "[project]\nrequires-python = '>=3.8,<3.10'\n"}, "3.9"),
        ({"pyproject.toml": "[project]\nrequires-python = '>=3.8'\n"}, "3.12"),
    ],
)
def test_a_tree_that_supports_old_versions_gets_the_newest_of_them_that_is_to_be_had(
    files: dict[str, str], version: str
) -> None:
    found = find_recipe(tree({"tests/test_a.py": "", **files}), has=lambda _, one: one in {"3.8", "3.9", "3.12"})
    assert found.recipe.tools == {"python": version}


def test_the_language_of_most_tests_comes_first() -> None:
    jobs = "on: push\njobs:\n  web: {runs-on: ubuntu-latest, steps: [{run: npx vitest}]}\n"
    jobs += (
        "  server: {runs-on: ubuntu-latest, services: {db: {image: 'mysql:8'}}, steps: [{run: go test -race ./...}]}\n"
    )
    files = {CI: jobs, "a_test.go": "", "b_test.go": "", "web/a.test.ts": ""}
    assert find_recipe(tree(files)).recipe.tests == "go test -race ./..."


def test_what_depends_on_a_cache_runs_as_without_one() -> None:
    found = found_in(
        """
        - uses: actions/cache@v4
          id: cache
        - run: ./check-cache
          if: steps.cache.outputs.cache-hit == 'true'
        - run: npm ci
          if: steps.cache.outputs.cache-hit != 'true'
        - run: npm audit
          continue-on-error: true
        - run: echo "dir=$(npm config get cache)" >> "$GITHUB_OUTPUT"
        - run: npx jest
        """
    )
    assert found.recipe.setup == ("npm ci", "(\nnpm audit\n) || true")
    assert (found.recipe.env, found.left_out) == ({}, ())


def test_services_are_presets_with_the_variables_of_their_images() -> None:
    job = """
    runs-on: ubuntu-latest
    services:
      db:
        image: postgis/postgis:16-3.4
        env: {POSTGRES_USER: shop, POSTGRES_PASSWORD: pw}
        ports: [5432/tcp]
      mail: {image: mailhog/mailhog}
    """
    found = found_in("- run: pytest\n  env: {PORT: '${{ job.services.db.ports[5432] }}'}", job)
    assert found.recipe.services == ("postgres",)
    assert found.recipe.env == {"POSTGRES_USER": "shop", "POSTGRES_PASSWORD": "pw", "PORT": "5432"}
    assert found.left_out == ("the service `mailhog/mailhog`: there is no preset; write `{run: …, ready: …}`",)


def test_a_service_of_a_job_in_a_container_is_on_the_loopback() -> None:
    job = """
    runs-on: ubuntu-latest
    container: {image: 'python:3.13'}
    services: {postgres: {image: postgres}, redis: {image: redis}}
    env: {DATABASE_URL: 'postgres://postgres:x@postgres:5432/postgres', CACHE: 'redis://redis/0', QUEUE: 'redis:6379'}
    """
    steps = "- run: pytest\n  env: {PGUSER: postgres, PGHOST: postgres, NAME: my-redis:1}"
    assert found_in(steps, job).recipe.env == {
        "DATABASE_URL": "postgres://postgres:x@localhost:5432/postgres", "CACHE": "redis://localhost/0",
        "QUEUE": "localhost:6379", "PGUSER": "postgres", "PGHOST": "localhost", "NAME": "my-redis:1",
    }  # fmt: skip
    assert found_in(steps, job.replace("container", "name")).recipe.env["PGHOST"] == "postgres"


def test_packages_of_the_system_are_listed_and_what_needs_root_is_left_out() -> None:
    found = found_in(
        """
        - run: |
            sudo apt-get update -qq && sudo apt-get install -y --no-install-recommends libpq-dev \\
              gettext
            sudo systemctl start mysql
            corepack enable
            pip install -r requirements.txt
        - run: sudo apt-get install -y jq
        - run: pytest
        """
    )
    assert found.recipe.packages == ("libpq-dev", "gettext", "jq")
    assert found.recipe.setup == ("pip install -r requirements.txt",)
    assert found.left_out == (
        "`sudo systemctl start mysql`: it needs root",
        "`corepack enable`: the build brings what `packageManager` names",
    )


@pytest.mark.parametrize(
    ("command", "rewritten"),
    [
        ("pip install . --group dev", "pip install -e . --group dev"),
        ("python -m pip install '.[test]' tox", "python -m pip install -e '.[test]' tox"),
        ("uv pip install -r dev.txt .[all]", "uv pip install -r dev.txt -e .[all]"),
        ("pip install -e . ./plugin", None),
        ("pip install dist/*.whl", None),
    ],
)
def test_the_project_is_installed_where_it_lies(command: str, rewritten: str | None) -> None:
    found = found_in(f"- run: {command}\n- run: pytest")
    assert found.recipe.setup == (rewritten or command,)
    assert any("`-e`" in clause for clause in found.left_out) is (rewritten is not None)


def test_files_of_github_are_variables_or_nothing() -> None:
    found = found_in(
        """
        - run: echo "MODE=test" >> $GITHUB_ENV
        - run: echo "$PWD/bin" >> "$GITHUB_PATH"
        - run: pytest --root "$GITHUB_WORKSPACE"
        """
    )
    assert found.recipe.env == {"MODE": "test", "GITHUB_PATH": "/dev/null"}
    assert found.left_out[0] == "what a step writes to `GITHUB_PATH`"
    assert found.recipe.tests == "pytest --root /workspace"


def test_tests_of_a_folder_run_there() -> None:
    job = "runs-on: ubuntu-latest\ndefaults: {run: {working-directory: api}}"
    recipe = found_in(
        "- run: pip install -r requirements.txt\n- run: make build\n  working-directory: web\n- run: pytest", job
    ).recipe
    assert recipe.folder == "api"
    assert recipe.setup == ("pip install -r requirements.txt", "cd ../web\nmake build")


def test_a_part_of_the_repository_has_a_recipe_of_its_own() -> None:
    jobs = """
    on: push
    jobs:
      api: {runs-on: ubuntu-latest, steps: [{run: cd api && pip install -r r.txt && pytest}]}
      web:
        runs-on: ubuntu-latest
        defaults: {run: {working-directory: web}}
        steps: [{run: npm ci}, {run: npx vitest}]
    """
    files = tree({CI: dedent(jobs)})
    api, web = find_recipe(files, "api").recipe, find_recipe(files, "web").recipe
    assert (api.folder, api.tests) == ("api", "pytest")
    assert (web.folder, web.tests, web.setup) == ("web", "npx vitest", ("npm ci",))


MAKEFILE = """
FLAGS := -race
PKG = $(shell go list ./...)
.PHONY: test
test: generate
\t@go test $(FLAGS) -count=1 ./... | tee log
generate:
\tgo generate ./...
new test-3.x: README.md
\tpytest
.PHONY: test-%
test-%: README.md
\tpytest --of=$*
"""


@pytest.mark.parametrize(
    ("command", "files", "tests", "before"),
    [
        ("make test", {"Makefile": MAKEFILE}, "go test -race -count=1 ./...", "go generate ./..."),
        ("make test-3.12", {"Makefile": MAKEFILE}, "pytest --of=3.12", None),
        ("make test-3.x", {"Makefile": MAKEFILE}, "pytest", None),
        ("npm test", {"package.json": json.dumps({"scripts": {"test": "vitest --run"}})}, "vitest --run", None),
        (
            "yarn run unit -- --ci",
            {"package.json": json.dumps({"scripts": {"unit": "tsc && NODE_ENV=test jest src"}})},
            "jest src --ci",
            'export PATH="$PWD/node_modules/.bin:$PATH"\ntsc',
        ),
        ("./scripts/test.sh", {"scripts/test.sh": "#!/bin/sh\nset -e\npytest -q $@\n"}, "pytest -q", None),
        ("just check", {"justfile": "check:\n    pytest {{ARGS}}\n"}, "pytest", None),
    ],
)
def test_commands_that_stand_for_others_are_followed(
    command: str, files: dict[str, str], tests: str, before: str | None
) -> None:
    found = find_recipe(tree({CI: workflow(f"- run: {command}"), **files}))
    assert found.recipe.tests == tests
    assert found.recipe.setup[:1] == ((before,) if before else ())


def test_a_runner_that_a_program_starts_is_known_by_its_package() -> None:
    package = {"scripts": {"test": "node run-tests.js"}, "devDependencies": {"mocha": "^10"}}
    files = {CI: workflow("- run: npm test"), "package.json": json.dumps(package), "a.test.js": ""}
    found = find_recipe(tree(files))
    assert (found.recipe.tests, found.recipe.setup) == ("npx mocha", ("npm install",))
    assert "`node run-tests.js` is no test runner that is known: `npx mocha` is taken" in found.left_out


TOX_INI = """
[testenv]
deps =
    pytest
extras = test
setenv =
    LEVEL = {env:LEVEL:two}
    VIRTUAL_ENV={envdir}
    TOKEN = {env:TOKEN}
commands =
    py313: pytest --basetemp={envtmpdir} {posargs:{toxinidir}/tests}
    lint: ruff check
"""
TOX_TOML = '[tool.tox.env_run_base]\ncommands = [["pytest", "-v", {replace = "posargs", extend = true}]]'


@pytest.mark.parametrize(
    ("files", "tests", "env"),
    [
        ({"tox.ini": TOX_INI}, "pytest --basetemp=/tmp/tox", {"LEVEL": "two"}),
        ({"tox.ini": "[testenv]\ncommands =\n py3{12,13},pypy3: pytest -v\n !py313: pytest\n"}, "pytest -v", {}),
        ({"tox.ini": "[testenv]\ncommands =\n py{2,3}13-lint: ruff\n {py13,!lint}: pytest -v\n"}, "pytest -v", {}),
        ({"tox.ini": "[testenv]\ncommands =\n " + "{a,b}" * 40 + ": ruff\n pytest -v\n"}, "pytest -v", {}),
        ({"pyproject.toml": TOX_TOML}, "pytest -v", {}),
    ],
)
def test_tox_installs_into_the_recipes_own_environment(files: dict[str, str], tests: str, env: dict[str, str]) -> None:
    action = "- uses: actions/setup-python@v5\n  with: {python-version: '3.13'}"
    found = find_recipe(tree({CI: workflow(f"{action}\n- run: pip install tox\n- run: tox -e py"), **files}))
    sections = ["testenv"] if "tox.ini" in files else ["tool.tox.env.py313", "tool.tox.env_run_base"]
    own = "uv tool run --exclude-newer 2999-12-31 tox run --notest -e py313"
    own += "".join(f" -x {one}.env_dir=${{VIRTUAL_ENV:?}} -x {one}.package=editable" for one in sections)
    assert [text.splitlines()[0] for text in found.recipe.setup] == ["pip install tox", own]
    assert (found.recipe.tests, found.recipe.env) == (tests, env)
    assert not any("VIRTUAL_ENV" in note for note in found.left_out), "a build sets it"


@pytest.mark.parametrize("options", ["-e unit,lint", "-eunit", "-e=unit", "-re unit"])
def test_the_environment_of_tox_may_be_given_in_any_form(options: str) -> None:
    sections = "[testenv]\ncommands = pytest\n[testenv:unit]\ncommands = pytest unit\n"
    found = find_recipe(tree({CI: workflow(f"- run: tox {options}"), "tox.ini": sections}))
    assert found.recipe.tests == "pytest unit"


def test_a_session_of_nox_gives_way_to_what_is_usual() -> None:
    found = found_in("- run: pipx run nox -s unit-3.13", uv_dot_lock="", tests__test_a_dot_py="")
    assert found.recipe == Recipe(setup=("uv sync --frozen --all-extras --all-groups",), tests="python -m pytest")
    assert found.left_out == (
        "`pipx run nox -s unit-3.13` is no test runner that is known: `python -m pytest` is taken",
    )


def test_what_cannot_be_followed_stays_as_it_is_and_says_what_it_needs() -> None:
    found = found_in("- run: ./verify --all")
    assert found.recipe.tests is None
    found = found_in("- run: make test")
    assert found.recipe.tests == "make test"
    assert found.left_out == ("`make test` is no test runner that is known: it needs `report`, JUnit XML",)


def test_half_of_a_branch_is_no_set_up() -> None:
    found = found_in("- run: |\n    if true; then\n      make data\n      pytest -q\n    else\n      pytest\n    fi")
    assert (found.recipe.setup, found.recipe.tests) == ((), "pytest -q")
    assert found.left_out == (
        "`pytest` runs tests too: one command is kept",
        "what goes before `pytest -q`: it has a branch or a loop",
    )


@pytest.mark.parametrize(
    ("text", "setup", "folder"),
    [
        ("(cd web && make data && pytest)", ("cd ..\n(\ncd web\nmake data\n)",), "web"),
        ("(\n  cd web\n  (pytest) > log\n)", ("cd ..\n(\n  cd web\n(\n)\n)",), "web"),
        ("(cd web && make) && pytest", ("(\ncd web\nmake\n)",), ""),
        ("(cd web && make)\npytest", ("(cd web && make)",), ""),
    ],
)
def test_a_folder_of_a_subshell_is_that_of_its_tests_alone(text: str, setup: tuple[str, ...], folder: str) -> None:
    recipe = found_in(f"- run: {json.dumps(text)}").recipe
    assert (recipe.setup, recipe.tests, recipe.folder) == (setup, "pytest", folder)


def test_tests_that_run_outside_the_tree_are_not_proposed() -> None:
    found = found_in(
        "- run: |\n    cd /var/tmp\n    cd copy\n    go test ./...\n- run: go vet ./... && go test -short ./..."
    )
    assert (found.recipe.folder, found.recipe.tests) == ("", "go test -short ./...")


def test_a_variable_that_names_the_tests_folder_runs_no_tests() -> None:
    found = found_in('- run: pytest\n- run: |\n    export SOURCE_FILES="pkg tests"\n    coverage report')
    assert (found.recipe.tests, found.left_out) == ("pytest", ())


def test_a_command_that_installs_a_runner_runs_no_tests() -> None:
    found = found_in(
        "- run: pip install pytest\n- run: python -m pytest\n- run: pytest --doctest-modules\n- run: python -m pytest"
    )
    assert (found.recipe.setup, found.recipe.tests) == (("pip install pytest",), "python -m pytest")
    assert found.left_out == ("`pytest --doctest-modules` runs tests too: one command is kept",)


def test_a_command_that_only_compiles_tests_is_set_up() -> None:
    recipe = found_in("- run: cargo test --workspace --no-run\n- run: cargo test --workspace").recipe
    assert recipe.tests == "cargo test --workspace"
    assert recipe.setup == ("cargo test --workspace --no-run", "cargo test --no-run --workspace")


@pytest.mark.parametrize(
    ("command", "tests", "rewritten"),
    [
        ("coverage run --omit='*/x/*' --source=shop manage.py test -v 2", "python manage.py test -v 2", True),
        ('coverage run --include="more_itertools/*.py" -m unittest', "python -m unittest", True),
        ("uv run coverage run -m pytest -q", "uv run python -m pytest -q", True),
        ("python -b -m coverage run -m unittest", "python -b -m unittest", True),
        ("mvn -B -Pfast clean verify", "mvn -B -Pfast test", True),
        ("./gradlew --info build", "./gradlew --info test", True),
        ("python -mpytest -q", "python -m pytest -q", False),
        ("uv run python3.12 -munittest -b", "uv run python3.12 -m unittest -b", False),
        ("python -m pytest -mslow", "python -m pytest -mslow", False),
        ("python run_pytest.py -mpytest", None, False),
        ("mvn javadoc:javadoc", None, False),
        ("mvn -DskipTests package", None, False),
        ("./gradlew assemble", None, False),
    ],
)
def test_of_a_command_tests_alone_are_run(command: str, tests: str | None, rewritten: bool) -> None:
    found = found_in(f"- run: {command}")
    assert found.recipe.tests == tests
    assert any("is rewritten: tests alone are run" in clause for clause in found.left_out) == rewritten


@pytest.mark.parametrize(
    ("command", "files", "setup"),
    [
        ("go test -tags pg ./...", {}, ("go mod download", _compiled("-tags pg"))),
        ("cargo test --all -- --nocapture", {}, ("cargo test --no-run --all",)),
        (
            "mvn -B test",
            {"src/test/java/a/BigTest.java": "class", "src/test/java/a/ATest.java": ""},
            ("mvn -B test -Dtest=ATest -Dsurefire.failIfNoSpecifiedTests=false",),
        ),
    ],
)
def test_tools_that_load_by_themselves_do_so_in_set_up(
    command: str, files: dict[str, str], setup: tuple[str, ...]
) -> None:
    assert find_recipe(tree({CI: workflow(f"- run: {command}"), **files})).recipe.setup == setup


def test_the_light_set_up_of_a_job_has_what_is_named_for_tests_alone() -> None:
    pyproject = "[dependency-groups]\ntests = []\ndocs = []\n[project]\noptional-dependencies = {dev = [], gpu = []}\n"
    files = {CI: workflow("- run: pip install tox\n- run: pytest"), "uv.lock": "", "pyproject.toml": pyproject}
    first, *_, last = find_recipes(tree({**files, "tests/test_a.py": ""}))
    assert first.origin == "light"
    assert first.place == "the tests of `.github/workflows/ci.yml`, job `test`, set up by lock and manifest files"
    assert first.recipe.setup == ("uv sync --frozen --extra dev --group tests",)
    assert last.recipe.setup == ("uv sync --frozen --all-extras --all-groups",), "where that was too little"


def test_tools_that_load_by_themselves_need_no_other_step_at_first() -> None:
    steps = "- run: cargo clippy --locked --all-targets\n- run: cargo test --locked"
    first, second = find_recipes(tree({CI: workflow(steps), "Cargo.toml": "", "Cargo.lock": "", "tests/a.rs": ""}))[:2]
    assert (first.origin, first.recipe.setup) == ("light", ("cargo test --no-run --locked",))
    assert second.recipe.setup == ("cargo clippy --locked --all-targets", "cargo test --no-run --locked")


def test_a_step_that_is_kept_is_not_listed_as_left_out() -> None:
    steps = "- run: make tools\n- run: go mod download\n- run: go test ./..."
    first = find_recipe(tree({CI: workflow(steps), "go.mod": "module a", "a_test.go": ""}))
    assert (first.origin, first.recipe.setup[0]) == ("light", "go mod download")
    assert first.left_out == ("`make tools`: lock and manifest files are enough",)


SYNC = "uv sync --frozen --all-extras --all-groups"
REQUIRED = "uv pip install -r {}requirements{}.txt"
PYTEST = "uv pip install pytest"


@pytest.mark.requirement("M10")
@pytest.mark.parametrize(
    ("paths", "texts", "setup", "tests"),
    [
        ("uv.lock tests/test_a.py", {}, (SYNC,), "python -m pytest"),
        (
            "requirements.txt requirements-dev.txt requirements-docs.txt test_a.py", {},
            (REQUIRED.format("", "-dev"), REQUIRED.format("", ""), PYTEST), "python -m pytest",
        ),
        (
            "requirements.txt test-requirements.txt doc-requirements.txt test_a.py", {},
            (REQUIRED.format("", ""), REQUIRED.format("test-", ""), PYTEST), "python -m pytest",
        ),
        (
            "setup.py test_a.py", {"setup.cfg": "[options.extras_require]\ntest =\n  pytest\ndocs = x\n"},
            ("uv pip install -e '.[test]'", PYTEST), "python -m pytest",
        ),
        (
            "poetry.lock manage.py shop/tests/test_a.py", {},
            ("pip install poetry", "poetry install --no-interaction --all-extras"), "python manage.py test",
        ),
        ("a_test.go", {"go.mod": "module a"}, ("go mod download", _compiled()), "go test ./..."),
        ("Cargo.lock Cargo.toml tests/a.rs", {}, ("cargo test --no-run --locked",), "cargo test --locked"),
        (
            "pnpm-lock.yaml a.test.ts", {"package.json": '{"scripts": {"test": "vitest run"}}'},
            ("pnpm install --frozen-lockfile",), "vitest run",
        ),
        (
            "a.test.ts", {"yarn.lock": "__metadata:\n", "package.json": "{}"},
            ("yarn install --immutable",), "npm test",
        ),
        (
            "pom.xml mvnw src/test/java/ATest.java", {},
            ("./mvnw --batch-mode test -Dtest=ATest -Dsurefire.failIfNoSpecifiedTests=false",),
            "./mvnw --batch-mode test",
        ),
    ],
)  # fmt: skip
def test_without_ci_lock_files_say_it(paths: str, texts: dict[str, str], setup: tuple[str, ...], tests: str) -> None:
    recipe = find_recipe(tree({**dict.fromkeys(paths.split(), ""), **texts})).recipe
    assert (recipe.setup, recipe.tests) == (setup, tests)


def test_a_member_of_a_workspace_is_set_up_with_the_workspaces_lock() -> None:
    files = {"pnpm-lock.yaml": "", "package.json": "{}", "packages/b/package.json": "{}", "packages/b/a.test.js": ""}
    assert find_recipe(tree(files), "packages/b").recipe.setup == ("pnpm install --frozen-lockfile",)
    built = {**files, "package.json": '{"scripts": {"build": "pnpm -r build"}}'}
    plain, second = find_recipes(tree(built), "packages/b")
    assert plain.recipe.setup == ("pnpm install --frozen-lockfile",)
    assert second.recipe.setup == (*plain.recipe.setup, "cd ../..\npnpm run build"), "where tests need its neighbours"


def test_a_ci_that_installs_nothing_is_completed_by_the_lock_file() -> None:
    found = found_in("- run: pytest -q", uv_dot_lock="", tests__test_a_dot_py="")
    assert found.recipe == Recipe(setup=("uv sync --frozen --all-extras --all-groups",), tests="pytest -q")


@pytest.mark.requirement("M10")
def test_then_comes_the_container_for_developers() -> None:
    container = (
        '{\n// for people\n"image": "python:3.13", "containerEnv": {"A": "1"}, "postCreateCommand": "pip install .",}'
    )
    recipe = find_recipe(tree({".devcontainer/devcontainer.json": container})).recipe
    assert recipe == Recipe(image="python:3.13", env={"A": "1"}, setup=("pip install -e .",))


@pytest.mark.parametrize(
    "text",
    [
        "jobs: [",
        "on: push\njobs: {test: {steps: [!a {run: pytest}]}}",
        "jobs: {test: 3}",
        "on: push\njobs: {a: {steps: [3, {run: 4}]}}",
    ],
)
def test_a_broken_workflow_breaks_nothing(text: str) -> None:
    found = find_recipe(tree({CI: text, "uv.lock": "", "tests/test_a.py": ""}))
    assert found.recipe.tests == "python -m pytest"


HOSTILE = ("${{ " * 40_000, "A" * 200_000, "A=" * 9_000, "'" * 9_001, "a;" * 9_000 + "pytest", "$(" * 9_000)


@pytest.mark.parametrize(
    ("steps", "tox"),
    [
        *((f"- run: {json.dumps(run)}\n- run: pytest", "") for run in HOSTILE),
        ("- run: tox", f"[testenv]\ncommands =\n pytest\n {'{a,b}' * 60_000}: ruff\n"),
    ],
    ids=[*(run[:3] for run in HOSTILE), "condition of tox"],
)
def test_a_hostile_workflow_takes_no_longer_than_others(steps: str, tox: str) -> None:
    started = time.process_time()
    assert found_in(steps, tox_dot_ini=tox).recipe.tests == "pytest"
    assert time.process_time() - started < 6, "the last one took more than ten seconds"


def test_values_that_no_recipe_may_have_are_left_out() -> None:
    job = "runs-on: ubuntu-latest\ncontainer: {image: 'no image'}\nenv: {not-a-name: '1'}"
    found = found_in(f"- run: {json.dumps('make ' + 'x' * 19_990)}\n  env: {{A: b}}\n- run: pytest", job)
    assert found.recipe == Recipe(tests="pytest")
    assert found.left_out == ("a step of more than 20000 characters",)


def test_actions_and_workflows_that_use_themselves_end() -> None:
    own = "runs: {using: composite, steps: [{uses: ./a}, {run: make x}]}"
    again = "on: push\njobs: {a: {uses: ./.github/workflows/ci.yml}}"
    assert find_recipe(tree({CI: again})).recipe == Recipe()
    found = find_recipe(tree({CI: workflow("- uses: ./a\n- run: pytest"), "a/action.yml": own}))
    assert found.recipe.tests == "pytest"


@pytest.mark.parametrize(
    "value",
    ["true", ".5", "a: b", "# no", "tail ", " head", "'", '"', "- x", "*", "snow ☃", "tab\tin", "a\nb", "\n", "", "~"],
)
def test_the_section_that_is_written_reads_as_the_recipe(value: str) -> None:
    setup = ("pip install x", f"echo {value}\ntwo", "if x\n  then y\n\nfi")
    recipe = Recipe(setup=setup, env={"A": value}, packages=("jq",), services=("redis",), tests="pytest -m 'not slow'")
    found = FoundRecipe(recipe, {"setup.0": "here\nand: there", "env.A": "x" * 500}, ("a clause\nof two lines",))
    assert Recipe.model_validate(parse_yaml(recipe_yaml(found), "codegate.yml")["environment"]) == recipe


def test_the_section_names_the_source_of_each_line() -> None:
    found = found_in(
        "- uses: actions/setup-python@v5\n  with: {python-version: '3.13'}\n- run: pip install .\n- run: pytest",
        uv_dot_lock="",
    )
    assert recipe_yaml(found) == dedent(
        """\
        environment:
          tools:  # `.github/workflows/ci.yml`, job `test`, `actions/setup-python`
            python: "3.13"
          setup:  # `.github/workflows/ci.yml`, job `test`
            - pip install -e .
          tests: pytest  # `.github/workflows/ci.yml`, job `test`
          # left out: `pip install .` is rewritten with `-e`: tests would run a copy of the project
        """
    )


def test_dependencies_of_go_are_compiled_beside_a_package_that_embeds_an_unbuilt_page(tmp_path: Path) -> None:
    files = {
        "dep/go.mod": "module example.com/dep\n",
        "dep/dep.go": "package dep\n\nfunc Broken() int { return missing }\n",
        "own/go.mod": "module example.com/own\n\nrequire example.com/dep v0.0.0\n\nreplace example.com/dep => ../dep\n",
        "own/own.go": 'package own\n\nimport _ "example.com/dep"\n',
        "own/ui/ui.go": 'package ui\n\nimport "embed"\n\n//go:embed build/*\nvar Pages embed.FS\n',
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    setup = find_recipe(tree({"go.mod": "module example.com/own\n", "a_test.go": ""})).recipe.setup[-1]
    command = ["bash", "-o", "pipefail", "-c", setup]
    done = subprocess.run(command, cwd=tmp_path / "own", capture_output=True, text=True, check=False)
    assert "undefined: missing" in done.stderr  # the compiler was at the dependency
    (tmp_path / "dep/dep.go").write_text("package dep\n")
    subprocess.run(command, cwd=tmp_path / "own", check=True)
