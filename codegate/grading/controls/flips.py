"""Find changes of tests that make the reference fix fail.

A change replaces one *site*: a literal, name or operator. If the reference fix fails a copy of the test with it, it is
a *flip*; the grader draws its controls from these. The copy's result counts only if the unchanged test passed.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from codegate.grading.classify import is_assertion
from codegate.grading.controls.copies import (
    Copies,
    Flips,
    OriginalTests,
    SiteFlip,
    TestKey,
    UnreadableTests,
    make_copies,
    read_originals,
)
from codegate.grading.controls.verdict import (
    CopyResult,
    SeparatedRun,
    graded_tests,
    innermost,
    separate_copies,
    write_flips,
)
from codegate.grading.grade import file_of
from codegate.grading.runners import find_runner
from codegate.grading.sandboxes import Sandboxes
from codegate.grading.testreport import TestReport, test_selection
from codegate.grading.testrun import run_hidden_tests
from codegate.languages.controls import BLOCK, EditableTest, Site, spread
from codegate.suite import ControlAudit, Problem, RunnerName, Tree

_SITES: Final = 8  # most sites of a test that are tried at once
_WEAK: Final = 3
_ALONE: Final = 3
_KEPT: Final = 3  # most sites of a test, or of each of its rows, whose other texts are tried
_MOST_RUNS: Final = 24
_SLOWNESS: Final = 3.0  # most that copies may slow a run, as a factor; shrinking a counterexample can take forever
_LEAST_SECONDS: Final = 60.0  # least time limit, so that a busy machine does not change the audit
_LEAST_OF_COPY: Final = 2.0
_TURN_SECONDS: Final = 10.0
_LEAST_OF_ONE: Final = 0.003  # least seconds that a test counts with, including a failure
_EXTRA_SECONDS: Final = 5.0  # most seconds that all copies add to a graded run
_PLACES: Final = (0.0, 1.0, 0.5)


def cached_originals(problem: Problem, base: Tree, sandboxes: Sandboxes) -> OriginalTests:
    """Return a problem's hidden test files and their tests.

    The last problems' files are cached in ``sandboxes``.

    Raises:
        UnreadableTests: the search for tests failed.
        SandboxError: this machine cannot search.
    """
    audit = problem.manifest.controls
    files = [file for file in problem.manifest.test_files if audit is None or file not in audit.unfit]
    tests, older = (
        Tree({path: tree[path] for path in files if path in tree})
        for tree in (base.overlay(problem.fix).overlay(problem.hidden), base)
    )
    key = (problem.manifest.runner, tests.digest(), older.digest())
    return sandboxes.originals.get(key, lambda: read_originals(tests, files, problem.manifest.runner, older))


def find_flips(problem: Problem, base: Tree, sandboxes: Sandboxes, unfixed: TestReport | None = None) -> ControlAudit:
    """Find changes of tests (flips) that make the fix fail.

    The result also has the test files that cannot be marked. The problem's recorded controls are ignored. ``unfixed``
    is a run of the marked tests on the base tree; None: these tests are run here.

    Raises:
        FilesRefused: a tree does not fit into the sandbox.
        SandboxError: a sandbox failed.
    """
    problem = replace(problem, manifest=problem.manifest.model_copy(update={"controls": None}))
    try:
        originals = cached_originals(problem, base, sandboxes)
    except UnreadableTests:
        return ControlAudit(tried=0, unfit=problem.manifest.test_files)
    if not graded_tests(problem, originals):
        return ControlAudit(tried=0)
    search = _FlipSearch(problem, base.overlay(problem.fix), sandboxes, originals)
    real = search.run_fix({})
    if unfixed is None:
        made = make_copies(originals, search.units, {})
        unfixed = run_hidden_tests(problem, base, sandboxes, replace(test_selection(problem), copies=made))
    unfit = _unfit(problem, real, unfixed)
    search.choose_sites(real, unfixed, unfit)
    for place in _PLACES:
        copies = search.next_copies()
        if not copies:
            break
        search.try_copies(copies, place)
    search.flip_separately()
    return search.audit(unfit)


def mark_tests(tree: Tree, files: tuple[str, ...], runner: RunnerName) -> Copies | None:
    """Return test files with marks and no copies.

    None if no test was found in them.

    Raises:
        SandboxError: this machine cannot search the files.
    """
    with suppress(UnreadableTests):
        originals = read_originals(tree, files, runner)
        return make_copies(originals, originals.units.values(), {}) if originals.units else None
    return None


def _unfit(problem: Problem, real: SeparatedRun, unfixed: TestReport) -> set[str]:
    """Return the test files that cannot be marked.

    A file cannot be marked if it does not load with marks. A file is also unfit if one of its marked tests fails with
    the fix, or passes without sending all of its marks. A third reason is a fail-to-pass test that passes without the
    fix, because such a test may read its own source. ``real`` ran with the fix, ``unfixed`` without it.
    """
    fine = {test for test in problem.tests.expected if real.report.passes(test) and test not in real.short}
    # Marks change the source, so a test that reads its own source can pass without the fix.
    fine -= {test for test in problem.tests.FAIL_TO_PASS if unfixed.passes(test)}
    broken = {error.id for error in real.report.collection_errors}
    left = [test for test in problem.tests.expected if test not in fine]
    return {file_of(test) for test in left if test in real.units or file_of(test) in broken}


@dataclass
class _FlipSearch:
    """The state of a search for a problem's flips.

    Attributes:
        fixed: the base tree with the reference fix.
        tests: by unit, the ids of its fail-to-pass tests.
        untried: by unit, sites that were not tried yet, in the order to try them.
        killed: by test and site, the flips with which the test failed.
        tried: names of flips.
        first: by test, the index of the first statement that only the fixed code passes.
        broken: units with a copy that did not load or did not end.
        alone: by test that cannot run beside copies, the flips with which it failed in a separate run.
        real: the run of the marked tests with the fix.
    """

    problem: Problem
    fixed: Tree
    sandboxes: Sandboxes
    originals: OriginalTests
    tests: dict[TestKey, list[str]] = field(default_factory=dict)
    untried: dict[TestKey, list[Site]] = field(default_factory=dict)
    killed: dict[str, dict[str, list[SiteFlip]]] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)
    first: dict[str, int] = field(default_factory=dict)
    broken: set[TestKey] = field(default_factory=set)
    alone: dict[str, list[SiteFlip]] = field(default_factory=dict)
    runs: int = 0
    real: SeparatedRun | None = None

    @property
    def units(self) -> list[EditableTest]:
        return graded_tests(self.problem, self.originals)

    def choose_sites(self, real: SeparatedRun, unfixed: TestReport, unfit: set[str]) -> None:
        """Choose tests and sites from two runs of unaltered tests.

        ``real`` ran with the fix and ``unfixed`` without it, both with marks. ``unfit`` are test files that cannot be
        marked; their tests are left out.
        """
        self.real = real
        for test, passed in real.passed.items():
            self.first[test] = min(passed - _marked_statements(unfixed.receipts.get(test, ())), default=0)
        self.originals = replace(
            self.originals, units={key: unit for key, unit in self.originals.units.items() if key[0] not in unfit}
        )
        for test in self.problem.tests.FAIL_TO_PASS:
            key = real.units.get(test)
            if key is not None and key in self.originals.units and not self.originals.units[key].alone:
                self.tests.setdefault(key, []).append(test)
        for key in self.tests:
            self.untried[key] = _order_to_try(self.originals.units[key].sites, _SITES + 2 * len(self.tests[key]))

    def next_copies(self) -> dict[TestKey, list[Flips]]:
        """Return altered copies of tests to run next, by test.

        Each copy is given by its flips. The sites that are tried here are removed from ``untried``. Empty if nothing is
        left to try.
        """
        copies: dict[TestKey, list[Flips]] = {}
        for key, tests in self.tests.items():
            wanted = self._copies_of(key)
            if not all(self._strong(test) for test in tests):
                count = self._affordable(key)
                wanted += [(SiteFlip(site, len(site.texts) // 2),) for site in self.untried[key][:count]]
                self.untried[key] = self.untried[key][count:]
            if wanted:
                copies[key] = wanted
        return copies

    def _copies_of(self, key: TestKey) -> list[Flips]:
        # One copy flips sites of different rows.
        together: list[list[Site]] = []
        rows: list[set[str]] = []
        for site in self._counting_sites(key):
            own = innermost({test for test in self.tests[key] if site.name in self.killed.get(test, {})})
            at = next((number for number, taken in enumerate(rows) if taken.isdisjoint(own)), len(rows))
            if at == len(rows):
                together.append([])
                rows.append(set())
            together[at].append(site)
            rows[at] |= own
        copies = []
        for sites in together:
            for number in range(BLOCK):
                flips = (SiteFlip(site, number) for site in sites if number < len(site.texts))
                copies.append(tuple(flip for flip in flips if flip.name not in self.tried))
        return list(filter(None, copies))

    def _affordable(self, key: TestKey) -> int:
        count = _SITES + 2 * len(self.tests[key]) + _WEAK
        seconds = sum(self._seconds(one) * (_SITES + 2 * len(tests) + _WEAK) for one, tests in self.tests.items())
        most = min(self.problem.manifest.limits.seconds / _SLOWNESS, _TURN_SECONDS)
        return max(1, int(count * min(1.0, most / max(seconds, 0.001))))

    def _seconds(self, key: TestKey) -> float:
        results = self.real.report.results if self.real else {}
        return sum(max(results[test].seconds, _LEAST_OF_ONE) for test in self.tests[key] if test in results)

    def _strong(self, test: str) -> bool:
        return any(flips[0].site.strong for flips in self.killed.get(test, {}).values())

    def _counting_sites(self, key: TestKey) -> list[Site]:
        # Preferred are sites of values, and flips with which the fix fails no earlier than the unfixed code.
        found: dict[str, Site] = {}
        for test in self.tests[key]:
            killed = self.killed.get(test, {})
            ranks = {name: (flips[0].site.strong, self._is_late(test, flips[0])) for name, flips in killed.items()}
            best = [name for name, rank in ranks.items() if rank == max(ranks.values())]
            best.sort(key=lambda name: -sum(name in self.killed.get(one, {}) for one in self.tests[key]))
            found.update({name: killed[name][0].site for name in best[:_KEPT]})
        return list(found.values())

    def _is_late(self, test: str, flip: SiteFlip) -> bool:
        return flip.ends < 0 or flip.ends >= self.first.get(test, 0)

    def run_fix(
        self,
        copies: Mapping[TestKey, Sequence[Flips]],
        place: float = 0.0,
        seconds: float | None = None,
        instead: Mapping[TestKey, Flips] | None = None,
    ) -> SeparatedRun:
        """Run the reference fix on marked tests with ``copies``.

        Without ``copies``, all test files run; with them, only files that share a process with a copy. ``place`` is the
        position of an original test among its copies, from 0 (first) to 1 (last). ``seconds`` limits the time of a run
        with copies. ``instead`` has flips that change the original tests themselves.
        """
        made = make_copies(self.originals, self.units, copies, real=place, instead=instead)
        selection = replace(test_selection(self.problem), copies=made)
        if copies:
            changed = {path for path, _ in copies}
            batches = find_runner(self.problem.manifest.runner).batches(selection.files)
            own = tuple(file for batch in batches if changed.intersection(batch) for file in batch)
            limit = min(selection.timeout_seconds, seconds or selection.timeout_seconds)
            each = max(_LEAST_OF_COPY, *(_SLOWNESS * self._seconds(key) for key in copies))
            selection = replace(selection, files=own, timeout_seconds=limit, copies=replace(made, seconds=each))
        self.runs += 1
        return separate_copies(
            made, run_hidden_tests(self.problem, self.fixed, self.sandboxes, selection), self.originals
        )

    def try_copies(self, copies: Mapping[TestKey, Sequence[Flips]], place: float, *, alone: bool = False) -> None:
        """Run copies beside their tests; record flips that fail.

        If an original test fails in this run, its copies may be the cause, so they run again in smaller groups.
        ``place`` is the position of the original test among its copies, from 0 (first) to 1 (last). ``alone``: each
        test has one copy; a test that fails even then is dropped.
        """
        copies = {key: flips for key, flips in copies.items() if key in self.tests and flips}
        if not copies or self.runs >= _MOST_RUNS:
            return
        self.tried |= {flip.name for flips in copies.values() for copy in flips for flip in copy}
        seconds = sum(self._seconds(key) * len(flips) for key, flips in copies.items())
        limit = max(_LEAST_SECONDS, _SLOWNESS * (seconds + (self.real.report.seconds if self.real else 0.0)))
        separated = self.run_fix(copies, place, limit)
        files = {path for path, _ in copies}
        failing = [
            one for one in self.problem.tests.expected if file_of(one) in files and not separated.report.passes(one)
        ]
        failing += [one for one in separated.short if one not in failing]
        spoiled = {key for key, tests in self.tests.items() if key in copies and not set(tests).isdisjoint(failing)}
        if failing and not spoiled:  # the copies made other tests fail
            spoiled = {key for key in copies if key[0] in {file_of(test) for test in failing}}
        for key in copies.keys() - spoiled:
            for test in self.tests[key]:
                self._record_killed(test, separated)
        if not spoiled:
            return
        keys = sorted(spoiled)
        if not separated.report.complete:
            self._halve({key: copies[key] for key in keys}, place)
        elif not alone and any(len(copies[key]) > 1 for key in keys):
            new = [key for key in keys if not any(self.killed.get(test) for test in self.tests[key])]
            self.try_copies({key: copies[key][:1] for key in new}, place, alone=True)
            rest = {key: copies[key][key in new :] for key in keys}
            for part in (slice(0, None, 2), slice(1, None, 2)):
                self.try_copies({key: flips[part] for key, flips in rest.items()}, place)
        elif len(keys) > 1:  # one of the tests can be the only cause
            for some in (keys[::2], keys[1::2]):
                self.try_copies({key: copies[key] for key in some}, place, alone=alone)
        elif (
            alone and (separated.report.collection_errors or separated.report.timed_out) and keys[0] not in self.broken
        ):
            self.broken.add(keys[0])  # one flip can break the package: in Go all its tests compile or none does
        elif alone:
            del self.tests[keys[0]]

    def _halve(self, copies: Mapping[TestKey, Sequence[Flips]], place: float) -> None:
        # A copy that fails alone is dropped.
        each = [(key, flips) for key, found in copies.items() for flips in found]
        for some in (each[::2], each[1::2]) if len(each) > 1 else ():
            part: dict[TestKey, list[Flips]] = {}
            for key, flips in some:
                part.setdefault(key, []).append(flips)
            self.try_copies(part, place)

    def _record_killed(self, test: str, separated: SeparatedRun) -> None:
        # In a copy with several flips, a flip counts only if its site is the only known one.
        known = self.killed.setdefault(test, {})
        for copy in separated.copies.get(test, ()):
            own = [one for one in copy.flips if len(copy.flips) == 1 or one.site.name in known]
            if len(own) == 1 and _is_killed(copy, own[0]):
                ends = min(separated.passed[test] - copy.passed, default=-1)
                known.setdefault(own[0].site.name, []).append(replace(own[0], ends=ends))

    def flip_separately(self) -> None:
        """Flip tests that cannot run beside copies, in separate runs.

        Each run changes one site in every one of these tests.
        """
        units = self.real.units if self.real else {}
        left = {
            key: test
            for test in self.problem.tests.FAIL_TO_PASS
            if (key := units.get(test)) in self.originals.units
            and key is not None
            and not any(self.killed.get(one) for one in self.tests.get(key, ()))
        }
        for turn in range(_ALONE if left else 0):
            sites = {key: _order_to_try(self.originals.units[key].sites, _ALONE - 1)[turn : turn + 1] for key in left}
            instead = {key: (SiteFlip(one, len(one.texts) // 2),) for key, found in sites.items() for one in found}
            separated = self.run_fix({}, instead=instead)
            for key, (flip,) in instead.items():
                test = left[key]
                copy = CopyResult((flip,), separated.report.results.get(test), crash=separated.report.crashes.get(test))
                if _is_killed(copy, flip):
                    self.alone.setdefault(test, []).append(flip)

    def audit(self, unfit: set[str]) -> ControlAudit:
        found: dict[str, tuple[str, ...]] = {}
        for key, tests in self.tests.items():
            kept = {site.name for site in self._counting_sites(key)}
            for test in tests:
                flips = [one for name, many in self.killed.get(test, {}).items() if name in kept for one in many]
                flips = [one for one in flips if one.site.strong] or flips
                flips = [one for one in flips if self._is_late(test, one)] or flips
                if flips:
                    found[test] = write_flips(flips)
        seconds = sum(self._seconds(key) for key in self.tests)
        most = int(_EXTRA_SECONDS / seconds) if seconds else BLOCK
        return ControlAudit(
            tried=len(self.tried),
            flips=dict(sorted(found.items())),
            alone={test: write_flips(flips) for test, flips in sorted(self.alone.items())},
            most=max(1, most) if most < BLOCK - 1 else None,
            unfit=tuple(sorted(unfit)),
        )


def _marked_statements(tokens: Iterable[str]) -> frozenset[int]:
    numbers = (token.rpartition("_")[2] for token in tokens)
    return frozenset(int(number) for number in numbers if number.isdecimal())


def _order_to_try(sites: Sequence[Site], most: int) -> list[Site]:
    # At most ``most`` strong sites and a few weak sites come first.
    strong, weak = [one for one in sites if one.strong], [one for one in sites if not one.strong]
    first = [*spread(strong, most), *spread(weak, _WEAK)]
    rest = [one for one in (*weak, *strong) if one not in first]
    return [*first, *spread(rest, len(rest))]


def _is_killed(copy: CopyResult, flip: SiteFlip) -> bool:
    # A flip of a value has to fail by an assertion, because anything else fails any patch.
    if copy.result is None or not copy.result.failed:
        return False
    return not flip.site.value or copy.crash is None or is_assertion(copy.crash)
