"""A small project whose history fixes three bugs."""

from pathlib import Path

from tests.kit.repository import HistoryBuilder
from tests.running.world import NAMES, eval_body, source


def write_history(folder: Path, fixed: int = 3) -> HistoryBuilder:
    """Three bugs, and the fixes of the first ones after each other, each with its test."""
    history = HistoryBuilder(folder)
    history.commit("begin", {
        "calc/__init__.py": "",
        **{f"calc/{name}.py": source(name, fixed=False) for name in NAMES},
        "tests/test_public.py": "from calc.half import half\n\n\ndef test_zero():\n    assert half(0) == 0\n",
    })  # fmt: skip
    for number, name in enumerate(NAMES[:fixed], start=1):
        history.commit(
            f"Fix {name}: wrong results (#{number})\n\n{name}() returns a wrong number for nearly every input.\n",
            {
                f"calc/{name}.py": source(name, fixed=True),
                f"tests/test_{name}.py": f"from calc.{name} import {name}\n\n\ndef test_{name}():\n"
                f"    assert {name}(7) == {eval_body(name)}\n",
            },
        )
    return history


def add_service(history: HistoryBuilder) -> None:
    """A service in a folder of its own, with a bug and its fix."""
    folder = "services/api"
    test = "from api.triple import triple\n\n\ndef test_{0}():\n    assert triple({0}) == {1}\n"
    history.commit("Add a service", {
        f"{folder}/pyproject.toml": '[project]\nname = "api"\nversion = "1"\n',
        f"{folder}/api/__init__.py": "",
        f"{folder}/api/triple.py": "def triple(n):\n    return n + 4\n",
        f"{folder}/tests/test_2.py": test.format(2, 6),
    })  # fmt: skip
    history.commit(
        "Fix triple: wrong results (#9)\n\ntriple() returns a wrong number for nearly every input.\n",
        {
            f"{folder}/api/triple.py": "def triple(n):\n    return n * 3\n",
            f"{folder}/tests/test_7.py": test.format(7, 21),
        },
    )
