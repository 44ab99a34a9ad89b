"""The gate's policy: how large a drop is tolerated, at which error rate, and on how few problems."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from codegate.gating.looks import SCHEDULES

Scope = Literal["suite", "population"]
OnInconclusive = Literal["neutral", "fail", "pass"]
Tier = Literal["critical", "supporting", "advisory"]
Compared = Literal["candidate", "model"]


class CohortPolicy(BaseModel):
    """The pass rate that the problems with one tag must reach."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

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


class GatePolicy(BaseModel):
    """Thresholds of the gate. Every value has a default; unknown keys and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    scope: Scope = Field(
        default="suite",
        description="Which question the verdict answers. suite: is the candidate worse on these problems? population: "
        "is it worse on problems like these, of which the suite is a random sample? That needs more problems for the "
        "same certainty. Its answer always stands beside the verdict.",
    )
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
    max_samples: Literal[1, 2, 3, 5, 10] = Field(
        default=10,
        description="Most samples of a candidate per problem. The gate compares after each of the first samples and "
        "stops as soon as the verdict is clear: an equal candidate takes about four of ten.",
    )
    min_problems: int | None = Field(
        default=None,
        ge=2,
        le=100_000,
        description="Compared problems that a pass takes; default: 10 on the suite with ten samples, else 16. Below it "
        "a regression is still reported. A smaller number than the default is for trials: its passes prove little.",
    )
    compare: Compared = Field(
        default="candidate",
        description="What is under test. candidate: model and settings (sampling, output limit, prompt, solver, turns) "
        "may differ from the baseline's, and each difference is listed with the verdict. model: any difference but "
        "provider, model and base_url is incomparable.",
    )
    drop_changed: bool = Field(
        default=False,
        description="Compare on the problems that are the same on both sides where the suite has changed since the "
        "baseline was made, and list the others; otherwise such a baseline is incomparable.",
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
        description="Floors by tag, as {floor: 0.8, tier: critical}. Cohorts without one are compared too, but only "
        "ever warn.",
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
    def looks(self) -> tuple[int, ...]:
        """Return the samples per problem after which a run compares."""
        return SCHEDULES[self.max_samples]
