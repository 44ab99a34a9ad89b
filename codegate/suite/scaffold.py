"""A new problem by hand: files that are a valid problem from the start, to be filled with the real one."""

import re

from codegate.durable import sha256
from codegate.errors import UsageError
from codegate.suite.loaded import Problem, Suite
from codegate.suite.model import Base, ProblemManifest, Provenance, Statement, TestSets
from codegate.suite.store import make_problem, write_suite
from codegate.suite.tree import Tree, TreeFile


def add_problem(suite: Suite, name: str, title: str = "", statement: str = "") -> Suite:
    """Write a problem to fill in, in the suite's first environment, and return the suite anew.

    Its base tree is ``bases/NAME``; ``title`` and ``statement`` stand in for ours.

    Raises:
        UsageError: the suite has a problem of that name or no environment, or it is no name for one.
    """
    if name in suite.manifest.problems:
        raise UsageError(f"suite {suite.name} has a problem {name} already.", "Choose another name.")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,59}", name):
        raise UsageError(f"{name[:100]!r} is no name for a problem.", "Use letters, digits and dashes; at most 60.")
    if not suite.manifest.environments:
        raise UsageError(f"suite {suite.name} has no environment.", "Mine it, or copy one of another suite.")
    base, problem = _problem(suite, name, title, statement)
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


def _problem(suite: Suite, name: str, title: str, statement: str) -> tuple[Tree, Problem]:
    module = name.lower().replace("-", "_")
    test = f"tests/test_{module}.py"
    text = statement.strip() or (
        f"`double(n)` in `{module}.py` returns `n` itself. It has to return twice `n`, for negative numbers too."
    )
    base = Tree({f"{module}.py": TreeFile(b"def double(n):\n    return n\n")})
    environment = suite.manifest.environments[0]
    manifest = ProblemManifest(
        id=name,
        base=Base(folder=f"bases/{name}"),
        environment=environment.id,
        python_path=("",),
        test_files=(test,),
        statement=Statement(mode="handwritten", sha256=sha256(f"{text}\n".encode())),
        kind="bugfix",
        tags={"category": "new"},
        provenance=Provenance(kind="handwritten", title=title[:500] or name.replace("-", " ").capitalize()),
    )
    hidden = (
        f"from {module} import double\n\n\ndef test_double():\n    assert double(3) == 6\n    assert double(-1) == -2\n"
    )
    tests = TestSets(FAIL_TO_PASS=(f"{test}::test_double",))
    problem = make_problem(
        manifest,
        f"{text}\n",
        tests,
        {test: TreeFile(hidden.encode())},
        {f"{module}.py": TreeFile(b"def double(n):\n    return 2 * n\n")},
        environment,
        base.digest(),
    )
    return base, problem
