"""Limit a model call's time and size.

The SDKs have no such limits. Their timeouts hold for a single read, so a slow server outlasts them. They read answers
of any size, and they follow redirects with the request's body, which holds a repository's source.
"""

import contextlib
import contextvars
import logging
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from codegate.candidates.endpoint import Endpoint
from codegate.errors import UsageError

MAX_ANSWER_BYTES: Final = 16 << 20
CONNECT_SECONDS: Final = 15.0

Result = TypeVar("Result")


class AnswerTooLargeError(Exception):
    """The answer is larger than ``MAX_ANSWER_BYTES``."""


@dataclass(eq=False)
class _Call(Generic[Result]):
    """A call in its own thread, with its open connections."""

    done: threading.Event = field(default_factory=threading.Event)
    streams: list[Any] = field(default_factory=list)
    result: Result | None = None
    error: BaseException | None = None
    stopped: bool = False

    def trace(self, _event: str, info: Mapping[str, Any]) -> None:
        """Record a new connection, as the HTTP transport's extension ``trace``."""
        stream = info.get("return_value")
        if hasattr(stream, "get_extra_info"):
            self.streams.append(stream)
            if self.stopped:
                self.stop()

    def stop(self) -> None:
        """Close the call's connections, which ends its thread's read."""
        self.stopped = True
        for stream in tuple(self.streams):
            connection = stream.get_extra_info("socket")
            if isinstance(connection, socket.socket):
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


_current: contextvars.ContextVar[_Call[Any] | None] = contextvars.ContextVar("codegate_call", default=None)


class Calls:
    """One provider's calls in progress; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: set[_Call[Any]] = set()
        self._closed = threading.Event()

    def run(self, work: Callable[[], Result], seconds: float) -> Result:
        """Run ``work`` in a thread; return its result or raise.

        If ``work`` blocks, for example in a name lookup, this method still ends within ``seconds``, and closes the
        connection.

        Raises:
            TimeoutError: the deadline passed.
            ConnectionAbortedError: ``close`` was called.
        """
        call: _Call[Result] = _Call()

        def thread() -> None:
            _current.set(call)
            try:
                call.result = work()
            except BaseException as error:
                call.error = error
            finally:
                call.done.set()

        with self._lock:
            if self._closed.is_set():
                raise ConnectionAbortedError
            self._calls.add(call)
        try:
            threading.Thread(target=thread, name="codegate-call", daemon=True).start()
            finished = call.done.wait(seconds)
        finally:
            with self._lock:
                self._calls.discard(call)
            if not call.done.is_set():
                call.stop()
        if self._closed.is_set() and (call.error is not None or not finished):
            raise ConnectionAbortedError
        if not finished:
            raise TimeoutError
        if call.error is not None:
            raise call.error
        return call.result  # type: ignore[return-value]  # set: the thread ended without an error

    def close(self) -> None:
        """End every call in progress and refuse new ones; idempotent."""
        with self._lock:
            self._closed.set()
            calls = tuple(self._calls)
        for call in calls:
            call.stop()


class _BoundedSend:
    """Limits the size of answers; a mixin for HTTP clients.

    Redirects are not followed. ``send`` raises AnswerTooLargeError.
    """

    def send(self, request: Any, **options: Any) -> Any:
        call = _current.get()
        if call is not None:
            request.extensions["trace"] = call.trace
        options |= {"stream": True, "follow_redirects": False}
        response = super().send(request, **options)  # type: ignore[misc]  # the other base is httpx's Client
        try:
            content = bytearray()
            for piece in response.iter_bytes():
                content += piece
                if len(content) > MAX_ANSWER_BYTES or response.num_bytes_downloaded > MAX_ANSWER_BYTES:
                    raise AnswerTooLargeError
        finally:
            response.close()
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name.lower() not in {"content-encoding", "content-length", "transfer-encoding"}
        ]
        return type(response)(
            status_code=response.status_code, headers=headers, content=bytes(content), request=request
        )


def bounded_client(kind: type[Any], endpoint: Endpoint, timeout: Any) -> Any:
    """Return an HTTP client that limits answers' time and size.

    ``kind`` is the class of the SDK's HTTP client. The environment's proxy settings apply, except for this machine and
    plain http: a proxy must not see a key.

    Raises:
        UsageError: the environment names a proxy that cannot be used.
    """
    _silence(kind)
    client = type("BoundedClient", (_BoundedSend, kind), {})
    # Mounts are needed as well: an SDK may read the proxy variables itself, even without ``trust_env``.
    direct = {"mounts": dict.fromkeys(("all://", "http://", "https://"))} if endpoint.direct else {}
    try:
        return client(
            **direct,
            follow_redirects=False,
            timeout=timeout,
            trust_env=not endpoint.direct,
            # Each call has its own connection: the deadline can cut it, and no idle connection can have died.
            headers={"Connection": "close", "Accept-Encoding": "identity"},
        )
    except Exception as error:
        # The error can quote the proxy's password. Its class depends on the HTTP package behind the SDK.
        if not isinstance(error, (ValueError, ImportError)) and type(error).__name__ != "InvalidURL":
            raise
        raise UsageError(
            "the proxy in HTTPS_PROXY or ALL_PROXY cannot be used.",
            "Write http://USER:PASSWORD@HOST:PORT, with `/` and the like in a password as %2F. A proxy with socks5:// "
            "needs the package socksio.",
        ) from None


def _silence(client: type[Any]) -> None:
    """Disable the logs of the packages that define ``client``.

    ``client`` is the class of an SDK's HTTP client. OPENAI_LOG, ANTHROPIC_LOG or a user's logging configuration would
    print requests, which hold the source, and response headers, which may echo the key.
    """
    for package in {base.__module__.partition(".")[0] for base in client.__mro__} - {"builtins"}:
        for name in (package, package.replace("httpx", "httpcore")):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
