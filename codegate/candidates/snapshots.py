"""Refuse floating aliases of models, and answers of other models than the pinned one."""

import datetime
import re

from codegate.candidates.conversation import Completion, ProviderError
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
    owner = owner_of(spec.provider, spec.base_url)
    snapshot = _snapshot(spec, owner)
    if not _LATEST.search(snapshot) and (owner is None or model_provider(owner).is_pinned(snapshot)):
        return
    if owner is None:
        remedy = "Name the model and its version as the server lists them."
    else:
        remedy = (
            f"Pin the dated form, for example {example} (the provider's list of models has the dates). Where the "
            "model's name is your own, as that of a deployment, write the model behind it as `snapshot`."
        )
    raise UsageError(
        f"candidate {spec.label}: {snapshot!r} is a floating alias: the model behind it can change "
        "between two runs, and their comparison would mean nothing.",
        remedy,
    )


def check_answered(spec: CandidateSpec, completion: Completion) -> None:
    """Refuse an answer of another model than the pinned one.

    It is known at the providers' own addresses and where the candidate has a ``snapshot``; elsewhere any name passes.

    Raises:
        ProviderError: another snapshot answered (``model_mismatch``), or the provider did not name it.
    """
    if not spec.calls_a_model:
        return
    owner = owner_of(spec.provider, spec.base_url)
    expected = _snapshot(spec, owner)
    if (owner is None and spec.snapshot is None) or completion.model == expected:
        return
    answered = "an unnamed model" if completion.model is None else repr(completion.model[:120])
    raise ProviderError(
        "model_mismatch",
        f"{spec.provider}: {answered} answered a request to {spec.model!r}"
        + (f", which is pinned to {expected!r}." if expected != spec.model else "."),
        "Pin the snapshot that the provider serves; a new one is accepted by a new baseline only.",
    )


def _snapshot(spec: CandidateSpec, owner: str | None) -> str:
    """Return what the answers of a candidate's model have to name."""
    return spec.snapshot or (spec.model if owner is None else model_provider(owner).snapshot_of(spec.model))


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
