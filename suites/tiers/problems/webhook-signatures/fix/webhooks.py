"""Messages of a provider, and whether they are genuine."""

import hmac
import json
import re
from hashlib import sha256


class Rejected(Exception):
    """The message is not accepted; the first argument is the reason."""


def sign(secret: bytes, body: bytes, time: int) -> str:
    """Return the header of a message."""
    return f"t={time},v1={_signature(secret, str(time), body)}"


def _signature(secret: bytes, time: str, body: bytes) -> str:
    return hmac.new(secret, time.encode() + b"." + body, sha256).hexdigest()


class Webhooks:
    """Receives messages."""

    def __init__(self, secrets: list[bytes], clock, tolerance: int = 300) -> None:
        if not secrets:
            raise ValueError("at least one secret is needed")
        self._secrets = list(secrets)
        self._clock = clock
        self._tolerance = tolerance
        self._seen: dict[tuple[int, bytes], None] = {}

    def __len__(self) -> int:
        self._forget()
        return len(self._seen)

    def receive(self, header: str, body: bytes) -> dict:
        """Return the object in a message; raises ``Rejected``."""
        time, signatures = _parts(header)
        wanted = [_signature(secret, time, body).encode() for secret in self._secrets]
        if not any(hmac.compare_digest(one, given.encode()) for one in wanted for given in signatures):
            raise Rejected("signature")
        sent = int(time)
        if abs(self._clock() - sent) > self._tolerance:
            raise Rejected("time")
        self._forget()
        key = (sent, sha256(body).digest())
        if key in self._seen:
            raise Rejected("repeated")
        self._seen[key] = None
        try:
            data = json.loads(body.decode("utf-8"))
        except ValueError:
            raise Rejected("body") from None
        if not isinstance(data, dict):
            raise Rejected("body")
        return data

    def _forget(self) -> None:
        oldest = self._clock() - self._tolerance
        for key in [key for key in self._seen if key[0] < oldest]:
            del self._seen[key]


def _parts(header: str) -> tuple[str, list[str]]:
    found: dict[str, list[str]] = {"t": [], "v1": []}
    for part in header.split(","):
        name, separator, value = part.strip().partition("=")
        if not separator:
            raise Rejected("malformed")
        found.setdefault(name, []).append(value)
    if len(found["t"]) != 1 or not re.fullmatch("[0-9]{1,15}", found["t"][0]) or not found["v1"]:
        raise Rejected("malformed")
    return found["t"][0], found["v1"]
