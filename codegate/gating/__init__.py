"""Decide whether a candidate is worse than the baseline.

``compare`` takes the ``CandidateSamples`` of the baseline and of a candidate and returns a ``Verdict``, without random
numbers. Single commands use ``baseline`` (files), ``pinning``, ``drift``, ``history``, ``trend`` and ``power``
(simulations with a seed).
"""

from codegate.gating.baseline import Baseline, Download, Lock, load_lock, load_pinned
from codegate.gating.comparability import QUARANTINED
from codegate.gating.compare import compare
from codegate.gating.confirm import confirm
from codegate.gating.decision import CUT
from codegate.gating.pinning import Origin, RunSamples, pin
from codegate.gating.policy import GatePolicy
from codegate.gating.samples import CandidateSamples, Sample
from codegate.gating.verdict import ChangedProblem, Verdict, worst_first

__all__ = [
    "CUT",
    "QUARANTINED",
    "Baseline",
    "CandidateSamples",
    "ChangedProblem",
    "Download",
    "GatePolicy",
    "Lock",
    "Origin",
    "RunSamples",
    "Sample",
    "Verdict",
    "compare",
    "confirm",
    "load_lock",
    "load_pinned",
    "pin",
    "worst_first",
]
