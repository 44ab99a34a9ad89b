"""The first process of a container keeps its child: signals go on to it, its end is the end."""

import signal
import subprocess
import sys

import pytest

from codegate.errors import ExitCode

pytestmark = pytest.mark.sandbox  # processes that wait for one another

PROGRAM = """
import sys, time
from codegate.github import entry
entry._STOP_SECONDS = {stop}
entry.run_in_child()
print("ready", flush=True)
{rest}
"""


def start(rest: str, stop: int = 60) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(rest=rest, stop=stop)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_signal_reaches_the_child() -> None:
    with start("time.sleep(60)") as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 128 + signal.SIGTERM


def test_a_signal_that_comes_before_the_keeper_waits_is_not_lost() -> None:
    early = "import os, signal\nos.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGTERM))\n"
    program = early + PROGRAM.format(rest="time.sleep(60)", stop=60)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL) as process:
        assert process.wait(120) == 128 + signal.SIGTERM


def test_a_child_that_does_not_end_is_killed() -> None:
    with start("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('armed', flush=True)\n"
               "time.sleep(600)", stop=1) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "armed\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == ExitCode.INTERRUPTED


def test_the_childs_exit_code_is_its_own_and_its_orphans_do_not_end_the_keeper() -> None:
    rest = "import subprocess\nsubprocess.run('sleep 0.1 & exit 0', shell=True)\ntime.sleep(0.5)\nsys.exit(5)"
    with start(rest) as process:
        assert process.wait(120) == 5
