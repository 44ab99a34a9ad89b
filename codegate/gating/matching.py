"""From two sets of samples to one pair of counts per problem: exclusions, copies and clusters."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from codegate.gating.samples import CandidateSamples, Sample
from codegate.gating.statistics import Pair
from codegate.gating.verdict import Exclusion


@dataclass(frozen=True)
class Matched:
    """The problems both sides have counted samples of, in order of their ids, and the others with reasons.

    ``failures`` is the most frequent failure class of the candidate on each problem.
    """

    pairs: dict[str, Pair]
    failures: dict[str, str | None]
    excluded: tuple[Exclusion, ...]


def counted(samples: tuple[Sample, ...]) -> list[Sample]:
    """Return the samples that have a grade."""
    return [sample for sample in samples if sample.passed is not None]


def match(baseline: CandidateSamples, candidate: CandidateSamples) -> Matched:
    """Return the counts of every problem that has a graded sample on both sides, and why the others have not."""
    pairs: dict[str, Pair] = {}
    failures: dict[str, str | None] = {}
    excluded: list[Exclusion] = []
    for problem in sorted(baseline.problem_digests):
        all_left, all_right = baseline.samples.get(problem, ()), candidate.samples.get(problem, ())
        left, right = counted(all_left), counted(all_right)
        if left and right:
            pairs[problem] = Pair(
                sum(bool(sample.passed) for sample in left),
                len(left),
                sum(bool(sample.passed) for sample in right),
                len(right),
            )
            lost = Counter(sample.failure for sample in right if not sample.passed and sample.failure)
            failures[problem] = min(lost, key=lambda name: (-lost[name], name)) if lost else None
            continue
        side: Literal["baseline", "candidate", "both"] = (
            "both" if not left and not right else "candidate" if left else "baseline"
        )
        excluded.append(Exclusion(problem=problem, side=side, reason=_missing_reason(side, all_left, all_right)))
    return Matched(pairs, failures, tuple(excluded))


def _missing_reason(side: str, left: tuple[Sample, ...], right: tuple[Sample, ...]) -> str:
    blamed = left + right if side == "both" else left if side == "baseline" else right
    if not blamed:
        return "no sample"
    causes = sorted({sample.failure for sample in blamed if sample.passed is None and sample.failure})
    return f"no counted sample: {', '.join(causes) or 'infrastructure fault'}"


def copied(samples: CandidateSamples) -> tuple[int, int]:
    """Return on how many problems all graded answers are the same, and of how many problems with two or more."""
    several = [
        {sample.answer for sample in entries}
        for entries in map(counted, samples.samples.values())
        if len(entries) >= 2 and all(sample.answer is not None for sample in entries)
    ]
    return sum(len(answers) == 1 for answers in several), len(several)


def without_copies(samples: CandidateSamples) -> CandidateSamples:
    """Return the samples with equal answers counted once per problem, where most problems have only equal ones.

    A model at temperature 0, or behind a cache, gives one answer, repeated: its samples are no independent
    draws, and to count them as such would overstate the evidence. Few equal answers are no copies: a problem may be
    easy. Of equal answers the first graded one stays.
    """
    same, several = copied(samples)
    if 2 * same <= several:
        return samples

    def once(entries: tuple[Sample, ...]) -> tuple[Sample, ...]:
        if len({sample.answer for sample in counted(entries)}) > 1:
            return entries  # draws that differ: the equal ones among them are as likely as they are frequent
        seen: set[str] = set()
        kept = []
        for sample in entries:
            if sample.passed is not None and sample.answer is not None:
                if sample.answer in seen:
                    continue
                seen.add(sample.answer)
            kept.append(sample)
        return tuple(kept)

    return samples.model_copy(update={"samples": {name: once(entries) for name, entries in samples.samples.items()}})


def clusters_of(problems: list[str], sources: Mapping[str, str]) -> list[str]:
    """Return, for each problem, the name of its cluster: a problem without a source is a cluster of its own."""
    return [f"source {sources[problem]}" if problem in sources else f"problem {problem}" for problem in problems]
