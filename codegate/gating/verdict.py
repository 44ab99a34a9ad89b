"""Verdict: what a comparison means, with all of its evidence."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from codegate.errors import ExitCode

VerdictKind = Literal["pass", "regressed", "inconclusive", "incomparable", "infrastructure"]

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
    """A problem whose pass rate differs between baseline and candidate (rates in 0..1, with their n)."""

    problem: str
    baseline_rate: float
    baseline_n: int
    candidate_rate: float
    candidate_n: int
    candidate_failure: str | None = None


class Exclusion(_Frozen):
    """A problem left out of both sides, and why."""

    problem: str
    side: Literal["baseline", "candidate", "both"]
    reason: str


class Mismatch(_Frozen):
    """One field of the comparability key that differs."""

    field: str
    baseline: str
    candidate: str


class Verdict(_Frozen):
    """The decision of the gate about one candidate.

    Rates are means over problems of the per-problem pass rate, in 0..1; ``difference`` is candidate minus
    baseline; ``interval`` is its two-sided interval at level 1 - 2 alpha; all None when nothing could be compared.

    Attributes:
        kind: the verdict.
        reason: one sentence for people, with n and uncertainty.
        advisory: fewer problems than the policy's minimum: shown, but nothing to bet on.
        p_regression: one-sided p of "no drop"; small means a drop.
        p_noninferior: one-sided p of "the drop is at least the margin"; small means it is not.
    """

    kind: VerdictKind
    reason: str
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
    regressions: tuple[Flip, ...] = ()
    improvements: tuple[Flip, ...] = ()
    excluded: tuple[Exclusion, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """Return the exit code that stands for this verdict."""
        return EXIT_CODES[self.kind]
