"""What is paid for a month in which something changed."""

from calendar import monthrange
from datetime import date, timedelta
from fractions import Fraction


def invoice(
    month: tuple[int, int], changes: list[tuple[date, str | None, int]], prices: dict[str, int], credits: int = 0
) -> dict:
    """Return the lines, the credit that is used, and the total."""
    days = monthrange(*month)[1]
    first, last = date(*month, 1), date(*month, days)
    if credits < 0 or any(seats < 0 for _, _, seats in changes):
        raise ValueError("seats and credits must not be negative")
    by_day: dict[date, tuple[str | None, int]] = {}
    for day, plan, seats in changes:
        if day > last:
            continue
        if plan is not None and plan not in prices:
            raise KeyError(plan)
        by_day[day] = (plan, seats) if plan is not None and seats else (None, 0)
    runs: list[tuple[date, str | None, int]] = [(first, None, 0)]
    for day, (plan, seats) in sorted(by_day.items(), key=lambda item: item[0]):
        start = max(day, first)
        if runs[-1][0] == start:
            runs.pop()
        if not runs or runs[-1][1:] != (plan, seats):
            runs.append((start, plan, seats))
    ends = [run[0] - timedelta(days=1) for run in runs[1:]] + [last]
    lines, exact = [], []
    for (start, plan, seats), end in zip(runs, ends, strict=True):
        if plan is not None:
            lines.append((start, end, plan, seats))
            exact.append(Fraction(seats * prices[plan] * ((end - start).days + 1), days))
    cents = _rounded(exact)
    used = min(credits, sum(cents))
    return {
        "lines": [(*line, amount) for line, amount in zip(lines, cents, strict=True)],
        "credit": used,
        "total": sum(cents) - used,
    }


def _rounded(exact: list[Fraction]) -> list[int]:
    cents = [int(amount) for amount in exact]
    missing = round(sum(exact, Fraction(0))) - sum(cents)
    order = sorted(range(len(exact)), key=lambda number: (cents[number] - exact[number], number))
    for number in order[:missing]:
        cents[number] += 1
    return cents
