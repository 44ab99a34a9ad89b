"""Read and write suites: ``suite.yml``, ``environments/`` and ``problems/``.

A suite's files are untrusted: links are never followed, names are checked, sizes are limited.
"""

import os
import shutil
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import yaml
from pydantic import BaseModel

from codegate.durable import digest, sha256, write_atomic
from codegate.errors import InfrastructureError, UsageError
from codegate.strict import read_text
from codegate.suite.folder import MAX_FILE_BYTES, base_folder, path_inside, read_folder
from codegate.suite.loaded import ANSWER, RECIPE, RESOLVED, Environment, Problem, Suite
from codegate.suite.model import (
    EnvironmentManifest,
    ProblemManifest,
    StoredProblemManifest,
    SuiteManifest,
    TestSets,
)
from codegate.suite.proved import read_proved
from codegate.suite.reader import MAX_YAML_BYTES, parse_yaml, read_json, read_yaml
from codegate.suite.tree import Changes, Tree, TreeFile, check_path

_OWN: Final = frozenset({"suite.yml", "environments", "problems"})
_OLDER: Final = "codegate.suite/1"
_MINING_REPORTS: Final = frozenset({"funnel.jsonl", "mining.json"})


def make_problem(
    manifest: ProblemManifest,
    statement: str,
    tests: TestSets,
    hidden: Changes,
    fix: Changes,
    environment: EnvironmentManifest,
    base_digest: str | None = None,
) -> Problem:
    """Return the problem with its digest.

    The digest covers all that can change a grade: the base, the trees, the tests, the service, the environment's
    identity, the statement and the limits. It leaves out tags, provenance and status. ``base_digest`` is the digest of
    a base tree that is no commit.
    """
    audit = manifest.controls
    controls: dict[str, object] = {"killed": (), "unfit": audit.unfit} if audit else {}  # earlier digests stay valid
    if audit is not None and (audit.flips or audit.alone):
        controls |= {"flips": audit.flips, "alone": audit.alone, "most": audit.most}
    graded = {
        "base": manifest.base.commit or base_digest,
        "environment": environment.identity,
        "limits": manifest.limits.model_dump(mode="json"),
        **({"service": manifest.service.model_dump(mode="json")} if manifest.service else {}),
        **({"answer": manifest.answer} if manifest.answer else {}),
        "run": [
            manifest.language,
            manifest.runner,
            manifest.python_path,
            manifest.test_files,
            manifest.public_tests,
            *([manifest.command, manifest.reports] if manifest.command else []),
            *([{"before": manifest.before}] if manifest.before else []),
            *([manifest.folder] if manifest.folder else []),
        ],
        "tests": [tests.FAIL_TO_PASS, tests.PASS_TO_PASS],
        "statement": sha256(statement.encode("utf-8")),
        "hidden": _changes_digest(hidden),
        "fix": _changes_digest(fix),
    }
    plain = digest(graded)
    whole = digest(graded | {"controls": controls}) if any(controls.values()) else plain
    return Problem(manifest, statement, tests, hidden, fix, environment, whole, plain)


def _changes_digest(changes: Changes) -> list[list[str | None]]:
    return [
        [path, None, None] if file is None else [path, file.mode, sha256(file.data)]
        for path, file in sorted(changes.items())
    ]


class NotASuite(UsageError):
    """The folder holds no suite."""


def load_suite(folder: Path) -> Suite:
    """Return the checked suite in ``folder``.

    Raises:
        UsageError: a file is missing or broken, or differs from its digest; the message names it.
    """
    place = folder / "suite.yml"
    if not os.path.lexists(place):
        why, out = ("it has no suite.yml", "FOLDER") if folder.exists() else ("there is no such folder", folder)
        raise NotASuite(f"{folder} is not a suite: {why}.", f"Make one with `codegate mine REPOSITORY --out {out}`.")
    manifest = read_manifest(folder)
    environments = {environment.id: environment for environment in manifest.environments}
    if len(set(manifest.problems)) != len(manifest.problems) or len(environments) != len(manifest.environments):
        raise UsageError(f"{place}: a problem or environment is listed twice.")
    read = {name: _load_environment(folder, environment) for name, environment in environments.items()}
    problems = tuple(_load_problem(folder, name, environments) for name in manifest.problems)
    return Suite(folder, manifest, problems, read, _suite_digest(problems), read_proved(folder))


def read_manifest(folder: Path) -> SuiteManifest:
    """Return the content of ``suite.yml`` in ``folder``.

    Raises:
        UsageError: the file is missing, broken, or of an older form.
    """
    place = folder / "suite.yml"
    try:
        return read_yaml(place, SuiteManifest)
    except UsageError:
        written = parse_yaml(read_text(place, MAX_YAML_BYTES), str(place))
        if not isinstance(written, dict) or written.get("schema") != _OLDER:
            raise
        raise UsageError(
            f"{place} is of an older form ({_OLDER}), which is not read any more.",
            f"Make the suite anew: `codegate mine REPOSITORY --out {folder}`; of rows: `codegate mine import`.",
        ) from None


def _load_environment(folder: Path, manifest: EnvironmentManifest) -> Environment:
    home, texts = path_inside(folder, f"environments/{manifest.id}"), []
    for name, expected in ((RECIPE, manifest.recipe), (RESOLVED, manifest.resolved)):
        texts.append(read_text(home / name, MAX_FILE_BYTES))
        _check_sha256(home / name, texts[-1], expected, "suite.yml")
    return Environment(manifest, *texts)


def _suite_digest(problems: Sequence[Problem]) -> str:
    return digest({problem.id: problem.digest for problem in problems})


def _load_problem(folder: Path, name: str, environments: Mapping[str, EnvironmentManifest]) -> Problem:
    home = path_inside(folder, f"problems/{name}")
    place = home / "problem.yml"
    stored = read_yaml(place, StoredProblemManifest)
    if stored.id != name:
        raise UsageError(f"{place}: id is {stored.id!r}, but the folder is {name!r}.")
    if stored.environment not in environments:
        raise UsageError(f"{place}: environment {stored.environment!r} is not in suite.yml.")
    statement = read_text(home / "statement.md", MAX_FILE_BYTES)
    _check_sha256(home / "statement.md", statement, stored.statement.sha256, "problem.yml")
    tests = read_json(home / "tests.json", TestSets)
    if len(set(tests.expected)) != len(tests.expected):
        raise UsageError(f"{home / 'tests.json'}: a test id is listed twice.")
    known = {*tests.expected, *tests.EXPECTED_FAIL, *(entry.id for entry in tests.QUARANTINED)}
    for test in stored.service.tests if stored.service else ():
        if test not in known:
            raise UsageError(
                f"{place}: service: the expectation {test!r} is not in {home / 'tests.json'}.",
                "Add it to FAIL_TO_PASS if it fails without the fix, else to PASS_TO_PASS.",
            )
    hidden = _load_changes(home, "hidden", stored, stored.hidden_deleted)
    fix = _load_changes(home, "fix", stored, stored.fix_deleted)
    if stored.answer is not None and (tests.expected != (f"answer::{stored.answer}",) or fix.keys() != {ANSWER}):
        raise UsageError(
            f"{place}: answer: a question has one test, answer::{stored.answer}, and one file, fix/{ANSWER}.",
            f"Correct FAIL_TO_PASS in {home / 'tests.json'}, and write a right answer into {home / 'fix' / ANSWER}.",
        )
    for path in stored.test_files:
        if hidden.get(path) is None:
            raise UsageError(f"{place}: test_files: {path!r} is not in {home / 'hidden'}.")
    for path in stored.file_modes:
        kind, _, below = path.partition("/")
        if {"hidden": hidden, "fix": fix}.get(kind, {}).get(below) is None:
            raise UsageError(f"{place}: file_modes: there is no file {path!r} in hidden/ or fix/.")
    manifest = ProblemManifest.model_validate(stored.model_dump(exclude={"file_modes"}, by_alias=True))
    base_digest = base_folder(folder, manifest.base.folder).digest() if manifest.base.folder else None
    return make_problem(manifest, statement, tests, hidden, fix, environments[manifest.environment], base_digest)


def _check_sha256(path: Path, text: str, expected: str, manifest: str) -> None:
    found = sha256(text.encode("utf-8"))
    if found != expected:
        raise UsageError(
            f"{path} is not what {manifest} says (sha256 differs).",
            f"Restore it (checkouts must not convert line ends), or set {found} if the change is meant.",
        )


def _load_changes(home: Path, kind: str, stored: StoredProblemManifest, deleted: Sequence[str]) -> Changes:
    root = path_inside(home, kind)
    changes: dict[str, TreeFile | None] = {}
    if os.path.lexists(root):
        for path, data in read_folder(root).items():
            changes[path] = TreeFile(data, stored.file_modes.get(f"{kind}/{path}", "100644"))
    for path in deleted:
        if path in changes:
            raise UsageError(f"{home / 'problem.yml'}: {kind}_deleted: {path!r} is listed twice, or there.")
        changes[path] = None
    return changes


def write_suite(
    folder: Path,
    *,
    name: str,
    repository: str | None,
    environments: Sequence[Environment],
    problems: Sequence[Problem],
    scanned: str | None = None,
    canary: str | None = None,
    pooled_canaries: Sequence[str] = (),
    bases: Mapping[str, Tree] | None = None,
) -> Suite:
    """Write a suite completely or not at all; return it.

    It replaces an existing suite in ``folder``, whose other files (base trees, a README, a report of mining) stay.
    ``bases`` are new base trees by folder within the suite, stored as plain files. ``canary`` is a unique word: a model
    that can recite it has seen the suite. None: a new one. The other arguments are fields of ``SuiteManifest``.

    Raises:
        UsageError: ``folder`` holds something that is not a suite, or a problem cannot be stored as files.
    """
    _check_place(folder)
    manifest = SuiteManifest(
        name=name,
        repository=repository,
        canary=canary or f"codegate-canary-{uuid.uuid5(uuid.NAMESPACE_OID, name + _suite_digest(problems))}",
        pooled_canaries=tuple(pooled_canaries),
        environments=tuple(environment.manifest for environment in environments),
        problems=tuple(problem.id for problem in problems),
        scanned=scanned,
    )
    fresh = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=".codegate-new-", dir=folder.parent))
        fresh.chmod(0o755)
        for environment in environments:
            home = fresh / "environments" / environment.id
            write_atomic(home / RECIPE, environment.recipe.encode("utf-8"))
            write_atomic(home / RESOLVED, environment.resolved.encode("utf-8"))
        for place, tree in (bases or {}).items():
            for path, file in tree.items():
                write_atomic(fresh / place / path, file.data)
        for problem in problems:
            _write_problem(fresh / "problems" / problem.id, problem, manifest.canary)
        for base in (*(each.manifest.base for each in problems), *(each.base for each in manifest.environments)):
            if base is not None and base.folder is not None and not os.path.lexists(fresh / base.folder):
                shutil.copytree(path_inside(folder, base.folder), fresh / base.folder, symlinks=True)
        write_atomic(fresh / "suite.yml", _yaml(manifest, manifest.canary))
        written = load_suite(fresh)
        _replace(folder, fresh)
    except OSError as error:
        raise InfrastructureError(
            f"cannot write suite {folder}: {error.strerror or error}.",
            "Check its space and permissions, or choose another folder.",
        ) from error
    finally:
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)
    return replace(written, folder=folder)


def _check_place(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder} is not a folder.", "Choose another folder.")
    if not folder.exists() or (folder / "suite.yml").exists():
        return
    if {path.name for path in folder.iterdir()} - _MINING_REPORTS:
        raise UsageError(f"{folder} exists and is no suite.", "Choose another folder.")


def _replace(folder: Path, fresh: Path) -> None:
    """Move ``fresh`` to ``folder``, or leave all as it was.

    Files in ``folder`` that are not a suite's are kept.
    """
    if not folder.exists():
        fresh.rename(folder)
        return
    parked = Path(tempfile.mkdtemp(prefix=".codegate-old-", dir=folder.parent))
    old = parked / "suite"
    folder.rename(old)
    try:
        fresh.rename(folder)
    except OSError:
        old.rename(folder)
        parked.rmdir()
        raise
    for path in old.iterdir():
        if path.name not in _OWN and not os.path.lexists(folder / path.name):
            path.rename(folder / path.name)
    shutil.rmtree(parked)


def update_problem(suite: Suite, problem: Problem) -> Suite:
    """Write a problem's changed status or tests; reload the suite."""
    if problem.id not in suite.manifest.problems:
        raise UsageError(f"suite {suite.name} has no problem {problem.id}.")
    home = path_inside(suite.folder, f"problems/{problem.id}")
    write_atomic(home / "tests.json", _tests_json(problem.tests))
    write_atomic(home / "problem.yml", _yaml(_stored(problem), suite.manifest.canary))
    return load_suite(suite.folder)


def _write_problem(home: Path, problem: Problem, canary: str) -> None:
    write_atomic(home / "statement.md", problem.statement.encode("utf-8"))
    write_atomic(home / "tests.json", _tests_json(problem.tests))
    for kind, changes in (("hidden", problem.hidden), ("fix", problem.fix)):
        for path, file in changes.items():
            check_path(path)
            if file is not None:
                write_atomic(home / kind / path, file.data)
    write_atomic(home / "problem.yml", _yaml(_stored(problem), canary))


def _stored(problem: Problem) -> StoredProblemManifest:
    modes: dict[str, str] = {}
    for kind, changes in (("hidden", problem.hidden), ("fix", problem.fix)):
        for path, file in changes.items():
            if file is not None and file.is_link:
                raise UsageError(f"problem {problem.id}: {path!r} is a symbolic link; suites hold none.")
            if file is not None and file.mode == "100755":
                modes[f"{kind}/{path}"] = file.mode
    return StoredProblemManifest.model_validate({**problem.manifest.model_dump(by_alias=True), "file_modes": modes})


def _tests_json(tests: TestSets) -> bytes:
    return tests.model_dump_json(indent=2).encode("utf-8") + b"\n"


class _Dumper(yaml.SafeDumper):
    """The safe dumper; it double-quotes texts with unprintable characters."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, None if text.isprintable() else '"')


_Dumper.add_representer(str, _Dumper.represent_text)


def _yaml(model: BaseModel, canary: str) -> bytes:
    # Defaults are left out, of nested models too: people read and write these files.
    whole = model.model_dump(mode="json", by_alias=True)
    data = {"schema": whole["schema"], **model.model_dump(mode="json", by_alias=True, exclude_defaults=True)}
    text = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return f"# {canary}\n{text}".encode()
