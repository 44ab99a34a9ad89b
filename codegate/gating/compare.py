"""The gate itself: two sets of samples and a policy go in, a ``Verdict`` with its evidence comes out."""

from dataclasses import dataclass, replace

from codegate.errors import UsageError
from codegate.gating.cohorts import broken_floors, cohort_warnings, cohorts, unseen_floors
from codegate.gating.comparability import Differences, check_samples, differences, without_changed, without_quarantined
from codegate.gating.exact import beta_binomial_cdf
from codegate.gating.looks import level, levels, looks_taken, samples_by, settled
from codegate.gating.matching import MIN_CLUSTERS, Matched, clusters_of, copied, match, too_few_graded, without_copies
from codegate.gating.policy import GatePolicy
from codegate.gating.power import (
    CHURN,
    clustered_churn,
    drop_found,
    least_drop,
    one_sample_variance,
    problems_for_margin,
)
from codegate.gating.samples import CandidateSamples
from codegate.gating.sentence import listed, mismatch_reason, probability, summary
from codegate.gating.statistics import Pair, PairedResult, paired
from codegate.gating.verdict import Cohort, Exclusion, Flip, Verdict, VerdictKind

_BEYOND_CHANCE = 0.01


@dataclass(frozen=True)
class _Terms:
    """What was fixed before the first look: the policy, the looks, how many share the error; and which look it is."""

    policy: GatePolicy
    looks: int
    candidates: int
    look: int

    @property
    def level(self) -> float:
        return levels(self.looks, self.look, self.policy.alpha).passed

    @property
    def level_regressed(self) -> float:
        return levels(self.looks, self.look, self.policy.alpha).regressed / self.candidates


@dataclass(frozen=True)
class _Evidence:
    """All that was found out about two sides that can be compared."""

    matched: Matched
    result: PairedResult | None = None
    cohorts: tuple[Cohort, ...] = ()
    clusters: int | None = None
    detectable: float | None = None
    unsolved: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    futile: bool = False
    warnings: tuple[str, ...] = ()


def compare(
    baseline: CandidateSamples,
    candidate: CandidateSamples,
    policy: GatePolicy,
    *,
    looks: int = 1,
    candidates: int = 1,
) -> Verdict:
    """Decide whether the candidate is as good as the baseline on the same problems.

    Infrastructure samples count on neither side; a problem without a counted sample on one side is left out of
    both. More than ``policy.max_missing`` of the problems, or of one side's samples, decide nothing. A pass (a
    drop of the margin is ruled out) wins over a regression (there is some drop), because a real drop inside the
    tolerance is tolerated. Below ``policy.min_problems``, and where the baseline solves too little for a drop of
    the margin to show, there is no pass. A critical cohort below its floor beyond chance, and a problem that must
    pass and never did, are regressions whatever the rest says.

    Args:
        baseline: samples of the pinned model.
        candidate: the candidate's samples so far.
        policy: what counts as a drop.
        looks: looks that were planned before the first sample; samples of a fixed number are one look. Called after
            each of them, all calls together err as seldom as ``policy.alpha`` says.
        candidates: candidates that are gated together. Only the level of a regression is shared between them
            (Bonferroni), so that any false alarm is as rare as for one; each passes on its own.

    Raises:
        UsageError: one side contradicts itself (a sample twice or out of order, a problem without digest), or the
            policy names a problem that the suite does not have.
        ValueError: ``looks`` is not in 1..5 or ``candidates`` below 1.
    """
    if candidates < 1:
        message = f"at least one candidate is gated, not {candidates}"
        raise ValueError(message)
    check_samples(baseline, "baseline")
    check_samples(candidate, "candidate")
    _check_must_pass(baseline, candidate, policy)
    terms = _Terms(policy, looks, candidates, looks_taken(candidate))
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
    terms: _Terms,
    differing: Differences,
    quarantined: tuple[Exclusion, ...],
    changed: tuple[Exclusion, ...],
) -> Verdict:
    policy, sides = terms.policy, (baseline, candidate)
    if differing.mismatches:
        return _verdict("incomparable", mismatch_reason(differing.mismatches, differing.unproved), sides, terms)

    matched = match(baseline, candidate)
    total, missing = len(baseline.problem_digests), len(matched.excluded)
    evidence = _Evidence(replace(matched, excluded=quarantined + changed + matched.excluded))
    thinned = too_few_graded(baseline, "baseline", policy) or too_few_graded(candidate, "candidate", policy)
    if missing > policy.max_missing * total:
        thinned = (
            f"Infrastructure faults left {missing} of {total} problems without a counted sample, more than the "
            f"{policy.max_missing:.0%} that is tolerated: nothing was decided."
        )
    if thinned:
        return _verdict("infrastructure", thinned, sides, terms, evidence)
    if not matched.pairs:
        return _verdict("inconclusive", "There are no problems to compare.", sides, terms, evidence)

    evidence = _examine(baseline, candidate, terms, evidence.matched.excluded)
    kind, reason = _conclude(evidence, terms)
    if missing:
        reason += f" Left out for infrastructure faults: {missing} of {total} problems."
    if quarantined:
        reason += f" Left out as quarantined: {len(quarantined)}."
    if changed:
        reason += f" Left out as not the same as in the baseline's suite: {len(changed)}."
    return _verdict(kind, reason, sides, terms, evidence)


def _check_must_pass(baseline: CandidateSamples, candidate: CandidateSamples, policy: GatePolicy) -> None:
    known = {*baseline.problem_digests, *baseline.excluded, *candidate.problem_digests, *candidate.excluded}
    unknown = sorted(set(policy.must_pass) - known)
    if unknown:
        raise UsageError(
            f"the gate's must_pass names the problem {unknown[0]!r}, which the suite does not have.",
            "Correct `must_pass` in the configuration; `codegate validate` lists the problems.",
        )


def _examine(
    baseline: CandidateSamples, candidate: CandidateSamples, terms: _Terms, excluded: tuple[Exclusion, ...]
) -> _Evidence:
    """Return what the samples show, copies counted once and problems of one source taken together."""
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
    problems, pairs = list(matched.pairs), tuple(matched.pairs.values())
    names, count = clusters_of(problems, {**baseline.clusters, **candidate.clusters})
    clustered = MIN_CLUSTERS <= count < len(problems)
    if count < MIN_CLUSTERS <= len(problems):
        warnings.append(
            f"The {len(problems)} problems come from only {count} pull requests and were compared as if they had "
            "nothing in common, so the gate is surer than it should be."
        )
    groups = names if clustered else None
    result = paired(
        pairs, alpha=terms.level, alpha_regression=terms.level_regressed, margin=policy.margin, clusters=groups
    )
    found = cohorts(matched.pairs, {**baseline.tags, **candidate.tags}, policy, terms.level_regressed)
    return _Evidence(
        matched=matched,
        result=result,
        cohorts=found,
        clusters=count if clustered else None,
        detectable=_detectable(result, pairs, terms),
        unsolved=tuple(sorted(p for p in set(policy.must_pass) if p in matched.pairs and _never(matched.pairs[p]))),
        unasked=tuple(sorted(set(policy.must_pass) - matched.pairs.keys())),
        futile=once["candidate"] is not candidate,
        warnings=(*warnings, *cohort_warnings(found, policy.alpha)),
    )


def _never(pair: Pair) -> bool:
    return pair.candidate_passed == 0


def _detectable(result: PairedResult, pairs: tuple[Pair, ...], terms: _Terms) -> float | None:
    """Return what drop this comparison finds in 4 of 5 cases once all of its looks are taken; None below 10 units.

    What the differences vary by beyond sampling is taken as seen here, but never as less than two models of one
    family differ by: few problems that happen to agree say little about the next ones.
    """
    cells = [(pair.baseline_passed, pair.baseline_n) for pair in pairs]
    cells += [(pair.candidate_passed, pair.candidate_n) for pair in pairs]
    size = len(pairs) / result.n
    within = one_sample_variance(cells) / size
    now = within * sum(1 / pair.baseline_n + 1 / pair.candidate_n for pair in pairs) / len(pairs)
    then = within * sum(1 / pair.baseline_n + 1 / _planned(pair, terms) for pair in pairs) / len(pairs)
    churn = max(result.variance - now, clustered_churn(CHURN["same family"], size))
    last = level(terms.looks, terms.policy.alpha) / terms.candidates
    least, found = least_drop(result.n, "same family"), drop_found(result.n, churn + then, last)
    return None if least is None or found is None else max(found, least)


def _planned(pair: Pair, terms: _Terms) -> int:
    """Return how many samples of the candidate a problem has once all looks are taken."""
    always = settled(pair.baseline_passed, pair.baseline_n)
    return max(pair.candidate_n, samples_by(terms.looks, settled_problem=always))


def _conclude(evidence: _Evidence, terms: _Terms) -> tuple[VerdictKind, str]:
    """Return the verdict and its reason."""
    result, policy = evidence.result, terms.policy
    assert result is not None  # noqa: S101 - for the type checker; there are pairs
    kind, conclusion = _decide(result, terms)
    pending = terms.look < terms.looks and not evidence.futile
    broken = broken_floors(evidence.cohorts)
    if broken:
        worst = broken[0]
        kind, conclusion = (
            "regressed",
            f"on the {worst.problems} problems tagged {worst.tag!r} it solves {worst.candidate_rate:.1%}, below the "
            f"critical floor of {worst.floor:.1%} beyond chance.",
        )
    elif evidence.unsolved and not pending:
        kind, conclusion = (
            "regressed",
            f"it never solved what must pass: {listed(evidence.unsolved)}.",
        )
    elif evidence.unsolved and kind == "pass":
        kind, conclusion = (
            "inconclusive",
            f"what must pass has not been solved yet ({listed(evidence.unsolved)}), and there are looks left.",
        )
    elif evidence.unasked and kind == "pass":
        kind, conclusion = (
            "inconclusive",
            f"what must pass could not be asked: {listed(evidence.unasked)}.",
        )
    elif kind == "pass" and (unseen := _unseen_critical(evidence.cohorts, policy)):
        kind, conclusion = (
            "inconclusive",
            f"no compared problem carries the tag {unseen[0]!r}, which has a critical floor.",
        )
    figures = summary(
        result,
        problems=len(evidence.matched.pairs),
        clustered=evidence.clusters is not None,
        margin=policy.margin,
        level=terms.level,
        level_regressed=terms.level_regressed,
    )
    reason = f"{figures}: {conclusion}"
    if evidence.detectable is not None:
        reason += f" A drop of {evidence.detectable * 100:.0f} pp or more would be found in 4 of 5 runs like this one."
    if terms.looks > 1:
        reason += f" Look {terms.look} of at most {terms.looks}."
    return kind, reason


def _unseen_critical(found: tuple[Cohort, ...], policy: GatePolicy) -> tuple[str, ...]:
    return tuple(tag for tag in unseen_floors(found, policy) if policy.cohorts[tag].tier == "critical")


def _decide(result: PairedResult, terms: _Terms) -> tuple[VerdictKind, str]:
    """Return what the problems as a whole say, and the second half of the reason."""
    policy = terms.policy
    pp = f"{policy.margin * 100:g} pp"
    if result.p_regression is None or result.p_noninferior is None:
        return "inconclusive", f"one problem proves nothing; at least {policy.min_problems} are needed."
    dropped, ruled_out = result.p_regression < terms.level_regressed, result.p_noninferior < terms.level
    p_drop = probability(result.p_regression, terms.level_regressed)
    p_margin = probability(result.p_noninferior, terms.level)
    advisory = result.n < policy.min_problems
    headroom = result.baseline_rate >= 2 * policy.margin

    if ruled_out and headroom and not advisory:
        tolerated = f"; the smaller drop is real but tolerated ({p_drop})" if dropped else ""
        return "pass", f"a drop of {pp} or more is ruled out ({p_margin}){tolerated}."
    if dropped:
        limit = "" if ruled_out else f", and a drop of {pp} or more is not ruled out ({p_margin})"
        return "regressed", f"the candidate is worse ({p_drop}){limit}."
    if advisory:
        return "inconclusive", (
            f"fewer than {policy.min_problems} problems can show a regression but no pass; "
            f"at least {policy.min_problems} are needed."
        )
    if not headroom:
        return "inconclusive", (
            f"the baseline solves too little ({result.baseline_rate:.1%}, under twice the margin) for a drop of "
            f"{pp} to show, so there can be no pass; problems that the baseline solves are needed."
        )
    needed = problems_for_margin(result.null_variance, level=terms.level, margin=policy.margin)
    advice = f"; with about {max(needed, result.n + 1)} problems like these an equal candidate passes in 4 of 5 cases"
    return "inconclusive", (
        f"neither a drop ({p_drop}) nor the absence of one of {pp} or more ({p_margin}) is shown{advice}."
    )


def beyond_chance(passed: int, n: int, other_passed: int, other_n: int) -> bool:
    """Tell whether ``passed`` of ``n`` is less than the other side's samples of the same problem leave to chance.

    The predictive distribution of the one side given the other (beta-binomial after Jeffreys' prior Beta(1/2, 1/2))
    puts at most 1 % on so few passes: 0 of 3 after 9 of 10, or 0 of 2 after 10 of 10, but not 0 of 1.
    """
    return beta_binomial_cdf(passed, n, other_passed + 0.5, other_n - other_passed + 0.5) <= _BEYOND_CHANCE


def _flips(matched: Matched) -> tuple[tuple[Flip, ...], tuple[Flip, ...]]:
    """Return (regressions, improvements), the largest change first."""
    changed = [
        Flip(
            problem=problem,
            baseline_rate=pair.baseline_rate,
            baseline_n=pair.baseline_n,
            candidate_rate=pair.candidate_rate,
            candidate_n=pair.candidate_n,
            candidate_failure=matched.failures[problem],
            beyond_chance=_flipped_beyond_chance(pair),
        )
        for problem, pair in matched.pairs.items()
        if pair.difference != 0.0
    ]
    changed.sort(key=lambda flip: (-abs(flip.candidate_rate - flip.baseline_rate), flip.problem))
    worse = tuple(flip for flip in changed if flip.candidate_rate < flip.baseline_rate)
    return worse, tuple(flip for flip in changed if flip.candidate_rate > flip.baseline_rate)


def _flipped_beyond_chance(pair: Pair) -> bool:
    if pair.difference < 0.0:
        return beyond_chance(pair.candidate_passed, pair.candidate_n, pair.baseline_passed, pair.baseline_n)
    failed, other_failed = pair.candidate_n - pair.candidate_passed, pair.baseline_n - pair.baseline_passed
    return beyond_chance(failed, pair.candidate_n, other_failed, pair.baseline_n)


def _verdict(
    kind: VerdictKind,
    reason: str,
    sides: tuple[CandidateSamples, CandidateSamples],
    terms: _Terms,
    evidence: _Evidence | None = None,
) -> Verdict:
    baseline, candidate = sides
    result = evidence.result if evidence else None
    regressions, improvements = _flips(evidence.matched) if evidence and result else ((), ())
    return Verdict(
        kind=kind,
        reason=reason,
        candidate=candidate.candidate,
        label=candidate.label,
        baseline_label=baseline.label,
        problems=len(evidence.matched.pairs) if evidence else 0,
        advisory=result is not None and result.n < terms.policy.min_problems,
        baseline_rate=result.baseline_rate if result else None,
        candidate_rate=result.candidate_rate if result else None,
        difference=result.difference if result else None,
        interval=result.interval if result else None,
        p_regression=result.p_regression if result else None,
        p_noninferior=result.p_noninferior if result else None,
        margin=terms.policy.margin,
        alpha=terms.policy.alpha,
        looks=terms.looks,
        look=terms.look,
        candidates=terms.candidates,
        level=terms.level,
        level_regressed=terms.level_regressed,
        detectable_drop=evidence.detectable if evidence else None,
        clusters=evidence.clusters if evidence else None,
        futile=evidence.futile if evidence else False,
        cohorts=evidence.cohorts if evidence else (),
        must_pass_failed=evidence.unsolved if evidence else (),
        warnings=evidence.warnings if evidence else (),
        regressions=regressions,
        improvements=improvements,
        excluded=evidence.matched.excluded if evidence else (),
    )
