"""Checks of the relay, which carries connections to the host."""

import contextlib
import hashlib
import socket
import threading
import time
from collections.abc import Callable

from codegate.sandbox.conformance.subject import Subject, expect, json_output, run_python
from codegate.sandbox.contract import Command, Completed, Sandbox
from codegate.sandbox.relay import RELAY_PORT, Relay

_CONNECT = f"import socket, sys, json; connect = lambda: socket.create_connection(('127.0.0.1', {RELAY_PORT}), 5)\n"


def relayed_bytes(subject: Subject) -> None:
    """Check that six connections carry megabytes both ways at once."""
    program = (
        "import threading, hashlib\n"
        "def once(n, found):\n"
        "    end, data = connect(), bytes([n]) * 3_000_000\n"
        "    sender = threading.Thread(target=lambda: (end.sendall(data), end.shutdown(socket.SHUT_WR)))\n"
        "    sender.start(); got = b''\n"
        "    while part := end.recv(65536): got += part\n"
        "    sender.join(); found[n] = hashlib.sha256(got).hexdigest()\n"
        "found = {}; threads = [threading.Thread(target=once, args=(n, found)) for n in range(6)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]; print(json.dumps(found))\n"
    )
    with subject.sandbox() as sandbox:
        found = json_output(_run(sandbox, program, _echo))
    wanted = {str(n): hashlib.sha256(bytes([n]) * 3_000_000).hexdigest() for n in range(6)}
    expect(found == wanted, "what was sent, on every connection", found)


def relayed_only_when_asked(subject: Subject) -> None:
    """Check that a port listens only during its relay's command."""
    program = "try: connect(); print('true')\nexcept OSError: print('false')"
    with subject.sandbox() as sandbox:
        before = json_output(run_python(sandbox, _CONNECT + program))
        during = [json_output(_run(sandbox, program, _echo)) for _ in range(2)]
        after = json_output(run_python(sandbox, _CONNECT + program))
    expect((before, during, after) == (False, [True, True], False), "its time only", (before, during, after))


def relay_ends(subject: Subject) -> None:
    """Check that ``Relay.end`` kills the command and keeps the sandbox."""
    program = "import time, os\nif os.fork(): connect().recv(1)\ntime.sleep(60)"
    with contextlib.closing(Relay({RELAY_PORT: lambda _: relay.end()})) as relay, subject.sandbox() as sandbox:
        begun = time.monotonic()
        done = sandbox.run(Command(("{python}", "-c", _CONNECT + program), timeout_seconds=50, relay=relay))
        expect(done.signal == 9 and not done.timed_out and time.monotonic() - begun < 20, "killed at once", done)
        expect(run_python(sandbox, "print(1)").stdout == b"1\n", "a usable sandbox after it", done)


def relay_flood(subject: Subject) -> None:
    """Check that a sandbox survives hundreds of connections nobody reads."""
    program = (
        "ends = []\n"
        "for n in range(400):\n"
        "    end = socket.socket(); end.setblocking(False); ends.append(end)\n"
        "    end.connect_ex(('127.0.0.1', PORT))\n"
        "import time; time.sleep(0.5); sent = 0\n"
        "for end in ends:\n"
        "    try: sent += end.send(b'x' * 100_000)\n"
        "    except OSError: pass\n"
        "print(json.dumps(sent > 0))"
    ).replace("PORT", str(RELAY_PORT))
    held = threading.Event()
    with subject.sandbox() as sandbox:
        try:
            done = _run(sandbox, program, lambda _: held.wait(60))
        finally:
            held.set()
        expect(json_output(done), "some bytes on their way", done)
        expect(run_python(sandbox, "print(1)").stdout == b"1\n", "a usable sandbox after it", done)


def relay_drops_late_bytes(subject: Subject) -> None:
    """Check that late bytes on a closed connection are dropped.

    The host closes each of 40 connections while the program still sends. No late byte may open another connection.
    """
    program = (
        "import time\n"
        "for _ in range(40):\n"
        "    end = connect(); end.sendall(b'x'); end.recv(1)\n"
        "    try:\n"
        "        for _ in range(5): end.sendall(b'x' * 70_000)\n"
        "    except OSError: pass\n"
        "print('true')"
    )
    answered: list[int] = []
    with subject.sandbox() as sandbox:
        done = _run(sandbox, program, lambda end: answered.append(len(end.recv(1))))
    expect(json_output(done) is True and len(answered) == 40, "each connection once", len(answered))


def relay_slow_reader(subject: Subject) -> None:
    """Check that a slow reader still gets all bytes."""
    program = (
        "import time\n"
        "end = connect(); end.recv(1); time.sleep(1); got = 1\n"
        "while part := end.recv(1 << 20): got += len(part)\n"
        "print(got)"
    )
    with subject.sandbox() as sandbox:
        got = json_output(_run(sandbox, program, lambda end: end.sendall(bytes(48 << 20))))
    expect(got == 48 << 20, "every byte", got)


def relay_closed_output(subject: Subject) -> None:
    """Check that the relay works after a command closes stderr."""
    program = (
        "import os, time\n"
        "os.close(2); time.sleep(0.2); got = 0\n"
        "for _ in range(3):\n"
        "    end = connect(); end.sendall(b'ping'); got += len(end.recv(4)); end.close()\n"
        "print(got)"
    )
    with subject.sandbox() as sandbox:
        got = json_output(_run(sandbox, program, _echo))
    expect(got == 12, "three answers", got)


def _run(sandbox: Sandbox, program: str, answerer: Callable[[socket.socket], object]) -> Completed:
    with contextlib.closing(Relay({RELAY_PORT: answerer})) as relay:
        return sandbox.run(Command(("{python}", "-c", _CONNECT + program), timeout_seconds=60, relay=relay))


def _echo(end: socket.socket) -> None:
    while data := end.recv(1 << 16):
        end.sendall(data)
