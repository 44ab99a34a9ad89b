"""The common form of conversations, and the interface of providers."""

import operator
from collections.abc import Callable, Mapping
from datetime import date
from typing import Annotated, Any, Final, Literal, Protocol, runtime_checkable

from pydantic import Field, StringConstraints, model_validator

from codegate.errors import ExitCode, InfrastructureError
from codegate.strict import Strict

DEFAULT_OUTPUT_TOKENS: Final = 32_000
"""Output limit of a candidate that sets none: enough for a reasoning model, and accepted by all of Anthropic's models
since 2025, for which a limit is required."""


class Sampling(Strict):
    """Sampling parameters of a model; unset ones are not sent.

    Only the output limit has a default.
    """

    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_output_tokens: int | None = Field(
        default=None,
        ge=1,
        le=200_000,
        description=f"Most tokens of one answer, reasoning included; default: {DEFAULT_OUTPUT_TOKENS}, or the model's "
        "own maximum where that is lower.",
    )
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    stop: tuple[Annotated[str, StringConstraints(min_length=1, max_length=100)], ...] | None = Field(
        default=None, min_length=1, max_length=4, description="Texts before which an answer ends."
    )
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = Field(
        default=None, description="How much the model reasons; each model has some of these."
    )
    thinking: Literal["adaptive", "disabled"] | Annotated[int, Field(ge=1024)] | None = Field(
        default=None, description="Extended thinking of Anthropic's models: a budget in tokens, or when they think."
    )

    @model_validator(mode="after")
    def _thinking_leaves_room(self) -> "Sampling":
        if isinstance(self.thinking, int) and self.thinking >= self.output_limit:
            raise ValueError(f"`thinking` has to be below the output limit, which is {self.output_limit} tokens")
        return self

    @property
    def output_limit(self) -> int:
        """Return the limit of output tokens for one answer."""
        return self.max_output_tokens or DEFAULT_OUTPUT_TOKENS


class ToolSpec(Strict):
    """A tool of the model; ``parameters`` is a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolCall(Strict):
    """A tool call; ``arguments`` is raw JSON text, unchecked."""

    id: str
    name: str
    arguments: str


class Message(Strict):
    """One message of a conversation.

    A message with the role ``tool`` answers the call ``tool_call_id``. ``reasoning`` is signed or encrypted data that
    must be sent back unchanged in the next request; transcripts leave it out.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    reasoning: tuple[dict[str, Any], ...] = Field(default=(), exclude=True, repr=False)


class Usage(Strict):
    """Tokens of one or more calls; None: not reported.

    Attributes:
        input_tokens: all input tokens.
        cached_tokens: input tokens that were read from a cache; in a sum, those of the calls that reported any.
        written_tokens: input tokens written to a cache at a separate price, which few APIs have.
        reasoning_tokens: output tokens that the model reasoned with.
        helpers: the part of all these counts that other models than the candidate's used, by model name.
    """

    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    cached_tokens: int | None = Field(default=None, ge=0)
    written_tokens: int | None = Field(default=0, ge=0)
    reasoning_tokens: int | None = Field(default=None, ge=0)
    helpers: Mapping[str, "Usage"] = Field(default={}, exclude_if=lambda helpers: not helpers)

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum; except for cached tokens, None stays None."""
        helpers = dict(self.helpers)
        for model, usage in other.helpers.items():
            helpers[model] = helpers[model] + usage if model in helpers else usage
        fields = self._fields(other, operator.add)
        if cached := [one.cached_tokens for one in (self, other) if one.cached_tokens is not None]:
            fields["cached_tokens"] = sum(cached)  # Gemini leaves the count out where it is 0
        return Usage(**fields, helpers=helpers)

    @property
    def own(self) -> "Usage":
        """Return the usage without the helper models' tokens."""
        rest = self
        for usage in self.helpers.values():
            fields = rest._fields(usage, operator.sub)
            if usage.cached_tokens is None:  # then the sum has none of the helper's
                fields["cached_tokens"] = rest.cached_tokens
            rest = Usage(**fields)
        return rest

    def _fields(self, other: "Usage", of: Callable[[int, int], int]) -> dict[str, Any]:
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in Usage.model_fields if name != "helpers"}
        return {name: None if None in pair else of(*pair) for name, pair in pairs.items()}


NO_USAGE: Final = Usage(input_tokens=0, output_tokens=0, reasoning_tokens=0)
"""The usage of no calls at all."""


StopReason = Literal["stop", "tool_calls", "length", "refusal", "content_filter", "context_overflow"]
"""Why an answer ended. ``length``: an output limit truncated it; ``context_overflow``: the prompt does not fit."""


class CallRecord(Strict):
    """An answered model call without its texts.

    ``model`` is the snapshot that the provider reports, or None. ``started`` is Unix time; None for a replayed answer.
    """

    stop_reason: StopReason = "stop"
    usage: Usage = Usage()
    model: str | None = None
    started: float | None = Field(default=None, ge=0, lt=1e10)
    seconds: float = Field(default=0.0, ge=0, description="Wall-clock time of the call, retries excluded.")


class Completion(CallRecord):
    """A model's answer."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: tuple[dict[str, Any], ...] = Field(default=(), exclude=True, repr=False)

    @property
    def record(self) -> CallRecord:
        """Return the completion without its texts."""
        return CallRecord.model_validate(self.model_dump(include=set(CallRecord.model_fields)))


ProviderFault = Literal[
    "authentication",  # 401, 403: wrong or missing key
    "not_found",  # 404: no such model or address
    "bad_request",  # 400, 413, 422: the request itself is at fault
    "quota",  # 402, or 429 for an account without credit
    "rate_limit",  # 429
    "overloaded",  # 5xx, 529
    "connection",  # refused, reset, cut, DNS, TLS
    "timeout",  # over the deadline
    "malformed",  # an answer that is not what the protocol promises
    "model_mismatch",  # another snapshot answered than the one that is pinned
]

_DECLINED: Final[frozenset[ProviderFault]] = frozenset(
    {"authentication", "not_found", "bad_request", "quota", "rate_limit", "overloaded"}
)
"""Faults with which a provider declines a request before the model works on it."""


class ProviderError(InfrastructureError):
    """A provider gave no usable answer.

    ``running.faults`` has the retries of each fault. Providers redact keys from the message.

    Attributes:
        stop: set if the provider declined the request for its content (a long prompt, a filter); such a request counts
            as answered without text.
        setting: the candidate's setting that the provider objects to.
        usage: tokens that the provider may charge for: none for a declined request, unknown if the model may have
            worked.
    """

    exit_code = ExitCode.INFRASTRUCTURE

    def __init__(self, fault: ProviderFault, cause: str, remedy: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(cause, remedy)
        self.fault: ProviderFault = fault
        self.retry_after = retry_after
        self.stop: StopReason | None = None
        self.setting: str | None = None
        self.usage = NO_USAGE if fault in _DECLINED else Usage()


class ProblemKey(Strict):
    """Problem and sample of a call; only ``replay`` uses them."""

    problem: str
    sample: int


class ListedModel(Strict):
    """A model in its server's list.

    Attributes:
        ends: the day on which the provider shuts it down, or has done so; None if none is announced.
        created: the day on which it was first listed; None if the server does not say.
        context: most tokens of prompt and answer together; None if the server does not say.
    """

    id: str
    ends: date | None = None
    created: date | None = None
    context: int | None = None


@runtime_checkable
class ListsModels(Protocol):
    """A provider whose server can list its models."""

    def models(self) -> tuple[ListedModel, ...] | None:
        """Return the models that the provider's server lists.

        The request ends after a few seconds. None if the server has no such list; empty if the list could not be read.
        """
        ...


class Provider(Protocol):
    """Gets completions from a model; thread-safe. The caller retries."""

    def complete(
        self, key: ProblemKey, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], sampling: Sampling
    ) -> Completion:
        """Return the model's next message.

        Raises:
            ProviderError: no usable answer came.
        """
        ...

    def close(self) -> None:
        """Release connections; idempotent."""
        ...
