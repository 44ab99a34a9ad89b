"""Compare a candidate with the baseline and return the verdict."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from codegate.errors import UsageError
from codegate.gating.cohorts import (
    ALL,
    broken_floors,
    cohort_results,
    cohort_warnings,
    problems_of,
    solved_words,
    unseen_floors,
)
from codegate.gating.comparability import (
    Differences,
    changed_model_warning,
    check_samples,
    differences,
    without_changed,
    without_quarantined,
)
from codegate.gating.decision import (
    CUT,
    FEWEST_PROBLEMS,
    Decision,
    Terms,
    compare_counts,
    decide,
    decide_counts,
    detectable_drop,
    judge_limits,
    limits_words,
    lost_warning,
    lost_words,
    matched_with_losses,
    shortage_verdict,
    too_few,
    with_baseline_losses,
)
from codegate.gating.drop_tests import population_test
from codegate.gating.policy import GatePolicy
from codegate.gating.samples import (
    CandidateSamples,
    MatchedProblems,
    changed_problems,
    clusters_of,
    count_copied,
    match_problems,
    tally,
    without_copies,
)
from codegate.gating.sentence import mismatch_reason, population_sentence, reason_of
from codegate.gating.statistics import Pair, mean
from codegate.gating.verdict import Cohort, Exclusion, PopulationFinding, Verdict, VerdictKind
from codegate.wording import count_of, join_first

_FEWEST_UNITS: Final = 12
"""Fewest pull requests for a statement about bugs beyond the suite. A t test of fewer has hardly any power."""
_POPULATION_LEVEL: Final = 0.7
"""Share of alpha at which the interval for bugs beyond the suite is computed."""


@dataclass(frozen=True)
class _Comparison:
    baseline: CandidateSamples
    candidate: CandidateSamples
    terms: Terms
    differing: Differences
    left_out: tuple[Exclusion, ...]

    @property
    def tags(self) -> dict[str, tuple[str, ...]]:
        return {**self.baseline.tags, **self.candidate.tags}

    def unseen(self) -> dict[str, str]:
        carried = {tag for name in self.baseline.problem_digests for tag in self.tags.get(name, ())}
        return unseen_floors(carried, self.terms.policy)

    def verdict(self, kind: VerdictKind, reason: str, **evidence: Any) -> Verdict:
        terms = self.terms
        return Verdict(
            kind=kind,
            reason=reason,
            candidate=self.candidate.candidate,
            label=self.candidate.label,
            baseline_label=self.baseline.label,
            margin=terms.policy.margin,
            alpha=terms.policy.alpha,
            looks=len(terms.looks),
            look=terms.look,
            samples=terms.samples,
            max_samples=terms.looks[-1],
            candidates=terms.candidates,
            level=terms.level,
            level_regressed=terms.level_regressed,
            mismatches=self.differing.mismatches,
            changes=self.differing.changes,
            **evidence,
        )


def compare(
    baseline: CandidateSamples,
    candidate: CandidateSamples,
    policy: GatePolicy,
    *,
    looks: tuple[int, ...] | None = None,
    candidates: int = 1,
    confirming: bool = False,
) -> Verdict:
    """Compare a candidate with the baseline; return the verdict.

    Samples lost to infrastructure faults do not count. A problem for which only baseline or candidate has graded
    samples is left out. A pass must also hold if problems without samples of the candidate count as failed. A pass (a
    drop of the margin is ruled out, or the candidate is better) has priority over a regression. Two things are
    regressions in any case: a critical cohort significantly below its floor, and a ``must_pass`` problem that was never
    solved.

    Args:
        baseline: samples of the pinned candidate.
        candidate: samples of the candidate under test.
        policy: thresholds of the gate.
        looks: samples per problem at each planned comparison; None: a single comparison of all samples.
        candidates: number of candidates gated together; they share the error level of a regression (Bonferroni).
        confirming: ``baseline`` includes fresh samples, made because a regression was seen.
    """
    if candidates < 1:
        raise ValueError(f"at least one candidate is gated, not {candidates}")
    check_samples(baseline, "baseline")
    check_samples(candidate, "candidate")
    check_must_pass(baseline, candidate, policy)
    # Samples per problem that were tried, graded or not.
    taken = max((entries[-1].index + 1 for entries in candidate.samples.values() if entries), default=0)
    terms = Terms(policy, looks or (max(taken, 1),), taken, candidates, confirming)
    if taken and without_copies(candidate) is not candidate:
        terms = replace(terms, looks=(taken,), copied=True)  # more samples add nothing, so this look is the only one
    baseline, candidate, quarantined = without_quarantined(baseline, candidate)
    changed: tuple[Exclusion, ...] = ()
    if policy.drop_changed:
        baseline, candidate, changed = without_changed(baseline, candidate)
    differing = differences(baseline, candidate, policy.compare)
    sides = _Comparison(baseline, candidate, terms, differing, quarantined + changed)
    if differing.mismatches:
        return sides.verdict("incomparable", mismatch_reason(differing))
    blocked = _blocked(sides)
    if blocked and not any(tally(entries)[1] for entries in candidate.samples.values()):
        return sides.verdict("inconclusive", blocked, futile=True, excluded=sides.left_out)
    matched = match_problems(baseline, candidate)
    known: dict[str, Any] = {"problems": len(matched.pairs), "excluded": sides.left_out + matched.excluded}
    if thinned := shortage_verdict(baseline, candidate, terms):
        return sides.verdict(thinned[0], thinned[1], **known)
    if not matched.pairs:
        return sides.verdict("infrastructure", "No problem has a graded sample on both sides.", **known)
    notes = ""
    if matched.excluded:
        total = len(baseline.problem_digests)
        notes += f" Without a graded sample, and left out: {len(matched.excluded)} of {total} problems."
    if quarantined:
        notes += f" Left out as quarantined: {len(quarantined)}."
    if changed:
        notes += f" Left out as not the same as in the baseline's suite: {len(changed)}."
    return _judged(sides, blocked, notes, known)


def _judged(sides: _Comparison, blocked: str | None, notes: str, known: dict[str, Any]) -> Verdict:
    terms, policy = sides.terms, sides.terms.policy
    baseline, candidate = without_copies(sides.baseline), without_copies(sides.candidate)
    warnings = [*changed_model_warning(sides.baseline, sides.candidate)]
    warnings += [
        f"The {name}'s answers are copies of one another on {same} of {several} problems (temperature 0 or a cache), "
        "so equal answers count once: more samples of the same add nothing."
        for name, once, all_ in (("baseline", baseline, sides.baseline), ("candidate", candidate, sides.candidate))
        if once is not all_
        for same, several in [count_copied(all_)]
    ]
    matched = match_problems(baseline, candidate)
    pairs = tuple(matched.pairs.values())
    result = compare_counts(pairs, terms)
    if lost := lost_warning(candidate, matched, partial(_decide_demands, sides)):
        warnings.append(lost)
    warnings += [
        f"No compared problem carries the tag {tag!r}, which has a floor{meant}"
        for tag, meant in sides.unseen().items()
    ]
    groups = cohort_results(matched.pairs, sides.tags, policy, terms.level_regressed)
    unsolved = never_solved(policy, matched.pairs)
    detectable = detectable_drop(pairs, terms)
    exhausted = candidate is not sides.candidate

    decision, conclusion = decide(result, pairs, terms), None
    pending = terms.pending and not exhausted
    if demanded := _demands(decision, sides, matched.pairs.keys(), groups, unsolved, pending=pending):
        decision, conclusion = demanded
    elif decision == "pass" and not _survives_losses(sides, matched):
        words, raised = lost_words(sides.candidate), limits_words(sides.candidate, CUT)
        decision, conclusion = (
            "inconclusive",
            f"with the lost samples counted as failures it would not pass{words}. {raised}".rstrip(),
        )
    elif decision == "regressed" and (
        decide_counts(with_baseline_losses(sides.baseline, matched.pairs), terms) != "regressed"
    ):
        decision, conclusion = (
            "inconclusive",
            f"with the baseline's lost answers counted as failures it would not be worse{lost_words(sides.baseline)}. "
            "Pin a baseline that loses fewer.",
        )
    going_on = pending and blocked is None
    reason = reason_of(decision, result, pairs, terms, detectable, conclusion, pending=going_on)
    regressions, improvements = changed_problems(matched)
    lost_for_good, gained = (sum(change.beyond_chance for change in side) for side in (regressions, improvements))
    if decision == "pass" and lost_for_good:
        reason += f" Beyond chance {count_of(lost_for_good, 'problem')} lost and {gained} gained."
    reason += notes
    kind, reason = judge_limits(
        sides.candidate, decision, reason, lambda made: _judged(replace(sides, candidate=made), blocked, "", {}).kind
    )
    return sides.verdict(
        kind,
        reason,
        **known,
        population=_population(matched, {**baseline.clusters, **candidate.clusters}, policy),
        advisory=too_few(pairs, terms),
        baseline_rate=result.baseline_rate,
        baseline_samples=mean([pair.baseline_n for pair in pairs]),
        candidate_rate=result.candidate_rate,
        difference=result.difference,
        interval=result.interval,
        p_regression=result.p_regression,
        p_noninferior=result.p_noninferior,
        detectable_drop=detectable,
        # More samples do not help: the same limit would truncate them, they are copies, or no candidate can pass.
        futile=exhausted or kind != decision or blocked is not None,
        cohorts=groups,
        must_pass_failed=unsolved,
        warnings=(*warnings, *cohort_warnings(groups, policy.alpha, regressed=kind == "regressed")),
        regressions=regressions,
        improvements=improvements,
    )


def _survives_losses(sides: _Comparison, matched: MatchedProblems) -> bool:
    held = matched_with_losses(sides.baseline, sides.candidate, matched, sides.terms)
    return held == matched.pairs or _decide_demands(sides, held) == "pass"


def _decide_demands(sides: _Comparison, pairs: Mapping[str, Pair]) -> Decision:
    """Decide from the counts by problem, floors and ``must_pass``."""
    terms, policy = sides.terms, sides.terms.policy
    broken = broken_floors(cohort_results(pairs, sides.tags, policy, terms.level_regressed))
    return "regressed" if broken or never_solved(policy, pairs) else decide_counts(pairs, terms)


def _blocked(sides: _Comparison) -> str | None:
    """Return why no candidate can pass, with remedy, or None."""
    policy, compared = sides.terms.policy, sides.baseline.problem_digests
    if not compared:
        return "There are no problems to compare."
    if absent := tuple(sorted(set(policy.must_pass) - compared.keys())):
        return (
            f"No run can pass: `gate.must_pass` names problems that are left out of the comparison: "
            f"{join_first(absent)}. Release them with `codegate validate`, or remove them from `gate.must_pass`."
        )
    for tag, meant in sides.unseen().items():
        if tag in policy.critical_floors:
            return (
                f"No run can pass: no compared problem carries the tag {tag!r}, which has a critical floor{meant} "
                "Correct `gate.cohorts`, or tag the problems."
            )
    return None


def check_must_pass(baseline: CandidateSamples, candidate: CandidateSamples, policy: GatePolicy) -> None:
    """Raise UsageError for a ``must_pass`` problem outside the suite."""
    known = {*baseline.problem_digests, *baseline.excluded, *candidate.problem_digests, *candidate.excluded}
    if unknown := sorted(set(policy.must_pass) - known):
        raise UsageError(
            f"the gate's must_pass names the problem {unknown[0]!r}, which the suite does not have.",
            "Correct `must_pass` in the configuration; `codegate validate` lists the problems.",
        )


def never_solved(policy: GatePolicy, pairs: Mapping[str, Pair]) -> tuple[str, ...]:
    """Return the compared ``must_pass`` problems that the candidate never solved."""
    return tuple(sorted(name for name in set(policy.must_pass) & pairs.keys() if not pairs[name].candidate_passed))


def _demands(
    decision: Decision,
    sides: _Comparison,
    graded: AbstractSet[str],
    groups: Sequence[Cohort],
    unsolved: tuple[str, ...],
    *,
    pending: bool,
) -> tuple[Decision, str] | None:
    """Return the decision that floors and ``must_pass`` force, or None.

    The text that comes with it gives the reason and ends a sentence. ``graded`` are the problems with graded samples of
    baseline and candidate. ``unsolved`` are the ``must_pass`` problems without any pass. ``pending``: another planned
    comparison follows.
    """
    policy = sides.terms.policy
    if broken := broken_floors(groups):
        worst = broken[0]
        return "regressed", (
            f"on {problems_of(worst)} it solves {solved_words(worst)}, below the critical floor of "
            f"{worst.floor:.1%} beyond chance."
        )
    if unsolved and not pending:
        tried = count_of(sides.terms.samples, "sample")
        return "regressed", f"in {tried} it never solved a problem of `gate.must_pass`: {join_first(unsolved)}."
    if decision != "pass":
        return None
    if unsolved:
        return (
            "inconclusive",
            f"a problem of `gate.must_pass` is not solved yet ({join_first(unsolved)})"
            f"{'' if sides.terms.confirming else '; sampling goes on'}.",
        )
    if ungraded := tuple(sorted(set(policy.must_pass) - graded)):
        return "inconclusive", f"a problem of `gate.must_pass` has no graded sample: {join_first(ungraded)}."
    critical = policy.critical_floors
    missing = (sides.tags.get(name, ()) for name in sides.baseline.problem_digests.keys() - graded)
    if unsampled := sorted(critical.keys() & {tag for tags in missing for tag in (*tags, ALL)}):
        return "inconclusive", f"not every problem under the critical floor of {unsampled[0]!r} has a graded sample."
    for tag, meant in sides.unseen().items():
        if tag in critical:
            return "inconclusive", f"no compared problem carries the tag {tag!r}, which has a critical floor{meant}"
    return None


def _population(matched: MatchedProblems, sources: Mapping[str, str], policy: GatePolicy) -> PopulationFinding:
    pairs, level = tuple(matched.pairs.values()), policy.alpha * _POPULATION_LEVEL
    units = clusters_of(list(matched.pairs), sources)
    found = population_test(pairs, margin=policy.margin, level=level, level_regressed=level, clusters=units)
    few_problems = len(pairs) < FEWEST_PROBLEMS or found.n < _FEWEST_UNITS
    return PopulationFinding(
        units=found.n,
        difference=found.difference,
        interval=found.interval,
        level=level,
        sentence=population_sentence(found, len(pairs), few_problems=few_problems, margin=policy.margin, level=level),
    )
