"""Planted flaky tests in a real repository: three rounds must set them aside, and keep what is honest."""

from ast import literal_eval
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from codegate.grading import Sandboxes, TestSelection
from codegate.mining.proving.flakes import CLOCK_DAYS, VariedRun, varied_runs
from codegate.mining.proving.outcomes import TestOutcomes
from codegate.mining.proving.validation import OpenSandbox, ValidatedChange
from codegate.sandbox import Command, Sandbox
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import ProblemLimits, RunnerName
from tests.kit.environment import PLAIN, sandboxes_of
from tests.mining.statement_world import cut_of, validate_cut

SOON = datetime.now(UTC) + timedelta(days=200)

PLANTED = f"""\
import datetime, os, random, socket, sys, tempfile, threading, time, uuid
from datetime import date, datetime as when
from time import time as moment
import pytest
import pkg

# order
seen, cache, servers = [], {{}}, []

def test_order_sets():
    seen.append(1)

def test_order_needs_another():
    assert seen and pkg.answer() == 42

def test_order_is_spoilt_by_a_later_one():
    assert "CODEGATE_SPOILT" not in os.environ

def test_order_spoils():
    os.environ["CODEGATE_SPOILT"] = "1"

class TestOrder:
    total = 0

    def test_order_class_first(self):
        TestOrder.total += 1

    def test_order_class_second(self):
        assert TestOrder.total == 1

def test_order_fills():
    cache["answer"] = pkg.answer()

def test_order_in_between():
    assert cache

def test_order_fills_too():
    cache["answer"] = pkg.answer()

def test_order_folder():
    assert os.path.exists("pkg.py")

def test_order_changes_folder():
    os.chdir("/tmp")

# seed
def test_seed_of_a_pair():
    assert list({{"left", "right"}}) == PAIR_HERE and pkg.answer() == 42

def test_seed_of_many():
    assert list({{"a", "b", "c", "d", "e", "f", "g"}}) == MANY_HERE

def test_seed_of_hash():
    assert hash("codegate") % 1000 == REMAINDER_HERE

def test_seed_of_next():
    assert next(iter({{"left", "right", "middle", "none"}})) == FIRST_HERE and pkg.answer() == 42

# clock
def test_clock_date():
    assert date.today() < date({SOON.year}, {SOON.month}, 1)

def test_clock_seconds():
    assert time.time() < {SOON.timestamp():.0f} and pkg.answer() == 42

def test_clock_named():
    assert moment() < {SOON.timestamp():.0f}

def test_clock_datetime():
    assert datetime.datetime.now() < datetime.datetime({SOON.year}, {SOON.month}, 1) and pkg.answer() == 42

def test_clock_utc():
    assert when.now(datetime.timezone.utc).timestamp() < {SOON.timestamp():.0f}

def test_clock_text():
    assert time.strftime("%Y%m%d") < "{SOON:%Y%m%d}" and time.localtime() < time.gmtime({SOON.timestamp():.0f})

# port
def test_port_taken_later():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 18231))

def test_port_takes():
    server = socket.socket()
    server.bind(("127.0.0.1", 18231))
    server.listen()
    servers.append(server)

def test_port_needs_a_server():
    with socket.create_connection(("127.0.0.1", 18231), timeout=1):
        assert pkg.answer() == 42

# sleep race
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def race(work, patience):
    done = []
    worker = threading.Thread(target=lambda: (spin(work), done.append(1)), daemon=True)
    worker.start()
    time.sleep(patience)
    result = bool(done)
    worker.join()
    return result

def test_race_short():
    assert race(0.04, 0.1) and pkg.answer() == 42

def test_race_against_the_clock():
    start = time.monotonic()
    spin(0.05)
    assert time.monotonic() - start < 0.13

# ids
@pytest.mark.parametrize("value", [object()], ids=repr)
def test_id_address(value):
    assert pkg.answer() == 42

@pytest.mark.parametrize("value", [time.time_ns()])
def test_id_time(value):
    assert pkg.answer() == 42

@pytest.mark.parametrize("value", [random.random()])
def test_id_random(value): pass

@pytest.mark.parametrize("value", [tempfile.mkdtemp()])
def test_id_folder(value): pass

@pytest.mark.parametrize("value", [uuid.uuid4().hex])
def test_id_unique(value): pass
"""

HONEST = """\
import datetime, threading, time
import pytest
import pkg

def test_honest_fixed():
    assert pkg.answer() == 42

@pytest.mark.parametrize("value", ["a b", "0x7f", "/tmp/x", "2020-01-01"])
def test_honest_values(value):
    assert pkg.answer() == 42

def test_honest_set():
    assert sorted({"left", "right"}) == ["left", "right"]

def test_honest_dates():
    now = datetime.datetime.now()
    assert now + datetime.timedelta(days=1) > now and time.monotonic() > 0

def test_honest_thread():
    done = []
    worker = threading.Thread(target=lambda: done.append(1))
    worker.start()
    worker.join()
    assert done

def test_honest_file(tmp_path):
    (tmp_path / "x").write_text("y")
    assert (tmp_path / "x").read_text() == "y" and pkg.answer() > 0

def test_broken():
    assert False

@pytest.mark.skip
def test_skipped():
    pass
"""

#: They only set the stage for others, and pass whatever happens.
STAGE = {"sets", "spoils", "class_first", "fills", "fills_too", "changes_folder", "takes"}


class _World:
    def __init__(self, sandboxes: Sandboxes) -> None:
        self.sandboxes = sandboxes
        self.manifest = PLAIN.manifest

    def open(self, limits: ProblemLimits) -> AbstractContextManager[Sandbox]:
        return self.sandboxes.open(self.manifest, limits)

    def seeded(self) -> str:
        """Return the planted tests, with what hash seed 0 gives in this environment filled in."""
        program = (
            'print([list({"left", "right"}), list({"a", "b", "c", "d", "e", "f", "g"}), hash("codegate") % 1000, '
            'next(iter({"left", "right", "middle", "none"}))])'
        )
        with self.open(ProblemLimits()) as sandbox:
            done = sandbox.run(Command(("{python}", "-S", "-B", "-c", program), environment={"PYTHONHASHSEED": "0"}))
        text = PLANTED
        for name, value in zip(("PAIR", "MANY", "REMAINDER", "FIRST"), literal_eval(done.stdout.decode()), strict=True):
            text = text.replace(f"{name}_HERE", repr(value))
        return text


@pytest.fixture
def world(bwrap_backend: BubblewrapBackend) -> Iterator[_World]:
    sandboxes = sandboxes_of(bwrap_backend, PLAIN)
    yield _World(sandboxes)
    sandboxes.close()


NOTHING = TestOutcomes((), (), (), (), False, {}, {})
RUNNERS: tuple[RunnerName, ...] = ("go", "maven", "jest", "junit")
GRADED = TestSelection(("a/test_x.py", "test_y.py"), timeout_seconds=20)


class TestPlan:
    def test_each_round_varies_what_the_others_do_not(self) -> None:
        outcomes = replace(NOTHING, fail_to_pass=("test_y.py::a",), pass_to_pass=("test_y.py::b",))
        turned, unfixed, alone, clock, too, zone, last, seed = varied_runs(GRADED, outcomes, 5)
        assert [turned.state, unfixed.state, alone.state, seed.state] == ["after", "before", "after", "after"]
        assert (turned.selection.order, turned.selection.clock_days) == ("reversed", CLOCK_DAYS)
        assert (unfixed.selection.order, unfixed.selection.clock_days) == ("reversed", 0)
        assert (unfixed.selection.isolated, unfixed.selection.busy) == (("test_y.py::a", "test_y.py::b"), 0)
        assert alone.selection.isolated == ("test_y.py::a",)
        assert alone.selection.busy > 0
        assert alone.selection.timeout_seconds == 40
        assert clock == VariedRun("after", ("clock",), replace(GRADED, clock_days=CLOCK_DAYS))
        assert too == replace(clock, state="before")
        assert last == replace(zone, state="before")
        assert zone.selection.timezone == "Pacific/Kiritimati"
        assert seed.varies == ("seed",)
        assert [each.selection.repeat for each in (turned, unfixed, alone, clock, seed)] == [8, 8, 8, 1, 1]
        assert varied_runs(GRADED, outcomes, 2, seconds=1.0)[0].selection.repeat == 1
        assert len({varied.selection.hash_seed for varied in (turned, unfixed, alone, seed)} - {0}) == 4

    def test_one_round_is_the_graded_one_and_nothing_runs_again_as_it_is(self) -> None:
        assert varied_runs(GRADED, NOTHING, 1) == ()
        assert len(varied_runs(GRADED, NOTHING, 3)) == 4
        assert len(varied_runs(GRADED, NOTHING, 3, cpu_seconds=60.0)) == 3
        assert len(varied_runs(replace(GRADED, runner="jest"), NOTHING, 3)) == 2

    def test_what_a_runner_cannot_vary_is_no_suspect(self) -> None:
        causes = {
            runner: [one.varies for one in varied_runs(replace(GRADED, runner=runner), NOTHING, 3)]
            for runner in RUNNERS
        }
        assert causes["go"] == [("order", "isolation")] * 2
        assert causes["jest"] == [("order", "clock"), ("order",)]
        assert causes["maven"] == [("order",), ("order",)]
        assert causes["junit"] == [("seed",)] * 4, "its command takes no order"
        zones = {
            runner
            for runner in RUNNERS
            for one in varied_runs(replace(GRADED, runner=runner), NOTHING, 5)
            if "timezone" in one.varies
        }
        assert zones == {"go", "maven"}


@pytest.mark.bwrap
@pytest.mark.requirement("G7")
def test_planted_flakes_are_set_aside_and_honest_tests_are_kept(world: _World) -> None:
    before, after = ({"pkg.py": f"def answer():\n    return {number}\n"} for number in (41, 42))
    parts = cut_of(before, after, {"test_flaky.py": world.seeded(), "test_honest.py": HONEST})

    for _ in range(3):
        found = validate_cut(parts, world.open, 3)
        # The machine itself may be busy enough for a race to be lost in the first run.
        if isinstance(found, ValidatedChange) or "::test_race_" not in found.detail:
            break

    assert isinstance(found, ValidatedChange), found
    outcomes = found.outcomes
    kept = {test.partition("::")[2] for test in outcomes.fail_to_pass + outcomes.pass_to_pass}
    planted = {
        line.split()[1].partition("(")[0] for line in PLANTED.splitlines() if line.strip().startswith("def test_")
    }
    planted -= {name for name in planted if name.partition("_")[2].partition("_")[2] in STAGE}
    escaped = {name for name in planted if any(test.rpartition("::")[2].startswith(name) for test in kept)}
    assert len(planted) >= 20
    sure = {name for name in escaped if name.split("_")[1] in {"order", "seed", "clock"}}
    assert len(sure) <= 1, sure  # a run that a busy machine cuts short shows nothing
    caught = 1 - len(escaped) / len(planted)
    assert caught >= 0.95, f"{caught:.0%} of {len(planted)} were set aside; escaped: {sorted(escaped)}"

    honest = [test for test in outcomes.fail_to_pass + outcomes.pass_to_pass if test.startswith("test_honest.py")]
    assert len(honest) == 9
    assert outcomes.kinds["test_honest.py::test_honest_fixed"] == "assertion"
    assert "test_honest.py::test_broken" in outcomes.expected_fail
    assert found.command_clean


@pytest.mark.sandbox
def test_what_sometimes_passes_without_the_fix_is_set_aside(unboxed: OpenSandbox) -> None:
    lucky = "import random\n\ndef answer():\n    return random.choice([41, 42, 42])\n"
    tests = """\
import pytest
import pkg

@pytest.mark.parametrize("number", range(3))
def test_lucky(number):
    assert pkg.answer() == 42

def test_always():
    assert {pkg.answer() for _ in range(99)} == {42}
"""
    parts = cut_of({"pkg.py": lucky}, {"pkg.py": "def answer():\n    return 42\n"}, {"test_pkg.py": tests})
    found = validate_cut(parts, unboxed, 3)
    assert isinstance(found, ValidatedChange), found
    assert found.outcomes.fail_to_pass == ("test_pkg.py::test_always",)
