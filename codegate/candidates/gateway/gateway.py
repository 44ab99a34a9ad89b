"""The gateway of one attempt: HTTP from a sandbox in, the candidate's one provider out.

What an agent sends is rebuilt, not forwarded: its protocol's ``clean`` decides what remains, the provider's SDK makes
headers and address anew. Retries, the budget and the journal are those of every model call. A whole answer is read
before the first byte of it goes on: what failed half-way can be tried again.
"""

import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from codegate.candidates.chat import Completion, Message, Usage
from codegate.candidates.gateway.http import HttpConnection, HttpRequest
from codegate.candidates.prices import cost
from codegate.candidates.protocols import PROTOCOLS, RequestRefused
from codegate.candidates.sdk import Forwarded
from codegate.candidates.spec import CandidateSpec
from codegate.durable import digest
from codegate.strict import check_shape

PING_SECONDS: Final = 10.0
_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_BETA: Final = re.compile(r"[A-Za-z0-9._-]{1,80}")
_NOT_PRICED: Final = re.compile(r"context-1m|fast-mode|mcp-client|code-execution|files-api")
"""Betas that have another price, or take things from elsewhere."""


@dataclass(frozen=True)
class AgentLimits:
    """What the model calls of one attempt may come to; None: as much as the run may."""

    calls: int
    tokens: int | None = None
    usd: float | None = None


class Forwards(Protocol):
    """A provider that passes on requests which agents wrote."""

    def forward(self, protocol: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> Forwarded:
        """Return the answer; see ``SdkProvider.forward``."""
        ...


class Keeps(Protocol):
    """Keeps answers by their requests' digests, for an attempt that has to begin again."""

    def take(self, request: str) -> Forwarded | None:
        """Return the next answer that was kept for a request, once; None where there is none."""
        ...

    def keep(self, request: str, answer: Forwarded) -> None:
        """Keep an answer."""
        ...


class Gateway:
    """Answers one agent's model calls. Thread-safe: an agent may make several at once.

    Args:
        candidate: whose model is called.
        protocol: the one that is open, of ``codegate.candidates.protocols``.
        provider: the candidate's.
        call: makes a model call, given its request's bytes: retries, budget and journal.
        limits: of the attempt.
        end: ends the agent; called when nothing that it asks can be answered any more.
        paid: answers that were paid for before; they count, and cost nothing.

    Attributes:
        failure: what ended the calls, if it was no limit of the attempt.
        limited: which limit ended them: ``calls``, ``tokens`` or ``usd``.
        refused: how often something else was asked for than the protocol's own call, by what.
        completions: the answers, in order.
    """

    def __init__(
        self,
        candidate: CandidateSpec,
        protocol: str,
        provider: Forwards,
        call: Callable[[Callable[[], Completion], int], Completion],
        limits: AgentLimits,
        end: Callable[[], None],
        paid: Keeps,
    ) -> None:
        self._candidate, self._protocol, self._provider = candidate, PROTOCOLS[protocol], provider
        self._call, self._limits, self._end, self._paid = call, limits, end, paid
        self._lock = threading.Lock()
        self._begun = 0
        self._conversation: tuple[Message, ...] = ()
        self.failure: Exception | None = None
        self.limited: str | None = None
        self.refused: Counter[str] = Counter()
        self.completions: list[Completion] = []

    @property
    def usage(self) -> Usage:
        """Return the tokens of all calls."""
        return sum((each.usage for each in self.completions), Usage(input_tokens=0, output_tokens=0, cached_tokens=0))

    @property
    def conversation(self) -> tuple[Message, ...]:
        """Return the longest conversation, its last answer included: an agent's own, not that of its helpers."""
        return self._conversation

    def answer(self, connection: socket.socket) -> None:
        """Answer everything that comes over ``connection``, until it ends."""
        http = HttpConnection(connection)
        for request in http.requests():
            self._answer(http, request)

    def _answer(self, http: HttpConnection, request: HttpRequest) -> None:
        if request.method == "POST" and request.path == f"/v1{self._protocol.path}":
            self._answer_call(http, request)
        elif request.method == "HEAD" and request.path == "/":
            http.reply(200, b"", _JSON)
        elif request.method == "GET" and request.path == "/v1/models":
            model = {"id": self._candidate.model, "object": "model", "type": "model"}
            http.reply(200, _dumped({"object": "list", "data": [model]}), _JSON)
        elif request.method == "POST" and request.path == f"/v1{self._protocol.path}/count_tokens":
            http.reply(200, _dumped({"input_tokens": len(request.body) // 4}), _JSON)
        else:
            upgrade = "upgrade" in request.headers
            self._refuse(http, 426 if upgrade else 404, "another address", "there is nothing else here than the model")

    def _answer_call(self, http: HttpConnection, request: HttpRequest) -> None:
        try:
            asked = _document(request)
            cleaned = self._protocol.clean(asked, self._candidate.model, self._candidate.sampling)
        except RequestRefused as refusal:
            self._refuse(http, 400, "a request that is not allowed", str(refusal))
            return
        if not self._begin():
            self._refuse(http, 400, "a call over a limit", f"the limit of {self.limited or 'this run'} is reached")
            self._end()
            return
        betas = [beta for beta in request.headers.get("anthropic-beta", "").replace(" ", "").split(",") if _sent(beta)]
        headers = {"anthropic-beta": ",".join(betas)} if betas else {}
        waiting = _Waiting(lambda: self._make(asked, cleaned, headers))
        begun = False
        while not waiting.done(PING_SECONDS):
            if cleaned.get("stream"):
                if not begun:
                    http.begin(_EVENTS)
                    begun = True
                http.send(self._protocol.ping)
        self._reply(http, waiting.result, begun=begun)

    def _reply(self, http: HttpConnection, forwarded: Forwarded | None, *, begun: bool) -> None:
        """Send what came of a call; None: it failed, which ends the agent."""
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

    def _begin(self) -> bool:
        """Count a call; return whether it may be made."""
        with self._lock:
            if self.failure is not None or self.limited is not None:
                return False
            used = self.usage
            dollars = cost(used, self._candidate.prices)
            if self._begun >= self._limits.calls:
                self.limited = "calls"
            elif self._limits.tokens is not None and _total(used) >= self._limits.tokens:
                self.limited = "tokens"
            elif self._limits.usd is not None and dollars is not None and dollars >= self._limits.usd:
                self.limited = "usd"
            else:
                self._begun += 1
            return self.limited is None

    def _make(
        self, asked: Mapping[str, Any], cleaned: Mapping[str, Any], headers: Mapping[str, str]
    ) -> Forwarded | None:
        answers: list[Forwarded] = []
        request = digest(_dumped(cleaned).decode())

        def once() -> Completion:
            answers.append(self._provider.forward(self._protocol.name, cleaned, headers))
            return answers[-1].completion

        try:
            if (kept := self._paid.take(request)) is not None:
                answers.append(kept)
            else:
                self._call(once, len(_dumped(cleaned)))
                self._paid.keep(request, answers[-1])
        except Exception as error:
            with self._lock:
                self.failure = self.failure or error
            return None
        completion = answers[-1].completion
        said = Message(role="assistant", text=completion.text, tool_calls=completion.tool_calls)
        conversation = (*self._protocol.conversation(asked), said)
        with self._lock:
            self.completions.append(completion)
            if len(conversation) >= len(self._conversation):
                self._conversation = conversation
        return answers[-1]

    def _refuse(self, http: HttpConnection, status: int, what: str, message: str) -> None:
        with self._lock:
            self.refused[what] += 1
        http.reply(status, self._error(message), _JSON)

    def _error(self, message: str) -> bytes:
        return _dumped(self._protocol.error(message))


class _Waiting:
    """A call that is made in a thread of its own."""

    def __init__(self, action: Callable[[], Forwarded | None]) -> None:
        self.result: Forwarded | None = None
        self._action = action
        self._thread = threading.Thread(target=self._run, name="codegate-gateway", daemon=True)
        self._thread.start()

    def done(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        self.result = self._action()


def _document(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object of a request's body; raises RequestRefused."""
    try:
        text = request.body.decode("utf-8")
        check_shape(text)
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        message = "the body is no JSON object in UTF-8"
        raise RequestRefused(message)
    return document


def _sent(beta: str) -> bool:
    return bool(_BETA.fullmatch(beta)) and not _NOT_PRICED.search(beta)


def _total(usage: Usage) -> int:
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)


def _dumped(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
