"""Compute a value once for all threads that need it."""

import math
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Once(Generic[_Key, _Value]):
    """Keeps values by key; a caller waits for a value that another one computes. Thread-safe.

    A failure reaches every caller that waits for it, and is not kept.

    Args:
        most: how many values are kept, those that were asked for last.
    """

    def __init__(self, most: float = math.inf) -> None:
        self._most = most
        self._kept: dict[_Key, Future[_Value]] = {}  # what was asked for last comes last
        self._lock = threading.Lock()

    def get(self, key: _Key, make: Callable[[], _Value]) -> _Value:
        """Return the value of ``key``, which ``make`` gives if there is none; raises what ``make`` raises."""
        with self._lock:
            known = self._kept.pop(key, None)
            future = self._kept[key] = known or Future()
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
        if known is None:
            try:
                future.set_result(make())
            except BaseException as error:
                with self._lock:
                    if self._kept.get(key) is future:
                        del self._kept[key]
                future.set_exception(error)
                raise
        return future.result()
