"""Verdict of a comparison, with its evidence."""

from collections.abc import Sequence
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from codegate.errors import ExitCode
from codegate.gating.policy import Scope, Tier

VerdictKind = Literal["pass", "regressed", "inconclusive", "incomparable", "infrastructure"]
_WORST: Final[tuple[VerdictKind, ...]] = ("infrastructure", "regressed", "incomparable", "inconclusive", "pass")

EXIT_CODES: dict[VerdictKind, ExitCode] = {
    "pass": ExitCode.PASS,
    "regressed": ExitCode.REGRESSED,
    "inconclusive": ExitCode.INCONCLUSIVE,
    "incomparable": ExitCode.INCONCLUSIVE,
    "infrastructure": ExitCode.INFRASTRUCTURE,
}


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Flip(_Frozen):
    """A problem whose pass rate differs between baseline and candidate (rates in 0..1, with their n).

    ``beyond_chance``: a candidate that is as good on this problem would do so badly (or well) in fewer than 1 of 100
    runs. Other single flips are noise.
    """

    problem: str
    baseline_rate: float
    baseline_n: int
    candidate_rate: float
    candidate_n: int
    candidate_failure: str | None = None
    beyond_chance: bool = False


class Exclusion(_Frozen):
    """A problem left out of both sides, and why."""

    problem: str
    side: Literal["baseline", "candidate", "both"]
    reason: str


class Mismatch(_Frozen):
    """One field that differs between baseline and candidate."""

    field: str
    baseline: str
    candidate: str


class Cohort(_Frozen):
    """The problems that carry one tag: described, and gating only through a floor of the critical tier.

    Attributes:
        problems: compared problems with the tag.
        p_regression: one-sided p of "no drop" on them alone; None below five problems.
        p_holm: the same, adjusted for the number of cohorts by Holm's rule.
        floor: least pass rate by the policy; None where it sets none.
        upper: upper Wilson bound of the candidate's pass rate at the level of the gate; None without a floor.
    """

    tag: str
    problems: int
    baseline_rate: float
    candidate_rate: float
    p_regression: float | None = None
    p_holm: float | None = None
    floor: float | None = None
    tier: Tier | None = None
    upper: float | None = None


class Drift(_Frozen):
    """Fresh samples of the baseline against its stored ones on the same problems.

    Attributes:
        problems: problems with samples of both.
        fresh_samples: graded fresh samples, of all problems together.
        p: two-sided p of the exact stratified test that both have the same rate on every problem.
        drifted: ``p`` is below its level: the stored baseline no longer describes the pinned model here.
    """

    problems: int
    fresh_samples: int
    stored_rate: float
    fresh_rate: float
    p: float
    drifted: bool


class PopulationFinding(_Frozen):
    """What a comparison on the suite shows about bugs like these, of which the suite is a random sample.

    Attributes:
        units: pull requests whose means were compared, or the problems where each has its own.
        conclusion: a drop is shown, one of the margin is ruled out, or neither.
        sentence: the same for people, with its p.
        level: one-sided level of both p-values.
    """

    units: int
    conclusion: Literal["drop", "ruled out", "open"]
    sentence: str
    p_regression: float | None
    p_noninferior: float | None
    level: float


class Verdict(_Frozen):
    """The decision of the gate about one candidate.

    Rates are means over problems of the per-problem pass rate, in 0..1; ``difference`` is candidate minus
    baseline; ``interval`` is its two-sided interval at level ``confidence``; all None when nothing could be compared.
    In scope ``population`` the means are over pull requests instead of problems.

    Attributes:
        kind: the verdict.
        scope: the question that it answers: about these problems, or about problems like these.
        reason: for people, with n and uncertainty.
        population: what it shows about problems like these, beside a verdict of scope ``suite``.
        warnings: one sentence each; none of them changed the kind.
        advisory: too few problems, or baseline samples, for a pass.
        p_regression: one-sided p of "no drop"; small means a drop.
        p_noninferior: one-sided p of "the drop is at least the margin"; small means it is not.
        alpha: one-sided error over all looks and candidates, from the policy.
        looks: planned looks; ``look``: taken ones.
        samples: samples per problem that the look has; ``max_samples``: that the last planned one has.
        candidates: how many candidates the run gates together.
        level: one-sided level that ``p_noninferior`` was judged by; ``level_regressed`` the one of ``p_regression``.
        detectable_drop: smallest drop that ends as regressed in about 4 of 5 such runs; None where it is not known.
        units: what was compared: problems, or in scope ``population`` the pull requests that they come from.
        futile: further looks cannot settle the question.
        confirmed: whether a regression was seen against fresh baseline samples too; None without such samples.
        mismatches: fields that must be equal and are not; only an incomparable verdict has them.
        changes: fields that may differ and do, beside the model: what else was changed with it.
        must_pass_failed: problems of the policy's ``must_pass`` that the candidate never solved.
    """

    kind: VerdictKind
    scope: Scope
    reason: str
    population: PopulationFinding | None = None
    candidate: str
    label: str
    baseline_label: str
    problems: int = Field(ge=0)
    advisory: bool = False
    baseline_rate: float | None = None
    candidate_rate: float | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p_regression: float | None = None
    p_noninferior: float | None = None
    margin: float
    alpha: float
    looks: int = Field(default=1, ge=1)
    look: int = Field(default=1, ge=0)
    samples: int = Field(default=1, ge=0)
    max_samples: int = Field(default=1, ge=1)
    candidates: int = Field(default=1, ge=1)
    level: float
    level_regressed: float
    detectable_drop: float | None = None
    units: int = Field(default=0, ge=0)
    futile: bool = False
    confirmed: bool | None = None
    drift: Drift | None = None
    cohorts: tuple[Cohort, ...] = ()
    must_pass_failed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    regressions: tuple[Flip, ...] = ()
    improvements: tuple[Flip, ...] = ()
    excluded: tuple[Exclusion, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    changes: tuple[Mismatch, ...] = ()

    @property
    def confidence(self) -> float:
        """Return the level of ``interval``."""
        return 1.0 - self.level - self.level_regressed

    @property
    def lost(self) -> tuple[Flip, ...]:
        """Return the problems that were lost beyond chance."""
        return tuple(flip for flip in self.regressions if flip.beyond_chance)

    @property
    def exit_code(self) -> ExitCode:
        """Return the exit code that stands for this verdict."""
        return EXIT_CODES[self.kind]


def worst(verdicts: Sequence[Verdict]) -> Verdict | None:
    """Return the worst verdict, infrastructure first; None without any."""
    return min(verdicts, key=lambda verdict: _WORST.index(verdict.kind), default=None)
