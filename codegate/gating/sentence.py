"""The words of a verdict: numbers are shown with as many digits as it takes not to contradict the decision."""

import re

from codegate.gating.comparability import ABSENT
from codegate.gating.statistics import PairedResult
from codegate.gating.verdict import Mismatch

_NAMED = 5  # how many mismatches, or problems, a sentence names


def summary(
    result: PairedResult, *, problems: int, clustered: bool, margin: float, level: float, level_regressed: float
) -> str:
    """Return the figures with which a reason begins."""
    counted = f"{problems} problem" + ("" if problems == 1 else "s")
    if clustered:
        counted += f" from {result.n} pull requests"
    text = (
        f"Candidate {result.candidate_rate:.1%} vs baseline {result.baseline_rate:.1%} on {counted}: "
        f"{result.difference * 100:+.1f} pp"
    )
    if result.interval is None:
        return text
    low = beside(result.interval[0] * 100, -margin * 100, 1, "+")
    high = beside(result.interval[1] * 100, 0.0, 1, "+")
    return f"{text} ({100 * (1 - level - level_regressed):.4g}% interval {low}..{high})"


def beside(value: float, limit: float, digits: int, sign: str = "") -> str:
    """Format ``value`` with as many digits as it takes to stay on its side of ``limit``."""
    for places in range(digits, digits + 4):
        shown = f"{value:{sign}.{places}f}"
        if (float(shown) < limit) == (value < limit) and (float(shown) > limit) == (value > limit):
            return shown
    return f"{value:{sign}.{digits}f}"


def probability(p: float, level: float) -> str:
    """Return ``p=.012``, on its side of ``level``."""
    if p < 0.001 <= level:
        return "p<.001"
    return "p=" + beside(p, level, 3).removeprefix("0")


def listed(names: tuple[str, ...]) -> str:
    """Return the first few names and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def mismatch_reason(differing: tuple[Mismatch, ...]) -> str:
    """Return why two sides cannot be compared."""

    def describe(item: Mismatch) -> str:
        name = _short(item.field)
        if item.candidate == ABSENT:
            return f"{name} is only in the baseline"
        if item.baseline == ABSENT:
            return f"{name} is only in the candidate's run"
        return f"{name} differs ({_short(item.baseline)} there, {_short(item.candidate)} here)"

    named = "; ".join(describe(item) for item in differing[:_NAMED])
    more = f"; and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
    return (
        f"The pinned baseline was made under other conditions: {named}{more}. Run the candidate under the "
        "baseline's conditions, or pin a new baseline under these."
    )


def _short(text: str) -> str:
    if re.fullmatch(r"[0-9a-f]{40,64}", text):
        return f"{text[:12]}..."
    return text if len(text) <= 60 else f"{text[:57]}..."
