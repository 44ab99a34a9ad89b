"""Shorter examples: what can go from the code of one without another result, by trying it out.

A test's code has more than its bug needs: options, files that are written twice, contexts. Each statement and each
option is left out in turn, on both trees; what made no difference goes together, and the rest is tried once more.
"""

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from codegate.mining.probes.example import Example

_MAX_PARTS: Final = 16
_MAX_LINE: Final = 88
_MAX_INLINED: Final = 40

Part = ast.stmt | ast.keyword
Rerun = Callable[[Sequence[Example]], dict[int, Example]]


def shortest(
    examples: Sequence[Example], clearest: Sequence[int], is_own: Callable[[int, Example], bool], again: Rerun
) -> dict[int, Example]:
    """Return the examples that give the same again, by their place; the clearest as short as can be.

    Args:
        examples: as the probes saw them.
        clearest: the places of those that are made shorter.
        is_own: returns whether an example in this place still has values that its test does not have.
        again: runs the code of examples, and returns those that gave the same, by their place.
    """
    tried = [(place, number) for place in clearest for number, _ in _parts(examples[place])[:_MAX_PARTS]]
    shorter = [_without(examples[place], [number]) for place, number in tried]
    # What goes on for ever without a part takes all results with it.
    found = again([*examples, *shorter]) or (again(examples) if tried else {})
    idle = {each for at, each in enumerate(tried) if found.get(len(examples) + at) == shorter[at]}
    found = {place: example for place, example in found.items() if place < len(examples)}
    candidates: list[tuple[int, Example]] = []
    for place in filter(found.__contains__, clearest):
        short = _without(found[place], [number for other, number in idle if other == place])
        candidates += [(place, each) for each in (_inlined(short), _inlined(found[place])) if is_own(place, each)]
    kept = again([example for _, example in candidates])
    for at, (place, example) in reversed(list(enumerate(candidates))):
        if kept.get(at) == example:
            found[place] = example
    return found


def _without(example: Example, left_out: Collection[int]) -> Example:
    """Return the example without some of its parts, and without the imports and fixtures that nothing uses then."""
    body, tail = _parsed(example)
    gone = {id(part) for number, part in _numbered(body) if number in left_out}
    _Without(gone).generic_visit(body)
    return _written(example, body, tail)


def _inlined(example: Example) -> Example:
    """Return the example with short values in place of names that stand for them once, in the next statement."""
    body, tail = _parsed(example)
    statements = [*body.body, *tail]
    at = 0
    while at + 1 < len(statements):
        merged = _merged(statements[at], statements[at + 1], statements[at + 2 :])
        if merged is not None and statements[at + 1] in tail:
            tail[tail.index(statements[at + 1])] = merged
        if merged is None:
            at += 1
            continue
        statements[at : at + 2] = [merged]
        at = max(0, at - 1)
    code = ast.Module([each for each in statements if each not in tail], [])
    return _written(example, code, tail)


def _parsed(example: Example) -> tuple[ast.Module, list[ast.stmt]]:
    """Return the code, and the expressions whose values are shown."""
    shown = [example.expression, *(text for text, _, _ in example.also)] if example.expression else []
    return ast.parse(example.code), [ast.parse(text).body[0] for text in shown]


def _parts(example: Example) -> list[tuple[int, Part]]:
    return list(_numbered(_parsed(example)[0]))


def _numbered(body: ast.Module) -> Iterator[tuple[int, Part]]:
    """Yield what can be left out of the code, numbered: statements but imports, and options of calls."""
    found = (
        node for node in ast.walk(body)
        if (isinstance(node, ast.stmt) and not isinstance(node, ast.Import | ast.ImportFrom))
        or (isinstance(node, ast.keyword) and node.arg)
    )  # fmt: skip
    yield from enumerate(found)


class _Without(ast.NodeTransformer):
    """Leaves parts out; a ``with`` or an ``if`` leaves its body behind."""

    def __init__(self, gone: Collection[int]) -> None:
        self._gone = gone

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt] | None:
        """Return what is left of the node."""
        self.generic_visit(node)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.body = node.body or [ast.Pass()]
        if isinstance(node, ast.stmt) and getattr(node, "body", [node]) == []:
            return None
        if id(node) not in self._gone:
            return node
        return list(node.body) if isinstance(node, ast.With | ast.If) else None


def _merged(first: ast.stmt, second: ast.stmt, rest: list[ast.stmt]) -> ast.stmt | None:
    """Return the second statement with the value that the first assigns; None where that may not be, or is long."""
    if not (isinstance(first, ast.Assign) and len(first.targets) == 1 and isinstance(first.targets[0], ast.Name)):
        return None
    if not isinstance(second, ast.Assign | ast.Expr):
        return None
    name = first.targets[0].id
    uses = [
        node for each in (second, *rest) for node in ast.walk(each) if isinstance(node, ast.Name) and node.id == name
    ]
    own = [node for node in ast.walk(second.value) if isinstance(node, ast.Name) and node.id == name]
    if len(uses) != 1 or uses != own or len(ast.unparse(first.value)) > _MAX_INLINED:
        return None
    merged = copy.deepcopy(second)
    merged.value = _InPlace(name, first.value).visit(merged.value)
    return merged if len(ast.unparse(merged)) <= _MAX_LINE else None


class _InPlace(ast.NodeTransformer):
    """Puts a value in place of a name."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self._name, self._value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the value, or another name."""
        return self._value if node.id == self._name else node


def _written(example: Example, body: ast.Module, tail: list[ast.stmt]) -> Example:
    """Return the example with other code, without imports and fixtures that nothing uses."""
    used = {node.id for each in (body, *tail) for node in ast.walk(each) if isinstance(node, ast.Name)}
    kept: list[ast.stmt] = []
    for node in body.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [each for each in node.names if (each.asname or each.name.partition(".")[0]) in used]
            if not node.names:
                continue
        kept.append(node)
    code = ast.unparse(ast.fix_missing_locations(ast.Module(kept, [])))
    texts = [ast.unparse(each) for each in tail]
    also = tuple((text, old, new) for text, (_, old, new) in zip(texts[1:], example.also, strict=True))
    fixtures = tuple(name for name in example.fixtures if name in used)
    return replace(example, code=code, expression=texts[0] if texts else "", also=also, fixtures=fixtures)
