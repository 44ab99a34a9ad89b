"""Cohorts: the compared problems that carry one tag.

Reports describe cohorts. A cohort can cause a warning, but only a critical floor can gate. Among many small groups one
always drops by chance: with four cohorts of 15 problems, the rule "any cohort lost 5 points" alarms on an equal model
in more than half of the runs. So a drop only warns, after Holm's adjustment. A floor in the tier ``critical`` gates if
the candidate is significantly below it.
"""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from codegate.gating.drop_tests import suite_test
from codegate.gating.policy import GatePolicy
from codegate.gating.sentence import round_without_crossing
from codegate.gating.statistics import Pair, exact_interval, holm
from codegate.gating.verdict import Cohort
from codegate.wording import count_of

_FEWEST = 5  # fewest problems for which a cohort's drop is tested

ALL: Final = "all"
"""Key that sets a floor for all problems. No tag has this name, because tags have the form ``name:value``."""


def cohort_results(
    pairs: Mapping[str, Pair], tags: Mapping[str, tuple[str, ...]], policy: GatePolicy, level: float
) -> tuple[Cohort, ...]:
    """Return one ``Cohort`` for each tag, sorted by tag.

    A tag counts if it has a floor, or if some but not all compared problems carry it. The critical floors share
    ``level`` (Bonferroni). Intervals are exact for the number of problems; repeated samples do not narrow them.
    """
    members: dict[str, list[str]] = {}
    for problem in pairs:
        for tag in sorted({*tags.get(problem, ()), ALL}):
            members.setdefault(tag, []).append(problem)
    shown = {tag: found for tag, found in members.items() if len(found) < len(pairs) or tag in policy.cohorts}
    drops = {
        tag: p
        for tag, found in shown.items()
        if _FEWEST <= len(found) < len(pairs)
        and (p := suite_test([pairs[problem] for problem in found], margin=policy.margin).p_regression) is not None
    }
    adjusted = holm(drops)
    shared = level / max(len(policy.critical_floors), 1)
    described = []
    for tag in sorted(shown):
        group = [pairs[problem] for problem in shown[tag]]
        solved = sum(pair.candidate_rate for pair in group)
        rule = policy.cohorts.get(tag)
        low, high = exact_interval(min(solved, len(group)), len(group), shared)
        described.append(
            Cohort(
                tag=tag,
                problems=len(group),
                baseline_rate=sum(pair.baseline_rate for pair in group) / len(group),
                candidate_rate=solved / len(group),
                p_regression=drops.get(tag),
                p_holm=adjusted.get(tag),
                floor=rule.floor if rule else None,
                tier=rule.tier if rule else None,
                lower=low if rule else None,
                upper=high if rule else None,
                confidence=1.0 - 2.0 * shared if rule else None,
            )
        )
    return tuple(described)


def below_floor(cohort: Cohort) -> bool:
    """Return whether the pass rate is significantly below the floor.

    False if the cohort has no floor.
    """
    return cohort.floor is not None and cohort.upper is not None and cohort.upper < cohort.floor


def broken_floors(cohorts: Sequence[Cohort]) -> tuple[Cohort, ...]:
    """Return critical cohorts with a rate significantly below the floor."""
    return tuple(cohort for cohort in cohorts if cohort.tier == "critical" and below_floor(cohort))


def problems_of(cohort: Cohort) -> str:
    """Return text such as ``the 12 problems tagged 'kind:crash'``."""
    counted = count_of(cohort.problems, "problem")
    return f"all {counted}" if cohort.tag == ALL else f"the {counted} tagged {cohort.tag!r}"


def solved_words(cohort: Cohort) -> str:
    """Return the cohort's pass rate as text.

    If the cohort has a floor, the interval follows.
    """
    if cohort.lower is None or cohort.upper is None or cohort.confidence is None or cohort.floor is None:
        return f"{cohort.candidate_rate:.1%}"
    low, high = (round_without_crossing(end * 100, cohort.floor * 100, 1) for end in (cohort.lower, cohort.upper))
    confidence = round_without_crossing(cohort.confidence * 100, 100, 1)
    return f"{cohort.candidate_rate:.1%} ({confidence}% interval {low}% to {high}%)"


def unseen_floors(carried: Collection[str], policy: GatePolicy) -> dict[str, str]:
    """Return tags that have a floor, but no compared problem.

    ``carried`` are the tags of the compared problems. By each tag there is text that ends a sentence: ``; did you mean
    'x'?`` or a full stop.
    """
    unseen = sorted(policy.cohorts.keys() - {*carried, ALL})
    close = {tag: get_close_matches(tag, sorted(carried), 1) for tag in unseen}
    return {tag: f"; did you mean {found[0]!r}?" if found else "." for tag, found in close.items()}


def cohort_warnings(cohorts: tuple[Cohort, ...], level: float, *, regressed: bool) -> list[str]:
    """Return warnings about cohorts with a drop or missed floor.

    A drop is reported if it is significant at ``level`` after Holm's adjustment and the whole suite is not
    ``regressed``.
    """
    sentences = []
    for cohort in cohorts:
        problems, before = problems_of(cohort), cohort.baseline_rate
        if before is not None and cohort.p_holm is not None and cohort.p_holm < level and not regressed:
            sentences.append(
                f"On {problems} the pass rate fell from {before:.1%} to {cohort.candidate_rate:.1%} "
                f"(p={cohort.p_holm:.2g} after Holm's adjustment for the number of cohorts)."
            )
        if cohort.floor is None or cohort.candidate_rate >= cohort.floor:
            continue
        if below_floor(cohort):
            sentences.append(
                f"On {problems} the candidate solves {solved_words(cohort)}, below the {cohort.tier} floor of "
                f"{cohort.floor:.1%} beyond chance."
            )
        elif cohort.tier != "advisory":
            sentences.append(
                f"On {problems} the candidate solves {cohort.candidate_rate:.1%}, below the {cohort.tier} floor of "
                f"{cohort.floor:.1%}; with so few problems this may be chance."
            )
    return sentences
