"""Reports of what people spent."""

from collections import Counter


def as_csv(entries):
    """Return the sums of each person as CSV."""
    return _lines(entries, "{},{}", "name,amount")


def as_markdown(entries):
    """Return the sums of each person as a table in Markdown."""
    return _lines(entries, "| {} | {} |", "| name | amount |", "|---|---|")


def as_text(entries):
    """Return the sums of each person as lines for people."""
    return _lines(entries, "{} spent {}")


def _lines(entries, row, *head):
    sums = Counter()
    for entry in entries:
        sums[entry["name"].strip().title() or "Unknown"] += entry["cents"]
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    rows = [row.format(name, f"{cents // 100}.{cents % 100:02}") for name, cents in ordered]
    return "\n".join([*head, *rows]) + "\n"
