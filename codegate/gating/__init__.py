"""What it means: pure statistics, comparability, the pinned baseline and the policy.

``CandidateSamples`` of the baseline and of a candidate go in, a ``Verdict`` comes out. Only the files of the baseline
and of the history are read or written here. A verdict uses no random numbers; forecasts and calibration have a seed.
"""

from codegate.gating.baseline import (
    EXPIRE_DAYS,
    MAX_BASELINE_BYTES,
    MAX_LOCK_BYTES,
    Age,
    Baseline,
    Lock,
    Pinning,
    Transport,
    age_of,
    load_baseline,
    load_lock,
    load_pinned,
    parse_lock,
    samples_each,
    verify_pinned,
    write_baseline,
    write_lock,
)
from codegate.gating.calibration import Calibration, calibrate
from codegate.gating.comparability import (
    QUARANTINED,
    differences,
    only_stored_answers,
    without_quarantined,
)
from codegate.gating.compare import compare
from codegate.gating.confirm import confirm
from codegate.gating.drift import (
    BaselineDifference,
    Change,
    counts_of,
    difference_of,
    pass_rate,
)
from codegate.gating.history import (
    HistoryEntry,
    append_history,
    history_entry,
    read_history,
)
from codegate.gating.looks import MAX_LOOKS
from codegate.gating.lost import CUT, TOLERATED_PROBLEMS
from codegate.gating.pinning import (
    MIN_SAMPLES,
    Origin,
    RunSamples,
    pin,
    pool,
    refresh,
    reset,
)
from codegate.gating.policy import GatePolicy
from codegate.gating.power import (
    PowerStatement,
    RateModel,
    baseline_model,
    forecast,
    power_statement,
    typical_model,
)
from codegate.gating.samples import CandidateSamples, Sample
from codegate.gating.sentence import controls_words
from codegate.gating.trend import (
    STALE_DAYS,
    Alarm,
    MatrixCell,
    Series,
    Watch,
    days_since,
    history_alarms,
    matrix_of,
    series_of,
    watch,
)
from codegate.gating.verdict import (
    Drift,
    Flip,
    Verdict,
    worst,
)

__all__ = [
    "CUT",
    "EXPIRE_DAYS",
    "MAX_BASELINE_BYTES",
    "MAX_LOCK_BYTES",
    "MAX_LOOKS",
    "MIN_SAMPLES",
    "QUARANTINED",
    "STALE_DAYS",
    "TOLERATED_PROBLEMS",
    "Age",
    "Alarm",
    "Baseline",
    "BaselineDifference",
    "Calibration",
    "CandidateSamples",
    "Change",
    "Drift",
    "Flip",
    "GatePolicy",
    "HistoryEntry",
    "Lock",
    "MatrixCell",
    "Origin",
    "Pinning",
    "PowerStatement",
    "RateModel",
    "RunSamples",
    "Sample",
    "Series",
    "Transport",
    "Verdict",
    "Watch",
    "age_of",
    "append_history",
    "baseline_model",
    "calibrate",
    "compare",
    "confirm",
    "controls_words",
    "counts_of",
    "days_since",
    "difference_of",
    "differences",
    "forecast",
    "history_alarms",
    "history_entry",
    "load_baseline",
    "load_lock",
    "load_pinned",
    "matrix_of",
    "only_stored_answers",
    "parse_lock",
    "pass_rate",
    "pin",
    "pool",
    "power_statement",
    "read_history",
    "refresh",
    "reset",
    "samples_each",
    "series_of",
    "typical_model",
    "verify_pinned",
    "watch",
    "without_quarantined",
    "worst",
    "write_baseline",
    "write_lock",
]
