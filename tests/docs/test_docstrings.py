"""The first line of a docstring says what it is about in at most ten words."""

import ast
from collections.abc import Iterator
from pathlib import Path

PRODUCT = Path(__file__).parents[2] / "codegate"
MOST = 10
#: The text of these programs is part of a candidate's version; another one would make pinned baselines incomparable.
PROGRAMS = {"langgraph_program.py", "openai_agents_program.py"}
#: The description of a tool, which models read.
TOOL = "toolbox.py: Search"


def first_lines() -> Iterator[tuple[str, str]]:
    """Yield each first line with its file and name."""
    for path in (each for each in PRODUCT.rglob("*.py") if each.name not in PROGRAMS):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield f"{path.name}: {getattr(node, 'name', 'module')}", text.splitlines()[0]


def test_first_lines_are_short() -> None:
    long = {name: line for name, line in first_lines() if len(line.split()) > MOST and name != TOOL}
    assert long == {}
