"""The gate's policy, and the error level of each comparison.

A test that is repeated on growing data at its full level errs more often than that level (Armitage, McPherson and Rowe
1969, JRSS A 132:235). The looks therefore share the error: a look that has more samples may spend more of it (spending
alpha t^2; Lan and DeMets 1983, Biometrika 70:659). docs/statistics.md has the simulations behind the table.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, Literal

from pydantic import ConfigDict, Field, model_validator

from codegate.strict import Strict

LOOKS: Final = (1, 2, 3, 4, 5, 6, 8, 10)
"""Samples per problem after which a gated run compares."""

MAX_LOOKS: Final = len(LOOKS)

_LEVELS: Final = (0.0010, 0.0030, 0.0052, 0.0081, 0.0115, 0.0151, 0.0254, 0.0340)
"""Level of each look for an error of 5 % in all."""
_SINGLE: Final = 0.04
"""Level of a single look at any number of samples."""


def error_level(looks: Sequence[int], samples: int, alpha: float) -> float:
    """Return the one-sided error level of one planned comparison.

    ``looks`` are the samples per problem at each planned comparison; a run of fixed size has one. ``samples`` is the
    number made so far. All looks together err with probability ``alpha``. The levels were calibrated for ``alpha`` =
    0.05 and are scaled in proportion.

    Raises:
        ValueError: ``looks`` has several entries and is not ``LOOKS``.
    """
    if len(looks) == 1:
        return alpha * (_SINGLE / 0.05)
    if tuple(looks) != LOOKS:
        message = f"looks at {list(looks)} samples were never calibrated; a gate has those at {list(LOOKS)}, or one"
        raise ValueError(message)
    return alpha * (_LEVELS[look_number(looks, samples) - 1] / 0.05)


def look_number(looks: Sequence[int], samples: int) -> int:
    """Return the number of the planned comparison reached, from 1.

    ``looks`` are the samples per problem at each planned comparison. ``samples`` is the number of samples made so far.
    """
    return max(sum(planned <= samples for planned in looks), 1)


OnInconclusive = Literal["neutral", "fail", "pass"]
Tier = Literal["critical", "supporting", "advisory"]
Compared = Literal["candidate", "model"]


class CohortPolicy(Strict):
    """The pass rate required of a tag's (or all) problems."""

    model_config = ConfigDict(strict=True)

    floor: float = Field(
        ge=0.0,
        le=1.0,
        description="Pass rate that the candidate must reach on the problems with this tag, as a share.",
    )
    tier: Tier = Field(
        default="supporting",
        description="critical: the verdict is regressed when the candidate's pass rate is below the floor beyond "
        "chance. supporting: a warning whenever it is below the floor. advisory: a warning only beyond chance.",
    )


class GatePolicy(Strict):
    """Thresholds of the gate; every value has a default."""

    model_config = ConfigDict(strict=True)

    alpha: float = Field(
        default=0.05,
        ge=0.001,
        le=0.2,
        description="One-sided error rate, over all looks and candidates: how often an equal candidate may be called "
        "regressed, and a candidate that is worse by the margin may be called a pass.",
    )
    margin: float = Field(
        default=0.10,
        ge=0.01,
        le=0.25,
        description="Largest tolerated drop of the pass rate, as a share: 0.10 is ten percentage points.",
    )
    max_samples: Literal[1, 10] = Field(
        default=10,
        description="Most samples of a candidate per problem. 10: the gate compares after each of the first samples "
        "and stops as soon as the verdict is clear; an equal candidate takes about four. 1: it compares once. For "
        "another fixed number, which is compared once, remove this key, set `samples`.",
    )
    min_problems: int | None = Field(
        default=None,
        ge=2,
        le=100_000,
        description="Compared problems that a pass takes; default: 10 with ten samples, else 16. Below it "
        "a regression is still reported. A smaller number than the default is for trials: its passes prove little.",
    )
    compare: Compared = Field(
        default="candidate",
        description="What is under test. candidate: model and settings (sampling, output limit, prompt, solver, turns) "
        "may differ from the baseline's, and each difference is listed with the verdict. model: any difference but "
        "provider, model, snapshot, base_url, headers and query is incomparable.",
    )
    drop_changed: bool = Field(
        default=False,
        description="Compare on the problems that are the same on both sides where the suite has changed since the "
        "baseline was made, and list the others; otherwise such a baseline is incomparable.",
    )
    newer_than: date | None = Field(
        default=None,
        exclude_if=lambda day: day is None,  # a gate without it has the digest that it had before there was such a key
        description="Compare only on problems whose change is newer than this day, and list the others: what a model "
        "was trained on it may know by heart. A candidate or baseline with a later `training_cutoff` is refused.",
    )
    allow_expired: bool = Field(
        default=False,
        description="Gate with a baseline whose newest samples are 90 days old or older; otherwise such a baseline is "
        "incomparable.",
    )
    confirm_samples: int = Field(
        default=3,
        ge=0,
        le=20,
        description="Fresh baseline samples per problem that a regression has to stand up to before it is reported; "
        "0 reports it at once. A run that passes makes none.",
    )
    on_inconclusive: OnInconclusive = Field(
        default="neutral",
        description="What inconclusive does in CI: neutral (the check is neutral and the step succeeds), fail or pass.",
    )
    must_pass: tuple[str, ...] = Field(
        default=(),
        max_length=10_000,
        strict=False,
        description="Ids of problems that a candidate has to solve in at least one of its samples; if it solves one of "
        "them in none, the verdict is regressed. These are outside the promise that alpha makes.",
    )
    cohorts: Mapping[str, CohortPolicy] = Field(
        default={},
        description="Floors by tag, as {floor: 0.8, tier: critical}; `all` names all problems. Without a baseline the "
        "critical ones decide alone. Cohorts without one are compared too, but only ever warn.",
    )
    max_cost_per_resolved: float | None = Field(
        default=None,
        gt=0,
        description="Warn when a resolved problem costs more than this many dollars.",
    )
    max_p95_latency: float | None = Field(
        default=None,
        gt=0,
        description="Warn when the slowest twentieth of the attempts takes longer than this many seconds.",
    )

    @property
    def critical_floors(self) -> dict[str, float]:
        """Return the critical tier's required pass rates, by tag."""
        return {tag: rule.floor for tag, rule in sorted(self.cohorts.items()) if rule.tier == "critical"}

    @property
    def looks(self) -> tuple[int, ...]:
        """Return the samples per problem at each planned comparison."""
        return LOOKS if self.max_samples == LOOKS[-1] else (1,)

    @model_validator(mode="before")
    @classmethod
    def _without_scope(cls, value: Any) -> Any:
        if isinstance(value, dict) and "scope" in value:
            message = (
                "`scope` is no key any more: a verdict is about the problems of the suite, and a sentence beside it is "
                "about bugs like these. Remove the line."
            )
            raise ValueError(message)
        return value
