"""What a run of Python tests may vary inside their own process: the clock, the zone, company, and solitude."""

from pathlib import Path

import pytest

from codegate.grading import Sandboxes
from tests.grading.conftest import SandboxesWith
from tests.grading.worlds import Room, room_of, statuses
from tests.kit.environment import PYTEST, with_packages

pytestmark = pytest.mark.bwrap

_CLOCK = """\
import datetime, os, pickle, time
from datetime import datetime as named
from time import time as moment

REAL = float(os.stat(__file__).st_mtime)
AHEAD = {ahead} * 86_400

class Sub(named):
    clock = time.time

def near(seconds):
    return abs(seconds - REAL - AHEAD) < 300

def test_moments():
    assert near(time.time()) and near(moment()) and near(time.time_ns() / 1e9) and near(Sub.now().clock())
    assert near(time.clock_gettime(time.CLOCK_REALTIME)) and time.monotonic() < 1e9

def test_dates():
    utc = datetime.timezone.utc
    assert near(named.now().timestamp()) and near(named.now(utc).timestamp()) and near(Sub.now(tz=utc).timestamp())
    assert near(named.utcnow().replace(tzinfo=utc).timestamp())
    day = named.fromtimestamp(time.time()).date()
    assert datetime.date.today() == day == named.today().date()
    assert time.strftime("%Y-%m-%d") == time.strftime("%Y-%m-%d", time.localtime()) == day.isoformat()
    assert time.ctime()[-4:] == time.asctime()[-4:] == str(time.gmtime().tm_year) == str(day.year)

def test_given_moments_stay():
    assert time.gmtime(0).tm_year == 1970 and time.strftime("%Y", time.gmtime(0)) == "1970"
    assert named.fromtimestamp(0, datetime.timezone.utc).year == 1970

def test_types_stay():
    assert type(named.now()) is datetime.datetime and type(Sub.now()) is Sub
    assert pickle.loads(pickle.dumps(named.now())) < named.max and isinstance(datetime.date.today(), datetime.date)
    try:
        named.now("no zone")
    except TypeError:
        return
    raise AssertionError

def test_zone():
    assert time.localtime().tm_gmtoff == {offset} * 3600
"""

_SOLITUDE = """\
import os, threading, time

seen, first = [], os.getpid()

def test_sets():
    seen.append(1)

def test_resets():
    assert seen in ([1], [])
    seen.clear()

def test_needs_nothing():
    assert seen == []

def test_other():
    assert os.getpid() == first

def test_sets_again():
    seen.append(1)

def test_in_between():
    assert seen == [1]

def test_dies():
    if os.getpid() != first:
        os._exit(0)
"""

_RACE = """\
import threading, time

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def test_races():
    done = []
    worker = threading.Thread(target=lambda: (spin(0.05), done.append(1)))
    worker.start()
    time.sleep(0.12)
    ended = bool(done)
    worker.join()
    assert ended

def test_waits():
    done = []
    worker = threading.Thread(target=lambda: (spin(0.05), done.append(1)))
    worker.start()
    worker.join()
    assert done
"""


def failing(room: Room, text: str, **varied: object) -> list[str]:
    found = room.statuses({"test_it.py": text}, "test_it.py", **varied)
    assert len(found) == text.count("def test_")
    return [test for test, status in found.items() if status != "passed"]


@pytest.fixture(scope="module")
def room(sandboxes: Sandboxes) -> Room:
    return room_of(sandboxes)


def test_the_clock_is_turned_for_everything_that_python_asks_and_the_zone_is_another_one(room: Room) -> None:
    assert Path("/usr/share/zoneinfo/Pacific/Kiritimati").exists()
    text = _CLOCK.format(ahead=400, offset=14)
    assert failing(room, text, clock_days=400, timezone="Pacific/Kiritimati") == []
    assert failing(room, text) == ["test_moments", "test_dates", "test_zone"]


@pytest.mark.full
def test_tests_that_turn_the_clock_themselves_still_can(sandboxes_with: SandboxesWith) -> None:
    own = """\
import datetime, time, freezegun, time_machine

@freezegun.freeze_time("2020-01-02")
def test_frozen():
    assert datetime.date.today().year == 2020 and time.time() == 1577923200

@time_machine.travel(datetime.datetime(1985, 10, 26), tick=False)
def test_travelled():
    assert datetime.datetime.now().year == 1985 == time.gmtime().tm_year
"""
    environment = with_packages("travelling", PYTEST, "time-machine==3.6.0", "freezegun==1.5.5")
    text = own + _CLOCK.format(ahead=400, offset=0).replace("named.utcnow()", "named.now(utc)")
    text = text.replace("time.ctime()[-4:] == time.asctime()[-4:] == ", "")  # which that package leaves alone
    content = {"test_it.py": text, "pytest.ini": "[pytest]\nfilterwarnings = error\n"}
    room = room_of(sandboxes_with(environment), environment)
    assert set(room.statuses(content, "test_it.py", clock_days=400).values()) == {"passed"}


def test_isolated_tests_start_from_what_the_import_left(room: Room) -> None:
    """Both orders pass: what only another test sets is seen only where that one did not run."""
    names = ["test_sets", "test_resets", "test_needs_nothing", "test_sets_again", "test_in_between", "test_dies"]
    assert failing(room, _SOLITUDE) == []

    isolated = tuple(f"test_it.py::{name}" for name in names)
    report = room.run({"test_it.py": _SOLITUDE}, "test_it.py", isolated=isolated)

    assert (report.proven, report.exit_code) == (True, 1)
    assert statuses(report, "test_it.py") == {**dict.fromkeys([*names, "test_other"], "passed"),
                                              "test_in_between": "failed", "test_dies": "missing"}  # fmt: skip


def test_a_timer_that_goes_off_while_a_test_is_isolated_ends_that_test_alone(room: Room) -> None:
    text = """\
import signal, time

def test_slow(): time.sleep(30)

def test_quick(): pass
"""
    timer = """\
import signal, pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    def ring(*_): pytest.fail("too slow")
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
"""
    isolated = ("test_it.py::test_slow", "test_it.py::test_quick")
    report = room.run({"test_it.py": text, "conftest.py": timer}, "test_it.py", isolated=isolated)
    assert (report.proven, report.exit_code) == (True, 1)
    assert statuses(report, "test_it.py") == {"test_slow": "missing", "test_quick": "passed"}


def test_company_on_the_processor_shows_what_races_with_a_sleep(room: Room) -> None:
    assert failing(room, _RACE, busy=3) == ["test_races"]
