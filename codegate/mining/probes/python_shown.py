"""The code of examples, run as a reader is shown it: what a probe saw counts only if this gives the same.

Each runs in a process of its own: one that hangs, or that another one prepared the ground for, is none.
"""

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from codegate.mining.probes.example import Example
from codegate.mining.probes.python_probe import HELPERS
from codegate.mining.probes.records import Record

_NAME: Final = "test_codegate_shown_"
_RUN: Final = """
def {name}({arguments}):
    def test_codegate_run():
        records = []
        try:
            pass
        except Exception as error:
            records.append([0, "", _codegate_error(error)])
        return records
    _codegate_end(_codegate_apart(test_codegate_run))
"""
_APART: Final = '''
_codegate_late = []

def _codegate_apart(run):
    """Return what a function gives in a process of its own, without what others left; nothing after some seconds.

    After each that goes on for ever the next has half the time.
    """
    import json
    import os
    import select
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            with os.fdopen(writing, "w") as file:
                json.dump(run(), file)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        if not select.select([file], [], [], 3 / 2 ** len(_codegate_late))[0]:
            os.kill(child, 9)
            _codegate_late.append(run)
        text = file.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else []
'''


def shown_module(examples: Mapping[int, Example]) -> str:
    """Return a test module that runs the code of each example, by its number, and records the values that it shows.

    Those without fixtures are methods of a test case, which every runner of Python knows.
    """
    module = ast.parse(f"import unittest\n{HELPERS}{_APART}\nclass TestCodegateShown(unittest.TestCase):\n    pass\n")
    case = module.body[-1]
    assert isinstance(case, ast.ClassDef)  # noqa: S101 (as written above)
    for number, example in examples.items():
        [run] = ast.parse(_RUN.format(name=f"{_NAME}{number}", arguments=", ".join(example.fixtures) or "self")).body
        assert isinstance(run, ast.FunctionDef)  # noqa: S101 (as written above)
        inner = run.body[0]
        assert isinstance(inner, ast.FunctionDef)  # noqa: S101 (as written above)
        guarded = inner.body[1]
        assert isinstance(guarded, ast.Try)  # noqa: S101 (as written above)
        steps = [example.code]
        for line, text in enumerate([example.expression, *(text for text, _, _ in example.also)]):
            if text:
                steps.append(f"_codegate_record(records, {line}, {text!r}, lambda: {text})")
        guarded.body = ast.parse("\n".join(filter(None, steps))).body
        (module.body if example.fixtures else case.body).append(run)
    return ast.unparse(ast.fix_missing_locations(module))


def confirmed(
    number: int, example: Example, before: dict[str, list[Record]], after: dict[str, list[Record]]
) -> Example | None:
    """Return the example with what its own code gave too; None where its value was another one.

    Args:
        number: of the example in its ``shown_module``.
        example: as the probe saw it.
        before: records of the module's run before the fix, by name.
        after: records of its run after the fix.
    """
    first, last = before.get(f"{_NAME}{number}"), after.get(f"{_NAME}{number}")
    if not first or not last or (first[0][2], last[0][2]) != (example.observed, example.expected):
        return None
    also = zip(example.also, first[1:], last[1:], strict=False)
    return replace(example, also=tuple(told for told, old, new in also if told[1:] == (old[2], new[2])))
