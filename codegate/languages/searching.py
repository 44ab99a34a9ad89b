"""Search test files in separate processes.

A hostile text may exhaust time and memory. Each search is a fork of a server process, which has already imported the
code of a search. The first search starts the server. The server gets none of this process's environment variables, and
ends with this process.
"""

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final, cast

from codegate.languages import grammar_of
from codegate.languages.controls import TestSyntax, editable_tests, with_known_sites
from codegate.languages.registry import controls_of, languages
from codegate.languages.syntax import parse
from codegate.plugins import load_part
from codegate.suite import RunnerName

_MAX_BYTES: Final = 1 << 20
_MAX_RECORDS: Final = 64 << 20
_CPU_SECONDS: Final = 30
_SECONDS: Final = 300
_MEMORY_BYTES: Final = 2 << 30
_MAX_DEPTH: Final = 10_000
_SPARE_SECONDS: Final = 30
_MOST_WORDS: Final = 300
_WHOLE: Final = b"whole\n"
"""Ends a complete answer."""
_FAILED: Final = b"failed: "
"""Begins an error message in place of records."""
_BEGUN: Final = b"begun\n"
"""Begins each answer. If an answer breaks off after it, the searched texts are the cause."""
_PROGRAM: Final = "from codegate.languages.searching import serve; serve()"


class SearchError(Exception):
    """A search ended early because of its files."""


class SearchUnavailable(Exception):
    """This machine cannot search any files now."""


def search_tests(
    texts: Mapping[str, str],
    runner: RunnerName,
    older: Mapping[str, str] | None = None,
    cpu_seconds: int = _CPU_SECONDS,
) -> bytes:
    """Return the tests in test files as JSON lines.

    Each line is a ``codegate.languages.controls.EditableTest``. Tests that cannot be parsed are left out; a runner
    without a ``TestSyntax`` has none. ``older`` are versions of the files that the author of a patch may know; versions
    of more than 1 MiB are ignored.

    Raises:
        SearchError: a file has more than 1 MiB, or the search exceeded its limit of CPU time or 2 GiB of memory.
        SearchUnavailable: no search began.
    """
    if not controls_of(runner) or not texts:
        return b""
    older = {path: text for path, text in (older or {}).items() if len(text.encode("utf-8")) <= _MAX_BYTES}
    for path, text in texts.items():
        if len(text.encode("utf-8")) > _MAX_BYTES:
            raise SearchError(f"{path} has more than {_MAX_BYTES >> 20} MiB")
    request = {"files": dict(texts), "older": older, "runner": runner, "cpu_seconds": cpu_seconds}
    answer, broken = bytearray(), "no answer"
    try:
        with _SERVER.connect() as connection:
            connection.settimeout(_SECONDS + _SPARE_SECONDS)
            with contextlib.suppress(ConnectionError):  # a server that takes no request may have sent the reason
                connection.sendall(json.dumps(request).encode("ascii"))
                connection.shutdown(socket.SHUT_WR)
            while len(answer) <= _MAX_RECORDS and (received := connection.recv(1 << 16)):
                answer += received
    except OSError as error:
        broken = str(error)
    if not answer.startswith(_BEGUN):
        why = _words(answer.removeprefix(_FAILED)) or _words(_SERVER.error_output()) or broken
        raise SearchUnavailable(f"no search of tests began: {why}")
    del answer[: len(_BEGUN)]
    if len(answer) > _MAX_RECORDS:
        raise SearchError(f"the tests have more than {_MAX_RECORDS >> 20} MiB of units")
    if answer.startswith(_FAILED):
        raise SearchError(_words(answer.removeprefix(_FAILED)))
    if not answer.endswith(_WHOLE):
        limits = f"{cpu_seconds} s of CPU time, {_MEMORY_BYTES >> 30} GiB of memory, {_SECONDS} s"
        raise SearchError(f"the search of tests did not come to its end, within {limits}")
    return bytes(answer.removesuffix(_WHOLE))


def _words(text: bytes | bytearray) -> str:
    return " ".join(text.decode("utf-8", "replace").split())[-_MOST_WORDS:]


class _Server:
    """The server process that forks searches. Thread-safe."""

    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def connect(self) -> socket.socket:
        """Return a connection to a new search.

        Raises:
            OSError: the server cannot be started or reached.
        """
        own, other = socket.socketpair()
        with self._lock, other:
            try:
                if self._process is None or self._process.poll() is not None:
                    self._start()
                try:
                    self._send(other)
                except BrokenPipeError:  # the server has just ended
                    self._start()
                    self._send(other)
            except OSError:
                own.close()
                raise
        return own

    def error_output(self) -> bytes:
        """Return the end of the server's unread error output."""
        with self._lock:
            output = self._process.stderr.read() if self._process is not None and self._process.stderr else None
        return (output or b"")[-_MOST_WORDS:]

    def _send(self, connection: socket.socket) -> None:
        assert self._control is not None  # noqa: S101 (it was started)
        socket.send_fds(self._control, [b"?"], [connection.fileno()])

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def _start(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            with self._process as ended:
                ended.kill()
            self._process = None  # in case that no new server can be started
        self._control, other = socket.socketpair()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM],
                env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # no other variables, so no secrets
                cwd="/",
                stdin=other.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # Ctrl-C must not end it
            )
        if self._process.stderr is not None:
            os.set_blocking(self._process.stderr.fileno(), False)


_SERVER: Final = _Server()


def serve() -> None:
    """Fork a process for each search that a client requests.

    Standard input is a Unix socket that receives the clients' sockets. Return when it is closed.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps searches
    with socket.socket(fileno=sys.stdin.fileno()) as control:
        while True:
            request, (*connections,), _, _ = socket.recv_fds(control, 1, 1)
            if not request:
                return
            with socket.socket(fileno=connections[0]) as connection:
                try:
                    child = os.fork()
                except OSError as error:  # other searches must not end with this one
                    with contextlib.suppress(OSError):
                        connection.sendall(_failure(error))
                    continue
                if not child:
                    try:
                        control.close()
                        os.dup2(sys.stdout.fileno(), sys.stderr.fileno())  # a text may make a parser warn without end
                        _answer(connection)
                    finally:
                        os._exit(0)


def _answer(connection: socket.socket) -> None:
    signal.alarm(_SECONDS)
    with connection, connection.makefile("rwb") as file:
        try:
            request = json.load(file)
            resource.setrlimit(resource.RLIMIT_CPU, (request["cpu_seconds"], request["cpu_seconds"]))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
            sys.setrecursionlimit(_MAX_DEPTH)
            file.write(_BEGUN)
            file.flush()
            answer = b"".join(_records(request)) + _WHOLE
        except BaseException as error:  # the client raises it
            answer = _failure(error)
        file.write(answer)


def _failure(error: BaseException) -> bytes:
    return _FAILED + repr(error).encode("utf-8", "backslashreplace")


def _records(request: Mapping[str, Any]) -> list[bytes]:
    records = []
    for path, text in request["files"].items():
        # A number of thousands of digits is a ValueError or an OverflowError where it is computed with or printed.
        with contextlib.suppress(RecursionError, ValueError, OverflowError):
            for record in find(path, text, request["runner"], request["older"].get(path, "")):
                records.append(f"{json.dumps(record)}\n".encode("ascii"))
    return records


def find(path: str, text: str, runner: RunnerName, older: str = "") -> list[dict[str, Any]]:
    """Return the tests in one file, as ``EditableTest`` fields.

    ``older`` is an earlier version of the file, if known.
    """
    grammar = grammar_of(PurePosixPath(path).suffix)
    if grammar is None:
        return []
    syntax = cast("TestSyntax", load_part(controls_of(runner)))
    units, known = (
        editable_tests(path, one.encode("utf-8"), parse(one, grammar, _CPU_SECONDS), syntax) for one in (text, older)
    )
    units = with_known_sites(units, text.encode("utf-8"), known, older.encode("utf-8"))
    alone = any(runner in language.alone for language in languages())
    return [{**unit.model_dump(), "alone": alone or unit.alone} for unit in units]
