"""The words of a verdict: numbers are shown with as many digits as it takes not to contradict the decision."""

import re
from collections.abc import Mapping, Sequence

from codegate.gating.comparability import ABSENT
from codegate.gating.statistics import PairedResult
from codegate.gating.verdict import Mismatch
from codegate.suite import SANDBOX

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


def mismatch_reason(differing: tuple[Mismatch, ...], unproved: Sequence[Mapping[str, str]] = ()) -> str:
    """Return why two sides cannot be compared, and what helps.

    Args:
        differing: fields that must be equal.
        unproved: places that may differ once the suite is proved there.
    """

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
        f"baseline's conditions, or pin a new baseline under these.{_proof(unproved)}"
    )


def _proof(unproved: Sequence[Mapping[str, str]]) -> str:
    """Return which commands prove that a suite grades alike in these places."""
    if not unproved:
        return ""
    commands = " and ".join(f"`{_command(place)}`" for place in unproved)
    return (
        f" Sandboxes and base images may differ where the suite is proved to grade alike on both: run {commands}, "
        "commit proved.json in the suite's folder, and run the candidate again."
    )


def _command(place: Mapping[str, str]) -> str:
    images = {value for name, value in place.items() if name != SANDBOX}
    image = f"CODEGATE_BASE_IMAGE={images.pop()} " if len(images) == 1 else ""
    return f"{image}codegate validate SUITE --sandbox {place.get(SANDBOX, 'auto')}"


def _short(text: str) -> str:
    if re.fullmatch(r"[0-9a-f]{40,64}", text):
        return f"{text[:12]}..."
    return text if len(text) <= 60 else f"{text[:57]}..."
