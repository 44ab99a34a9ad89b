"""Decide by copies whether a patch really passes the tests.

Each original test must pass and run all of its marks, and each altered copy must fail.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from codegate.grading.controls.copies import Copies, Flips, OriginalTests, SiteFlip, TestKey, make_copies
from codegate.grading.grade import TestResult, worse_result
from codegate.grading.records import Crash
from codegate.grading.testreport import TestReport
from codegate.languages.controls import BLOCK, EditableTest, Site
from codegate.suite import ControlAudit, Problem

GUESSES: Final = 16
"""A patch that guesses which variants are the originals is right at most once in so many runs."""

SUBTEST_FAILED: Final = "testing.SubtestFailed"
"""The exception of a test that failed only because one of its subtests did."""

_TURNS: Final = 4  # number of tests in a run that may use up their whole time limit

_FlipsByTest = dict[str, list[SiteFlip]]
"""Flips of one site, by the id of the test that fails with them on the reference fix."""


@dataclass(frozen=True)
class CopyResult:
    """The result of one copy of a test.

    Attributes:
        flips: the changes in this copy.
        result: the copy's test result; None if it was not reported.
        passed: indexes of the statements whose marks ran.
        unstarted: the copy is a subtest that did not begin, because its outer test failed before.
    """

    flips: Flips
    result: TestResult | None = None
    passed: frozenset[int] = frozenset()
    crash: Crash | None = None
    unstarted: bool = False


@dataclass(frozen=True)
class SeparatedRun:
    """A run's results: original tests apart from their copies.

    Attributes:
        report: results of the original tests, without copies.
        passed: by test, indexes of the statements whose marks ran.
        short: tests that are reported as passed, but did not run all of their marks.
        units: by test id, the file that has the test, and the test's name in that file.
        copies: by test id, the results of its copies.
    """

    report: TestReport
    passed: Mapping[str, frozenset[int]]
    short: tuple[str, ...]
    units: Mapping[str, TestKey]
    copies: Mapping[str, Sequence[CopyResult]]


def separate_copies(made: Copies, report: TestReport, originals: OriginalTests) -> SeparatedRun:
    """Return a run's results, copies apart from original tests.

    ``made`` are the files that ran. Results get the test ids of the unchanged files, ``originals``. The first row of a
    copy belongs to the first row of the original test, and so on. Of several results with one id the worst counts,
    because code under test can add tests of any name.
    """
    results: dict[str, TestResult] = {}
    own: dict[str, str] = {}  # id in the unchanged files, by id in the run
    passed: dict[str, frozenset[int]] = {}
    short: list[str] = []
    units: dict[str, TestKey] = {}
    rows: dict[tuple[str, str], list[str]] = {}  # ids in the run, by random word and by the part before the test's name
    # Tests with a random word come last, so that the original tests' marks count.
    for test in sorted(report.results, key=lambda one: made.split_id(one) is not None):
        result, left = report.results[test], report.receipts.get(test, frozenset())
        found = made.split_id(test)
        if found is not None:
            word, name, before = found
            rows.setdefault((word, before), []).append(test)
            if made.variants[word].flips:
                continue
            reached: dict[str | TestKey, EditableTest] = {word: made.variants[word].unit}
        else:
            name = test
            reached = {(unit.file, unit.name): unit for unit in originals.owners(test)}
        own[test] = name
        result = result.model_copy(update={"id": name})
        if _fails_by_copies(test, made, report):
            result = TestResult(id=name, status="passed", seconds=result.seconds)
        results[name] = worse_result(results.get(name), result)
        if reached:
            place = max(reached, key=lambda one: len(made.passed(one, left)))
            passed[name], unit = made.passed(place, left), reached[place]
            units[name] = unit.file, unit.name
            marked = found is not None or units[name] in made.marked
            if results[name].status == "passed" and marked and len(passed[name]) < len(unit.marks):
                short.append(name)
    copies: dict[str, list[CopyResult]] = {}
    for (word, before), ids in rows.items():
        if made.variants[word].flips:
            continue
        for other, variant in made.variants.items():
            if variant.flips and variant.unit == made.variants[word].unit:
                theirs = rows.get((other, before), [])
                theirs = theirs if len(theirs) <= len(ids) else []
                failed = bool(theirs) and report.results[theirs[0]].failed
                for number, test in enumerate(ids):
                    copy = CopyResult(variant.flips, unstarted=failed and test.startswith(f"{ids[0]}/"))
                    if number < len(theirs):
                        left = report.receipts.get(theirs[number], frozenset())
                        result, crash = report.results[theirs[number]], report.crashes.get(theirs[number])
                        copy = CopyResult(variant.flips, result, made.passed(other, left), crash)
                    copies.setdefault(own[test], []).append(copy)
    crashes = {own[test]: crash for test, crash in report.crashes.items()
               if test in own and results[own[test]].status != "passed"}  # fmt: skip
    texts_shown = [f"{own[test]}\n{text}" for test, text in report.texts.items() if test in own]
    failing = sum(result.failed for result in results.values())
    own_report = replace(
        report,
        results=results,
        crashes=crashes,
        texts={},
        exit_code=int(failing > 0) if report.exit_code in {0, 1} else report.exit_code,
        output="\n".join((report.output, *texts_shown)) if texts_shown else report.output,
    )
    return SeparatedRun(own_report, passed, tuple(short), units, copies)


def _fails_by_copies(test: str, made: Copies, report: TestReport) -> bool:
    """Return whether a test's only failed subtests are altered copies."""
    if report.results[test].exception != SUBTEST_FAILED:
        return False
    below = [one for one, result in report.results.items() if one.startswith(f"{test}/") and result.failed]
    found = [made.split_id(one) for one in below]
    return all(one is not None and made.variants[one[0]].flips for one in found)


def innermost(tests: Collection[str]) -> set[str]:
    """Return the ``tests`` that have no subtests among them.

    A test fails whenever one of its subtests does.
    """
    return {test for test in tests if not any(other.startswith(f"{test}/") for other in tests)}


@dataclass(frozen=True)
class RunControls:
    """The altered copies of tests (controls) in one run.

    Attributes:
        made: the test files with marks and copies.
        flips: by id of a flipped fail-to-pass test, the names of flips with which the reference fix fails the test.
        strong: ids of tests with a flip that a patch cannot tell from the original text.
    """

    made: Copies
    flips: Mapping[str, frozenset[str]]
    strong: frozenset[str]


def draw_controls(problem: Problem, originals: OriginalTests, generator: Random) -> RunControls:
    """Return test files with randomly flipped copies of fail-to-pass tests."""
    audit = problem.manifest.controls or ControlAudit(tried=0)
    marked = graded_tests(problem, originals)
    found = _recorded_flips(problem, audit.flips, marked)
    strong_units = sum(any(map(_is_strong, sites)) for sites in found.values())
    odds = copies_per_test(strong_units or len(found))
    copies: dict[TestKey, Sequence[Flips]] = {}
    flipped: dict[str, frozenset[str]] = {}
    strong: set[str] = set()
    for key, sites in found.items():
        # Weak flips reveal the original test, so more copies of them do not make guessing harder.
        counts = not strong_units or any(map(_is_strong, sites))
        most = min(odds if counts else 1, audit.most or BLOCK)
        drawn: list[list[SiteFlip]] = []
        for usable in _sites_to_flip(sites, generator, most):
            flips = _common_flips(usable)
            drawn.append(generator.sample(flips, min(most, len(flips))))
            for test in usable:
                flipped[test] = flipped.get(test, frozenset()).union(flip.name for flip in flips)
                strong |= {test} if _is_strong(usable) else set()
        copies[key] = list(zip(*drawn, strict=False))
    made = replace(make_copies(originals, marked, copies), seconds=problem.manifest.limits.seconds / _TURNS)
    return RunControls(made, flipped, frozenset(strong))


def draw_separate_controls(
    problem: Problem, originals: OriginalTests, generator: Random, beside: RunControls
) -> RunControls:
    """Return controls for a second run, of tests without copies.

    Tests that have no flip in ``beside``, the controls of the first run, are changed themselves; there are no copies.
    All other tests only get marks.
    """
    audit = problem.manifest.controls or ControlAudit(tried=0)
    left = {test: names for test, names in audit.flips.items() if test not in beside.flips}
    marked = graded_tests(problem, originals)
    instead: dict[TestKey, Flips] = {}
    flipped: dict[str, frozenset[str]] = {}
    strong: set[str] = set()
    for key, sites in _recorded_flips(problem, {**left, **audit.alone}, marked).items():
        site = generator.choice([one for one in sites if _is_strong(one)] or sites)
        test, flips = generator.choice(list(site.items()))
        flip = generator.choice(flips)
        instead[key] = (flip,)
        flipped[test] = frozenset([flip.name])
        strong |= {test} if flip.site.strong else set()
    return RunControls(make_copies(originals, marked, {}, instead=instead), flipped, frozenset(strong))


def _recorded_flips(
    problem: Problem, recorded: Mapping[str, Sequence[str]], units: Sequence[EditableTest]
) -> dict[TestKey, list[_FlipsByTest]]:
    """Return each test's recorded flips, separately for each site.

    Keys are file and name of a test. A site's flips are by test id, because a parametrised test has an id for each
    case. ``recorded`` has, by test id, the texts that ``write_flips`` made for the manifest.
    """
    entries: dict[str, list[tuple[str, int, str]]] = {}
    for test in problem.tests.FAIL_TO_PASS:
        for entry in recorded.get(test, ()):
            name, _, rest = entry.partition("@")
            ends, _, numbers = rest.partition(":")
            entries.setdefault(name, []).append((test, int(ends), numbers))
    found: dict[TestKey, list[_FlipsByTest]] = {}
    for unit in units:
        for site in unit.sites:
            usable: _FlipsByTest = {}
            for test, statement, some in entries.get(site.name, ()):
                taken = map(int, some.split(",")) if some else range(len(site.texts))
                flips = [SiteFlip(site, number, statement) for number in taken if number < len(site.texts)]
                usable.setdefault(test, []).extend(flips)
            if usable:
                found.setdefault((unit.file, unit.name), []).append(usable)
    return found


def surviving_tests(controls: RunControls, separated: SeparatedRun) -> list[str]:
    """Return the flipped tests that passed, although they must fail."""
    return list(filter(separated.report.passes, controls.flips))


def _sites_to_flip(sites: list[_FlipsByTest], generator: Random, most: int) -> list[_FlipsByTest]:
    """Return the sites that are flipped in every copy.

    If some copies kept a site's original text, it would be the site's most frequent text and so reveal itself. So each
    test of a unit has at most one of these sites. Tests without a usable site are flipped in a separate run. ``most``
    is the largest number of copies.
    """
    generator.shuffle(sites)
    left = innermost(set().union(*sites))

    def rank(site: _FlipsByTest) -> tuple[bool, bool, int]:
        return _is_strong(site), site.keys() >= left, min(most, len(_common_flips(site)))

    usable = sorted(filter(_common_flips, sites), key=rank, reverse=True)
    if not usable:
        return []
    first, together = usable[0], usable[:1]
    free, single = left - first.keys(), len(_common_flips(first)) == 1
    for site in usable[1:]:
        own = innermost(site.keys())
        alike = _is_strong(site) == _is_strong(first) and (single or len(_common_flips(site)) > 1)
        if own <= free and alike and _first(site).row:  # text outside of a row can belong to several rows
            together.append(site)
            free -= own
    return together


def _common_flips(site: _FlipsByTest) -> list[SiteFlip]:
    numbers = set.intersection(*({flip.number for flip in flips} for flips in site.values()))
    return [flip for flip in next(iter(site.values())) if flip.number in numbers]


def _first(site: _FlipsByTest) -> Site:
    return next(iter(site.values()))[0].site


def _is_strong(site: _FlipsByTest) -> bool:
    return _first(site).strong


def copies_per_test(units: int) -> int:
    """Return how many altered copies each flipped test needs.

    ``units`` is the number of flipped tests. With the returned number, a patch that guesses which copies are the
    originals is right at most once in ``GUESSES`` runs.
    """
    most = 1
    while (most + 1) ** max(units, 1) < GUESSES:
        most += 1
    return most


def graded_tests(problem: Problem, originals: OriginalTests) -> list[EditableTest]:
    """Return the tests whose results are graded, in file order."""
    owners = {id(unit): unit for test in problem.tests.expected for unit in originals.owners(test)}
    return sorted(owners.values(), key=lambda unit: (unit.file, unit.span))


def write_flips(flips: Iterable[SiteFlip]) -> tuple[str, ...]:
    """Return one test's flips as texts for the problem's manifest.

    Each text is ``SITE@STATEMENT``. If only some replacements of the site can be used, their indexes follow a colon.
    """
    found: dict[tuple[str, int], list[SiteFlip]] = {}
    for flip in flips:
        found.setdefault((flip.site.name, flip.ends), []).append(flip)
    entries = []
    for (name, ends), same in found.items():
        some = len(same) < len(same[0].site.texts)
        entries.append(f"{name}@{ends}" + (f":{','.join(str(flip.number) for flip in same)}" if some else ""))
    return tuple(sorted(entries))


def with_surviving_copies(controls: RunControls, separated: SeparatedRun) -> list[str]:
    """Return flipped tests whose altered copies did not all fail.

    A test without any result of a copy counts too.
    """
    copies = {test: [one for one in separated.copies.get(test, ()) if any(flip.name in names for flip in one.flips)]
              for test, names in controls.flips.items()}  # fmt: skip
    return [
        test
        for test, names in controls.flips.items()
        if not copies[test] or not all(_fails(one, names) for one in copies[test])
    ]


def _fails(copy: CopyResult, names: frozenset[str]) -> bool:
    """Return whether a copy failed early enough.

    Early enough is: no later than with the reference fix. ``names`` are the names of the test's recorded flips.
    """
    ends = {flip.ends for flip in copy.flips if flip.name in names}
    failed = copy.result is not None and copy.result.failed
    return (failed or copy.unstarted) and not ends & copy.passed
