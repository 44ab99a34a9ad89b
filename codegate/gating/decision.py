"""Decide about a candidate from counts of passes and samples.

``power`` simulates gates with the same decision.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Final, Literal

from codegate.gating.drop_tests import population_test, suite_test
from codegate.gating.policy import GatePolicy, error_level, look_number
from codegate.gating.samples import CandidateSamples, MatchedProblems, Sample, tally
from codegate.gating.statistics import Comparison, Pair, mean, within_variance
from codegate.gating.verdict import VerdictKind

Decision = Literal["pass", "regressed", "inconclusive"]

REACH: Final = 0.9
"""Share of the margin that must be measured before a drop on the suite is a regression."""
CONFIRMED_REACH: Final = 0.75
"""Share of the margin that the drop must reach once fresh samples of the baseline are pooled in."""
FRESH_REACH: Final = 0.5
"""Share of the margin that the drop must reach against the fresh samples alone."""
FEWEST_PROBLEMS: Final = 16
"""Fewest compared problems with which a candidate can pass; ``FEWEST_SAMPLED_WELL`` with ten samples per problem."""
FEWEST_SAMPLED_WELL: Final = 10

_POWER_QUANTILE: Final = NormalDist().inv_cdf(0.8)
NEAR: Final = 1e-9


@dataclass(frozen=True)
class Terms:
    """The policy and the sample plan of one comparison.

    ``looks`` are the samples per problem at each planned comparison ("look"). ``samples`` is the number made so far.
    ``candidates`` is the number of candidates gated together. ``confirming``: fresh samples of the baseline were added
    because a regression was seen. ``copied``: the candidate's answers are copies, so more samples add nothing.
    """

    policy: GatePolicy
    looks: tuple[int, ...]
    samples: int
    candidates: int = 1
    confirming: bool = False
    copied: bool = False

    @property
    def look(self) -> int:
        """Return the number of this planned comparison, from 1."""
        return look_number(self.looks, self.samples)

    @property
    def pending(self) -> bool:
        """Return whether another planned comparison follows."""
        return self.samples < self.looks[-1]

    @cached_property
    def level(self) -> float:
        """Return this comparison's one-sided error level for a pass."""
        return error_level(self.looks, self.samples, self.policy.alpha)

    @cached_property
    def level_regressed(self) -> float:
        """Return this comparison's one-sided error level for a regression."""
        return self.policy.alpha if self.confirming else self.level / self.candidates

    @property
    def smallest_regression(self) -> float:
        """Return the smallest measured drop that can be a regression."""
        return self.policy.margin * (CONFIRMED_REACH if self.confirming else REACH)

    @property
    def fewest_problems(self) -> int:
        """Return the fewest compared problems that a pass needs."""
        if self.policy.min_problems is not None:
            return self.policy.min_problems
        return FEWEST_SAMPLED_WELL if self.looks[-1] >= 10 else FEWEST_PROBLEMS


def compare_counts(pairs: Sequence[Pair], terms: Terms) -> Comparison:
    """Compare the candidate's counts with the baseline's.

    The result is about these problems only (``suite_test``). If the baseline has fewer than two samples per problem on
    average (equal answers count once), sampling noise cannot be separated from differences between problems. Then
    ``population_test`` counts both as noise, and the result is about all bugs like these.
    """
    test = suite_test if mean([pair.baseline_n for pair in pairs]) >= 2 else population_test
    return test(pairs, margin=terms.policy.margin, level=terms.level, level_regressed=terms.level_regressed)


def too_few(pairs: Sequence[Pair], terms: Terms) -> bool:
    """Return whether a pass needs more problems than ``pairs`` has."""
    return len(pairs) < terms.fewest_problems


def decide(comparison: Comparison, pairs: Sequence[Pair], terms: Terms) -> Decision:
    """Decide one planned comparison: pass, regressed or inconclusive.

    A pass is tested first, so that a significant drop smaller than the margin passes. A significant gain passes even if
    ``can_drop_by_margin`` is false.
    """
    if comparison.p_regression is None or comparison.p_noninferior is None or comparison.p_gain is None:
        return "inconclusive"
    if not too_few(pairs, terms):
        ruled_out = comparison.p_noninferior < terms.level and can_drop_by_margin(comparison, terms.policy)
        if ruled_out or comparison.p_gain < terms.level:
            return "pass"
    if comparison.p_regression < terms.level_regressed and comparison.difference <= -terms.smallest_regression + NEAR:
        return "regressed"
    return "inconclusive"


def can_drop_by_margin(comparison: Comparison, policy: GatePolicy) -> bool:
    """Return whether the baseline's rate exceeds the policy's margin.

    If not, no candidate can drop by the margin, and non-inferiority shows nothing.
    """
    return comparison.baseline_rate > policy.margin


def detectable_drop(pairs: Sequence[Pair], terms: Terms) -> float | None:
    """Return the smallest drop that 4 of 5 runs detect.

    A run detects a drop if its verdict is ``regressed``. None without repeated baseline samples, or if even a loss of
    all passes is not detected. The value holds for these problems and runs with all planned samples. The value is
    approximate: the measured drop varies with sqrt((W/b + W'/k) / n) for b samples per problem of the baseline and k of
    the candidate. W and W' are the means of p(1-p) of the baseline and of a candidate that lost the drop m in equal
    shares. m = max(``smallest_regression``, z se(0)) + z_{0.8} se(m) is solved by iteration.
    """
    within = within_variance([(pair.baseline_passed, pair.baseline_n) for pair in pairs])
    if within is None:
        return None
    n, rate = len(pairs), mean([pair.baseline_rate for pair in pairs])
    stored = within * mean([1.0 / pair.baseline_n for pair in pairs])
    final = Terms(terms.policy, terms.looks, terms.looks[-1], terms.candidates)

    def error(drop: float) -> float:
        kept = 1.0 - drop / rate
        fresh = kept * rate - kept * kept * (rate - within)
        return math.sqrt((stored + max(fresh, 0.0) / final.samples) / n)

    if rate <= 0.0:
        return None
    shown = max(final.smallest_regression, -NormalDist().inv_cdf(final.level_regressed) * error(0.0))
    drop = shown
    for _ in range(30):
        drop = min(shown + _POWER_QUANTILE * error(drop), rate)
    return drop if drop < rate else None


CUT: Final = frozenset({"truncated", "context_overflow", "provider.timeout"})
"""Failure classes and faults of answers that a limit of the configuration ended."""
MOST_CUT: Final = 0.10
"""Share of truncated answers above which the verdict must not depend on them."""
TOLERATED_PROBLEMS: Final = 0.10
"""Share of problems that an early look may lack, and that may lack more than half of their samples at the end."""
_STOPPED: Final = 0.5  # share of the problems without any sample at which a provider or a machine is down
_MANY: Final = 0.25  # share of lost samples above which a pass must hold with them as failures
_WARN_ABOVE: Final = 0.05  # share of lost samples above which the verdict is shown with them as failures too


def shortage_verdict(
    baseline: CandidateSamples, candidate: CandidateSamples, terms: Terms
) -> tuple[VerdictKind, str] | None:
    """Return verdict and reason if too few samples were graded.

    None if enough were graded. At the last planned comparison the verdict is ``infrastructure``. Earlier it is
    ``inconclusive``, because lost samples are repeated, or ``infrastructure`` if most problems have no graded sample at
    all.
    """
    problems = list(baseline.problem_digests)
    without = sum(not _counts(baseline, name) or not _counts(candidate, name) for name in problems)
    if terms.pending:
        if without > _STOPPED * len(problems):
            return "infrastructure", f"{without} of {len(problems)} problems have no graded sample: {_CAUSE}."
        if without > TOLERATED_PROBLEMS * len(problems):
            return (
                "inconclusive",
                f"{without} of {len(problems)} problems have no graded sample yet; the next look retries.",
            )
        return None
    for name, samples in (("the baseline", baseline), (candidate.label, candidate)):
        if reason := thin_samples_reason(samples, name, problems):
            return "infrastructure", reason
    return None


def thin_samples_reason(samples: CandidateSamples, name: str, problems: Collection[str]) -> str | None:
    """Return text if many problems lost over half their samples.

    None if not. ``name`` names the samples' candidate in the text.
    """
    planned = max((len(entries) for entries in samples.samples.values()), default=0)
    thin = sum(2 * _counts(samples, problem) < planned for problem in problems)
    if thin <= max(1, int(TOLERATED_PROBLEMS * len(problems))):
        return None
    return f"{thin} of {len(problems)} problems have fewer than half of the {planned} samples of {name}: {_CAUSE}."


_CAUSE: Final = "infrastructure faults took the others, so nothing was decided"


def _counts(samples: CandidateSamples, problem: str) -> int:
    return tally(samples.samples.get(problem, ()))[1]


def matched_with_losses(
    baseline: CandidateSamples, candidate: CandidateSamples, matched: MatchedProblems, terms: Terms
) -> dict[str, Pair]:
    """Return the counts of ``matched``, with lost samples as failures.

    A baseline problem without a graded sample of the candidate counts as failed, too.
    """
    pairs = with_losses(candidate, matched.pairs)
    for name in baseline.problem_digests.keys() - matched.pairs.keys():
        passed, n = tally(baseline.samples.get(name, ()))
        if n:
            pairs[name] = Pair(passed, n, 0, max(terms.samples, 1))
    return pairs


def with_losses(candidate: CandidateSamples, pairs: Mapping[str, Pair]) -> dict[str, Pair]:
    """Return the counts by problem, with lost samples as failures.

    A sample is lost if any of its tries ended in a fault that the answer may have caused, even if a later try was
    graded. Such losses count because they are not random. If many samples are lost, samples with other faults count as
    failed too.
    """
    every = _share_lost(candidate, pairs) > _MANY
    return _with_failures(candidate, pairs, every=every)


def with_baseline_losses(baseline: CandidateSamples, pairs: Mapping[str, Pair]) -> dict[str, Pair]:
    """Return the counts, with the baseline's lost answers as failures.

    A sample counts as failed if a fault took an earlier answer of it, even if a later answer was graded.
    """

    def held(name: str, pair: Pair) -> Pair:
        passed, _ = tally([sample for sample in baseline.samples[name] if sample.lost])
        return pair._replace(baseline_passed=max(pair.baseline_passed - passed, 0))

    return {name: held(name, pair) for name, pair in pairs.items()}


def lost_warning(
    candidate: CandidateSamples, matched: MatchedProblems, decided: Callable[[Mapping[str, Pair]], Decision]
) -> str | None:
    """Return a warning if many samples were lost, else None.

    The warning names the verdict with the lost samples counted as failed; ``decided`` returns it.
    """
    share = _share_lost(candidate, matched.pairs)
    if share <= _WARN_ABOVE:
        return None
    return (
        f"{share:.0%} of the candidate's samples were lost to infrastructure faults{lost_words(candidate)}; counted as "
        f"failures they would make the verdict "
        f"{decided(_with_failures(candidate, matched.pairs, every=True))}."
    )


def lost_words(candidate: CandidateSamples) -> str:
    """Return lost tries as text: `` (timeout 2)``, or ""."""
    lost = sum((Counter(sample.lost) for entries in candidate.samples.values() for sample in entries), Counter[str]())
    return f" ({', '.join(f'{name} {count}' for name, count in sorted(lost.items()))})" if lost else ""


def limits_words(candidate: CandidateSamples, cut: Collection[str]) -> str:
    """Return advice to raise the limits behind ``cut`` failures.

    ``cut`` are failure classes or faults of truncated answers.
    """
    return " ".join(candidate.limits[name] for name in sorted(cut) if name in candidate.limits)


def _share_lost(candidate: CandidateSamples, problems: Collection[str]) -> float:
    samples = [sample for name in problems for sample in candidate.samples[name]]
    return sum(bool(sample.lost) or sample.passed is None for sample in samples) / max(len(samples), 1)


def _with_failures(candidate: CandidateSamples, pairs: Mapping[str, Pair], *, every: bool) -> dict[str, Pair]:
    """Return the counts; samples with lost answers count as failed.

    A later try that passed does not count, because the lost answer may have been wrong. With ``every``, samples without
    a grade count as failed too.
    """

    def held(name: str, pair: Pair) -> Pair:
        lost = [sample for sample in candidate.samples[name] if sample.lost or (every and sample.passed is None)]
        passed, graded = tally(lost)
        passed = min(passed, pair.candidate_passed)  # the pair counts copies of one answer once
        return pair._replace(
            candidate_passed=pair.candidate_passed - passed, candidate_n=pair.candidate_n + len(lost) - graded
        )

    return {name: held(name, pair) for name, pair in pairs.items()}


def decide_counts(pairs: Mapping[str, Pair], terms: Terms) -> Decision:
    """Decide one planned comparison from counts by problem."""
    counts = tuple(pairs.values())
    return decide(compare_counts(counts, terms), counts, terms)


def judge_limits(
    candidate: CandidateSamples, kind: VerdictKind, reason: str, again: Callable[[CandidateSamples], VerdictKind]
) -> tuple[VerdictKind, str]:
    """Return ``inconclusive`` if truncated answers decide the verdict.

    ``kind`` is the verdict so far; ``again`` returns the verdict on other samples. Truncated answers decide if the
    verdict changes when they count as passed. Otherwise ``kind`` is returned. The second item is ``reason``, with a
    note on truncated answers if there are many.
    """
    samples = [sample for entries in candidate.samples.values() for sample in entries]
    cut = Counter(filter(None, map(_truncation_cause, samples)))
    answers = sum(sample.passed is not None or _truncation_cause(sample) is not None for sample in samples)
    if cut.total() <= MOST_CUT * answers or kind not in {"regressed", "inconclusive"}:
        return kind, reason
    what = ", ".join(f"{name} {count}" for name, count in sorted(cut.items()))
    found, advice = f"A limit cut {cut.total()} of {answers} answers ({what})", limits_words(candidate, cut)
    if again(_truncated_passed(candidate)) == kind:
        return kind, f"{reason} {found}; counted as passed they would not change this. {advice}".rstrip()
    return "inconclusive", (
        f"{found}, more than {MOST_CUT:.0%}: this measures the limit, not the model. {advice or 'Raise that limit.'} "
        f"Measured under this limit: {reason}"
    )


def _truncation_cause(sample: Sample) -> str | None:
    causes = [*sample.lost, *([sample.failure] if sample.passed is not None and sample.failure else [])]
    return next((cause for cause in causes if cause in CUT), None)


def _truncated_passed(candidate: CandidateSamples) -> CandidateSamples:
    def passed(sample: Sample) -> Sample:
        return sample if _truncation_cause(sample) is None else Sample(index=sample.index, passed=True)

    samples = {name: tuple(map(passed, entries)) for name, entries in candidate.samples.items()}
    return candidate.model_copy(update={"samples": samples})
