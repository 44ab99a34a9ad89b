"""Follow a Go test process: its output and mark tokens.

Tests report in the framing that ``go test -json`` uses itself (``-test.v=test2json``: each line that the framework
writes begins with the byte 0x16). So a test's own output is not mistaken for a result. Tokens of marks (receipts) come
through a pipe.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import time
from typing import Any

MARKER = b"\x16"
#: Since Go 1.26 errors stand between two marks, and what is printed has its own marks escaped.
ERROR_MARKS = re.compile(rb"\x1b([\x0e\x0f\x16\x1b])|[\x0e\x0f]")
MAX_LINE = 1 << 20
MAX_TOKENS = 100000
MAX_READS = 20
KEPT = 4000
QUIET_SECONDS = 0.3
EVENT = re.compile(r"=== (RUN|PAUSE|CONT|NAME)\s+(\S*)\s*$")
RESULT = re.compile(r"\s*--- (PASS|FAIL|SKIP): (\S+) \((\d+(?:\.\d+)?)s\)\s*$")
OUTCOMES = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
FATAL = re.compile(r"^(panic: .*|fatal error: .*|runtime: out of memory.*|SIG[A-Z]+: .*)$", re.MULTILINE)
TOKEN = re.compile(rb"[0-9a-f]{12}_\d{1,6}\Z")
WORD = re.compile(r"_([0-9a-f]{12})")


class Printer:
    """Prints output up to a limit, and drops the rest."""

    def __init__(self, limit: int) -> None:
        self.left = limit

    def print(self, data: bytes) -> None:
        data = ERROR_MARKS.sub(rb"\1", data).replace(MARKER, b"")[: self.left]
        self.left -= len(data)
        while data:
            data = data[os.write(1, data) :]


class Listener:
    """Reads a test process's output: which tests ran, and how.

    It records the begin, end, result and output of each test. It prints the output, except from altered copies and from
    tests that have copies.
    """

    def __init__(self, printer: Printer, variants: frozenset[str]) -> None:
        self.printer, self.variants = printer, variants
        self.started: dict[str, str] = {}
        self.results: dict[str, list[tuple[str, float]]] = {}
        self.said: dict[str, str] = {}
        self.rest = b""
        self.current = ""
        self.last = ""
        self.moved = time.monotonic()

    def feed(self, data: bytes) -> None:
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.line(line)
        if len(self.rest) > MAX_LINE:
            self.line(self.rest)
            self.rest = b""

    def line(self, line: bytes) -> None:
        before, *framed = line.split(MARKER)
        shown = []
        if before or not framed:
            self.note(before)
            shown += [] if self.is_variant(self.current) else [before]
        for part in framed:
            text = part.decode("utf-8", "replace")
            event, result = EVENT.match(text), RESULT.match(text)
            self.moved = time.monotonic()
            if event is not None:
                kind, name = event.groups()
                if kind == "RUN" or name in self.started:
                    self.started[name] = kind
                    self.current = name
                elif not name:
                    self.current = ""
            elif result is not None and result[2] in self.started:
                self.results.setdefault(result[2], []).append((OUTCOMES[result[1]], float(result[3])))
                self.current = result[2]
            else:
                self.note(part)
            shown += [] if self.is_variant(self.current) else [part]
        if shown:
            self.printer.print(b"".join(shown) + b"\n")

    def is_variant(self, name: str) -> bool:
        """Return whether a test is a copy or has copies."""
        return not self.variants.isdisjoint(WORD.findall(name))

    def note(self, line: bytes) -> None:
        text = ERROR_MARKS.sub(rb"\1", line).decode("utf-8", "replace") + "\n"
        self.last = (self.last + text)[-4 * KEPT :]
        if len(self.said.get(self.current, "")) < KEPT:
            self.said[self.current] = self.said.get(self.current, "") + text

    def running(self) -> list[str]:
        """Return the tests that were running when the process ended."""
        return [name for name, state in self.started.items() if name not in self.results and state != "PAUSE"]

    def failed(self) -> set[str]:
        return {name for name, found in self.results.items() for outcome, _ in found if outcome == "failed"}

    def panicked(self) -> set[str]:
        """Return the top-level tests that failed by a panic."""
        return {name.partition("/")[0] for name in self.failed() if FATAL.search(self.said.get(name, ""))}


class Receipts:
    """A pipe through which marked statements send their tokens."""

    def __init__(self, pipe: int) -> None:
        self.reading, writing = os.pipe()
        os.dup2(writing, pipe)
        os.close(writing)
        self.pipe = pipe
        self.tokens: set[str] = set()
        self.rest = b""

    def close_writer(self) -> None:
        """Close this process's writing end of the pipe."""
        # The process has its own by now.
        os.close(self.pipe)

    def feed(self) -> bool:
        """Read available tokens; return whether more may come."""
        data = os.read(self.reading, 1 << 16)
        *lines, self.rest = (self.rest + data).split(b"\n")
        self.rest = self.rest[-MAX_LINE:]
        if len(self.tokens) < MAX_TOKENS:
            self.tokens.update(line.decode("ascii") for line in lines if TOKEN.match(line))
        return bool(data)

    def close(self) -> None:
        """Read the remaining tokens; close the pipe."""
        # A process may still be writing.
        for _ in range(MAX_READS):
            if not (select.select([self.reading], [], [], 0)[0] and self.feed()):
                break
        os.close(self.reading)


def listen(
    argv: list[str], folder: str, variables: dict[str, str], listener: Listener, settings: dict[str, Any]
) -> tuple[int, list[str]]:
    """Run the test program; return its status and received tokens."""
    pipe, seconds = settings["pipe"], settings["seconds"]
    receipts = Receipts(pipe)
    process = subprocess.Popen(
        argv, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True, pass_fds=(pipe,),
    )  # fmt: skip
    receipts.close_writer()
    stream = process.stdout.fileno() if process.stdout else -1
    streams = [stream, receipts.reading]
    heard = time.monotonic()
    while True:
        ready = select.select(streams, [], [], 0.05)[0]
        if receipts.reading in ready and not receipts.feed():
            streams.remove(receipts.reading)
        if stream in ready:
            data = os.read(stream, 1 << 16)
            if not data:
                break
            listener.feed(data)
            heard = time.monotonic()
        elif process.poll() is not None and time.monotonic() - heard > QUIET_SECONDS:
            break  # something that it started holds the pipe
        late = seconds is not None and time.monotonic() - listener.moved > seconds
        if late and any(map(listener.is_variant, listener.running())):
            # What a copy gives the code under test may keep it for ever.
            listener.feed(b"\npanic: test timed out after %d s\n" % seconds)
            os.killpg(process.pid, signal.SIGKILL)
            break
    status = process.wait()
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    listener.feed(b"\n")
    receipts.close()
    return status, sorted(receipts.tokens)
