"""Projects beside others: a service of a repository that is mined alone, and what pytest itself depends on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from codegate.environments import Recipe
from codegate.errors import UsageError
from codegate.mining import MineRequest, mine_repository
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Problem, Suite
from tests.kit.repository import HistoryBuilder
from tests.mining.statement_world import BODY

ISARRAY = "sha512-GMxXOiUirWg1xTKRipM0Ek07rX+ubx4nNVElTJdNLYmNO/2YrDkgJGw9CljXn+r4EWiDQg/8lsRdHyg2PJuUaA=="
# With a backend that is quick; more of the project follows.
BUILT = "[build-system]\nrequires = ['flit_core']\nbuild-backend = 'flit_core.buildapi'\n[project]\ndescription = 'a'\n"
NPM_LOCK = {
    "lockfileVersion": 3,
    "packages": {
        "": {"name": "acme", "workspaces": ["services/*", "libs/*"]},
        "libs/words": {"name": "@acme/words", "version": "1.0.0", "dependencies": {"isarray": "^2.0.0"}},
        "node_modules/@acme/words": {"resolved": "libs/words", "link": True},
        "node_modules/isarray": {
            "version": "2.0.4",
            "resolved": "https://registry.npmjs.org/isarray/-/isarray-2.0.4.tgz",
            "integrity": ISARRAY,
        },
        "node_modules/web": {"resolved": "services/web", "link": True},
        "services/web": {"version": "1.0.0", "dependencies": {"@acme/words": "*"}},
    },
}
TOTAL = "from acme_common import ZERO\n\n\ndef total(items):\n    return ITEMS\n"
TITLE = (
    "const { list } = require('@acme/words');\n\nexports.title = (text) => list(text).map((word) => WORD).join(' ');\n"
)
BEGIN: dict[str, str | bytes | None] = {
    "pyproject.toml": "[tool.uv.workspace]\nmembers = ['services/api', 'libs/common']\n",
    "package.json": json.dumps({"name": "acme", "private": True, "workspaces": ["services/*", "libs/*"]}),
    "package-lock.json": json.dumps(NPM_LOCK),
    # Data of tests that calls itself like a dependency is none of the repository's projects.
    "fixtures/pack/package.json": json.dumps({"name": "isarray", "version": "9.0.0"}),
    "fixtures/pack/pyproject.toml": "[project]\nname = 'six'\nversion = '9'\n",
    "libs/common/pyproject.toml": BUILT
    + "name = 'acme-common'\nversion = '1'\nrequires-python = '>=3.10'\ndependencies = ['six==1.15.0']\n",
    "libs/common/src/acme_common.py": "import six\n\nZERO = 0\n",
    "libs/words/package.json": json.dumps(
        {"name": "@acme/words", "version": "1.0.0", "main": "index.js", "dependencies": {"isarray": "^2.0.0"}}
    ),
    "libs/words/index.js": "const isArray = require('isarray');\n\n"
    "exports.list = (text) => (isArray(text) ? text : text.split(' '));\n",
    "services/api/pyproject.toml": BUILT
    + "name = 'api'\nversion = '1'\nrequires-python = '>=3.10'\ndependencies = ['acme-common']\n"
    "[dependency-groups]\ntests = ['pytest']\n[tool.uv.sources]\nacme-common = {workspace = true}\n"
    "[tool.flit.module]\nname = 'sums'\n",
    "services/api/src/sums.py": TOTAL.replace("ITEMS", "items[0] + sum(items[1:])"),
    "services/api/tests/test_sums.py": "from sums import total\n",
    "services/api/tests/expected.txt": "3",
    "services/web/package.json": json.dumps(
        {"name": "web", "version": "1.0.0", "scripts": {"test": "node --test"}, "dependencies": {"@acme/words": "*"}}
    ),
    "services/web/src/title.js": TITLE.replace("WORD", "word[0].toUpperCase() + word.slice(1)"),
    "services/web/test/title.test.js": "require('../src/title.js');\n",
    "services/web/test/expected.txt": "A Bc",
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
TEST_TITLE = """const test = require('node:test');
const assert = require('node:assert');
const { readFileSync } = require('node:fs');
const { title } = require('../src/title.js');

test('words', () => assert.equal(title('a bc'), readFileSync('test/expected.txt', 'utf8')));
test('what the workspace locks', () => assert.equal(require('isarray/package.json').version, '2.0.4'));
test('blanks', () => assert.equal(title('a  b'), 'A  B'));
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
        f"Fix titles with two blanks (#3){BODY}",
        {
            "services/web/src/title.js": TITLE.replace("WORD", "word.slice(0, 1).toUpperCase() + word.slice(1)"),
            "services/web/test/title.test.js": TEST_TITLE,
        },
    )
    return history


def _mined(
    history: HistoryBuilder, out: Path, backend: BubblewrapBackend, path: str, recipe: Recipe | None = None
) -> tuple[Problem, dict[int, str]]:
    events: list[str] = []
    options = MineRequest(path=path, recipe=recipe, rounds=1)
    report = mine_repository(history.folder, out, options, backend, lambda event: events.append(event.message))
    assert isinstance(report.suite, Suite), events
    (problem,) = report.suite.problems
    return problem, {one.pull_request or 0: one.problem or str(one.reason) for one in report.results}


@pytest.mark.bwrap
@pytest.mark.requirement("M3", "M8")
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


@pytest.mark.full
@pytest.mark.bwrap
def test_a_service_in_javascript_is_mined_by_itself_with_its_siblings_and_the_lock_above(
    services: HistoryBuilder, tmp_path: Path, bwrap_backend: BubblewrapBackend
) -> None:
    recipe = Recipe(tools={"node": "22"}, setup=("npm --prefix ../.. ci",), tests="node --test", folder="services/web")
    problem, ends = _mined(services, tmp_path / "suite", bwrap_backend, "services/web", recipe)
    assert ends == {2: "outside_path", 3: "acme-web-3"}
    assert problem.tests.FAIL_TO_PASS == ("services/web/test/title.test.js::blanks",)
    assert problem.tests.PASS_TO_PASS == (
        "services/web/test/title.test.js::what the workspace locks", "services/web/test/title.test.js::words",
    )  # fmt: skip


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
