"""Evaluate arithmetic, exactly."""

from fractions import Fraction


def evaluate(text: str) -> Fraction:
    """Return the value of the last statement of ``text``."""
    raise NotImplementedError
