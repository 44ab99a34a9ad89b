"""An application that needs a set-up, variables and a command before its tests, from its history to a run."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import yaml

from codegate.durable import digest
from codegate.environments import BuildFailed, Built, Recipe
from codegate.errors import UsageError
from codegate.grading import Sandboxes, TestReport, TestResult
from codegate.mining import MineRequest
from codegate.mining.build import ProblemBuilder
from codegate.mining.environments import opening, recorded
from codegate.mining.environments.opening import (
    NewestTree,
    builds_of_own_recipe,
    builds_of_suite,
    recipes_of_older_tree,
    runnable_tests,
)
from codegate.mining.environments.recorded import BuildChoice, RecordedBuilds, known_runner, settings_of
from codegate.mining.languages import RunnerSettings, known_languages, language_namer
from codegate.mining.profile import Steps
from codegate.mining.proving.validation import Trial, try_cut
from codegate.mining.units import BugScore, Prospect, Rejected
from codegate.running import load_run
from codegate.sandbox import EnvironmentRecipe, Layer, NotInstalled, SandboxError, Unreachable
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Base, ProblemLimits, Provenance, Tree, TreeFile, load_suite, write_suite
from tests.kit import problem as kit
from tests.kit.repository import HistoryBuilder
from tests.mining.statement_world import BODY, cut_of, unit_of
from tests.running.world import codegate
from tests.suite.builders import problem

#: Needs a variable at its import, and a table that a command makes in a folder that set-up makes.
TOTAL = """import os
from pathlib import Path

CURRENCY = os.environ["SHOP_CURRENCY"]
RATE = float(Path("data/rate.txt").read_text())


def total(items):
    return %s


def main():
    Path("data/rate.txt").write_text("1.0")
"""
SEED = "from pathlib import Path\n\nPath('data/rate.txt').write_text('2')\n"
TEST_TOTAL = """import unittest
from importlib.metadata import version

from shop.total import total


class Totals(unittest.TestCase):
    def test_version(self):
        self.assertEqual(version("iniconfig"), "%s")

    def test_total(self):
        self.assertEqual(total([1, 2]), 6)
"""
TEST_NOTHING = "\n    def test_nothing(self):\n        self.assertEqual(total([]), 0)\n"
RECIPE = {
    "setup": ["uv pip install --quiet -r requirements.txt", "mkdir data"],
    "env": {"SHOP_CURRENCY": "EUR"},
    "before": ["python seed.py"],
    "tests": "python -m unittest",
}


@pytest.fixture
def shop(history: HistoryBuilder) -> HistoryBuilder:
    """A bug fix, and an upgrade of a dependency after it."""
    history.commit(
        "begin",
        {"shop/__init__.py": "", "shop/total.py": TOTAL % "RATE * (items[0] + sum(items[1:]))", "seed.py": SEED,
         "tests/test_total.py": TEST_TOTAL % "1.1.1", "requirements.txt": "iniconfig==1.1.1\n"},
    )  # fmt: skip
    fixed = {"shop/total.py": TOTAL % "RATE * sum(items)", "tests/test_total.py": TEST_TOTAL % "1.1.1" + TEST_NOTHING}
    history.commit(f"Fix the total of nothing (#2){BODY}", {**fixed})
    upgraded = {"requirements.txt": "iniconfig==2.0.0\n"}
    history.commit("Upgrade iniconfig", {**upgraded, "tests/test_total.py": TEST_TOTAL % "2.0.0" + TEST_NOTHING})
    history.write({"codegate.yml": yaml.safe_dump({"environment": RECIPE})})
    return history


@pytest.mark.requirement("M10")
@pytest.mark.timeout(900)
@pytest.mark.requirement("M3")
@pytest.mark.parametrize(
    "sandbox",
    [
        pytest.param("bwrap", marks=pytest.mark.bwrap),
        pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.full]),
    ],
)
def test_an_application_is_mined_proved_and_run_by_its_own_recipe(
    shop: HistoryBuilder, tmp_path: Path, sandbox: str
) -> None:
    """The newest tree's build does not fit the fix, which was tried in it: it has a build of its own base tree."""
    out, place = tmp_path / "suite", ("--sandbox", sandbox)
    mined = codegate(
        "mine", shop.folder, "--out", out, "--name", "shop", *place, "--fresh", "--rounds", "1", cwd=tmp_path
    )
    assert mined.code == 0, mined.stderr
    assert "the recipe works on" in mined.stderr
    suite = load_suite(out)
    (nothing,) = suite.problems
    assert nothing.id == "shop-2"
    assert nothing.tests.FAIL_TO_PASS == ("tests/test_total.py::Totals::test_nothing",)
    assert nothing.tests.PASS_TO_PASS == (
        "tests/test_total.py::Totals::test_total", "tests/test_total.py::Totals::test_version",
    )  # fmt: skip
    assert (nothing.manifest.runner, nothing.manifest.before) == ("unittest", ("python seed.py",))
    assert "iniconfig==1.1.1" in suite.environments[nothing.environment.id].resolved

    candidates = ("--candidate", "reference", "--candidate", "empty", "--samples", "1", "--no-gate", "--out", "run")
    done = codegate("run", out, "--repository", shop.folder, *place, *candidates, cwd=tmp_path)
    assert done.code == 0, done.stderr
    run = load_run(tmp_path / "run")
    solved = {
        spec.provider: [one.grade and one.grade.resolved for one in run.of(spec.key())]
        for spec in run.manifest.candidates
    }
    assert solved == {"reference": [True], "empty": [False]}


@pytest.fixture
def simple(history: HistoryBuilder) -> HistoryBuilder:
    """Three bug fixes of a project whose tests need a file which only the newest tree has."""
    text = "import unittest\n\nfrom shop.title import title\n\nopen('ready').close()\n\n\n"
    text += "class Titles(unittest.TestCase):\n"
    case = "    def test_%s(self):\n        self.assertEqual(title('%s'), '%s')\n\n"
    history.commit("begin", {"shop/__init__.py": "", "shop/title.py": "def title(text):\n    return text\n"})
    for number, name in enumerate("abc", 1):
        text += case % (name, name, name.upper())
        replaced = "".join(f".replace('{each}', '{each.upper()}')" for each in "abc"[:number])
        source = f"def title(text):\n    return text{replaced}\n"
        history.commit(f"Fix {name} (#{number}){BODY}", {"shop/title.py": source, "tests/test_title.py": text})
    history.commit("Make it ready", {"ready": "\n"})
    return history


@pytest.mark.bwrap
def test_a_recipe_that_fails_ends_mining_before_a_change_is_tried(simple: HistoryBuilder, tmp_path: Path) -> None:
    recipe = {"setup": ["echo the header x.h is missing && exit 3"], "tests": "python -m unittest"}
    simple.write({"codegate.yml": yaml.safe_dump({"environment": recipe})})
    mined = codegate("mine", simple.folder, "--out", "suite", "--sandbox", "bwrap", cwd=tmp_path)
    assert mined.code == 2, mined.stderr
    assert "the header x.h is missing" in mined.stderr
    assert "suite" not in mined.stderr.replace("codegate.yml", "")
    assert not (tmp_path / "suite/suite.yml").exists()
    ends = [json.loads(line) for line in (tmp_path / "suite/funnel.jsonl").read_text().splitlines()]
    assert [one["reason"] for one in ends].count("env_unresolved") == 3
    assert "the header x.h is missing" in ends[1]["detail"]


@pytest.mark.bwrap
def test_what_no_test_can_do_without_is_named(history: HistoryBuilder, tmp_path: Path) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 12345\n"
    text = "import json\nimport unittest\n\nCASES = json.load(open('tests/cases.json'))\n"
    history.commit("begin", {"shop.py": "x = 1\n", "tests/cases.json": pointer, "tests/test_shop.py": text})
    history.commit("Fix x (#1)", {"shop.py": "x = 2\n", "tests/test_shop.py": f"{text}\nimport shop\n"})
    history.write({"codegate.yml": "environment: {tests: python -m unittest}\n"})
    mined = codegate("mine", history.folder, "--out", "suite", "--sandbox", "bwrap", cwd=tmp_path)
    assert mined.code == 2, mined.stderr
    assert "none of its tests passes; tests/cases.json, which is in LFS, is not here: " in mined.stderr
    assert "Correct `environment` in codegate.yml: its `setup` has to install what the tests and" in mined.stderr


@pytest.mark.bwrap
def test_a_step_of_set_up_that_failed_is_named_where_no_test_passes(history: HistoryBuilder, tmp_path: Path) -> None:
    steps = ["echo x.h is missing; exit 3", "true", "python -m unittest"]
    workflow = {
        "on": "push",
        "jobs": {"test": {"runs-on": "ubuntu-latest", "steps": [{"run": step} for step in steps]}},
    }
    test = "import unittest\nimport absent\n"
    files = {".github/workflows/ci.yml": yaml.safe_dump(workflow), "shop.py": "x = 1\n", "tests/test_shop.py": test}
    history.commit("begin", {**files})
    history.commit("Fix x (#1)", {"shop.py": "x = 2\n", "tests/test_shop.py": f"{test}\nimport shop\n"})
    mined = codegate("mine", history.folder, "--out", "suite", "--sandbox", "bwrap", cwd=tmp_path)
    assert mined.code == 2, mined.stderr
    assert "left out `echo x.h is missing; exit 3`: it failed with exit code 3; it printed last: x.h is" in mined.stderr
    assert "Write `environment` into codegate.yml: its `setup` has to install what the tests and" in mined.stderr
    assert "Correct `environment`" not in mined.stderr


def test_a_mining_that_kept_nothing_is_no_suite_and_its_report_says_why(tmp_path: Path) -> None:
    summary = {"schema": "codegate.mining/1", "reasons": {"env_unresolved": 3, "no_f2p": 1}}
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "mining.json").write_text(json.dumps(summary))
    report = codegate("mine", "report", "suite", cwd=tmp_path)
    assert report.code == 2
    assert "suite has no suite: mining kept no problem. Left out: 3 env_unresolved, 1 no_f2p." in report.stderr
    assert "codegate mine" not in report.stderr


@pytest.mark.bwrap
def test_three_first_changes_that_end_alike_end_mining_with_what_to_correct(
    simple: HistoryBuilder, tmp_path: Path
) -> None:
    recipe = {"before": ["test -f ready"], "tests": "python -m unittest"}
    (tmp_path / "own.yml").write_text(yaml.safe_dump({"environment": recipe}))
    place = ("--out", "suite", "--sandbox", "bwrap", "--fresh", "--rounds", "1")
    mined = codegate("mine", simple.folder, "--config", "own.yml", *place, cwd=tmp_path)
    assert mined.code == 2, mined.stderr
    assert "the recipe works on" in mined.stderr
    assert "the first 3 changes ended alike, as env_no_passing_test" in mined.stderr
    assert "`test -f ready` failed" in mined.stderr


def head_of(*paths: str, folder: str = "", reports: bool = False) -> NewestTree:
    tree = Tree({path: TreeFile(b"test('a', f)\n") for path in paths})
    return NewestTree("a" * 40, tree, DAYS[0], tuple(runnable_tests(tree, language_namer(reports=reports), folder)))


@pytest.mark.parametrize(
    ("recipe", "files"),
    [
        (Recipe(tests="./run"), ("tests/test_a.py", "web/b.test.js", "web/d.test.js")),
        (Recipe(tests="pytest tests/"), ("tests/test_a.py",)),
        (Recipe(tests="npx jest"), ("web/a.test.js", "web/c.test.js")),
        (Recipe(tests="./run", report=("report.xml",)), ("test-it.sh", "web/a.test.js", "web/d.test.js")),
    ],
    ids=["unknown", "pytest", "jest", "reports"],
)
def test_a_recipe_is_tried_on_tests_that_it_can_run(recipe: Recipe, files: tuple[str, ...]) -> None:
    paths = ("src/a.py", "test-it.sh", "tests/a.c", "tests/test_a.py", *(f"web/{one}.test.js" for one in "abcd"))
    head = head_of(*paths, reports=bool(recipe.report))
    assert head.files_to_try(recipe) == files


def test_a_recipe_is_tried_on_tests_of_its_part_and_from_all_over_it() -> None:
    head = head_of(*(f"web/tests/test_{number}.py" for number in range(9)), "other/test_a.py", folder="web")
    assert head.files_to_try(Recipe()) == ("web/tests/test_0.py", "web/tests/test_3.py", "web/tests/test_6.py")


def test_tests_that_the_recipe_does_not_run_are_left_out_before_anything_is_built(tmp_path: Path) -> None:
    parts = cut_of({"web/a.ts": "let x = 1\n"}, {"web/a.ts": "let x = 2\n"}, {"web/a.test.ts": "test('x', f)\n"})
    sandboxes = Sandboxes(None, {})  # type: ignore[arg-type]
    builder = ProblemBuilder(
        repository=tmp_path, name="shop", languages=known_languages(), sandboxes=sandboxes, options=MineRequest(),
        today=date(2026, 1, 1), tip=Tree(), stop=Event(), project=None,
        recorded=RecordedBuilds(Recipe(tests="go test ./..."), sandboxes),
    )  # fmt: skip
    prospect = Prospect(unit_of("Fix x"), BugScore(3.0, ()))
    end = builder.build(prospect, Steps(), parts)
    assert end == Rejected("no_runner", "the recipe's tests are run by go: web/a.test.ts")


def test_a_recipe_that_was_changed_tries_again_what_ended_for_it() -> None:
    before, after = (MineRequest(recipe=Recipe(env={"A": value})) for value in "12")
    assert before.decisive() != after.decisive()
    assert MineRequest(recipe=before.recipe).decisive() == before.decisive()


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("pytest -q", "pytest"),
        ("python3 -m pytest tests", "pytest"),
        ("python manage.py test --parallel 1", "django"),
        ("go test -race ./...", "go"),
        ("npx --no-install vitest run", "vitest"),
        ("node_modules/.bin/jest", "jest"),
        ("node --test", "node"),
        ("node bin/wrap.js mocha test/unit", "mocha"),
        ("node test.js", None),
        ("cargo +nightly test --locked", "cargo"),
        ("./mvnw -B test", "maven"),
        ("/opt/env/maven/bin/mvn -B test", "maven"),
        ("./gradlew test", "gradle"),
        ("make check", None),
        ("", None),
    ],
)
def test_the_runner_is_the_program_that_the_recipe_names(command: str, runner: str | None) -> None:
    assert known_runner(tuple(command.split())) == runner


def test_a_module_in_one_word_with_its_option_is_the_runner() -> None:
    settings = settings_of(Recipe(tests="python -mpytest -q"), None)
    assert settings is not None
    assert (settings.runner, settings.command) == ("pytest", ("python", "-m", "pytest", "-q"))


DAYS = [datetime(2025, 3, day, tzinfo=UTC) for day in range(1, 6)]


class Builds:
    """Recorded builds of trees that are one file each, from which and a recipe all is made.

    Builds of the recipe itself raise ``error``; ``others`` are what the files of each tree propose. ``written``: the
    recipe is the project's own.
    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        *setup: str,
        error: Exception | None = None,
        others: Sequence[Recipe] = (),
        written: bool = False,
        tests: str | None = None,
    ) -> None:
        self.days: list[date] = []
        self.begun: list[Path | None] = []
        self.asked: list[tuple[tuple[str, ...], bool]] = []
        self._setup, self._error = setup, error
        monkeypatch.setattr(recorded, "inputs_of", self._inputs)
        monkeypatch.setattr(recorded, "obtain_build", self._obtain)
        monkeypatch.setattr(opening, "recipes_of_older_tree", lambda *_, **__: others)
        recipe, sandboxes = Recipe(setup=setup, tests=tests), Sandboxes(None, {})  # type: ignore[arg-type]
        found = RecordedBuilds(recipe, sandboxes, proposed=lambda _: others)
        self.builds = builds_of_own_recipe(recipe, sandboxes) if written else found

    @staticmethod
    def _inputs(recipe: Recipe, tree: Tree, _backend: object) -> str:
        return digest([recipe.identity, tree.digest()])

    def _obtain(
        self, recipe: Recipe, tree: Tree, backend: Any, *, day: date, nearest: Layer | None, found: bool
    ) -> Built:
        self.days.append(day)
        self.begun.append(nearest.archive if nearest is not None else None)
        self.asked.append((recipe.setup, found))
        if self._error is not None and recipe.setup == self._setup:
            raise self._error
        inputs, lock = self._inputs(recipe, tree, backend), tree["lock"].text
        layer = Layer(inputs, Path(lock))
        return Built(layer, EnvironmentRecipe("3.11", layer=layer), recipe, inputs, lock)

    def build(self, number: int, lock: str) -> None:
        self.builds.build(f"{number}" * 40, self.tree(lock), DAYS[number])

    def builds_to_try(self, number: int, lock: str) -> list[tuple[str, bool, bool]]:
        return [(choice.environment.resolved, choice.exact, choice.later) for choice in self.choices(number, lock)]

    def choices(self, number: int, lock: str) -> Iterator[BuildChoice]:
        return self.builds.builds_to_try("a" * 40, self.tree(lock), DAYS[number])

    @staticmethod
    def tree(lock: str) -> Tree:
        return Tree({"lock": TreeFile(lock.encode())})


def test_the_nearest_build_is_tried_first_and_an_earlier_one_before_a_later_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Builds(monkeypatch)
    world.build(4, "newest")
    assert world.builds_to_try(3, "own") == [("newest", False, True), ("own", True, False)]
    assert world.builds_to_try(4, "newest") == [("newest", True, False)]
    world.build(0, "old")
    assert world.builds_to_try(2, "other")[:1] == [("old", False, False)]
    assert world.builds_to_try(3, "other") == [("other", True, False)], "built at the call before"


def test_a_build_of_another_tree_of_the_same_second_may_be_of_a_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Builds(monkeypatch)
    world.build(4, "newest")
    assert world.builds_to_try(4, "own") == [("newest", False, True), ("own", True, False)]


def test_a_build_of_a_later_tree_is_no_exact_one_whatever_it_was_made_from(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Builds(monkeypatch)
    world.build(4, "same")
    assert world.builds_to_try(2, "same") == [("same", False, True), ("same", True, False)]
    assert world.days == [DAYS[4].date(), DAYS[2].date()]


@pytest.mark.parametrize(
    ("setup", "begun"),
    [
        (["go mod download", "go list -e -deps -test -f x ./... | xargs -r go build"], [None, Path("newest")]),
        (["go mod download", "go build ./..."], [None, None]),
        ([], [None, None]),
    ],
)
def test_a_build_of_dependencies_alone_begins_with_the_nearest_one(
    monkeypatch: pytest.MonkeyPatch, setup: list[str], begun: list[Path | None]
) -> None:
    world = Builds(monkeypatch, *setup)
    world.build(4, "newest")
    world.build(1, "old")
    assert world.begun == begun


def test_a_recipe_that_runs_the_tests_of_another_language_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [Recipe(setup=("npm ci",), tests="npx jest"), Recipe(setup=("pip install -e .",), tests="unittest")]
    world = Builds(monkeypatch, tests="pytest", others=others)
    assert [choice.recipe.tests for choice in world.choices(0, "own")] == ["pytest", "unittest"]


def test_a_written_recipe_is_whole_and_gives_way_on_a_tree_that_it_does_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error, other = BuildFailed("npm ci", "failed with exit code 1", "", (), ""), Recipe(setup=("npm install",))
    world = Builds(monkeypatch, "npm ci", error=error, others=[other], written=True)
    choices = world.choices(0, "own")
    assert next(choices).recipe == other
    assert world.asked == [(("npm ci",), False), (("npm install",), True)]
    with pytest.raises(BuildFailed, match="npm ci"):
        next(choices)
    choice = next(world.choices(1, "newer"))
    assert (choice.recipe, choice.exact) == (other, True), "the other recipe's is not the nearest"


@pytest.mark.parametrize(
    "error",
    [
        UsageError("ACME_TOKEN is not set.", ""),
        NotInstalled("no ruby 1.0.", ""),
        Unreachable("no index.", ""),
        BuildFailed("npm ci", "", "", (), "", unreachable=True),
    ],
)
def test_no_other_recipe_makes_up_for_a_missing_secret_or_index(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    others = [Recipe(setup=("npm install",))]
    world = Builds(monkeypatch, "npm ci", error=error, others=others, written=True)
    with pytest.raises(type(error)):
        next(world.choices(0, "own"))
    assert world.asked == [(("npm ci",), False)]


def test_an_index_that_only_an_old_trees_recipe_needs_ends_no_mining(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Recipe(setup=("npm install",))
    world = Builds(monkeypatch, error=Unreachable("no index answers."), others=[other])
    choices = world.choices(0, "own")
    assert next(choices).recipe == other
    with pytest.raises(recorded.RECIPE_ERRORS, match="no index answers"):  # the builder leaves such a change out
        next(choices)


def test_a_failing_test_is_the_environments_fault_until_it_fails_in_a_build_of_its_own_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Builds(monkeypatch)
    world.build(4, "newest")
    near, exact = world.choices(3, "own")
    assert world.builds.may_be_at_fault(near, frozenset({"network"}))
    assert not world.builds.may_be_at_fault(exact, frozenset({"network"}))
    assert not world.builds.may_be_at_fault(near, frozenset({"network"}))
    assert world.builds.may_be_at_fault(near, frozenset({"network", "other"}))


def test_a_test_run_may_take_the_recipes_seconds_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = TestReport(results={"t.py::a": TestResult(id="t.py::a", status="passed")}, cpu_seconds=5.0, seconds=2.0)
    monkeypatch.setattr(Trial, "run", lambda *_: passed)
    parts = cut_of({"a.py": "x = 1\n"}, {"a.py": "x = 2\n"}, {"t.py": "def a(): pass\n"})
    settings = RunnerSettings("pytest")
    tried = try_cut(
        parts, lambda _: pytest.fail("no sandbox"), date(2025, 1, 1), False, settings, ProblemLimits(),
        processor_seconds=4.0,
    )  # fmt: skip
    assert tried == Rejected("timeout", "the fixed tests took over 4 s of processor time")


def test_an_older_tree_is_tried_with_a_whole_job_where_quicker_recipes_do_not_fit() -> None:
    steps = [{"run": "pip install -r needs/tests.txt"}, {"run": "pytest --cov=shop"}]
    workflow = yaml.safe_dump({"on": "push", "jobs": {"test": {"runs-on": "ubuntu-latest", "steps": steps}}})
    files = {".github/workflows/ci.yml": workflow, "pyproject.toml": "[project]\n", "tests/test_shop.py": ""}
    tree = Tree({path: TreeFile(text.encode()) for path, text in files.items()})
    found = recipes_of_older_tree(tree, "", lambda *_: True)
    project = ("uv pip install -e .", "uv pip install pytest")
    assert [(one.setup, one.tests) for one in found] == [
        (project, "pytest --cov=shop"),
        (project, "python -m pytest"),
        (("pip install -r needs/tests.txt",), "pytest --cov=shop"),
    ]


def test_a_refresh_begins_with_the_builds_of_the_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = Base(commit="b" * 40)
    entry = kit.environment_with("six 1\n", "recorded", recipe="setup: [make]\n", base=base, inputs="0" * 64)
    one = problem(environment=entry.manifest, provenance=Provenance(kind="direct", date=DAYS[1]))
    suite = write_suite(tmp_path / "s", name="demo", repository=None, environments=[entry], problems=[one])
    sandboxes = Sandboxes(None, {}, tree=lambda _: Tree())  # type: ignore[arg-type]
    builds = builds_of_own_recipe(Recipe(setup=("make",)), sandboxes, builds_of_suite(suite, sandboxes))
    monkeypatch.setattr(recorded, "inputs_of", lambda *_: "1" * 64)
    asked: list[str | None] = []

    def obtain_build(recipe: Recipe, *_: object, resolved: str | None, **__: object) -> Built:
        asked.extend([*recipe.setup, resolved])
        raise SandboxError("nothing is built here")

    monkeypatch.setattr("codegate.grading.sandboxes.obtain_build", obtain_build)
    choice = next(builds.builds_to_try("a" * 40, Tree(), DAYS[2]))
    assert (choice.environment, choice.exact, choice.later) == (entry, False, False)
    with pytest.raises(SandboxError, match="nothing is built here"):
        sandboxes.prepare(choice.environment.manifest)
    assert asked == ["make", "six 1\n"]


def test_a_written_recipe_that_asks_for_what_is_missing_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(*_: object) -> str:
        raise NotInstalled("this machine has no ruby 1.0.", "Install it.")

    monkeypatch.setattr(recorded, "inputs_of", lacking)
    builds = builds_of_own_recipe(Recipe(tools={"ruby": "1.0"}), Sandboxes(None, {}))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"no ruby 1\.0\. Install it\."):
        opening.try_recipe(builds, known_languages(), builds._sandboxes, head_of("tests/test_a.py"))


def test_a_runner_that_nobody_knows_is_told_before_anything_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Builds(monkeypatch, "npm install", tests="npm test")
    with pytest.raises(UsageError, match="`npm test` is no test runner that is known here") as raised:
        opening.try_recipe(world.builds, known_languages(), Sandboxes(None, {}), head_of("test/parse.js"))  # type: ignore[arg-type]
    assert "`report`" in raised.value.remedy
    assert world.days == []


def test_where_no_recipe_works_the_remedy_of_the_first_is_told(
    monkeypatch: pytest.MonkeyPatch, bwrap_backend: BubblewrapBackend
) -> None:
    def lacking(*_: object) -> None:
        raise UsageError("java 99 is not to be had:\n  no such package.", "Name an `image` that has it.")

    monkeypatch.setattr(opening, "try_recipe", lacking)
    words: list[str] = []
    head = opening.NewestTree(
        "a" * 40, Tree({"tests/test_a.py": TreeFile(b"")}), datetime.now(UTC), ("tests/test_a.py",)
    )
    with closing(Sandboxes(bwrap_backend, {})) as sandboxes, pytest.raises(UsageError, match="java 99") as raised:
        opening.choose_recipe("", head, {}, sandboxes, words.append)
    assert [line.partition(": ")[2] for line in words] == ["java 99 is not to be had: no such package."], "one line"
    assert raised.value.remedy.startswith("Name an `image` that has it. Write `environment`")
