"""The verdict of a comparison, with its evidence."""

from collections.abc import Sequence
from typing import Final, Literal

from pydantic import Field

from codegate.errors import ExitCode
from codegate.gating.policy import Tier
from codegate.strict import Strict

VerdictKind = Literal["pass", "regressed", "inconclusive", "incomparable", "infrastructure"]
_WORST: Final[tuple[VerdictKind, ...]] = ("infrastructure", "regressed", "incomparable", "inconclusive", "pass")

EXIT_CODES: dict[VerdictKind, ExitCode] = {
    "pass": ExitCode.PASS,
    "regressed": ExitCode.REGRESSED,
    "inconclusive": ExitCode.INCONCLUSIVE,
    "incomparable": ExitCode.INCONCLUSIVE,
    "infrastructure": ExitCode.INFRASTRUCTURE,
}


class ChangedProblem(Strict):
    """One problem whose pass rates of baseline and candidate differ.

    Rates are in 0..1; ``baseline_n`` and ``candidate_n`` are numbers of samples. ``beyond_chance``: an equally good
    candidate would differ this much in fewer than 1 of 100 runs. A single change without it is noise.
    """

    problem: str
    baseline_rate: float
    baseline_n: int
    candidate_rate: float
    candidate_n: int
    candidate_failure: str | None = None
    beyond_chance: bool = False


class Exclusion(Strict):
    """A problem left out of the comparison, and the reason."""

    problem: str
    side: Literal["baseline", "candidate", "both"]
    reason: str


class Mismatch(Strict):
    """One field that differs between baseline and candidate."""

    field: str
    baseline: str
    candidate: str


class Cohort(Strict):
    """The results on the problems that carry one tag.

    Only a floor of the critical tier can change the verdict. ``p_regression`` is the one-sided p of "no drop", None
    below five problems; ``p_holm`` is adjusted for the number of cohorts. ``lower`` and ``upper`` are the exact
    interval of the candidate's rate at level ``confidence``; ``upper`` is compared with ``floor``. Without a baseline,
    the fields about it are None.
    """

    tag: str
    problems: int
    baseline_rate: float | None
    candidate_rate: float
    p_regression: float | None = None
    p_holm: float | None = None
    floor: float | None = None
    tier: Tier | None = None
    lower: float | None = None
    upper: float | None = None
    confidence: float | None = None


class Drift(Strict):
    """The difference between the pinned model's fresh and stored samples.

    ``p`` is the two-sided p of the exact stratified test. ``drifted``: the stored baseline no longer describes the
    model.
    """

    problems: int
    fresh_samples: int
    stored_rate: float
    fresh_rate: float
    p: float
    drifted: bool


class PopulationFinding(Strict):
    """An estimate for bugs beyond the suite; it decides nothing.

    The suite is treated as a random sample of all such bugs.

    Attributes:
        units: number of pull requests, which is the number of problems if each has its own.
        difference: candidate minus baseline, mean over units.
        interval: paired confidence interval of ``difference``; None with fewer than two units.
        level: one-sided error of each end of ``interval``.
    """

    units: int
    difference: float
    interval: tuple[float, float] | None
    level: float
    sentence: str


class Verdict(Strict):
    """The decision of the gate about one candidate.

    Rates are means over problems of the per-problem pass rate, in 0..1; all None when nothing could be compared.

    Attributes:
        reason: for people, with n and uncertainty.
        baseline_label: None if floors and ``must_pass`` decided without a baseline.
        population: what the comparison shows about bugs like these.
        baseline_samples: mean samples per problem of the baseline.
        advisory: too few problems for a pass.
        interval: two-sided, of ``difference`` (candidate minus baseline) at level ``confidence``.
        p_regression: one-sided p of "no drop"; a small p shows a drop.
        p_noninferior: one-sided p of "the drop is at least the margin"; a small p rules that out.
        alpha: one-sided error over all looks and candidates, from the policy.
        looks: number of planned comparisons; ``look`` is the number of this one, from 1.
        samples: samples per problem so far; ``max_samples`` is the number at the last planned comparison.
        candidates: number of candidates that the run gates together.
        level: one-sided level of ``p_noninferior``; ``level_regressed`` is that of ``p_regression``.
        detectable_drop: smallest drop that ends as regressed in about 4 of 5 such runs; None if unknown.
        futile: more samples cannot settle the verdict.
        confirmed: whether fresh baseline samples show the regression too; None without such samples.
        mismatches: fields that must be equal and are not; ``changes`` are fields that may differ and do.
        must_pass_failed: problems of the policy's ``must_pass`` that the candidate never solved.
    """

    kind: VerdictKind
    reason: str
    population: PopulationFinding | None = None
    candidate: str
    label: str
    baseline_label: str | None
    problems: int = Field(default=0, ge=0)
    advisory: bool = False
    baseline_rate: float | None = None
    baseline_samples: float | None = None
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
    futile: bool = False
    confirmed: bool | None = None
    drift: Drift | None = None
    cohorts: tuple[Cohort, ...] = ()
    must_pass_failed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    regressions: tuple[ChangedProblem, ...] = ()
    improvements: tuple[ChangedProblem, ...] = ()
    excluded: tuple[Exclusion, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    changes: tuple[Mismatch, ...] = ()

    @property
    def confidence(self) -> float:
        """Return the confidence level of ``interval``, such as 0.95."""
        return 1.0 - self.level - self.level_regressed

    @property
    def exit_code(self) -> ExitCode:
        """Return the command's exit code for this verdict."""
        return EXIT_CODES[self.kind]


def worst_first(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts from worst to best, ``infrastructure`` first."""
    return tuple(sorted(verdicts, key=lambda verdict: _WORST.index(verdict.kind)))
