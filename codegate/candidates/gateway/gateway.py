"""The gateway of one attempt, from sandbox to model provider.

A request of the agent is rebuilt, not forwarded: its protocol's ``clean`` decides which fields remain, and the
provider's SDK makes headers and address anew. Retries, budget and journal are the same as for every model call. An
answer is read to its end before its first byte is passed on, so that a call that fails half-way can be repeated.
"""

import contextlib
import json
import math
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeAlias

import h11

from codegate.candidates.conversation import Completion, Message, ProviderError, ProviderFault, Usage
from codegate.candidates.gateway.meter import AgentLimits, LimitReached, Meter
from codegate.candidates.gateway.paid import PaidAnswers
from codegate.candidates.protocols import PROTOCOLS, RequestRefused
from codegate.candidates.sdk import ForwardedAnswer
from codegate.candidates.spec import CandidateSpec
from codegate.errors import UsageError
from codegate.http import MAX_BODY_BYTES, BodyBudget, HttpConnection, HttpRequest
from codegate.strict import parse_json, printable

PING_SECONDS: Final = 10.0
_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_BETA: Final = re.compile(r"(?!context-1m-)[a-z0-9][a-z0-9-]{0,63}")
"""Names of betas that are passed on; the fields that they allow are checked separately. ``context-1m`` is refused,
because it has another price."""
_MOST_BODY_BYTES: Final = 2 * MAX_BODY_BYTES
"""Most bytes of all requests in progress together. Checking a request takes several times its size in memory."""
_MOST_BETAS: Final = 50
_MOST_REASONS: Final = 50
"""Most names of refused things that have their own count."""
_OVER: Final = "a call over a limit"

MakeCall: TypeAlias = Callable[[Callable[[], Completion], int, Callable[[], None]], Completion]
"""Makes a model call with retries, budget and journal.

The arguments are: the function that sends the request, the request's size in bytes, and a function that is called
before each try. An error of the last function ends the call unsent.
"""


def read_document(request: HttpRequest) -> dict[str, Any]:
    """Return a request's JSON object, without lone surrogates.

    Raises:
        RequestRefused: the body is no JSON object in UTF-8.
    """
    try:
        document = parse_json(request.body.decode("utf-8"), "the body")
        text = json.dumps(document, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        document = json.loads(text)
    except (UsageError, ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise RequestRefused("the body is no JSON object in UTF-8")
    return document


def _texts_in(value: object) -> Iterator[str]:
    """Yield all texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(one)


class ForwardingProvider(Protocol):
    """A provider that can forward agents' requests."""

    def forward(self, protocol: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> ForwardedAnswer:
        """Send an agent's request to the model; return the answer."""
        ...


class Gateway:
    """Answers the model calls of one attempt's agent; thread-safe.

    Args:
        candidate: the candidate whose model is called.
        protocol: name of the one protocol that the gateway speaks.
        provider: the candidate's provider.
        call: makes a model call.
        limits: the attempt's limits.
        end: ends the agent; called when no further request can be answered.
        paid: answers and dollars of an earlier start of the attempt. These answers count against the limits, but cost
            nothing again.
        parts: by name of a harness part, the pattern of a request's line that shows its use.

    Attributes:
        failure: the error that ended the calls; None if a limit of the attempt ended them.
        refused: how often a request, tool or field did not reach the model, by a text that may quote the agent.
        completions: the answers, in order.
        conversation: the longest conversation with the candidate's own model, with the last answer.
        used: names of the ``parts`` that requests have shown to be used.
    """

    def __init__(
        self,
        candidate: CandidateSpec,
        protocol: str,
        provider: ForwardingProvider,
        call: MakeCall,
        limits: AgentLimits,
        end: Callable[[], None],
        paid: PaidAnswers,
        parts: Mapping[str, str] | None = None,
    ) -> None:
        self._candidate, self._protocol, self._provider = candidate, PROTOCOLS[protocol], provider
        self._call, self._end, self._paid = call, end, paid
        self._meter = Meter(candidate, limits, paid)
        self._lock = threading.Lock()
        self._room = BodyBudget(_MOST_BODY_BYTES)
        self.conversation: tuple[Message, ...] = ()
        self.failure: Exception | None = None
        self._closed = False
        self._calls: list[_Timed] = []
        self.refused: Counter[str] = Counter()
        self.completions: list[Completion] = []
        self._unwanted: dict[str, set[str]] = {}  # fields that each model has refused
        self._parts = {name: re.compile(pattern, re.MULTILINE) for name, pattern in (parts or {}).items()}
        self.used: set[str] = set()

    @property
    def limited(self) -> str | None:
        """Return the reached limit (``calls``, ``tokens`` or ``usd``), or None."""
        return self._meter.reached

    @property
    def called(self) -> bool:
        """Return whether the agent has made any model call."""
        return bool(self._calls) or self.limited is not None

    def seconds(self) -> tuple[float, float]:
        """Return the seconds of all calls, and of their waiting.

        Calls at the same time count once. The calls are waiting while no model answers, for example between retries.
        While the candidate's own model is called, answers of helper models do not count.
        """
        now = time.monotonic()
        calls = [(call.own, call.begun, call.sent, call.ended or now) for call in list(self._calls)]
        whole = _union_length((begun, ended) for _, begun, _, ended in calls)
        own = [(begun, ended) for is_own, begun, _, ended in calls if is_own]
        answered = [(sent, ended) for is_own, _, sent, ended in calls if is_own and sent is not None]
        helped = [(sent, ended) for is_own, _, sent, ended in calls if not is_own and sent is not None]
        return whole, _union_length(own) - _union_length(answered) + whole - _union_length(own + helped)

    def close(self) -> None:
        """Send no further request, because the agent has ended.

        Answers that still arrive are recorded only if ``failure`` is set, because the attempt's next start can use
        them.
        """
        with self._lock:
            self._closed = True

    def answer(self, connection: socket.socket) -> None:
        """Serve the HTTP requests on ``connection`` until it ends."""
        http = HttpConnection(connection, room=self._room)
        with contextlib.suppress(h11.ProtocolError):  # the client went away in the middle of an answer
            for request in http.requests():
                self._answer(http, request)

    def _answer(self, http: HttpConnection, request: HttpRequest) -> None:
        if request.method == "POST" and request.path == f"/v1{self._protocol.path}":
            self._answer_call(http, request)
        elif request.method == "HEAD":
            http.reply(200 if request.path == "/" else 404, b"", _JSON)
        elif request.method == "GET" and request.path == "/v1/models":
            each = (self._candidate, *self._candidate.helpers)
            models = [{"id": one.model, "object": "model", "type": "model"} for one in each]
            http.reply(200, _dumped({"object": "list", "data": models}), _JSON)
        elif request.method == "POST" and request.path == f"/v1{self._protocol.path}/count_tokens":
            http.reply(200, _dumped({"input_tokens": len(request.body) // 4}), _JSON)
        else:
            upgrade = "upgrade" in request.headers
            self._refuse(http, 426 if upgrade else 404, "another address", "there is nothing else here than the model")

    def _answer_call(self, http: HttpConnection, request: HttpRequest) -> None:
        try:
            asked = read_document(request)
            spec = self._candidate.candidate_for(asked.get("model"))
            cleaned = self._protocol.clean(asked, spec.model, spec.sampling)
        except RequestRefused as refusal:
            self._refuse(http, 400, f"a request: {refusal}", str(refusal))
            return
        sent, body = cleaned.request, _dumped(cleaned.request)
        if self.failure is not None or not self._meter.admit():
            self._refuse(http, 400, _OVER, f"the limit of {self.limited or 'this run'} is reached")
            self._end()
            return
        for name in cleaned.dropped:
            self._count(name)
        texts = "\n".join(_texts_in(sent)) if self._parts.keys() - self.used else ""
        self.used.update(name for name, pattern in self._parts.items() if pattern.search(texts))
        betas = list(filter(_BETA.fullmatch, request.headers.get("anthropic-beta", "").replace(" ", "").split(",")))
        headers = {"anthropic-beta": ",".join(betas[:_MOST_BETAS])} if betas else {}
        made: list[ForwardedAnswer | None] = []
        thread = threading.Thread(
            target=lambda: made.append(self._make(asked, sent, headers, body)), name="codegate-gateway", daemon=True
        )
        thread.start()
        thread.join(PING_SECONDS)
        begun = False
        while thread.is_alive():
            if sent.get("stream"):
                if not begun:
                    http.begin(_EVENTS)
                    begun = True
                http.send(self._protocol.ping)
            thread.join(PING_SECONDS)
        self._reply(http, made[0] if made else None, begun=begun)

    def _reply(self, http: HttpConnection, forwarded: ForwardedAnswer | None, *, begun: bool) -> None:
        """Send an answer to the agent; None ends the agent.

        ``begun``: the start of a stream of events was already sent.
        """
        if forwarded is None:
            status, body, kind = 400, self._error("the model cannot be called any more"), _JSON
        elif not forwarded.content:
            status, body, kind = 400, self._error(forwarded.completion.text), _JSON
        else:
            status, body, kind = 200, forwarded.content, _EVENTS if forwarded.streamed else _JSON
        if begun:
            http.send(body if kind == _EVENTS else b"event: error\ndata: " + body + b"\n\n")
            http.finish()
        else:
            http.reply(status, body, kind)
        if forwarded is None:
            self._end()

    def _make(
        self, asked: Mapping[str, Any], cleaned: Mapping[str, Any], headers: Mapping[str, str], body: bytes
    ) -> ForwardedAnswer | None:
        answers: list[ForwardedAnswer] = []
        model = cleaned["model"]
        timed = _Timed(own=model == self._candidate.model)
        unwanted = self._unwanted.setdefault(model, set())
        self._calls.append(timed)

        def with_helper(usage: Usage) -> Usage:
            return usage if timed.own else usage.model_copy(update={"helpers": {model: usage}})

        def once() -> Completion:
            timed.sent = time.monotonic()
            sent = {name: value for name, value in cleaned.items() if name not in unwanted}
            try:
                answer = self._provider.forward(self._protocol.name, sent, headers)
            except ProviderError as error:
                timed.sent = None
                error.usage = with_helper(error.usage)
                self._settle(len(body), error.usage, error.fault)
                raise
            completion = answer.completion.model_copy(update={"usage": with_helper(answer.completion.usage)})
            answers.append(replace(answer, completion=completion))
            self._settle(len(body), completion.usage)
            unwanted.update(answer.without)
            for name in unwanted & cleaned.keys():
                self._count(f"the setting {name}, which the model does not take")
            return completion

        try:
            turn = self._protocol.turn(asked, cleaned)
            if (kept := self._paid.take(turn)) is not None:
                answers.append(kept)
                self._meter.take(len(body), kept.completion.usage)
            else:
                self._call(once, len(body), lambda: self._begin(len(body)))
                # Redacted outside of the lock, because it takes long and other calls wait for the lock.
                prepared = self._paid.prepare(turn, answers[-1])
                with self._lock:
                    if self._records:
                        self._paid.keep(prepared)
            completion = answers[-1].completion
            answer = Message(role="assistant", text=completion.text, tool_calls=completion.tool_calls)
            conversation = (*self._protocol.conversation(asked), answer)
        except LimitReached:
            self._count(_OVER)
            return None
        except Exception as error:
            declined = _declined(error)
            with self._lock:
                if declined is None or not self.completions:
                    declined, self.failure = None, self.failure or (None if self._closed else error)
            if declined is not None:
                self._count("a request that the provider declined")
            return declined
        finally:
            timed.ended = time.monotonic()
        with self._lock:
            if not self._closed:
                self.completions.append(completion)
                if len(conversation) >= len(self.conversation) and timed.own:
                    self.conversation = conversation
        return answers[-1]

    def _begin(self, request_bytes: int) -> None:
        with self._lock:
            if self._closed or self.failure is not None:
                raise LimitReached
            self._meter.begin(request_bytes)

    def _settle(self, request_bytes: int, usage: Usage, failed: ProviderFault | None = None) -> None:
        with self._lock:
            if self._records:
                self._meter.settle(request_bytes, usage, failed)

    @property
    def _records(self) -> bool:
        # Once an attempt is written, no file with its paid answers may be left.
        return not self._closed or self.failure is not None

    def _refuse(self, http: HttpConnection, status: int, what: str, message: str) -> None:
        self._count(what)
        http.reply(status, self._error(message), _JSON)

    def _count(self, what: str) -> None:
        name = printable(what)
        with self._lock:
            known = name in self.refused or len(self.refused) < _MOST_REASONS
            if not self._closed:
                self.refused[name if known else "something else"] += 1

    def _error(self, message: str) -> bytes:
        return _dumped(self._protocol.error(message))


@dataclass
class _Timed:
    own: bool
    begun: float = field(default_factory=time.monotonic)
    sent: float | None = None
    ended: float | None = None


def _union_length(spans: Iterable[tuple[float, float]]) -> float:
    length, reached = 0.0, -math.inf
    for begin, end in sorted(spans):
        length += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return length


def _declined(error: Exception) -> ForwardedAnswer | None:
    """Return an empty answer for a declined request, else None."""
    fault = error if isinstance(error, ProviderError) else error.__cause__
    if not isinstance(fault, ProviderError) or fault.fault != "bad_request":
        return None
    return ForwardedAnswer(b"", streamed=False, completion=Completion(text=fault.cause))


def _dumped(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
