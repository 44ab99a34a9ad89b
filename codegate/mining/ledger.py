"""Results of units on disk, so that a stopped mining run can go on.

A result is stored under a digest of everything that it depends on: the commit, the versions of miner and grader, the
options. So nothing here is ever out of date, and a lost or damaged folder costs time only.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_args

from codegate.durable import digest, write_atomic
from codegate.errors import CodegateError
from codegate.grading import GRADER_VERSION
from codegate.mining.build import BuiltProblem
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.units import Prospect, Reason, Rejected
from codegate.suite import load_suite, write_suite

MINER_VERSION: Final = "21"
"""Raised when the same unit may come to another end than before."""

# Not the unit's own end: another day, a package index that answers, or more time may bring another one. A fix that the
# grader does not confirm had passed a moment before, and what was stumbled over may have been a lack of memory.
_PASSING: Final = frozenset({"budget", "timeout", "env_unresolved", "oracle_fails", "unreadable"})
_END_BYTES: Final = 1 << 20


class Ledger:
    """Stores the results of units. Thread-safe."""

    def __init__(self, folder: Path, options: Mapping[str, Any]) -> None:
        self._folder = folder
        self._options = digest([MINER_VERSION, GRADER_VERSION, options])

    def find(self, prospect: Prospect) -> BuiltProblem | Rejected | None:
        """Return the result of a unit, or None if not stored."""
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
        """Store the result of a unit.

        Raises:
            InfrastructureError: the disk refused.
        """
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
        key = digest([self._options, unit.commit, unit.base, _digest_of(prospect.enrichment)])
        return self._folder / key[:2] / key


def _digest_of(enrichment: Enrichment | None) -> str | None:
    return None if enrichment is None else digest(repr(enrichment))


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=True, sort_keys=True).encode("ascii")
