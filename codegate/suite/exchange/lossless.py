"""What a problem has beyond a benchmark row's own fields, as the row's ``codegate_*`` fields, and back.

Each is one JSON text, so that every row of a file has fields of one type. With them a problem comes back as it was:
its digest is in the row and is compared.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from codegate.durable import sha256
from codegate.errors import UsageError
from codegate.strict import parse_json
from codegate.suite.exchange.portable import patched
from codegate.suite.model import (
    EnvironmentManifest,
    LockedEnvironment,
    Problem,
    ProblemManifest,
    Suite,
    SuiteManifest,
    TestSets,
)
from codegate.suite.reader import check_model
from codegate.suite.store import make_problem
from codegate.suite.tree import Changes, FileMode, Tree, TreeFile

PREFIX: Final = "codegate_"
_PATCHES: Final = {"fix": "patch", "hidden": "test_patch"}
_RESERVED: Final = frozenset({"suite.yml", "environments"})
_OF_PROBLEMS: Final = frozenset({"hidden", "fix", "problem.yml", "statement.md", "tests.json"})


@dataclass(frozen=True)
class Restored:
    """A problem that came back, its environment, and its base tree where that is in the suite's folder."""

    problem: Problem
    environment: LockedEnvironment
    base: Tree | None


def extras(suite: Suite, problem: Problem, base: Tree, patch: str, test_patch: str) -> dict[str, str]:
    """Return the ``codegate_*`` fields of ``problem``, whose row has the two patches."""
    environment = suite.locked(problem.environment.id)
    trees = {
        "fix": _beyond(base, problem.fix, patch),
        "hidden": _beyond(base, problem.hidden, test_patch),
    }
    found: dict[str, Any] = {
        "suite": {
            "schema": suite.manifest.suite_schema,
            "name": suite.name,
            "canary": suite.manifest.canary,
            "scanned": suite.manifest.scanned,
        },
        "problem": problem.manifest.model_dump(mode="json", by_alias=True),
        "tests": problem.tests.model_dump(mode="json"),
        "environment": {
            "manifest": environment.manifest.model_dump(mode="json"),
            "lock": environment.lock,
            "packages": dict(environment.packages),
        },
        "trees": {kind: entries for kind, entries in trees.items() if entries is not None},
        "base": None if problem.manifest.base.folder is None else {p: encode_file(file) for p, file in base.items()},
        "digest": problem.digest,
    }
    return {f"{PREFIX}{name}": json.dumps(value) for name, value in found.items()}


def _beyond(base: Tree, changes: Changes, patch: str) -> dict[str, Any] | None:
    """Return what ``patch`` does not say of ``changes``: None for nothing, else every path, `true` where it does."""
    said = patched(base, patch)
    if said is not None and said == dict(changes):
        return None
    known = said or {}
    return {
        path: True if path in known and known[path] == file else None if file is None else encode_file(file)
        for path, file in changes.items()
    }


def encode_file(file: TreeFile) -> dict[str, str]:
    """Return ``file`` as JSON data: its mode, and its content as text where it is UTF-8, else in base 64."""
    try:
        return {"mode": file.mode, "text": file.data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"mode": file.mode, "base64": base64.b64encode(file.data).decode("ascii")}


def decode_file(value: object, path: str) -> TreeFile:
    """Return the file that ``encode_file`` made ``value`` of.

    Raises:
        UsageError: it is none.
    """
    modes: dict[object, FileMode] = {"100644": "100644", "100755": "100755"}
    if isinstance(value, dict) and value.get("mode") in modes:
        text, coded = value.get("text"), value.get("base64")
        try:
            if isinstance(text, str) and coded is None:
                return TreeFile(text.encode("utf-8"), modes[value["mode"]])
            if isinstance(coded, str) and text is None:
                return TreeFile(base64.b64decode(coded, validate=True), modes[value["mode"]])
        except (UnicodeEncodeError, binascii.Error, ValueError):
            pass
    raise UsageError(f"{path[:200]!a} is no file with `mode`, and `text` or `base64`.")


def of_codegate(row: Mapping[str, Any]) -> bool:
    """Return whether ``row`` was exported by codegate."""
    return f"{PREFIX}problem" in row


def base_of(row: Mapping[str, Any]) -> tuple[str | None, Tree | None]:
    """Return the base commit of an exported row, or the base tree that is in the row.

    Raises:
        UsageError: the row is not as it was exported.
    """
    manifest = check_model(_field(row, "problem"), ProblemManifest, f"{PREFIX}problem")
    entries = _field(row, "base")
    if manifest.base.folder is None:
        return manifest.base.commit, None
    if not isinstance(entries, dict):
        raise UsageError(f"{PREFIX}base: the base tree is missing.")
    tree = Tree({path: decode_file(value, path) for path, value in entries.items()})
    return None, Tree({path: TreeFile(file.data) for path, file in tree.items()})


def restore(row: Mapping[str, Any], base: Tree) -> Restored:
    """Return the problem that ``row`` was exported from, on its base tree.

    Raises:
        UsageError: the row is not as it was exported; says which field.
    """
    manifest = check_model(_field(row, "problem"), ProblemManifest, f"{PREFIX}problem")
    tests = check_model(_field(row, "tests"), TestSets, f"{PREFIX}tests")
    environment = _environment(row)
    if manifest.environment != environment.manifest.id:
        raise UsageError(f"{PREFIX}environment: it is {environment.manifest.id!r}, not {manifest.environment!r}.")
    statement = row.get("problem_statement")
    if not isinstance(statement, str) or _digest(statement) != manifest.statement.sha256:
        raise UsageError(f"problem_statement: it is not the one that {PREFIX}problem was exported with.")
    folder = manifest.base.folder
    if folder is not None and not _is_free(folder, manifest.id):
        raise UsageError(f"{PREFIX}problem: base.folder: {folder!r} is a place of the suite's own files.")
    trees = _field(row, "trees")
    if not isinstance(trees, dict):
        raise UsageError(f"{PREFIX}trees: it is no JSON object.")
    changes = {kind: _changes(base, row, kind, trees.get(kind)) for kind in _PATCHES}
    for path in manifest.test_files:
        if changes["hidden"].get(path) is None:
            raise UsageError(f"{PREFIX}problem: test_files: {path!a} is not in test_patch.")
    base_digest = base.digest() if folder is not None else None
    problem = make_problem(
        manifest, statement, tests, changes["hidden"], changes["fix"], environment.manifest, base_digest
    )
    if problem.digest != _field(row, "digest"):
        raise UsageError(f"{PREFIX}digest: the row is not as it was exported.")
    return Restored(problem, environment, base if folder is not None else None)


def suite_facts(row: Mapping[str, Any]) -> SuiteManifest | None:
    """Return the name, canary and last scanned commit of the suite that ``row`` was exported from.

    As a manifest without environments and problems; None where the row does not say them.
    """
    try:
        facts = _field(row, "suite")
        whole = {**facts, "environments": (), "problems": ()} if isinstance(facts, dict) else None
        return check_model(whole, SuiteManifest, f"{PREFIX}suite")
    except UsageError:
        return None


def _is_free(folder: str, problem: str) -> bool:
    first, _, rest = folder.partition("/")
    if first != "problems":
        return first not in _RESERVED
    parts = rest.split("/")
    return len(parts) > 1 and parts[0] == problem and parts[1] not in _OF_PROBLEMS


def _environment(row: Mapping[str, Any]) -> LockedEnvironment:
    place = f"{PREFIX}environment"
    data = _field(row, "environment")
    if (
        not isinstance(data, dict)
        or not isinstance(data.get("lock"), str)
        or not isinstance(data.get("packages"), dict)
    ):
        raise UsageError(f"{place}: it has no `manifest`, `lock` and `packages`.")
    manifest = check_model(data.get("manifest"), EnvironmentManifest, place)
    texts = {manifest.lock: (data["lock"], manifest.lock_sha256)}
    for entry in manifest.packages:
        texts[entry.path] = (data["packages"].get(entry.path.rpartition("/")[2]), entry.sha256)
    for path, (text, expected) in texts.items():
        if not path.startswith(f"environments/{manifest.id}/"):
            raise UsageError(f"{place}: {path!a} is not in environments/{manifest.id}.")
        if not isinstance(text, str) or _digest(text) != expected:
            raise UsageError(f"{place}: {path!a} is not what its sha256 says.")
    packages = {path.rpartition("/")[2]: text for path, (text, _) in texts.items() if path != manifest.lock}
    return LockedEnvironment(manifest, data["lock"], packages)


def _changes(base: Tree, row: Mapping[str, Any], kind: str, entries: object) -> dict[str, TreeFile | None]:
    field = _PATCHES[kind]
    patch = row.get(field)
    if not isinstance(patch, str):
        raise UsageError(f"{field}: it is no text.")
    needed = entries is None or (isinstance(entries, dict) and True in entries.values())
    said = patched(base, patch) if needed else {}
    if said is None:
        raise UsageError(f"{field}: it does not apply to the base tree.")
    if entries is None:
        return said
    if not isinstance(entries, dict):
        raise UsageError(f"{PREFIX}trees: {kind}: it is no JSON object.")
    changes: dict[str, TreeFile | None] = {}
    for path, value in entries.items():
        if value is True and path not in said:
            raise UsageError(f"{PREFIX}trees: {kind}: {field} does not change {path[:200]!a}.")
        changes[path] = said[path] if value is True else None if value is None else decode_file(value, path)
    base.overlay(changes)  # refuses paths that are not plain
    return changes


def _field(row: Mapping[str, Any], name: str) -> Any:
    text = row.get(f"{PREFIX}{name}")
    if not isinstance(text, str):
        raise UsageError(f"{PREFIX}{name}: it is no text.")
    return parse_json(text, f"{PREFIX}{name}")


def _digest(text: str) -> str:
    """Return the SHA-256 of ``text``; of one that is no Unicode, that of nothing else."""
    return sha256(text.encode("utf-8", "surrogatepass"))
