"""Every failure class, each from a patch that was really graded."""

from typing import get_args

import pytest

from codegate.grading import FailureClass, Grade, TestResult, grade_answer
from codegate.grading.classify import classify_failure
from codegate.grading.testreport import TestReport
from codegate.suite import ProblemLimits
from tests.grading.conftest import MakeWorld
from tests.grading.worlds import BUG, EXPECTED, FIX, SOURCE, TESTS, Files, World
from tests.kit.environment import PLAIN
from tests.kit.problem import changes, problem

pytestmark = pytest.mark.bwrap

#: Which module under test leads to which class before any test of it runs.
MODULES: dict[str, tuple[FailureClass, str]] = {
    "a line too few": ("syntax_error", "def total(prices:\n    return 0\n"),
    "a bad indent": ("syntax_error", "def total(prices):\nreturn 0\n"),
    "a NUL": ("syntax_error", "def total(prices):\n    return 0\n\0"),
    "bytes of another encoding": ("syntax_error", "x = '\udcff'\n" + FIX),
    "a name that the repository lacks": ("runtime_error", "def sum_up(prices):\n    return 0\n"),
}


@pytest.mark.parametrize(("expected", "source"), MODULES.values(), ids=MODULES.keys())
@pytest.mark.requirement("G5")
def test_a_module_is_classified_by_why_it_cannot_be_imported(world: World, expected: FailureClass, source: str) -> None:
    grade = world.grade({SOURCE: source.encode("utf-8", "surrogateescape")})
    assert (grade.failure, grade.resolved) == (expected, False), grade
    assert grade.detail
    assert grade.lint is not None


#: Which body of a function leads to which class; the test asserts what it returns.
BODIES: dict[str, tuple[FailureClass, str]] = {
    "source made at run time that is none": ("syntax_error", "exec('def')"),
    "an unknown package": ("missing_dependency", "import numpy.linalg"),
    "a name that another package lacks": ("missing_dependency", "from pluggy import nothing"),
    "a module that the repository lacks": ("runtime_error", "from shop.tax import rate"),
    "an exception": ("runtime_error", "return prices[7]"),
    "no end to recursion": ("runtime_error", "return price_of_NUMBER(prices)"),
    "a wrong answer": ("logic_error", "return -1"),
    "a failed assertion while handling": (
        "logic_error", "try: open('/etc/x', 'w')\n    except OSError: assert prices == 1",
    ),
    "an open address": ("unsafe_operation", "socket.create_connection(('1.1.1.1', 80), 5)"),
    "a name to look up": ("unsafe_operation", "urllib.request.urlopen('http://example.org')"),
    "an open address, wrapped": (
        "unsafe_operation",
        "try: socket.create_connection(('1.1.1.1', 80), 5)\n"
        "    except OSError as error: raise ValueError('offline') from error",
    ),
    "a file of the system, written": ("permission_denied", "open('/etc/passwd', 'w')"),
    "a file of the supervisor": ("unsafe_operation", "open('/proc/1/environ')"),
    "another user's file": ("unsafe_operation", "open('/home/someone/.ssh/id_rsa')"),
    "the daemon's socket": ("unsafe_operation", "open('/run/docker.sock')"),
    "a missing file of its own": ("runtime_error", "open('prices.txt')"),
    "a refused connection of its own": ("runtime_error", "socket.create_connection(('127.0.0.1', 9))"),
    "a wrong answer after an attempt": (
        "logic_error", "try: open('/etc/shadow')\n    except OSError: pass\n    return -1",
    ),
    "a wait that gives up": ("timeout", "raise TimeoutError"),
    "memory that is not there": ("memory_exceeded", "raise MemoryError"),
}  # fmt: skip


@pytest.fixture(scope="module")
def bodies(make_world: MakeWorld) -> TestReport:
    """What one run reports of all bodies."""
    source, test = "import socket, urllib.request\n", "from shop import price\n"
    for number, (_, body) in enumerate(BODIES.values()):
        source += f"\ndef price_of_{number}(prices):\n    {body.replace('NUMBER', str(number))}\n"
        test += f"\ndef test_{number}():\n    assert price.price_of_{number}([1, 2]) == 3\n"
    expected = [f"{TESTS}::test_{number}" for number in range(len(BODIES))]
    return make_world(hidden={TESTS: test}, expected=expected).report({SOURCE: source})


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.requirement("G5")
def test_a_test_is_classified_by_what_its_source_does(bodies: TestReport, name: str) -> None:
    number = list(BODIES).index(name)
    failure, detail = classify_failure(bodies, [bodies.results[f"{TESTS}::test_{number}"]])
    assert failure == BODIES[name][0], detail
    assert detail


PATCHES: dict[str, tuple[FailureClass, Files | str]] = {
    "nothing": ("no_patch", ""),
    "blanks": ("no_patch", " \n\t\n"),
    "tests alone": ("no_patch", {"tests/test_more.py": "def test_x(): pass\n", TESTS: "def test_total(): pass\n"}),
    "configuration alone": ("no_patch", {"pytest.ini": "[pytest]\n", "conftest.py": "", ".pytest.toml": "x=1\n"}),
    "words": ("patch_does_not_apply", "I could not find the bug.\n"),
    "binary noise": ("patch_does_not_apply", "\ufffd\x00\x01"),
    "another context": (
        "patch_does_not_apply",
        f"--- a/{SOURCE}\n+++ b/{SOURCE}\n@@ -1,2 +1,2 @@\n def all(prices):\n-    return 1\n+    return 2\n",
    ),
    "a file outside": (
        "patch_does_not_apply",
        "--- /dev/null\n+++ b/../outside.py\n@@ -0,0 +1 @@\n+x = 1\n",
    ),
    "a submodule": (
        "patch_does_not_apply",
        "diff --git a/shop/m b/shop/m\nnew file mode 160000\n--- /dev/null\n+++ b/shop/m\n@@ -0,0 +1 @@\n"
        f"+Subproject commit {'a' * 40}\n",
    ),
    "more than the disk holds": ("patch_does_not_apply", {SOURCE: FIX, "shop/data.txt": "x" * (7 << 20)}),
    "start-up code": ("tampering", {SOURCE: FIX, "sitecustomize.py": "x = 1\n"}),
    "the test runner": ("tampering", {SOURCE: FIX, "pytest.py": "def main(*_): return 0\n"}),
}


@pytest.fixture(scope="module")
def picky(make_world: MakeWorld) -> World:
    """The problem on a disk that is nearly full."""
    return make_world(
        base={"shop/data.bin": b"x" * (9 << 20)},
        limits=ProblemLimits(seconds=30, memory_mb=256, disk_mb=16),
    )


@pytest.mark.parametrize(("expected", "patch"), PATCHES.values(), ids=PATCHES.keys())
@pytest.mark.requirement("G5")
def test_a_patch_that_is_none_or_worse(picky: World, expected: FailureClass, patch: Files | str) -> None:
    grade = picky.grade(patch)
    assert (grade.failure, grade.score, grade.resolved) == (expected, 0.0, False), grade
    assert grade.detail
    assert grade.applied is (None if expected == "no_patch" else False)


@pytest.mark.requirement("G5")
def test_marked_tests_name_the_class(make_unboxed: MakeWorld) -> None:
    text = """\
import pytest
from shop.price import total

@pytest.mark.edge_case
def test_edge():
    assert total([1]) == 1

@pytest.mark.temporal
def test_time():
    assert total([1, 2]) == 3

@pytest.mark.performance
def test_speed():
    assert total([2, 2]) == 4

class TestMany:
    pytestmark = pytest.mark.edge_case

    def test_edge(self):
        assert total([3]) == 3

def test_plain():
    assert total([4]) == 4
"""
    cases: dict[tuple[str, ...], FailureClass] = {
        ("test_edge", "TestMany::test_edge"): "edge_case_error",
        ("test_time",): "temporal_reasoning_error",
        ("test_speed",): "performance_error",
        ("test_edge", "test_time"): "logic_error",
        ("test_edge", "test_plain"): "logic_error",
    }
    config = {"pyproject.toml": "[tool.pytest.ini_options]\nfilterwarnings = ['error']\n"}
    expected = [f"{TESTS}::{name}" for name in sorted({name for names in cases for name in names})]
    world = make_unboxed(base=config, hidden={TESTS: text}, expected=expected)
    report = world.report({SOURCE: BUG})
    for names, failure in cases.items():
        failing = [report.results[f"{TESTS}::{name}"] for name in names]
        assert classify_failure(report, failing)[0] == failure, names


def test_time_is_up(make_world: MakeWorld) -> None:
    world = make_world(limits=ProblemLimits(seconds=2, memory_mb=256))
    grade = world.grade({SOURCE: "import time\n\ndef total(prices):\n    time.sleep(600)\n"})
    assert (grade.failure, grade.resolved, grade.tests_passed) == ("timeout", False, 0)
    assert (grade.seconds or 0) > 1.5


@pytest.mark.parametrize(
    "source",
    [
        "def total(prices):\n    return len(bytearray(1 << 30)) + len('x' * (1 << 30))\n",
        "import os\ndef total(prices):\n    if os.fork() == 0:\n        x = [bytearray(1 << 20) for _ in range(900)]\n"
        "        os._exit(0)\n    os.wait()\n    return sum(prices)\n",
    ],
    ids=["in the test process", "in a child, while every test passes"],
)
def test_memory_is_up(world: World, source: str) -> None:
    grade = world.grade({SOURCE: source})
    assert (grade.failure, grade.resolved) == ("memory_exceeded", False), grade


@pytest.mark.requirement("G1")
def test_partial_credit_is_the_share_of_expected_tests(unboxed_world: World) -> None:
    grade = unboxed_world.grade({SOURCE: BUG + "\n"})
    assert (grade.score, grade.tests_passed, grade.tests_total, grade.compiled) == (50.0, 1, 2, True)
    assert [(test.id, test.status) for test in grade.tests] == [(EXPECTED[0], "failed"), (EXPECTED[1], "passed")]
    assert "assert 2 == 3" in grade.detail
    assert EXPECTED[0] in grade.detail


def test_a_failing_grade_names_the_paths_that_were_not_applied(unboxed_world: World) -> None:
    """Otherwise a file that is absent for this reason reads as the model's own slip."""
    left_out = [f"tests/test_{name}.py" for name in "abcd"]
    grade = unboxed_world.grade({SOURCE: BUG + "\n", **dict.fromkeys(left_out, "x = 1\n")})
    assert set(grade.dropped) == set(left_out)
    assert grade.detail.endswith(f"; not applied: {', '.join(grade.dropped[:3])} (and 1 more)")
    none = unboxed_world.grade({left_out[0]: "x = 1\n"})
    assert none.detail == f"the patch changes tests, configuration or documentation only; not applied: {left_out[0]}"
    assert not unboxed_world.grade({SOURCE: FIX, left_out[0]: "x = 1\n"}).detail


@pytest.mark.requirement("G2")
def test_a_file_that_cannot_be_imported_leaves_no_credit(make_world: MakeWorld) -> None:
    other = "tests/test_other.py"
    world = make_world(hidden={other: "def test_other(): pass\n"}, expected=[*EXPECTED, f"{other}::test_other"])
    grade = world.grade({SOURCE: "import numpy\n" + FIX})
    assert (grade.failure, grade.score, grade.compiled, grade.tests_passed) == ("missing_dependency", 0.0, False, 1)


@pytest.mark.requirement("G2", "G3", "G6")
def test_the_reference_fix_resolves(world: World) -> None:
    grade = world.grade({SOURCE: FIX})
    assert (grade.resolved, grade.score, grade.failure, grade.detail) == (True, 100.0, None, "")
    assert (grade.applied, grade.compiled, grade.exit_code) == (True, True, 0)
    assert (grade.seconds or 0) > 0
    assert (grade.cpu_seconds or 0) > 0
    assert 5 << 20 < (grade.peak_memory_bytes or 0) < 256 << 20
    assert Grade.model_validate_json(grade.model_dump_json()) == grade


@pytest.mark.full
@pytest.mark.docker
def test_every_class_that_docker_decides_by_itself(docker_sandboxes: object, make_world: MakeWorld) -> None:
    world = make_world(limits=ProblemLimits(seconds=5, memory_mb=128))
    world.sandboxes = docker_sandboxes  # type: ignore[assignment]  # the fixture's own type
    assert world.grade({SOURCE: FIX}).resolved
    cases: dict[str, str] = {
        "memory_exceeded": "def total(prices):\n    return len(bytearray(1 << 30))\n",
        "timeout": "def total(prices):\n    while prices: pass\n    return 0\n",
        "unsafe_operation": f"import socket\ndef total(prices):\n    {BODIES['an open address'][1]}\n",
        "permission_denied": "def total(prices):\n    open('/etc/passwd', 'w')\n",
    }
    assert {name: world.grade({SOURCE: source}).failure for name, source in cases.items()} == {n: n for n in cases}


@pytest.mark.parametrize(
    ("wanted", "text", "has_code", "failure"),
    [
        ("prose", "It is lost.", False, None),
        ("prose", "x = 1", True, "unwanted_code"),
        ("prose", " \n", False, "empty_answer"),
        ("code", "x = 1", True, None),
        ("code", "It depends.", False, "no_code"),
        ("code", "", True, "empty_answer"),
    ],
)
@pytest.mark.requirement("G10")
def test_an_answer_is_graded_by_the_code_in_it(
    wanted: str, text: str, has_code: bool, failure: FailureClass | None
) -> None:
    fix, environment = changes({"answer.md": "Right."}), PLAIN.manifest
    question = problem("q", environment, hidden={}, fix=fix, wanted=[f"answer::{wanted}"], answer=wanted, test_files=())
    grade = grade_answer(question, text, contains_code=has_code)
    assert (grade.resolved, grade.failure) == (failure is None, failure)
    assert (grade.score, grade.tests_passed, grade.tests_total) == ((100, 1, 1) if failure is None else (0, 0, 1))


def test_every_class_is_shown_here() -> None:
    shown = {case[0] for case in (*MODULES.values(), *BODIES.values(), *PATCHES.values())}
    shown |= {"edge_case_error", "temporal_reasoning_error", "performance_error"}
    shown |= {"no_code", "unwanted_code", "empty_answer"}
    not_from_execution = {"truncated", "refused", "context_overflow"}  # see running/test_endings.py
    assert shown | not_from_execution == set(get_args(FailureClass))


def test_names_that_are_not_text_are_written_out(unboxed_world: World) -> None:
    hostile = unboxed_world.grade({SOURCE: FIX, "\udcff.pth": b"\0", "tests/\udcfe.py": ""})
    assert hostile.detail.startswith("\\udcff.pth")
    grade = unboxed_world.grade({SOURCE: FIX, "tests/\udcff.py": ""})
    assert grade.resolved
    assert grade.dropped == ("tests/\\udcff.py",)


def test_a_test_whose_id_differs_from_run_to_run_is_named() -> None:
    """An id made of the time or of an address is another one in the next run."""
    name = "tests/test_calc.py::test_double[2026-11-26 20:38:10]"
    report = TestReport(
        results={
            "tests/test_calc.py::test_double[0]": TestResult(id="tests/test_calc.py::test_double[0]", status="passed"),
            "tests/test_calc.py::test_double[2026-11-26 20:38:11]": TestResult(id="x", status="passed"),
        }
    )
    gone = TestResult(id=name, status="missing")
    failure, detail = classify_failure(report, [gone], ("tests/test_calc.py::test_double[0]", name))
    assert failure == "runtime_error"
    assert "this run reported tests/test_calc.py::test_double[2026-11-26 20:38:11]: its ids differ" in detail
    _, detail = classify_failure(report, [TestResult(id="tests/test_calc.py::test_half", status="missing")])
    assert "differ" not in detail


def test_import_roots_count_where_the_environment_was_built_from_no_tree(make_unboxed: MakeWorld) -> None:
    base = {"lib/calc.py": "", "pytest.ini": "[pytest]\naddopts = --import-mode=importlib\n"}
    tests, code = (
        {TESTS: "from calc import two\n\ndef test_total():\n    assert two == 2\n"},
        {"lib/calc.py": "two = 2\n"},
    )
    for roots in (("lib",), ()):
        world = make_unboxed(base=base, hidden=tests, fix=code, expected=EXPECTED[:1], python_path=roots)
        assert world.grade(code).resolved is bool(roots)
