"""A problem and a suite with everything that a store has to keep."""

from pathlib import Path

from codegate.suite import (
    Base,
    Changes,
    EnvironmentManifest,
    Problem,
    Provenance,
    Suite,
    TestSets,
    TreeFile,
    write_suite,
)
from tests.kit import problem as kit

ENVIRONMENT = kit.environment_with("pytest==8.3.0\n")
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
    environment: EnvironmentManifest = ENVIRONMENT.manifest,
    **changes: object,
) -> Problem:
    """A problem that is in order, but for what ``changes`` says about its manifest."""
    return kit.problem(
        name,
        environment,
        hidden=hidden,
        fix=fix,
        wanted=tests.FAIL_TO_PASS,
        known=tests.PASS_TO_PASS,
        new=tests.NONE_TO_PASS,
        base=base or Base(commit="a" * 40),
        base_digest=base_digest,
        statement=statement,
        **{
            "test_files": ("tests/test_add.py",),
            "public_tests": ("tests/test_public.py",),
            "provenance": Provenance(kind="handwritten", title="no: 1.10 # not a comment"),
            "tags": {"area": "no", "size": "1.10"},
            **changes,
        },
    )


def suite(folder: Path, *problems: Problem, repository: str | None = None) -> Suite:
    """Write a suite of ``problems``, or of one."""
    return write_suite(
        folder, name="demo", repository=repository, environments=[ENVIRONMENT],
        problems=problems or (problem(),),
    )  # fmt: skip
