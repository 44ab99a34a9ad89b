"""No layer of the grader is there for nothing: without it an attack is resolved that is not with it.

Copies and marks stand behind most of the other layers. To see what a layer is worth by itself, those behind it are off
as well, in both runs.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codegate.grading import Grade, Sandboxes, TestReport, grade, grader, records
from codegate.grading.controls import verdict
from codegate.grading.grade import TestResult
from codegate.grading.policy import ClassifiedPatch
from codegate.languages.python.runners import Pytest
from codegate.sandbox import Command
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Changes, Problem, Tree, load_base, load_suite
from tests.redteam.grader import ATTACKS, submissions
from tests.redteam.grader.grading import Submission, add_controls, patch_of
from tests.redteam.grader.projects import PROJECTS, make_suite
from tests.redteam.grader.writing import Change

pytestmark = pytest.mark.bwrap

Remove = Callable[[pytest.MonkeyPatch], None]


def _copies(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(grader, "with_surviving_copies", lambda *_: [])


def _marks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(grader, "separate_copies", lambda *read: replace(verdict.separate_copies(*read), short=()))


def _path_policy(patch: pytest.MonkeyPatch) -> None:
    def classify_patch(problem: Problem, base: Tree, changes: Changes) -> ClassifiedPatch:
        return ClassifiedPatch(dict(changes), (), (), frozenset())

    patch.setattr(grader, "classify_patch", classify_patch)


def _exact_ids(patch: pytest.MonkeyPatch) -> None:
    def result(**values: Any) -> TestResult:
        return TestResult(**{**values, "status": "passed"} if values.get("status") == "missing" else values)

    patch.setattr(grader, "TestResult", result)
    patch.setattr(TestReport, "proven", property(lambda self: True))


def _token(patch: pytest.MonkeyPatch) -> None:
    known = records.read_frames

    def read_frames(data: bytes, token: str, parse: Callable[[bytes], Any]) -> Any:
        opening = f"{token} ".encode()
        *lines, rest = data.split(b"\n")
        marked = (line if line.startswith(opening) else opening + line for line in lines)
        return known(b"\n".join([*marked, rest]), token, parse)

    patch.setattr(records, "read_frames", read_frames)


def _isolation(patch: pytest.MonkeyPatch) -> None:
    known = Pytest.command

    def command(*arguments: Any) -> Command:
        found = known(*arguments)
        start = found.argv[found.argv.index("-c") + 1]  # which hides Python's variables too, for a seed of hashes
        argv = tuple(part for part in found.argv if part not in {"-I", start})
        return replace(found, argv=argv, environment={**found.environment, "PYTHONPATH": "lib"})

    patch.setattr(Pytest, "command", command)


_START_UP = Change(
    "start-up", "a start-up file of the interpreter that makes every report one of passing", ("single",),
    files={
        "lib/sitecustomize.py": """
from _pytest.reports import TestReport
_init = TestReport.__init__
def _start(self, nodeid, location, keywords, outcome, longrepr, *args, **kwargs):
    _init(self, nodeid, location, keywords, "passed", None, *args, **kwargs)
TestReport.__init__ = _start
""",
    },
)  # fmt: skip

#: By layer: what removes it, what stands behind it, and an attack that only it stops then.
LAYERS: dict[str, tuple[Remove, tuple[Remove, ...], str]] = {
    "path policy": (_path_policy, (_marks, _copies), "conftest-top@functions"),
    "exact ids and the end record": (_exact_ids, (), "os-exit-import@functions"),
    "the channel's token": (_token, (_marks, _copies), "records-without-token@single"),
    "an isolated interpreter": (_isolation, (_path_policy, _marks, _copies), "start-up@single"),
    "marks": (_marks, (_copies,), "function-runtest@single"),
    "copies": (_copies, (), "oracle-alone@single"),
}


class Grader:
    """The product's own function, over the suite of the battery."""

    def __init__(self, folder: Path, backend: BubblewrapBackend) -> None:
        place, self.repository = make_suite(folder, ("single", "functions"))
        add_controls(place, self.repository)
        self.suite = load_suite(place)
        self.problems = {problem.id: problem for problem in self.suite.problems}
        self.sandboxes = Sandboxes.of(self.suite, backend, self.repository)

    def grade(self, submission: Submission) -> Grade:
        problem = self.problems[submission.project]
        base = load_base(self.suite, problem, self.repository)
        return grade(problem, base, patch_of(submission), self.sandboxes)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory, bwrap_backend: BubblewrapBackend) -> Iterator[Grader]:
    found = Grader(tmp_path_factory.mktemp("layers"), bwrap_backend)
    yield found
    found.sandboxes.close()


@pytest.mark.full
@pytest.mark.parametrize("layer", LAYERS)
def test_an_attack_is_resolved_without_the_layer_that_stops_it(
    layer: str, judge: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, behind, name = LAYERS[layer]
    attack = submissions((*ATTACKS, _START_UP))[name]
    for other in behind:
        other(monkeypatch)
    assert not judge.grade(attack).resolved
    remove(monkeypatch)
    bare = judge.grade(attack)
    assert bare.resolved, (bare.failure, bare.detail)


@pytest.mark.full
def test_the_reference_fix_is_resolved_all_the_same(judge: Grader) -> None:
    for name in ("single", "functions"):
        project = PROJECTS[name]
        assert judge.grade(Submission("reference", name, {project.source: project.fix})).resolved
