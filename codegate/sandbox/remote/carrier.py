"""Carry a supervisor's byte stream as lines of text.

Providers' SDKs carry only text. ``link.py`` is the other end.
"""

import base64
import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Final, Protocol

from codegate.sandbox.contract import SandboxError
from codegate.sandbox.remote.link import READY
from codegate.sandbox.sockets import SocketConnection

ARCHIVE: Final = "/tmp/codegate.tar.gz"  # noqa: S108 - on a machine that is ours alone
FOLDER: Final = "/opt/codegate"
LINK: Final = "link.py"

_PART: Final = 1 << 18  # most bytes in a line; most providers need a request per line
_ERROR_BYTES: Final = 1 << 14
_LAST_WORDS_SECONDS: Final = 5.0
_COMMAND: Final = (
    f"mkdir -p {FOLDER} && tar -xzf {ARCHIVE} -C {FOLDER} && rm {ARCHIVE} && exec python3 -I -S -B {FOLDER}/{LINK}"
)


class Machine(Protocol):
    """A rented machine for one sandbox, without a network.

    ``send`` and ``start`` are called from two threads.

    Attributes:
        identity: the provider's id of the machine.
    """

    identity: str

    def upload(self, file: Path, target: str) -> None:
        """Copy a file to the machine."""
        ...

    def start(self, command: str) -> Iterator[str]:
        """Start a shell command as root; yield its output."""
        ...

    def send(self, text: str) -> None:
        """Write to the standard input of the started command."""
        ...


class Carrier:
    """Carries a stream between a socket and ``link.py``.

    Two threads do the work. The supervisor's stream is on the socket ``connection``. ``wanted`` is the first line of
    ``link.py``'s input.
    """

    def __init__(self, machine: Machine, wanted: Mapping[str, object]) -> None:
        ours, self._theirs = socket.socketpair()
        self.connection = SocketConnection(ours)
        self._machine = machine
        self._first = json.dumps(wanted) + "\n"
        self._errors = b""
        self._failure = ""
        self._memory = False
        self._answer: IO[bytes] | None = None
        self._ended = False
        self._ready = threading.Event()
        self._sending = threading.Lock()
        self._answering = threading.Lock()
        self._out = threading.Thread(target=self._carry_out, name="codegate-remote-out", daemon=True)
        self._out.start()
        self._back = threading.Thread(target=self._carry_back, name="codegate-remote-back", daemon=True)
        self._back.start()

    def ask(self, *argv: str) -> IO[bytes]:
        """Run a program outside the sandbox; return its output.

        The program runs on the rented machine as root, one at a time.

        Raises:
            SandboxError: the machine went away.
        """
        reader, writer = os.pipe()
        output = open(reader, "rb")  # noqa: SIM115, PTH123 - the caller's
        with self._answering:
            self._answer = open(writer, "wb", buffering=0)  # noqa: SIM115, PTH123 - closed at the program's end
            if self._ended:
                self._answer.close()
        try:
            self._send(f"!{base64.b64encode(json.dumps(argv).encode()).decode('ascii')}\n")
        except Exception as error:  # of any SDK
            output.close()
            raise SandboxError(f"the machine cannot be asked: {describe_error(error)}.") from error
        return output

    def died_of_memory(self) -> bool:
        """Return whether the stream broke because memory ran out."""
        self._back.join(_LAST_WORDS_SECONDS)
        return self._memory

    def post_mortem(self) -> str:
        """Return in one sentence why the stream ended."""
        words = self._errors.decode("utf-8", "replace").strip()[-1000:] or self._failure
        return f"The machine says: {words}" if words else "The machine went away."

    def _send(self, text: str) -> None:
        with self._sending:
            self._machine.send(text)

    def _carry_out(self) -> None:
        self._ready.wait()
        try:
            self._send(self._first)
            while data := self._theirs.recv(_PART):
                self._send(base64.b64encode(data).decode("ascii") + "\n")
        except Exception as error:  # of any SDK
            self._fail(error)

    def _carry_back(self) -> None:
        try:
            noise = ""
            for line in _lines(self._machine.start(_COMMAND)):
                if self._ready.is_set():
                    self._take(line)
                elif READY in line:
                    self._ready.set()
                    noise = ""
                else:
                    noise = f"{noise} {line}"[-500:]
            self._failure = self._failure or noise.strip()
        except Exception as error:  # of any SDK
            self._fail(error)
        finally:
            with self._answering:
                self._ended = True
                if self._answer is not None:
                    self._answer.close()
            with contextlib.suppress(OSError):
                self._theirs.shutdown(socket.SHUT_RDWR)
            self._ready.set()
            self._out.join()
            self._theirs.close()

    def _take(self, line: str) -> None:
        if line.startswith("o"):
            self._theirs.sendall(base64.b64decode(line[1:]))
        elif line.startswith("x") and self._answer is not None:
            if line == "x":
                self._answer.close()
            with contextlib.suppress(BrokenPipeError, ValueError):  # the reader has closed the pipe
                self._answer.write(base64.b64decode(line[1:]))
        elif line == "m":
            self._memory = True
        elif len(self._errors) < _ERROR_BYTES:
            self._errors += base64.b64decode(line[1:]) if line.startswith("e") else line.encode()

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or describe_error(error)
        with contextlib.suppress(OSError):
            self._theirs.shutdown(socket.SHUT_RDWR)


def _lines(parts: Iterator[str]) -> Iterator[str]:
    rest: list[str] = []
    for part in parts:
        *whole, last = part.split("\n")
        for line in whole:
            yield "".join((*rest, line)).rstrip("\r")
            rest.clear()
        rest.append(last)


def describe_error(error: Exception) -> str:
    """Return an SDK error's kind and message, in one line."""
    text = " ".join(str(error).split())[:500].rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
