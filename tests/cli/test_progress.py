"""Progress: a log is never silent and never full, and a terminal's notes stand above its bar."""

import os
import pty
import re
import subprocess
import sys
import termios

import pytest

from codegate.cli.progress import run_progress
from codegate.reporting import ProgressLines
from codegate.running import Progress
from tests.kit.runs import outcome

BAR = """
import time
from codegate.cli.output import note
from codegate.cli.progress import mine_progress
from codegate.mining import MineEvent

with mine_progress() as progress:
    for done in range(30):
        progress(MineEvent("trying", "trying " + "word " * 40, done, 1234, 5))
        if done % 10 == 0:
            note(f"note {done}: " + "long " * 30 + "end")
        time.sleep(0.03)
"""


def test_a_log_gets_a_line_after_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    show = ProgressLines(lines.append)
    show(0, 9, "waiting", important=False, waiting=True)
    show(1, 9, "soon after", important=False)
    show(2, 9, "a fault", important=True)
    monkeypatch.setattr("codegate.reporting.console._SILENCE_SECONDS", 0.0)
    show(2, 9, "still waiting", important=False, waiting=True)
    show(9, 9, "the last", important=False)
    assert lines == ["[2/9] a fault", "[2/9] still waiting", "[9/9] the last"]


def test_faults_of_one_cause_get_one_line_with_what_happened(capsys: pytest.CaptureFixture[str]) -> None:
    def progress(number: int, candidate: str) -> Progress:
        return Progress(number, 99, candidate, outcome(None, sample=number))

    with run_progress() as step:
        for number in range(20):
            step(progress(number, "a"))
        step(progress(20, "b"))
    lines = [
        f"[{number}/99] {candidate}: p-1 infrastructure: sandbox: gone." for number, candidate in ((0, "a"), (20, "b"))
    ]
    assert capsys.readouterr().err.splitlines() == lines


def test_notes_stand_whole_above_the_bar_of_a_terminal_of_80_columns() -> None:
    here, there = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm", "NO_COLOR": "1"}
    with subprocess.Popen([sys.executable, "-c", BAR], stderr=there, env=environment) as process:
        os.close(there)
        shown = b""
        while True:
            try:
                shown += os.read(here, 65536)
            except OSError:  # the other end is closed
                break
        assert process.wait(120) == 0
    os.close(here)
    text = shown.decode().replace("\r\n", "\n")
    notes = [line for line in text.replace("\x1b[2K", "\n").splitlines() if line.lstrip("\r").startswith("note ")]
    assert len(notes) == 3, text
    assert "29/1234" in text, "counters are not cropped"
    assert not re.search(r"\x1b\[[1-9;]+m", text), "no colours, as NO_COLOR says"
    assert all(len(line) <= 80 for line in text.replace("\r", "\n").splitlines() if "\x1b" not in line)


def test_a_table_is_as_wide_as_the_terminal() -> None:
    program = (sys.executable, "-c", "from codegate.cli.output import columns; print(columns())")
    environment = {**os.environ, "COLUMNS": "70"}
    here, there = pty.openpty()
    termios.tcsetwinsize(there, (24, 80))
    subprocess.run(program, stdout=there, env=environment, check=True, timeout=60)
    os.close(there)
    assert os.read(here, 100).split() == [b"80"]
    os.close(here)
    piped = subprocess.run(program, stdout=subprocess.PIPE, env=environment, check=True, timeout=60)
    assert piped.stdout.split() == [b"100"]
