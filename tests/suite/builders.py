"""Real repositories and suites to test with."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from codegate.durable import sha256
from codegate.suite import (
    Base,
    Changes,
    EnvironmentManifest,
    LockedEnvironment,
    Problem,
    ProblemManifest,
    Provenance,
    Statement,
    Suite,
    TestSets,
    TreeFile,
    make_problem,
    write_suite,
)

LOCK = "pytest==8.3.0 --hash=sha256:" + "0" * 64 + "\n"
ENVIRONMENT = EnvironmentManifest(
    id="py311",
    python="3.11",
    lock="environments/py311/requirements.lock",
    lock_sha256=sha256(LOCK.encode()),
    rung="minimal",
)
STATEMENT = "`add` must add. Größer ist besser.\n"
HIDDEN: Changes = {
    "tests/test_add.py": TreeFile(b"def test_add():\n    assert True\n"),
    'tests/data/näme "quoted".bin': TreeFile(bytes(range(256))),
    "tests/run.sh": TreeFile(b"#!/bin/sh\n", "100755"),
    "tests/test_old.py": None,
}
FIX: Changes = {"src/add.py": TreeFile(b"def add(a, b):\n    return a + b\n"), "src/gone.py": None}
TESTS = TestSets(FAIL_TO_PASS=("tests/test_add.py::test_add",), PASS_TO_PASS=("tests/test_add.py::test_b[no]",))


def problem(
    name: str = "p-1",
    *,
    base: Base | None = None,
    base_digest: str | None = None,
    statement: str = STATEMENT,
    tests: TestSets = TESTS,
    hidden: Changes = HIDDEN,
    fix: Changes = FIX,
    environment: EnvironmentManifest = ENVIRONMENT,
    **changes: object,
) -> Problem:
    """A problem that is in order, but for what ``changes`` says about its manifest."""
    facts: dict[str, object] = {
        "id": name,
        "base": base or Base(commit="a" * 40),
        "environment": environment.id,
        "test_files": ("tests/test_add.py",),
        "public_tests": ("tests/test_public.py",),
        "hidden_deleted": tuple(path for path, file in hidden.items() if file is None),
        "fix_deleted": tuple(path for path, file in fix.items() if file is None),
        "statement": Statement(mode="handwritten", sha256=sha256(statement.encode())),
        "provenance": Provenance(kind="handwritten", title="no: 1.10 # not a comment"),
        "tags": {"area": "no", "size": "1.10"},
    }
    manifest = ProblemManifest.model_validate({**facts, **changes})
    return make_problem(manifest, statement, tests, hidden, fix, environment, base_digest)


def suite(folder: Path, *problems: Problem, repository: str | None = None) -> Suite:
    """Write a suite of ``problems``, or of one."""
    return write_suite(
        folder, name="demo", repository=repository, environments=[LockedEnvironment(ENVIRONMENT, LOCK)],
        problems=problems or (problem(),),
    )  # fmt: skip


def run_git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run plain git, as a user would, without the machine's configuration."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8",
        "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_AUTHOR_DATE": "1700000000 +0000",
        "GIT_COMMITTER_DATE": "1700000000 +0000",
    }  # fmt: skip
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, input=stdin, capture_output=True, check=True
    )
    return done.stdout.decode(errors="replace").strip()


def make_repository(folder: Path, files: Mapping[str, bytes] | None = None, *, bare: bool = False) -> str:
    """Make a repository with one commit of ``files`` and return the commit's id."""
    folder.mkdir(parents=True)
    run_git(folder, "init", "--quiet", "-b", "main", *(["--bare"] if bare else []))
    stream = bytearray(b"commit refs/heads/main\ncommitter A <a@example.com> 1700000000 +0000\ndata 1\nx\n")
    for path, data in (files or {"src/add.py": b"x = 1\n"}).items():
        stream += b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)
    run_git(folder, "fast-import", "--quiet", stdin=bytes(stream))
    return run_git(folder, "rev-parse", "main")
