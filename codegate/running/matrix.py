"""Make candidates of a configuration: matrices and names."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Final

from codegate.candidates import CandidateSpec, Sampling
from codegate.candidates.spec import NO_ANSWER, AgentSettings
from codegate.errors import UsageError

_MOST_CANDIDATES: Final = 64
"""Most candidates that one matrix may make."""

_OF_SAMPLING: Final = tuple(Sampling.model_fields)
_MATRIX_KEYS: Final = (
    *_OF_SAMPLING,
    *(
        name
        for name in dict.fromkeys((*CandidateSpec.model_fields, *AgentSettings.model_fields))
        if name not in NO_ANSWER and name != "sampling"
    ),
)
"""Keys that a matrix may have: all that can change an answer. The expansion puts each at its place in the candidate."""

MATRIX_SCHEMA: Final = {
    "type": "object",
    "description": f"Values by setting: one candidate for each combination, at most {_MOST_CANDIDATES}.",
    "minProperties": 1,
    "propertyNames": {"enum": list(_MATRIX_KEYS)},
    "additionalProperties": {"type": "array", "minItems": 1},
}


def expand_matrix(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a candidate for each combination of its matrix values."""
    base = {name: value for name, value in entry.items() if name != "matrix"}
    sampling = base.pop("sampling", None) or {}
    matrix = _checked_matrix(entry["matrix"], base, sampling)
    own = base.get("name") or " ".join(str(base[part]) for part in ("agent", "model") if part in base)
    agent = base.get("agent")
    for values in product(*matrix.values()):
        chosen = dict(zip(matrix, values, strict=True))
        others = {name: value for name, value in chosen.items() if name not in _OF_SAMPLING}
        if isinstance(agent, dict):
            of_agent = {name: others.pop(name) for name in tuple(others) if name in AgentSettings.model_fields}
            others["agent"] = {**agent, **of_agent}
        yield {
            **base,
            **others,
            "sampling": {**sampling, **{name: value for name, value in chosen.items() if name in _OF_SAMPLING}},
            "name": " ".join([own or str(base.get("provider", "")), *(f"{k}={_shown(v)}" for k, v in chosen.items())]),
        }


def _checked_matrix(matrix: Any, base: Mapping[str, Any], sampling: Any) -> dict[str, list[Any]]:
    if not isinstance(matrix, dict) or not matrix:
        raise ValueError("`matrix` is a table of settings, each with a list of values")
    if not isinstance(sampling, dict):
        raise ValueError("`sampling` is a table")
    for name, values in matrix.items():
        if name not in _MATRIX_KEYS:
            near = get_close_matches(str(name), _MATRIX_KEYS, 1)
            hint = f"did you mean `{near[0]}`?" if near else "it takes keys of `sampling`, a candidate or its agent"
            raise ValueError(f"`matrix` has no setting {str(name)[:100]!r}; {hint}")
        if not isinstance(values, list) or not values:
            raise ValueError(f"`matrix.{name}` is a list of values")
        agent = base.get("agent")
        if name in base or name in sampling or (isinstance(agent, dict) and name in agent):
            raise ValueError(f"`{name}` is set twice: in `matrix` and beside it")
    count = prod(map(len, matrix.values()))
    if count > _MOST_CANDIDATES:
        raise ValueError(f"`matrix` makes {count:,} candidates, at most {_MOST_CANDIDATES} are allowed; remove values")
    return matrix


def _shown(value: Any) -> str:
    if value is None:
        return "default"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def with_own_names(candidates: Sequence[CandidateSpec], path: Path) -> tuple[CandidateSpec, ...]:
    """Tell unnamed candidates with equal labels apart.

    Their names get the settings that differ. Raises UsageError, which begins with ``path``, if two have one name.
    """
    given = Counter(one.name for one in candidates if one.name)
    if given and max(given.values()) > 1:
        raise UsageError(
            f"{path}: two candidates have the name {given.most_common(1)[0][0]!r}.", "Give each one of its own."
        )

    def settings(one: CandidateSpec) -> dict[str, str]:
        prompt = filter(None, (one.prompt.system, one.prompt.task) if one.prompt is not None else ())
        return one.settings() | {"prompt": " + ".join(prompt)}

    def named(one: CandidateSpec) -> CandidateSpec:
        own, others = settings(one), [settings(other) for other in candidates if other.label == one.label]
        apart = [f"{key}={value}" for key, value in own.items() if value and any(o.get(key) != value for o in others)]
        return one.model_copy(update={"name": " ".join((one.label, *apart))[:200]}) if apart and not one.name else one

    return tuple(map(named, candidates))
