"""What it means: pure statistics, comparability, the pinned baseline and the policy.

``CandidateSamples`` of the baseline and of a candidate go in, a ``Verdict`` comes out. Only the baseline's two
files are read or written here; everything else is pure and without random numbers.
"""

from codegate.gating.baseline import (
    EXPIRE_DAYS,
    WARN_DAYS,
    Age,
    Baseline,
    Lock,
    Pinning,
    PooledRun,
    age_of,
    load_baseline,
    load_lock,
    load_pinned,
    missing_samples,
    samples_each,
    write_baseline,
    write_lock,
)
from codegate.gating.comparability import QUARANTINED, mismatches, without_quarantined
from codegate.gating.compare import compare
from codegate.gating.confirm import confirm
from codegate.gating.difference import BaselineDifference, ProblemRates, difference_of
from codegate.gating.drift import (
    Change,
    Rate,
    change_between,
    counts_of,
    pass_rate,
)
from codegate.gating.history import (
    HistoryEntry,
    append_history,
    history_entry,
    read_history,
)
from codegate.gating.nightly import (
    STALE_DAYS,
    Alarm,
    Night,
    Watch,
    history_alarms,
    watch,
)
from codegate.gating.pinning import (
    DRIFT_LEVEL,
    MIN_SAMPLES,
    DriftShown,
    Origin,
    RunSamples,
    pin,
    pool,
    refresh,
    reset,
)
from codegate.gating.policy import CohortPolicy, GatePolicy, OnInconclusive, Tier
from codegate.gating.samples import CandidateSamples, Sample
from codegate.gating.trend import (
    MatrixCell,
    Series,
    Slope,
    days_since,
    matrix_of,
    pooled_counts,
    series_of,
    slope_of,
)
from codegate.gating.verdict import EXIT_CODES, Cohort, Drift, Exclusion, Flip, Mismatch, Verdict, VerdictKind

__all__ = [
    "DRIFT_LEVEL",
    "EXIT_CODES",
    "EXPIRE_DAYS",
    "MIN_SAMPLES",
    "QUARANTINED",
    "STALE_DAYS",
    "WARN_DAYS",
    "Age",
    "Alarm",
    "Baseline",
    "BaselineDifference",
    "CandidateSamples",
    "Change",
    "Cohort",
    "CohortPolicy",
    "Drift",
    "DriftShown",
    "Exclusion",
    "Flip",
    "GatePolicy",
    "HistoryEntry",
    "Lock",
    "MatrixCell",
    "Mismatch",
    "Night",
    "OnInconclusive",
    "Origin",
    "Pinning",
    "PooledRun",
    "ProblemRates",
    "Rate",
    "RunSamples",
    "Sample",
    "Series",
    "Slope",
    "Tier",
    "Verdict",
    "VerdictKind",
    "Watch",
    "age_of",
    "append_history",
    "change_between",
    "compare",
    "confirm",
    "counts_of",
    "days_since",
    "difference_of",
    "history_alarms",
    "history_entry",
    "load_baseline",
    "load_lock",
    "load_pinned",
    "matrix_of",
    "mismatches",
    "missing_samples",
    "pass_rate",
    "pin",
    "pool",
    "pooled_counts",
    "read_history",
    "refresh",
    "reset",
    "samples_each",
    "series_of",
    "slope_of",
    "watch",
    "without_quarantined",
    "write_baseline",
    "write_lock",
]
