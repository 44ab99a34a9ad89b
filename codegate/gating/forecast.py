"""What a suite and a schedule can find, in numbers and in one sentence, before any model is asked."""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from codegate.gating.looks import MAX_LOOKS
from codegate.gating.power import CHURN, BaselineFacts, Design, Relation, least_drop, outlook

_POWER: Final = 0.8
_ENOUGH: Final = 16  # problems from which the normal approximation holds
_MOST: Final = 10_000


@dataclass(frozen=True)
class PowerStatement:
    """What to expect of a comparison, from the baseline alone; rates, drops and shares are in 0..1.

    Attributes:
        relation: how the candidate is related to the pinned model.
        problems: number of problems; ``units``: pull requests whose means are compared, or the problems again.
        looks: planned looks; ``candidates``: gated together.
        margin: the tolerated drop.
        detectable_drop: smallest drop that ends as regressed in 4 of 5 cases; None where none does.
        certified_margin: smallest margin that an equally good candidate passes in 4 of 5 cases; None where none.
        passed: share of equally good candidates that pass at ``margin``; ``inconclusive``: that get no answer.
        calls_equal: expected samples of an equally good candidate; ``calls_worse``: of one worse by the margin.
        calls_most: samples if every look is taken. All three are for one candidate.
        problems_to_pass: problems like these with which an equally good candidate passes in 4 of 5 cases.
    """

    relation: Relation
    problems: int
    units: int
    looks: int
    candidates: int
    margin: float
    detectable_drop: float | None
    certified_margin: float | None
    passed: float
    inconclusive: float
    calls_equal: float
    calls_worse: float
    calls_most: int
    problems_to_pass: int

    def sentence(self) -> str:
        """Return it in one sentence for people."""
        what = f"{self.problems} problem" + ("" if self.problems == 1 else "s")
        if self.units < self.problems:
            what += f" from {self.units} pull requests"
        found = (
            f"find a drop of {_points(self.detectable_drop)} or more in 4 of 5 cases"
            if self.detectable_drop is not None
            else "are too few to find any drop reliably"
        )
        if self.passed >= _POWER:
            passing = f"an equally good one passes at a {_points(self.margin)} margin in {self.passed:.0%}"
        else:
            passing = (
                f"an equally good one gets no answer at a {_points(self.margin)} margin in {self.inconclusive:.0%}, "
                + (
                    f"and {self.problems_to_pass} problems would do"
                    if self.problems_to_pass < _MOST
                    else "however many"
                )
            )
        looks = f"{self.looks} look" + ("" if self.looks == 1 else "s")
        few, many = sorted((self.calls_equal, self.calls_worse))
        return (
            f"{what} with at most {looks} {found} ({_RELATIONS[self.relation]}); {passing}; "
            f"expected samples per candidate {few:.0f} to {many:.0f}, at most {self.calls_most}."
        )


_RELATIONS: Final[Mapping[Relation, str]] = MappingProxyType(
    {
        "same weights": "candidate with the same weights",
        "same family": "candidate of the same family",
        "other vendor": "candidate of another vendor",
    }
)


def _points(share: float | None) -> str:
    return "unknown" if share is None else f"{share * 100:.3g} pp"


def power_statement(facts: BaselineFacts, plan: Design, relation: Relation) -> PowerStatement:
    """Return what to expect of a comparison."""
    equal = outlook(facts, plan, CHURN[relation], 0.0)
    worse = outlook(facts, plan, CHURN[relation], plan.margin)
    advisory = facts.units < _ENOUGH
    return PowerStatement(
        relation=relation,
        problems=facts.problems,
        units=facts.units,
        looks=plan.looks,
        candidates=plan.candidates,
        margin=plan.margin,
        detectable_drop=detectable_drop(facts, plan, relation),
        certified_margin=certified_margin(facts, plan, relation),
        passed=0.0 if advisory else equal.passed,
        inconclusive=equal.inconclusive + (equal.passed if advisory else 0.0),
        calls_equal=equal.calls,
        calls_worse=worse.calls,
        calls_most=round(plan.most_calls(facts)),
        problems_to_pass=problems_to_pass(facts, plan, relation),
    )


def detectable_drop(facts: BaselineFacts, plan: Design, relation: Relation) -> float | None:
    """Return the smallest drop that ends as regressed in 4 of 5 cases; None where none does.

    Below 24 problems it is not less than what simulated gates of that size find; below 10 it is not known.
    """
    least = least_drop(facts.units, relation)
    if least is None:
        return None
    found = _smallest(lambda drop: outlook(facts, plan, CHURN[relation], drop).regressed >= _POWER, facts.rate)
    return None if found is None else max(found, least)


def certified_margin(facts: BaselineFacts, plan: Design, relation: Relation) -> float | None:
    """Return the smallest margin, up to 25 %, that an equally good candidate passes in 4 of 5 cases; None without one.

    Below 16 problems nothing passes.
    """
    if facts.units < _ENOUGH:
        return None
    return _smallest(
        lambda margin: outlook(facts, replace(plan, margin=margin), CHURN[relation], 0.0).passed >= _POWER,
        min(0.25, facts.rate / 2.0),
    )


def _smallest(enough: Callable[[float], bool], most: float) -> float | None:
    """Return the smallest multiple of 0.001 up to ``most`` that is enough."""
    count = int(most * 1000)
    index = bisect_left(range(1, count + 1), True, key=lambda thousandths: enough(thousandths / 1000))
    return (index + 1) / 1000 if index < count else None


def samples_needed(facts: BaselineFacts, plan: Design, relation: Relation, drop: float) -> int | None:
    """Return the fewest looks, 1 to 5, that find ``drop`` in 4 of 5 cases; None where problems are what is missing."""
    for looks in range(1, MAX_LOOKS + 1):
        if _finds(facts, replace(plan, looks=looks, samples=None), relation, drop):
            return looks
    return None


def problems_needed(facts: BaselineFacts, plan: Design, relation: Relation, drop: float) -> int:
    """Return how many problems like these find ``drop`` in 4 of 5 cases; 10,000 where that is not enough."""
    return _fewest(facts, lambda more: _finds(more, plan, relation, drop))


def _finds(facts: BaselineFacts, plan: Design, relation: Relation, drop: float) -> bool:
    """Return whether ``drop`` ends as regressed in 4 of 5 cases."""
    least = least_drop(facts.units, relation)
    return least is not None and drop >= least and outlook(facts, plan, CHURN[relation], drop).regressed >= _POWER


def problems_to_pass(facts: BaselineFacts, plan: Design, relation: Relation) -> int:
    """Return how many problems like these let an equally good candidate pass in 4 of 5 cases; 10,000 at most."""
    return _fewest(facts, lambda more: outlook(more, plan, CHURN[relation], 0.0).passed >= _POWER)


def _fewest(facts: BaselineFacts, enough: Callable[[BaselineFacts], bool]) -> int:
    size = facts.problems / facts.units

    def suffices(units: int) -> bool:
        return enough(replace(facts, units=units, problems=round(units * size)))

    units = _ENOUGH + bisect_left(range(_ENOUGH, _MOST), True, key=suffices)
    return min(round(units * size), _MOST)
