"""Count what code does in steps of Python: a slow machine takes as many as a fast one."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def steps(at_most: int) -> Iterator[None]:
    """Fail when the functions that are called in this block run more lines of Python than ``at_most``."""
    taken = 0

    def count(*_):
        nonlocal taken
        taken += 1
        if taken > at_most:
            sys.settrace(None)
            pytest.fail(f"takes more than {at_most} steps")
        return count

    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(None)
