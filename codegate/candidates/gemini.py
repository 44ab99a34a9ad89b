"""Gemini through Google's endpoint for OpenAI's chat completions: https://ai.google.dev/gemini-api/docs/openai."""

import re
from typing import Final

from codegate.candidates.openai import OpenAIProvider
from codegate.candidates.providers import ModelProvider

# Stable names, since generation 2.5 without a number of their own: https://ai.google.dev/gemini-api/docs/models.
# Aliases (-latest) and experiments (-exp) change behind their names; so may a preview without the day it began.
_NAME: Final = re.compile(r"(?:models/)?gemini-(\d{1,2})(?:\.(\d{1,2}))?-[a-z0-9-]+")
_NUMBERED: Final = re.compile(r"-\d{3}$|-preview-\d\d-(?:\d\d|20\d\d)$")
_FLOATING: Final = re.compile(r"-(?:latest|preview|exp|experimental)(?:-|$)")
_STABLE_SINCE: Final = (2, 5)


def _is_pinned(model: str) -> bool:
    name = _NAME.fullmatch(model)
    if name is None:
        return False
    stable = (int(name[1]), int(name[2] or 0)) >= _STABLE_SINCE and not _FLOATING.search(model)
    return stable or _NUMBERED.search(model) is not None


PROVIDER: Final = ModelProvider(
    address="https://generativelanguage.googleapis.com/v1beta/openai",
    hosts=("generativelanguage.googleapis.com",),
    key_variable="GEMINI_API_KEY",
    example="gemini-3.8-flash",
    is_pinned=_is_pinned,
    connect=OpenAIProvider,
    protocols=("chat",),
    telemetry_name="gcp.gemini",
)
