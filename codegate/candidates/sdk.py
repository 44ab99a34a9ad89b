"""Common parts of the providers that use an official SDK."""

import contextlib
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, ClassVar, Final

from codegate.candidates.answer import AnswerReader, as_document, call_model, token_count
from codegate.candidates.conversation import Completion, ListedModel, ProviderError
from codegate.candidates.declined import blames_output_limit, error_object, fields_to_drop
from codegate.candidates.endpoint import Endpoint
from codegate.candidates.faults import Faults, SdkErrors
from codegate.candidates.protocols import PROTOCOLS, ModelProtocol
from codegate.candidates.protocols.contract import dicts
from codegate.candidates.spec import CandidateSpec
from codegate.candidates.wire import CONNECT_SECONDS, Calls, bounded_client
from codegate.errors import CodegateError

LIST_SECONDS: Final = 5.0


@dataclass(frozen=True)
class Forwarded:
    """A provider's answer to a request that an agent sent.

    Attributes:
        content: the answer's bytes; empty if the provider declined the request for its content.
        streamed: whether the bytes are server-sent events, as the request asked.
        completion: the answer, parsed.
        without: fields of the request that the model refused and that were left out.
    """

    content: bytes
    streamed: bool
    completion: Completion
    without: tuple[str, ...] = ()


class SdkProvider(ABC):
    """Base of all providers that use an SDK; thread-safe.

    Attributes:
        key_attribute: the attribute of the SDK's client that holds the key.
        list_query: parameters of the request for the list of models.
        charges_declined: whether the provider charges for a prompt that it declines as too long.

    Args:
        spec: the candidate.
        endpoint: its address and key.
        sdk: the SDK's module.
        client: class of the SDK's client.
        base: base class of the SDK's errors.
        credentials: the client's arguments in place of ``api_key``.
    """

    key_attribute: ClassVar[str] = "api_key"
    list_query: ClassVar[Mapping[str, str]] = {}
    charges_declined: ClassVar[bool] = False

    def __init__(
        self,
        spec: CandidateSpec,
        endpoint: Endpoint,
        sdk: Any,
        client: Any,
        base: type[Exception],
        credentials: Mapping[str, str | None] | None = None,
    ) -> None:
        self._spec = spec
        self._key, self._source, self._renewing = endpoint.key, endpoint.source, threading.Lock()
        self._calls = Calls()
        errors = SdkErrors(sdk.APIStatusError, sdk.APITimeoutError, sdk.APIConnectionError, base)
        self._faults = Faults(spec.provider, spec.model, endpoint, errors, charges_declined=self.charges_declined)
        self._timeout = sdk.Timeout(spec.timeout_seconds, connect=min(CONNECT_SECONDS, spec.timeout_seconds))
        self._client = client(
            **(credentials or {"api_key": endpoint.key}),
            base_url=endpoint.base_url,
            timeout=self._timeout,
            max_retries=0,
            default_headers=spec.headers,
            default_query=spec.query,
            http_client=bounded_client(sdk.DefaultHttpxClient, endpoint, self._timeout),
        )
        # The SDKs add the headers of OPENAI_CUSTOM_HEADERS and ANTHROPIC_CUSTOM_HEADERS, whatever address they talk to.
        self._client._custom_headers = dict(spec.headers or {})

    def close(self) -> None:
        """Cut calls under way and release connections; idempotent."""
        self._calls.close()
        self._client.close()

    def models(self) -> tuple[ListedModel, ...] | None:
        """Return the server's list of models, within seconds.

        None if the server has no list; empty if the list does not come.
        """
        if not hasattr(self._client, "models"):
            return None
        with contextlib.suppress(Exception):  # a server without such a list is as good as one that has it
            pages = self._client.models.with_raw_response
            listed = self._calls.run(lambda: pages.list(extra_query=dict(self.list_query)), LIST_SECONDS)
            document = as_document(listed.http_response.content, self._faults)
            return tuple(_listed(entry) for entry in dicts(document.get("data")) if isinstance(entry.get("id"), str))
        return ()

    def forward(self, protocol: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> Forwarded:
        """Send an agent's request to the model; return the answer.

        ``ModelProtocol.clean`` has checked the request. ``headers`` are sent beside the SDK's own.

        Raises:
            ProviderError: no usable answer came.
        """
        spoken, request = PROTOCOLS[protocol], dict(request)
        spec = self._spec.candidate_for(request.get("model"))
        content, streamed = b"", bool(request.get("stream"))
        without: list[str] = []

        def send() -> Any:
            nonlocal content
            response = self._send(protocol, request, headers)
            content = response.content
            return response

        def relax(fault: ProviderError) -> bool:
            # A sampling parameter that the agent always sends is not the user's to remove.
            refused = [name for name in fields_to_drop(fault.setting, spec.sampling) if name in request]
            for name in refused:
                del request[name]
            without.extend(refused)
            if refused:
                return True
            # The limit is ours where the agent set none: without it the model's own, lower maximum holds.
            limit = next((name for name in spoken.limits if name in request), None)
            own = spec.sampling.max_output_tokens is None and not spoken.limit_required
            if limit is None or not own or not blames_output_limit(fault.cause):
                return False
            del request[limit]
            return True

        completion = self._answer(spoken, request, send, relax, spec, streamed=streamed)
        # A server that echoes the key must not pass it to the sandbox.
        shown = self._faults.visible(content.decode("utf-8", "replace")).encode()
        if shown:
            document = spoken.assemble(_events(shown, self._faults)) if streamed else as_document(shown, self._faults)
            self._check_decoded(document, completion)
        return Forwarded(shown, streamed, completion, tuple(without))

    def _check_decoded(self, document: Mapping[str, Any], completion: Completion) -> None:
        """Raise ProviderError if the decoded answer contains the API key.

        The key may be split over pieces of a stream, or escaped in JSON.
        """
        decoded: list[object] = [document]
        for call in completion.tool_calls:
            with contextlib.suppress(ValueError, RecursionError):
                decoded.append(json.loads(call.arguments))
        if any(self._faults.has_key(json.dumps(each, ensure_ascii=False)) for each in decoded):
            raise self._faults.malformed("it holds the API key")

    @abstractmethod
    def _send(self, protocol: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        """Send a request in ``protocol`` and return the HTTP response."""

    def _answer(
        self,
        protocol: ModelProtocol,
        request: Mapping[str, Any],
        send: Callable[[], Any],
        relax: Callable[[ProviderError], bool],
        spec: CandidateSpec | None = None,
        *,
        streamed: bool = False,
    ) -> Completion:
        """Call the model, once more if the key was renewed.

        ``send`` makes the request. ``relax`` is given the fault of a declined one and returns whether it changed what
        ``send`` sends. ``spec`` is by default the provider's candidate; ``streamed``: the answer is a stream of events.
        """

        def read(content: bytes, seconds: float) -> Completion:
            faults = self._faults
            document = protocol.assemble(_events(content, faults)) if streamed else as_document(content, faults)
            if (refused := error_object(document)) is not None:
                raise faults.refused(refused[1], refused[0], protocol.usage(document))
            completion = protocol.read(document, AnswerReader(faults, content, seconds))
            limit = next((request[name] for name in protocol.limits if name in request), None)
            # Some servers give `stop` as the reason for an answer that their request's limit has truncated.
            if completion.stop_reason == "stop" and isinstance(limit, int) and limit > 0:
                cut = (completion.usage.output_tokens or 0) >= limit
                return completion.model_copy(update={"stop_reason": "length"}) if cut else completion
            return completion

        used = self._key
        try:
            return call_model(spec or self._spec, self._calls, self._faults, send, read, relax)
        except ProviderError as fault:
            if fault.fault != "authentication" or not self._has_renewed(used):
                raise
        return call_model(spec or self._spec, self._calls, self._faults, send, read, relax)

    def _has_renewed(self, refused: str) -> bool:
        """Fetch the key again; return whether it has changed.

        ``refused`` is the key that the provider refused. Cloud tokens expire hourly. The client uses the new key from
        then on.
        """
        with self._renewing, contextlib.suppress(CodegateError):
            if self._source is not None and self._key == refused and (key := self._source()) != refused:
                setattr(self._client, self.key_attribute, key)
                self._key = key
        return self._key != refused


def _listed(entry: Mapping[str, Any]) -> ListedModel:
    (meta,) = dicts([entry.get("meta")]) or ({},)
    contexts = (entry.get("max_model_len"), meta.get("n_ctx"), meta.get("n_ctx_train"))
    return ListedModel(
        id=entry["id"],
        created=_day(entry.get("created_at")) or _day_of(entry.get("created")),
        ends=next((day for day in map(_day, (entry.get("shutdown_date"), entry.get("retires_at"))) if day), None),
        context=next((found for found in map(token_count, contexts) if found), None),
    )


def _day(value: object) -> date | None:
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None


def _day_of(seconds: object) -> date | None:
    if type(seconds) is not int or not 1 < seconds < 1 << 33:
        return None
    return datetime.fromtimestamp(seconds, UTC).date()


def _events(content: bytes, faults: Faults) -> list[dict[str, Any]]:
    """Return the JSON objects in server-sent events.

    https://html.spec.whatwg.org/multipage/server-sent-events.html

    Raises:
        ProviderError: ``malformed``: there are no events, or an event is no JSON object.
    """
    found = []
    for block in content.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = [line.removeprefix(b"data:").strip() for line in block.split(b"\n") if line.startswith(b"data:")]
        data = b"\n".join(lines)
        if data and data != b"[DONE]":
            found.append(as_document(data, faults))
    if not found:
        raise faults.malformed("it holds no events", content)
    return found
