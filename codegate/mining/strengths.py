"""Describe a suite's problems: origin, strength and age.

A model may have read everything that was public before its training ended, but cannot have memorised a newer fix. So
problems with newer fixes are counted for each candidate.
"""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from pydantic import TypeAdapter

from codegate.suite import EVIDENCE, Problem, Suite

STRENGTHS_SCHEMA: Final = "codegate.suite-report/1"


@dataclass(frozen=True)
class Distribution:
    """Number, median and range of values; None without values."""

    n: int
    median: float | None = None
    lowest: float | None = None
    highest: float | None = None

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "Distribution":
        """Return the distribution of the values that are not None."""
        known = [value for value in values if value is not None]
        return cls(len(known), statistics.median(known), min(known), max(known)) if known else cls(0)


@dataclass(frozen=True)
class Exposure:
    """How many problems are newer than a model's training data.

    Attributes:
        cutoff: the configured day on which its training data ends; None if unknown.
        after: number of problems whose fix is newer than that day; None if the day is unknown.
        n: number of active problems with a date.
    """

    candidate: str
    cutoff: date | None
    after: int | None
    n: int


@dataclass(frozen=True)
class Strengths:
    """Facts about a suite's active problems.

    Attributes:
        counts: by facet (``kind``, ``tier``, ``year``, ``component``, ``language``, ``statement``, ``source``) and
            value.
        hunk_coverage: share of a fix's parts that its tests notice.
        age_days: days from a fix to ``today``.
        environments: how many environments the active problems use.
        status: number of problems by status, active or not.
        leaks: ids of problems whose leak audit found something, or was not made.
        unclean: ids of problems whose test command's exit status contradicts its tests' results.
        narrow: ids of problems whose tests require exact texts, which the statement shows.
        untold: ids of problems with tests that are not graded because the statement does not show what they require.
        new_tests: ids of problems all of whose fail-to-pass tests are new.
        exposure: one entry for each candidate in ``cutoffs``.
    """

    counts: Mapping[str, Mapping[str, int]]
    hunk_coverage: Distribution
    statement_words: Distribution
    fail_to_pass: Distribution
    pass_to_pass: Distribution
    age_days: Distribution
    environments: int
    status: Mapping[str, int]
    leaks: tuple[str, ...]
    unclean: tuple[str, ...]
    narrow: tuple[str, ...]
    untold: tuple[str, ...]
    new_tests: tuple[str, ...]
    exposure: tuple[Exposure, ...]

    def document(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        return {"schema": STRENGTHS_SCHEMA, **TypeAdapter(Strengths).dump_python(self, mode="json")}


def assess(suite: Suite, today: date, cutoffs: Mapping[str, date | None]) -> Strengths:
    """Return facts about ``suite``, with ages up to ``today``.

    ``cutoffs``: by candidate label, the day its training data ends; None if it is unknown.
    """
    active = suite.active
    moments = [problem.manifest.provenance.date for problem in active]
    days = [moment.date() for moment in moments if moment is not None]
    quality = {problem.id: problem.manifest.quality for problem in active}
    statements = [(problem, problem.manifest.statement) for problem in active]
    tagged = {
        name: _count(problem.manifest.tags.get(name, "unknown") for problem in active)
        for name in ("tier", "year", "component")
    }
    return Strengths(
        counts={
            "kind": _count(problem.manifest.kind or "unknown" for problem in active),
            "language": _count(problem.manifest.language for problem in active),
            **tagged,
            "statement": _count(problem.manifest.tags.get(EVIDENCE, text.mode) for problem, text in statements),
            "source": _count(source for _, text in statements for source in text.sources or (text.mode,)),
        },
        hunk_coverage=Distribution.of(found.hunk_coverage if found else None for found in quality.values()),
        statement_words=Distribution.of(float(len(problem.statement.split())) for problem in active),
        fail_to_pass=Distribution.of(float(len(problem.tests.FAIL_TO_PASS)) for problem in active),
        pass_to_pass=Distribution.of(float(len(problem.tests.PASS_TO_PASS)) for problem in active),
        age_days=Distribution.of(float((today - day).days) for day in days),
        environments=len({problem.manifest.environment for problem in active}),
        status=_count(problem.manifest.status for problem in suite.problems),
        leaks=_ids(active, lambda one: one.manifest.leak_audit is None or not one.manifest.leak_audit.clean),
        unclean=tuple(name for name, found in quality.items() if found and found.command_clean is False),
        narrow=tuple(name for name, found in quality.items() if found and found.exact_texts),
        untold=_ids(active, lambda one: any(test.quarantine.reason == "untold" for test in one.tests.QUARANTINED)),
        new_tests=_ids(active, lambda one: set(one.tests.NONE_TO_PASS) == set(one.tests.FAIL_TO_PASS)),
        exposure=tuple(
            Exposure(label, cutoff, None if cutoff is None else sum(day > cutoff for day in days), len(days))
            for label, cutoff in cutoffs.items()
        ),
    )


def _ids(problems: Iterable[Problem], chosen: Callable[[Problem], bool]) -> tuple[str, ...]:
    return tuple(problem.id for problem in problems if chosen(problem))


def _count(values: Iterable[str]) -> dict[str, int]:
    return dict(Counter(values).most_common())
