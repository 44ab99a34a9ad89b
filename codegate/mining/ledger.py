"""Results of earlier minings, stored on disk.

A mining run that was stopped goes on from them, and a later one tries no change twice.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_args

from codegate.durable import digest, write_atomic
from codegate.errors import CodegateError
from codegate.grading import GRADER_VERSION
from codegate.mining.build import BuiltProblem
from codegate.mining.units import Prospect, Reason, Rejected
from codegate.suite import load_suite, write_suite

MINER_VERSION: Final = "60"
"""Version of mining. It is raised when a unit may have another result than before."""

# Results that are not stored, because the next try may have another one: on another day, with a package index that
# answers, with more time, or with more memory after an unexpected error. A fix that the grader does not confirm
# (``oracle_fails``) passed its tests just before.
_PASSING: Final = frozenset({"budget", "timeout", "env_unresolved", "oracle_fails", "unreadable"})
_END_BYTES: Final = 1 << 20


class Ledger:
    """Stores the results of changes on disk. Thread-safe.

    A result is stored under a digest of everything that it depends on: the commit, the versions of miner and grader,
    the options. So no stored result is ever out of date, and a lost or damaged folder costs time only.
    """

    def __init__(self, folder: Path, options: Mapping[str, Any]) -> None:
        self._folder = folder
        self._options = digest([MINER_VERSION, GRADER_VERSION, options])

    def find(self, prospect: Prospect) -> BuiltProblem | Rejected | None:
        """Return the stored result of a change, or None."""
        place = self._place(prospect)
        try:
            end = json.loads((place / "end.json").read_bytes()[:_END_BYTES])
            if end.get("reason") is not None:
                return Rejected(end["reason"], str(end["detail"])) if end["reason"] in get_args(Reason) else None
            suite = load_suite(place / "suite")
        except (OSError, ValueError, KeyError, AttributeError, TypeError, CodegateError):
            return None
        if [problem.digest for problem in suite.problems] != [end.get("digest")]:
            return None
        (problem,) = suite.problems
        return BuiltProblem(problem, suite.environments[problem.manifest.environment])

    def record(self, prospect: Prospect, end: BuiltProblem | Rejected) -> None:
        """Store the result of a change."""
        place = self._place(prospect)
        if isinstance(end, Rejected):
            if end.reason not in _PASSING:
                write_atomic(place / "end.json", _json({"reason": end.reason, "detail": end.detail}))
            return
        place.mkdir(parents=True, exist_ok=True)
        write_suite(
            place / "suite",
            name="unit",
            repository=None,
            environments=[end.environment],
            problems=[end.problem],
        )
        write_atomic(place / "end.json", _json({"digest": end.problem.digest}))

    def _place(self, prospect: Prospect) -> Path:
        unit = prospect.unit
        facts = None if prospect.enrichment is None else digest(repr(prospect.enrichment))
        key = digest([self._options, unit.commit, unit.base, facts])
        return self._folder / key[:2] / key


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=True, sort_keys=True).encode("ascii")
