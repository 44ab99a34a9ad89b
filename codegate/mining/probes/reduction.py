"""Shorter examples: what can go from the code of one without another result, by trying it out.

A test's code has more than its bug needs: options, files that are written twice, contexts. Each statement and each
option is left out in turn, on both trees; what made no difference goes together, and the rest is tried again.
"""

import ast
import copy
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from codegate.mining.probes.blocks import completed, loaded
from codegate.mining.probes.example import Example

_MAX_PARTS: Final = 24
_MAX_ROUNDS: Final = 2
_MAX_LINE: Final = 88
_MAX_INLINED: Final = 40

Part = ast.stmt | ast.keyword
Rerun = Callable[[Sequence[Example]], dict[int, Example]]
"""Runs the code of examples on both trees, and returns those that gave the same, by their place."""


@dataclass(frozen=True)
class _Found:
    """The examples that gave the same again, by their place, and of some of them the parts that made no difference."""

    same: dict[int, Example]
    idle: dict[int, list[int]]


def shortest(
    examples: Sequence[Example], clearest: Collection[int], is_own: Callable[[int, Example], bool], again: Rerun
) -> dict[int, Example]:
    """Return the examples that give the same again, by their place; the clearest as short as can be.

    Args:
        examples: as the probes saw them.
        clearest: the places of those that are made shorter.
        is_own: returns whether an example in this place still has values that its test does not have.
        again: runs them.
    """
    found = _rerun(dict(enumerate(examples)), clearest, again)
    for _ in range(_MAX_ROUNDS):
        shorter = {place: _inlined(_without(found.same[place], idle)) for place, idle in found.idle.items()}
        shorter = {place: each for place, each in shorter.items() if each != found.same[place] and is_own(place, each)}
        if not shorter:
            break
        kept = _rerun(shorter, shorter, again)
        found = _Found({**found.same, **kept.same}, kept.idle)
    return found.same


def _rerun(examples: Mapping[int, Example], shortened: Collection[int], again: Rerun) -> _Found:
    """Run examples, and those that are ``shortened`` also without each of their parts."""
    places = [*examples]
    tried = [(place, number) for place in shortened for number, _ in _parts(_parsed(examples[place])[0])]
    shorter = [_without(examples[place], [number]) for place, number in tried]
    found = again([*examples.values(), *shorter])
    same = {place: found[at] for at, place in enumerate(places) if at in found}
    idle: dict[int, list[int]] = {place: [] for place in shortened if same.get(place) == examples[place]}
    for at, (place, number) in enumerate(tried):
        if place in idle and found.get(len(places) + at) == shorter[at]:
            idle[place].append(number)
    return _Found(same, idle)


def _parsed(example: Example) -> tuple[ast.Module, list[ast.stmt]]:
    """Return the code, and the expressions whose values are shown."""
    shown = [example.expression, *(text for text, _, _ in example.also)] if example.expression else []
    return ast.parse(example.code), [ast.parse(text).body[0] for text in shown]


def _parts(body: ast.Module) -> Iterator[tuple[int, Part]]:
    """Yield what may be left out of the code, numbered: statements but imports, and options of calls."""
    found: list[Part] = [
        node for node in ast.walk(body)
        if isinstance(node, ast.stmt | ast.keyword) and not isinstance(node, ast.Import | ast.ImportFrom)
    ]  # fmt: skip
    yield from enumerate(found[:_MAX_PARTS])


def _without(example: Example, left_out: Collection[int]) -> Example:
    """Return the example without some of its parts, and without what nothing uses then."""
    body, tail = _parsed(example)
    _Without({id(part) for number, part in _parts(body) if number in left_out}).generic_visit(body)
    body.body = completed(body.body)
    for number, node in reversed(list(enumerate(body.body))):
        if _is_unused(node, [*body.body[number + 1 :], *tail]):
            del body.body[number]
    return _written(example, body, tail)


class _Without(ast.NodeTransformer):
    """Leaves parts out; a ``with`` or an ``if`` leaves its body behind."""

    def __init__(self, gone: Collection[int]) -> None:
        self._gone = gone

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt] | None:
        """Return what is left of the node."""
        self.generic_visit(node)
        if isinstance(node, ast.With | ast.For | ast.If) and not node.body:
            return None
        if id(node) not in self._gone:
            return node
        return list(node.body) if isinstance(node, ast.With | ast.If) else None


def _is_unused(node: ast.stmt, later: Sequence[ast.stmt]) -> bool:
    """Return whether a statement assigns or imports names that no later one uses before it assigns them anew."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        used = loaded(*later)
        node.names = [each for each in node.names if (each.asname or each.name.partition(".")[0]) in used]
        return not node.names
    if not isinstance(node, ast.Assign) or not all(isinstance(target, ast.Name) for target in node.targets):
        return False
    names = {target.id for target in node.targets if isinstance(target, ast.Name)}
    for each in later:
        if names & loaded(each):
            return False
        if isinstance(each, ast.Assign):
            names -= {target.id for target in each.targets if isinstance(target, ast.Name)}
    return True


def _inlined(example: Example) -> Example:
    """Return the example with short values in place of names that stand for them once, in the next statement."""
    body, tail = _parsed(example)
    statements = [*body.body, *tail]
    at = 0
    while at + 1 < len(statements):
        merged = _merged(statements[at], statements[at + 1], statements[at + 2 :])
        if merged is None:
            at += 1
        else:
            statements[at : at + 2] = [merged]
            at = max(0, at - 1)
    end = len(statements) - len(tail)
    return _written(example, ast.Module(statements[:end], []), statements[end:])


def _merged(first: ast.stmt, second: ast.stmt, rest: Sequence[ast.stmt]) -> ast.stmt | None:
    """Return the second statement with the value that the first assigns; None where that may not be, or is long."""
    if not (isinstance(first, ast.Assign) and len(first.targets) == 1 and isinstance(first.targets[0], ast.Name)):
        return None
    if not isinstance(second, ast.Assign | ast.Expr):
        return None
    name = first.targets[0].id
    uses, own = (
        [node for each in nodes for node in ast.walk(each) if isinstance(node, ast.Name) and node.id == name]
        for nodes in ([second, *rest], [second.value])
    )
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


def _written(example: Example, body: ast.Module, tail: Sequence[ast.stmt]) -> Example:
    """Return the example with other code, without fixtures that nothing uses; texts of several lines stand as such."""
    used = loaded(body, *tail)
    lines = {ast.unparse(node): node for node in body.body if isinstance(node, ast.Import | ast.ImportFrom)}
    body.body = [node for node in body.body if lines.get(ast.unparse(node), node) is node]
    code = ast.unparse(_Lines().visit(ast.fix_missing_locations(body)))
    texts = [ast.unparse(each) for each in tail]
    also = tuple((text, old, new) for text, (_, old, new) in zip(texts[1:], example.also, strict=True))
    fixtures = tuple(name for name in example.fixtures if name in used)
    return replace(example, code=code, expression=texts[0] if texts else "", also=also, fixtures=fixtures)


class _Lines(ast.NodeTransformer):
    """Writes texts of several lines between three quotes."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Return a name that reads as the text, or the constant."""
        text = node.value if isinstance(node.value, str) else ""
        if "\n" not in text.strip("\n") or re.search(r'[\\\r]|"""|"$', text):
            return node
        return ast.Name(f'"""{text}"""', ast.Load()) if text.replace("\n", "").isprintable() else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """Return the text with its values as it is."""
        return node
