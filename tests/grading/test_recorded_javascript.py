"""JavaScript's tests in a recorded build: Node on PATH, the tree's own packages, the options of the named script."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from functools import reduce

import pytest

from codegate.grading import TestSelection, run_tests
from codegate.grading.controls.copies import make_copies, read_texts
from codegate.sandbox import Sandbox
from codegate.sandbox.bubblewrap import BubblewrapBackend
from tests.grading.test_runner_javascript import FRAMEWORKS, LIMITS, PROJECT, TESTS
from tests.grading.worlds import tree
from tests.kit.environment import recorded, sandboxes_of

pytestmark = pytest.mark.bwrap

Opener = Callable[[], AbstractContextManager[Sandbox]]


@pytest.fixture(scope="module")
def opened(bwrap_backend: BubblewrapBackend) -> Iterator[Opener]:
    """Sandboxes with the packages of a folder of the tree."""
    packages = "jest@30.2.0 mocha@11.7.4 vitest@3.2.4"
    environment = recorded("web", f"mkdir web && cd web && npm install {packages} && rm package*.json", node="22")
    with closing(sandboxes_of(bwrap_backend, environment)) as found:
        yield lambda: found.open(environment.manifest, LIMITS)


@pytest.mark.full  # their environment is large
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_each_framework_runs_from_the_trees_own_packages(opened: Opener, name: str) -> None:
    framework = FRAMEWORKS[name]
    options = {"node": "--conditions=own", "mocha": "--ui=tdd", "vitest": "--environment=node", "jest": "--env=node"}
    tdd = {"describe(": "suite(", "it(": "test(", "it.": "test."} if name == "mocha" else {}
    text = reduce(lambda so_far, word: so_far.replace(word, tdd[word]), tdd, TESTS)
    text = text.replace("MODE", repr("test" if name in {"jest", "vitest"} else "undefined"))
    scripts = {"test": "exit 1", "own": f"{'node --test' if name == 'node' else name} {options[name]}"}
    manifest = {**json.loads(PROJECT["package.json"]), "scripts": scripts}
    content = {
        "web/package.json": json.dumps(manifest),
        "web/lib/sums.cjs": PROJECT["lib/sums.cjs"],
        f"web/{framework.file}": framework.head + text,
    }
    texts = read_texts(tree(content), (f"web/{framework.file}",), framework.name)
    used = make_copies(texts, texts.units.values(), {})
    assert used.marks
    selection = TestSelection(
        (f"web/{framework.file}",), runner=framework.name, command=("npm", "run", "own"), folder="web",
        copies=used,
    )  # fmt: skip
    report = run_tests(opened, tree(content), selection)
    statuses = {test.partition("::")[2]: result.status for test, result in report.results.items()}
    assert statuses == {
        "sums > of one > adds": "passed",
        "sums > of one > is wrong": "failed",
        "sums > of one > breaks": "failed",
        "sums > is left out": "skipped",
        "sums > has a twin": "failed",
        "stands alone": "passed",
        "is in the mode of its framework": "passed",
    }, report.output
    assert report.proven
    assert report.receipts[f"web/{framework.file}::sums > of one > adds"]
