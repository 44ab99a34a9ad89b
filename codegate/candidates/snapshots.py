"""Refuse floating aliases of models, and answers of other models than the pinned one."""

import datetime
import re

from codegate.candidates.chat import Completion, ProviderError
from codegate.candidates.endpoint import owner_of
from codegate.candidates.providers import model_provider
from codegate.candidates.spec import CandidateSpec
from codegate.errors import UsageError

_DATE = re.compile(r"(?<![0-9])(20\d\d)(-?)(\d\d)\2(\d\d)(?![0-9])")
_LATEST = re.compile(r"(?i)(?:^|[^a-z0-9])latest(?:$|[^a-z0-9])")


def check_snapshot(spec: CandidateSpec) -> None:
    """Refuse a model that is no pinned snapshot.

    At the providers' own addresses, given or not, the provider's own rule holds (``ModelProvider.is_pinned``). At any
    other ``base_url`` the served file is the snapshot, and only names like ``latest`` are refused.

    Raises:
        UsageError: the model is a floating alias; the remedy names the dated form.
    """
    if not spec.calls_a_model:
        return
    example = f"{spec.provider}:{model_provider(spec.provider).example}"
    if not spec.model:
        raise UsageError(f"candidate {spec.label} has no model.", f"Pin a snapshot, for example {example}.")
    floating = _LATEST.search(spec.model) is not None
    owner = owner_of(spec.provider, spec.base_url)
    if not floating and (owner is None or model_provider(owner).is_pinned(spec.model)):
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
    if not spec.calls_a_model or owner_of(spec.provider, spec.base_url) is None:
        return
    if completion.model == spec.model:
        return
    answered = "an unnamed model" if completion.model is None else repr(completion.model[:120])
    raise ProviderError(
        "model_mismatch",
        f"{spec.provider}: {answered} answered a request to {spec.model!r}.",
        "Pin the snapshot that the provider serves; a new one is accepted by a new baseline only.",
    )


def has_date(name: str) -> bool:
    """Return whether a model's name carries a day: ``gpt-4o-2024-08-06``, ``claude-haiku-4-5-20251001``."""
    return any(is_date(int(year), int(month), int(day)) for year, _, month, day in _DATE.findall(name))


def is_date(year: int, month: int, day: int) -> bool:
    """Return whether there is such a day."""
    try:
        datetime.date(year, month, day)
    except ValueError:
        return False
    return True
