"""The looks of a gated run, and the level of each.

A test that is repeated on growing data at its full level errs more often than that level (Armitage, McPherson
and Rowe 1969, JRSS A 132:235). The looks therefore share the error: a look that has more samples may spend more of it
(spending alpha t^2; Lan and DeMets 1983, Biometrika 70:659). docs/statistics.md has the simulations behind the table.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

SCHEDULES: Final[Mapping[int, tuple[int, ...]]] = MappingProxyType(
    {1: (1,), 2: (1, 2), 3: (1, 2, 3), 5: (1, 2, 3, 4, 5), 10: (1, 2, 3, 4, 5, 6, 8, 10)}
)
"""Samples per problem at each look, by the most samples that a candidate may get."""

MAX_LOOKS: Final = max(len(looks) for looks in SCHEDULES.values())

_SINGLE: Final = 0.04
_LEVELS: Final[Mapping[tuple[int, ...], tuple[float, ...]]] = MappingProxyType(
    {
        (1, 2): (0.01072, 0.03592),
        (1, 2, 3): (0.00528, 0.01688, 0.03224),
        (1, 2, 3, 4, 5): (0.00224, 0.00672, 0.0128, 0.0204, 0.02848),
        (1, 2, 3, 4, 5, 6, 8, 10): (0.0010, 0.0030, 0.0052, 0.0081, 0.0115, 0.0151, 0.0254, 0.0340),
    }
)
"""Level of each look for an error of 5 % in all; one look of any size has ``_SINGLE``.

The schedules of up to five samples have 0.8 of the spending function's levels: with few samples the variance of a
candidate with middling rates is underestimated.
"""


def level(looks: Sequence[int], samples: int, alpha: float) -> float:
    """Return the one-sided level of a look, for an error of ``alpha`` over all planned looks.

    Calibrated at ``alpha`` = .05 and scaled in proportion for others.

    Args:
        looks: samples per problem at each planned look, ascending; one entry is a run of a fixed size.
        samples: samples per problem that the look has; the level is that of the last planned look within them.
        alpha: one-sided error in all.

    Raises:
        ValueError: ``looks`` is none of the schedules that were calibrated.
    """
    if len(looks) == 1:
        return alpha * (_SINGLE / 0.05)
    levels = _LEVELS.get(tuple(looks))
    if levels is None:
        message = f"looks at {list(looks)} samples were never calibrated; a gate has those of {sorted(SCHEDULES)}"
        raise ValueError(message)
    return alpha * (levels[look_number(looks, samples) - 1] / 0.05)


def look_number(looks: Sequence[int], samples: int) -> int:
    """Return which planned look ``samples`` per problem make, from 1."""
    return max(sum(planned <= samples for planned in looks), 1)
