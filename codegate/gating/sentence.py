"""The sentences of a verdict. Numbers have as many digits as it takes not to contradict the decision."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from codegate.gating.comparability import ABSENT, Differences
from codegate.gating.decision import Terms, has_headroom, too_few
from codegate.gating.drop_tests import fewest_problems
from codegate.gating.policy import SCHEDULES
from codegate.gating.statistics import Comparison, Pair
from codegate.gating.verdict import Mismatch
from codegate.suite import SANDBOX
from codegate.wording import count_of

_BLIND = 1.5  # times the margin: a gate that needs a larger drop to see one is too small
_NAMED = 5  # how many mismatches, or problems, a sentence names


def reason_of(
    kind: str,
    found: Comparison,
    pairs: Sequence[Pair],
    terms: Terms,
    detectable: float | None,
    conclusion: str | None = None,
) -> str:
    """Return the reason of a verdict: by how much, how sure, and what to do.

    ``detectable`` is the smallest drop that such a run finds in 4 of 5 cases; ``conclusion``, the end of a sentence, is
    what decided instead of the test.
    """
    what = conclusion or _conclusion(kind, found, pairs, terms)
    head = f"{_where(found, len(pairs), terms)} {_figures(found, terms)}: {what}"
    margin = terms.policy.margin
    if kind != "pass" and detectable is not None and detectable > _BLIND * margin:
        finds = f"it finds {detectable * 100:.0f} pp in 4 of 5 runs"
        head = f"This gate is too small to see a drop of {_points(margin)} reliably; {finds}. {head}"
    if len(terms.looks) > 1:
        head += f" {terms.samples} of at most {terms.looks[-1]} samples per problem."
    return head


def _where(found: Comparison, problems: int, terms: Terms) -> str:
    if terms.policy.scope == "suite":
        return f"On {'this' if problems == 1 else 'these'} {count_of(problems, 'problem')}"
    return f"For bugs like these {count_of(problems, 'problem')}" + (
        f" from {found.n} pull requests" if found.n < problems else ""
    )


def _figures(found: Comparison, terms: Terms) -> str:
    text = (
        f"the candidate solves {found.candidate_rate:.1%}, the baseline {found.baseline_rate:.1%} "
        f"({found.difference * 100:+.1f} pp"
    )
    if found.interval is None:
        return f"{text})"
    low = beside(found.interval[0] * 100, -terms.policy.margin * 100, 1, "+")
    high = beside(found.interval[1] * 100, 0.0, 1, "+")
    return f"{text}, {100 * (1 - terms.level - terms.level_regressed):.4g}% interval {low} to {high})"


def _conclusion(kind: str, found: Comparison, pairs: Sequence[Pair], terms: Terms) -> str:
    """Return what the test decided, as the end of a sentence."""
    policy, margin = terms.policy, _points(terms.policy.margin)
    if found.p_regression is None or found.p_noninferior is None or found.p_gain is None:
        return f"one problem is not enough; a pass takes at least {terms.fewest_problems} problems."
    drop = probability(found.p_regression, terms.level_regressed)
    limit = probability(found.p_noninferior, terms.level)
    shown = found.p_regression < terms.level_regressed
    if kind == "pass" and not (found.p_noninferior < terms.level and has_headroom(found, policy)):
        return f"it is better ({probability(found.p_gain, terms.level)})."
    if kind == "pass":
        tolerated = f"; the smaller drop is real ({drop}) and tolerated" if shown else ""
        return f"a drop of {margin} or more is ruled out ({limit}){tolerated}."
    if kind == "regressed":
        return f"it is worse ({drop})."
    few = too_few(pairs, found.n, terms)
    if few is not None:
        return f"{few}."
    if not has_headroom(found, policy):
        return f"the baseline solves too little for a drop of {margin} to show; add problems that it solves."
    if shown:
        return f"a drop is shown ({drop}), but whether it reaches {margin} is open ({limit})."
    return f"neither a drop ({drop}) nor the absence of one of {margin} or more ({limit}) is shown{_advice(terms)}."


def _advice(terms: Terms) -> str:
    if terms.pending:
        return ", and sampling goes on"
    if terms.looks[-1] < max(SCHEDULES):
        return f"; up to {max(SCHEDULES)} samples per problem (gate.max_samples) would settle more"
    return "; more problems would settle it (codegate plan shows how much)"


def population_sentence(
    found: Comparison, few: str | None, *, margin: float, level: float
) -> tuple[Literal["drop", "ruled out", "open"], str]:
    """Return what a comparison shows about problems like these, and that as a sentence.

    ``few`` is why there are too few problems for a pass, if so; ``level`` the one-sided level of both questions.
    """
    points = _points(margin)
    if found.p_regression is None or found.p_noninferior is None:
        return "open", "For bugs like these: one problem shows nothing about others."
    if found.p_noninferior < level and few is None:
        return "ruled out", (
            f"For bugs like these: a drop of {points} or more is ruled out too "
            f"({probability(found.p_noninferior, level)})."
        )
    if found.p_regression < level:
        return "drop", f"For bugs like these: the candidate is worse ({probability(found.p_regression, level)})."
    least = fewest_problems(margin, found.baseline_rate, level)
    if few is not None:
        why = few
    elif least is not None and found.n < least:
        why = f"without any loss it takes at least {least} problems, whatever the number of samples"
    else:
        why = "more problems would settle it, more samples would not"
    return "open", (
        f"For bugs like these: a drop of {points} or more is not ruled out "
        f"({probability(found.p_noninferior, level)}); {why}."
    )


def _points(share: float) -> str:
    return f"{share * 100:g} pp"


def beside(value: float, limit: float, digits: int, sign: str = "") -> str:
    """Format ``value`` with as many digits as it takes to stay on its side of ``limit``."""
    for places in range(digits, digits + 4):
        shown = f"{value:{sign}.{places}f}"
        if (float(shown) < limit) == (value < limit) and (float(shown) > limit) == (value > limit):
            return shown
    return f"{value:{sign}.{digits}f}"


def probability(p: float, level: float = 1.0) -> str:
    """Return ``p=.012``, on its side of ``level``; ``p<.001`` where it is below both."""
    if p < min(0.001, level):
        return "p<.001"
    return "p=" + beside(p, level, 3).removeprefix("0")


def listed(names: tuple[str, ...]) -> str:
    """Return the first few names and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def mismatch_reason(found: Differences) -> str:
    """Return why two sides cannot be compared, and what helps."""
    differing = found.mismatches

    def describe(item: Mismatch) -> str:
        name = _short(item.field)
        if item.candidate == ABSENT:
            return f"{name} is only in the baseline"
        if item.baseline == ABSENT:
            return f"{name} is only in the candidate's run"
        return f"{name} differs ({_short(item.baseline)} there, {_short(item.candidate)} here)"

    controls = f" {controls_words(found.controlled)}" if found.controlled else ""
    if {one.field for one in differing} <= {"suite", *(f"problem {name}" for name in found.controlled)} and controls:
        return f"The pinned baseline is of the suite without its controls.{controls}"
    named = "; ".join(describe(item) for item in differing[:_NAMED])
    more = f"; and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
    return (
        f"The pinned baseline was made under other conditions: {named}{more}. Run the candidate under the "
        f"baseline's conditions, or pin a new baseline under these.{controls}{_proof(found.unproved)}"
    )


def controls_words(problems: tuple[str, ...]) -> str:
    """Return the cause and the remedy where a validation has added controls to problems."""
    return (
        f"`codegate validate` has added controls to {listed(problems)} since the baseline was pinned. Controls can "
        "change a grade, so pin again: `codegate run SUITE --no-gate --samples 10 --out runs/controlled`, then "
        "`codegate baseline pin runs/controlled --replace`."
    )


def _proof(unproved: Sequence[Mapping[str, str]]) -> str:
    """Return the commands that prove that a suite grades the same in these places."""
    if not unproved:
        return ""
    commands = " and ".join(f"`{_command(place)}`" for place in unproved)
    return (
        f" Sandboxes and base images may differ where the suite is proved to grade the same on both: run {commands}, "
        "commit proved.json in the suite's folder, and run the candidate again."
    )


def _command(place: Mapping[str, str]) -> str:
    images = {value for name, value in place.items() if name != SANDBOX}
    image = f"CODEGATE_BASE_IMAGE={images.pop()} " if len(images) == 1 else ""
    return f"{image}codegate validate SUITE --sandbox {place.get(SANDBOX, 'auto')}"


def _short(text: str) -> str:
    if re.fullmatch(r"[0-9a-f]{40,64}", text):
        return f"{text[:12]}..."
    return text if len(text) <= 60 else f"{text[:57]}..."
