"""Suites on disk: ``suite.yml``, ``environments/<id>/requirements.lock`` and ``problems/<id>/``.

A suite's files are read as written by a stranger: links are never followed, names are checked, sizes capped.
File modes are kept in ``problem.yml``, because archives and checkouts lose them.
"""

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel

from codegate.durable import digest, sha256, write_atomic
from codegate.errors import InfrastructureError, UsageError
from codegate.suite.git import GitError, git, read_commit
from codegate.suite.model import (
    EnvironmentManifest,
    Problem,
    ProblemManifest,
    Suite,
    SuiteManifest,
    TestSets,
)
from codegate.suite.reader import read_bytes, read_json, read_text, read_yaml
from codegate.suite.tree import Changes, FileMode, Tree, TreeFile, is_plain_path

MAX_FILE_BYTES: Final = 16 << 20
MAX_TREE_FILES: Final = 50_000


def make_problem(
    manifest: ProblemManifest,
    statement: str,
    tests: TestSets,
    hidden: Changes,
    fix: Changes,
    environment: EnvironmentManifest,
    base_digest: str | None = None,
) -> Problem:
    """Put a problem together and compute its digest.

    The digest covers everything that can change a grade: the base, the trees, the tests, the environment's lock,
    the statement and the limits; not tags, provenance or status. ``base_digest`` is the digest of a base folder.
    """
    graded = {
        "base": manifest.base.commit or base_digest,
        "environment": {"python": environment.python, "lock": environment.lock_sha256},
        "limits": manifest.limits.model_dump(mode="json"),
        "run": [
            manifest.language,
            manifest.runner,
            manifest.python_path,
            manifest.test_files,
            manifest.public_tests,
        ],
        "tests": [tests.FAIL_TO_PASS, tests.PASS_TO_PASS],
        "statement": sha256(statement.encode("utf-8")),
        "hidden": _changes_digest(hidden),
        "fix": _changes_digest(fix),
    }
    return Problem(manifest, statement, tests, hidden, fix, environment, digest(graded))


def _changes_digest(changes: Changes) -> list[list[str | None]]:
    return [
        [path, None, None] if file is None else [path, file.mode, sha256(file.data)]
        for path, file in sorted(changes.items())
    ]


def load_suite(folder: Path) -> Suite:
    """Load and check the suite in ``folder``.

    Raises:
        UsageError: something is missing, broken or not what its digest says; names the file.
    """
    if not (folder / "suite.yml").exists():
        raise UsageError(f"{folder} is not a suite: it has no suite.yml.", "Make one with `codegate mine`.")
    manifest = read_yaml(folder / "suite.yml", SuiteManifest)
    environments, locks = {}, {}
    for environment in manifest.environments:
        if not is_plain_path(environment.lock):
            raise UsageError(f"{folder / 'suite.yml'}: environment {environment.id}: `lock` is not a path inside.")
        lock = read_text(_inside(folder, environment.lock), MAX_FILE_BYTES)
        if sha256(lock.encode("utf-8")) != environment.lock_sha256:
            raise UsageError(f"{folder / environment.lock} is not what suite.yml says (sha256 differs).")
        environments[environment.id] = environment
        locks[environment.id] = lock
    if len(set(manifest.problems)) != len(manifest.problems) or len(environments) != len(manifest.environments):
        raise UsageError(f"{folder / 'suite.yml'}: a problem or environment is listed twice.")
    problems = tuple(_load_problem(folder, name, environments) for name in manifest.problems)
    return Suite(folder, manifest, problems, locks, _suite_digest(problems))


def _suite_digest(problems: Sequence[Problem]) -> str:
    return digest({problem.id: problem.digest for problem in problems})


class _StoredManifest(ProblemManifest):
    """``problem.yml`` as stored: with the modes of files that are not plain, by path below the folder."""

    file_modes: dict[str, FileMode] = {}


def _load_problem(folder: Path, name: str, environments: dict[str, EnvironmentManifest]) -> Problem:
    home = _inside(folder, f"problems/{name}")
    stored = read_yaml(home / "problem.yml", _StoredManifest)
    manifest = ProblemManifest.model_validate(stored.model_dump(exclude={"file_modes"}, by_alias=True))
    if manifest.id != name:
        raise UsageError(f"{home / 'problem.yml'}: id is {manifest.id!r}, the folder says {name!r}.")
    if manifest.environment not in environments:
        raise UsageError(f"{home / 'problem.yml'}: environment {manifest.environment!r} is not in suite.yml.")
    statement = read_text(home / "statement.md", MAX_FILE_BYTES)
    if sha256(statement.encode("utf-8")) != manifest.statement.sha256:
        raise UsageError(f"{home / 'statement.md'} is not what problem.yml says (sha256 differs).")
    tests = read_json(home / "tests.json", TestSets)
    if len(set(tests.expected)) != len(tests.expected):
        raise UsageError(f"{home / 'tests.json'}: a test id is listed twice.")
    hidden = _load_changes(home, "hidden", stored.file_modes, manifest.hidden_deleted)
    fix = _load_changes(home, "fix", stored.file_modes, manifest.fix_deleted)
    for path in manifest.test_files:
        if hidden.get(path) is None:
            raise UsageError(f"{home}: test file {path!r} is not in hidden/.")
    base_digest = _base_folder(folder, manifest).digest() if manifest.base.folder else None
    return make_problem(manifest, statement, tests, hidden, fix, environments[manifest.environment], base_digest)


def _load_changes(home: Path, kind: str, modes: dict[str, FileMode], deleted: Sequence[str]) -> Changes:
    changes: dict[str, TreeFile | None] = {}
    root = home / kind
    if root.is_dir() and not root.is_symlink():
        for path, data in _files(root):
            changes[path] = TreeFile(data, modes.get(f"{kind}/{path}", "100644"))
    for path in deleted:
        if not is_plain_path(path) or path in changes:
            raise UsageError(f"{home / 'problem.yml'}: {kind}_deleted: {path!r} is unsafe or also present.")
        changes[path] = None
    return changes


def _files(root: Path) -> Iterator[tuple[str, bytes]]:
    count = 0
    for parent, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not (Path(parent) / f).is_symlink())
        for name in sorted(names):
            path = Path(parent) / name
            relative = path.relative_to(root).as_posix()
            count += 1
            if not is_plain_path(relative) or count > MAX_TREE_FILES:
                raise UsageError(f"{path}: not a usable path, or more than {MAX_TREE_FILES} files.")
            yield relative, read_bytes(path, MAX_FILE_BYTES)


def _inside(folder: Path, relative: str) -> Path:
    """Return ``folder/relative``, refusing links on the way."""
    path = folder
    for part in relative.split("/"):
        path = path / part
        if path.is_symlink():
            raise UsageError(f"{path} is a symbolic link; suites hold none.")
    return path


def _base_folder(folder: Path, manifest: ProblemManifest) -> Tree:
    relative = manifest.base.folder
    if relative is None or not is_plain_path(relative):
        raise UsageError(f"{folder}: problem {manifest.id}: base.folder is not a path inside the suite.")
    root = _inside(folder, relative)
    if not root.is_dir():
        raise UsageError(f"{root} does not exist; problem {manifest.id} says that it is its base tree.")
    return Tree({path: TreeFile(data) for path, data in _files(root)})


def load_base(suite: Suite, problem: Problem, repository: Path | None = None) -> Tree:
    """Return the base tree of ``problem``, from the suite's folder or from git.

    Args:
        suite: the suite.
        problem: one of its problems.
        repository: where base commits are; default: what suite.yml says, else the repository around the suite.

    Raises:
        UsageError: no repository, or it does not have the commit.
    """
    commit = problem.manifest.base.commit
    if commit is None:
        return _base_folder(suite.folder, problem.manifest)
    home = find_repository(suite, repository)
    try:
        return read_commit(home, commit)
    except GitError as error:
        raise UsageError(
            f"problem {problem.id}: base commit {commit[:12]} is not in {home}.",
            "Give --repository, or fetch the whole history (`git fetch --unshallow`; in a workflow, fetch-depth: 0).",
        ) from error


def find_repository(suite: Suite, repository: Path | None = None) -> Path:
    """Return the git repository that the suite's base commits are in (see ``load_base``).

    Raises:
        UsageError: there is none.
    """
    home = repository
    if home is None and suite.manifest.repository is not None:
        home = (suite.folder / suite.manifest.repository).resolve()
    if home is None:
        home = suite.folder.resolve()
    try:
        git(home, "rev-parse", "--git-dir")
    except GitError as error:
        raise UsageError(
            f"{home} is not a git repository; the base commits of suite {suite.name} are looked for there.",
            "Give --repository.",
        ) from error
    return home


def write_suite(
    folder: Path,
    *,
    name: str,
    repository: str | None,
    environments: Sequence[tuple[EnvironmentManifest, str]],
    problems: Sequence[Problem],
) -> Suite:
    """Write a suite as a whole: it appears complete or not at all. An existing suite there is replaced.

    Args:
        folder: where; must not exist, or hold a suite.
        name: the suite's name.
        repository: path of the repository, relative to ``folder``, or None.
        environments: each with the text of its lock.
        problems: in the order that they will run in.

    Raises:
        UsageError: ``folder`` holds something that is not a suite.
        InfrastructureError: the disk refused.
    """
    if folder.exists() and not (folder / "suite.yml").exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} exists and is no suite.", "Choose another folder.")
    manifest = SuiteManifest(
        name=name,
        repository=repository,
        canary=f"codegate-canary-{uuid.uuid5(uuid.NAMESPACE_OID, name + _suite_digest(problems))}",
        environments=tuple(environment for environment, _ in environments),
        problems=tuple(problem.id for problem in problems),
    )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        fresh.chmod(0o755)
        for environment, lock in environments:
            write_atomic(fresh / environment.lock, lock.encode("utf-8"))
        for problem in problems:
            _write_problem(fresh / "problems" / problem.id, problem, manifest.canary)
        write_atomic(fresh / "suite.yml", _yaml(manifest, manifest.canary))
        old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
        if folder.exists():
            folder.rename(old / "suite")
        fresh.rename(folder)
        shutil.rmtree(old)
    except OSError as error:
        raise InfrastructureError(f"cannot write suite {folder}: {error.strerror or error}.") from error
    return load_suite(folder)


def update_problem(suite: Suite, problem: Problem) -> Suite:
    """Write ``problem`` (same id, changed status or tests) back to its place and return the suite anew."""
    write_atomic(
        suite.folder / "problems" / problem.id / "problem.yml",
        _yaml(_stored(problem), suite.manifest.canary),
    )
    write_atomic(suite.folder / "problems" / problem.id / "tests.json", _tests_json(problem.tests))
    return load_suite(suite.folder)


def _write_problem(home: Path, problem: Problem, canary: str) -> None:
    write_atomic(home / "statement.md", problem.statement.encode("utf-8"))
    write_atomic(home / "tests.json", _tests_json(problem.tests))
    for kind, changes in (("hidden", problem.hidden), ("fix", problem.fix)):
        for path, file in changes.items():
            if file is not None:
                write_atomic(home / kind / path, file.data)
    write_atomic(home / "problem.yml", _yaml(_stored(problem), canary))


def _stored(problem: Problem) -> _StoredManifest:
    modes: dict[str, FileMode] = {}
    for kind, changes in (("hidden", problem.hidden), ("fix", problem.fix)):
        for path, file in changes.items():
            if file is not None and file.mode != "100644":
                modes[f"{kind}/{path}"] = file.mode
    return _StoredManifest(**problem.manifest.model_dump(by_alias=True), file_modes=modes)


def _tests_json(tests: TestSets) -> bytes:
    return tests.model_dump_json(indent=2).encode("utf-8") + b"\n"


def _yaml(model: BaseModel, canary: str) -> bytes:
    data: Any = model.model_dump(mode="json", by_alias=True, exclude_defaults=False)
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    return f"# {canary}\n{text}".encode()
