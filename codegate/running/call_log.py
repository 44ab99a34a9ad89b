"""``calls.log`` of a run: its model calls and their costs.

Every call is recorded durably before it is made, with its highest possible cost; the real cost is recorded afterwards.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final

from codegate.durable import append_line
from codegate.errors import UsageError
from codegate.strict import read_lines

CALLS: Final = "calls.log"

MAX_LOG_BYTES: Final = 2 << 30
MAX_LINE_BYTES: Final = 200
_LINE: Final = re.compile(
    rb"(?P<what>call|cost|check|answers) (?P<key>[0-9a-f]{16}) "
    rb"(?P<usd>-|-?[0-9]{1,12}(\.[0-9]{1,30})?(E-[0-9]{1,2})?)\n"
)


@dataclass(frozen=True)
class Spending:
    """The number of a run's model calls, and their cost.

    ``unpriced`` counts the calls of unknown cost, which is not in ``usd``. Calls that only test whether a candidate
    answers count in ``usd`` and ``unpriced``, but not in ``calls``.
    """

    calls: int = 0
    usd: Decimal = Decimal(0)
    unpriced: int = 0

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(self.calls + other.calls, self.usd + other.usd, self.unpriced + other.unpriced)


class CallLog:
    """The file ``calls.log`` of one run.

    ``writing`` returns a context manager, in which each line is written. ``free`` has the keys of candidates whose
    calls cost nothing.
    """

    def __init__(
        self, path: Path, writing: Callable[[], AbstractContextManager[None]], free: frozenset[str] = frozenset()
    ) -> None:
        self._path = path
        self._writing = writing
        self._free = free

    def record(self, candidate: str, usd: Decimal | None = None, *, check: bool = False) -> None:
        """Record durably that a call is about to be made.

        ``usd`` is the call's highest possible cost, None if unknown. ``check``: the call only tests whether the
        candidate answers, and belongs to no attempt.
        """
        self._append(f"{'check' if check else 'call'} {candidate} {'-' if usd is None else usd}")

    def record_cost(self, candidate: str, usd: Decimal) -> None:
        """Correct the recorded cost of an answered call.

        ``usd`` is the real cost minus the recorded cost.
        """
        self._append(f"cost {candidate} {usd}")

    def record_answers(self, candidate: str) -> None:
        """Record durably that a candidate has answered."""
        self._append(f"answers {candidate} -")

    def answering(self) -> frozenset[str]:
        """Return the keys of candidates that have answered."""
        return frozenset(found["key"].decode() for found in self._lines() if found["what"] == b"answers")

    def spending(self, candidate: str | None = None) -> Spending:
        """Return the calls and their cost so far.

        Interrupted calls count at their highest possible cost. The sum is never negative, even if the log was edited.
        ``candidate`` is a candidate's key; None: all candidates.
        """
        calls, usd, unpriced = 0, Decimal(0), 0
        for found in self._lines():
            if candidate is not None and found["key"] != candidate.encode():
                continue
            calls += found["what"] == b"call"
            if found["usd"] != b"-":
                usd += Decimal(found["usd"].decode())
            else:
                unpriced += found["what"] in {b"call", b"check"} and found["key"].decode() not in self._free
        return Spending(calls, max(usd, Decimal(0)), unpriced)

    def uncertain(self) -> int:
        """Return how many calls count with their highest possible cost.

        They were interrupted, or failed after the model may have worked.
        """
        signs = {b"call": 1, b"check": 1, b"cost": -1}
        priced = (found for found in self._lines() if found["usd"] != b"-" and Decimal(found["usd"].decode()))
        return max(0, sum(signs[found["what"]] for found in priced))

    def append_log(self, other: "CallLog") -> None:
        """Append all lines of another run's log."""
        for found in other._lines():
            self._append(found[0].rstrip(b"\n").decode("ascii"))

    def _append(self, line: str) -> None:
        with self._writing():
            append_line(self._path, line.encode("ascii"))

    def _lines(self) -> Iterator["re.Match[bytes]"]:
        if not os.path.lexists(self._path):
            return
        for number, line in enumerate(read_lines(self._path, MAX_LOG_BYTES, MAX_LINE_BYTES), start=1):
            if not line.endswith(b"\n"):
                break
            found = _LINE.search(line)  # an incomplete line may precede it
            if found is None:
                raise UsageError(f"{self._path} line {number} is not of a model call.", "Restore the file.")
            yield found
