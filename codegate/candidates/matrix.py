"""A candidate's ``matrix``: one candidate for each combination of its settings."""

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import product
from math import prod
from typing import Any, Final

from codegate.candidates.conversation import Sampling
from codegate.candidates.spec import NO_ANSWER, AgentSettings, CandidateSpec

MAX_CANDIDATES: Final = 64
"""Candidates that one matrix may make."""

_SAMPLING: Final = tuple(Sampling.model_fields)
_OTHERS: Final = tuple(
    name
    for name in dict.fromkeys((*CandidateSpec.model_fields, *AgentSettings.model_fields))
    if name not in NO_ANSWER and name != "sampling"
)
SETTINGS: Final = (*_SAMPLING, *_OTHERS)
"""Keys of a matrix: whatever can change an answer. Where a key belongs, the expansion knows."""

MATRIX_SCHEMA: Final = {
    "type": "object",
    "description": f"Values by setting: one candidate for each combination, at most {MAX_CANDIDATES}.",
    "minProperties": 1,
    "propertyNames": {"enum": list(SETTINGS)},
    "additionalProperties": {"type": "array", "minItems": 1},
}


def expanded(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the long form of each candidate of ``entry``, which has a ``matrix``; names end with the combination.

    Raises:
        ValueError: the matrix has an unknown key, a key that the entry sets too, no values, or too many combinations.
    """
    base = {name: value for name, value in entry.items() if name != "matrix"}
    sampling = base.pop("sampling", None) or {}
    matrix = _checked(entry["matrix"], base, sampling)
    own = base.get("name") or " ".join(str(base[part]) for part in ("agent", "model") if part in base)
    agent = base.get("agent")
    for values in product(*matrix.values()):
        chosen = dict(zip(matrix, values, strict=True))
        others = {name: value for name, value in chosen.items() if name not in _SAMPLING}
        if isinstance(agent, dict):
            of_agent = {name: others.pop(name) for name in tuple(others) if name in AgentSettings.model_fields}
            others["agent"] = {**agent, **of_agent}
        yield {
            **base,
            **others,
            "sampling": {**sampling, **{name: value for name, value in chosen.items() if name in _SAMPLING}},
            "name": " ".join([own or str(base.get("provider", "")), *(f"{k}={_text(v)}" for k, v in chosen.items())]),
        }


def _checked(matrix: Any, base: Mapping[str, Any], sampling: Any) -> dict[str, list[Any]]:
    if not isinstance(matrix, dict) or not matrix:
        raise ValueError("`matrix` is a table of settings, each with a list of values")
    if not isinstance(sampling, dict):
        raise ValueError("`sampling` is a table")
    for name, values in matrix.items():
        if name not in SETTINGS:
            near = get_close_matches(str(name), SETTINGS, 1)
            hint = f"did you mean `{near[0]}`?" if near else "it takes keys of `sampling`, a candidate or its agent"
            raise ValueError(f"`matrix` has no setting {str(name)[:100]!r}; {hint}")
        if not isinstance(values, list) or not values:
            raise ValueError(f"`matrix.{name}` is a list of values")
        agent = base.get("agent")
        if name in base or name in sampling or (isinstance(agent, dict) and name in agent):
            raise ValueError(f"`{name}` is set twice: in `matrix` and beside it")
    count = prod(map(len, matrix.values()))
    if count > MAX_CANDIDATES:
        raise ValueError(f"`matrix` makes {count:,} candidates, at most {MAX_CANDIDATES} are allowed; remove values")
    return matrix


def _text(value: Any) -> str:
    if value is None:
        return "default"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
