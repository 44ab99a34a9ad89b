"""Problems and suites in a few words."""

from collections.abc import Mapping, Sequence
from datetime import date

from codegate.durable import sha256
from codegate.suite import (
    Base,
    Changes,
    Environment,
    EnvironmentManifest,
    Problem,
    ProblemManifest,
    Provenance,
    Statement,
    TestSets,
    TreeFile,
    make_problem,
)

STATEMENT = "It returns a wrong number.\n"


def environment_with(
    resolved: str = "",
    name: str = "py311",
    *,
    recipe: str = "tools: {python: '3.11'}\n",
    base: Base | None = None,
    inputs: str | None = None,
) -> Environment:
    """Return an environment with these texts; with a ``base`` it is built from that, and has ``inputs``."""
    manifest = EnvironmentManifest(
        id=name,
        recipe=sha256(recipe.encode()),
        resolved=sha256(resolved.encode()),
        day=date(2026, 1, 1),
        base=base,
        inputs=inputs,
    )
    return Environment(manifest, recipe, resolved)


def changes(files: Mapping[str, str | bytes | TreeFile | None]) -> Changes:
    """Return ``files`` as a change of a tree; None deletes."""
    return {
        path: TreeFile(data.encode()) if isinstance(data, str) else TreeFile(data) if isinstance(data, bytes) else data
        for path, data in files.items()
    }


def problem(
    name: str,
    environment: EnvironmentManifest,
    *,
    hidden: Changes,
    fix: Changes,
    wanted: Sequence[str],
    known: Sequence[str] = (),
    new: Sequence[str] = (),
    base: Base | None = None,
    base_digest: str | None = None,
    statement: str = STATEMENT,
    **fields: object,
) -> Problem:
    """Return a problem written by hand.

    Args:
        name: its id.
        environment: what it runs in.
        hidden: the test files after the fix.
        fix: the source files after the fix.
        wanted: fail-to-pass tests.
        known: pass-to-pass tests.
        new: those of ``wanted`` that did not exist before the fix.
        base: its base tree; the folder ``base`` if None.
        base_digest: digest of that tree, where it is known.
        statement: what the candidate is told.
        fields: further ones of the manifest, or other values of these.
    """
    manifest: dict[str, object] = {
        "id": name,
        "base": base or Base(folder="base"),
        "environment": environment.id,
        "test_files": tuple(dict.fromkeys(test.partition("::")[0] for test in (*wanted, *known))),
        "hidden_deleted": tuple(path for path, file in hidden.items() if file is None),
        "fix_deleted": tuple(path for path, file in fix.items() if file is None),
        "statement": Statement(mode="handwritten", sha256=sha256(statement.encode())),
        "provenance": Provenance(kind="handwritten"),
    }
    return make_problem(
        ProblemManifest.model_validate(manifest | fields),
        statement,
        TestSets(FAIL_TO_PASS=tuple(wanted), PASS_TO_PASS=tuple(known), NONE_TO_PASS=tuple(new)),
        hidden,
        fix,
        environment,
        base_digest,
    )
