"""Finds by how much the two sides of a comparison in a Python test may differ.

``python_sites_driver.py`` brings this text along.
"""

from __future__ import annotations

import ast
import math
import re
from typing import Any

from codegate.grading.drivers.python_written_driver import name_of

TOLERANT = re.compile(r"approx|almost|close", re.IGNORECASE)
TOLERANCES = ("abs", "delta", "abs_tol", "atol")
RELATIVE = ("rel", "rel_tol", "rtol")


def number_of(node: Any) -> Any:
    """Return the number that a literal is; None for everything else."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if type(value) in (int, float) else None


def tolerance_of(node: Any) -> tuple[float, float] | None:
    """Return by how much what is compared may differ, absolutely and relatively; None where it may not.

    The former is infinite where the test does not write it out.
    """
    found = None
    for call in [part for part in ast.walk(node) if isinstance(part, ast.Call)]:
        given = {word.arg: number_of(word.value) for word in call.keywords}
        name = name_of(call.func)
        if not TOLERANT.search(name) and not any(key in given for key in (*TOLERANCES, *RELATIVE)):
            continue
        known = [given[key] for key in (*TOLERANCES, *RELATIVE, "places") if key in given]
        if None in known or len(call.args) > (1 if name == "approx" else 2):
            return math.inf, 0.0
        absolute = max([0.0, *(given[key] for key in TOLERANCES if key in given)])
        if "places" in given:
            absolute = max(absolute, 10.0 ** -given["places"])
        relative = max([1e-5, *(given[key] for key in RELATIVE if key in given)])
        before = found or (0.0, 0.0)
        found = (max(absolute, before[0]), max(relative, before[1]))
    return found
