"""The gate itself: two sets of samples and a policy go in, a ``Verdict`` with its evidence comes out."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal

from codegate.gating.comparability import ABSENT, check_samples, mismatches, without_quarantined
from codegate.gating.policy import GatePolicy
from codegate.gating.samples import CandidateSamples, Sample
from codegate.gating.statistics import Pair, PairedResult, paired, problems_needed
from codegate.gating.verdict import Exclusion, Flip, Mismatch, Verdict, VerdictKind

_NAMED = 5  # how many mismatches a one-sentence reason names


@dataclass(frozen=True)
class _Matched:
    """The problems both sides have counted samples of, in order of their ids, and the others with reasons."""

    pairs: dict[str, Pair]
    failures: dict[str, str | None]
    excluded: tuple[Exclusion, ...]


def compare(baseline: CandidateSamples, candidate: CandidateSamples, policy: GatePolicy) -> Verdict:
    """Decide whether the candidate is as good as the baseline on the same problems.

    Infrastructure samples count on neither side; a problem without a counted sample on one side is left out of
    both. More than ``policy.max_missing`` of the problems, or of one side's samples, decide nothing. A pass (a
    drop of the margin is ruled out) wins over a regression (there is some drop), because a real drop inside the
    tolerance is tolerated. Below ``policy.min_problems``, and where the baseline solves too little for a drop of
    the margin to show, there is no pass.

    Raises:
        UsageError: one side contradicts itself (a sample twice or out of order, a problem without digest).
    """
    check_samples(baseline, "baseline")
    check_samples(candidate, "candidate")
    baseline, candidate, quarantined = without_quarantined(baseline, candidate)
    differing = mismatches(baseline, candidate)
    if differing:
        return _verdict("incomparable", _mismatch_reason(differing), baseline, candidate, policy, differing=differing)

    matched = _match(baseline, candidate)
    total = len(baseline.problem_digests)
    missing = len(matched.excluded)
    matched = replace(matched, excluded=quarantined + matched.excluded)
    if missing > policy.max_missing * total:
        reason = (
            f"Infrastructure faults left {missing} of {total} problems without a counted sample, more than the "
            f"{policy.max_missing:.0%} that is tolerated: nothing was decided."
        )
        return _verdict("infrastructure", reason, baseline, candidate, policy, matched=matched)
    thinned = _too_few_graded(baseline, "baseline", policy) or _too_few_graded(candidate, "candidate", policy)
    if thinned:
        return _verdict("infrastructure", thinned, baseline, candidate, policy, matched=matched)
    if not matched.pairs:
        reason = "There are no problems to compare."
        return _verdict("inconclusive", reason, baseline, candidate, policy, matched=matched)

    result = paired(tuple(matched.pairs.values()), alpha=policy.alpha, margin=policy.margin)
    kind, conclusion = _decide(result, policy)
    reason = f"{_summary(result, policy)}: {conclusion}"
    if missing:
        reason += f" Left out for infrastructure faults: {missing} of {total} problems."
    if quarantined:
        reason += f" Left out as quarantined: {len(quarantined)}."
    return _verdict(kind, reason, baseline, candidate, policy, matched=matched, result=result)


def _counted(samples: tuple[Sample, ...]) -> list[Sample]:
    return [sample for sample in samples if sample.passed is not None]


def _too_few_graded(samples: CandidateSamples, side: str, policy: GatePolicy) -> str | None:
    """Return why the samples of one side are too few: each problem may have kept one, and luck or a cause chose it."""
    planned = sum(len(entries) for entries in samples.samples.values())
    lost = planned - sum(len(_counted(entries)) for entries in samples.samples.values())
    if lost <= policy.max_missing * planned:
        return None
    return (
        f"Infrastructure faults left {lost} of {planned} samples of the {side} without a grade, more than the "
        f"{policy.max_missing:.0%} that is tolerated: nothing was decided."
    )


def _match(baseline: CandidateSamples, candidate: CandidateSamples) -> _Matched:
    pairs: dict[str, Pair] = {}
    failures: dict[str, str | None] = {}
    excluded: list[Exclusion] = []
    for problem in sorted(baseline.problem_digests):
        all_left, all_right = baseline.samples.get(problem, ()), candidate.samples.get(problem, ())
        left, right = _counted(all_left), _counted(all_right)
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
    return _Matched(pairs, failures, tuple(excluded))


def _missing_reason(side: str, left: tuple[Sample, ...], right: tuple[Sample, ...]) -> str:
    blamed = left + right if side == "both" else left if side == "baseline" else right
    if not blamed:
        return "no sample"
    causes = sorted({sample.failure for sample in blamed if sample.passed is None and sample.failure})
    return f"no counted sample: {', '.join(causes) or 'infrastructure fault'}"


def _decide(result: PairedResult, policy: GatePolicy) -> tuple[VerdictKind, str]:
    """Return the verdict and the second half of its reason."""
    pp = f"{policy.margin * 100:g} pp"
    if result.p_regression is None or result.p_noninferior is None:
        return "inconclusive", f"one problem proves nothing; at least {policy.min_problems} are needed."
    dropped, ruled_out = result.p_regression < policy.alpha, result.p_noninferior < policy.alpha
    p_drop = _probability(result.p_regression, policy.alpha)
    p_margin = _probability(result.p_noninferior, policy.alpha)
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
    needed = problems_needed(result.null_variance, alpha=policy.alpha, margin=policy.margin)
    advice = f"; with about {max(needed, result.n + 1)} problems like these an equal candidate passes in 4 of 5 cases"
    return "inconclusive", (
        f"neither a drop ({p_drop}) nor the absence of one of {pp} or more ({p_margin}) is shown{advice}."
    )


def _summary(result: PairedResult, policy: GatePolicy) -> str:
    problems = f"{result.n} problem" + ("" if result.n == 1 else "s")
    text = (
        f"Candidate {result.candidate_rate:.1%} vs baseline {result.baseline_rate:.1%} on {problems}: "
        f"{result.difference * 100:+.1f} pp"
    )
    if result.interval is None:
        return text
    low = _beside(result.interval[0] * 100, -policy.margin * 100, 1, "+")
    high = _beside(result.interval[1] * 100, 0.0, 1, "+")
    return f"{text} ({100 * (1 - 2 * policy.alpha):.4g}% interval {low}..{high})"


def _beside(value: float, limit: float, digits: int, sign: str = "") -> str:
    """Format ``value`` with as many digits as it takes to stay on its side of ``limit``."""
    for places in range(digits, digits + 4):
        shown = f"{value:{sign}.{places}f}"
        if (float(shown) < limit) == (value < limit) and (float(shown) > limit) == (value > limit):
            return shown
    return f"{value:{sign}.{digits}f}"


def _probability(p: float, alpha: float) -> str:
    if p < 0.001:
        return "p<.001"
    return "p=" + _beside(p, alpha, 3).removeprefix("0")


def _mismatch_reason(differing: tuple[Mismatch, ...]) -> str:
    def describe(item: Mismatch) -> str:
        name = _short(item.field)
        if item.candidate == ABSENT:
            return f"{name} is only in the baseline"
        if item.baseline == ABSENT:
            return f"{name} is only in the candidate's run"
        return f"{name} differs ({_short(item.baseline)} there, {_short(item.candidate)} here)"

    named = "; ".join(describe(item) for item in differing[:_NAMED])
    more = f"; and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
    return (
        f"The pinned baseline was made under other conditions: {named}{more}. Run the candidate under the "
        "baseline's conditions, or pin a new baseline under these."
    )


def _short(text: str) -> str:
    if re.fullmatch(r"[0-9a-f]{40,64}", text):
        return f"{text[:12]}..."
    return text if len(text) <= 60 else f"{text[:57]}..."


def _flips(matched: _Matched) -> tuple[tuple[Flip, ...], tuple[Flip, ...]]:
    """Return (regressions, improvements), the largest change first."""
    changed = [
        Flip(
            problem=problem,
            baseline_rate=pair.baseline_rate,
            baseline_n=pair.baseline_n,
            candidate_rate=pair.candidate_rate,
            candidate_n=pair.candidate_n,
            candidate_failure=matched.failures[problem],
        )
        for problem, pair in matched.pairs.items()
        if pair.difference != 0.0
    ]
    changed.sort(key=lambda flip: (-abs(flip.candidate_rate - flip.baseline_rate), flip.problem))
    worse = tuple(flip for flip in changed if flip.candidate_rate < flip.baseline_rate)
    return worse, tuple(flip for flip in changed if flip.candidate_rate > flip.baseline_rate)


def _verdict(
    kind: VerdictKind,
    reason: str,
    baseline: CandidateSamples,
    candidate: CandidateSamples,
    policy: GatePolicy,
    *,
    differing: tuple[Mismatch, ...] = (),
    matched: _Matched | None = None,
    result: PairedResult | None = None,
) -> Verdict:
    regressions, improvements = _flips(matched) if matched and result else ((), ())
    count = len(matched.pairs) if matched else 0
    return Verdict(
        kind=kind,
        reason=reason,
        candidate=candidate.candidate,
        label=candidate.label,
        baseline_label=baseline.label,
        problems=count,
        advisory=result is not None and count < policy.min_problems,
        baseline_rate=result.baseline_rate if result else None,
        candidate_rate=result.candidate_rate if result else None,
        difference=result.difference if result else None,
        interval=result.interval if result else None,
        p_regression=result.p_regression if result else None,
        p_noninferior=result.p_noninferior if result else None,
        margin=policy.margin,
        alpha=policy.alpha,
        regressions=regressions,
        improvements=improvements,
        excluded=matched.excluded if matched else (),
        mismatches=differing,
    )
