"""How often the gate may look, at which level, and which problems a look asks.

A test that is repeated on growing data at its full level is wrong more often than that level says (Armitage,
McPherson and Rowe 1969, JRSS A 132:235). The looks therefore share the error: the same lower level at each of them
(Pocock 1977, Biometrika 64:191), so that the whole sequence errs in at most ``alpha`` of the cases.
"""

from codegate.gating.samples import CandidateSamples

MAX_LOOKS = 5

_LEVELS = {1: 0.050, 2: 0.031, 3: 0.028, 4: 0.0245, 5: 0.022}
"""Level of each look for an error of 5 % in all, by number of planned looks; measured, see docs/statistics.md."""


def level(looks: int, alpha: float) -> float:
    """Return the one-sided level of every look of ``looks`` planned ones, for an error of ``alpha`` in all.

    Calibrated at ``alpha`` = .05 by simulation and scaled in proportion for others.

    Raises:
        ValueError: ``looks`` is not in 1..5.
    """
    if looks not in _LEVELS:
        message = f"there are 1 to {MAX_LOOKS} looks, not {looks}"
        raise ValueError(message)
    return alpha * (_LEVELS[looks] / 0.05)


def looks_taken(candidate: CandidateSamples) -> int:
    """Return how many looks the candidate's samples are: the most samples that any problem has, graded or not."""
    return max((len(entries) for entries in candidate.samples.values()), default=0)
