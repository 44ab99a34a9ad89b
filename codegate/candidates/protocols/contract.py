"""What a protocol is to codegate: which requests pass, how an answer is read, and how a refusal is sent."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from codegate.candidates.answer import AnswerReader
from codegate.candidates.conversation import Completion, Message, Sampling

MAX_MESSAGE_CHARACTERS: Final = 200_000
_MEDIA: Final = frozenset(
    {"image", "image_url", "input_image", "input_file", "file", "document", "input_audio", "audio", "video"}
)


class RequestRefused(Exception):
    """A request of an agent that does not pass; the text says why, to the agent."""


class ModelProtocol(ABC):
    """One wire format, without state. Requests come from a sandbox and answers from a server: both are untrusted.

    Attributes:
        name: how candidates and agents call it.
        path: of its one endpoint, below the version.
        fields: what may be in a request. The rest is dropped: it concerns what the provider keeps, whom it bills and
            what it runs by itself.
        conversation_fields: of a request, in which no image or file may be.
        limits: the names of the output limit, the current one first; ``limit_required``: a request has to set one.
        ping: what keeps a client waiting that streams.
    """

    name: ClassVar[str]
    path: ClassVar[str]
    fields: ClassVar[frozenset[str]]
    conversation_fields: ClassVar[tuple[str, ...]]
    limits: ClassVar[tuple[str, ...]]
    limit_required: ClassVar[bool] = False
    ping: ClassVar[bytes] = b": waiting\n\n"

    def clean(self, request: Mapping[str, Any], model: str, sampling: Sampling) -> dict[str, Any]:
        """Return the request that is sent in place of an agent's: for ``model``, with the candidate's settings.

        Raises:
            RequestRefused: it asks for another model, holds an image or another file, or is malformed.
        """
        if request.get("model") != model:
            message = f"only the model {model} can be called here, not {str(request.get('model'))[:100]}"
            raise RequestRefused(message)
        kept = {name: value for name, value in request.items() if name in self.fields and value is not None}
        if not isinstance(kept.get("stream", False), bool):
            message = "`stream` is true or false"
            raise RequestRefused(message)
        refuse_media([kept.get(name) for name in self.conversation_fields])
        if isinstance(kept.get("tools"), list):
            offered = dicts(kept["tools"])
            kept["tools"] = [tool for tool in offered if self.runs_at_client(tool)]
            if len(kept["tools"]) < len(offered):
                kept.pop("tool_choice", None)  # it may name one that is gone
        kept |= self.chosen(sampling, kept)
        named = next((name for name in self.limits if name in kept), self.limits[0])
        asked = kept.get(named, sampling.output_limit)
        if not isinstance(asked, int) or isinstance(asked, bool) or asked < 1:
            message = f"`{named}` is a number of tokens"
            raise RequestRefused(message)
        for other in self.limits:
            kept.pop(other, None)
        kept[named] = min(asked, sampling.output_limit)
        return kept

    def chosen(self, sampling: Sampling, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a request that hold the candidate's settings, but its limit and its stop texts.

        A field that holds other things too keeps those of ``request``.
        """
        del request
        values = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        return {name: value for name, value in values.items() if value is not None}

    @abstractmethod
    def runs_at_client(self, tool: Mapping[str, Any]) -> bool:
        """Return whether the agent runs ``tool`` itself; what the provider would run has a network, and is dropped."""

    @abstractmethod
    def assemble(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the answer that a stream's events add up to; of a stream that was cut, what came of it."""

    @abstractmethod
    def read(self, document: Mapping[str, Any], reader: AnswerReader) -> Completion:
        """Return what an answer says.

        Raises:
            ProviderError: ``malformed``.
        """

    @abstractmethod
    def conversation(self, request: Mapping[str, Any]) -> Iterator[Message]:
        """Yield the messages of a request, for the transcript."""

    @abstractmethod
    def error(self, message: str) -> dict[str, Any]:
        """Return the error object that clients take for a request which must not be tried again."""


def refuse_media(value: object) -> None:
    """Raise RequestRefused where a part of a request is an image or another file."""
    for part in parts(value):
        if text(part.get("type")) in _MEDIA:
            message = "images and files are not supported here, only text"
            raise RequestRefused(message)


def parts(value: object) -> Iterator[dict[str, Any]]:
    """Yield every object in ``value``."""
    stack = [value]
    while stack:
        match stack.pop():
            case dict() as found:
                yield found
                stack += found.values()
            case list() as found:
                stack += found


def dicts(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list; of anything else none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def effort_in(field: object, sampling: Sampling) -> dict[str, Any]:
    """Return the object that a request holds the effort in, with its other keys."""
    return {**(field if isinstance(field, dict) else {}), "effort": sampling.effort}


def text(value: object) -> str:
    """Return ``value`` if it is a text, else an empty one."""
    return value[:MAX_MESSAGE_CHARACTERS] if isinstance(value, str) else ""


def text_of_parts(content: object) -> str:
    """Return the text of a message's content: a string, or a list of parts with texts."""
    if isinstance(content, list):
        return "".join(text(part.get("text")) for part in dicts(content))[:MAX_MESSAGE_CHARACTERS]
    return text(content)
