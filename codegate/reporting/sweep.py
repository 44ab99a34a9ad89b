"""Measure each setting's effect on the pass rate.

It is measured on all problems, on tags and on each problem. Nothing gates on it.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from codegate.candidates import CandidateSpec
from codegate.errors import UsageError
from codegate.gating import CandidateSamples, Sample
from codegate.gating.comparability import condition_differences
from codegate.gating.drop_tests import population_test
from codegate.gating.estimates import Difference, Estimate, mean_rate
from codegate.gating.samples import clusters_of, tally, with_grade, without_copies
from codegate.gating.statistics import Pair, TwoByTwo, holm, stratified_test
from codegate.reporting.breakdown import tagged
from codegate.reporting.plain import one_line
from codegate.running import Run, candidate_samples
from codegate.wording import count_of

FEWEST: Final = 5
"""Fewest problems of a tag for which an effect is shown."""
BEYOND_CHANCE: Final = 0.05
"""Adjusted p below which a change is beyond chance."""

_DEFAULT: Final = "default"
_MODEL: Final = frozenset({"provider", "model", "base_url", "agent"})  # settings that name the model or agent
_TAIL: Final = 0.025  # error on each side of an interval
_MARGIN: Final = 0.1  # margin for the gate's test; it widens only intervals without any changed problem
_MOST_SAMPLES: Final = 100

_Change = tuple[str, str, str]
"""A setting, its first value and another one."""
_Group = tuple[_Change, str | None]
"""A change, and the tag or problem on which it is measured; None: all problems."""
_Strata = Sequence[TwoByTwo]
"""The counts of one problem after and before a change, for each combination of the other settings."""
_Tables = Mapping[str, _Strata]
_Compared = tuple[float, float, Difference, float | None]
"""Rate before, rate after, their difference, and p (None if unknown)."""
_Test = Callable[[_Tables], _Compared]
_Samples = Mapping[str, Sequence[Sample]]
_Combinations = Mapping[tuple[str, ...], _Samples]
"""The graded samples by problem of each combination of values."""


@dataclass(frozen=True)
class SettingScore:
    """Pass rate and score with one value of a setting.

    Pass rate and score are averaged over all other settings. If ``setting`` is "", ``value`` is a combination of values
    of all settings.
    """

    setting: str
    value: str
    pass_rate: Estimate
    score: Estimate
    samples: int


@dataclass(frozen=True)
class Effect:
    """The change of the pass rate with one setting's value.

    ``before`` is the setting's first value, ``after`` another one. ``where`` is a tag or a problem; None: all problems.
    Rates are paired by problem and by all other settings. ``p`` is two-sided, adjusted by Holm.
    """

    setting: str
    before: str
    after: str
    where: str | None
    before_rate: float
    after_rate: float
    difference: Difference
    p: float | None

    @property
    def change(self) -> _Change:
        """Return the setting, its first value and its other value."""
        return self.setting, self.before, self.after


@dataclass(frozen=True)
class Sweep:
    """The effects of all settings in which candidates differ.

    Settings that always change together count as one. ``limits`` is a note that single problems have too few samples to
    judge, or "".
    """

    settings: tuple[str, ...]
    scores: tuple[SettingScore, ...]
    effects: tuple[Effect, ...]
    cohorts: tuple[Effect, ...]
    problems: tuple[Effect, ...]
    limits: str


def sweep_of(runs: Sequence[Run]) -> Sweep:
    """Compute the effect of each setting of the runs' candidates.

    Copied answers count once. Raises UsageError if conditions differ, or if no two candidates differ in one setting
    only.
    """
    columns = [
        (run, spec) for run in {run.manifest.id: run for run in runs}.values() for spec in run.manifest.candidates
    ]
    specs, sides = [spec for _, spec in columns], [without_copies(candidate_samples(*column)) for column in columns]
    for side in sides[1:]:
        for one in condition_differences(sides[0].conditions, side.conditions, side.proved).mismatches:
            raise UsageError(
                f"{sides[0].label} and {side.label} were not run under the same conditions: {one.field} differs.",
                "Run all settings on the same suite, with the same grader and sandbox.",
            )
    settings, values = _settings(specs, sides)
    combinations = _combinations(sides, values)
    found: dict[_Change, _Tables] = {}
    for place, setting in enumerate(settings):
        first, *others = dict.fromkeys(combination[place] for combination in values)
        for value in others:
            if tables := _paired(combinations, place, first, value):
                found[setting, first, value] = tables
    if all(_MODEL.intersection(setting.split(", ")) for setting, _, _ in found):
        raise UsageError(
            "no two candidates of these runs have grades and differ in one setting alone.",
            "Declare a `matrix` in codegate.yml, or name the runs of its settings; `codegate report` compares models.",
        )
    tags = {name: tuple(map(one_line, of)) for name, of in sides[0].tags.items()}
    by_tag: dict[_Group, _Tables] = {
        (change, tag): {problem: tables[problem] for problem in problems}
        for change, tables in found.items()
        for tag, problems in tagged(tables, tags).items()
        if len(problems) >= FEWEST
    }
    # Problems whose samples all passed or all failed are left out, because no result could be significant (Tarone 1990,
    # Biometrics 46:515).
    single: dict[_Group, _Tables] = {
        (change, problem): {problem: strata}
        for change, tables in found.items()
        for problem, strata in tables.items()
        if any(0 < a + b < n + m for a, n, b, m in strata)
    }
    problems = [one for one in _effects(single, _on_one) if one.difference.value]
    test = partial(_on_several, sides[0].clusters)
    return Sweep(
        settings=settings,
        scores=tuple(_scores(settings, combinations)),
        effects=_effects({(change, None): tables for change, tables in found.items()}, test),
        cohorts=_effects(by_tag, test),
        problems=tuple(sorted(problems, key=lambda one: (one.p, -abs(one.difference.value or 0), one.where))),
        limits=_too_few_samples_note(
            [strata for tables in found.values() for strata in tables.values()], max(len(single), 1)
        ),
    )


def _settings(
    specs: Sequence[CandidateSpec], sides: Sequence[CandidateSamples]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the names of differing settings, and candidates' values.

    ``sides`` has the samples of each candidate in ``specs``. Each candidate's values are in the order of the names.
    """
    prompts = [
        (_prompt(spec), side.settings["solver"], side.settings["prompt"])
        for spec, side in zip(specs, sides, strict=True)
    ]
    texts = Counter(prompt[:2] for prompt in set(prompts))  # prompts with equal file names can have several texts
    rows = [
        dict(side.settings) | {"prompt": f"{name} ({version})" if texts[name, solver] > 1 else name}
        for side, (name, solver, version) in zip(sides, prompts, strict=True)
    ]

    def column(name: str) -> tuple[str, ...]:
        return tuple(one_line(row.get(name, _DEFAULT), 2000) for row in rows)

    columns = {name: column(name) for row in rows for name in row if len(set(column(name))) > 1}
    others = set(zip(*(found for name, found in columns.items() if name != "model"), strict=True))
    if not any(spec.calls_a_model for spec in specs) and len(others) == len({spec.key() for spec in specs}):
        columns.pop("model", None)  # names of answer files, which the other settings distinguish
    together: dict[tuple[int, ...], list[str]] = {}
    for name, found in columns.items():
        together.setdefault(tuple(map(found.index, found)), []).append(name)
    values = [
        tuple(", ".join(columns[name][number] for name in names) for names in together.values())
        for number in range(len(rows))
    ]
    return tuple(", ".join(names) for names in together.values()), values


def _prompt(spec: CandidateSpec) -> str:
    files = (spec.prompt.system, spec.prompt.task) if spec.prompt is not None else ()
    return " + ".join(filter(None, files)) or _DEFAULT


def _combinations(sides: Sequence[CandidateSamples], values: Sequence[tuple[str, ...]]) -> _Combinations:
    found: dict[tuple[str, ...], dict[str, list[Sample]]] = {}
    for combination, side in zip(values, sides, strict=True):
        mine = found.setdefault(combination, {})
        for problem, samples in side.samples.items():
            if graded := with_grade(samples):
                mine.setdefault(one_line(problem), []).extend(graded)
    return found


def _scores(settings: Sequence[str], combinations: _Combinations) -> Iterable[SettingScore]:
    """Yield the scores of combinations that can be compared.

    These differ from another in one setting alone. With any other, such as another vendor's model, a value's score
    would be of the other settings as well.
    """
    linked = {
        key: found
        for key, found in combinations.items()
        if any(sum(map(str.__ne__, key, other)) == 1 for other in combinations)
    }
    varied = [place for place in range(len(settings)) if len({key[place] for key in linked}) > 1]
    for place in varied:
        for value in dict.fromkeys(key[place] for key in linked):
            yield _score(settings[place], value, [found for key, found in linked.items() if key[place] == value])
    if len(varied) > 1:
        for key, found in linked.items():
            yield _score("", " ".join(f"{settings[place]}={key[place]}" for place in varied), [found])


def _score(setting: str, value: str, sides: Sequence[_Samples]) -> SettingScore:
    rates: dict[str, list[float]] = {}
    scores: dict[str, list[float]] = {}
    for side in sides:
        for problem, samples in side.items():
            passed, n = tally(samples)
            rates.setdefault(problem, []).append(passed / n)
            scores.setdefault(problem, []).extend(s.score / 100 for s in samples if s.score is not None)
    return SettingScore(
        setting,
        value,
        mean_rate(math.fsum(found) / len(found) for found in rates.values()),
        mean_rate(math.fsum(found) / len(found) for found in scores.values() if found).times(100),
        sum(len(samples) for side in sides for samples in side.values()),
    )


def _paired(combinations: _Combinations, place: int, first: str, value: str) -> dict[str, list[TwoByTwo]]:
    """Count passes with two values of a setting, by problem.

    A problem has one table for each combination of the other settings. A table's first row is for ``value``, its second
    row for ``first``, with equal numbers of samples. ``place`` is the setting's index in a combination.
    """
    found: dict[str, list[TwoByTwo]] = {}
    for key, before in combinations.items():
        after = combinations.get((*key[:place], value, *key[place + 1 :]), {}) if key[place] == first else {}
        for problem in before.keys() & after.keys():
            n = min(len(before[problem]), len(after[problem]))
            sides = (tally(side[problem][:n]) for side in (after, before))
            (passed, _), (other, _) = sides
            found.setdefault(problem, []).append((passed, n, other, n))
    return {problem: found[problem] for problem in sorted(found)}


def _pair(tables: Sequence[TwoByTwo]) -> Pair:
    passed, n, other, other_n = map(sum, zip(*tables, strict=True))
    return Pair(other, other_n, passed, n)


def _effects(groups: Mapping[_Group, _Tables], test: _Test) -> tuple[Effect, ...]:
    compared = {group: test(tables) for group, tables in groups.items()}
    adjusted = holm({group: p for group, (_, _, _, p) in compared.items() if p is not None})
    return tuple(
        Effect(*change, where, before, after, difference, adjusted.get((change, where)))
        for (change, where), (before, after, difference, _) in compared.items()
    )


def _on_one(tables: _Tables) -> _Compared:
    (strata,) = tables.values()
    pair = _pair(strata)
    return (
        pair.baseline_rate,
        pair.candidate_rate,
        Difference(pair.candidate_n, pair.difference),
        stratified_test(strata),
    )


def _on_several(clusters: Mapping[str, str], tables: _Tables) -> _Compared:
    """Compare two values of a setting on several problems.

    Returns both rates, their difference and p, by ``population_test`` in both directions. ``tables`` are by problem;
    ``clusters`` has each problem's pull request.
    """
    pairs, units = list(map(_pair, tables.values())), clusters_of(list(tables), clusters)
    turned = [Pair(pair.candidate_passed, pair.candidate_n, pair.baseline_passed, pair.baseline_n) for pair in pairs]
    fell, rose = (
        population_test(side, margin=_MARGIN, level=_TAIL, level_regressed=_TAIL, clusters=units)
        for side in (pairs, turned)
    )
    low, high, p = None, None, None
    if fell.interval and rose.interval and fell.p_regression is not None and rose.p_regression is not None:
        low, high = -rose.interval[1], fell.interval[1]
        p = min(2 * min(fell.p_regression, rose.p_regression), 1.0)
    return fell.baseline_rate, fell.candidate_rate, Difference(fell.n, fell.difference, low, high), p


def _too_few_samples_note(every: Sequence[_Strata], comparisons: int) -> str:
    """Return a note if single problems have too few samples.

    Return "" if a problem that goes from never to always solved would be significant. ``comparisons`` is the number of
    significance tests that Holm's method corrects for.
    """
    strata = max(every, key=lambda strata: sum(n for _, n, _, _ in strata))
    made = max(n for _, n, _, _ in strata)

    def shows(samples: int) -> bool:
        return 2 * comparisons < BEYOND_CHANCE * float(math.comb(2 * samples, samples)) ** len(strata)

    if shows(made):
        return ""
    enough = next(filter(shows, range(made, _MOST_SAMPLES)), _MOST_SAMPLES)
    return (
        f"Single problems cannot be told from chance with {count_of(made, 'sample')} of each combination: "
        f"not even one that goes from never to always solved (Holm, {comparisons} comparisons). `samples: {enough}` "
        "can show that. Effects are means over problems and need no repeated samples."
    )
