"""Edit a suite by hand: add problems, drop others."""

import re
from collections.abc import Collection
from dataclasses import replace
from datetime import date

from codegate.durable import sha256
from codegate.errors import UsageError
from codegate.suite import (
    Base,
    Problem,
    ProblemManifest,
    Provenance,
    Quarantine,
    Statement,
    Suite,
    TestSets,
    Tree,
    TreeFile,
    make_problem,
    update_problem,
    write_suite,
)
from codegate.suite.loaded import DROPPED, DROPPED_BEFORE


def add_problem(suite: Suite, name: str) -> Suite:
    """Add an example problem to be edited; return the suite.

    The problem uses the suite's first environment, and its base tree is ``bases/NAME``.
    """
    if name in suite.manifest.problems:
        raise UsageError(f"suite {suite.name} has a problem {name} already.", "Choose another name.")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,59}", name):
        raise UsageError(f"{name[:100]!r} is no name for a problem.", "Use letters, digits and dashes; at most 60.")
    if not suite.manifest.environments:
        raise UsageError(f"suite {suite.name} has no environment.", "Mine it, or copy one of another suite.")
    base, problem = _problem(suite, name)
    return write_suite(
        suite.folder,
        name=suite.name,
        repository=suite.manifest.repository,
        environments=[*suite.environments.values()],
        problems=[*suite.problems, problem],
        scanned=suite.manifest.scanned,
        canary=suite.manifest.canary,
        pooled_canaries=suite.manifest.pooled_canaries,
        bases={f"bases/{name}": base},
    )


def _problem(suite: Suite, name: str) -> tuple[Tree, Problem]:
    module = name.lower().replace("-", "_")
    test = f"tests/test_{module}.py"
    text = f"`double(n)` in `{module}.py` returns `n` itself. It has to return twice `n`, for negative numbers too.\n"
    base = Tree({f"{module}.py": TreeFile(b"def double(n):\n    return n\n")})
    environment = suite.manifest.environments[0]
    manifest = ProblemManifest(
        id=name,
        base=Base(folder=f"bases/{name}"),
        environment=environment.id,
        python_path=("",),
        test_files=(test,),
        statement=Statement(mode="handwritten", sha256=sha256(text.encode())),
        kind="bugfix",
        tags={"category": "new"},
        provenance=Provenance(kind="handwritten", title=name.replace("-", " ").capitalize()),
    )
    hidden = (
        f"from {module} import double\n\n\ndef test_double():\n    assert double(3) == 6\n    assert double(-1) == -2\n"
    )
    tests = TestSets(FAIL_TO_PASS=(f"{test}::test_double",))
    problem = make_problem(
        manifest,
        text,
        tests,
        {test: TreeFile(hidden.encode())},
        {f"{module}.py": TreeFile(b"def double(n):\n    return 2 * n\n")},
        environment,
        base.digest(),
    )
    return base, problem


def review_suite(suite: Suite, drop: Collection[str] = (), keep: Collection[str] = ()) -> Suite:
    """Record which problems a maintainer drops or keeps.

    ``drop`` and ``keep`` are problem ids. A dropped problem is ``retired``. It stays in the suite, but runs and
    ``validate`` leave it out. Mining gives its commit and its id to no other problem. The problem's quarantine is kept,
    because a later ``keep`` can undo the drop.
    """
    place = suite.folder / "suite.yml"
    problems = {problem.id: problem for problem in suite.problems}
    if unknown := [name for name in (*drop, *keep) if name not in problems]:
        raise UsageError(f"{place} has no problem {', '.join(unknown)}.")
    if both := [name for name in drop if name in keep]:
        raise UsageError(f"{', '.join(both)}: both dropped and kept.", "Give each problem one decision.")
    decided = [problems[name] for name in dict.fromkeys((*drop, *keep))]
    for problem in decided:
        quarantine = problem.manifest.quarantine
        if problem.manifest.status == "retired" and quarantine is not None and not problem.dropped:
            raise UsageError(
                f"problem {problem.id} was retired by mining: {quarantine.evidence}",
                "A review decides about the others.",
            )
    for problem in decided:
        if (problem.id in drop) != problem.dropped:
            suite = update_problem(suite, _restored(problem) if problem.dropped else _dropped(problem))
    return suite


def _dropped(problem: Problem) -> Problem:
    before = problem.manifest.quarantine
    if before is None:
        return _with(problem, "retired", Quarantine(reason="manual", evidence=DROPPED, expires=date.max))
    evidence = f"{DROPPED_BEFORE}{before.evidence}"[:2000]
    return _with(problem, "retired", before.model_copy(update={"evidence": evidence}))


def _restored(problem: Problem) -> Problem:
    dropped = problem.manifest.quarantine
    if dropped is None or dropped.evidence == DROPPED:
        return _with(problem, "active", None)
    evidence = dropped.evidence.removeprefix(DROPPED_BEFORE)
    return _with(problem, "quarantined", dropped.model_copy(update={"evidence": evidence}))


def _with(problem: Problem, status: str, quarantine: Quarantine | None) -> Problem:
    changed = {**problem.manifest.model_dump(by_alias=True), "status": status, "quarantine": quarantine}
    return replace(problem, manifest=ProblemManifest.model_validate(changed))
