"""What ``setup.py`` gives ``setup``, as far as it is written out: read, never executed."""

import ast
from collections.abc import Mapping
from typing import Any

from codegate.languages.syntax import parse_python
from codegate.suite import Tree
from codegate.suite.declared import MAX_FILE_BYTES


def setup_arguments(tree: Tree) -> dict[str, Any]:
    """Return the literal arguments of the call of ``setup`` (names of module-level literals are followed)."""
    file = tree.get("setup.py")
    if file is None or len(file.data) > MAX_FILE_BYTES:
        return {}
    module = parse_python(file.data)
    if module is None:
        return {}
    values: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    for node in module.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            values[node.targets[0].id] = _literal(node.value, values)
    for call in ast.walk(module):
        if isinstance(call, ast.Call) and (getattr(call.func, "id", "") or getattr(call.func, "attr", "")) == "setup":
            arguments |= {word.arg: _literal(word.value, values) for word in call.keywords if word.arg}
    return {key: value for key, value in arguments.items() if value is not None}


def _literal(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """Return what is written out; of lists and dictionaries the entries that are."""
    if isinstance(node, ast.Name):
        return values.get(node.id)
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {key.value: _literal(value, values) for key, value in pairs if isinstance(key, ast.Constant)}
    if isinstance(node, ast.List | ast.Tuple):
        return [value for each in node.elts if (value := _literal(each, values)) is not None]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
