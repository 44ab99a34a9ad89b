"""The HTTP service."""

from collections.abc import Callable
from http.server import ThreadingHTTPServer


def make_server(path: str, clock: Callable[[], int]) -> ThreadingHTTPServer:
    """Return a server on a free port of 127.0.0.1 that keeps its links in the SQLite file ``path``."""
    raise NotImplementedError
