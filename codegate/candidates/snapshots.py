"""Refuse names and answers that do not identify one model.

A floating alias names other models at other times.
"""

import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from codegate.candidates.conversation import Completion, ListedModel, ProviderError
from codegate.candidates.endpoint import owner_of
from codegate.candidates.listed import table_names
from codegate.candidates.providers import model_provider
from codegate.candidates.spec import CandidateSpec
from codegate.errors import UsageError

_DAY: Final = r"(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])"
_DATE: Final = rf"[-@](?:(?:20\d\d-?)?{_DAY}|(?:0[1-9]|1[0-2])-20\d\d)"
"""Pattern of a date in a model's name: -2024-08-06, -20251001, @20251001, -0613, -09-2025."""
_DATED: Final = re.compile(rf"{_DATE}(?![0-9])")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}")
_LATEST: Final = re.compile(r"(?i)(?:^|[^a-z0-9])latest(?:$|[^a-z0-9])")


def check_snapshot(spec: CandidateSpec, listed: Iterable[ListedModel] = ()) -> None:
    """Raise UsageError if a model's name is a floating alias.

    A name floats if it contains ``latest``. At the providers' own addresses it also floats if a dated form of it is in
    the price table or in ``listed``, the provider's list of models. The remedy names this form. At another ``base_url``
    the name stands for the server's model.
    """
    if not spec.calls_a_model:
        return
    example = f"{spec.provider}:{model_provider(spec.provider).example}"
    if not spec.model:
        raise UsageError(f"candidate {spec.label} has no model.", f"Pin a snapshot, for example {example}.")
    owner = owner_of(spec)
    snapshot = _snapshot(spec, owner)
    dated = () if owner is None else _dated_forms(snapshot, (*table_names(), *(model.id for model in listed)))
    if not dated and not _LATEST.search(snapshot):
        return
    if owner is None:
        remedy = "Name the model and its version as the server lists them."
    else:
        remedy = (
            f"Pin the dated form, for example {dated[-1] if dated else example} (the provider's list of models has the "
            "dates). Where the model's name is your own, as that of a deployment, write the model behind it as "
            "`snapshot`."
        )
    raise UsageError(
        f"candidate {spec.label}: {snapshot!r} is a floating alias: the model behind it can change "
        "between two runs, and their comparison would mean nothing.",
        remedy,
    )


@dataclass(frozen=True)
class ModelShutdown:
    """When a provider shuts a model down.

    ``day`` is None if the model is gone already. ``words`` is a clause for people.
    """

    words: str
    day: date | None = None

    def within(self, days: int) -> bool:
        """Return whether the model is gone or ends within ``days``."""
        return self.day is None or self.day <= datetime.now(UTC).date() + timedelta(days=days)


def model_shutdown(spec: CandidateSpec, listed: Iterable[ListedModel]) -> ModelShutdown | None:
    """Return when the provider shuts the model down, if known.

    ``listed`` is the list at the provider's own address, empty if that list is unknown. A model that the list lacks is
    gone.
    """
    models = tuple(listed)
    found = find_listed_model(spec, models)
    if found is None:
        lacking = f"{spec.label}: its provider's list has no such model: it does not exist, or was retired"
        return ModelShutdown(lacking) if models and spec.base_url is None else None
    if found.ends is None:
        return None
    past = found.ends <= datetime.now(UTC).date()
    verb = "has shut" if past else "shuts"
    return ModelShutdown(f"{spec.label}: its provider {verb} this model down on {found.ends}", found.ends)


def successor(spec: CandidateSpec, listed: Iterable[ListedModel]) -> ListedModel | None:
    """Return the newest model of the same family, or None.

    The family of a name is its words without numbers: gpt and mini. A model in ``listed``, the provider's list, is
    newer if its day is later or, without days, the numbers in its name are higher. Models with floating names are
    ignored, and models that end before the candidate's.
    """
    models = tuple(listed)
    now = find_listed_model(spec, models) or ListedModel(id=spec.model)
    alike = (one for one in models if _NAME.fullmatch(one.id) and _family(one.id) == _family(now.id))
    newer = [one for one in alike if _is_newer(one, now) and _outlasts(one, now)]
    for one in sorted(newer, key=lambda one: (one.created or date.min, _numbers(one.id)), reverse=True):
        name = one.id if "/" in spec.model else one.id.rpartition("/")[2]
        with contextlib.suppress(UsageError):
            check_snapshot(spec.model_copy(update={"model": name}), models)
            return one.model_copy(update={"id": name})
    return None


def find_listed_model(spec: CandidateSpec, models: Iterable[ListedModel]) -> ListedModel | None:
    """Return the list's entry for the candidate's model, or None."""
    return next((one for one in models if one.id == spec.model or one.id.endswith(f"/{spec.model}")), None)


def _family(name: str) -> tuple[str, ...]:
    words = re.findall(r"[a-z0-9]+", name.rpartition("/")[2].lower())
    return tuple(re.sub(r"\d.*", "", word) for word in words if word[0].isalpha())


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"[0-9]{1,20}", name))


def _is_newer(one: ListedModel, than: ListedModel) -> bool:
    if one.created is not None and than.created is not None and one.created != than.created:
        return one.created > than.created
    return _numbers(one.id) > _numbers(than.id)


def _outlasts(one: ListedModel, other: ListedModel) -> bool:
    today = datetime.now(UTC).date()
    return one.ends is None or (other.ends is not None and one.ends > max(other.ends, today))


def check_answered(spec: CandidateSpec, completion: Completion) -> None:
    """Raise ProviderError if another model than the pinned one answered.

    Names with a date are checked at the providers' own addresses, and so are candidates with a ``snapshot``. Otherwise
    any name is accepted, and recorded with the answer. Another snapshot is the fault ``model_mismatch``. An answer
    without a model name is an error too.
    """
    if not spec.calls_a_model:
        return
    owner = owner_of(spec)
    expected = _snapshot(spec, owner)
    if (owner is None and spec.snapshot is None) or completion.model == expected:
        return
    if completion.model is not None and not names_one_model(spec):
        return
    answered = "an unnamed model" if completion.model is None else repr(completion.model[:120])
    raise ProviderError(
        "model_mismatch",
        f"{spec.provider}: {answered} answered a request to {spec.model!r}"
        + (f", which is pinned to {expected!r}." if expected != spec.model else "."),
        "Pin the snapshot that the provider serves; a new one is accepted by a new baseline only.",
    )


def names_one_model(spec: CandidateSpec) -> bool:
    """Return whether a candidate's model is pinned.

    A date, a ``snapshot``, or a server of the user's own pins it.
    """
    owner = owner_of(spec) if spec.calls_a_model else None
    return owner is None or spec.snapshot is not None or _DATED.search(_snapshot(spec, owner)) is not None


def _snapshot(spec: CandidateSpec, owner: str | None) -> str:
    return spec.snapshot or (spec.model if owner is None else model_provider(owner).snapshot_of(spec.model))


def _dated_forms(name: str, names: Iterable[str]) -> list[str]:
    dated = re.compile(re.escape(name) + _DATE)
    return sorted({each for each in names if dated.fullmatch(each)})
