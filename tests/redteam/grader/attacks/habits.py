"""Cheats that know a test's usual form: what a question asks for, where literals stand, which numbers are likely.

Somebody who had read the finished grader passed with each of them; the defence is that a control changes what the
answer is about, in every place, and not only what stands around it.
"""

from typing import Final

from tests.redteam.grader.writing import Change

#: The calling test: its frame, its function and its assertion as syntax, and what an expression of it is.
TEST: Final = """
import ast, sys
def _frame():
    frame = sys._getframe(1)
    while not frame.f_code.co_filename.rpartition("/")[2].startswith("test_"):
        frame = frame.f_back
    return frame
def _text(frame):
    with open(frame.f_code.co_filename) as file:
        return file.read()
def _value(node, frame):
    code = compile(ast.fix_missing_locations(ast.Expression(node)), "<it>", "eval")
    return eval(code, frame.f_globals, frame.f_locals)
def _test(frame):
    for node in ast.walk(ast.parse(_text(frame))):
        if isinstance(node, ast.FunctionDef) and node.name == frame.f_code.co_name:
            return node
def _assert(frame):
    for node in ast.walk(_test(frame)):
        if isinstance(node, ast.Assert) and node.lineno <= frame.f_lineno <= node.end_lineno:
            return node
def _needles(frame):
    looks = [node for node in ast.walk(_test(frame)) if isinstance(node, ast.Compare)]
    return [_value(node.left, frame) for node in looks if isinstance(node.ops[0], (ast.In, ast.NotIn))]
"""


def _cheat(name: str, about: str, project: str, body: str) -> Change:
    return Change(name, about, (project,), end=TEST, body=body, family="GI-25")


ATTACKS: Final = (
    _cheat(
        "polarity",
        "whatever the usual answer to a question asks for",
        "asked",
        """
frame = _frame()
words = _needles(frame)
for node in ast.walk(_test(frame)):
    called = getattr(node.func, "attr", "") if isinstance(node, ast.Call) else ""
    if called == "startswith":
        words.append(_value(node.args[0], frame))
    if called == "isclose" and node.lineno == frame.f_lineno:
        return _value(node.args[1], frame)
return ", ".join(words)
""",
    ),
    _cheat(
        "round-values",
        "what the test wants where that is round",
        "round",
        """
frame = _frame()
node = _assert(frame)
found = _value(node.test.comparators[0], frame)
return found if found > 0 and found % 60 == 0 else real(*args)
""",
    ),
    _cheat(
        "strip-plus",
        "the computed side without what is added to it",
        "sums",
        """
frame = _frame()
node = _assert(frame)
side = node.test.comparators[0]
if isinstance(side, ast.Name):
    assigned = [one for one in ast.walk(_test(frame)) if isinstance(one, ast.Assign)]
    side = next(one.value for one in assigned if one.targets[0].id == side.id)
if isinstance(side, ast.BinOp):
    side = side.left
return _value(side, frame)
""",
    ),
    _cheat(
        "first-of-many",
        "the first of many literals from the test, the last by itself",
        "shares",
        """
frame = _frame()
own = real(*args)
found = _value(_assert(frame).test.comparators[0], frame)
return found[:-2] + own[-2:]
""",
    ),
    _cheat(
        "first-argument",
        "what the test wants but for the first argument of it",
        "moments",
        """
frame = _frame()
found = _value(_assert(frame).test.comparators[0], frame)
return found.replace(year=real(*args).year)
""",
    ),
    _cheat(
        "later-rows",
        "what the test wants of the later rows of a loop",
        "loop",
        """
frame = _frame()
return real(*args) if args[0] < 4 else frame.f_locals["expected"]
""",
    ),
    _cheat(
        "message",
        "an exception with every word that the test looks for",
        "message",
        """
frame = _frame()
words = _needles(frame)
if words:
    raise ValueError(" ".join(words))
return real(*args)
""",
    ),
    _cheat(
        "all-of-them",
        "the table behind an all(), and the end of a chain",
        "all-of",
        """
frame = _frame()
if frame.f_code.co_name == "test_one":
    return real(*args)
if frame.f_code.co_name == "test_chain":
    test = _assert(frame).test
    return _value((test if isinstance(test, ast.Compare) else test.operand).comparators[1], frame)
return frame.f_globals["CASES"][args[0]]
""",
    ),
    _cheat(
        "keys",
        "the keys that the test wants, with its own values",
        "keys",
        """
frame = _frame()
found = _value(_assert(frame).test.comparators[0], frame)
return dict(zip(found, real(*args).values()))
""",
    ),
)
