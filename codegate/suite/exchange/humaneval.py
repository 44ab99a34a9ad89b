"""HumanEval tasks as problems: a module with the prompt, a hidden test module, the canonical solution as the fix.

Fields (openai/human-eval, ``HumanEval.jsonl``): ``task_id``, ``prompt`` (source up to the body to write),
``canonical_solution`` (that body), ``test`` (source that defines ``check(candidate)``), ``entry_point``.
"""

import keyword
import re
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, StringConstraints

from codegate.durable import sha256
from codegate.errors import UsageError
from codegate.suite.exchange.rows import Row
from codegate.suite.exchange.swebench import problem_id
from codegate.suite.loaded import Problem
from codegate.suite.model import (
    Base,
    EnvironmentManifest,
    ProblemLimits,
    ProblemManifest,
    Provenance,
    Statement,
    TestSets,
)
from codegate.suite.reader import check_model
from codegate.suite.store import make_problem
from codegate.suite.tree import Tree, TreeFile

MODULE: Final = "solution.py"
TEST: Final = "tests/test_solution.py"
MAX_SOURCE: Final = 1 << 20
_LIMITS: Final = ProblemLimits(seconds=60)
_INDENT: Final = re.compile(r"^([ \t]+)\S", re.MULTILINE)

# With a constraint, pydantic refuses lone surrogates.
Source = Annotated[str, StringConstraints(min_length=1, max_length=MAX_SOURCE)]


class _Fields(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    task_id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    prompt: Source
    canonical_solution: Source
    test: Source
    entry_point: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]


def task_problem(row: Row, environment: EnvironmentManifest) -> tuple[str, tuple[Problem, Tree]]:
    """Return the id of the problem that ``row`` is, the problem, and its base tree for ``manifest.base.folder``.

    The hidden tests do not take the task's helper functions and imports from the module that is graded: they repeat
    the prompt, and import only the entry point.

    Raises:
        UsageError: it is no HumanEval task; names the fields that are wrong.
    """
    task = check_model(row.data, _Fields, row.place)
    if keyword.iskeyword(task.entry_point):
        raise UsageError(f"entry_point: {task.entry_point!r} cannot be a function's name.")
    name = problem_id(task.task_id)
    prompt = task.prompt if task.prompt.endswith("\n") else f"{task.prompt}\n"
    indent = _INDENT.search(task.canonical_solution)
    stub = f"{prompt}{indent[1] if indent else '    '}pass\n"
    base = Tree({MODULE: TreeFile(stub.encode("utf-8"))})
    solution = task.canonical_solution if task.canonical_solution.endswith("\n") else f"{task.canonical_solution}\n"
    test = (
        f"{stub}\n\nfrom solution import {task.entry_point}\n\n{task.test.strip()}\n\n\n"
        f"def test_{task.entry_point}():\n    check({task.entry_point})\n"
    )
    statement = (
        f"Write the function `{task.entry_point}` in `{MODULE}`: its body is missing. "
        f"What it must do is in its docstring.\n\n```python\n{prompt.strip()}\n```\n"
    )
    manifest = ProblemManifest(
        id=name,
        base=Base(folder=f"bases/{name}"),
        environment=environment.id,
        python_path=("",),
        test_files=(TEST,),
        statement=Statement(mode="imported", sha256=sha256(statement.encode("utf-8"))),
        limits=_LIMITS,
        tags={"benchmark": "humaneval"},
        provenance=Provenance(kind="imported", title=task.task_id, upstream=task.task_id),
    )
    problem = make_problem(
        manifest,
        statement,
        TestSets(FAIL_TO_PASS=(f"{TEST}::test_{task.entry_point}",)),
        {TEST: TreeFile(test.encode("utf-8"))},
        {MODULE: TreeFile((prompt + solution).encode("utf-8"))},
        environment,
        base.digest(),
    )
    return name, (problem, base)
