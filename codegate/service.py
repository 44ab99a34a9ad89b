"""A fake HTTP service with configured answers and counted calls.

It runs on the host, at the other end of a sandbox's relay: the code under test can call it, and cannot reach its
counts.
"""

import contextlib
import json
import socket
import threading
from collections import Counter
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, urlencode

import h11
from pydantic import Field, JsonValue, StringConstraints, model_validator

from codegate.errors import UsageError
from codegate.http import HttpConnection, HttpRequest
from codegate.strict import Strict, parse_json, printable

SERVICE_PORT: Final = 4181
SERVICE_ENVIRONMENT: Final = {"CODEGATE_SERVICE_URL": f"http://127.0.0.1:{SERVICE_PORT}"}
"""How programs in a sandbox find the service; the address is always the same."""
MAX_CALLS: Final = 1000
MAX_REQUEST_BYTES: Final = 1 << 20
_MOST_SHOWN: Final = 10
_OF_THE_CONNECTION: Final = frozenset({"connection", "content-length", "transfer-encoding", "upgrade"})

_Count = Annotated[int, Field(ge=0, le=MAX_CALLS)]
_HeaderName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,99}$")]
_HeaderValue = Annotated[str, StringConstraints(pattern=r"^[!-~]([ -~]{0,998}[!-~])?$")]


class ServiceCall(Strict):
    """A pattern of HTTP calls to the service."""

    method: Annotated[str, StringConstraints(pattern=r"^[A-Z]{1,20}$")]
    path: Annotated[str, StringConstraints(pattern=r'^/[!"$->@-~]{0,500}$')] = Field(
        description="The whole path as it is sent, percent-encoded, without the query."
    )
    query: dict[str, str] = Field(default={}, description="Parameters of the query; a call may have others too.")
    body: JsonValue = Field(
        default=None,
        description="A text: the whole body. Anything else: JSON that the body has; its objects may have other keys "
        "too. Null: any body.",
    )

    def matches(self, request: HttpRequest, document: object) -> bool:
        """Return whether ``request`` matches this pattern.

        ``document`` is the request's body as JSON.
        """
        if (request.method, request.path) != (self.method, self.path):
            return False
        if not set(self.query.items()) <= set(parse_qsl(request.query, keep_blank_values=True)):
            return False
        if isinstance(self.body, str):
            return request.body == self.body.encode("utf-8", "replace")
        return self.body is None or _includes(document, self.body)


class Answer(Strict):
    """An HTTP answer of the service."""

    status: int = Field(default=200, ge=200, le=599)
    headers: dict[_HeaderName, _HeaderValue] = Field(default={}, description="Further headers, names in lower case.")
    body: JsonValue = Field(default="", description="A text is sent as it is, anything else as JSON.")

    @model_validator(mode="after")
    def _headers_are_free(self) -> "Answer":
        if taken := _OF_THE_CONNECTION.intersection(self.headers):
            message = f"the header {min(taken)!r} is set by codegate"
            raise ValueError(message)
        return self


class Route(ServiceCall):
    """A pattern of calls, and the answers to them.

    The n-th matching call gets the n-th answer; later calls get the last answer.
    """

    answers: tuple[Answer, ...] = Field(default=(Answer(),), min_length=1)


class Expectation(ServiceCall):
    """How often the hidden tests must make matching calls.

    The calls of all test files count together.
    """

    exactly: _Count | None = None
    at_least: _Count | None = None
    at_most: _Count | None = None

    @model_validator(mode="after")
    def _counts(self) -> "Expectation":
        if (self.exactly is None) == (self.at_least is None and self.at_most is None):
            message = "give either `exactly`, or `at_least` or `at_most` or both of these"
            raise ValueError(message)
        return self

    @property
    def count(self) -> str:
        """Return the expected number of calls in words: ``exactly 1``."""
        bounds = {"exactly": self.exactly, "at least": self.at_least, "at most": self.at_most}
        return ", ".join(f"{words} {number}" for words, number in bounds.items() if number is not None)

    @property
    def test(self) -> str:
        """Return the expectation's test id: ``service::POST /charge exactly 1``."""
        query = f"?{urlencode(sorted(self.query.items()))}" if self.query else ""
        body = "" if self.body is None else f" {json.dumps(self.body, sort_keys=True)}"
        return f"service::{self.method} {self.path}{query}{body} {self.count}"

    def is_met(self, calls: int) -> bool:
        """Return whether the number of calls is as expected."""
        if self.exactly is not None:
            return calls == self.exactly
        return (self.at_least or 0) <= calls <= (MAX_CALLS if self.at_most is None else self.at_most)


class Service(Strict):
    """The fake service of a problem at ``CODEGATE_SERVICE_URL``.

    It has the answers to calls, and the calls that the hidden tests must make.
    """

    routes: tuple[Route, ...] = Field(default=(), description="The first that matches answers; 404 if none does.")
    expects: tuple[Expectation, ...] = ()

    @model_validator(mode="after")
    def _no_expectation_twice(self) -> "Service":
        if len(set(self.tests)) != len(self.tests):
            message = "`expects` has the same entry twice"
            raise ValueError(message)
        return self

    @property
    def tests(self) -> tuple[str, ...]:
        """Return the ids of the expectations."""
        return tuple(expectation.test for expectation in self.expects)


class FakeService:
    """The service while tests run; counts calls. Thread-safe."""

    def __init__(self, service: Service) -> None:
        self._service, self._lock = service, threading.Lock()
        self._answered: Counter[int] = Counter()
        self._met: Counter[str] = Counter()
        self._calls: list[str] = []
        self._flooded = False

    def restart(self) -> None:
        """Begin again with each route's first answer; keep the counts."""
        with self._lock:
            self._answered.clear()

    def answer(self, connection: socket.socket) -> None:
        """Serve the HTTP calls on ``connection``, until it ends."""
        http = HttpConnection(connection, MAX_REQUEST_BYTES)
        with contextlib.suppress(h11.ProtocolError):  # the client went away in the middle of an answer
            for request in http.requests():
                with self._lock:
                    answer = self._take(request)
                text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
                kind = "text/plain; charset=utf-8" if text is answer.body else "application/json"
                headers = {"content-type": kind, **answer.headers}
                without = request.method == "HEAD" or answer.status in {204, 304}
                body = b"" if without else text.encode("utf-8", "replace")
                http.reply(answer.status, body, headers.pop("content-type"), headers.items())

    def judge(self) -> dict[str, str]:
        """Return each expectation's failure in words, by test id.

        The text is "" if the expectation is met.
        """
        with self._lock:
            found = dict.fromkeys(self._service.tests, f"the service was called more than {MAX_CALLS} times")
            if not self._flooded:
                more = f", and {len(self._calls) - _MOST_SHOWN} more" if len(self._calls) > _MOST_SHOWN else ""
                calls = "; ".join(self._calls[:_MOST_SHOWN]) + more or "none"
                for each in self._service.expects:
                    got = self._met[each.test]
                    why = f"expected {each.count}, got {got} such calls; all calls: {calls}"
                    found[each.test] = "" if each.is_met(got) else why
            return found

    def _take(self, request: HttpRequest) -> Answer:
        if len(self._calls) >= MAX_CALLS:
            self._flooded = True
            return Answer(status=503, body={"error": f"more than {MAX_CALLS} calls"})
        target = f"{request.path}?{request.query}" if request.query else request.path
        self._calls.append(
            printable(f"{request.method} {target} {request.body[:200].decode('utf-8', 'replace')}".strip())
        )
        document = _document(request.body)
        self._met.update(each.test for each in self._service.expects if each.matches(request, document))
        for number, route in enumerate(self._service.routes):
            if route.matches(request, document):
                self._answered[number] += 1
                return route.answers[min(self._answered[number], len(route.answers)) - 1]
        return Answer(status=404, body={"error": f"the service has no answer to {request.method} {target[:200]}"})


def _document(body: bytes) -> object:
    try:
        return parse_json(body.decode("utf-8"), "the body")
    except (UsageError, UnicodeDecodeError):
        return None


def _includes(whole: Any, part: JsonValue) -> bool:
    """Return whether the JSON ``whole`` includes ``part``.

    Objects in ``whole`` may have more keys; arrays must have equal lengths.
    """
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and _includes(whole[key], part[key]) for key in part)
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(_includes, whole, part))
    return isinstance(whole, bool) == isinstance(part, bool) and bool(whole == part)
