"""Confirm a regression with fresh samples of the pinned model.

All gates on one stored baseline share its sampling error, and a later fault of the environment, the provider or a time
limit counts against the candidate. Fresh samples reduce that error and reveal such a fault. They are made only after a
regression, so a candidate that passes costs nothing more.
"""

from codegate.gating.cohorts import below_floor, broken_floors
from codegate.gating.comparability import changed_model_warning, without_changed, without_quarantined
from codegate.gating.compare import compare
from codegate.gating.decision import FRESH_REACH, NEAR
from codegate.gating.drift import DRIFT_LEVEL, change_between, counts_of
from codegate.gating.policy import CohortPolicy, GatePolicy
from codegate.gating.samples import CandidateSamples, tally
from codegate.gating.sentence import probability, round_without_crossing
from codegate.gating.verdict import Drift, Verdict
from codegate.wording import count_of, join_first


def confirm(
    stored: CandidateSamples,
    fresh: CandidateSamples,
    candidate: CandidateSamples,
    policy: GatePolicy,
    *,
    looks: tuple[int, ...] | None = None,
    candidates: int = 1,
) -> Verdict:
    """Compare; confirm a regression with fresh samples. Return the verdict.

    ``stored`` and ``fresh`` are samples of the pinned model. ``looks`` are the samples per problem at each planned
    comparison (None: a single one), and ``candidates`` is the number of candidates gated together. Any verdict but a
    regression is returned unchanged. To confirm a regression, the candidate is compared again. The comparison is with
    ``fresh`` only if ``fresh`` differ from ``stored`` (exact stratified test, two-sided p below 1 %), otherwise with
    both pooled. The regression is confirmed if this comparison finds it at the full alpha. The measured drop must also
    be at least three quarters of the margin, and half the margin against ``fresh`` alone. Otherwise the verdict is
    inconclusive. A floor or a ``must_pass`` problem counts only if the pinned model still meets it.
    """
    first = compare(stored, candidate, policy, looks=looks, candidates=candidates)
    if first.kind != "regressed":
        return first
    own = compare(stored, fresh, policy)
    if own.kind in {"incomparable", "infrastructure"}:
        reason = f"A regression was seen, but fresh samples of the pinned model could not confirm it. {own.reason}"
        if own.kind == "infrastructure":
            reason += " If that model was shut down, pin another one, or set `gate.confirm_samples: 0`."
        return first.model_copy(update={"kind": own.kind, "reason": reason, "confirmed": False})
    drift = drift_between(stored, fresh)
    # Stored samples with other settings (an older prompt) are not pooled; fresh ones have the candidate's settings.
    alone = drift.drifted or fresh.settings != stored.settings
    # A problem that has become unsound here has no fresh samples, so it cannot confirm anything.
    against = fresh if alone else pooled(*without_quarantined(stored, fresh)[:2])
    demands, warnings = _without_missed_demands(policy, own, fresh)
    second = compare(against, candidate, demands, looks=looks, candidates=candidates, confirming=True)
    unconfirmed = _unconfirmed_alone(fresh, candidate, second, demands)
    confirmed = second.kind == "regressed" and unconfirmed is None
    both = against is not fresh and second.baseline_rate is not None
    return second.model_copy(
        update={
            "kind": second.kind if confirmed or second.kind in {"infrastructure", "incomparable"} else "inconclusive",
            "reason": f"{second.reason} {_conclusion(drift, unconfirmed, confirmed=confirmed, both=both)}",
            "baseline_label": first.baseline_label,
            "confirmed": confirmed,
            "drift": drift,
            "changes": first.changes,
            "warnings": (*second.warnings, *changed_model_warning(stored, fresh), *warnings),
        }
    )


def _unconfirmed_alone(
    fresh: CandidateSamples, candidate: CandidateSamples, second: Verdict, policy: GatePolicy
) -> str | None:
    demanded = second.must_pass_failed or broken_floors(second.cohorts)
    if second.kind != "regressed" or demanded:
        return None
    alone, needed = compare(fresh, candidate, policy, confirming=True).difference, -FRESH_REACH * policy.margin
    if alone is None or alone <= needed + NEAR:
        return None
    shown = round_without_crossing(alone * 100, needed * 100, 1, "+")
    return f": against these alone the difference is {shown} pp, and {needed * 100:g} pp or lower confirms"


def drift_between(stored: CandidateSamples, fresh: CandidateSamples) -> Drift:
    """Compare the pinned model's fresh and stored samples, without copies."""
    left, right, _ = without_changed(*without_quarantined(stored, fresh)[:2])
    before, after = counts_of(left), counts_of(right)
    change = change_between(before, after)
    if change is None:
        return Drift(problems=0, fresh_samples=0, stored_rate=0.0, fresh_rate=0.0, p=1.0, drifted=False)
    return Drift(
        problems=change.n,
        fresh_samples=sum(n for problem, (_, n) in after.items() if before[problem][1]),
        stored_rate=change.before,
        fresh_rate=change.after,
        p=change.p,
        drifted=change.p < DRIFT_LEVEL,
    )


def pooled(stored: CandidateSamples, fresh: CandidateSamples) -> CandidateSamples:
    """Return the stored problems' samples, stored and fresh together."""
    samples = {problem: (*own, *fresh.samples.get(problem, ())) for problem, own in stored.samples.items()}
    both = {"samples": samples, "excluded": {**stored.excluded, **fresh.excluded}}
    return stored.model_copy(update=both).renumbered()


def _without_missed_demands(policy: GatePolicy, own: Verdict, fresh: CandidateSamples) -> tuple[GatePolicy, list[str]]:
    """Return the policy without demands that the pinned model misses.

    Demands are floors and ``must_pass`` problems. A demand without a graded sample counts as missed. ``own`` is the
    verdict on the pinned model's ``fresh`` samples. The second item has a warning for each kind of missed demand.
    """
    warnings: list[str] = []
    unsolved = {name for name in policy.must_pass if not tally(fresh.samples.get(name, ()))[0]}
    if unsolved:
        warnings.append(
            f"The pinned model's fresh samples do not solve all of `gate.must_pass` either: "
            f"{join_first(sorted(unsolved))}."
        )
    broken = policy.critical_floors.keys() - {one.tag for one in own.cohorts if not below_floor(one)}
    if broken:
        warnings.append(
            f"The pinned model does not reach the critical floor in its fresh samples either: "
            f"{join_first(sorted(broken))}."
        )
    cohorts = {
        tag: CohortPolicy(floor=rule.floor, tier="supporting") if tag in broken else rule
        for tag, rule in policy.cohorts.items()
    }
    must_pass = tuple(problem for problem in policy.must_pass if problem not in unsolved)
    return policy.model_copy(update={"cohorts": cohorts, "must_pass": must_pass}), warnings


def _conclusion(drift: Drift, unconfirmed: str | None, *, confirmed: bool, both: bool) -> str:
    """Say whether the pinned model's fresh samples confirm a regression.

    The sentence has the pinned model's pass rates then and now, and says whether it drifted. ``unconfirmed`` is a
    clause to add if the regression was found again, but with too small a drop against the fresh samples alone; else
    None. ``both``: the candidate was compared with stored and fresh samples pooled.
    """
    now = (
        f"{drift.fresh_rate:.1%} now vs {drift.stored_rate:.1%} then on {count_of(drift.problems, 'problem')}, "
        f"{count_of(drift.fresh_samples, 'fresh sample')}, {probability(drift.p, DRIFT_LEVEL)}"
        f"{'; the baseline above is both together' if both else ''}"
    )
    if drift.drifted:
        left = "against its fresh samples alone the regression " + ("stands" if confirmed else "is not confirmed")
        return f"The pinned model itself changed ({now}), so the baseline needs a refresh; {left}."
    if confirmed:
        return f"Confirmed by fresh samples of the pinned model; no drift of the pinned model shown ({now})."
    return (
        "A regression against the stored baseline is not confirmed by fresh samples of the pinned model"
        f"{unconfirmed or ''} ({now})."
    )
