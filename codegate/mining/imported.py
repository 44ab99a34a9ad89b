"""SWE-bench rows as units: validated like mined ones, with the row's own split, statement and date.

``patch`` is the fix and ``test_patch`` the hidden tests, both applied to the base commit; nothing is classified again.
The problem has the tests that execution shows; where the row's differ, the problem's provenance lists them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from codegate.durable import sha256
from codegate.errors import UsageError
from codegate.mining.build import Built, Prospect
from codegate.mining.cut import MAX_PUBLIC_TESTS, Cut
from codegate.mining.languages import path_language
from codegate.mining.sources.history import PathChange, Unit
from codegate.mining.units import BUG_LIKE, BugScore
from codegate.suite import (
    PathClassifier,
    ProblemManifest,
    Provenance,
    TestSets,
    Tree,
    TreeFile,
    apply_patch,
    git,
    make_problem,
    read_commit,
)
from codegate.suite.exchange import SweBenchRow, few


@dataclass(frozen=True)
class ImportedUnit:
    """A row, split on its base tree, as a unit whose commit is made up: no commit has the fix."""

    prospect: Prospect
    parts: Cut = field(repr=False)
    row: SweBenchRow


@dataclass(frozen=True)
class Agreement:
    """The tests that a row publishes next to the measured ones.

    Attributes:
        published: how many fail-to-pass and pass-to-pass tests the row names.
        agreed: how many of these were measured as such.
        lost: published as fail-to-pass only.
        gained: measured as fail-to-pass only.
        kept_lost: published as pass-to-pass only.
    """

    published: tuple[int, int]
    agreed: tuple[int, int]
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    kept_lost: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Return whether the fail-to-pass tests are the same."""
        return not self.lost and not self.gained

    def lines(self) -> tuple[str, ...]:
        """Return the counts, and one line for each kind of disagreement."""
        (fail, keep), (same_fail, same_keep) = self.published, self.agreed
        counts = f"published: {same_fail} of {fail} fail-to-pass, {same_keep} of {keep} pass-to-pass measured alike"
        named = {
            "published as fail-to-pass only": self.lost,
            "measured as fail-to-pass only": self.gained,
            "published as pass-to-pass only": self.kept_lost,
        }
        return (counts, *(f"{what}: {few(tests)}"[:1000] for what, tests in named.items() if tests))


def cut_row(row: SweBenchRow, repository: Path) -> ImportedUnit:
    """Apply the patches of ``row`` to its base commit.

    Raises:
        UsageError: the repository does not have the commit, the patches overlap, or there is no test to run.
        PatchError: a patch does not apply.
    """
    base = read_commit(repository, row.base_commit)
    fix, hidden = apply_patch(base, row.patch), apply_patch(base, row.test_patch)
    both = sorted(fix.keys() & hidden.keys())
    if both:
        raise UsageError(f"patch and test_patch both change {both[0]!a}.")
    if not fix or not hidden:
        raise UsageError(f"{'patch' if not fix else 'test_patch'} changes nothing.")
    fixed = base.overlay(hidden).overlay(fix)
    tests = _test_files(row, fixed, hidden)
    if not tests:
        raise UsageError("test_patch has no test module that can be run.")
    parts = Cut(
        base=base,
        hidden=hidden,
        fix=fix,
        fixed=fixed,
        test_files=tests,
        public_tests=_public_tests(base, tests),
        source_lines=_changed_lines(row.patch),
    )
    return ImportedUnit(
        Prospect(_unit(row, repository, base, fixed, [*fix, *hidden]), BugScore(BUG_LIKE, ())), parts, row
    )


def _unit(row: SweBenchRow, repository: Path, base: Tree, fixed: Tree, paths: Iterable[str]) -> Unit:
    title = next(iter(row.problem_statement.strip().splitlines()), "").strip()
    committed = git(repository, "log", "-1", "--format=%cI", "--end-of-options", row.base_commit)
    made_up = sha256(f"{row.instance_id}\0{row.patch}".encode())
    return Unit(
        commit=made_up[:40],
        base=row.base_commit,
        kind="direct",
        pull_request=row.pull_request,
        branch="",
        merges_forward=False,
        title=title[:500],
        message=row.problem_statement,
        author="",
        email="",
        date=row.created or datetime.fromisoformat(committed.decode("ascii").strip()),
        # Modes and blobs matter to the cut only, which the row has made.
        changes=tuple(
            PathChange(path, "A" if path not in base else "M" if path in fixed else "D", "", "", "", "")
            for path in sorted(paths)
        ),
    )


def _test_files(row: SweBenchRow, fixed: Tree, hidden: Mapping[str, TreeFile | None]) -> tuple[str, ...]:
    """Return the hidden files to run: those that the row's test ids begin with, and those that runners collect."""
    named = {test.partition("::")[0] for test in (*row.FAIL_TO_PASS, *row.PASS_TO_PASS)}
    classifier = PathClassifier.of(fixed)
    there = [path for path, file in hidden.items() if file is not None]
    return tuple(sorted(path for path in there if path in named or classifier.is_test_module(path)))


def _public_tests(base: Tree, tests: tuple[str, ...]) -> tuple[str, ...]:
    """Return test modules of the base tree: those that the row's tests change first, then their neighbours."""
    classifier = PathClassifier.of(base)
    folders = {path.rpartition("/")[0] for path in tests}
    modules = [path for path in base if path_language(path) and classifier.classify(path) == "test"]
    readable = [path for path in modules if path.encode("utf-8", "replace").decode("utf-8") == path]
    nearest = sorted(readable, key=lambda path: (path not in tests, path.rpartition("/")[0] not in folders, path))
    return tuple(sorted(nearest[:MAX_PUBLIC_TESTS]))


def _changed_lines(patch: str) -> int:
    """Return the changed lines of a patch: per file the larger of added and removed."""
    total = 0
    for part in patch.split("\ndiff --git "):
        lines = part.split("\n")
        added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
        removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
        total += max(added, removed)
    return total


def compare(row: SweBenchRow, tests: TestSets) -> Agreement:
    """Compare the tests that ``row`` publishes with the measured ``tests``.

    A published id that was cut at a blank (SWE-bench has hundreds) stands for the measured ones it begins.
    """
    fail, keep = set(tests.FAIL_TO_PASS), set(tests.PASS_TO_PASS)
    lost = tuple(test for test in row.FAIL_TO_PASS if not _known(test, fail))
    kept_lost = tuple(test for test in row.PASS_TO_PASS if not _known(test, keep))
    cut = tuple(test for test in row.FAIL_TO_PASS if _is_cut(test))
    gained = fail - set(row.FAIL_TO_PASS)
    return Agreement(
        published=(len(row.FAIL_TO_PASS), len(row.PASS_TO_PASS)),
        agreed=(len(row.FAIL_TO_PASS) - len(lost), len(row.PASS_TO_PASS) - len(kept_lost)),
        lost=lost,
        gained=tuple(sorted(test for test in gained if not test.startswith(cut))),
        kept_lost=kept_lost,
    )


def _known(test: str, measured: set[str]) -> bool:
    return test in measured or (_is_cut(test) and any(other.startswith(test) for other in measured))


def _is_cut(test: str) -> bool:
    return "[" in test and not test.endswith("]")


def finish(built: Built, imported: ImportedUnit) -> tuple[Built, Agreement]:
    """Return the validated problem with its row's id, statement and provenance, and how the tests agree."""
    problem, row = built.problem, imported.row
    agreement = compare(row, problem.tests)
    old = problem.manifest
    provenance = Provenance(
        kind="imported",
        pull_request=row.pull_request,
        title=imported.prospect.unit.title,
        date=imported.prospect.unit.date,
        evidence=agreement.lines(),
        upstream=row.upstream,
    )
    text = row.problem_statement
    facts = {
        **old.model_dump(by_alias=True),
        "id": row.id,
        "statement": {"mode": "imported", "sha256": sha256(text.encode("utf-8"))},
        "tags": {**old.tags, "published": "agrees" if agreement.exact else "differs"},
        "provenance": provenance,
    }
    manifest = ProblemManifest.model_validate(facts)
    named = make_problem(manifest, text, problem.tests, problem.hidden, problem.fix, problem.environment)
    return replace(built, problem=named), agreement
