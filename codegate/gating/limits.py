"""Answers that a limit of the configuration cut: too many of them, and no verdict is a regression."""

from collections import Counter
from typing import Final

from codegate.gating.samples import CandidateSamples
from codegate.gating.verdict import VerdictKind

CUT: Final = frozenset({"truncated", "context_overflow", "provider.timeout"})
"""Failure classes and faults of answers that a limit of the configuration ended."""
MOST_CUT: Final = 0.10
"""Largest share of such answers that a regression may rest on."""


def judge_limits(candidate: CandidateSamples, kind: VerdictKind, reason: str) -> tuple[VerdictKind, str]:
    """Return verdict and reason: inconclusive where a limit cut too many of the answers.

    Args:
        candidate: the candidate's samples.
        kind: the verdict by the statistics.
        reason: its reason.
    """
    samples = [sample for entries in candidate.samples.values() for sample in entries]
    cut = Counter(sample.failure for sample in samples if sample.failure in CUT)
    answers = sum(sample.passed is not None or sample.failure in CUT for sample in samples)
    if cut.total() <= MOST_CUT * answers or kind not in {"regressed", "inconclusive"}:
        return kind, reason
    what = ", ".join(f"{name} {count}" for name, count in sorted(cut.items()))
    advice = " ".join(candidate.limits[name] for name in sorted(filter(None, cut)) if name in candidate.limits)
    return "inconclusive", (
        f"A limit cut {cut.total()} of {answers} answers ({what}), more than {MOST_CUT:.0%}: this shows the limit, not "
        f"the model. {advice or 'Raise that limit.'} Measured under this limit: {reason}"
    )
