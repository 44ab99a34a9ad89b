"""The samples of a candidate: passed, failed or not graded."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field

from codegate.gating.statistics import Pair, beta_binomial_cdf
from codegate.gating.verdict import ChangedProblem, Exclusion
from codegate.strict import Strict


class Sample(Strict):
    """One attempt, reduced to what the gate needs.

    ``passed`` is None if infrastructure failed: the sample does not count, and ``failure`` is the reason. ``answer`` is
    a digest of the whole answer, by which copies are found; None if the answer was not kept. ``lost`` counts, by fault,
    the tries of this sample that ended in a fault which the answer may have caused.
    """

    index: int = Field(ge=0)
    passed: bool | None
    score: float | None = Field(default=None, ge=0, le=100)
    failure: str | None = None
    answer: str | None = None
    lost: Mapping[str, int] = Field(default={}, exclude_if=lambda lost: not lost)


class CandidateSamples(Strict):
    """All samples of one candidate on a suite.

    Attributes:
        conditions: what must be equal in baseline and candidate: the suite's digest, the grader, the sandbox.
        proved: places (sandbox, images) in which the suite was proved to grade the same, this one included.
        settings: what is under test, by field: model, provider, sampling, prompt, solver.
        excluded: reasons why the other problems of the suite were not run, by problem.
        clusters: pull request of each problem; a problem that is not named here is independent of all others.
        plain: digests without controls, by problem id, of problems with controls; only of a run, not of a baseline.
        packages: a digest for each set of package versions that was installed for the candidate's agent.
        limits: advice to raise a limit, by failure class or fault; only of a run, not of a baseline.
    """

    candidate: str
    label: str
    model: str
    conditions: Mapping[str, str]
    proved: tuple[Mapping[str, str], ...] = ()
    settings: Mapping[str, str] = {}
    problem_digests: Mapping[str, str]
    excluded: Mapping[str, str] = {}
    samples: Mapping[str, tuple[Sample, ...]]
    clusters: Mapping[str, str] = {}
    tags: Mapping[str, tuple[str, ...]] = {}
    packages: tuple[str, ...] = Field(default=(), exclude_if=lambda packages: not packages)
    plain: Mapping[str, str] = Field(default={}, exclude=True)
    limits: Mapping[str, str] = Field(default={}, exclude=True)

    @property
    def fields(self) -> dict[str, str]:
        """Return conditions and settings together, by field."""
        return {**self.conditions, **self.settings}

    def renumbered(self) -> "CandidateSamples":
        """Return a copy with each problem's samples numbered from 0."""
        numbered = {
            problem: tuple(sample.model_copy(update={"index": index}) for index, sample in enumerate(entries))
            for problem, entries in self.samples.items()
        }
        return self.model_copy(update={"samples": numbered})


_BEYOND_CHANCE: Final = 0.01


@dataclass(frozen=True)
class MatchedProblems:
    """Passes and samples of problems common to baseline and candidate.

    ``excluded`` are all other problems, with the reasons. ``failures`` has by problem the candidate's most frequent
    failure class, None if no sample failed.
    """

    pairs: dict[str, Pair]
    failures: dict[str, str | None]
    excluded: tuple[Exclusion, ...]


def with_grade(samples: tuple[Sample, ...]) -> list[Sample]:
    """Return the samples that have a grade."""
    return [sample for sample in samples if sample.passed is not None]


def tally(samples: Sequence[Sample]) -> tuple[int, int]:
    """Return the numbers of passes and of graded samples."""
    return sum(sample.passed is True for sample in samples), sum(sample.passed is not None for sample in samples)


def match_problems(baseline: CandidateSamples, candidate: CandidateSamples) -> MatchedProblems:
    """Count passes and graded samples of baseline and candidate.

    A problem for which baseline or candidate lacks graded samples is excluded, with a reason.
    """
    pairs: dict[str, Pair] = {}
    failures: dict[str, str | None] = {}
    excluded: list[Exclusion] = []
    for problem in sorted(baseline.problem_digests):
        all_left, all_right = baseline.samples.get(problem, ()), candidate.samples.get(problem, ())
        left, right = tally(all_left), tally(all_right)
        if left[1] and right[1]:
            pairs[problem] = Pair(*left, *right)
            failures[problem] = most_frequent(sample.failure for sample in with_grade(all_right) if not sample.passed)
            continue
        side: Literal["baseline", "candidate", "both"] = "candidate" if left[1] else "baseline" if right[1] else "both"
        excluded.append(Exclusion(problem=problem, side=side, reason=_missing_reason(side, all_left, all_right)))
    return MatchedProblems(pairs, failures, tuple(excluded))


def most_frequent(names: Iterable[str | None]) -> str | None:
    """Return the most frequent name; of equals, the first alphabetically."""
    counts = Counter(filter(None, names))
    return min(counts, key=lambda name: (-counts[name], name), default=None)


def _missing_reason(side: str, left: tuple[Sample, ...], right: tuple[Sample, ...]) -> str:
    blamed = left + right if side == "both" else left if side == "baseline" else right
    if not blamed:
        return "no sample"
    causes = sorted({sample.failure for sample in blamed if sample.passed is None and sample.failure})
    return f"no counted sample: {', '.join(causes) or 'infrastructure fault'}"


def count_copied(samples: CandidateSamples) -> tuple[int, int]:
    """Count the problems whose samples all repeat one answer.

    Returns (copied problems, checked problems). A problem is checked if it has several graded samples and all their
    answers are known.
    """
    several = [
        {sample.answer for sample in entries}
        for entries in map(with_grade, samples.samples.values())
        if len(entries) >= 2 and all(sample.answer is not None for sample in entries)
    ]
    return sum(len(answers) == 1 for answers in several), len(several)


def without_copies(samples: CandidateSamples) -> CandidateSamples:
    """Drop repeated answers, if most problems have only one answer.

    A model at temperature 0, or behind a cache, repeats one answer. Its samples are not independent, and counting each
    would overstate the evidence. In that case each problem keeps only its first graded copy. If most problems have
    several answers, all samples are kept: an easy problem has equal answers by chance.
    """
    same, several = count_copied(samples)
    if 2 * same <= several:
        return samples

    def once(entries: tuple[Sample, ...]) -> tuple[Sample, ...]:
        graded = with_grade(entries)
        if len({sample.answer for sample in graded}) != 1 or graded[0].answer is None:
            return entries
        return tuple(sample for sample in entries if sample.passed is None or sample is graded[0])

    return samples.model_copy(update={"samples": {name: once(entries) for name, entries in samples.samples.items()}})


def clusters_of(problems: list[str], sources: Mapping[str, str]) -> list[str]:
    """Return each problem's cluster: its pull request, or itself.

    ``sources`` has the pull requests by problem.
    """
    return [f"source {sources[problem]}" if problem in sources else f"problem {problem}" for problem in problems]


def beyond_chance(passed: int, n: int, other_passed: int, other_n: int) -> bool:
    """Return whether ``passed`` of ``n`` is significantly low.

    The expected rate comes from ``other_passed`` of ``other_n``. The predictive distribution given these (beta-binomial
    after Jeffreys' prior Beta(1/2, 1/2)) has at most 1 % at ``passed`` or fewer. So 0 of 3 is significant after 9 of
    10, and so is 0 of 2 after 10 of 10, but not 0 of 1.
    """
    return beta_binomial_cdf(passed, n, other_passed + 0.5, other_n - other_passed + 0.5) <= _BEYOND_CHANCE


def changed_problems(matched: MatchedProblems) -> tuple[tuple[ChangedProblem, ...], tuple[ChangedProblem, ...]]:
    """Return newly failing and newly passing problems, largest change first.

    Any lower or higher pass rate counts.
    """
    changed = [
        ChangedProblem(
            problem=problem,
            baseline_rate=pair.baseline_rate,
            baseline_n=pair.baseline_n,
            candidate_rate=pair.candidate_rate,
            candidate_n=pair.candidate_n,
            candidate_failure=matched.failures[problem],
            beyond_chance=_changed_beyond_chance(pair),
        )
        for problem, pair in matched.pairs.items()
        if pair.difference != 0.0
    ]
    changed.sort(key=lambda change: (-abs(change.candidate_rate - change.baseline_rate), change.problem))
    worse = tuple(change for change in changed if change.candidate_rate < change.baseline_rate)
    return worse, tuple(change for change in changed if change.candidate_rate > change.baseline_rate)


def _changed_beyond_chance(pair: Pair) -> bool:
    if pair.difference < 0.0:
        return beyond_chance(pair.candidate_passed, pair.candidate_n, pair.baseline_passed, pair.baseline_n)
    failed, other_failed = pair.candidate_n - pair.candidate_passed, pair.baseline_n - pair.baseline_passed
    return beyond_chance(failed, pair.candidate_n, other_failed, pair.baseline_n)
