"""What the providers behind an official SDK share: the client, one call, and requests that agents wrote."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from codegate.candidates.answer import AnswerReader, as_document, call_model
from codegate.candidates.chat import Completion
from codegate.candidates.declined import blames_output_limit, error_object
from codegate.candidates.endpoint import Endpoint
from codegate.candidates.protocols import PROTOCOLS, ModelProtocol
from codegate.candidates.spec import CandidateSpec
from codegate.candidates.wire import CONNECT_SECONDS, Calls, Faults, SdkErrors, bounded_client


@dataclass(frozen=True)
class Forwarded:
    """A server's answer as it came, and what it says.

    Attributes:
        content: the answer's bytes; empty where the provider declined the request for its content.
        streamed: they are server-sent events, as the request asked.
        completion: what the answer says.
    """

    content: bytes
    streamed: bool
    completion: Completion


class SdkProvider(ABC):
    """Base of the providers behind an SDK. Thread-safe; one ``complete`` is one accepted HTTP request.

    Args:
        spec: the candidate.
        endpoint: its address and key.
        sdk: the SDK's module; ``client`` is its client's class and ``base`` that of its errors.
    """

    def __init__(self, spec: CandidateSpec, endpoint: Endpoint, sdk: Any, client: Any, base: type[Exception]) -> None:
        self._spec = spec
        self._calls = Calls()
        errors = SdkErrors(sdk.APIStatusError, sdk.APITimeoutError, sdk.APIConnectionError, base)
        self._faults = Faults(spec.provider, spec.model, endpoint, errors)
        self._timeout = sdk.Timeout(spec.timeout_seconds, connect=min(CONNECT_SECONDS, spec.timeout_seconds))
        self._client = client(
            api_key=endpoint.key,
            base_url=endpoint.base_url,
            timeout=self._timeout,
            max_retries=0,
            http_client=bounded_client(sdk.DefaultHttpxClient, endpoint, self._timeout),
        )

    def close(self) -> None:
        """Cut calls under way and release connections; idempotent."""
        self._calls.close()
        self._client.close()

    def forward(self, protocol: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> Forwarded:
        """Return the answer to a request that an agent wrote and a protocol's ``clean`` let pass.

        Raises:
            ProviderError: no usable answer came.
        """
        spoken, request = PROTOCOLS[protocol], dict(request)
        content, streamed = b"", bool(request.get("stream"))

        def send() -> bytes:
            nonlocal content
            content = self._send(protocol, request, headers)
            return content

        def relax(refusal: str) -> bool:
            # The limit is ours where the agent set none: without it the model's own, lower maximum holds.
            limit = next((name for name in spoken.limits if name in request), None)
            own = self._spec.sampling.max_output_tokens is None and not spoken.limit_required
            if limit is None or not own or not blames_output_limit(refusal):
                return False
            del request[limit]
            return True

        completion = self._answer(spoken, send, relax, streamed=streamed)
        # A server that echoes the key must not tell it to the sandbox.
        shown = self._faults.visible(content.decode("utf-8", "replace")).encode()
        return Forwarded(shown, streamed, completion)

    @abstractmethod
    def _send(self, protocol: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> bytes:
        """Send a request in ``protocol`` and return the answer's bytes."""

    def _answer(
        self,
        protocol: ModelProtocol,
        send: Callable[[], bytes],
        relax: Callable[[str], bool],
        *,
        streamed: bool = False,
    ) -> Completion:
        """Return what the answer to ``send`` says; see ``call_model``."""

        def read(content: bytes, seconds: float) -> Completion:
            faults = self._faults
            document = protocol.assemble(_events(content, faults)) if streamed else as_document(content, faults)
            if (refused := error_object(document)) is not None:
                raise faults.refused(refused[1], refused[0])
            return protocol.read(document, AnswerReader(faults, content, seconds))

        return call_model(self._spec, self._calls, self._faults, send, read, relax)


def _events(content: bytes, faults: Faults) -> list[dict[str, Any]]:
    """Return the JSON objects of server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html.

    Raises:
        ProviderError: ``malformed``.
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
