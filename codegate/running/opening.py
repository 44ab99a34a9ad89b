"""Open the backend and the providers of a run, and close them at its end, however it ends."""

import signal
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from codegate.candidates import CandidateSpec, Provider, open_provider
from codegate.errors import Interrupted
from codegate.sandbox import Backend, Choice, select_backend

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def opened_backend(sandbox: Choice, run_id: str, stop: threading.Event | None = None) -> Iterator[Backend]:
    """Yield a backend; at the end all of its sandboxes are removed.

    With ``stop``, Ctrl-C and SIGTERM set it and remove the sandboxes at once, and the block ends with ``Interrupted``.
    Without, they reach the block as ``KeyboardInterrupt``.
    """
    backend = select_backend(sandbox, run_id)
    try:
        backend.sweep()
        if stop is None:
            yield backend
            return
        try:
            with interruptible(stop, backend.close):
                yield backend
        except Exception as error:
            if stop.is_set() and not isinstance(error, Interrupted):
                raise Interrupted("interrupted.") from error
            raise
    finally:
        backend.close()


@contextmanager
def opened_providers(
    candidates: Sequence[CandidateSpec], folder: Path, keyless: Collection[str] = ()
) -> Iterator[dict[str, Provider | None]]:
    """Yield the providers by candidate key, and close them at the end; raises as ``open_provider``."""
    providers: dict[str, Provider | None] = {}
    try:
        for candidate in candidates:
            key = candidate.key()
            providers[key] = open_provider(candidate, folder, keyless=key in keyless)
        yield providers
    finally:
        for provider in providers.values():
            if provider is not None:
                provider.close()


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
