"""How often the gate may look, at which level, and which problems a look asks.

A test that is repeated on growing data at its full level is wrong more often than that level says (Armitage,
McPherson and Rowe 1969, JRSS A 132:235). The looks therefore share the error: each has a lower level of its own, so
that the whole sequence errs in at most ``alpha`` of the cases (Pocock 1977, Biometrika 64:191; rising levels after
O'Brien and Fleming 1979, Biometrics 35:549, for a look that knows more may decide more).

The second sample of a problem that the baseline always or never solves tells next to nothing, so every second look
leaves those out. Which ones they are is known before the first look, from the baseline alone: asking again where the
*candidate* disagreed would bias the answer.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from codegate.gating.samples import CandidateSamples

MAX_LOOKS: Final = 5


class Levels(NamedTuple):
    """One-sided levels of a look: of "there is a drop", and of "a drop as large as the margin is ruled out"."""

    regressed: float
    passed: float


_REGRESSED: Final[Mapping[int, tuple[float, ...]]] = MappingProxyType(
    {
        1: (0.050,),
        2: (0.026, 0.038),
        3: (0.022, 0.025, 0.037),
        4: (0.020, 0.022, 0.024, 0.032),
        5: (0.020, 0.020, 0.022, 0.022, 0.028),
    }
)
_PASSED: Final[Mapping[int, tuple[float, ...]]] = MappingProxyType(
    {
        1: (0.040,),
        2: (0.022, 0.032),
        3: (0.020, 0.023, 0.028),
        4: (0.020, 0.020, 0.024, 0.030),
        5: (0.020, 0.020, 0.022, 0.022, 0.026),
    }
)
"""Level of each look for an error of 5 % in all, by number of planned looks; measured, see docs/statistics.md.

That of passing is lower because few problems of a strong baseline pass a little too easily at a nominal one.
"""

_SETTLED_FROM: Final = 5  # baseline samples that show a problem to be solved always or never


def levels(looks: int, look: int, alpha: float) -> Levels:
    """Return the one-sided levels of one of the planned looks, for an error of ``alpha`` over all of them.

    Calibrated at ``alpha`` = .05 by simulation and scaled in proportion for others.

    Args:
        looks: how many were planned, 1..5.
        look: which one it is, from 1; more samples than that are those of the last.
        alpha: one-sided error in all.

    Raises:
        ValueError: ``looks`` is not in 1..5.
    """
    if looks not in _REGRESSED:
        message = f"there are 1 to {MAX_LOOKS} looks, not {looks}"
        raise ValueError(message)
    at = min(max(look, 1), looks) - 1
    return Levels(alpha * (_REGRESSED[looks][at] / 0.05), alpha * (_PASSED[looks][at] / 0.05))


def level(looks: int, alpha: float) -> float:
    """Return the one-sided level of a regression at the last of the planned looks, which its power depends on most.

    Raises:
        ValueError: ``looks`` is not in 1..5.
    """
    return levels(looks, looks, alpha).regressed


def settled(passed: int, n: int) -> bool:
    """Tell whether the baseline solves a problem always or never, in five samples or more."""
    return n >= _SETTLED_FROM and passed in {0, n}


def asked(baseline: CandidateSamples, look: int, always: Collection[str] = ()) -> frozenset[str]:
    """Return the problems that get one more sample at a look: all at the odd ones, else those that are not settled.

    Args:
        baseline: the pinned samples; nothing of the candidate's may be known here.
        look: which one, from 1.
        always: problems that every look asks, such as those that must pass.
    """

    def open_question(problem: str) -> bool:
        graded = [sample.passed for sample in baseline.samples.get(problem, ()) if sample.passed is not None]
        return not settled(sum(graded), len(graded))

    return frozenset(
        problem for problem in baseline.problem_digests if look % 2 or problem in always or open_question(problem)
    )


def samples_by(look: int, *, settled_problem: bool) -> int:
    """Return how many samples a problem has after a look."""
    return (look + 1) // 2 if settled_problem else look


def looks_taken(candidate: CandidateSamples) -> int:
    """Return how many looks the candidate's samples are: one more than the highest index of any, graded or not.

    A sample's index is its look, from 0, so a problem that one look left out has a gap.
    """
    return max((entries[-1].index + 1 for entries in candidate.samples.values() if entries), default=0)
