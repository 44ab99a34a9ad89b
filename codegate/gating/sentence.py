"""Write the sentences of a verdict.

Rounding never moves a number across a limit.
"""

import re
from collections.abc import Mapping, Sequence

from codegate.gating.comparability import ABSENT, HARNESS, UNSET, Differences
from codegate.gating.decision import Terms, can_drop_by_margin, too_few
from codegate.gating.policy import LOOKS
from codegate.gating.statistics import Comparison, Pair
from codegate.gating.verdict import Mismatch
from codegate.suite import SANDBOX
from codegate.wording import count_of, join_first

_BLIND = 1.5  # multiple of the margin; a gate that cannot detect a drop so large is too small
_FEWEST_FORETOLD = 8  # fewest problems for which the formula of the detectable drop holds


def reason_of(
    kind: str,
    comparison: Comparison,
    pairs: Sequence[Pair],
    terms: Terms,
    detectable: float | None,
    conclusion: str | None,
    *,
    pending: bool,
) -> str:
    """Return the sentences that explain a verdict.

    The sentences give the difference, its uncertainty and the next step. ``kind`` is the verdict. ``detectable`` is the
    smallest drop that 4 of 5 such runs find, None if unknown. ``conclusion`` is the end of a sentence, given if
    something other than the test decided. ``pending``: more samples follow if the verdict is inconclusive.
    """
    what = conclusion or _conclusion(kind, comparison, pairs, terms, pending=pending)
    where = "On this problem" if len(pairs) == 1 else f"On these {count_of(len(pairs), 'problem')}"
    head = f"{where} {_figures(comparison, terms)}: {what}"
    margin = terms.policy.margin
    foretold = detectable if len(pairs) >= _FEWEST_FORETOLD else None
    if kind != "pass" and foretold is not None and foretold > _BLIND * margin:
        finds = f"it finds {foretold * 100:.0f} pp in 4 of 5 runs"
        head = f"This gate is too small to see a drop of {_points(margin)} reliably; {finds}. {head}"
    if len(terms.looks) > 1 and not terms.confirming:
        head += f" {terms.samples} of at most {terms.looks[-1]} samples per problem."
    return head


def _figures(comparison: Comparison, terms: Terms) -> str:
    error = terms.level + terms.level_regressed
    once = len(terms.looks) == 1
    shown = _difference(comparison, terms.policy.margin, f"{100 * (1 - error):.3g}% interval" if once else "interval")
    if not once and comparison.interval is not None:
        shown += ", widened because the run is checked several times"
    return (
        f"the candidate solves {comparison.candidate_rate:.1%}, the baseline {comparison.baseline_rate:.1%} ({shown})"
    )


def _difference(comparison: Comparison, margin: float, which: str) -> str:
    text = f"{comparison.difference * 100:+.1f} pp"
    if comparison.interval is None:
        return text
    low = round_without_crossing(comparison.interval[0] * 100, -margin * 100, 1, "+")
    high = round_without_crossing(comparison.interval[1] * 100, 0.0, 1, "+")
    return f"{text}, {which} {low} to {high}"


def _conclusion(kind: str, comparison: Comparison, pairs: Sequence[Pair], terms: Terms, *, pending: bool) -> str:
    policy, margin = terms.policy, _points(terms.policy.margin)
    if comparison.p_regression is None or comparison.p_noninferior is None or comparison.p_gain is None:
        return f"one problem is not enough; a pass takes at least {terms.fewest_problems} problems."
    drop = _p_value(comparison.p_regression, terms.level_regressed)
    limit = _p_value(comparison.p_noninferior, terms.level)
    shown = comparison.p_regression < terms.level_regressed
    if kind == "pass" and not (comparison.p_noninferior < terms.level and can_drop_by_margin(comparison, policy)):
        return f"it is better ({probability(comparison.p_gain, terms.level)})."
    if kind == "pass":
        tolerated = f"; the smaller drop is real ({drop}) and tolerated" if shown else ""
        return f"a drop of {margin} or more is ruled out ({limit}){tolerated}."
    if kind == "regressed":
        return f"it is worse ({drop}){'; stopped early, so the size is likely overstated' if terms.pending else ''}."
    if too_few(pairs, terms):
        return f"a pass takes at least {terms.fewest_problems} problems."
    if not can_drop_by_margin(comparison, policy):
        return f"the baseline solves too little for a drop of {margin} to show; add problems that it solves."
    if shown:
        return f"a drop is shown ({drop}), but whether it reaches {margin} is open ({limit})."
    advice = _advice(terms, pending=pending)
    return f"neither a drop ({drop}) nor the absence of one of {margin} or more ({limit}) is shown{advice}."


def _p_value(p: float, level: float) -> str:
    needed = "" if p < level else f", needed < {f'{level:.2g}'.removeprefix('0')}"
    return probability(p, level) + needed


def _advice(terms: Terms, *, pending: bool) -> str:
    if terms.confirming:
        return ""
    if pending:
        return ", and sampling goes on"
    if terms.looks[-1] < LOOKS[-1] and not terms.copied:
        return f"; up to {LOOKS[-1]} samples per problem (gate.max_samples) would settle more"
    return "; more problems would settle it (codegate plan shows how much)"


def population_sentence(
    comparison: Comparison, problems: int, *, few_problems: bool, margin: float, level: float
) -> str:
    """Return the sentence about bugs beyond the suite.

    ``few_problems``: too few to conclude anything. ``level`` is the one-sided level of the p-values.
    """
    source = f" from {count_of(comparison.n, 'pull request')}" if comparison.n < problems else ""
    if few_problems or comparison.interval is None:
        what = f"{count_of(problems, 'problem')}{source} {'is' if problems == 1 else 'are'}"
        return f"For bugs like these: {what} too few to say anything about others."
    shown = _difference(comparison, margin, f"{100 * (1 - 2 * level):.3g}% interval")
    head = f"For bugs like these: {shown}{source and f',{source}'}"
    if comparison.baseline_rate <= margin:
        return f"{head}; the baseline solves too little for a drop of {_points(margin)} to show."
    if comparison.interval[0] > -margin:
        return f"{head}; a drop of {_points(margin)} or more is ruled out too."
    if comparison.interval[1] < 0.0:
        return f"{head}; the candidate is worse."
    return f"{head}; a drop of {_points(margin)} or more is not ruled out, and only more problems would narrow this."


def _points(share: float) -> str:
    return f"{share * 100:g} pp"


def round_without_crossing(value: float, limit: float, digits: int, sign: str = "") -> str:
    """Return ``value`` as text with ``digits`` decimals.

    More decimals are used if rounding would move it across ``limit``. ``sign`` is ``+`` or "", as in format strings.
    """
    for places in range(digits, digits + 4):
        shown = f"{value:{sign}.{places}f}"
        if (float(shown) < limit) == (value < limit) and (float(shown) > limit) == (value > limit):
            return shown
    return f"{value:{sign}.{digits}f}"


def probability(p: float, level: float = 1.0) -> str:
    """Return p as ``p=.012`` or ``p<.001``.

    Rounding never moves p across ``level``.
    """
    if p < min(0.001, level):
        return "p<.001"
    return "p=" + round_without_crossing(p, level, 3).removeprefix("0")


def mismatch_reason(differences: Differences) -> str:
    """Return why a comparison is not possible, and the remedy."""
    differing = differences.mismatches

    def describe(item: Mismatch) -> str:
        name = _short(item.field)
        if item.candidate == ABSENT:
            return f"{name} is only in the baseline"
        if item.baseline == ABSENT:
            return f"{name} is only in the candidate's run"
        return f"{name} differs ({_short(item.baseline)} there, {_short(item.candidate)} here)"

    if any(one.field == HARNESS and one.baseline == UNSET for one in differing):
        return (
            "The pinned baseline was made without a recorded harness: its agent read what each problem's commit held. "
            "Pin it again: `codegate run SUITE --no-gate --samples 10 --out runs/renewed` with its candidate, then "
            "`codegate baseline pin runs/renewed --replace`."
        )
    controls = f" {_controls_words(differences.controlled)}" if differences.controlled else ""
    fields = {"suite", *(f"problem {name}" for name in differences.controlled)}
    if controls and {one.field for one in differing} <= fields:
        return f"The pinned baseline is of the suite without its controls.{controls}"
    named = join_first(map(describe, differing), separator="; ")
    changed = all(one.field == "suite" or one.field.startswith("problem ") for one in differing)
    hint = " Another version of codegate has another grader." if any(one.field == "grader" for one in differing) else ""
    if changed and not controls:
        hint = " `gate.drop_changed: true` compares on the problems that both have."
    return (
        f"The pinned baseline was made under other conditions: {named}. Run the candidate under the baseline's "
        f"conditions, or pin a new baseline under these.{hint}{controls}{_proof_commands(differences.unproved)}"
    )


def _controls_words(problems: tuple[str, ...]) -> str:
    """Return what to do after validation added controls to ``problems``."""
    return (
        f"`codegate validate` has added controls to {join_first(problems)} since the baseline was pinned. Controls can "
        "change a grade, so pin again: `codegate run SUITE --no-gate --samples 10 --out runs/controlled`, then "
        "`codegate baseline pin runs/controlled --replace`."
    )


def _proof_commands(unproved: Sequence[Mapping[str, str]]) -> str:
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
