"""Tables of the settings' effects, for every format."""

from collections.abc import Iterable, Iterator
from typing import Final

from codegate.reporting import figures
from codegate.reporting.cells import Name, Table
from codegate.reporting.figures import Figure
from codegate.reporting.sweep import BEYOND_CHANCE, FEWEST, Effect, SettingScore, Sweep
from codegate.wording import few

_SENSITIVE: Final = 10


def sweep_tables(sweep: Sweep | None) -> tuple[Table, ...]:
    """Return the tables of settings' effects; () without a sweep."""
    if sweep is None:
        return ()
    exact = f"Exact test, adjusted by Holm for problems and changes; below {BEYOND_CHANCE} is beyond chance."
    return (
        Table(
            "settings",
            "Score by setting",
            ("Setting", "Value", "pass@1", "Score", "Samples"),
            tuple(map(_score, sweep.scores)),
            "The mean over all combinations with the value; 95% intervals count problems.",
        ),
        Table(
            "effects",
            "Effect of each setting",
            ("Setting", "Change", "Effect on pass@1", "p (Holm)", "Problems better", "Worse"),
            tuple(_effect(sweep, one) for one in sweep.effects),
            "Each value against the first, paired by problem and by all other settings. t test over problems, adjusted "
            f"by Holm for {len(sweep.effects)} comparisons. Nothing is gated on it.",
        ),
        Table(
            "sensitive",
            "Most sensitive problems",
            ("Problem", "Setting", "Change", "pass@1", "p (Holm)"),
            tuple((Name(one.where or ""), *_rates(one)) for one in sweep.problems[:_SENSITIVE]),
            sweep.limits or exact,
        ),
        Table(
            "interference",
            "Better here, worse there",
            ("Setting", "Change", "By", "Better", "Worse"),
            tuple(_interference(sweep)),
            f"Changes that help some and harm others: problems, and tags of at least {FEWEST} problems. An asterisk is "
            "beyond chance (Holm), the others may be chance.",
        ),
    )


def _score(one: SettingScore) -> tuple[str, ...]:
    setting = Name(one.setting) if one.setting else Figure("combination")
    score = figures.estimate(one.score, figures.number)
    return setting, Name(one.value), figures.share(one.pass_rate), score, figures.count(one.samples)


def _change(one: Effect) -> tuple[str, ...]:
    return Name(one.setting), Name(f"{one.before} → {one.after}")


def _effect(sweep: Sweep, one: Effect) -> tuple[str, ...]:
    sides = (Figure(len(side)) for side in _better_and_worse(sweep.problems, one))
    return *_change(one), figures.difference(one.difference), figures.p_value(one.p), *sides


def _rates(one: Effect) -> tuple[str, ...]:
    rates = Figure(f"{one.before_rate:.0%} → {one.after_rate:.0%} n={one.difference.n} each")
    return *_change(one), rates, figures.p_value(one.p)


def _better_and_worse(found: Iterable[Effect], effect: Effect) -> tuple[list[Effect], list[Effect]]:
    mine = [(one.difference.value or 0, one) for one in found if one.change == effect.change]
    return [one for value, one in mine if value > 0], [one for value, one in mine if value < 0]


def _interference(sweep: Sweep) -> Iterator[tuple[str, ...]]:
    for effect in sweep.effects:
        for kind, found in (("problem", sweep.problems), ("tag", sweep.cohorts)):
            better, worse = _better_and_worse(found, effect)
            if better and worse:
                yield *_change(effect), Figure(kind), _listed(better), _listed(worse)


def _listed(found: Iterable[Effect]) -> str:
    parts = [
        f"{one.where} {figures.points(one.difference.value)} n={one.difference.n}"
        f"{'*' if one.p is not None and one.p < BEYOND_CHANCE else ''}"
        for one in found
    ]
    return few(parts)
