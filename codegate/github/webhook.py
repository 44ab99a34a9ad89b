"""A message to a team's chat: the JSON that Slack, Mattermost, Google Chat and Microsoft Teams take from webhooks.

Protocol: {"text": …} (api.slack.com/messaging/webhooks); Teams' workflows take an Adaptive Card instead
(learn.microsoft.com, "Create incoming webhooks with Workflows").
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import requests

from codegate.errors import InfrastructureError, UsageError

WEBHOOK_VARIABLE: Final = "CODEGATE_WEBHOOK"
"""Holds the address, which is a secret: it is all that a sender needs."""

_TEAMS: Final = (".logic.azure.com", ".powerplatform.com")
_HERE: Final = ("127.0.0.1", "localhost")
_SECONDS: Final = 15.0


def post_message(environment: Mapping[str, str], text: str) -> None:
    """Post ``text`` to the webhook that the environment names, if it names one.

    Raises:
        UsageError: the address is none, or not https.
        InfrastructureError: the webhook did not take the message; its address is in no message.
    """
    address = environment.get(WEBHOOK_VARIABLE, "").strip()
    if not address:
        return
    remedy = f"Check the address in {WEBHOOK_VARIABLE}."
    try:
        parts = urlsplit(address)
    except ValueError:
        raise UsageError("the webhook's address is none.", remedy) from None
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _HERE):
        raise UsageError("the webhook's address does not begin with https://.", remedy)
    try:
        answer = requests.post(address, json=_document(address, text), timeout=_SECONDS, allow_redirects=False)
    except (requests.RequestException, ValueError) as error:  # urllib3's own are ValueErrors
        raise InfrastructureError(f"the webhook cannot be reached: {type(error).__name__}.", remedy) from None
    if not answer.ok or answer.is_redirect:
        raise InfrastructureError(f"the webhook answered {answer.status_code}.", remedy)


def _document(address: str, text: str) -> dict[str, Any]:
    if not (urlsplit(address).hostname or "").endswith(_TEAMS):
        # Slack's rule, and a blank of no width: a name is to call nobody in the channel.
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return {"text": escaped.replace("@", "@\u200b")}
    # No TextBlock, which reads Markdown.
    body = {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text}]}
    card = {"type": "AdaptiveCard", "version": "1.4", "body": [body]}
    return {
        "type": "message",
        "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}],
    }
