"""What instrumented Python tests call. Its text is sent along with a test driver's and run in the same interpreter.

``install`` makes the functions known under names that only this run has. What they need is looked up once: the code
under test may replace anything that has a name.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any, Callable


def install(settings: dict[str, Any]) -> Callable[[], list[str]]:
    """Make the functions known; return one that gives the tokens seen since it was last called."""
    names, table = settings["names"], {token: ast.literal_eval(text) for token, text in settings["table"].items()}
    seen: set[str] = set()

    class Guard:
        """A context manager that leaves a receipt when what it wraps let the test go on."""

        def __init__(self, token: str, inner: Any) -> None:
            self.token, self.inner = token, inner

        def __enter__(self) -> Any:
            return self.inner.__enter__()

        def __exit__(self, *error: Any) -> Any:
            swallowed = self.inner.__exit__(*error)
            if swallowed or error[0] is None:
                seen.add(self.token)
            return swallowed

    def take() -> list[str]:
        tokens = sorted(seen)
        seen.clear()
        return tokens

    functions = {
        "receipt": seen.add,
        "guard": Guard,
        "value": table.__getitem__,
        "change": lambda token, value: changed(value) if table[token] else value,
    }
    for role, name in names.items():
        setattr(builtins, name, functions[role])
    return take


def changed(value: Any) -> Any:
    """Return another value of the same type, unequal to ``value``."""
    kind = type(value)
    if kind is bool:
        return not value
    if kind in (int, float, complex):
        return 3 * value + 7 if 3 * value + 7 != value else value + 1  # a tolerance is too small for it
    if kind in (str, bytes):
        return value + (b"x" if kind is bytes else "x")
    if kind in (list, tuple):
        return value + kind(value[-1:] or (0,))
    if kind in (set, frozenset):
        return value - {next(iter(value))} if value else kind((0,))
    if kind is dict:
        return {**value, "x": 0} if value.get("x", 1) != 0 else {}
    return object()
