"""Write a step's log, outputs and summary.

The runner reads commands out of the log: ``::name::`` at the start of a line (after blanks) and ``##[name]`` anywhere
in one. While ``open_log`` lasts, everything that this process prints (a warning, a traceback, a library's logger) goes
through ``untrusted``; only ``StepLog.annotate`` writes commands. Protocol: github.com/actions/runner,
``ActionCommand``, ``OutputManager`` and ``FileCommandManager``.
"""

import html
import io
import os
import secrets
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final, Literal, TextIO

from codegate.candidates import Redactor, environment_secrets, redactor_for
from codegate.errors import InfrastructureError
from codegate.reporting import untrusted
from codegate.wording import encodable

MAX_SUMMARY_BYTES: Final = 1 << 20
"""The runner drops a larger summary altogether (``CreateStepSummaryCommand``)."""

MAX_MESSAGE_CHARACTERS: Final = 4000
"""The runner cuts an annotation's message at 4096 (``ExecutionContext``); this leaves room for a note."""

_MAX_LINE: Final = 1 << 16
_CUT: Final = b"\n\n_Cut to the size that GitHub takes; the reports hold everything._\n"

Level = Literal["notice", "warning", "error"]


class StepLog:
    """Writes the step's log, with keys and runner commands removed."""

    def __init__(self, out: TextIO, redactor: Redactor | None = None) -> None:
        self._out = out
        self._redactor = redactor or Redactor()
        self._lock = threading.Lock()

    def log(self, text: str) -> None:
        """Print ``text``, with runner commands disabled."""
        self._write(self._shown(text))

    def annotate(self, level: Level, title: str, message: str) -> None:
        """Add an annotation to the step; its texts are escaped."""
        data = _escape(self._shown(message)[:MAX_MESSAGE_CHARACTERS])
        name = _escape(self._shown(title)[:200]).replace(":", "%3A").replace(",", "%2C")
        self._write(f"::{level} title={name}::{data}")

    def warn(self, text: str) -> None:
        """Add a warning to the step."""
        self.annotate("warning", "codegate", text)

    def _shown(self, text: str) -> str:
        return untrusted(text, self._redactor)

    def _write(self, lines: str) -> None:
        with self._lock:
            self._out.write(encodable(lines) + "\n")
            self._out.flush()


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


@contextmanager
def open_log(environment: Mapping[str, str]) -> Iterator[StepLog]:
    """Yield the step's log; everything printed meanwhile goes to it."""
    step = StepLog(sys.stdout, Redactor(*environment_secrets(environment)))
    with _Lines(step) as out, _Lines(step) as errors, redirect_stdout(out), redirect_stderr(errors):
        yield step


class _Lines(io.TextIOBase):
    """A stream that passes whole lines to the log."""

    def __init__(self, step: StepLog) -> None:
        self._step = step
        self._rest = ""
        self._guard = threading.Lock()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with self._guard:
            *lines, self._rest = (self._rest + text).split("\n")
            if len(self._rest) > _MAX_LINE:
                lines, self._rest = [*lines, self._rest], ""
        for line in lines:
            self._step.log(line)
        return len(text)

    def close(self) -> None:
        if self._rest:
            self.write("\n")
        super().close()


def write_outputs(environment: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    """Set the step's outputs; outside a workflow, do nothing."""
    path = environment.get("GITHUB_OUTPUT")
    if not path:
        return
    parts = []
    for name, value in outputs.items():
        delimiter = f"ghadelimiter_{secrets.token_hex(16)}"  # random, so that no value can contain it
        parts.append(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")
    _append(Path(path), "".join(parts).encode("utf-8", "replace"))


def write_summary(environment: Mapping[str, str], markdown: str) -> None:
    """Add ``markdown`` to the job summary.

    A text that is too large is truncated at a line. Outside a workflow nothing is done.
    """
    path = environment.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        room = MAX_SUMMARY_BYTES - Path(path).stat().st_size
    except OSError:
        room = MAX_SUMMARY_BYTES
    data = markdown.encode("utf-8", "replace")
    if len(data) > room:
        head, newline, _ = data[: max(room - len(_CUT), 0)].rpartition(b"\n")
        data = (head + _CUT if newline else _CUT)[: max(room, 0)]
    _append(Path(path), data)


def fault_summary(kind: str, text: str) -> str:
    """Return an error's job summary, headed ``kind``, as escaped Markdown."""
    return f"## codegate: {kind}\n\n<pre>\n{_inert(text)}\n</pre>\n"


def notes_summary(notes: Sequence[str]) -> str:
    """Return some sentences as escaped Markdown for the job summary."""
    return f"\n<pre>\n{_inert(chr(10).join(notes))}\n</pre>\n" if notes else ""


def _inert(text: str) -> str:
    return html.escape(untrusted(text, redactor_for())).replace("@", "&#64;")


def _append(path: Path, data: bytes) -> None:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644), "wb") as file:
            file.write(data)
    except OSError as error:
        raise InfrastructureError(f"cannot write {path}: {error.strerror or error}.", "Free some space.") from error
