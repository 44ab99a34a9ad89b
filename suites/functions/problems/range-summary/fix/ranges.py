"""Numbers in few characters."""

from collections.abc import Iterable


def summary(numbers: Iterable[int]) -> str:
    """Return whole numbers as a text such as ``1-3,7``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(_shown(run) for run in runs)


def _shown(run: list[int]) -> str:
    texts = [f"({number})" if number < 0 else str(number) for number in run]
    return f"{texts[0]}-{texts[-1]}" if len(run) > 2 else ",".join(texts)
