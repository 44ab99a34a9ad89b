"""Break a candidate's results down by turn, failure and tag."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from codegate.gating.estimates import Difference, Estimate, mean_rate, pooled_share, share_difference
from codegate.gating.samples import most_frequent
from codegate.gating.statistics import holm, stratified_test
from codegate.reporting.correctness import GradedSample, Samples, correctness
from codegate.running import Outcome

DATE_TAG: Final = "date"
"""Name of the tag with the day of a problem's change, as in ``date:2024-05-01``. It divides the problems at a training
cut-off."""

_CLASSES: Final = 40  # most failure classes, because a baseline's file can name any number
_MANY: Final = 24  # values from which a tag counts as a name, not as a kind


@dataclass(frozen=True)
class Turn:
    """The attempts that reached one turn of the tool loop.

    ``reached`` attempts took at least this many turns; ``solved`` of them solved their problem with this turn as their
    last. ``by_then`` is the share of all attempts that solved their problem by this turn.
    """

    number: int
    reached: int
    solved: int
    rate: Estimate
    by_then: Estimate


@dataclass(frozen=True)
class FailureShare:
    """One failure class's share of samples, and the baseline's share.

    ``p`` comes from the two-sided exact test of "no problem's share differs", adjusted for the number of classes
    (Holm).
    """

    name: str
    count: int
    share: Estimate
    baseline: Estimate
    difference: Difference
    p: float | None


@dataclass(frozen=True)
class TagMeasures:
    """The pass rates on the problems of one tag.

    ``baseline`` and ``difference`` cover only problems that the baseline has too. ``failure`` is the candidate's most
    frequent failure class.
    """

    tag: str
    pass_rate: Estimate
    score: Estimate
    baseline: Estimate
    difference: Difference
    failure: str | None


def turns(found: Mapping[str, Sequence[Outcome]], limit: int) -> tuple[Turn, ...]:
    """Count the attempts that reached each turn and solved there.

    ``found`` has the outcomes by problem; ``limit`` is the largest number of turns of an attempt. Empty if every
    attempt took one turn.
    """
    solved_at = {
        problem: [
            (outcome.attempt.iterations, outcome.grade.resolved)
            for outcome in outcomes
            if outcome.attempt is not None and outcome.grade is not None
        ]
        for problem, outcomes in found.items()
    }
    last = min(max((taken for entries in solved_at.values() for taken, _ in entries), default=0), limit)
    return tuple(_turn(number, solved_at.values()) for number in range(1, last + 1)) if last > 1 else ()


def _turn(number: int, problems: Iterable[Sequence[tuple[int, bool]]]) -> Turn:
    reached, solved = 0, 0
    rates: list[tuple[int, int]] = []
    ever: list[tuple[int, int]] = []
    for entries in problems:
        here = [resolved for taken, resolved in entries if taken == number]
        alive = sum(taken >= number for taken, _ in entries)
        reached += alive
        solved += sum(here)
        rates.append((sum(here), alive))
        ever.append((sum(resolved and taken <= number for taken, resolved in entries), len(entries)))
    return Turn(number, reached, solved, pooled_share(rates, of="attempts"), pooled_share(ever, of="attempts"))


def failure_shares(side: Samples, baseline: Samples) -> tuple[FailureShare, ...]:
    """Return each failure class's share of a candidate's samples.

    ``side`` has the samples. The most frequent class comes first. The baseline's share and the difference cover only
    problems that candidate and baseline share.
    """
    both = sorted(side.keys() & baseline.keys())
    counts = Counter(sample.failure for samples in side.values() for sample in samples if sample.failure)
    theirs = {sample.failure for problem in both for sample in baseline[problem] if sample.failure}
    names = sorted(counts.keys() | theirs, key=lambda name: (-counts[name], name))[:_CLASSES]
    rates = {name: ([_rate(side[p], name) for p in both], [_rate(baseline[p], name) for p in both]) for name in names}
    tables = {name: [(*_count(baseline[p], name), *_count(side[p], name)) for p in both] for name in names}
    p_values = holm({name: stratified_test(tables[name]) for name in names}) if both else {}
    return tuple(
        FailureShare(
            name=name,
            count=counts[name],
            share=mean_rate(_rate(samples, name) for samples in side.values()),
            baseline=mean_rate(rates[name][1]),
            difference=share_difference(*rates[name]),
            p=p_values.get(name),
        )
        for name in names
    )


def _count(samples: Sequence[GradedSample], name: str) -> tuple[int, int]:
    return sum(sample.failure == name for sample in samples), len(samples)


def _rate(samples: Sequence[GradedSample], name: str) -> float:
    found, n = _count(samples, name)
    return found / n


def tag_measures(
    side: Samples, baseline: Samples, tags: Mapping[str, Sequence[str]], cutoff: date | None
) -> tuple[TagMeasures, ...]:
    """Return the pass rates on each tag's problems.

    ``side`` has the candidate's samples, ``tags`` the tags of each problem. The tag ``date`` gets the values before and
    after ``cutoff``, the day on which the model's training data ends.
    """
    return tuple(_cohort(tag, problems, side, baseline) for tag, problems in tagged(side, tags, cutoff).items())


def tagged(
    problems: Collection[str], tags: Mapping[str, Sequence[str]], cutoff: date | None = None
) -> dict[str, list[str]]:
    """Return the problems by tag, sorted by tag.

    ``tags`` has the tags of each problem. The tag ``date`` gets the values before and after ``cutoff``. Tags that all
    problems have are left out, and so are tags with more than 24 values, which are names.
    """
    members: dict[str, list[str]] = {}
    for problem in problems:
        for tag in dict.fromkeys(_told(tags.get(problem, ()), cutoff)):
            members.setdefault(tag, []).append(problem)
    values = Counter(tag.partition(":")[0] for tag in members)
    return {
        tag: found
        for tag, found in sorted(members.items())
        if len(found) < len(problems) and values[tag.partition(":")[0]] <= _MANY
    }


def _told(tags: Iterable[str], cutoff: date | None) -> Iterable[str]:
    for tag in tags:
        name, _, value = tag.partition(":")
        if name != DATE_TAG:
            yield tag
        elif cutoff is not None:
            try:
                day = date.fromisoformat(value[:10])
            except ValueError:
                continue
            yield f"training cut-off:{'before' if day <= cutoff else 'after'}"


def _cohort(tag: str, problems: Sequence[str], side: Samples, baseline: Samples) -> TagMeasures:
    both = [problem for problem in problems if problem in baseline]
    ours = correctness({problem: side[problem] for problem in problems}, 1)
    theirs = [_passed(baseline[problem]) for problem in both]
    return TagMeasures(
        tag=tag,
        pass_rate=ours.pass_at_1,
        score=ours.score,
        baseline=mean_rate(theirs),
        difference=share_difference([_passed(side[problem]) for problem in both], theirs),
        failure=most_frequent(sample.failure for problem in problems for sample in side[problem]),
    )


def _passed(samples: Sequence[GradedSample]) -> float:
    return sum(sample.passed for sample in samples) / len(samples)
