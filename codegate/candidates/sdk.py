"""Common parts of the providers that use an official SDK."""

import contextlib
import importlib
import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, ClassVar, Final

from codegate.candidates.answer import AnswerReader, as_document, token_count
from codegate.candidates.conversation import (
    Completion,
    ListedModel,
    Message,
    ProblemKey,
    ProviderError,
    Sampling,
    ToolSpec,
)
from codegate.candidates.declined import blames_model_maximum, blames_output_limit, error_object, fields_to_drop
from codegate.candidates.endpoint import Endpoint
from codegate.candidates.faults import FaultConverter
from codegate.candidates.protocols import PROTOCOLS, ModelProtocol
from codegate.candidates.protocols.contract import objects_in
from codegate.candidates.snapshots import check_answered
from codegate.candidates.spec import CandidateSpec
from codegate.candidates.wire import CONNECT_SECONDS, Calls, bounded_client
from codegate.errors import CodegateError

LIST_SECONDS: Final = 5.0


@dataclass(frozen=True)
class ForwardedAnswer:
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
        sdk: name of the SDK's module.
        client: class of the SDK's client, by name.
        error: base class of the SDK's errors, by name.
        protocol: name of the protocol that is spoken unless the candidate names another.
        key_attribute: the attribute of the SDK's client that holds the key.
        list_query: parameters of the request for the list of models.
        charges_declined: whether the provider charges for a prompt that it declines as too long.
    """

    sdk: ClassVar[str]
    client: ClassVar[str]
    error: ClassVar[str]
    protocol: ClassVar[str]
    key_attribute: ClassVar[str] = "api_key"
    list_query: ClassVar[Mapping[str, str]] = {}
    charges_declined: ClassVar[bool] = False

    def __init__(self, spec: CandidateSpec, endpoint: Endpoint) -> None:
        sdk = importlib.import_module(self.sdk)  # imported only here, because it is slow
        self._spec, self._protocol = spec, PROTOCOLS[spec.protocol or self.protocol]
        self._key, self._source, self._renewing = endpoint.key, endpoint.source, threading.Lock()
        self._calls = Calls()
        base = getattr(sdk, self.error)
        self._faults = FaultConverter(spec, endpoint, sdk, base, charges_declined=self.charges_declined)
        self._timeout = sdk.Timeout(spec.timeout_seconds, connect=min(CONNECT_SECONDS, spec.timeout_seconds))
        self._client = getattr(sdk, self.client)(
            **self._credentials(endpoint),
            base_url=endpoint.base_url,
            timeout=self._timeout,
            max_retries=0,
            default_headers=spec.headers,
            default_query=spec.query,
            http_client=bounded_client(sdk.DefaultHttpxClient, endpoint, self._timeout),
        )
        # The SDKs would send the headers of OPENAI_CUSTOM_HEADERS and ANTHROPIC_CUSTOM_HEADERS to any address.
        self._client._custom_headers = dict(spec.headers or {})
        self._sends_default_limit = True

    def _credentials(self, endpoint: Endpoint) -> Mapping[str, str | None]:
        return {"api_key": endpoint.key}

    def close(self) -> None:
        """End calls under way and release connections; idempotent."""
        self._calls.close()
        self._client.close()

    def models(self) -> tuple[ListedModel, ...] | None:
        """Return the models that the server lists; see ``ListsModels``."""
        if not hasattr(self._client, "models"):
            return None
        with contextlib.suppress(Exception):  # a server need not have such a list
            pages = self._client.models.with_raw_response
            listed = self._calls.run(lambda: pages.list(extra_query=dict(self.list_query)), LIST_SECONDS)
            document = as_document(listed.http_response.content, self._faults)
            return tuple(
                _listed(entry) for entry in objects_in(document.get("data")) if isinstance(entry.get("id"), str)
            )
        return ()

    def complete(
        self, key: ProblemKey, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], sampling: Sampling
    ) -> Completion:
        """Return the model's next message."""
        del key
        request = {"model": self._spec.model, **self._request(messages, tools, sampling)}
        request |= self._protocol.chosen(sampling, {})
        if sampling.max_output_tokens is not None or self._sends_default_limit or self._protocol.limit_required:
            request[self._protocol.limits[0]] = sampling.output_limit
        return self._answer(self._spec, self._protocol, request, {}, sampling).completion

    def forward(self, protocol: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> ForwardedAnswer:
        """Send an agent's request to the model; return the answer.

        ``ModelProtocol.clean`` has checked the request. ``headers`` are sent beside the SDK's own.

        Raises:
            ProviderError: no usable answer came.
        """
        spoken, spec = PROTOCOLS[protocol], self._spec.candidate_for(request.get("model"))
        answer = self._answer(spec, spoken, dict(request), headers, spec.sampling)
        # If a server echoes the key, the key must not reach the sandbox.
        shown = self._faults.visible(answer.content.decode("utf-8", "replace")).encode()
        if shown:
            self._check_decoded(self._document(spoken, shown, streamed=answer.streamed), answer.completion)
        return replace(answer, content=shown)

    def _check_decoded(self, document: Mapping[str, Any], completion: Completion) -> None:
        """Raise ProviderError if the decoded answer contains the API key.

        In the raw answer the key can be split over pieces of a stream, or escaped in JSON.
        """
        decoded: list[object] = [document]
        for call in completion.tool_calls:
            with contextlib.suppress(ValueError, RecursionError):
                decoded.append(json.loads(call.arguments))
        if any(self._faults.has_key(json.dumps(each, ensure_ascii=False)) for each in decoded):
            raise self._faults.malformed("it holds the API key")

    @abstractmethod
    def _request(
        self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], sampling: Sampling
    ) -> dict[str, Any]:
        """Return a request's conversation, tools and stop texts, as fields."""

    @abstractmethod
    def _send(self, protocol: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        """Send a request in ``protocol`` and return the HTTP response."""

    def _answer(
        self,
        spec: CandidateSpec,
        protocol: ModelProtocol,
        request: dict[str, Any],
        headers: Mapping[str, str],
        sampling: Sampling,
    ) -> ForwardedAnswer:
        """Call the model; return its answer.

        A request that was declined for its prompt gives an answer without text, because a retry would not help. A
        request is sent again if ``_drop_refused_fields`` dropped fields, or once if the key was renewed.
        """
        request = self._spelled(request)
        streamed, renewed = bool(request.get("stream")), False
        given = frozenset(request.keys() - protocol.limits)
        while True:
            content, used, start = b"", self._key, time.monotonic()
            try:
                response = self._calls.run(lambda: self._send(protocol.name, request, headers), spec.timeout_seconds)
                content, seconds = response.content, time.monotonic() - start
                completion = self._read(protocol, request, content, seconds, streamed=streamed)
            except Exception as error:
                fault = error if isinstance(error, ProviderError) else self._faults.of(error, spec.timeout_seconds)
                if fault is None:
                    raise
                declined = fault.stop is not None or fault.fault == "bad_request"
                if declined and self._drop_refused_fields(fault, protocol, request, sampling):
                    continue
                if fault.fault == "authentication" and not renewed and (renewed := self._renew_key(used)):
                    continue
                if fault.stop is None:
                    raise fault from None
                seconds = time.monotonic() - start
                completion = Completion(
                    text=fault.cause,
                    stop_reason=fault.stop,
                    usage=fault.usage,
                    started=time.time() - seconds,
                    seconds=seconds,
                )
            else:
                check_answered(spec, completion)
            return ForwardedAnswer(content, streamed, completion, tuple(sorted(given - request.keys())))

    def _spelled(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the request with field names that the server accepts."""
        return request

    def _read(
        self, protocol: ModelProtocol, request: Mapping[str, Any], content: bytes, seconds: float, *, streamed: bool
    ) -> Completion:
        document = self._document(protocol, content, streamed=streamed)
        if (refused := error_object(document)) is not None:
            raise self._faults.refused(refused[1], refused[0], protocol.usage(document))
        completion = protocol.read(document, AnswerReader(self._faults, content, seconds))
        limit = next((request[name] for name in protocol.limits if name in request), None)
        # Some servers give `stop` as the reason for an answer that their request's limit has truncated.
        filled = isinstance(limit, int) and 0 < limit <= (completion.usage.output_tokens or 0)
        cut = filled and completion.stop_reason == "stop"
        return completion.model_copy(update={"stop_reason": "length"}) if cut else completion

    def _document(self, protocol: ModelProtocol, content: bytes, *, streamed: bool) -> dict[str, Any]:
        if streamed:
            return protocol.assemble(_events(content, self._faults))
        return as_document(content, self._faults)

    def _drop_refused_fields(
        self, fault: ProviderError, protocol: ModelProtocol, request: dict[str, Any], sampling: Sampling
    ) -> bool:
        """Drop refused fields that the user did not choose.

        Returns whether a field was dropped.
        """
        # The user cannot remove a sampling parameter that the agent always sends.
        if refused := [name for name in fields_to_drop(fault.setting, sampling) if name in request]:
            for name in refused:
                del request[name]
            return True
        # The user did not choose the default limit. Without it the model's own, lower maximum holds.
        limit = next((name for name in protocol.limits if name in request), None)
        own = sampling.max_output_tokens is None and not protocol.limit_required
        if limit is None or not own or not blames_output_limit(fault.cause):
            return False
        del request[limit]
        if blames_model_maximum(fault.cause):
            self._sends_default_limit = False
        return True

    def _renew_key(self, refused: str) -> bool:
        """Fetch the key again; return whether it has changed.

        ``refused`` is the key that the provider refused, as it does when a cloud token has expired. From then on the
        client uses the new key.
        """
        with self._renewing, contextlib.suppress(CodegateError):
            if self._source is not None and self._key == refused and (key := self._source()) != refused:
                setattr(self._client, self.key_attribute, key)
                self._key = key
        return self._key != refused


def _listed(entry: Mapping[str, Any]) -> ListedModel:
    (meta,) = objects_in([entry.get("meta")]) or ({},)
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


def _events(content: bytes, faults: FaultConverter) -> list[dict[str, Any]]:
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
