"""The threads that units are tried in."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers(Generic[Item, Result]):
    """Does ``task`` with each of ``items``, in their order, several at a time.

    Unlike an executor's, these threads do not keep the process alive: a unit's files are anybody's, and a worker
    that is stuck in one of them must not outlast the wish to stop.
    """

    def __init__(self, task: Callable[[Item], Result], items: Iterable[Item], count: int) -> None:
        self._task = task
        self._queue: deque[tuple[Item, Future[Result]]] = deque((item, Future()) for item in items)
        self.futures = [future for _, future in self._queue]
        self._threads = [
            threading.Thread(target=self._work, name=f"mine-{number}", daemon=True) for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def end(self, seconds: float | None = None) -> None:
        """Begin nothing more, and wait for what is under way: at most ``seconds``, or as long as it takes."""
        self._queue.clear()
        deadline = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        while True:
            try:
                item, future = self._queue.popleft()
            except IndexError:
                return
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._task(item))
            except BaseException as error:  # raised again where the result is asked for
                future.set_exception(error)
