"""Statements of Python: the names that they use, and their blocks made whole after some were taken out."""

import ast


def loaded(*nodes: ast.AST) -> set[str]:
    """Return the names that code reads."""
    found = (each for node in nodes for each in ast.walk(node))
    return {each.id for each in found if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def completed(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements with ``pass`` in blocks that lost theirs; a ``try`` without handlers leaves its body."""
    return [statement for each in body for statement in _as_list(_Completing().visit(each))]


def _as_list(found: ast.stmt | list[ast.stmt]) -> list[ast.stmt]:
    return found if isinstance(found, list) else [found]


class _Completing(ast.NodeTransformer):
    """See ``completed``."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Return the node with no block that is empty."""
        super().generic_visit(node)
        if getattr(node, "body", None) == []:
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST | list[ast.stmt]:
        """Return the statement, or its body where nothing handles an error of it."""
        whole = self.generic_visit(node)
        return whole if node.handlers or node.finalbody else [*node.body, *node.orelse]
