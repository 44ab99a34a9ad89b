"""A small project whose history fixes three bugs, and a model that knows the fixes."""

import json
from pathlib import Path

from tests.kit.repository import HistoryBuilder
from tests.kit.scripted_model import Run, Say, Turn, Use
from tests.running.world import BODIES, NAMES, answer, eval_body, source


def write_history(folder: Path) -> HistoryBuilder:
    """Three bugs, and their fixes one after the other, each with its test."""
    history = HistoryBuilder(folder)
    history.commit("begin", {
        "calc/__init__.py": "",
        **{f"calc/{name}.py": source(name, fixed=False) for name in NAMES},
        "tests/test_public.py": "from calc.half import half\n\n\ndef test_zero():\n    assert half(0) == 0\n",
    })  # fmt: skip
    for number, name in enumerate(NAMES, start=1):
        history.commit(
            f"Fix {name}: wrong results (#{number})\n\n{name}() returns a wrong number for nearly every input.\n",
            {
                f"calc/{name}.py": source(name, fixed=True),
                f"tests/test_{name}.py": f"from calc.{name} import {name}\n\n\ndef test_{name}():\n"
                f"    assert {name}(7) == {eval_body(name)}\n",
            },
        )
    return history


def knowing(turn: Turn) -> Say | Run | Use:
    """Fix the function that the statement names: in one answer, by codegate's tools or by an agent's shell."""
    text = json.dumps(turn.body)
    name = next((name for name in NAMES if f"{name}() returns a wrong number" in text), None)
    if name is None or turn.results:
        return Say("OK")
    if not turn.body.get("tools"):
        return Say(answer(name))
    if turn.shell is None:
        return Use("write_file", {"path": f"calc/{name}.py", "content": source(name, fixed=True)})
    wrong, right = BODIES[name]
    return Run(f"sed -i 's|{wrong.replace('*', '[*]')}|{right}|' calc/{name}.py")
