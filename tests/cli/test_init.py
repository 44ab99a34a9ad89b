"""``codegate init --workflows``: the shipped workflows in a team's repository."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

import codegate
from codegate.candidates import EXAMPLE_CANDIDATE, parse_candidate
from codegate.cli.init import command
from codegate.cli.workflows import PLACEHOLDER
from codegate.environments import Recipe, parse_recipe
from codegate.errors import UsageError
from codegate.operations.project import inspect_repository
from codegate.running.config import load_config
from codegate.suite import Suite
from tests.kit.repository import commit_all, make_repository, run_git
from tests.running.world import codegate as run_codegate

TEMPLATES = Path(__file__).resolve().parents[2] / ".github" / "workflow-templates"
COMMIT = "codegate-ci/codegate@" + "0123456789abcdef" * 2 + "01234567"
WRITTEN = {f"codegate-{name}.yml" for name in ("gate", "nightly", "baseline", "comment", "mine", "upgrade")}


def init(*words: str) -> int:
    """Run the command in the current folder; return its exit status."""
    return int(command.main([*words], standalone_mode=False))


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one and where a cache would be; the one above is this test's, too."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CODEGATE_CACHE", str(folder / "cache"))
    return folder


def enter(folder: Path, files: Mapping[str, str]) -> None:
    """Make a repository of these files, and that the current folder."""
    make_repository(folder / "own", {path: text.encode() for path, text in files.items()})
    os.chdir(folder / "own")


@pytest.fixture
def repository(empty: Path) -> Path:
    """A repository without a commit, and the current folder."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch=trunk", "."], check=True)
    return empty


def test_the_workflows_use_the_action_that_was_named(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    init("--workflows", "--action", COMMIT, "--json")
    out, errors = capsys.readouterr()
    assert "ls-remote" not in errors
    workflows = repository / ".github" / "workflows"
    assert {path.name for path in workflows.iterdir()} == WRITTEN
    assert {Path(path).name for path in json.loads(out)["workflows"]} == WRITTEN
    for path in workflows.iterdir():
        template = (TEMPLATES / path.name).read_text()
        assert path.read_text() == template.replace(PLACEHOLDER, COMMIT).replace("[$default-branch]", '["trunk"]')
        used = re.findall(r"uses: (\S+)", path.read_text())
        assert COMMIT in used
        assert not [name for name in used if "0" * 40 in name]
    assert (repository / "codegate.yml").exists()


@pytest.mark.parametrize(
    ("known", "checked_out", "branch"),
    [
        (["HEAD", "main"], "feature/y", "v2/main"),
        (["main", "master"], "feature/y", "main"),
        (["master"], "feature/y", "master"),
        (["feature/y"], "feature/y", "feature/y"),
        ([], "", "main"),
    ],
    ids=["cloned", "pushed", "older", "neither", "detached"],
)
def test_the_branch_whose_pull_requests_are_gated_is_named(
    repository: Path, capsys: pytest.CaptureFixture[str], known: list[str], checked_out: str, branch: str
) -> None:
    commit = commit_all(repository)
    for name in known:
        place = f"refs/remotes/origin/{name}"
        words = (
            ["symbolic-ref", place, "refs/remotes/origin/v2/main"] if name == "HEAD" else ["update-ref", place, commit]
        )
        subprocess.run(["git", *words], check=True)
    switched = ["checkout", "-q", "-b", checked_out] if checked_out else ["checkout", "-q", "--detach"]
    subprocess.run(["git", *switched], check=True)
    init("--workflows")
    text = (repository / ".github" / "workflows" / "codegate-gate.yml").read_text()
    assert yaml.safe_load(text)[True]["pull_request"]["branches"] == [branch]
    said = capsys.readouterr().out
    assert f"The gate is for pull requests to the branch {branch}.\n" in said
    assert ("That is a guess" in said) is ("git remote set-head origin --auto" in said) is ("HEAD" not in known)
    init("--workflows")
    assert "pull requests to the branch" not in capsys.readouterr().out, "the gate there may be for another one"


OTHER = "services/the api/codegate.yml"
READING = {f"codegate-{name}.yml" for name in ("gate", "baseline", "mine", "nightly", "upgrade")}


def test_the_workflows_read_the_configuration_that_was_written(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a part of a monorepo: they would read none at all, and be green for ever."""
    init("--workflows", "--out", OTHER, "--json")
    workflows = repository / ".github" / "workflows"
    steps = [
        (path.name, step.get("with", {}))
        for path in workflows.iterdir()
        for job in yaml.safe_load(path.read_text())["jobs"].values()
        for step in job["steps"]
    ]
    assert {name: given["config"] for name, given in steps if "config" in given} == dict.fromkeys(READING, OTHER)
    assert [given for _, given in steps if given.get("mode", "report") != "report" and "config" not in given] == []
    following = json.loads(capsys.readouterr().out)["next"]
    assert following[2].endswith("commit its suite as services/the api/suites/mine")
    assert following[3].endswith("# commit the services/the api/codegate.lock in its summary")

    base = commit_all(repository)
    (repository / OTHER).write_text((repository / OTHER).read_text() + "samples: 3\n")
    commit_all(repository)
    [script] = [given["run"] for name, given in steps if name == "codegate-gate.yml" and "run" in given]
    bin_, outputs = Path(sys.executable).parent, repository / "outputs"
    environment = {"PATH": f"{bin_}:{os.environ['PATH']}", "CODEGATE_BASE": base, "GITHUB_OUTPUT": str(outputs)}
    subprocess.run(["bash", "-e", "-c", script], env=environment, check=True)
    assert outputs.read_text() == "gate=true\n"

    init("--workflows", "--out", "services/web/codegate.yml")
    said = capsys.readouterr().out
    assert "do not read services/web/codegate.yml, which is not gated: copy them under other names" in said


@pytest.mark.parametrize("out", ["../codegate.yml", "${{ github.token }}.yml", "api/a\nb.yml", ".git/codegate.yml"])
def test_a_configuration_that_workflows_cannot_name_gets_none(
    repository: Path, capsys: pytest.CaptureFixture[str], out: str
) -> None:
    assert init("--workflows", "--out", out) == 2
    assert "no workflows were written: workflows cannot read " in capsys.readouterr().out
    assert not (repository / ".github").exists()
    subprocess.run(["git", "remote", "add", "origin", "git@github.com:octo/app.git"], check=True)
    assert init("--yes", "--out", out) == 0, "they were not asked for"
    assert not (repository / ".github").exists()


def test_a_configuration_elsewhere_has_its_lock_beside_it(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    init("--out", "api/codegate.yml")
    said = capsys.readouterr().out
    assert "codegate baseline pin runs/pinned --out api/baseline.json --lock api/codegate.lock\n" in said


def test_without_an_action_the_workflows_are_pinned_to_the_commit_of_this_code(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init("--workflows")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TEMPLATES, capture_output=True, text=True, check=True)
    text = (repository / ".github" / "workflows" / "codegate-gate.yml").read_text()
    assert f"uses: codegate-ci/codegate@{head.stdout.strip()} # v{codegate.__version__}\n" in text
    assert "ls-remote" not in capsys.readouterr().out


def test_without_a_commit_to_pin_the_configuration_is_written_all_the_same(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codegate.__file__", str(repository / "site" / "codegate" / "__init__.py"))
    assert init("--workflows") == 2
    out = capsys.readouterr().out
    assert "no workflows were written: this installation does not know the commit" in out
    assert "\n  codegate init --workflows --action codegate-ci/codegate@$(git -C CLONE rev-parse HEAD)\n" in out
    tag = f"action-v{codegate.__version__}"
    assert f"`git ls-remote https://github.com/codegate-ci/codegate '{tag}^{{}}' {tag}` prints" in out
    assert (repository / "codegate.yml").exists()
    assert not (repository / ".github").exists()
    assert init("--workflows", "--json") == 2
    assert json.loads(capsys.readouterr().out)["workflows"] == []


def test_with_workflows_the_next_steps_are_those_of_the_workflows(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init("--workflows", "--json")
    out, said = capsys.readouterr()
    assert "container" not in said
    assert [line.partition("  #")[0] for line in json.loads(out)["next"]] == [
        "git add codegate.yml .gitignore .github/workflows && git commit -m 'Add codegate' && git push",
        "gh secret set OPENAI_API_KEY",
        "gh workflow run codegate-mine.yml",
        f"gh workflow run codegate-baseline.yml -f candidate={EXAMPLE_CANDIDATE}",
    ]
    own = (
        "candidates: [{provider: gemini, model: gemini-2.5-pro}, {provider: openai, model: m-2025-01-01, base_url: %s}]"
    )
    (repository / "codegate.yml").write_text(own % "'http://127.0.0.1:8080/v1'")
    (repository / "suites/mine").mkdir(parents=True)
    (repository / "suites/mine/suite.yml").touch()
    (repository / "codegate.lock").touch()
    init("--workflows", "--json", "--candidate", "reference")
    out, said = capsys.readouterr()
    assert json.loads(out)["next"][1:] == [
        "gh secret set GEMINI_API_KEY  # or in the settings; add it to `env` of the workflows",
        "gh secret set OPENAI_API_KEY  # or in the settings",
    ]
    assert "http://127.0.0.1:8080/v1 is the container itself there. Give m-2025-01-01 a `base_url`" in said


def test_a_tag_that_was_named_is_used_and_can_be_moved(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    init("--workflows", "--action", "octo/codegate@v1")
    assert "octo/codegate@v1\n" in (repository / ".github" / "workflows" / "codegate-gate.yml").read_text()
    out = capsys.readouterr().out
    assert "git ls-remote https://github.com/octo/codegate 'v1^{}' v1  # the line with ^{}, if any\n" in out


@pytest.mark.parametrize(
    "words", [(), ("--matrix",), ("--matrix", "--out", "it's/codegate.yml")], ids=["gate", "matrix", "elsewhere"]
)
def test_zizmor_finds_nothing_in_the_workflows_as_they_are_written(repository: Path, words: tuple[str, ...]) -> None:
    init("--workflows", *words)
    found = subprocess.run(
        [Path(sys.executable).with_name("zizmor"), "--offline", "--no-progress", "--no-config", "--format", "json",
         repository],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )  # fmt: skip
    assert (found.returncode, json.loads(found.stdout)) == (0, []), found.stdout


def test_what_is_there_is_not_overwritten(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = repository / ".github" / "workflows" / "codegate-nightly.yml"
    own.parent.mkdir(parents=True)
    own.write_text("mine\n")
    (link := own.with_name("codegate-gate.yml")).symlink_to(repository / "elsewhere")
    (repository / "codegate.yml").write_text("mine too\n")
    init("--workflows")
    assert (own.read_text(), len(list(own.parent.iterdir()))) == ("mine\n", 6)
    assert link.is_symlink(), "though it leads nowhere"
    assert f"{own.relative_to(repository)} is left as it is" in capsys.readouterr().out
    init("--workflows", "--force")
    assert yaml.safe_load(own.read_text())["name"] == "codegate nightly"
    assert (repository / "codegate.yml").read_text() == "mine too\n"


def test_a_second_time_changes_nothing(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / ".gitignore").write_text("*.log")
    subprocess.run(["git", "remote", "add", "origin", "https://github.com/octo/app.git"], check=True)
    init("--yes")
    first = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file() and ".git/" not in str(path)}
    assert (repository / ".gitignore").read_text() == "*.log\nruns/\n/review.html\n"
    assert {path.name for path in first} == {*WRITTEN, "codegate.yml", ".gitignore"}
    capsys.readouterr()
    init("--yes")
    assert {path: path.read_bytes() for path in first} == first
    assert "wrote" not in capsys.readouterr().out
    workflows = repository / ".github" / "workflows"
    (workflows / "codegate-gate.yml").rename(workflows / "codegate-matrix.yml")
    init("--yes")
    assert not (workflows / "codegate-gate.yml").exists(), "one of them gates already"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"pyproject.toml": "[project]\nname = 'a'\n", "a.py": "", "tests/test_a.py": "def test_a(): pass\n"},
         "python (tests run by pytest), 1 commit"),
        ({"package.json": '{"devDependencies": {"vitest": "1"}}', "a.js": "", "a.test.js": "test('a', () => {})"},
         "javascript (tests run by vitest), 1 commit"),
        ({"a.py": ""},
         "python (tests run by pytest; no test file found, and only fixes with tests are mined), 1 commit"),
        ({"a.rb": ""}, "no language that is mined without a command, 1 commit"),
    ],
    ids=["python", "javascript", "untested", "ruby"],
)  # fmt: skip
def test_it_looks_at_the_repository_and_ends_with_the_next_three_commands(
    empty: Path, files: dict[str, str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    enter(empty, files)
    init()
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"here: {words}"
    mining, running, pinning = (line.strip() for line in out[-3:])
    assert mining.startswith("codegate mine . --out suites/mine")
    assert running == "codegate run --no-gate --samples 10 --out runs/pinned"
    assert pinning == "codegate baseline pin runs/pinned"
    (empty / "own/codegate.lock").touch()
    init()
    assert capsys.readouterr().out.splitlines()[-2:] == [f"  {mining}", "  codegate run"], "the baseline is pinned"


JOBS = """
on: push
jobs:
  api:
    runs-on: ubuntu-latest
    defaults: {run: {working-directory: api}}
    steps: [{run: pip install .}, {run: pytest -q, env: {KEY: dummy}}]
  web: {runs-on: ubuntu-latest, steps: [{run: npm ci --prefix web}, {run: npm test --prefix web}]}
"""
MONOREPO = {
    ".github/workflows/ci.yml": JOBS,
    "api/pyproject.toml": "[project]\nname = 'api'\n",
    "api/tests/test_a.py": "",
    "web/package.json": '{"scripts": {"test": "vitest run"}}',
    "web/a.test.ts": "",
}


def test_a_recipe_that_nobody_tried_is_a_comment_and_shown(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    enter(empty, MONOREPO)
    init()
    out = capsys.readouterr().out
    assert load_config(Path("codegate.yml")).environment is None, "mining takes the first that works"
    comment = Path("codegate.yml").read_text().partition("\n# environment:")[2].partition("\n# for tests that")[0]
    section = "environment:" + comment.replace("\n# ", "\n")
    assert parse_recipe(yaml.safe_load(section)["environment"], "codegate.yml") == Recipe(
        folder="api", setup=("pip install -e .",), env={"KEY": "dummy"}, tests="pytest -q"
    )
    assert section in out
    assert "# left out: `pip install .` is rewritten with `-e`" in section
    assert "  --path api: python\n  --path web: javascript\n" in out
    assert "  `.github/workflows/ci.yml`, job `web`: `vitest run`\n" in out


def test_the_workflow_mines_the_part_that_was_named(empty: Path) -> None:
    enter(empty, MONOREPO)
    init("--workflows", "--path", "web/")
    workflow = yaml.safe_load(Path(".github/workflows/codegate-mine.yml").read_text())
    given = workflow[True]["workflow_dispatch"]["inputs"]["path"]
    assert (given["default"], workflow["jobs"]["mine"]["steps"][1]["with"]["path"]) == ("web", "${{ inputs.path }}")


def test_a_part_of_a_repository_has_its_own_recipe(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    enter(empty, MONOREPO)
    with pytest.raises(UsageError, match="HEAD has no folder app"):
        init("--path", "app")
    init("--path", "web/")
    assert "codegate mine . --out suites/mine --path web\n" in capsys.readouterr().out
    text = Path("codegate.yml").read_text()
    assert "\n#   tests: vitest run" in text
    assert "\n#   folder: web" in text


OWN_TESTS = """
import unittest, urllib.request

class Own(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(1 + 1, 2)

    def test_product(self):
        self.assertEqual(2 * 3, 6)

    def test_page(self):
        urllib.request.urlopen("http://192.0.2.1/", timeout=5)
"""


def test_the_recipe_for_tests_of_another_language_is_written_as_a_comment(
    empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts = json.dumps({"scripts": {"test": "jest"}})
    workflow = "on: push\njobs: {%s: {runs-on: ubuntu-latest, steps: [{run: %s}]}}\n"
    web = {f"web/{name}.test.js": "test('page', () => {})\n" for name in ("one", "two")}
    jobs = {
        f".github/workflows/{name}.yml": workflow % (name, run) for name, run in (("a", "npx jest"), ("b", "pytest"))
    }
    enter(empty, {**web, **jobs, "package.json": scripts, "tests/test_own.py": OWN_TESTS})
    init()
    said, text = capsys.readouterr().out, Path("codegate.yml").read_text()
    assert "It does not run the tests of `pytest`. codegate.yml has a recipe for them as a comment.\n" in said
    first, _, second = text.partition("# for tests that the recipe above does not run")
    assert "#   tests: npx jest" in first
    assert "#   tests: pytest" in second
    assert text.count("# environment:\n") == 2


@pytest.mark.sandbox
def test_a_try_says_what_passes_or_what_is_missing(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = {f"web/{name}.test.js": "test('page', () => {})\n" for name in ("one", "two")}  # run by another command
    enter(empty, {"tests/test_own.py": OWN_TESTS, **others})
    text = "candidates: [reference]\nenvironment: {tests: python -m unittest, setup: [mkdir data%s]}\n"
    Path("codegate.yml").write_text(text % "")
    assert init("--try", "--sandbox", "bwrap", "--json") == 0
    out, said = capsys.readouterr()
    tried = json.loads(out)["tried"]
    assert tried.startswith("2 passed, 1 failed of 1 test file without a network, in ")
    assert tried.endswith(" s (tests/test_own.py::Own::test_page)"), "what may be long comes last"
    assert f"{tried}: ready to mine\n" in said
    Path("codegate.yml").write_text(text % ", touch a; echo no such thing; false")
    assert init("--try", "--sandbox", "bwrap", "--json") == 2
    out, said = capsys.readouterr()
    assert json.loads(out)["tried"] is None
    assert "not ready to mine: the recipe fails on " in said
    assert "no such thing" in said
    broken = "\n    def test_a(self):\n        raise OSError('no server')\n\n    test_b = test_a\n"
    Path("tests").mkdir()
    Path("tests/test_own.py").write_text(OWN_TESTS + broken)
    commit_all(Path())
    Path("codegate.yml").write_text(text % "")
    init("--try", "--sandbox", "bwrap")
    said = capsys.readouterr().out
    assert "not ready to mine: 2 passed, 3 failed of 1 test file " in said
    assert "no server" in said


@pytest.mark.sandbox
def test_a_try_names_the_files_that_the_recipe_does_not_run(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fast = "import pytest\n\n@pytest.mark.%s\ndef test_a():\n    pass\n"
    files = {f"tests/test_{name}.py": fast % name for name in ("fast", "slow", "web")}
    enter(empty, {**files, "pytest.ini": "[pytest]\nmarkers = fast\n  slow\n  web\n"})
    recipe = "{tests: python -m pytest -m fast, setup: [uv pip install pytest], tools: {python: '3.11'}}"
    Path("codegate.yml").write_text(f"candidates: [reference]\nenvironment: {recipe}\n")
    assert init("--try", "--sandbox", "bwrap") == 2
    said = " ".join(capsys.readouterr().out.split())
    assert "not ready to mine: 1 passed, 2 failed of 3 test files without a network" in said
    assert "(tests/test_slow.py, tests/test_web.py)" in said


@pytest.mark.sandbox
def test_a_recipe_whose_tests_have_an_interpreter_of_their_own_is_told_where_to_install(
    empty: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    enter(empty, {f"tests/test_{name}.py": OWN_TESTS for name in ("a", "b", "c")})
    text = (
        "candidates: [reference]\nenvironment: {tests: venv/bin/python -m pytest, setup: ['mkdir data\n\n  touch a']}\n"
    )
    Path("codegate.yml").write_text(text)
    with caplog.at_level("INFO", "codegate"):
        init("--try", "--sandbox", "bwrap")
    first, last = (record.getMessage() for record in caplog.records if record.getMessage().startswith("set-up"))
    assert first == "set-up: mkdir data; touch a", "it is named before it runs, since it may take minutes"
    assert last.startswith("set-up: mkdir data; touch a: done in ")
    assert "running 3 test files without a network" in caplog.messages
    said = capsys.readouterr().out
    assert said.count("ModuleNotFoundError: No module named 'pytest'") == 1, "whole, and not once for each file"
    assert "not with `venv/bin/python`: let `setup` install into it" in said
    assert "Next:\n  $EDITOR codegate.yml  # `environment`; then codegate init --try again\n" in said


@pytest.mark.sandbox
def test_a_step_that_fails_and_is_not_needed_is_left_out(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = "[{run: mkdir data}, {run: touch page; echo no pages; false}, {run: python -m unittest}]"
    text = f"on: push\njobs: {{test: {{runs-on: ubuntu-latest, steps: {steps}}}}}\n"
    enter(empty, {"tests/test_own.py": OWN_TESTS, ".github/workflows/ci.yml": text})
    init()
    capsys.readouterr()
    init("--try", "--sandbox", "bwrap")
    out = capsys.readouterr().out
    assert "has no recipe" not in out, "it is there as a comment"
    assert "taken: `.github/workflows/ci.yml`, job `test`: 2 passed, 1 failed of 1 test file" in out
    assert ": ready to mine\nwrote codegate.yml again, with the recipe that works\n" in out
    recipe = load_config(Path("codegate.yml")).environment
    assert recipe == Recipe(setup=("mkdir data",), tests="python -m unittest")
    written = Path("codegate.yml").read_text()
    assert "  # left out: `touch page; echo no pages; false`: it failed; tests pass without it\n" in written


def test_a_configuration_without_a_recipe_is_left_alone_and_the_recipe_is_shown(
    empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    enter(empty, {"uv.lock": "", "tests/test_a.py": ""})
    Path("codegate.yml").write_text("candidates: [reference]\n")
    init()
    assert "codegate.yml has no recipe; this one was found:\nenvironment:\n" in capsys.readouterr().out
    assert Path("codegate.yml").read_text() == "candidates: [reference]\n"
    Path("codegate.yml").write_text("candidates: [reference]\nenvironment: {tests: pytest}\n")
    init()
    assert "environment:" not in capsys.readouterr().out


def test_on_a_terminal_it_asks_for_the_candidate_and_the_workflows(repository: Path) -> None:
    subprocess.run(["git", "remote", "add", "origin", "git@github.com:octo/app.git"], check=True)
    here, there = pty.openpty()
    os.write(here, b"anthropic:claude-haiku-4-5-20251001\nyes\n")
    done = subprocess.run(
        [sys.executable, "-m", "codegate", "init"], stdin=there, capture_output=True, text=True, timeout=60, check=False
    )
    os.close(there)
    os.close(here)
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load((repository / "codegate.yml").read_text())["candidates"][0]["provider"] == "anthropic"
    assert (repository / ".github" / "workflows" / "codegate-gate.yml").exists()


def test_the_schema_line_names_a_file_of_the_release(repository: Path) -> None:
    init()
    line = (repository / "codegate.yml").read_text().splitlines()[0]
    found = re.fullmatch(
        rf"# yaml-language-server: \$schema=https://\S+/v{re.escape(codegate.__version__)}/(\S+)", line
    )
    assert found is not None, line
    assert json.loads((TEMPLATES.parents[1] / found[1]).read_text())["title"] == "codegate.yml"


def test_one_workflow_gates(repository: Path) -> None:
    init("--workflows", "--matrix")
    workflows = repository / ".github" / "workflows"
    assert {path.name for path in workflows.iterdir()} == WRITTEN - {"codegate-gate.yml"} | {"codegate-matrix.yml"}
    with pytest.raises(UsageError, match=r"codegate-matrix\.yml exists, and gates already"):
        init("--workflows", "--force")


@pytest.mark.parametrize(
    "action", ["codegate", "a/b", "a/b@", "a/b@v1\n      - run: echo", "a/b@v1 # x", "./@v1", "a/b@${{ github.ref }}"]
)
def test_an_action_that_is_none_is_refused(repository: Path, action: str) -> None:
    with pytest.raises(UsageError, match="OWNER/REPO@REF"):
        init("--workflows", "--action", action)
    assert [path.name for path in repository.iterdir()] == [".git"]


def test_outside_a_repository_nothing_is_written_unless_out_is_given(empty: Path) -> None:
    for words, cause in (((), "this is no git repository"), (("--workflows",), "not the root of a git repository")):
        with pytest.raises(UsageError, match=cause):
            init(*words)
    assert list(empty.iterdir()) == []
    assert init("--out", "codegate.yml") == 0
    assert [path.name for path in empty.iterdir()] == ["codegate.yml"]


def test_below_the_root_of_a_repository_the_root_is_named(
    empty: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(empty, {"src/a/b.py": ""})
    Path("src/a").mkdir(parents=True)
    monkeypatch.chdir("src/a")
    init()
    assert "The repository's root is ../../: " in capsys.readouterr().out
    assert Path("codegate.yml").exists()


@pytest.mark.sandbox
def test_the_limit_that_init_writes_is_that_of_the_plan(own_suite: Suite, empty: Path) -> None:
    shutil.copytree(own_suite.folder, empty / "suites" / "mine")
    init("--out", "codegate.yml")
    planned = run_codegate("plan", "--json", cwd=empty).document["model_calls"]["limit"]
    assert yaml.safe_load((empty / "codegate.yml").read_text())["max_model_calls"] == planned == 52


def test_without_a_suite_or_a_model_there_is_no_limit(empty: Path) -> None:
    init("--out", "codegate.yml")
    assert "no limit yet: there is no suite" in (empty / "codegate.yml").read_text()
    (empty / "suites" / "mine").mkdir(parents=True)
    (empty / "suites" / "mine" / "suite.yml").touch()
    init("--candidate", "reference", "--out", "reference.yml")
    assert yaml.safe_load((empty / "reference.yml").read_text())["candidates"] == [{"provider": "reference"}]
    for name in ("codegate.yml", "reference.yml"):
        assert "max_model_calls" not in yaml.safe_load((empty / name).read_text())


def test_the_candidate_that_is_written_is_the_one_that_its_short_form_runs(repository: Path) -> None:
    """A baseline by `--candidate` and a gate by the file compare the same solver."""
    init()
    (written,) = load_config(repository / "codegate.yml").candidates
    assert written.key() == parse_candidate(EXAMPLE_CANDIDATE).key()


def test_a_clone_without_some_of_its_files_is_told(repository: Path) -> None:
    (repository / "only.txt").write_text("nowhere else\n")
    commit_all(repository)
    name = run_git(repository, "rev-parse", "HEAD:only.txt")
    (repository / ".git/objects" / name[:2] / name[2:]).unlink()
    project = inspect_repository(repository)
    assert project is not None
    assert project.words().startswith("HEAD cannot be read (objects are missing from ")
