"""Patches that leave the bug in place and want to pass: none does, and none disturbs what comes after it."""

import pytest

from codegate.grading import FailureClass, Sandboxes
from codegate.suite import make_patch
from tests.grading.conftest import MakeWorld
from tests.grading.worlds import BUG, EXPECTED, FIX, SOURCE, TEST, TESTS, Files, World
from tests.kit.problem import changes

pytestmark = pytest.mark.bwrap

_FORGED = r"""
import json, os
LINE = json.dumps({"kind": "phase", "id": "tests/test_price.py::test_total", "when": "call", "outcome": "passed",
                   "seconds": 0, "markers": [], "crash": None}).encode()
END = json.dumps({"kind": "end", "status": 0}).encode()
"""
_TOTAL = "\ndef total(prices):\n    return sum(prices[1:])\n"

#: Source under test, and the class it must get; None where several are right. The red team has more attacks.
SOURCES: dict[str, tuple[str, FailureClass | None]] = {
    "os._exit from a thread": (
        "import os, threading\nthreading.Timer(0.01, os._exit, (0,)).start()\ndef total(prices):\n"
        "    import time; time.sleep(5)\n",
        "runtime_error",
    ),
    "a fork that goes on as well": (
        "import os\ndef total(prices):\n    if os.fork() == 0:\n        return 3\n    os.wait()\n    return 2\n",
        "logic_error",
    ),
    "records on every descriptor": (
        _FORGED + "for fd in range(256):\n    try:\n        os.write(fd, LINE + b'\\n' + END + b'\\n')\n"
        "    except OSError:\n        pass\n" + _TOTAL,
        "tampering",
    ),
    "records of a child on every descriptor": (
        _FORGED + "if os.fork() == 0:\n    for fd in range(256):\n        try:\n            os.write(fd, END)\n"
        "        except OSError:\n            pass\n    os._exit(0)\nos.wait()\n" + FIX,
        "tampering",
    ),
    "a flood of records": ("import os\nwhile True:\n    os.write(3, b'x' * 65536)\n", "tampering"),
    "the supervisor's descriptors": (
        "import os\nfor number in range(8):\n    os.open(f'/proc/1/fd/{number}', os.O_WRONLY)\n",
        "unsafe_operation",
    ),
    "closed descriptors": ("import os\nos.closerange(3, 256)\n" + FIX, None),
    "descriptors that lead nowhere": (
        "import os\nos.dup2(os.open('/dev/null', os.O_WRONLY), 3)\n" + FIX,
        "runtime_error",
    ),
    "another program in its place": (
        "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', "
        "'import os\\ntry: os.write(3, b\"x\")\\nexcept OSError: pass'])\n",
        "runtime_error",
    ),
    "tests replaced by a link": (
        "import os\nopen('shop/t.py', 'w').write('')\nos.unlink('tests/test_price.py')\n"
        "os.symlink('../shop/t.py', 'tests/test_price.py')\n" + FIX,
        "tampering",
    ),
    "an end after the last test": (
        "import os, _pytest.terminal\n_pytest.terminal.TerminalReporter.summary_stats = lambda _: os._exit(0)\n" + FIX,
        "runtime_error",
    ),
    "an end that is not the one announced": (
        "import os, __main__\nsend = __main__.Channel.send\ndef then_leave(self, **record):\n"
        "    send(self, **record)\n    if record['kind'] == 'end':\n        os._exit(7)\n"
        "__main__.Channel.send = then_leave\n" + FIX,
        "runtime_error",
    ),
    "a signal to everything": ("import os, signal\nos.kill(-1, signal.SIGSTOP)\nos.kill(1, 9)\n" + BUG, None),
}


@pytest.mark.parametrize(("source", "expected"), SOURCES.values(), ids=SOURCES)
def test_hostile_source_does_not_pass(world: World, source: str, expected: FailureClass | None) -> None:
    grade = world.grade({SOURCE: source})
    assert not grade.resolved, grade
    assert grade.failure is not None
    assert expected in {None, grade.failure}, grade
    assert grade.score == 0 if grade.failure == "tampering" else grade.score < 100


_PASSING_CONFTEST = """\
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"

collect_ignore_glob = ["*"]
"""

#: Files next to the bug that honest models may add too: dropped, and without effect. One that had an effect would make
#: another grade, whatever the others do.
DROPPED: dict[str, Files] = {
    "conftests, settings and tests": {
        **dict.fromkeys(("conftest.py", "tests/conftest.py", "shop/conftest.py"), _PASSING_CONFTEST),
        **dict.fromkeys(("tests/test_other.py", "test_price.py"), "def test_total(): pass\n"),
        TESTS: "def test_total(): pass\ndef test_nothing(): pass\n",
        "tests/__init__.py": "import sys, types\nsys.exit(0)\n",
        "pytest.ini": "[pytest]\npython_functions = nothing\n",
        ".pytest.toml": "[pytest]\n",
        "pyproject.toml": "[tool.pytest.ini_options]\npython_functions = 'nothing'\n",
    },
    "the tests, deleted": {TESTS: None},
}


@pytest.mark.parametrize("extra", DROPPED.values(), ids=DROPPED.keys())
def test_tests_and_settings_of_a_patch_have_no_effect(unboxed_world: World, extra: Files) -> None:
    grade = unboxed_world.grade({SOURCE: BUG + "\n", **extra})
    assert (grade.failure, grade.score, grade.dropped) == ("logic_error", 50.0, tuple(sorted(extra))), grade
    honest = unboxed_world.grade({SOURCE: FIX, **extra})
    assert (honest.resolved, honest.dropped) == (True, tuple(sorted(extra))), honest


def test_hidden_tests_win_over_a_source_of_the_same_name(make_unboxed: MakeWorld) -> None:
    world = make_unboxed(hidden={"checks/test_it.py": TEST}, expected=["checks/test_it.py::test_total"])
    assert world.grade({SOURCE: FIX, "checks": "in the way\n"}).resolved


_LEAVING = """\
import os, pathlib

def test_first():
    pathlib.Path("conftest.py").write_text("raise SystemExit(0)")
    pathlib.Path("/tmp/left").write_text("x")
    pathlib.Path("locked/in").mkdir(parents=True)
    os.chmod("locked/in", 0)
    os.chmod("locked", 0)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                pass
        os._exit(0)
"""
_LOOKING = """\
import os, pathlib
from shop.price import total

def test_second():
    running = [n for n in os.listdir("/proc") if n.isdigit() and int(n) not in (1, os.getpid())]
    commands = [pathlib.Path("/proc", n, "cmdline").read_bytes() for n in running]
    assert [c for c in commands if b"pytest" in c] == []
    assert not pathlib.Path("/tmp/left").exists()
    assert sorted(os.listdir(".")) == ["pyproject.toml", "shop", "tests"]
    assert total([1, 2]) == 3
"""


def test_one_file_leaves_nothing_to_the_next(make_world: MakeWorld) -> None:
    second = "tests/test_second.py"
    expected = [f"{TESTS}::test_first", f"{second}::test_second"]
    kept = make_world(hidden={TESTS: _LEAVING, second: _LOOKING}, expected=expected).grade({SOURCE: FIX})
    assert kept.resolved, kept
    rewriting = _LEAVING + f"    pathlib.Path({second!r}).write_text('def test_second(): pass')\n"
    wrong = make_world(hidden={TESTS: rewriting, second: _LOOKING}, expected=expected).grade({SOURCE: BUG + "\n"})
    assert (wrong.failure, wrong.resolved) == ("tampering", False)
    assert second in wrong.detail
    assert [test.message.splitlines()[:1] for test in wrong.tests] == [[], ["assert 2 == 3"]]


def test_a_file_vouches_for_its_own_tests_only(make_world: MakeWorld) -> None:
    other = "tests/test_other.py"
    rename = "def pytest_collection_modifyitems(items):\n    for item in items:\n        item._nodeid = {!r}\n"
    world = make_world(
        hidden={"tests/conftest.py": rename.format(EXPECTED[0]), other: "def test_x(): pass\n"},
        expected=[EXPECTED[0]],
        run=[other],
    )
    assert [test.status for test in world.grade({SOURCE: FIX}).tests] == ["missing"]


def test_an_id_that_two_tests_share_is_proven_by_neither(make_world: MakeWorld) -> None:
    rename = (
        "def pytest_collection_modifyitems(items):\n    for item in items:\n        item._nodeid = items[0].nodeid\n"
    )
    world = make_world(hidden={"tests/conftest.py": rename}, expected=[EXPECTED[0]])
    grade = world.grade({SOURCE: FIX})
    assert ([test.status for test in grade.tests], grade.resolved) == (["missing"], False)


def test_what_runs_at_exit_has_no_say(world: World) -> None:
    source = (
        "import atexit, threading, time, os\natexit.register(time.sleep, 600)\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n" + FIX
    )
    grade = world.grade({SOURCE: source})
    assert (grade.resolved, grade.exit_code) == (True, 0)


@pytest.mark.docker
def test_docker_holds_against_the_same(docker_sandboxes: Sandboxes, make_world: MakeWorld) -> None:
    world = make_world()
    world.sandboxes = docker_sandboxes
    for name in ("records on every descriptor", "closed descriptors"):  # what a backend's own channel carries
        grade = world.grade({SOURCE: SOURCES[name][0]})
        assert not grade.resolved, name
        assert SOURCES[name][1] in {None, grade.failure}, (name, grade)


def test_a_patch_is_text_and_not_a_program(unboxed_world: World) -> None:
    patch = make_patch(unboxed_world.base, changes({SOURCE: FIX}))
    assert unboxed_world.grade(patch.replace("\n", "\r\n")).resolved, (
        "its line ends are the file's where they fit nowhere else"
    )
    assert unboxed_world.grade("From: x\nSubject: [PATCH] fix\n\n" + patch + "-- \n2.39\n").resolved
