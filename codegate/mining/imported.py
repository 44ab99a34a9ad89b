"""Rows of other benchmarks as units: the same validation, with the row's own split, statement and dates.

Of a row of SWE-bench's format the two patches are applied to the base commit: what ``patch`` changes is the fix, what
``test_patch`` changes is hidden. Nothing is classified again. What the row says of its tests is kept, and compared
with what execution shows; the measured tests are the ones that count.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from codegate.errors import CodegateError, InfrastructureError, UsageError
from codegate.mining.build import Built, Prospect
from codegate.mining.cut import Cut
from codegate.mining.languages import LanguageSupport, path_language
from codegate.mining.sources.history import PathChange, Unit
from codegate.mining.units import BUG_LIKE, BugScore, Rejected
from codegate.suite import (
    LockedEnvironment,
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
from codegate.suite.exchange import Row, Skipped, SweBenchRow, check_row, convert_each

MAX_PUBLIC_TESTS: Final = 100
_MAX_SHOWN: Final = 5
_NO_FILE: Final = "000000"


@dataclass(frozen=True)
class ImportedUnit:
    """A row cut on its base tree: it goes the way that a mined unit goes.

    Attributes:
        prospect: the unit, of kind ``direct``; its commit is made up, for there is none that has the fix.
        parts: the row's own split.
        row: what the row says.
    """

    prospect: Prospect
    parts: Cut = field(repr=False)
    row: SweBenchRow

    @property
    def id(self) -> str:
        """Return the id of the problem to be."""
        return self.row.id


@dataclass(frozen=True)
class Agreement:
    """What a row says of its tests, next to what was measured.

    Attributes:
        published: how many fail-to-pass and pass-to-pass tests the row names.
        agreed: how many of these were measured to be the same.
        lost: fail-to-pass tests of the row that were not measured to be fail-to-pass.
        gained: measured fail-to-pass tests that the row does not name as such.
        kept_lost: pass-to-pass tests of the row that were not measured to be pass-to-pass.
    """

    published: tuple[int, int]
    agreed: tuple[int, int]
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    kept_lost: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Whether the fail-to-pass tests are the same."""
        return not self.lost and not self.gained

    def lines(self) -> tuple[str, ...]:
        """Return it for people, one line for each disagreement after the counts."""
        (fail, keep), (same_fail, same_keep) = self.published, self.agreed
        found = [f"published: {same_fail} of {fail} fail-to-pass, {same_keep} of {keep} pass-to-pass measured alike"]
        named = {
            "published as fail-to-pass only": self.lost,
            "measured as fail-to-pass only": self.gained,
            "published as pass-to-pass only": self.kept_lost,
        }
        for what, tests in named.items():
            if tests:
                more = f" and {len(tests) - _MAX_SHOWN} more" if len(tests) > _MAX_SHOWN else ""
                found.append(f"{what}: {', '.join(tests[:_MAX_SHOWN])}{more}"[:1000])
        return tuple(found)


def import_rows(
    rows: Iterable[Row], repository: Path
) -> tuple[list[Callable[[], ImportedUnit | Skipped]], list[Skipped]]:
    """Check rows of SWE-bench's format against a clone of their repository.

    Trees are large, so a unit is cut when it is asked for.

    Args:
        rows: rows that codegate did not export itself.
        repository: a local clone that has their base commits.

    Returns:
        For each usable row, in order, what cuts it (or says why it cannot be); and the rows that are not usable.

    Raises:
        UsageError: ``repository`` is none.
    """
    git(repository, "rev-parse", "--git-dir")

    def convert(row: Row) -> tuple[str, tuple[Row, SweBenchRow]]:
        name, said = check_row(row)
        return name, (row, said)

    checked, skipped = convert_each(rows, convert)

    def later(row: Row, said: SweBenchRow) -> Callable[[], ImportedUnit | Skipped]:
        def cut() -> ImportedUnit | Skipped:
            try:
                return cut_row(said, repository)
            except InfrastructureError:
                raise
            except CodegateError as error:
                return Skipped(row.number, f"{said.id}: {error.cause}"[:500])

        return cut

    return [later(row, said) for row, said in checked], skipped


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
    return ImportedUnit(Prospect(_unit(row, repository, base, {**fix, **hidden}), BugScore(BUG_LIKE, ())), parts, row)


def _unit(row: SweBenchRow, repository: Path, base: Tree, changes: Mapping[str, TreeFile | None]) -> Unit:
    title = next(line.strip() for line in row.statement.splitlines() if line.strip())
    made_up = sha256(f"{row.instance_id}\0{row.patch}".encode("utf-8", "surrogatepass")).hexdigest()
    return Unit(
        commit=made_up[:40],
        base=row.base_commit,
        kind="direct",
        pull_request=row.pull_request,
        branch="",
        merges_forward=False,
        title=title[:500],
        message=row.statement,
        author="",
        email="",
        date=row.created or _committed(repository, row.base_commit),
        changes=tuple(_change(path, base.get(path), file) for path, file in sorted(changes.items())),
    )


def _committed(repository: Path, commit: str) -> datetime:
    text = git(repository, "log", "-1", "--format=%cI", "--end-of-options", commit).decode("ascii")
    return datetime.fromisoformat(text.strip())


def _change(path: str, old: TreeFile | None, new: TreeFile | None) -> PathChange:
    return PathChange(
        path=path,
        status="A" if old is None else "D" if new is None else "M",
        old_mode=old.mode if old else _NO_FILE,
        new_mode=new.mode if new else _NO_FILE,
        old_blob=_blob(old),
        new_blob=_blob(new),
    )


def _blob(file: TreeFile | None) -> str:
    return "0" * 40 if file is None else sha256(file.data).hexdigest()[:40]


def _test_files(row: SweBenchRow, fixed: Tree, hidden: Mapping[str, TreeFile | None]) -> tuple[str, ...]:
    """Return the hidden files to run: those that the row's test ids begin with, and those that runners collect."""
    named = {test.partition("::")[0] for test in (*row.fail_to_pass, *row.pass_to_pass)}
    classifier = PathClassifier.of(fixed)
    there = [path for path, file in hidden.items() if file is not None]
    return tuple(sorted(path for path in there if path in named or _is_module(classifier, path)))


def _is_module(classifier: PathClassifier, path: str) -> bool:
    if path.endswith(".py"):
        return classifier.is_test_module(path)
    return path_language(path) is not None and classifier.classify(path) == "test"


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
    """Return how what ``row`` says of its tests agrees with the measured ``tests``.

    A published id that was cut at a blank (hundreds in SWE-bench were) stands for the measured ones it begins.
    """
    fail, keep = set(tests.FAIL_TO_PASS), set(tests.PASS_TO_PASS)
    lost = tuple(test for test in row.fail_to_pass if not _known(test, fail))
    kept_lost = tuple(test for test in row.pass_to_pass if not _known(test, keep))
    cut = tuple(test for test in row.fail_to_pass if _is_cut(test))
    gained = fail - set(row.fail_to_pass)
    return Agreement(
        published=(len(row.fail_to_pass), len(row.pass_to_pass)),
        agreed=(len(row.fail_to_pass) - len(lost), len(row.pass_to_pass) - len(kept_lost)),
        lost=lost,
        gained=tuple(sorted(test for test in gained if not test.startswith(cut))) if cut else tuple(sorted(gained)),
        kept_lost=kept_lost,
    )


def _known(test: str, measured: set[str]) -> bool:
    return test in measured or (_is_cut(test) and any(other.startswith(test) for other in measured))


def _is_cut(test: str) -> bool:
    return "[" in test and not test.endswith("]")


def finish(built: Built, imported: ImportedUnit) -> tuple[Built, Agreement]:
    """Give a validated problem its row's id, statement and provenance.

    Args:
        built: what validation made of ``imported``.
        imported: the unit.

    Returns:
        The problem, and how its measured tests agree with the published ones.
    """
    problem, row = built.problem, imported.row
    agreement = compare(row, problem.tests)
    old = problem.manifest
    provenance = Provenance(
        kind="imported",
        pull_request=row.pull_request,
        title=imported.prospect.unit.title,
        date=imported.prospect.unit.date,
        evidence=agreement.lines(),
        upstream=dict(row.upstream),
    )
    text = row.statement
    facts = {
        **old.model_dump(by_alias=True),
        "id": row.id,
        "statement": {"mode": "imported", "sha256": sha256(text.encode("utf-8")).hexdigest()},
        "tags": {**old.tags, "published": "agrees" if agreement.exact else "differs"},
        "provenance": provenance,
    }
    manifest = ProblemManifest.model_validate(facts)
    named = make_problem(manifest, text, problem.tests, problem.hidden, problem.fix, problem.environment)
    return replace(built, problem=named), agreement


def build_all(
    units: Iterable[Callable[[], ImportedUnit | Skipped]],
    build: Callable[[ImportedUnit], Built | Rejected],
) -> Iterator[tuple[ImportedUnit | Skipped, Built | Rejected | None, Agreement | None]]:
    """Cut, validate and name each unit in turn; nothing of one is kept for the next.

    Args:
        units: what ``import_rows`` returned.
        build: validates a unit's ``parts`` in an environment of its date, as for a mined unit.
    """
    for later in units:
        unit = later()
        if isinstance(unit, Skipped):
            yield unit, None, None
            continue
        result = build(unit)
        if isinstance(result, Built):
            named, agreement = finish(result, unit)
            yield unit, named, agreement
        else:
            yield unit, result, None


def runner_environment(support: LanguageSupport, today: date | None = None) -> LockedEnvironment:
    """Return the environment of a project that declares nothing: a language's test runner alone.

    Raises:
        UsageError: it cannot be resolved.
        InfrastructureError: the package index cannot be reached.
    """
    found = next(support.environments(Tree(), Tree(), today or datetime.now(UTC).date()), None)
    if found is None:
        raise UsageError("the test runner cannot be resolved to packages.", "Check the package index.")
    return found
