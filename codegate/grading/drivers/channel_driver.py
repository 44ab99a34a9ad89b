"""Write a test driver's records to its pipe.

``records.py`` reads them.
"""

from __future__ import annotations

import json
import os
from typing import Any


def plain(value: Any, limit: int) -> str:
    """Return ``value`` as text of at most ``limit`` characters."""
    try:
        text = str(value)
    except Exception:
        text = "<no text>"
    return text[:limit].encode("utf-8", "backslashreplace").decode("utf-8")


class Channel:
    """Writes records to the pipe, one JSON line each.

    Each line begins with a secret token from the settings. Functions of ``os`` and ``json`` are looked up once, because
    tests replace them while they run.
    """

    def __init__(self, descriptor: int, token: str) -> None:
        os.set_inheritable(descriptor, False)
        self.descriptor, self.token, self.process = descriptor, token, os.getpid()
        self.write, self.encode, self.getpid = os.write, json.JSONEncoder(ensure_ascii=False).encode, os.getpid

    def send(self, **record: Any) -> None:
        if self.getpid() != self.process:
            return  # a fork that did not end runs the rest of the tests a second time
        data = ("%s %s\n" % (self.token, self.encode(record))).encode("utf-8")
        while data:
            data = data[self.write(self.descriptor, data) :]
