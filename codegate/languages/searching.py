"""Search test files in processes of their own: hostile text may take a parser more time and memory than there is.

Each search is a fork of a server, which has imported what a search needs. The server is started with the first search,
has none of this process's variables, and ends with it.
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
from codegate.languages.controls import TestSyntax, read_units, with_known
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
_FOUND: Final = b"found\n"
_PROGRAM: Final = "from codegate.languages.searching import serve; serve()"


class SearchError(Exception):
    """The search did not come to its end."""


def search_tests(
    texts: Mapping[str, str],
    runner: RunnerName,
    older: Mapping[str, str] | None = None,
    cpu_seconds: int = _CPU_SECONDS,
) -> bytes:
    """Return the units of test files, as JSON lines.

    A test that cannot be parsed has nothing, and neither has a runner of which this knows no tests. A patch may know
    ``older`` versions of the files; those of more than 1 MiB count as absent.

    Raises:
        SearchError: a file has more than 1 MiB, or a limit ended the search: CPU time, 2 GiB of memory.
    """
    if not controls_of(runner) or not texts:
        return b""
    older = {path: text for path, text in (older or {}).items() if len(text.encode("utf-8")) <= _MAX_BYTES}
    for path, text in texts.items():
        if len(text.encode("utf-8")) > _MAX_BYTES:
            message = f"{path} has more than {_MAX_BYTES >> 20} MiB"
            raise SearchError(message)
    asked = {"files": dict(texts), "older": older, "runner": runner, "cpu_seconds": cpu_seconds}
    answer = bytearray()
    try:
        with _SERVER.connect() as connection:
            connection.sendall(json.dumps(asked).encode("ascii"))
            connection.shutdown(socket.SHUT_WR)
            while len(answer) <= _MAX_RECORDS and (received := connection.recv(1 << 16)):
                answer += received
    except OSError as error:
        message = f"the search ended: {error}"
        raise SearchError(message) from error
    if not answer.startswith(_FOUND) or len(answer) > _MAX_RECORDS:
        limits = f"the search took more than {cpu_seconds} s of CPU time, or more memory than it may have"
        raise SearchError(answer[-300:].decode("utf-8", "replace") or limits)
    return bytes(answer.removeprefix(_FOUND))


class _Server:
    """The server of this process's searches. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        os.register_at_fork(after_in_child=self._forget)

    def connect(self) -> socket.socket:
        """Return a connection to a new search.

        Raises:
            OSError: the server cannot be started or reached.
        """
        own, other = socket.socketpair()
        with self._lock, other:
            if self._control is None or self._process is None or self._process.poll() is not None:
                self._start()
            assert self._control is not None  # noqa: S101 (it was just started)
            socket.send_fds(self._control, [b"?"], [other.fileno()])
        return own

    def _start(self) -> None:
        if self._control is not None:
            self._control.close()
        self._control, other = socket.socketpair()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM],
                env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # and no secret
                cwd="/",
                stdin=other.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt at the terminal is not for it
            )

    def _forget(self) -> None:
        self.__init__()  # type: ignore[misc]  # a fork has a lock and a server of its own


_SERVER: Final = _Server()


def serve() -> None:
    """Fork a search for each connection from standard input, until that is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a search
    with socket.socket(fileno=sys.stdin.fileno()) as control:
        while True:
            asked, (*connections,), _, _ = socket.recv_fds(control, 1, 1)
            if not asked:
                return
            with socket.socket(fileno=connections[0]) as connection:
                if not os.fork():
                    try:
                        control.close()
                        _answer(connection)
                    finally:
                        os._exit(0)


def _answer(connection: socket.socket) -> None:
    """Search what a connection asks for, within limits."""
    signal.alarm(_SECONDS)
    with connection, connection.makefile("rwb") as file:
        try:
            asked = json.load(file)
            resource.setrlimit(resource.RLIMIT_CPU, (asked["cpu_seconds"], asked["cpu_seconds"]))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
            sys.setrecursionlimit(_MAX_DEPTH)
            answer = _FOUND + b"".join(_records(asked))
        except BaseException as error:  # the other end raises it
            answer = f"the search ended: {error!r}".encode("utf-8", "backslashreplace")
        file.write(answer)


def _records(asked: Mapping[str, Any]) -> list[bytes]:
    found = []
    for path, text in asked["files"].items():
        # A number of thousands of digits is a ValueError or an OverflowError wherever it is calculated with or written.
        with contextlib.suppress(RecursionError, ValueError, OverflowError):
            for record in find(path, text, asked["runner"], asked["older"].get(path, "")):
                found.append(f"{json.dumps(record)}\n".encode("ascii"))
    return found


def find(path: str, text: str, runner: RunnerName, older: str = "") -> list[dict[str, Any]]:
    """Return the units found in one file, of which an ``older`` version is known."""
    grammar = grammar_of(PurePosixPath(path).suffix)
    if grammar is None:
        return []
    syntax = cast("TestSyntax", load_part(controls_of(runner)))
    units, known = (
        read_units(path, one.encode("utf-8"), parse(one, grammar, _CPU_SECONDS), syntax) for one in (text, older)
    )
    units = with_known(units, text.encode("utf-8"), known, older.encode("utf-8"))
    alone = any(runner in language.alone for language in languages())
    return [{**unit.model_dump(), "alone": alone or unit.alone} for unit in units]
