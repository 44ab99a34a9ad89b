"""Projects beside others: a service of a repository that is mined alone, and what pytest itself depends on."""

import subprocess
import sys
from pathlib import Path

import pytest

from codegate.errors import UsageError
from codegate.mining import MineRequest, mine_repository
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Problem, Suite
from tests.kit.repository import HistoryBuilder
from tests.mining.statement_world import BODY

# With a backend that is quick; more of the project follows.
BUILT = "[build-system]\nrequires = ['flit_core']\nbuild-backend = 'flit_core.buildapi'\n[project]\ndescription = 'a'\n"
TOTAL = "from acme_common import ZERO\n\n\ndef total(items):\n    return ITEMS\n"
BEGIN: dict[str, str | bytes | None] = {
    "pyproject.toml": "[tool.uv.workspace]\nmembers = ['services/api', 'libs/common']\n",
    # Data of tests that calls itself like a dependency is none of the repository's projects.
    "fixtures/pack/pyproject.toml": "[project]\nname = 'six'\nversion = '9'\n",
    "libs/common/pyproject.toml": BUILT
    + "name = 'acme-common'\nversion = '1'\nrequires-python = '>=3.10'\ndependencies = ['six==1.15.0']\n",
    "libs/common/src/acme_common.py": "import six\n\nZERO = 0\n",
    "services/api/pyproject.toml": BUILT
    + "name = 'api'\nversion = '1'\nrequires-python = '>=3.10'\ndependencies = ['acme-common']\n"
    "[dependency-groups]\ntests = ['pytest']\n[tool.uv.sources]\nacme-common = {workspace = true}\n"
    "[tool.flit.module]\nname = 'sums'\n",
    "services/api/src/sums.py": TOTAL.replace("ITEMS", "items[0] + sum(items[1:])"),
    "services/api/tests/test_sums.py": "from sums import total\n",
    "services/api/tests/expected.txt": "3",
    "services/web/title.py": "TITLE = 'a'\n",
    "services/web/tests/test_title.py": "import title\n",
}
TEST_SUMS = """from pathlib import Path

import six

from sums import total


def test_total():
    assert total([1, 2]) == int(Path("tests/expected.txt").read_text())


def test_total_of_nothing():
    assert total([]) == 0


def test_what_the_workspace_locks():
    assert six.__version__ == "1.15.0"
"""


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> HistoryBuilder:
    history = HistoryBuilder(tmp_path_factory.mktemp("monorepo") / "acme")
    for name, data in BEGIN.items():
        if name.endswith("pyproject.toml"):
            (history.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (history.folder / name).write_text(str(data))
    subprocess.run([str(Path(sys.executable).with_name("uv")), "lock", "--quiet"], cwd=history.folder, check=True)
    history.commit("begin", {**BEGIN, "uv.lock": (history.folder / "uv.lock").read_text()})
    history.commit(
        f"Fix the total of nothing (#2){BODY}",
        {
            "services/api/src/sums.py": TOTAL.replace("ITEMS", "sum(items, ZERO)"),
            "services/api/tests/test_sums.py": TEST_SUMS,
        },
    )
    history.commit(
        f"Fix the title (#3){BODY}",
        {
            "services/web/title.py": "TITLE = 'A'\n",
            "services/web/tests/test_title.py": "import title\n\n\ndef test_title():\n    assert title.TITLE == 'A'\n",
        },
    )
    return history


def _mined(history: HistoryBuilder, out: Path, backend: BubblewrapBackend, path: str) -> tuple[Problem, dict[int, str]]:
    events: list[str] = []
    options = MineRequest(path=path, rounds=1)
    report = mine_repository(history.folder, out, options, backend, lambda event: events.append(event.message))
    assert isinstance(report.suite, Suite), events
    (problem,) = report.suite.problems
    return problem, {one.pull_request or 0: one.problem or str(one.reason) for one in report.results}


@pytest.mark.bwrap
@pytest.mark.requirement("M3", "M8", "M10")
def test_a_service_in_python_is_mined_by_itself_with_its_siblings_and_the_lock_above(
    services: HistoryBuilder, tmp_path: Path, bwrap_backend: BubblewrapBackend
) -> None:
    problem, ends = _mined(services, tmp_path / "suite", bwrap_backend, "services/api")
    assert ends == {2: "acme-api-2", 3: "outside_path"}
    assert problem.manifest.folder == "services/api"
    assert problem.manifest.test_files == ("services/api/tests/test_sums.py",)
    assert problem.manifest.python_path == (
        "services/api", "services/api/src", "libs/common", "libs/common/src", "",
    )  # fmt: skip
    assert problem.tests.FAIL_TO_PASS == ("services/api/tests/test_sums.py::test_total_of_nothing",)
    assert len(problem.tests.PASS_TO_PASS) == 2


@pytest.mark.bwrap
@pytest.mark.requirement("M9")
@pytest.mark.full
def test_a_project_that_pytest_depends_on_is_mined_with_its_own_tree(
    history: HistoryBuilder, tmp_path: Path, bwrap_backend: BubblewrapBackend
) -> None:
    classes = "".join(f"class {name}: ...\n\n\n" for name in ("ParseError", "IniConfig", "SectionWrapper"))
    module = classes + "def double(number):\n    return number * %s\n"
    test = "from iniconfig import double\n\n\ndef test_zero():\n    assert double(0) == 0\n"
    project = f"{BUILT}name = 'iniconfig'\nversion = '77.0'\n"
    begin: dict[str, str | bytes | None] = {
        "pyproject.toml": project,
        "src/iniconfig/__init__.py": module % "3",
        "tests/test_numbers.py": test,
    }
    history.commit("begin", begin)
    more = f"{test}\n\ndef test_double():\n    assert double(2) == 4\n"
    history.commit(f"Fix double (#2){BODY}", {"src/iniconfig/__init__.py": module % "2", "tests/test_numbers.py": more})
    problem, ends = _mined(history, tmp_path / "suite", bwrap_backend, "")
    assert problem.tests.FAIL_TO_PASS == ("tests/test_numbers.py::test_double",), ends
    assert problem.tests.PASS_TO_PASS == ("tests/test_numbers.py::test_zero",)


@pytest.mark.bwrap
@pytest.mark.parametrize("path", ["../elsewhere", "/etc", "services/apy"])
def test_a_path_that_is_no_folder_of_the_repository_is_refused(
    path: str, services: HistoryBuilder, tmp_path: Path, bwrap_backend: BubblewrapBackend
) -> None:
    with pytest.raises(UsageError, match="folder") as failed:
        mine_repository(services.folder, tmp_path / "suite", MineRequest(path=path), bwrap_backend, lambda _: None)
    assert path in str(failed.value)
