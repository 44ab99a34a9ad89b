"""Compare two sets of samples under a policy: the verdict with its evidence."""

from dataclasses import dataclass, replace

from codegate.errors import UsageError
from codegate.gating.cohorts import broken_floors, cohort_warnings, cohorts, unseen_floors
from codegate.gating.comparability import Differences, check_samples, differences, without_changed, without_quarantined
from codegate.gating.decision import (
    POPULATION_LEVEL,
    Decision,
    Terms,
    compare_counts,
    decide,
    detectable_drop,
    too_few,
)
from codegate.gating.lost import judge_limits, lost_warning, shortage, survives_losses
from codegate.gating.matching import Matched, clusters_of, copied, counted, flips, match, without_copies
from codegate.gating.policy import GatePolicy
from codegate.gating.population_test import population_test
from codegate.gating.samples import CandidateSamples
from codegate.gating.sentence import listed, mismatch_reason, population_sentence, reason_of
from codegate.gating.statistics import Comparison, Pair
from codegate.gating.verdict import Cohort, Exclusion, PopulationFinding, Verdict, VerdictKind


@dataclass(frozen=True)
class _Evidence:
    """What a comparison found."""

    matched: Matched
    result: Comparison | None = None
    advisory: bool = False
    cohorts: tuple[Cohort, ...] = ()
    population: PopulationFinding | None = None
    detectable: float | None = None
    unsolved: tuple[str, ...] = ()
    ungraded: tuple[str, ...] = ()
    unsampled: tuple[str, ...] = ()
    futile: bool = False
    warnings: tuple[str, ...] = ()


_NOTHING = _Evidence(Matched({}, {}, ()))


def compare(
    baseline: CandidateSamples,
    candidate: CandidateSamples,
    policy: GatePolicy,
    *,
    looks: tuple[int, ...] | None = None,
    candidates: int = 1,
    confirming: bool = False,
) -> Verdict:
    """Decide whether the candidate is as good as the baseline on the same problems.

    Samples that infrastructure faults took count on neither side; a problem without a graded sample on one side is
    left out of both, and a pass must hold with it counted as failed. A pass (a drop of the margin is ruled out, or
    the candidate is better) wins over a regression: a real drop within the margin is tolerated. A critical cohort
    below its floor beyond chance, and a problem that must pass and never did, are regressions whatever the rest shows.
    No regression stands on answers that a limit of the configuration cut (``judge_limits``).

    Args:
        baseline: samples of the pinned model.
        candidate: the candidate's samples so far.
        policy: what counts as a drop, and in which scope.
        looks: samples per problem at each look that was planned before the first sample; None for samples of a fixed
            number, which are one look. The error over all looks together is at most about ``policy.alpha``.
        candidates: candidates that are gated together. Only the level of a regression is shared between them
            (Bonferroni); each passes on its own.
        confirming: ``baseline`` includes fresh samples, made because a regression was seen.

    Raises:
        UsageError: one side contradicts itself (a sample twice or out of order, a problem without digest), or the
            policy names a problem that the suite does not have.
        ValueError: ``looks`` is no schedule that was calibrated, or ``candidates`` below 1.
    """
    if candidates < 1:
        message = f"at least one candidate is gated, not {candidates}"
        raise ValueError(message)
    check_samples(baseline, "baseline")
    check_samples(candidate, "candidate")
    _check_must_pass(baseline, candidate, policy)
    taken = samples_taken(candidate)
    terms = Terms(policy, looks or (max(taken, 1),), taken, candidates, confirming)
    if taken and without_copies(candidate) is not candidate:
        terms = replace(terms, looks=(taken,))  # more samples add nothing, so this look is the only one
    baseline, candidate, quarantined = without_quarantined(baseline, candidate)
    changed: tuple[Exclusion, ...] = ()
    if policy.drop_changed:
        baseline, candidate, changed = without_changed(baseline, candidate)
    differing = differences(baseline, candidate, policy.compare)
    verdict = _compared(baseline, candidate, terms, differing, quarantined, changed)
    return verdict.model_copy(update={"mismatches": differing.mismatches, "changes": differing.changes})


def _compared(
    baseline: CandidateSamples,
    candidate: CandidateSamples,
    terms: Terms,
    differing: Differences,
    quarantined: tuple[Exclusion, ...],
    changed: tuple[Exclusion, ...],
) -> Verdict:
    sides = (baseline, candidate)
    if differing.mismatches:
        return _verdict("incomparable", mismatch_reason(differing), sides, terms)

    matched = match(baseline, candidate)
    total, missing = len(baseline.problem_digests), len(matched.excluded)
    excluded = quarantined + changed + matched.excluded
    evidence = _Evidence(replace(matched, excluded=excluded))
    blocked = _blocked(baseline, candidate, terms.policy)
    if blocked and not any(counted(entries) for entries in candidate.samples.values()):
        nothing = _Evidence(Matched({}, {}, quarantined + changed), futile=True)
        return _verdict("inconclusive", blocked, sides, terms, nothing)
    if thinned := shortage(baseline, candidate, terms):
        kind: VerdictKind = "infrastructure" if thinned[0] == "infrastructure" else "inconclusive"
        return _verdict(kind, thinned[1], sides, terms, evidence)
    if not matched.pairs:
        return _verdict("infrastructure", "No problem has a graded sample on both sides.", sides, terms, evidence)

    evidence = _examine(baseline, candidate, terms, excluded)
    kind, reason = _conclude(baseline, candidate, evidence, terms)
    if missing:
        reason += f" Without a graded sample, and left out: {missing} of {total} problems."
    if quarantined:
        reason += f" Left out as quarantined: {len(quarantined)}."
    if changed:
        reason += f" Left out as not the same as in the baseline's suite: {len(changed)}."
    by_limits, reason = judge_limits(candidate, kind, reason)
    # More samples would be cut by the same limit, or cannot pass either.
    futile = evidence.futile or by_limits != kind or blocked is not None
    return _verdict(by_limits, reason, sides, terms, replace(evidence, futile=futile))


def _blocked(baseline: CandidateSamples, candidate: CandidateSamples, policy: GatePolicy) -> str | None:
    """Return why no samples could make a pass, and what to do; None where they could."""
    compared = baseline.problem_digests
    if not compared:
        return "There are no problems to compare."
    if absent := tuple(sorted(set(policy.must_pass) - compared.keys())):
        return (
            f"No run can pass: `gate.must_pass` names problems that are left out of the comparison: {listed(absent)}. "
            "Release them with `codegate validate`, or remove them from `gate.must_pass`."
        )
    for tag, meant in _unseen(baseline, candidate, policy).items():
        if policy.cohorts[tag].tier == "critical":
            return (
                f"No run can pass: no compared problem carries the tag {tag!r}, which has a critical floor{meant} "
                "Correct `gate.cohorts`, or tag the problems."
            )
    return None


def _unseen(baseline: CandidateSamples, candidate: CandidateSamples, policy: GatePolicy) -> dict[str, str]:
    tags = {**baseline.tags, **candidate.tags}
    return unseen_floors({tag for name in baseline.problem_digests for tag in tags.get(name, ())}, policy)


def samples_taken(candidate: CandidateSamples) -> int:
    """Return how many samples per problem were tried: one more than the highest index, graded or not."""
    return max((entries[-1].index + 1 for entries in candidate.samples.values() if entries), default=0)


def _check_must_pass(baseline: CandidateSamples, candidate: CandidateSamples, policy: GatePolicy) -> None:
    known = {*baseline.problem_digests, *baseline.excluded, *candidate.problem_digests, *candidate.excluded}
    unknown = sorted(set(policy.must_pass) - known)
    if unknown:
        raise UsageError(
            f"the gate's must_pass names the problem {unknown[0]!r}, which the suite does not have.",
            "Correct `must_pass` in the configuration; `codegate validate` lists the problems.",
        )


def _examine(
    baseline: CandidateSamples, candidate: CandidateSamples, terms: Terms, excluded: tuple[Exclusion, ...]
) -> _Evidence:
    """Return what the samples show, with copied answers counted once."""
    policy, warnings = terms.policy, []
    once = {"baseline": without_copies(baseline), "candidate": without_copies(candidate)}
    for name, before in (("baseline", baseline), ("candidate", candidate)):
        if once[name] is not before:
            same, several = copied(before)
            warnings.append(
                f"The {name}'s answers are copies of one another on {same} of {several} problems (temperature 0 or a "
                "cache), so equal answers count once: more samples of the same add nothing."
            )
    matched = replace(match(once["baseline"], once["candidate"]), excluded=excluded)
    pairs = tuple(matched.pairs.values())
    sources = {**baseline.clusters, **candidate.clusters}
    clusters = clusters_of(list(matched.pairs), sources)
    result = compare_counts(pairs, clusters, terms)
    if lost := lost_warning(once["candidate"], matched, sources, terms):
        warnings.append(lost)
    warnings += [
        f"No compared problem carries the tag {tag!r}, which has a floor{meant}"
        for tag, meant in _unseen(baseline, candidate, policy).items()
    ]
    found = cohorts(matched.pairs, {**baseline.tags, **candidate.tags}, policy, terms.level_regressed)
    return _Evidence(
        matched=matched,
        result=result,
        advisory=too_few(pairs, len(set(clusters)), terms) is not None,
        cohorts=found,
        population=_population(pairs, clusters, policy) if policy.scope == "suite" else None,
        detectable=detectable_drop(pairs, terms),
        unsolved=tuple(
            sorted(p for p in set(policy.must_pass) if p in matched.pairs and not matched.pairs[p].candidate_passed)
        ),
        ungraded=tuple(sorted(set(policy.must_pass) - matched.pairs.keys())),
        unsampled=tuple(
            sorted(
                tag
                for name in baseline.problem_digests.keys() - matched.pairs.keys()
                for tag in baseline.tags.get(name, ())
                if tag in policy.cohorts and policy.cohorts[tag].tier == "critical"
            )
        ),
        futile=once["candidate"] is not candidate,
        warnings=(*warnings, *cohort_warnings(found, policy.alpha)),
    )


def _population(pairs: tuple[Pair, ...], clusters: list[str], policy: GatePolicy) -> PopulationFinding:
    """Return what the counts show about problems like these, tested once at its own level."""
    level = policy.alpha * POPULATION_LEVEL
    found = population_test(pairs, margin=policy.margin, level=level, level_regressed=level, clusters=clusters)
    terms = Terms(policy.model_copy(update={"scope": "population"}), (1,), 1)
    few = too_few(pairs, found.n, terms)
    conclusion, sentence = population_sentence(found, few, margin=policy.margin, level=level)
    return PopulationFinding(
        units=found.n,
        conclusion=conclusion,
        sentence=sentence,
        p_regression=found.p_regression,
        p_noninferior=found.p_noninferior,
        level=level,
    )


def _conclude(
    baseline: CandidateSamples,
    candidate: CandidateSamples,
    evidence: _Evidence,
    terms: Terms,
) -> tuple[VerdictKind, str]:
    result, pairs = evidence.result, tuple(evidence.matched.pairs.values())
    sources = {**baseline.clusters, **candidate.clusters}
    assert result is not None  # noqa: S101 - for the type checker; there are pairs
    decision: Decision = decide(result, pairs, terms)
    instead = None
    if decision == "pass" and not survives_losses(baseline, candidate, evidence.matched, sources, terms):
        decision = "inconclusive"
        instead = "with the lost samples counted as failures it would not pass."
    kind, conclusion = _demands(decision, evidence, terms) or (decision, instead)
    return kind, reason_of(kind, result, pairs, terms, evidence.detectable, conclusion)


def _demands(decision: Decision, evidence: _Evidence, terms: Terms) -> tuple[Decision, str] | None:
    """Return the decision by floors and must_pass; None where they change nothing."""
    pending = terms.pending and not evidence.futile
    if broken := broken_floors(evidence.cohorts):
        worst = broken[0]
        return "regressed", (
            f"on the {worst.problems} problems tagged {worst.tag!r} it solves {worst.candidate_rate:.1%}, below the "
            f"critical floor of {worst.floor:.1%} beyond chance."
        )
    if evidence.unsolved and not pending:
        return "regressed", f"it never solved a problem of `gate.must_pass`: {listed(evidence.unsolved)}."
    if decision != "pass":
        return None
    if evidence.unsolved:
        return "inconclusive", (
            f"a problem of `gate.must_pass` is not solved yet ({listed(evidence.unsolved)}); sampling goes on."
        )
    if evidence.ungraded:
        return "inconclusive", f"a problem of `gate.must_pass` has no graded sample: {listed(evidence.ungraded)}."
    if evidence.unsampled:
        return "inconclusive", (
            f"not every problem tagged {evidence.unsampled[0]!r} has a graded sample, and the tag has a critical floor."
        )
    for tag, meant in unseen_floors([cohort.tag for cohort in evidence.cohorts], terms.policy).items():
        if terms.policy.cohorts[tag].tier == "critical":
            return "inconclusive", f"no compared problem carries the tag {tag!r}, which has a critical floor{meant}"
    return None


def _verdict(
    kind: VerdictKind,
    reason: str,
    sides: tuple[CandidateSamples, CandidateSamples],
    terms: Terms,
    evidence: _Evidence = _NOTHING,
) -> Verdict:
    baseline, candidate = sides
    result = evidence.result
    regressions, improvements = flips(evidence.matched) if result else ((), ())
    return Verdict(
        kind=kind,
        scope=terms.policy.scope,
        reason=reason,
        population=evidence.population,
        candidate=candidate.candidate,
        label=candidate.label,
        baseline_label=baseline.label,
        problems=len(evidence.matched.pairs),
        advisory=evidence.advisory,
        baseline_rate=result.baseline_rate if result else None,
        candidate_rate=result.candidate_rate if result else None,
        difference=result.difference if result else None,
        interval=result.interval if result else None,
        p_regression=result.p_regression if result else None,
        p_noninferior=result.p_noninferior if result else None,
        margin=terms.policy.margin,
        alpha=terms.policy.alpha,
        looks=len(terms.looks),
        look=terms.look,
        samples=terms.samples,
        max_samples=terms.looks[-1],
        candidates=terms.candidates,
        level=terms.level,
        level_regressed=terms.level_regressed,
        detectable_drop=evidence.detectable,
        units=result.n if result else 0,
        futile=evidence.futile,
        cohorts=evidence.cohorts,
        must_pass_failed=evidence.unsolved,
        warnings=evidence.warnings,
        regressions=regressions,
        improvements=improvements,
        excluded=evidence.matched.excluded,
    )
