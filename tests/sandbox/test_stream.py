"""The signed stream: only the supervisor's next message gets through."""

import contextlib
import hmac
import json
import marshal
import selectors
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.sandbox.sockets import AttachedConnection, SocketConnection
from codegate.sandbox.stream import BOOTSTRAP, StreamBroken, SupervisorStream, supervisor_program
from codegate.sandbox.supervisor_host import as_json


class Peer:
    """The other end of a stream, which knows the key as the supervisor does: from the first message."""

    def __init__(self) -> None:
        ours, self.socket = socket.socketpair()
        self.socket.settimeout(60)
        self.stream = SupervisorStream(SocketConnection(ours))
        self.key = b""

    def read_hello(self) -> None:
        code, source = (self._exactly(struct.unpack(">Q", self._exactly(8))[0]) for _ in range(2))
        assert b"prctl" in code
        assert b"prctl" in source
        body = self._exactly(struct.unpack(">Q", self._exactly(8))[0])
        (size,) = struct.unpack(">I", body[:4])
        self.key = bytes.fromhex(marshal.loads(body[4 : 4 + size])["key"])
        assert len(self.key) == 32

    def frame(self, sequence: int, header: object, blob: bytes = b"", key: bytes | None = None) -> bytes:
        text = json.dumps(header).encode()
        body = struct.pack(">I", len(text)) + text + blob
        prefix = struct.pack(">QQ", sequence, len(body))
        return prefix + hmac.digest(self.key if key is None else key, prefix + body, "sha256") + body

    def close(self) -> None:
        self.stream.close()
        self.socket.close()

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            data += self.socket.recv(count - len(data))
        return data


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    reader = threading.Thread(target=peer.read_hello)
    reader.start()

    def answer() -> None:
        reader.join()
        peer.socket.sendall(peer.frame(0, {"ok": True}))

    answering = threading.Thread(target=answer)
    answering.start()
    assert peer.stream.start({}, 60).header == {"ok": True}
    answering.join()
    yield peer
    peer.close()


def ask(peer: Peer, *, limit: int = 100, timeout: float = 60) -> object:
    return peer.stream.request({"op": "put"}, b"", reply_bytes=limit, timeout=timeout)


def test_the_next_signed_message_arrives_with_its_bytes(peer: Peer) -> None:
    peer.socket.sendall(peer.frame(1, {"n": 1}, b"blob"))
    reply = peer.stream.request({"op": "put"}, b"", reply_bytes=100, timeout=60)
    assert (reply.header, reply.blob) == ({"n": 1}, b"blob")


@pytest.mark.parametrize(
    ("sequence", "key", "reason"),
    [(1, b"wrong" * 6, "signature"), (0, None, "order"), (2, None, "order"), (1, b"", "signature")],
)
def test_a_wrong_signature_or_order_is_refused(peer: Peer, sequence: int, key: bytes | None, reason: str) -> None:
    peer.socket.sendall(peer.frame(sequence, {"ok": True}, key=key))
    with pytest.raises(StreamBroken, match=reason):
        ask(peer)


@pytest.mark.parametrize(
    "value", [{"é\U0001f600": ['"\\', "\udcff\n\0", "", [], {}]}, [True, False, None, 0, -1.5e-07]]
)
def test_the_supervisor_writes_json(value: object) -> None:
    assert json.loads(as_json(value)) == value


@pytest.mark.parametrize("known", [True, False], ids=["byte code", "source"])
def test_a_supervisor_starts_in_pythons_of_this_and_of_other_versions(known: bool) -> None:
    sent = bytearray(supervisor_program())
    if not known:
        sent[8:100] = bytes(92)  # byte code of no version
    command = [sys.executable, "-I", "-S", "-B", "-c", BOOTSTRAP]
    done = subprocess.run(command, input=sent, capture_output=True, check=False)
    assert b"runs only as the first process" in done.stderr


def test_a_message_over_the_limit_is_refused_before_it_is_read(peer: Peer) -> None:
    peer.socket.sendall(struct.pack(">QQ", 1, 1 << 40))
    with pytest.raises(StreamBroken, match="limit"):
        ask(peer)


def test_a_changed_byte_anywhere_is_refused(peer: Peer) -> None:
    frame = peer.frame(1, {"ok": True}, b"payload")
    for place in (0, 15, 20, 50, len(frame) - 1):
        changed = frame[:place] + bytes([frame[place] ^ 1]) + frame[place + 1 :]
        other = Peer()
        other.stream._key, other.stream._sequence = peer.key, 1
        other.socket.sendall(changed)
        with pytest.raises(StreamBroken):
            ask(other, timeout=0.2)
        other.close()


def test_the_end_of_the_stream_and_silence_are_told_apart(peer: Peer) -> None:
    with pytest.raises(StreamBroken, match="no answer in time"):
        ask(peer, timeout=0.2)
    peer.socket.close()
    with pytest.raises(StreamBroken, match="broke"):
        ask(peer)


def test_closing_wakes_a_call_that_waits_for_several_descriptors() -> None:
    """A selector forgets a descriptor that is closed, and whether it is woken first is a race: hence the rounds."""

    class Attached:
        def __init__(self, end: socket.socket) -> None:
            self._sock = self._response = end

        def close(self) -> None:
            self._sock.close()

    for _ in range(100):
        ours, theirs = socket.socketpair()
        connection = AttachedConnection(Attached(ours))
        with theirs, selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ)
            waiting = threading.Thread(target=wait, args=(connection, selector), daemon=True)
            waiting.start()
            closing = threading.Thread(target=connection.close, daemon=True)
            closing.start()
            for thread in (closing, waiting):
                thread.join(60)
                assert not thread.is_alive()


def wait(connection: AttachedConnection, selector: selectors.BaseSelector) -> None:
    with contextlib.suppress(OSError):
        connection.wait(selector, time.monotonic() + 3600)


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=50)), max_size=12))
def test_attached_channels_are_taken_apart_however_they_are_cut(frames: list[tuple[int, bytes]]) -> None:
    ours, theirs = socket.socketpair()
    for channel, data in frames:
        theirs.sendall(struct.pack(">BxxxI", channel, len(data)) + data)
    theirs.close()
    connection = AttachedConnection(ours)
    output = b"".join(data for channel, data in frames if channel == 1)
    assert connection.receive(len(output), time.monotonic() + 60) == output
    with pytest.raises(ConnectionError):
        connection.receive(1, time.monotonic() + 60)
    assert connection.errors == b"".join(data for channel, data in frames if channel == 2)
    connection.close()
