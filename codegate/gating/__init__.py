"""What it means: pure statistics, comparability, the pinned baseline and the policy.

``CandidateSamples`` of the baseline and of a candidate go in, a ``Verdict`` comes out. Only the baseline's two
files are read or written here; everything else is pure and without random numbers.
"""

from codegate.gating.baseline import (
    Baseline,
    Lock,
    load_baseline,
    load_lock,
    load_pinned,
    missing_samples,
    pin,
    write_baseline,
    write_lock,
)
from codegate.gating.compare import compare
from codegate.gating.confirm import confirm
from codegate.gating.policy import CohortPolicy, GatePolicy, OnInconclusive, Tier
from codegate.gating.samples import CandidateSamples, Sample
from codegate.gating.verdict import EXIT_CODES, Cohort, Drift, Exclusion, Flip, Mismatch, Verdict, VerdictKind

__all__ = [
    "EXIT_CODES",
    "Baseline",
    "CandidateSamples",
    "Cohort",
    "CohortPolicy",
    "Drift",
    "Exclusion",
    "Flip",
    "GatePolicy",
    "Lock",
    "Mismatch",
    "OnInconclusive",
    "Sample",
    "Tier",
    "Verdict",
    "VerdictKind",
    "compare",
    "confirm",
    "load_baseline",
    "load_lock",
    "load_pinned",
    "missing_samples",
    "pin",
    "write_baseline",
    "write_lock",
]
