"""Find changes of tests that make the reference fix fail.

Such a change is a flip; the controls of a grade are drawn from them. A copy counts only if the unflipped test beside it
passed.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from codegate.grading.classify import is_assertion
from codegate.grading.controls.copies import (
    Copies,
    Flips,
    Key,
    SiteFlip,
    Texts,
    UnitsUnknown,
    make_copies,
    read_texts,
)
from codegate.grading.controls.verdict import Copied, Folded, fold, innermost, marked_units, write_flips
from codegate.grading.grade import file_of
from codegate.grading.runners import find_runner
from codegate.grading.sandboxes import Sandboxes
from codegate.grading.testreport import TestReport, test_selection
from codegate.grading.testrun import run_hidden_tests
from codegate.languages.controls import BLOCK, EditableTest, Site, spread
from codegate.suite import ControlAudit, Problem, RunnerName, Tree

_SITES: Final = 8  # sites of a test that are tried at once
_WEAK: Final = 3
_ALONE: Final = 3
_KEPT: Final = 3  # sites of a test, or of each of its rows, whose other texts are tried
_MOST_RUNS: Final = 24
_SLOWNESS: Final = 3.0  # factor that copies may slow a run by: shrinking a counterexample may take forever
_LEAST_SECONDS: Final = 60.0  # enough that a busy machine does not change the audit
_LEAST_OF_COPY: Final = 2.0
_TURN_SECONDS: Final = 10.0
_LEAST_OF_ONE: Final = 0.003  # seconds of a test, with those of its failure
_EXTRA_SECONDS: Final = 5.0  # seconds of all copies in a graded run
_PLACES: Final = (0.0, 1.0, 0.5)


def cached_texts(problem: Problem, base: Tree, sandboxes: Sandboxes) -> Texts:
    """Return the hidden test files, with the tests found.

    They are cached by problem.

    Raises:
        UnitsUnknown: the search for tests failed.
        SandboxError: this machine cannot search.
    """
    audit = problem.manifest.controls
    files = [file for file in problem.manifest.test_files if audit is None or file not in audit.unfit]
    tests, older = (
        Tree({path: tree[path] for path in files if path in tree})
        for tree in (base.overlay(problem.fix).overlay(problem.hidden), base)
    )
    key = (problem.manifest.runner, tests.digest(), older.digest())
    return sandboxes.texts.get(key, lambda: read_texts(tests, files, problem.manifest.runner, older))


def find_flips(problem: Problem, base: Tree, sandboxes: Sandboxes, unproven: TestReport | None = None) -> ControlAudit:
    """Find the flips that make the reference fix fail.

    The result also has the test files that cannot be marked. The controls that the problem already has are ignored.
    ``unproven`` is a run of the marked tests on the base tree; None: it is run here. Raises FilesRefused if a tree does
    not fit into the sandbox, and SandboxError if a sandbox failed.
    """
    problem = replace(problem, manifest=problem.manifest.model_copy(update={"controls": None}))
    try:
        texts = cached_texts(problem, base, sandboxes)
    except UnitsUnknown:
        return ControlAudit(tried=0, unfit=problem.manifest.test_files)
    if not marked_units(problem, texts):
        return ControlAudit(tried=0)
    search = _Search(problem, base.overlay(problem.fix), sandboxes, texts)
    real = search.run({})
    if unproven is None:
        made = make_copies(texts, search.units, {})
        unproven = run_hidden_tests(problem, base, sandboxes, replace(test_selection(problem), copies=made))
    unfit = _unfit(problem, real, unproven)
    search.begin(real, unproven, unfit)
    for place in _PLACES:
        copies = search.next()
        if not copies:
            break
        search.attempt(copies, place)
    search.flip_alone()
    return search.audit(unfit)


def mark_tests(tree: Tree, files: tuple[str, ...], runner: RunnerName) -> Copies | None:
    """Return test files with marks and no copies.

    None if no test was found in their text.

    Raises:
        SandboxError: this machine cannot read them.
    """
    with suppress(UnitsUnknown):
        texts = read_texts(tree, files, runner)
        return make_copies(texts, texts.units.values(), {}) if texts.units else None
    return None


def _unfit(problem: Problem, real: Folded, unproven: TestReport) -> set[str]:
    """Return the test files that cannot be marked.

    A mark is an inserted call that records that the statement before it ran. A file cannot be marked if it does not
    load with marks, if a marked test fails with the fix or passes without leaving all of its marks, or if a marked
    fail-to-pass test passes without the fix (it may read its own source). ``real`` is the run with the fix,
    ``unproven`` the one without.
    """
    fine = {test for test in problem.tests.expected if real.report.passes(test) and test not in real.short}
    # A test that reads its own source may pass without the fix, because the source is another one now.
    fine -= {test for test in problem.tests.FAIL_TO_PASS if unproven.passes(test)}
    broken = {error.id for error in real.report.collection_errors}
    left = [test for test in problem.tests.expected if test not in fine]
    return {file_of(test) for test in left if test in real.units or file_of(test) in broken}


@dataclass
class _Search:
    """The state of a search for a problem's flips.

    Attributes:
        units: the tests to mark.
        tests: by unit, the ids of its fail-to-pass tests.
        left: by unit, sites that were not tried yet, in the order to try them.
        killed: by test and site, the flips with which the test failed.
        tried: names of flips.
        first: by test, the first statement that the unfixed code fails.
        broken: units with a copy that did not load or did not end.
        alone: for tests that cannot run beside copies, the flips with which they failed in a separate run.
    """

    problem: Problem
    fixed: Tree
    sandboxes: Sandboxes
    texts: Texts
    tests: dict[Key, list[str]] = field(default_factory=dict)
    left: dict[Key, list[Site]] = field(default_factory=dict)
    killed: dict[str, dict[str, list[SiteFlip]]] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)
    first: dict[str, int] = field(default_factory=dict)
    broken: set[Key] = field(default_factory=set)
    alone: dict[str, list[SiteFlip]] = field(default_factory=dict)
    runs: int = 0
    real: Folded | None = None

    @property
    def units(self) -> list[EditableTest]:
        return marked_units(self.problem, self.texts)

    def begin(self, real: Folded, unproven: TestReport, unfit: set[str]) -> None:
        """Record the results of two runs without copies.

        ``real`` ran with the fix and ``unproven`` without it; ``unfit`` files are left out.
        """
        self.real = real
        for test, passed in real.passed.items():
            self.first[test] = min(passed - _marked_statements(unproven.receipts.get(test, ())), default=0)
        self.texts = replace(
            self.texts, units={key: unit for key, unit in self.texts.units.items() if key[0] not in unfit}
        )
        for test in self.problem.tests.FAIL_TO_PASS:
            key = real.units.get(test)
            if key is not None and key in self.texts.units and not self.texts.units[key].alone:
                self.tests.setdefault(key, []).append(test)
        for key in self.tests:
            self.left[key] = _order_to_try(self.texts.units[key].sites, _SITES + 2 * len(self.tests[key]))

    def next(self) -> dict[Key, list[Flips]]:
        """Return the copies to run next, by unit."""
        copies: dict[Key, list[Flips]] = {}
        for key, tests in self.tests.items():
            wanted = self._members(key)
            if not all(self._strong(test) for test in tests):
                count = self._affordable(key)
                wanted += [(SiteFlip(site, len(site.texts) // 2),) for site in self.left[key][:count]]
                self.left[key] = self.left[key][count:]
            if wanted:
                copies[key] = wanted
        return copies

    def _members(self, key: Key) -> list[Flips]:
        # Sites of different rows are flipped in one copy.
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

    def _affordable(self, key: Key) -> int:
        count = _SITES + 2 * len(self.tests[key]) + _WEAK
        seconds = sum(self._seconds(one) * (_SITES + 2 * len(tests) + _WEAK) for one, tests in self.tests.items())
        most = min(self.problem.manifest.limits.seconds / _SLOWNESS, _TURN_SECONDS)
        return max(1, int(count * min(1.0, most / max(seconds, 0.001))))

    def _seconds(self, key: Key) -> float:
        results = self.real.report.results if self.real else {}
        return sum(max(results[test].seconds, _LEAST_OF_ONE) for test in self.tests[key] if test in results)

    def _strong(self, test: str) -> bool:
        return any(flips[0].site.strong for flips in self.killed.get(test, {}).values())

    def _counting_sites(self, key: Key) -> list[Site]:
        # Sites of values come first, and flips that the fix fails where the unfixed code does, or later.
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

    def run(
        self,
        copies: Mapping[Key, Sequence[Flips]],
        place: float = 0.0,
        seconds: float | None = None,
        instead: Mapping[Key, Flips] | None = None,
    ) -> Folded:
        """Run the reference fix on marked tests with ``copies``.

        Without ``copies``, all files run; with them, only the files that share a process with a copy. ``place``: an
        original test's position among its copies, from 0 (first) to 1 (last). ``seconds``: time limit of a run with
        copies. ``instead``: flips of the original tests themselves.
        """
        made = make_copies(self.texts, self.units, copies, real=place, instead=instead)
        selection = replace(test_selection(self.problem), copies=made)
        if copies:
            changed = {path for path, _ in copies}
            batches = find_runner(self.problem.manifest.runner).batches(selection.files)
            own = tuple(file for batch in batches if changed.intersection(batch) for file in batch)
            limit = min(selection.timeout_seconds, seconds or selection.timeout_seconds)
            each = max(_LEAST_OF_COPY, *(_SLOWNESS * self._seconds(key) for key in copies))
            selection = replace(selection, files=own, timeout_seconds=limit, copies=replace(made, seconds=each))
        self.runs += 1
        return fold(made, run_hidden_tests(self.problem, self.fixed, self.sandboxes, selection), self.texts)

    def attempt(self, copies: Mapping[Key, Sequence[Flips]], place: float, *, alone: bool = False) -> None:
        """Run copies beside their tests; record flips that fail.

        If an unflipped test fails in this run, its copies may have caused it: they are run again in smaller groups.
        ``place``: position of the unflipped test among its copies, from 0
        (first) to 1 (last). ``alone``: each unit has one copy; a unit whose unflipped tests fail even so is dropped.
        """
        copies = {key: flips for key, flips in copies.items() if key in self.tests and flips}
        if not copies or self.runs >= _MOST_RUNS:
            return
        self.tried |= {flip.name for flips in copies.values() for copy in flips for flip in copy}
        seconds = sum(self._seconds(key) * len(flips) for key, flips in copies.items())
        limit = max(_LEAST_SECONDS, _SLOWNESS * (seconds + (self.real.report.seconds if self.real else 0.0)))
        folded = self.run(copies, place, limit)
        files = {path for path, _ in copies}
        failing = [
            one for one in self.problem.tests.expected if file_of(one) in files and not folded.report.passes(one)
        ]
        failing += [one for one in folded.short if one not in failing]
        spoiled = {key for key, tests in self.tests.items() if key in copies and not set(tests).isdisjoint(failing)}
        if failing and not spoiled:  # copies fail other tests
            spoiled = {key for key in copies if key[0] in {file_of(test) for test in failing}}
        for key in copies.keys() - spoiled:
            for test in self.tests[key]:
                self._record_killed(test, folded)
        if not spoiled:
            return
        keys = sorted(spoiled)
        if not folded.report.complete:
            self._halve({key: copies[key] for key in keys}, place)
        elif not alone and any(len(copies[key]) > 1 for key in keys):
            new = [key for key in keys if not any(self.killed.get(test) for test in self.tests[key])]
            self.attempt({key: copies[key][:1] for key in new}, place, alone=True)
            rest = {key: copies[key][key in new :] for key in keys}
            for part in (slice(0, None, 2), slice(1, None, 2)):
                self.attempt({key: flips[part] for key, flips in rest.items()}, place)
        elif len(keys) > 1:  # one of them is enough
            for some in (keys[::2], keys[1::2]):
                self.attempt({key: copies[key] for key in some}, place, alone=alone)
        elif alone and (folded.report.collection_errors or folded.report.timed_out) and keys[0] not in self.broken:
            self.broken.add(keys[0])  # one flip may be at fault: in Go, all tests of a package compile or none does
        elif alone:
            del self.tests[keys[0]]

    def _halve(self, copies: Mapping[Key, Sequence[Flips]], place: float) -> None:
        # A single copy is dropped.
        each = [(key, flips) for key, found in copies.items() for flips in found]
        for some in (each[::2], each[1::2]) if len(each) > 1 else ():
            part: dict[Key, list[Flips]] = {}
            for key, flips in some:
                part.setdefault(key, []).append(flips)
            self.attempt(part, place)

    def _record_killed(self, test: str, folded: Folded) -> None:
        # If a copy has several flips, only one of a known site counts.
        known = self.killed.setdefault(test, {})
        for copied in folded.copies.get(test, ()):
            own = [one for one in copied.flips if len(copied.flips) == 1 or one.site.name in known]
            if len(own) == 1 and _is_killed(copied, own[0]):
                ends = min(folded.passed[test] - copied.passed, default=-1)
                known.setdefault(own[0].site.name, []).append(replace(own[0], ends=ends))

    def flip_alone(self) -> None:
        """Flip tests that cannot run beside copies, in separate runs.

        The test itself is changed then, at one site in each run.
        """
        units = self.real.units if self.real else {}
        left = {
            key: test
            for test in self.problem.tests.FAIL_TO_PASS
            if (key := units.get(test)) in self.texts.units
            and key is not None
            and not any(self.killed.get(one) for one in self.tests.get(key, ()))
        }
        for turn in range(_ALONE if left else 0):
            sites = {key: _order_to_try(self.texts.units[key].sites, _ALONE - 1)[turn : turn + 1] for key in left}
            instead = {key: (SiteFlip(one, len(one.texts) // 2),) for key, found in sites.items() for one in found}
            folded = self.run({}, instead=instead)
            for key, (flip,) in instead.items():
                test = left[key]
                copied = Copied((flip,), folded.report.results.get(test), crash=folded.report.crashes.get(test))
                if _is_killed(copied, flip):
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
    # At most ``most`` strong ones and a few weak ones come first.
    strong, weak = [one for one in sites if one.strong], [one for one in sites if not one.strong]
    first = [*spread(strong, most), *spread(weak, _WEAK)]
    rest = [one for one in (*weak, *strong) if one not in first]
    return [*first, *spread(rest, len(rest))]


def _is_killed(copied: Copied, flip: SiteFlip) -> bool:
    # A flip of a value has to fail by an assertion, because anything else fails any patch.
    if copied.result is None or not copied.result.failed:
        return False
    return not flip.site.value or copied.crash is None or is_assertion(copied.crash)
