"""Figures as people read them: one way to write a rate, a time and the unknown, for every format."""

from codegate.gating import Verdict
from codegate.reporting.view import BehaviourView, CandidateView, Cell, ReportView, Share

UNKNOWN = "—"

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


def percent(value: float | None) -> str:
    """Return a share of 0..1 in per cent."""
    return UNKNOWN if value is None else f"{value:.1%}"


def points(value: float | None) -> str:
    """Return a difference of shares in signed percentage points."""
    return UNKNOWN if value is None else f"{value * 100:+.1f} pp"


def share(value: Share) -> str:
    """Return a share with its n, and its interval if known: ``83.3% [64–93%] n=24``."""
    if value.value is None or value.low is None or value.high is None:
        return UNKNOWN
    return f"{value.value:.1%} [{value.low * 100:.0f}–{value.high * 100:.0f}%] n={value.n}"


def number(value: float | None, digits: int = 1) -> str:
    """Return a number with ``digits`` decimals."""
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def count(value: int | None) -> str:
    """Return a whole number with thousands separated."""
    return UNKNOWN if value is None else f"{value:,}"


def seconds(value: float | None) -> str:
    """Return a time in seconds, finer when it is short."""
    if value is None:
        return UNKNOWN
    return f"{value:.2f} s" if value < 10 else f"{value:,.0f} s"


def megabytes(value: int | None) -> str:
    """Return bytes in MB (10^6)."""
    return UNKNOWN if value is None else f"{value / 1e6:,.0f} MB"


def dollars(value: float | None) -> str:
    """Return US dollars."""
    return UNKNOWN if value is None else f"${value:,.4f}" if value < 1 else f"${value:,.2f}"


def probability(value: float | None) -> str:
    """Return a p-value."""
    return UNKNOWN if value is None else "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def ratio(part: int | None, whole: int | None) -> str:
    """Return ``part/whole``."""
    return UNKNOWN if part is None or whole is None else f"{part:,}/{whole:,}"


def words(name: str) -> str:
    """Return an identifier such as ``logic_error`` as words."""
    return name.replace("_", " ")


def cell(value: Cell) -> str:
    """Return one candidate on one problem in a few words."""
    if value.status in {"excluded", "missing", "infrastructure"}:
        return value.status
    samples = f" {value.passed}/{value.graded}" if value.graded > 1 else ""
    failure = f": {words(value.failure)}" if value.failure else ""
    return f"{value.status}{samples}{failure}"


def attempted(value: BehaviourView | None) -> str:
    """Return what the code under test tried to do in a few words."""
    if value is None:
        return UNKNOWN
    if not value.watched:
        return f"{value.summary or UNKNOWN} (not watched inside the process)"
    return value.summary or "nothing"


def notable(view: ReportView, candidate: CandidateView) -> list[tuple[str, str]]:
    """Return problem and behaviour of a candidate's attempts that tried what honest code seldom tries."""
    column = view.candidates.index(candidate)
    return [
        (row.id, attempt.behaviour.summary)
        for row in view.problems
        for attempt in row.cells[column].attempts
        if attempt.behaviour is not None and attempt.behaviour.notable
    ]


def interval(verdict: Verdict) -> str:
    """Return the interval of a verdict's difference."""
    if verdict.interval is None:
        return UNKNOWN
    low, high = (f"{end * 100:+.1f}" for end in verdict.interval)
    return f"{low} to {high} pp"


def level(verdict: Verdict) -> str:
    """Return the level of a verdict's interval."""
    return f"{100 * (1 - 2 * verdict.alpha):.4g}%"
