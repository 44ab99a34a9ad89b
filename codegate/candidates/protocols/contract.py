"""The interface of a protocol between agents, gateway and models."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from codegate.candidates.answer import AnswerReader
from codegate.candidates.conversation import Completion, Message, Sampling, Usage
from codegate.durable import digest

MAX_MESSAGE_CHARACTERS: Final = 200_000


class RequestRefused(Exception):
    """The gateway refuses an agent's request; its text says why."""


@dataclass(frozen=True)
class CleanedRequest:
    """An agent's request with only allowed parts.

    ``dropped`` has the names of the parts that were removed.
    """

    request: dict[str, Any]
    dropped: tuple[str, ...] = ()


class ModelProtocol(ABC):
    """A model API's wire format, for requests and answers.

    Stateless. Requests come from a sandbox and answers from a server; both are untrusted.

    Attributes:
        name: the protocol's name in candidates and agents.
        path: path of its one endpoint, below the version.
        fields: fields that a request may have. Other fields are dropped, because they set what the provider stores,
            bills or runs by itself.
        conversation_fields: fields that hold the conversation: text, tool calls and their results, and nothing else.
        limits: the names of the output limit, the current one first.
        limit_required: whether a request has to set an output limit.
        hosted_fields: fields that ask the provider to run or reach something; dropping them is reported.
        ping: bytes that keep a client waiting during a stream.
    """

    name: ClassVar[str]
    path: ClassVar[str]
    fields: ClassVar[frozenset[str]]
    conversation_fields: ClassVar[tuple[str, ...]]
    limits: ClassVar[tuple[str, ...]]
    limit_required: ClassVar[bool] = False
    hosted_fields: ClassVar[tuple[str, ...]] = ()
    ping: ClassVar[bytes] = b": waiting\n\n"

    def clean(self, request: Mapping[str, Any], model: str, sampling: Sampling) -> CleanedRequest:
        """Return an agent's request with allowed fields and candidate settings.

        Raises:
            RequestRefused: the request is not for ``model``, its conversation holds more than text and tool calls, or
                it is malformed.
        """
        if request.get("model") != model:
            raise RequestRefused(f"only the model {model} can be called here, not {str(request.get('model'))[:100]}")
        kept = {name: value for name, value in request.items() if name in self.fields and value is not None}
        if not isinstance(kept.get("stream", False), bool):
            raise RequestRefused("`stream` is true or false")
        dropped = [f"the field {name}" for name in self.hosted_fields if request.get(name)]
        dropped += [*self.clean_conversation(kept), *self._clean_tools(kept)]
        kept |= self.chosen(sampling, kept)
        named = next((name for name in self.limits if name in kept), self.limits[0])
        asked = kept.get(named, sampling.output_limit)
        if not isinstance(asked, int) or isinstance(asked, bool) or asked < 1:
            raise RequestRefused(f"`{named}` is a number of tokens")
        for other in self.limits:
            kept.pop(other, None)
        kept[named] = min(asked, sampling.output_limit)
        return CleanedRequest(kept, tuple(dropped))

    def _clean_tools(self, kept: dict[str, Any]) -> list[str]:
        if "tools" not in kept:
            return []
        kept["tools"], dropped = self.client_tools(kept["tools"])
        names = {as_text(tool.get(key)) for tool in dropped for key in ("type", "name")} - {""}
        wanted = {
            as_text(part.get(key)) for part in nested_objects(kept.get("tool_choice")) for key in ("type", "name")
        }
        if "tool_choice" in kept and (wanted & names or not kept["tools"]):
            del kept["tool_choice"]
        return [tool_name(tool) for tool in dropped]

    def client_tools(self, tools: object) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Split tools into the agent's and the provider's tools.

        Raises:
            RequestRefused: ``tools`` is no list of objects.
        """
        kept: list[dict[str, Any]] = []
        dropped: list[dict[str, Any]] = []
        for tool in checked_objects(tools, "tools"):
            (kept if self.runs_at_client(tool) else dropped).append(tool)
        return kept, dropped

    @abstractmethod
    def clean_conversation(self, kept: dict[str, Any]) -> list[str]:
        """Drop forbidden parts of a conversation; return the parts' names.

        ``kept`` has the request's allowed fields.

        Raises:
            RequestRefused: the conversation holds something other than text, tool calls and their results.
        """

    def turn(self, asked: Mapping[str, Any], cleaned: Mapping[str, Any]) -> str:
        """Return a digest that is equal for a repeated request.

        A repeated attempt finds its paid answers by the digest. Ids of calls and the text of tool results, which differ
        each time, do not change it. ``asked`` is the agent's request, ``cleaned`` the same request after ``clean``.
        """
        messages = [
            (
                message.role,
                message.text if message.role != "tool" else "",
                [(call.name, call.arguments) for call in message.tool_calls],
            )
            for message in self.conversation(asked)
        ]
        rest = {name: value for name, value in cleaned.items() if name not in self.conversation_fields}
        return digest([messages, rest])

    def chosen(self, sampling: Sampling, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the request fields that set the candidate's sampling.

        Output limit and stop texts are not among them. In fields that are objects, other values of the agent's
        ``request`` are kept.
        """
        del request
        values = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        return {name: value for name, value in values.items() if value is not None}

    @abstractmethod
    def runs_at_client(self, tool: Mapping[str, Any]) -> bool:
        """Return whether the agent, not the provider, runs ``tool``.

        Tools that the provider runs have a network, and are dropped.
        """

    @abstractmethod
    def assemble(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the whole answer, assembled from stream events."""

    @abstractmethod
    def read(self, document: Mapping[str, Any], reader: AnswerReader) -> Completion:
        """Return the parsed answer.

        ``document`` is the answer's JSON; ``reader`` checks its fields.

        Raises:
            ProviderError: ``malformed``: a field is missing or has a wrong value.
        """

    @abstractmethod
    def usage(self, document: Mapping[str, Any]) -> Usage:
        """Return the token usage in an answer or an error."""

    @abstractmethod
    def conversation(self, request: Mapping[str, Any]) -> Iterator[Message]:
        """Yield the messages of a request, for the transcript."""

    def error(self, message: str) -> dict[str, Any]:
        """Return an error object that tells clients not to retry.

        The object has the form of OpenAI's errors.
        """
        return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


def checked_objects(value: object, place: str) -> list[dict[str, Any]]:
    """Return ``value`` if it is a list of objects.

    Raises:
        RequestRefused: ``value`` is anything else; the error names ``place``.
    """
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise RequestRefused(f"`{place}` is a list of objects")
    return value


def check_parts(content: object, allowed: Collection[str], place: str) -> list[dict[str, Any]]:
    """Return a message's content as checked parts.

    ``content`` is text, None, or a list of parts of the ``allowed`` types. ``place`` names the content's field in
    errors.

    Raises:
        RequestRefused: the content is anything else, such as an image, a file, or a reference to stored data.
    """
    if content is None or isinstance(content, str):
        return []
    found = checked_objects(content, place)
    for part in found:
        if as_text(part.get("type")) not in allowed:
            raise refused_part(part, place)
    return found


def refused_part(part: Mapping[str, Any], place: str) -> RequestRefused:
    """Return the error for a forbidden part in field ``place``."""
    return RequestRefused(f"`{place}` may hold text, tool calls and their results, not {str(part.get('type'))[:60]!r}")


def tool_name(tool: Mapping[str, Any]) -> str:
    """Return the name of a dropped tool, for messages."""
    return f"the tool {as_text(tool.get('name')) or as_text(tool.get('type')) or 'without a type'}"[:100]


def nested_objects(value: object) -> Iterator[dict[str, Any]]:
    """Yield every JSON object in ``value``, at any depth."""
    stack = [value]
    while stack:
        match stack.pop():
            case dict() as found:
                yield found
                stack += found.values()
            case list() as found:
                stack += found


def objects_in(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list; none for other values."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def effort_in(field: object, sampling: Sampling) -> dict[str, Any]:
    """Return ``field`` with the candidate's reasoning effort set."""
    return {**(field if isinstance(field, dict) else {}), "effort": sampling.effort}


def as_text(value: object) -> str:
    """Return text of at most ``MAX_MESSAGE_CHARACTERS``; "" for other types."""
    return value[:MAX_MESSAGE_CHARACTERS] if isinstance(value, str) else ""


def text_of_parts(content: object) -> str:
    """Return a message's text; the texts of parts are joined."""
    if isinstance(content, list):
        return "".join(as_text(part.get("text")) for part in objects_in(content))[:MAX_MESSAGE_CHARACTERS]
    return as_text(content)
