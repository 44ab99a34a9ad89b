"""The part of the supervisor that talks to the host.

Its source is sent ahead of that of ``supervisor.py``.

Wire format (all integers big-endian): the host sends ``length:8 body``, the supervisor sends
``sequence:8 length:8 hmac-sha256:32 body`` with the HMAC over sequence, length and body. A body is
``header-length:4 header blob`` where the header is a dictionary and the blob is raw bytes. The host's headers are in
Python's marshal format, which the supervisor reads without an import of its own; the supervisor's are JSON.
"""

from __future__ import annotations

import hmac
import marshal
import os
import select
import struct
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Header = dict[str, Any]

MESSAGE_BYTES = 64 << 20


def as_json(value: Any) -> str:
    """Return a plain value as JSON."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{as_json(key)}:{as_json(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(as_json, value)) + "]"
    if isinstance(value, str):
        units = value.encode("utf-16-be", "surrogatepass").hex()
        return '"' + "".join("\\u" + units[at : at + 4] for at in range(0, len(units), 4)) + '"'
    return "null" if value is None else repr(value).lower()


class Host:
    """The supervisor's end of the stream to the host.

    When the host's end closes, the supervisor exits.
    """

    def __init__(self) -> None:
        self.reader, self.writer = os.dup(0), os.dup(1)
        null = os.open("/dev/null", os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.close(null)
        os.set_blocking(self.reader, False)
        os.set_blocking(self.writer, False)
        self.key, self.sequence = b"", 0
        self.inbox = bytearray()
        self.deadline = time.monotonic() + 60

    def _wait(self, *events: tuple[int, int]) -> None:
        poll = select.poll()
        for descriptor, event in events:
            poll.register(descriptor, event)
        while True:
            remaining = self.deadline - time.monotonic()
            if remaining <= 0:
                os._exit(124)
            if poll.poll(min(remaining, 3600) * 1000 + 1):
                return

    def pull(self) -> None:
        """Read the bytes that have arrived from the host."""
        try:
            part = os.read(self.reader, 1 << 20)
        except BlockingIOError:
            return
        if not part:
            os._exit(0)
        self.inbox += part

    def waiting(self) -> bool:
        """Return whether ``receive`` has a whole message to return."""
        size = 8 + int.from_bytes(self.inbox[:8], "big")
        if size > 8 + MESSAGE_BYTES:
            os._exit(125)
        return 8 <= len(self.inbox) >= size

    def receive(self) -> tuple[Header, memoryview]:
        """Return the next message: its header, then its bytes."""
        while not self.waiting():
            self._wait((self.reader, select.POLLIN))
            self.pull()
        end = 8 + int.from_bytes(self.inbox[:8], "big")
        body = memoryview(bytes(memoryview(self.inbox)[8:end]))
        del self.inbox[:end]
        (size,) = struct.unpack(">I", body[:4])
        return marshal.loads(body[4 : 4 + size]), body[4 + size :]  # noqa: S302 - the host's

    def send(self, header: Header, *blobs: bytes) -> None:
        """Send a signed message; read meanwhile, to avoid a deadlock."""
        text = as_json(header).encode("ascii")
        body = b"".join((struct.pack(">I", len(text)), text, *blobs))
        prefix = struct.pack(">QQ", self.sequence, len(body))
        mac = hmac.new(self.key, prefix, "sha256")
        mac.update(body)
        self.sequence += 1
        rest = memoryview(prefix + mac.digest() + body)
        while rest:
            try:
                rest = rest[os.write(self.writer, rest) :]
            except BlockingIOError:
                self._wait((self.writer, select.POLLOUT), (self.reader, select.POLLIN))
                self.pull()
