"""Projects that pytest itself depends on: pytest keeps an earlier release, and tests import the tree."""

from collections.abc import Iterator
from datetime import date
from functools import partial

import pytest

from codegate.grading import Sandboxes, TestReport, TestSelection, run_tests
from codegate.mining.environments.declarations import Declarations
from codegate.mining.environments.environment import EnvironmentResolver
from codegate.mining.proving.leak import audit
from codegate.sandbox import TOOLS_LOCK, EnvironmentRecipe
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.environment import build_environment
from codegate.sandbox.resolution import pinned
from codegate.suite import LockedEnvironment, ProblemLimits, TreeFile
from tests.conftest import PYTHON
from tests.grading.worlds import tree

PLUGGY = Declarations("pluggy", (), ("pytest",))
DAY = date(2025, 5, 17)


@pytest.fixture(scope="module")
def resolver() -> EnvironmentResolver:
    """Asks each question once."""
    return EnvironmentResolver(PYTHON)


def releases(found: list[LockedEnvironment]) -> list[str]:
    """Return the versions of pluggy that pytest has for itself, those of environments without one left out."""
    return [str(pinned(entry.packages[TOOLS_LOCK])["pluggy"]) for entry in found if entry.packages]


def test_the_release_is_from_before_the_commits_day_and_in_a_lock_of_its_own(resolver: EnvironmentResolver) -> None:
    """pluggy 1.5.0 came on 2024-04-20 and 1.6.0 on 2025-05-15."""
    found = list(resolver.ladder(PLUGGY, DAY))
    assert releases(found) == ["1.5.0", "1.5.0", "1.6.0"]
    assert releases(list(resolver.ladder(PLUGGY, date(2025, 5, 15)))) == ["1.5.0", "1.5.0", "1.5.0"]
    assert not any("pluggy" in pinned(entry.lock) for entry in found)
    assert len({entry.manifest.id for entry in found}) == len(found)
    assert [file.path for file in found[0].manifest.packages] == [f"environments/{found[0].manifest.id}/{TOOLS_LOCK}"]


def test_what_no_tool_depends_on_has_no_such_lock(resolver: EnvironmentResolver) -> None:
    found = next(resolver.ladder(Declarations("six", (), ("pytest",)), DAY))
    assert found.packages == {}
    assert found.manifest.packages == ()


def test_a_shared_environment_is_never_of_a_later_change(resolver: EnvironmentResolver) -> None:
    entry = next(resolver.ladder(PLUGGY, DAY))
    later = EnvironmentResolver(PYTHON, known=((entry, DAY),))
    assert next(later.ladder(PLUGGY, date(2026, 1, 7))) == entry
    assert releases(list(later.ladder(PLUGGY, date(2024, 1, 20)))) == ["1.3.0"]


@pytest.fixture(scope="module")
def environment(resolver: EnvironmentResolver) -> LockedEnvironment:
    """The first that is tried."""
    return next(resolver.ladder(PLUGGY, DAY))


@pytest.fixture(scope="module")
def sandboxes(bwrap_backend: BubblewrapBackend, environment: LockedEnvironment) -> Iterator[Sandboxes]:
    """Sandboxes of it."""
    found = Sandboxes(bwrap_backend, {})
    found.add(environment)
    yield found
    found.close()


TESTS = """
import importlib.util, os, subprocess, sys

def test_the_tree_is_imported():
    import pluggy
    assert pluggy.ANSWER == 42
    assert pluggy.__file__ == os.path.abspath("src/pluggy/__init__.py")

def test_a_module_that_only_the_release_has_is_not_found():
    assert importlib.util.find_spec("pluggy._manager") is None
    assert not [name for name in sys.modules if name.startswith("pluggy._")]

def test_the_version_is_the_trees():
    from importlib import metadata
    assert metadata.version("pluggy") == "77.0"

def test_a_program_that_a_test_starts_finds_the_tree():
    code = "import pluggy; print(pluggy.ANSWER)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).stdout == b"42\\n"

def test_pytest_works(request, monkeypatch):
    request.config.pluginmanager.get_plugins()
"""


def run(sandboxes: Sandboxes, environment: LockedEnvironment, source: str | None) -> TestReport:
    """Run the tests on a tree with this module ``pluggy``."""
    project = '[project]\nname = "pluggy"\nversion = "77.0"\n'
    content = tree({"pyproject.toml": project, "src/pluggy/__init__.py": source, "testing/test_tree.py": TESTS})
    selection = TestSelection(("testing/test_tree.py",), python_path=("", "src"), recorded=False)
    return run_tests(partial(sandboxes.open, environment.manifest, ProblemLimits()), content, selection)


@pytest.mark.bwrap
@pytest.mark.requirement("M9")
def test_tests_find_the_tree_and_pytest_its_release(sandboxes: Sandboxes, environment: LockedEnvironment) -> None:
    report = run(sandboxes, environment, "ANSWER = 42\n")
    assert {result.status for result in report.results.values()} == {"passed"}
    assert len(report.results) == 5
    assert report.proven


@pytest.mark.bwrap
@pytest.mark.parametrize("source", ["raise SystemError('broken')\n", "ANSWER = = 42\n", None])
def test_a_broken_tree_does_not_break_pytest(
    sandboxes: Sandboxes, environment: LockedEnvironment, source: str | None
) -> None:
    """Nor does one that lacks the package fall back on the release."""
    report = run(sandboxes, environment, source)
    statuses = {test.rpartition("::")[2]: result.status for test, result in report.results.items()}
    assert statuses["test_pytest_works"] == "passed"
    assert statuses["test_the_tree_is_imported"] == "failed"
    assert report.proven


@pytest.mark.bwrap
@pytest.mark.parametrize("known", [False, True])
def test_a_release_with_the_fix_is_a_leak(sandboxes: Sandboxes, environment: LockedEnvironment, known: bool) -> None:
    """The bug came after the release, or the release is not as old as it should be."""
    recipe = EnvironmentRecipe(PYTHON, environment.lock, tuple(environment.packages.items()))
    released = (build_environment(recipe).packages / "pluggy" / "_result.py").read_text()
    path, broken = "src/pluggy/_result.py", released.replace("raise exc.with_traceback(exc.__traceback__)", "raise exc")
    fixed = released if known else broken.replace("raise exc\n", "raise with_remembered_traceback(exc, self)\n")
    assert broken not in {released, fixed}
    base = tree({"pyproject.toml": '[project]\nname = "pluggy"\n', path: broken})
    test = {"testing/test_result.py": TreeFile(b"def test_that_the_traceback_is_kept():\n    assert True\n" * 3)}
    with sandboxes.open(environment.manifest, ProblemLimits()) as sandbox:
        found = audit(base, test, {path: TreeFile(fixed.encode())}, sandbox)
    assert found.clean is not known
