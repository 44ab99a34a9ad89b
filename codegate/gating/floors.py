"""Decide without a baseline, by critical floors and ``must_pass``."""

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
from codegate.gating.comparability import check_samples
from codegate.gating.compare import check_must_pass, never_solved
from codegate.gating.decision import (
    CUT,
    NEAR,
    judge_limits,
    limits_words,
    lost_words,
    thin_samples_reason,
    with_losses,
)
from codegate.gating.policy import GatePolicy
from codegate.gating.samples import CandidateSamples, tally
from codegate.gating.statistics import Pair, mean
from codegate.gating.verdict import Cohort, Exclusion, Verdict, VerdictKind
from codegate.wording import count_of, join_first


def against_floors(candidate: CandidateSamples, policy: GatePolicy, candidates: int = 1) -> Verdict:
    """Return the verdict by critical floors and ``must_pass`` only.

    ``regressed``: a rate is significantly below a critical floor, or a ``must_pass`` problem was never solved.
    ``pass``: every rate reaches its floor, also if lost samples and problems without a graded sample count as failed.
    ``inconclusive``: a rate is below its floor, which may be chance. ``candidates`` is the number gated together.

    Raises:
        UsageError: the samples contradict each other, or the policy demands nothing that this suite has.
    """
    check_samples(candidate, "candidate")
    check_must_pass(candidate, candidate, policy)
    if not candidate.problem_digests:
        raise UsageError("no problem is left to hold against the floors.", "Correct `gate.newer_than`.")
    carried = {tag for name in candidate.problem_digests for tag in candidate.tags.get(name, ())}
    for tag, meant in unseen_floors(carried, policy).items():
        if tag in policy.critical_floors:
            raise UsageError(
                f"no problem carries the tag {tag!r}, which has a critical floor{meant}", "Correct `gate.cohorts`."
            )
    level = policy.alpha / candidates
    pairs = {
        name: Pair(*found, *found)
        for name in sorted(candidate.problem_digests)
        if (found := tally(candidate.samples.get(name, ())))[1]
    }
    missing = tuple(sorted(candidate.problem_digests.keys() - pairs.keys()))
    groups = tuple(
        group.model_copy(update={"baseline_rate": None, "p_regression": None, "p_holm": None})
        for group in cohort_results(pairs, candidate.tags, policy, level)
        if group.floor is not None
    )
    unsolved = never_solved(policy, pairs)
    kind, reason = _decided(candidate, policy, pairs, groups, unsolved, missing)
    kind, reason = judge_limits(candidate, kind, reason, lambda passed: against_floors(passed, policy, candidates).kind)
    taken = max(map(len, candidate.samples.values()), default=0)
    return Verdict(
        kind=kind,
        reason=reason,
        candidate=candidate.candidate,
        label=candidate.label,
        baseline_label=None,
        problems=len(pairs),
        candidate_rate=mean([pair.candidate_rate for pair in pairs.values()]) if pairs else None,
        margin=policy.margin,
        alpha=policy.alpha,
        samples=taken,
        max_samples=max(taken, 1),
        candidates=candidates,
        level=level,
        level_regressed=level,
        cohorts=groups,
        must_pass_failed=unsolved,
        warnings=tuple(cohort_warnings(groups, level, regressed=kind == "regressed")),
        excluded=tuple(Exclusion(problem=name, side="candidate", reason="no graded sample") for name in missing),
    )


def _decided(
    candidate: CandidateSamples,
    policy: GatePolicy,
    pairs: dict[str, Pair],
    groups: tuple[Cohort, ...],
    unsolved: tuple[str, ...],
    missing: tuple[str, ...],
) -> tuple[VerdictKind, str]:
    if not pairs:
        return "infrastructure", "No problem has a graded sample."
    if reason := thin_samples_reason(candidate, candidate.label, candidate.problem_digests):
        return "infrastructure", reason
    if broken := broken_floors(groups):
        return "regressed", f"{_measured(broken[0])}, below the critical floor of {broken[0].floor:.1%} beyond chance."
    if unsolved:
        tried = count_of(max(map(len, candidate.samples.values())), "sample")
        return "regressed", f"In {tried} it never solved a problem of `gate.must_pass`: {join_first(unsolved)}."
    if ungraded := tuple(sorted(set(policy.must_pass) - pairs.keys())):
        return "inconclusive", f"A problem of `gate.must_pass` has no graded sample: {join_first(ungraded)}."
    if policy.min_problems is not None and len(pairs) < policy.min_problems:
        return "inconclusive", f"{count_of(len(pairs), 'graded problem')}; a pass takes at least {policy.min_problems}."
    found, held = {group.tag: group for group in groups}, with_losses(candidate, pairs)
    if lost_passes := never_solved(policy, held):
        return "inconclusive", (
            f"With the lost samples counted as failures, no sample solves a problem of `gate.must_pass`: "
            f"{join_first(lost_passes)}{lost_words(candidate)}. {limits_words(candidate, CUT)}".rstrip()
        )
    reached = []
    for tag, floor in policy.critical_floors.items():
        if (group := found.get(tag)) is None:
            return "inconclusive", f"No problem under the critical floor of {tag!r} has a graded sample."
        members = {name for name in candidate.problem_digests if tag in (*candidate.tags.get(name, ()), ALL)}
        measured, lost = _measured(group), members.intersection(missing)
        if group.candidate_rate < floor - NEAR:
            return "inconclusive", (
                f"{measured}, below the critical floor of {floor:.1%}; with so few problems this may be chance. More "
                "problems would settle it."
            )
        solved = sum(pair.candidate_rate for name, pair in held.items() if name in members)
        if solved < floor * (group.problems + len(lost)) - NEAR:
            without = f"{len(lost)} more have no graded sample; counted" if lost else "Some samples were lost; counted"
            return "inconclusive", (
                f"{measured}. {without} as failed they would take it below the critical floor of {floor:.1%}. Sample "
                "them with `codegate run --resume`."
            )
        reached.append(f"{measured}, the floor is {floor:.1%}.")
    if policy.must_pass:
        reached.append(f"It solves what `gate.must_pass` names ({len(policy.must_pass)}).")
    return "pass", " ".join((*reached, "Nothing was compared: there is no baseline."))


def _measured(group: Cohort) -> str:
    return f"On {problems_of(group)} the candidate solves {solved_words(group)}"
