"""What code under test tries is in its grade, harmless attempts change none, and no attempt upsets the run."""

import errno
import json
import os
import socket
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.grading import Behaviour
from codegate.grading.behaviour import merge_behaviour, observed_behaviour, was_refused
from codegate.grading.drivers import driver_source
from codegate.grading.records import Crash, read_records
from codegate.running import Outcome
from codegate.sandbox import Completed
from codegate.suite import ProblemLimits
from tests.grading.conftest import MakeWorld
from tests.grading.worlds import EXPECTED, FIX, SOURCE, TESTS, World

BUSY = """\
import os, socket, subprocess, sys, threading

def attempt(action, *arguments):
    try:
        return action(*arguments)
    except (OSError, ValueError):
        return None

def read(path):
    with open(path) as file:
        return file.read(10)

attempt(socket.create_connection, ("192.0.2.1", 443), 1)
attempt(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto, b"x", ("192.0.2.2", 53))
attempt(socket.getaddrinfo, "example.org", 80)
server = socket.create_server(("127.0.0.1", 0))
attempt(socket.create_connection, server.getsockname()[:2], 1)
for name in ("/run/docker.sock", "/var/run/docker.sock"):
    attempt(socket.socket(socket.AF_UNIX).connect, name)
attempt(socket.socket(socket.AF_UNIX).bind, "/tmp/own.sock")
for path in ("/etc/shadow", "/proc/1/environ", "/proc/self/root/etc/shadow", "/usr/../etc/shadow", "/dev/mem"):
    attempt(read, path)
attempt(os.listdir, "/root")
attempt(open, "/etc/passwd", "a")
attempt(os.remove, "/usr/bin/env")
attempt(os.kill, 1, 9)
subprocess.run([sys.executable, "-c", ""])
if not os.fork():
    os._exit(0)
os.wait()
"""


@pytest.mark.bwrap
@pytest.mark.requirement("G6")
def test_every_kind_of_attempt_is_in_the_grade_and_changes_none(world: World) -> None:
    grade = world.grade({SOURCE: BUSY + FIX})
    assert grade.resolved, grade
    assert grade.behaviour is not None
    assert grade.behaviour.watched
    assert grade.behaviour.counts == {
        "network": 3, "local": 3, "files": 8, "writes": 2, "signals": 1, "processes": 2,
    }  # fmt: skip
    found = grade.behaviour.details
    assert found["network"] == ("connect 192.0.2.1:443", "connect 192.0.2.2:53", "look up example.org")
    assert found["local"] == ("bind 127.0.0.1", "connect 127.0.0.1", "connect a socket in the file system")
    assert found["files"] == (
        "connect /run/docker.sock", "connect /var/run/docker.sock", "read /etc/shadow", "read /proc/1/environ",
        "read /dev/mem",
    )  # fmt: skip
    assert found["writes"] == ("write /etc/passwd", "write /usr/bin/env")
    assert found["signals"] == ("signal 9 to process 1",)
    line = Outcome(problem="p", problem_digest="0" * 64, candidate="c", sample=0, grade=grade).line()
    assert Outcome.model_validate_json(line).grade == grade


HONEST = """\
import asyncio, logging, os, pathlib, platform, random, socket, sqlite3, tempfile, uuid
import pytest
from shop.price import total

def test_total(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("notes.txt").write_text("x")
    os.rename("notes.txt", tmp_path / "renamed.txt")
    for path in ("/proc/self/status", "/proc/meminfo", "/etc/passwd", "/etc/hosts", os.__file__, pytest.__file__):
        pathlib.Path(path).read_bytes()
    open(os.devnull, "w").close()
    with tempfile.TemporaryDirectory() as folder:
        sqlite3.connect(os.path.join(folder, "x.db")).close()
    asyncio.run(asyncio.sleep(0))
    uuid.uuid4(), platform.python_version(), random.SystemRandom().random(), os.kill(os.getpid(), 0)
    logging.getLogger().warning("noisy")
    assert total([1, 2]) == 3

def test_nothing():
    with socket.create_server(("localhost", 0)) as server, socket.create_connection(server.getsockname()):
        assert total([]) == 0
"""


HONEST_CASE = """\
import socket, unittest
from shop.price import total

class TestPrice(unittest.TestCase):
    def test_total(self):
        with socket.create_server(("localhost", 0)):
            self.assertEqual(total([1, 2]), 3)
"""


@pytest.mark.bwrap
@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_honest_code_and_the_runner_itself_try_next_to_nothing(make_world: MakeWorld, runner: str) -> None:
    text, tests = HONEST, list(EXPECTED)
    if runner == "unittest":
        text, tests = HONEST_CASE, [f"{TESTS}::TestPrice::test_total"]
    world = make_world(hidden={TESTS: text}, expected=tests, runner=runner)
    grade = world.grade({SOURCE: FIX})
    assert grade.resolved, grade
    assert grade.behaviour is not None
    assert set(grade.behaviour.counts) == {"local"}, grade.behaviour
    assert not grade.behaviour.notable


@pytest.mark.bwrap
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("", "open('/tmp/x', 'wb').write(bytes(1 << 26))"),
        ("processes", "[os.fork() or time.sleep(9) for _ in range(200)]"),
    ],
    ids=["a disk that is full", "no more processes"],
)
def test_the_class_is_unsafe_where_all_of_a_limit_was_taken(make_world: MakeWorld, kind: str, body: str) -> None:
    """What else is unsafe is among the classes of ``test_failures``."""
    world = make_world(limits=ProblemLimits(seconds=30, memory_mb=256, pids=40, disk_mb=16))
    grade = world.grade({SOURCE: f"import os, time\ndef total(prices):\n    {body}\n"})
    assert grade.failure == "unsafe_operation", grade
    assert grade.behaviour is not None
    assert not kind or kind in grade.behaviour.counts, grade.behaviour


@pytest.mark.bwrap
@pytest.mark.parametrize("ending", ["os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_a_process_that_ends_early_leaves_its_record(world: World, ending: str) -> None:
    source = f"import os, socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(('', 0))\n{ending}\n"
    grade = world.grade({SOURCE: source + FIX})
    assert (grade.resolved, grade.failure) == (False, "runtime_error")
    assert grade.behaviour is not None
    assert (grade.behaviour.watched, grade.behaviour.counts) == (True, {"local": 1})


@pytest.mark.bwrap
def test_threads_at_the_end_do_no_harm(world: World) -> None:
    source = (
        "import os, socket, threading\n"
        "def again():\n    while True:\n        open('/etc/hosts', 'rb').close()\n"
        "        try:\n            os.listdir('/root')\n        except OSError:\n            pass\n"
        "for _ in range(4):\n    threading.Thread(target=again, daemon=True).start()\n"
    )
    grade = world.grade({SOURCE: source + FIX})
    assert grade.resolved, grade
    assert grade.behaviour is not None
    assert grade.behaviour.counts["files"] > 10
    assert grade.behaviour.details["files"] == ("read /root",)


# The hook itself, without an interpreter that has it for good


def watch(send: Callable[..., None] = lambda **_: None) -> Any:
    driver: dict[str, Any] = {}
    exec(driver_source("behaviour_driver", "codegate.languages.python.drivers"), driver)
    return driver["Watcher"](send, ["/workspace", "/tmp"], ["/opt/site"])


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.just(object()),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.lists(inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(watch().checks)), st.lists(odd, max_size=5).map(tuple))
def test_no_event_is_too_odd(event: str, args: tuple[Any, ...]) -> None:
    told: list[dict[str, Any]] = []
    one = watch(lambda **record: told.append(record))
    one.checks[event](args)
    one.report(last=True)
    assert len(told) <= 2
    token = "0" * 32
    data = b"".join(f"{token} {json.dumps(record)}\n".encode() for record in told)
    assert not read_records(data, token).forged


class Named(str):
    """A path that answers for itself."""

    def startswith(self, *_: object) -> bool:
        return True

    def __str__(self) -> str:
        return "/tmp/x"


@pytest.mark.parametrize(
    ("path", "flags", "kind"),
    [
        ("/workspace/a", os.O_WRONLY, None),
        ("/tmp/../etc/shadow", 0, "files"),
        ("//etc/shadow", 0, "files"),
        (b"/etc/shadow", 0, "files"),
        (Named("/etc/shadow"), 0, "files"),
        ("/tmp/docker.sock", 0, "files"),
        ("/proc/{own}/status", 0, None),
        ("/proc/{own}/mem", os.O_RDWR, "files"),
        ("/proc/self/mem", 0, "files"),
        ("/proc/{parent}/cmdline", 0, "files"),
        ("/proc/cpuinfo", 0, None),
        ("/dev/null", os.O_WRONLY, None),
        ("/dev/kmsg", 0, "files"),
        ("/opt/site/x.py", 0, None),
        ("/opt/site/x.py", os.O_WRONLY, "writes"),
        ("/workspacelike", os.O_CREAT, "writes"),
        ("/etc/localtime", 0, None),
        (3, os.O_RDWR, None),
    ],
)
def test_paths(path: Any, flags: int, kind: str | None) -> None:
    if type(path) is str:  # names of tests are the same in every process
        path = path.replace("{own}", str(os.getpid())).replace("{parent}", str(os.getppid()))
    one = watch()
    one.checks["open"]((path, None, flags))
    assert list(one.kept) == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("family", "address", "kind"),
    [
        (socket.AF_INET, ("127.9.9.9", 1), "local"),
        (socket.AF_INET, ("10.0.0.1", 1), "network"),
        (socket.AF_INET, ("127.example.org", 1), "network"),
        (socket.AF_INET6, ("::1", 1, 0, 0), "local"),
        (socket.AF_INET6, ("fe80::1", 1, 0, 0), "network"),
        (socket.AF_UNIX, "\0abstract", "local"),
        (socket.AF_UNIX, b"/tmp/x", "local"),
        (socket.AF_UNIX, "/tmp/docker.sock", "files"),
        (socket.AF_UNIX, "/run/x", "files"),
        (socket.AF_NETLINK, (0, 0), None),
    ],
)
def test_addresses(family: int, address: Any, kind: str | None) -> None:
    one = watch()
    with socket.socket(family, socket.SOCK_DGRAM if family != socket.AF_NETLINK else socket.SOCK_RAW) as made:
        one.checks["socket.connect"]((made, address))
    assert list(one.kept) == ([kind] if kind else [])


def test_nothing_is_sent_after_the_last_record_and_what_is_kept_is_bounded() -> None:
    told: list[dict[str, Any]] = []
    one = watch(lambda **record: told.append(record))
    for number in range(100):
        one.note("files", "x" * 1000 + str(number) + "\udcff")
        one.note("network", f"connect {number}")
    assert len(told) == 2  # the first of each kind
    one.report(last=True)
    one.note("signals", "late")
    one.report()
    assert len(told) == 3
    assert sum(record["counts"].get("network", 0) for record in told) == 100
    assert sum(len(record["details"].get("network", ())) for record in told) == 5
    assert max(len(text) for record in told for found in record["details"].values() for text in found) <= 200


@given(st.binary(max_size=200))
def test_a_record_of_behaviour_is_read_strictly(noise: bytes) -> None:
    token = "0" * 32
    good = b'{"kind":"behaviour","counts":{"network":2},"details":{"network":["connect x"]}}'
    for bad in (b'{"kind":"behaviour","counts":{"x":1},"details":{}}', good.replace(b"2", b"-2"), good + noise + b"}"):
        assert read_records(token.encode() + b" " + bad + b"\n", token).forged
    assert len(read_records(token.encode() + b" " + good + b"\n", token).attempted) == 1


def completed(**facts: Any) -> Completed:
    return Completed(
        **{
            "exit_code": 0, "signal": None, "timed_out": False, "memory_exceeded": False, "stdout": b"", "stderr": b"",
            "truncated": False, "records": b"", "records_truncated": False, "wall_seconds": 0.0, "cpu_seconds": 0.0,
            "peak_memory_bytes": 0, **facts,
        }
    )  # fmt: skip


def test_what_is_seen_from_outside_needs_no_hook() -> None:
    crash = Crash(exception="Error", message="connect ENETUNREACH", errno=errno.ENETUNREACH)
    seen = observed_behaviour((), (crash,), completed(timed_out=True, truncated=True))
    assert seen == Behaviour(counts={"network": 1}, limits=("time", "output"))
    assert seen.summary == "network 1, limit: time, limit: output"
    assert observed_behaviour((), (), completed(memory_exceeded=True, truncated=True)).limits == ("memory",)
    assert observed_behaviour((), (), completed(unreachable=3)).counts == {"network": 3}
    assert observed_behaviour((), (crash,), completed(unreachable=0)).counts == {"network": 1}
    refused = Crash(exception="Error", message="EACCES: denied, open '/etc/shadow'", errno=errno.EACCES)
    seen = observed_behaviour((), (refused,), completed())
    assert (seen.counts, seen.details) == ({"files": 1}, {"files": ("use /etc/shadow",)})
    assert was_refused(refused, seen)
    for message, number in (("open '/etc/shadow'", None), ("open 'data/etc/shadow'", errno.EACCES)):
        assert not observed_behaviour(
            (), (Crash(exception="Error", message=message, errno=number),), completed()
        ).counts
    full = Crash(exception="OSError", errno=errno.ENOSPC)
    threads = Crash(exception="RuntimeError", message="can't start new thread")
    assert observed_behaviour((), (full, threads), completed()).limits == ("disk", "processes")


def test_processes_are_told_together_as_long_as_all_were_watched() -> None:
    one = Behaviour(watched=True, counts={"files": 1}, details={"files": ("a", "b")})
    assert merge_behaviour([one, one]) == one.model_copy(update={"counts": {"files": 2}})
    assert not merge_behaviour([one, Behaviour()]).watched
    assert not merge_behaviour([]).watched
