"""Whether a patch solved the tests: each real one has to pass with all of its marks, and each copy has to fail."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from codegate.grading.controls.copies import Copies, Flip, Flips, Key, Texts, make_copies
from codegate.grading.grade import TestResult
from codegate.grading.records import Crash
from codegate.grading.testreport import TestReport
from codegate.languages.controls import Unit
from codegate.suite import ControlAudit, Problem

GUESSES: Final = 16
"""A patch that guesses which variants are the real ones is right once in so many times, or less often."""

_Usable = dict[str, list[Flip]]
"""What one site has for a control: by test, the flips that the reference fix fails."""


@dataclass(frozen=True)
class Copied:
    """How a copy of a test ended, with the statements that it passed; no result: it was not reported."""

    flips: Flips
    result: TestResult | None = None
    passed: frozenset[int] = frozenset()
    crash: Crash | None = None


@dataclass(frozen=True)
class Folded:
    """A run read back: what is reported of each test by its own id, and of its copies.

    Attributes:
        report: of the real tests.
        passed: by test, the statements that left their marks.
        short: tests that are reported as passed without all of their marks.
        units: by test, the unit that ran.
        copies: by test, its copies.
    """

    report: TestReport
    passed: Mapping[str, frozenset[int]]
    short: tuple[str, ...]
    units: Mapping[str, Key]
    copies: Mapping[str, Sequence[Copied]]


def fold(made: Copies, report: TestReport, texts: Texts) -> Folded:
    """Fold the ids of a run back; rows of a copy are those of the real test by their place."""
    results: dict[str, TestResult] = {}
    own: dict[str, str] = {}  # by id in the run
    passed: dict[str, frozenset[int]] = {}
    short: list[str] = []
    units: dict[str, Key] = {}
    rows: dict[tuple[str, str], list[str]] = {}  # by word, and what stands before the name: ids in the run
    for test, result in report.results.items():
        left = report.receipts.get(test, frozenset())
        found = made.variant(test)
        if found is not None:
            word, name, before = found
            rows.setdefault((word, before), []).append(test)
            if made.variants[word].flips:
                continue
            reached: dict[str | Key, Unit] = {word: made.variants[word].unit}
        else:
            name = test
            reached = {(unit.file, unit.name): unit for unit in texts.owners(test)}
        own[test] = name
        results[name] = result.model_copy(update={"id": name})
        if reached:
            place = max(reached, key=lambda one: len(made.passed(one, left)))
            passed[name], unit = made.passed(place, left), reached[place]
            units[name] = unit.file, unit.name
            marked = found is not None or units[name] in made.marked
            if result.status == "passed" and marked and len(passed[name]) < len(unit.marks):
                short.append(name)
    copies: dict[str, list[Copied]] = {}
    for (word, before), ids in rows.items():
        if made.variants[word].flips:
            continue
        for other, variant in made.variants.items():
            if variant.flips and variant.unit == made.variants[word].unit:
                theirs = rows.get((other, before), [])
                theirs = theirs if len(theirs) == len(ids) else []
                for number, test in enumerate(ids):
                    copied = Copied(variant.flips)
                    if theirs:
                        left = report.receipts.get(theirs[number], frozenset())
                        result, crash = report.results[theirs[number]], report.crashes.get(theirs[number])
                        copied = Copied(variant.flips, result, made.passed(other, left), crash)
                    copies.setdefault(own[test], []).append(copied)
    crashes = {own[test]: crash for test, crash in report.crashes.items() if test in own}
    texts_shown = [f"{own[test]}\n{text}" for test, text in report.texts.items() if test in own]
    failing = sum(result.status in {"failed", "error"} for result in results.values())
    folded = replace(
        report,
        results=results,
        crashes=crashes,
        texts={},
        exit_code=int(failing > 0) if report.exit_code in {0, 1} else report.exit_code,
        output="\n".join((report.output, *texts_shown)) if texts_shown else report.output,
    )
    return Folded(folded, passed, tuple(short), units, copies)


@dataclass(frozen=True)
class Drawn:
    """The controls of one run.

    Attributes:
        made: the texts.
        flips: by fail-to-pass test, the names of flips that the reference fix fails.
        strong: the tests whose flips are of values.
    """

    made: Copies
    flips: Mapping[str, frozenset[str]]
    strong: frozenset[str]


def draw(problem: Problem, texts: Texts, generator: Random) -> Drawn:
    """Draw copies of each fail-to-pass test from the flips that validation has shown the reference fix to fail."""
    audit = problem.manifest.controls or ControlAudit(tried=0)
    marked = marked_units(problem, texts)
    found = _usable(problem, audit.flips, marked)
    most = most_copies(len(found)) if audit.most is None else min(most_copies(len(found)), audit.most)
    copies: dict[Key, Sequence[Flips]] = {}
    flipped: dict[str, frozenset[str]] = {}
    strong: set[str] = set()
    for key, sites in found.items():
        drawn: list[list[Flip]] = []
        for usable in _chosen(sites, generator, most):
            numbers = set.intersection(*({flip.number for flip in flips} for flips in usable.values()))
            flips = [flip for flip in next(iter(usable.values())) if flip.number in numbers]
            drawn.append(generator.sample(flips, min(most, len(flips))))
            for test in usable:
                flipped[test] = frozenset(flip.name for flip in flips)
                strong |= {test} if flips[0].site.strong else set()
        copies[key] = [tuple(flips) for flips in zip(*drawn, strict=False)]
    return Drawn(make_copies(texts, marked, copies), flipped, frozenset(strong))


def draw_alone(problem: Problem, texts: Texts, generator: Random) -> Drawn:
    """Draw a flip of each test that has no copies, for a run of its own."""
    audit = problem.manifest.controls or ControlAudit(tried=0)
    marked = marked_units(problem, texts)
    instead: dict[Key, Flips] = {}
    flipped: dict[str, frozenset[str]] = {}
    strong: set[str] = set()
    for key, sites in _usable(problem, audit.alone, marked).items():
        site = generator.choice([one for one in sites if _is_strong(one)] or sites)
        test, flips = generator.choice(list(site.items()))
        flip = generator.choice(flips)
        instead[key] = (flip,)
        flipped[test] = frozenset([flip.name])
        strong |= {test} if flip.site.strong else set()
    return Drawn(make_copies(texts, marked, {}, instead=instead), flipped, frozenset(strong))


def _usable(problem: Problem, known: Mapping[str, Sequence[str]], units: Sequence[Unit]) -> dict[Key, list[_Usable]]:
    """Return, by unit, what a manifest has of each of its sites."""
    entries: dict[str, list[tuple[str, int, str]]] = {}
    for test in problem.tests.FAIL_TO_PASS:
        for entry in known.get(test, ()):
            name, _, rest = entry.partition("@")
            ends, _, numbers = rest.partition(":")
            entries.setdefault(name, []).append((test, int(ends), numbers))
    found: dict[Key, list[_Usable]] = {}
    for unit in units:
        for site in unit.sites:
            usable: _Usable = {}
            for test, statement, some in entries.get(site.name, ()):
                taken = map(int, some.split(",")) if some else range(len(site.texts))
                flips = [Flip(site, number, statement) for number in taken if number < len(site.texts)]
                usable.setdefault(test, []).extend(flips)
            if usable:
                found.setdefault((unit.file, unit.name), []).append(usable)
    return found


def survivors(drawn: Drawn, folded: Folded) -> list[str]:
    """Return the tests that were passed as they were drawn, each changed."""
    results = folded.report.results
    return [test for test in drawn.flips if test in results and results[test].status == "passed"]


def _chosen(sites: list[_Usable], generator: Random, most: int) -> list[_Usable]:
    """Return a site that all tests of a unit have, else one for each of its rows, values first."""
    generator.shuffle(sites)
    tests = set().union(*sites)

    def rank(site: _Usable) -> tuple[bool, bool, int]:
        return _is_strong(site), site.keys() == tests, min(most, *map(len, site.values()))

    best = max((site for site in sites if _common(site)), key=rank, default=None)
    if best is None or best.keys() == tests:
        return [best] if best else []
    rows: list[_Usable] = []
    for site in sorted(sites, key=rank, reverse=True):
        if _common(site) and _is_row(site) and rank(site)[0] == rank(best)[0] and tests >= site.keys():
            rows.append(site)
            tests -= site.keys()
    return rows or [best]


def _is_strong(site: _Usable) -> bool:
    return next(iter(site.values()))[0].site.strong


def _is_row(site: _Usable) -> bool:
    """Return whether a site is in front of a test's body: what is in the body, all rows have."""
    return next(iter(site.values()))[0].site.statement < 0


def _common(site: _Usable) -> bool:
    """Return whether all tests of a site fail with one of its texts."""
    return bool(set.intersection(*({flip.number for flip in flips} for flips in site.values())))


def most_copies(units: int) -> int:
    """Return how many copies each of so many tests has."""
    most = 1
    while (most + 1) ** max(units, 1) < GUESSES:
        most += 1
    return most


def marked_units(problem: Problem, texts: Texts) -> list[Unit]:
    """Return the units of the expected tests."""
    owners = {id(unit): unit for test in problem.tests.expected for unit in texts.owners(test)}
    return sorted(owners.values(), key=lambda unit: (unit.file, unit.span))


def write_flips(flips: Iterable[Flip]) -> tuple[str, ...]:
    """Return flips of one test as a manifest has them: ``SITE@STATEMENT``, with numbers where these are not all."""
    found: dict[tuple[str, int], list[Flip]] = {}
    for flip in flips:
        found.setdefault((flip.site.name, flip.ends), []).append(flip)
    entries = []
    for (name, ends), same in found.items():
        some = len(same) < len(same[0].site.texts)
        entries.append(f"{name}@{ends}" + (f":{','.join(str(flip.number) for flip in same)}" if some else ""))
    return tuple(sorted(entries))


def unsolved(drawn: Drawn, folded: Folded) -> list[str]:
    """Return the tests with a copy that was not reported as failed where the reference fix fails it."""
    copies = {test: [one for one in folded.copies.get(test, ()) if any(flip.name in names for flip in one.flips)]
              for test, names in drawn.flips.items()}  # fmt: skip
    return [
        test
        for test, names in drawn.flips.items()
        if not copies[test] or not all(_fails(one, names) for one in copies[test])
    ]


def _fails(copied: Copied, names: frozenset[str]) -> bool:
    """Return whether a copy was reported as failed, before the statement at which the reference fix fails it."""
    ends = {flip.ends for flip in copied.flips if flip.name in names}
    failed = copied.result is not None and copied.result.status in {"failed", "error"}
    return failed and not ends & copied.passed
