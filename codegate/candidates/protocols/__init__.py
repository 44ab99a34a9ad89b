"""The three protocols that model providers speak.

OpenAI's Chat Completions (``chat``) and Responses (``responses``), and Anthropic's Messages (``messages``). To add one:
a class with the methods of ``ModelProtocol`` in a module here, and a line in this table.
"""

from typing import Final

from codegate.candidates.protocols.chat import ChatCompletions
from codegate.candidates.protocols.contract import ModelProtocol, RequestRefused
from codegate.candidates.protocols.messages import Messages
from codegate.candidates.protocols.responses import Responses

__all__ = ["PROTOCOLS", "ModelProtocol", "RequestRefused"]

PROTOCOLS: Final[dict[str, ModelProtocol]] = {
    protocol.name: protocol for protocol in (ChatCompletions(), Responses(), Messages())
}
