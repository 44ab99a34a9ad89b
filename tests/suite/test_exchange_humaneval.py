import json
from pathlib import Path

import pytest

from codegate.errors import UsageError
from codegate.grading import Sandboxes, grade
from codegate.mining import validate_suite
from codegate.mining.importing import import_tasks, task_environment
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import load_base
from codegate.suite.exchange import task_problem

from .builders import ENVIRONMENT

TASK = {
    "task_id": "Own/0",
    "prompt": 'import math\n\n\ndef half(x):\n    return x / 2\n\n\ndef area(r):\n    """Return the area.\n'
    '    >>> area(0)\n    0.0\n    """',
    "canonical_solution": "    return math.pi * r ** 2\n",
    "test": "\n\nMETADATA = {}\n\n\ndef check(candidate):\n    assert candidate(2) == math.pi * 4\n"
    "    assert candidate(half(2)) == math.pi\n\n",
    "entry_point": "area",
}
OTHER = {
    "task_id": "Own/1",
    "prompt": "def first(items):\n",
    "canonical_solution": "\treturn items[0]",
    "test": "def check(candidate):\n    assert candidate([7, 8]) == 7\n    assert first([1]) == 1",
    "entry_point": "first",
}


MBPP = {
    "task_id": 3,
    "prompt": "Write a function to halve even numbers; it's None for others.",
    "code": "def even(n):\r\n    return n % 2 == 0\n\ndef halve(n):\n    return n // 2 if even(n) else None",
    "test_imports": ["import math"],
    "test_list": ["assert halve(4) == 2", "assert halve(3) is None", "assert halve(math.trunc(8.5)) == 4"],
}


@pytest.mark.requirement("D12")
def test_an_mbpp_task_shows_one_assertion_and_grades_by_each() -> None:
    name, (problem, base) = task_problem(MBPP, "row 1", ENVIRONMENT.manifest)
    assert (name, problem.manifest.tags, problem.manifest.provenance.upstream) == (
        "mbpp-3",
        {"benchmark": "mbpp"},
        "MBPP/3",
    )
    assert base["solution.py"].data.decode() == (
        'def halve(n):\n    """Write a function to halve even numbers; it\'s None for others."""\n'
        "    raise NotImplementedError\n"
    )
    assert len(problem.tests.FAIL_TO_PASS) == 3
    assert "assert halve(4) == 2" in problem.statement
    assert "is None" not in problem.statement.replace("it's None", "")
    other, _ = task_problem({**MBPP, "text": MBPP["prompt"], "prompt": None}, "row 1", ENVIRONMENT.manifest)
    assert other == name


def test_what_mbpp_plus_compares_is_one_more_test() -> None:
    plus = 'import numpy as np\n\n\ninputs = [[8], ["a\\nb"]]\nfor one in inputs:\n    assert one\n'
    _, (problem, _) = task_problem({**MBPP, "test": plus}, "row 1", ENVIRONMENT.manifest)
    assert problem.tests.FAIL_TO_PASS[3:] == ("tests/test_solution.py::test_plus",)
    hidden = problem.hidden["tests/test_solution.py"]
    assert hidden is not None
    assert "def test_plus():\n    import numpy as np\n    inputs = [[8], ['a\\nb']]\n" in hidden.data.decode()


def test_a_task_is_a_module_with_a_hidden_test() -> None:
    name, (problem, base) = task_problem(TASK, "row 1", ENVIRONMENT.manifest)
    assert name == problem.id == "Own-0"
    stub, fixed = base["solution.py"].data.decode(), problem.fix["solution.py"]
    assert fixed is not None
    assert stub == TASK["prompt"] + "\n    pass\n"
    assert fixed.data.decode() == TASK["prompt"] + "\n" + TASK["canonical_solution"]
    assert problem.tests.FAIL_TO_PASS == ("tests/test_solution.py::test_area",)
    assert "Return the area." in problem.statement
    assert TASK["canonical_solution"].strip() not in problem.statement
    assert (problem.manifest.base.folder, problem.manifest.provenance.upstream) == ("bases/Own-0", "Own/0")
    assert not problem.manifest.public_tests


@pytest.mark.parametrize(
    ("task", "field", "value"),
    [
        (MBPP, "test", None), (MBPP, "test", "for"), (MBPP, "task_id", "x"), (MBPP, "code", "def f(:"),
        (MBPP, "code", "x = 1"), (MBPP, "code", "(" * 100_000), (MBPP, "test_list", []),
        (MBPP, "test_list", ["assert other(1)"]), (MBPP, "test_list", ["assert halve(1\n"]),
        (TASK, "task_id", "../.."), (TASK, "task_id", ""), (TASK, "prompt", 3), (TASK, "prompt", ""),
        (TASK, "prompt", "\udcff"), (TASK, "prompt", "x" * ((1 << 20) + 1)), (TASK, "test", None),
        (TASK, "test", "\ud800"), (TASK, "canonical_solution", ["x"]), (TASK, "entry_point", "a b"),
        (TASK, "entry_point", "a\n"), (TASK, "entry_point", "x; import os"), (TASK, "entry_point", "class"),
    ],
)  # fmt: skip
def test_what_is_no_task_is_named(task: dict[str, object], field: str, value: object) -> None:
    with pytest.raises(UsageError):
        task_problem({**task, field: value}, "row 3", ENVIRONMENT.manifest)


def test_imported_tasks_have_their_base_trees_in_the_suite(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text(f"{json.dumps(TASK)}\n{{}}\n")
    report = import_tasks(tmp_path / "tasks.jsonl", tmp_path / "suite", "tasks", ENVIRONMENT)
    assert (report.suite.name, report.suite.manifest.repository) == ("tasks", None)
    assert [entry.partition(":")[0] for entry in report.skipped] == ["row 2"]
    assert load_base(report.suite, report.suite.problems[0]).keys() == {"solution.py"}
    with pytest.raises(UsageError, match="exists already"):
        import_tasks(tmp_path / "tasks.jsonl", tmp_path / "suite", "tasks", ENVIRONMENT)


@pytest.mark.full
@pytest.mark.bwrap
@pytest.mark.requirement("D12")
def test_imported_tasks_are_proven(tmp_path: Path, bwrap_backend: BubblewrapBackend) -> None:
    (tmp_path / "own.jsonl").write_text(f"{json.dumps(TASK)}\n{json.dumps(OTHER)}\n{json.dumps(MBPP)}\n")
    environment = task_environment(None, bwrap_backend)
    assert "pytest==" in environment.resolved
    imported = import_tasks(tmp_path / "own.jsonl", tmp_path / "suite", "own", environment)
    report = validate_suite(imported.suite, None, bwrap_backend, 1, lambda proof: None, 1)
    assert report.proven
    assert len(report.proofs) == 3
    # A helper of the task's is not taken from what is graded.
    problem = imported.suite.problems[0]
    base = load_base(imported.suite, problem)
    stub = base["solution.py"].data.decode()
    cheat = "".join(
        ["--- a/solution.py\n+++ b/solution.py\n@@ -1,2 +1,4 @@\n", "+def check(candidate):\n+    pass\n"]
        + [f" {line}\n" for line in stub.split("\n")[:2]]
    )
    boxes = Sandboxes.of(imported.suite, bwrap_backend, None)
    try:
        assert not grade(problem, base, cheat, boxes).resolved
    finally:
        boxes.close()
