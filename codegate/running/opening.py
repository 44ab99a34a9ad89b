"""Open and close a run's backend and providers."""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from codegate.candidates import CandidateSpec, Provider, open_provider
from codegate.errors import SIGNALS, Interrupted, end_process
from codegate.sandbox import STOP_SECONDS, Backend, Choice, close_soon, select_backend


@contextmanager
def opened_backend(sandbox: Choice, run_id: str) -> Iterator[Backend]:
    """Open a backend for the block; afterwards remove its sandboxes."""
    backend = select_backend(sandbox, run_id)
    try:
        backend.sweep()
        yield backend
    except KeyboardInterrupt:
        close_soon(backend)
        raise
    finally:
        backend.close()


@contextmanager
def opened_providers(candidates: Sequence[CandidateSpec], folder: Path) -> Iterator[dict[str, Provider | None]]:
    """Open the candidates' providers; yield them by candidate key.

    A ``replay`` candidate's paths are relative to ``folder``.
    """
    providers: dict[str, Provider | None] = {}
    try:
        for candidate in candidates:
            providers[candidate.key()] = open_provider(candidate, folder)
        yield providers
    finally:
        for provider in providers.values():
            if provider is not None:
                provider.close()


@contextmanager
def interruptible(stop: threading.Event, backend: Backend) -> Iterator[None]:
    """Stop the block on Ctrl-C or SIGTERM.

    The signal sets ``stop`` and closes ``backend``. The block has to check ``stop`` and end with ``Interrupted``. Then
    ``backend`` has two seconds to remove the sandboxes. A second signal ends the process. Outside of the main thread,
    where signals cannot be caught, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stopping = threading.Thread(target=backend.close, name="codegate-stop", daemon=True)
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        for other in SIGNALS:
            signal.signal(other, end_process)
        stop.set()
        if stopping.ident is None:  # a second signal can arrive before the handlers above are set
            stopping.start()

    for number in SIGNALS:
        signal.signal(number, handle)
    try:
        yield
    except Exception as error:
        if stop.is_set() and not isinstance(error, Interrupted):
            raise Interrupted("interrupted.") from error
        raise
    finally:
        if stopping.ident is not None:
            stopping.join(STOP_SECONDS)
        else:
            for number, handler in before.items():
                signal.signal(number, handler)
