"""Format numbers as text, the same way in every report."""

from collections.abc import Callable
from typing import Any

from codegate.candidates.harness import changed_paths
from codegate.gating import Verdict
from codegate.gating.comparability import HARNESS
from codegate.gating.estimates import Difference, Estimate
from codegate.gating.verdict import Mismatch
from codegate.reporting.view import BehaviourView, CandidateView, Cell, ReportView
from codegate.wording import join_first


class Figure(str):
    """Formatted numbers, which need no escaping.

    HTML pages draw ``estimate`` as a bar.
    """

    estimate: Estimate | None
    is_share: bool

    def __new__(cls, value: object, estimate: Estimate | None = None, *, is_share: bool = False) -> "Figure":
        """Return ``value`` as a ``Figure``.

        ``is_share``: ``estimate`` is a share in 0..1.
        """
        made = super().__new__(cls, str(value))
        made.estimate, made.is_share = estimate, is_share
        return made


UNKNOWN = Figure("—")
_FEW = 20
_LONG = 60  # most characters of a setting's value

CELL_GLYPHS = {
    "passed": "✓",
    "failed": "✗",
    "mixed": "◐",
    "infrastructure": "!",
    "excluded": "∅",
    "missing": "?",
}

VERDICT_GLYPHS = {
    "pass": "✓",
    "regressed": "✗",
    "inconclusive": "≈",
    "incomparable": "≠",
    "infrastructure": "!",
}


def _known(form: Callable[[Any], str]) -> Callable[[float | None], Figure]:
    """Return ``form`` as a formatter that gives ``UNKNOWN`` for None."""
    return lambda value: UNKNOWN if value is None else Figure(form(value))


percent = _known(lambda value: f"{value:.1%}")
"""Format a share of 0..1 in per cent."""
count = _known(lambda value: f"{value:,.0f}")
"""Format the nearest whole number, with thousands separated."""
seconds = _known(lambda value: f"{value:.2f} s" if value < 10 else f"{value:,.0f} s")
"""Format a time in seconds, with decimals below ten."""
megabytes = _known(lambda value: f"{value / 1e6:,.0f} MB")
"""Format bytes in MB (10^6)."""
dollars = _known(lambda value: f"${value:,.4f}" if value < 1 else f"${value:,.2f}")
"""Format US dollars."""
p_value = _known(lambda value: "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0"))
"""Format a p-value."""
points = _known(lambda value: f"{_signed(value)} pp")
"""Format a difference of shares in signed percentage points."""


def _signed(value: float) -> str:
    # A value that is rounded to 0 has no sign.
    return f"{value * 100:+.1f}" if round(value * 100, 1) else "0.0"


def share(value: Estimate) -> Figure:
    """Format a share with interval and n: ``83.3% [64–93%] n=24``."""
    if value.value is None or value.low is None or value.high is None:
        return UNKNOWN
    return Figure(value.words(), value, is_share=True)


def estimate(value: Estimate, say: Callable[[float | None], str]) -> Figure:
    """Format an estimate: ``1.52 s [1.20 s–2.31 s] n=84``.

    ``say`` formats each number. An unbounded end is named: ``1.52 s [from 1.20 s, no upper bound] n=24``.
    """
    if value.value is None:
        return UNKNOWN
    match value.low, value.high:
        case None, None:
            ends = ""
        case low, None:
            ends = f" [from {say(low)}, no upper bound]"
        case None, high:
            ends = f" [no lower bound, to {say(high)}]"
        case low, high:
            ends = f" [{say(low)}–{say(high)}]"
    return Figure(f"{say(value.value)}{ends} {value.sample}", value)


def difference(value: Difference) -> Figure:
    """Format a difference: ``-3.3 pp [-9.1 to +2.0 pp] n=30``."""
    if value.value is None or value.low is None or value.high is None:
        return UNKNOWN
    return Figure(f"{points(value.value)} [{_signed(value.low)} to {_signed(value.high)} pp] n={value.n:,}")


def number(value: float | None, digits: int = 1) -> Figure:
    """Format a number with ``digits`` decimals."""
    return UNKNOWN if value is None else Figure(f"{value:.{digits}f}")


def fraction(part: int | None, whole: int | None) -> Figure:
    """Format ``part/whole``."""
    return UNKNOWN if part is None or whole is None else Figure(f"{part:,}/{whole:,}")


def spaced(name: str) -> str:
    """Return an identifier as words: ``logic error``."""
    return name.replace("_", " ")


def cell(value: Cell) -> str:
    """Describe a candidate's result on one problem in few words."""
    if value.status in {"excluded", "missing", "infrastructure"}:
        return value.status
    samples = f" {value.passed}/{value.graded}" if value.graded > 1 else ""
    failure = f": {spaced(value.failure)}" if value.failure else ""
    return f"{value.status}{samples}{failure}"


def attempted(value: BehaviourView | None) -> str:
    """Summarise the tested code's unusual actions, such as connections.

    Without such actions the text is ``nothing``; ``UNKNOWN`` if they were not recorded. A note says if no hook watched
    the process from inside.
    """
    if value is None:
        return UNKNOWN
    if not value.watched:
        return f"{value.summary or UNKNOWN} (not watched inside the process)"
    return value.summary or "nothing"


def notable(view: ReportView, candidate: CandidateView) -> list[tuple[str, str]]:
    """Return (problem, text) pairs of unusual actions, for one candidate."""
    column = view.candidates.index(candidate)
    return [
        (row.id, attempt.behaviour.summary)
        for row in view.problems
        for attempt in row.cells[column].attempts
        if attempt.behaviour is not None and attempt.behaviour.notable
    ]


def interval(verdict: Verdict) -> Figure:
    """Format the confidence interval of a verdict's difference."""
    if verdict.interval is None:
        return UNKNOWN
    low, high = map(_signed, verdict.interval)
    return Figure(f"{low} to {high} pp")


def confidence(verdict: Verdict) -> Figure:
    """Format the confidence level of a verdict's interval."""
    return Figure(f"{100 * verdict.confidence:.3g}%")


def looks(verdict: Verdict) -> Figure:
    """Format this planned comparison's number, and how alpha is split."""
    several = f"; alpha is split over {verdict.candidates} candidates" if verdict.candidates > 1 else ""
    return Figure(f"{verdict.look} of {verdict.looks}{several}")


def baseline_samples(verdict: Verdict) -> Figure:
    """Format the baseline's samples per problem, with an explanation."""
    if verdict.baseline_samples is None:
        return UNKNOWN
    each = f"{verdict.baseline_samples:.3g} per problem"
    return Figure(f"{each}; its luck is in every verdict, and more samples narrow it")


def detectable(verdict: Verdict) -> Figure:
    """Format the smallest drop that 4 of 5 runs detect."""
    return UNKNOWN if verdict.detectable_drop is None else Figure(f"{verdict.detectable_drop * 100:.1f} pp")


def _change(one: Mismatch) -> str:
    if one.field == HARNESS and (paths := changed_paths(one.baseline, one.candidate)):
        return f"{HARNESS}: {join_first(paths, _FEW)}"
    return f"{one.field} {_brief(one.baseline)} → {_brief(one.candidate)}"


def _brief(value: str) -> str:
    return value if len(value) <= _LONG else f"{value[: _LONG - 1]}…"


def notes(verdict: Verdict) -> tuple[str, ...]:
    """Return remarks on a verdict, a sentence each."""
    found = [verdict.population.sentence] if verdict.population is not None else []
    if verdict.changes:
        found.append(f"also changed: {'; '.join(map(_change, verdict.changes))}")
    found += [f"warning: {warning}" for warning in verdict.warnings]
    if verdict.must_pass_failed:
        unsolved = join_first(verdict.must_pass_failed, _FEW)
        found.append(f"never solved, although the policy says they must be: {unsolved}")
    return tuple(found)
