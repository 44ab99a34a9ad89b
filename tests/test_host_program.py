"""Programs of the host do not outlive the command that ran them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from codegate.host_program import run_program

ENVIRONMENT = {"PATH": os.environ["PATH"]}
#: Starts a program in a daemon thread, waits until its grandchild writes files, and exits.
LEAVES = """
import os, sys, tempfile, threading, time
from codegate.host_program import run_program
write = "(cd $0; n=0; while :; do n=$((n+1)); : > $n; done)"
command = ["sh", "-c", f"{write} & echo $! > {sys.argv[1]}.new; mv {sys.argv[1]}.new {sys.argv[1]}; wait"]
def run():
    with tempfile.TemporaryDirectory() as folder:
        run_program([*command, folder], env=dict(os.environ), seconds=1000)
threading.Thread(target=run, daemon=True).start()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
"""


def gone(process: int) -> bool:
    """Whether a process is no more, or waits only to be reaped by whoever adopted it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def eventually_gone(place: Path) -> bool:
    process = int(place.read_text())
    deadline = time.monotonic() + 120
    while not gone(process) and time.monotonic() < deadline:
        time.sleep(0.02)
    return gone(process)


def test_a_program_gets_no_input_and_returns_its_output() -> None:
    done = run_program(["sh", "-c", "cat; echo yes; echo no >&2; exit 3"], env=ENVIRONMENT, seconds=60)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"yes\n", b"no\n")


@pytest.mark.parametrize(
    "address",
    [
        "https://ada:ses/ame77@h.example/simple/",
        "https://ada:ses ame77@h.example/simple",
        "https://h.example/sesame77/s",
    ],
)
def test_what_a_program_says_of_an_address_is_its_host(address: str) -> None:
    said = f"invalid value '{address}'; failed to fetch {address.rstrip('/')}/acme/"
    done = run_program(["sh", "-c", "echo $0 >&2", said], env={**ENVIRONMENT, "INDEX": address}, seconds=60)
    assert b"ame77" not in done.stderr
    assert done.stderr.count(b"https://h.example") == 2


def test_a_program_that_takes_too_long_ends_with_its_descendants(tmp_path: Path) -> None:
    place = tmp_path / "child"
    with pytest.raises(subprocess.TimeoutExpired):
        run_program(["sh", "-c", f"sleep 1000 & echo $! > {place}; wait"], env=ENVIRONMENT, seconds=2)
    assert eventually_gone(place)


def test_programs_of_daemon_threads_end_when_the_process_exits(tmp_path: Path) -> None:
    place = tmp_path / "child"
    done = subprocess.run([sys.executable, "-c", LEAVES, str(place)], check=True, timeout=60, capture_output=True)
    assert eventually_gone(place)
    assert done.stderr == b""
