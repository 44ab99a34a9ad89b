"""Ctrl-C and SIGTERM: the first one stops the run in order, the second one ends the process at once."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interruptible(stop: threading.Event, on_stop: Callable[[], None]) -> Iterator[None]:
    """Set ``stop`` and call ``on_stop`` in a thread of its own at the first signal.

    Outside of the main thread, where signals cannot be caught, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        stop.set()
        for other in _SIGNALS:
            signal.signal(other, signal.SIG_DFL)
        threading.Thread(target=on_stop, name="codegate-stop", daemon=True).start()

    for number in _SIGNALS:
        signal.signal(number, handle)
    try:
        yield
    finally:
        restore()
