"""HumanEval and MBPP tasks as problems.

The base tree is a module whose function has no body; the fix writes the body. Fields (openai/human-eval,
``HumanEval.jsonl``): ``task_id``, ``prompt`` (source up to the body to write), ``canonical_solution`` (that body),
``test`` (source that defines ``check(candidate)``), ``entry_point``. Fields (google-research, ``mbpp.jsonl`` and
``sanitized-mbpp.json``): ``task_id``, ``text`` or ``prompt``, ``code``, ``test_list`` (assertions), ``test_imports`` or
``test_setup_code``; MBPP+ (evalplus/mbppplus) adds ``test``, source that compares many results.
"""

import ast
import keyword
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import AliasChoices, Field, StringConstraints

from codegate.durable import sha256
from codegate.errors import UsageError
from codegate.strict import Lenient
from codegate.suite.exchange.swebench import usable_id
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


class _HumanEvalRow(Lenient):
    task_id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    prompt: Source
    canonical_solution: Source
    test: Source
    entry_point: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]


class _MbppRow(Lenient):
    task_id: int
    text: Source = Field(validation_alias=AliasChoices("text", "prompt"))
    code: Source
    test_list: tuple[Source, ...] = Field(min_length=1, max_length=100)
    test_imports: tuple[Source, ...] = ()
    test_setup_code: Annotated[str, StringConstraints(max_length=MAX_SOURCE)] = ""
    test: Source = "pass"


@dataclass(frozen=True)
class _Task:
    """A module to complete, and its hidden test module.

    ``stub`` is the module without the function's body, ``solution`` the module with it; ``tests`` are the names of the
    hidden tests.
    """

    id: str
    title: str
    benchmark: str
    stub: str
    solution: str
    test: str
    tests: tuple[str, ...]
    statement: str


def task_problem(
    row: Mapping[str, object], place: str, environment: EnvironmentManifest
) -> tuple[str, tuple[Problem, Tree]]:
    """Return a task's problem id, problem and base tree.

    ``place`` names the row in messages. The hidden tests have copies of the prompt's helper functions and imports; they
    import only the function to write.

    Raises:
        UsageError: the row is neither a HumanEval nor an MBPP task; the message names the wrong fields.
    """
    return _problem(_mbpp(row, place) if "test_list" in row else _humaneval(row, place), environment)


def _humaneval(row: Mapping[str, object], place: str) -> _Task:
    task = check_model(row, _HumanEvalRow, place)
    if keyword.iskeyword(task.entry_point):
        raise UsageError(f"entry_point: {task.entry_point!r} cannot be a function's name.")
    prompt = task.prompt if task.prompt.endswith("\n") else f"{task.prompt}\n"
    indent = _INDENT.search(task.canonical_solution)
    stub = f"{prompt}{indent[1] if indent else '    '}pass\n"
    solution = task.canonical_solution if task.canonical_solution.endswith("\n") else f"{task.canonical_solution}\n"
    test = (
        f"{stub}\n\nfrom solution import {task.entry_point}\n\n{task.test.strip()}\n\n\n"
        f"def test_{task.entry_point}():\n    check({task.entry_point})\n"
    )
    statement = (
        f"Write the function `{task.entry_point}` in `{MODULE}`: its body is missing. "
        f"What it must do is in its docstring.\n\n```python\n{prompt.strip()}\n```\n"
    )
    name = usable_id(task.task_id)
    tests = (f"test_{task.entry_point}",)
    return _Task(name, task.task_id, "humaneval", stub, prompt + solution, test, tests, statement)


def _mbpp(row: Mapping[str, object], place: str) -> _Task:
    task = check_model(row, _MbppRow, place)
    try:
        body = ast.parse(task.code).body
        for one in (*task.test_list, *task.test_imports, task.test_setup_code):
            ast.parse(one)
        plus = ast.unparse(ast.parse(task.test))  # each string is on one line now, so the code can be indented
    except (SyntaxError, ValueError, MemoryError) as error:
        raise UsageError(f"the task is no Python: {error}.") from error
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    called = [name for name in re.findall(r"\b(\w+)\s*\(", task.test_list[0]) if name in functions]
    if not called:
        raise UsageError("its first test calls no function of `code`.")
    entry = functions[called[0]]
    entry.body, entry.decorator_list = [*ast.parse(f"{task.text!r}\nraise NotImplementedError").body], []
    stub = f"{ast.unparse(entry)}\n"
    bodies = {f"test_{number}": one.strip() for number, one in enumerate(task.test_list, start=1)}
    bodies |= {"test_plus": plus} if "test" in task.model_fields_set else {}
    written = (f"def {test}():\n{textwrap.indent(one, '    ')}\n" for test, one in bodies.items())
    head = "\n".join((*task.test_imports, task.test_setup_code, f"from solution import {entry.name}"))
    statement = (
        f"{task.text.strip()}\n\nIt is the function `{entry.name}` in `{MODULE}`, whose body is missing. For example:"
        "\n\n"
        f"```python\n{task.test_list[0].strip()}\n```\n"
    )
    solution = f"{task.code.rstrip()}\n".replace("\r\n", "\n")
    title, name = f"MBPP/{task.task_id}", f"mbpp-{task.task_id}"
    return _Task(name, title, "mbpp", stub, solution, "\n\n\n".join((head.strip(), *written)), tuple(bodies), statement)


def _problem(task: _Task, environment: EnvironmentManifest) -> tuple[str, tuple[Problem, Tree]]:
    base = Tree({MODULE: TreeFile(task.stub.encode("utf-8"))})
    manifest = ProblemManifest(
        id=task.id,
        base=Base(folder=f"bases/{task.id}"),
        environment=environment.id,
        python_path=("",),
        test_files=(TEST,),
        statement=Statement(mode="imported", sha256=sha256(task.statement.encode("utf-8"))),
        limits=_LIMITS,
        tags={"benchmark": task.benchmark},
        provenance=Provenance(kind="imported", title=task.title, upstream=task.title),
    )
    problem = make_problem(
        manifest,
        task.statement,
        TestSets(FAIL_TO_PASS=tuple(f"{TEST}::{test}" for test in task.tests)),
        {TEST: TreeFile(task.test.encode("utf-8"))},
        {MODULE: TreeFile(task.solution.encode("utf-8"))},
        environment,
        base.digest(),
    )
    return task.id, (problem, base)
