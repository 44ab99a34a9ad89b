"""Refuse floating aliases of models, and answers of other models than the pinned one."""

import datetime
import re
from typing import Final

from codegate.candidates.chat import Completion, ProviderError
from codegate.candidates.endpoint import owner_of
from codegate.candidates.spec import CandidateSpec
from codegate.errors import UsageError

EXAMPLES: Final = {
    "openai": "openai:gpt-4o-2024-08-06",
    "anthropic": "anthropic:claude-haiku-4-5-20251001",
}

_DATE = re.compile(r"(?<![0-9])(20\d\d)(-?)(\d\d)\2(\d\d)(?![0-9])")
# OpenAI's snapshots before 2024 carry month and day only: gpt-4-0613, gpt-3.5-turbo-0125, gpt-4-1106-preview.
_SHORT_DATE = re.compile(r"gpt-(?:4|3\.5-turbo)(?:-\d+k)?(?:-vision)?-(\d\d)(\d\d)(?:-preview)?")
# From generation 4.6 on a Claude id without a date is itself a pinned version, and no dated form exists:
# https://platform.claude.com/docs/en/about-claude/models/model-ids-and-versions
_CLAUDE_VERSION = re.compile(r"claude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?")
_CLAUDE_DATELESS_SINCE: Final = (4, 6)
_LATEST = re.compile(r"(?i)(?:^|[^a-z0-9])latest(?:$|[^a-z0-9])")


def check_snapshot(spec: CandidateSpec) -> None:
    """Refuse a model that is no pinned snapshot.

    At the providers' own addresses, given or not, the name must carry a date, or follow Anthropic's dateless scheme
    for pinned versions (generation 4.6 and later). At any other ``base_url`` the served file is the snapshot, and
    only names like ``latest`` are refused.

    Raises:
        UsageError: the model is a floating alias; the remedy names the dated form.
    """
    if spec.provider not in EXAMPLES:
        return
    example = EXAMPLES[spec.provider]
    if not spec.model:
        raise UsageError(f"candidate {spec.label} has no model.", f"Pin a snapshot, for example {example}.")
    floating = _LATEST.search(spec.model) is not None
    owner = owner_of(spec.provider, spec.base_url)
    if not floating and (owner is None or _is_pinned(owner, spec.model)):
        return
    if owner is None:
        remedy = "Name the model and its version as the server lists them."
    else:
        remedy = f"Pin the dated form, for example {example} (the provider's list of models has the dates)."
    raise UsageError(
        f"candidate {spec.label}: {spec.model!r} is a floating alias: the model behind it can change "
        "between two runs, and their comparison would mean nothing.",
        remedy,
    )


def check_answered(spec: CandidateSpec, completion: Completion) -> None:
    """Refuse an answer of another model at the providers' own addresses; elsewhere any name passes.

    Raises:
        ProviderError: another snapshot answered (``model_mismatch``), or the provider did not name it.
    """
    if spec.provider not in EXAMPLES or owner_of(spec.provider, spec.base_url) is None:
        return
    if completion.model == spec.model:
        return
    answered = "an unnamed model" if completion.model is None else repr(completion.model[:120])
    raise ProviderError(
        "model_mismatch",
        f"{spec.provider}: {answered} answered a request to {spec.model!r}.",
        "Pin the snapshot that the provider serves; a new one is accepted by a new baseline only.",
    )


def _is_pinned(provider: str, model: str) -> bool:
    for year, _, month, day in _DATE.findall(model):
        if _is_date(int(year), int(month), int(day)):
            return True
    if provider == "openai":
        short = _SHORT_DATE.fullmatch(model)
        return short is not None and _is_date(2024, int(short[1]), int(short[2]))
    version = _CLAUDE_VERSION.fullmatch(model)
    return version is not None and (int(version[1]), int(version[2] or 0)) >= _CLAUDE_DATELESS_SINCE


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        datetime.date(year, month, day)
    except ValueError:
        return False
    return True
