"""Carry out each payment once."""

import heapq
import json
from copy import deepcopy
from itertools import count
from threading import Lock


class KeyReused(Exception):
    """The key belongs to another request."""


class InProgress(Exception):
    """The request is under way."""


class Declined(Exception):
    """The payment was declined; the arguments say why."""


class _Entry:
    def __init__(self, request: str, began: int) -> None:
        self.request = request
        self.began = began
        self.done = False
        self.response: object = None
        self.declined: tuple | None = None


class Payments:
    """Payments by their idempotency keys."""

    def __init__(self, charge, clock, keep: int = 86_400) -> None:
        self._charge = charge
        self._clock = clock
        self._keep = keep
        self._entries: dict[str, _Entry] = {}
        self._done: list[tuple[int, int, str]] = []  # a heap: when it began, a number, the key
        self._numbers = count()
        self._lock = Lock()

    def __len__(self) -> int:
        with self._lock:
            self._forget()
            return len(self._entries)

    def pay(self, key: str, request: dict) -> tuple[object, bool]:
        """Return the response, and whether it is a repeated one."""
        if not 1 <= len(key) <= 64:
            raise ValueError("a key has 1 to 64 characters")
        text = json.dumps(request, sort_keys=True)
        with self._lock:
            self._forget()
            entry = self._entries.get(key)
            if entry is not None:
                return self._repeated(entry, text), True
            entry = self._entries[key] = _Entry(text, self._clock())
        try:
            response = self._charge(deepcopy(request))
        except Declined as error:
            self._end(key, entry, declined=error.args)
            raise
        except BaseException:
            with self._lock:
                del self._entries[key]
            raise
        self._end(key, entry, response=deepcopy(response))
        return response, False

    def _end(self, key: str, entry: _Entry, response: object = None, declined: tuple | None = None) -> None:
        with self._lock:
            entry.response, entry.declined, entry.done = response, declined, True
            heapq.heappush(self._done, (entry.began, next(self._numbers), key))

    def _repeated(self, entry: _Entry, text: str) -> object:
        if entry.request != text:
            raise KeyReused
        if not entry.done:
            raise InProgress
        if entry.declined is not None:
            raise Declined(*entry.declined)
        return deepcopy(entry.response)

    def _forget(self) -> None:
        over = self._clock() - self._keep
        while self._done and self._done[0][0] <= over:
            del self._entries[heapq.heappop(self._done)[2]]
