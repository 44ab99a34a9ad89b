"""What changed between two baselines: model, conditions, problems, and the rates of those that both have."""

from dataclasses import dataclass

from codegate.gating.baseline import Baseline
from codegate.gating.comparability import mismatches, setting_changes
from codegate.gating.drift import Change, change_between, counts_of
from codegate.gating.verdict import Mismatch

_PROBLEM = "problem "


@dataclass(frozen=True)
class ProblemRates:
    """Passes and samples of one problem in both baselines."""

    problem: str
    before: tuple[int, int]
    after: tuple[int, int]

    @property
    def difference(self) -> float:
        """Return the second rate minus the first, in -1..1."""
        return self.after[0] / self.after[1] - self.before[0] / self.before[1]


@dataclass(frozen=True)
class BaselineDifference:
    """What changed from one baseline to another.

    Attributes:
        models: the two models.
        conditions: conditions and settings that differ, problems and the model aside.
        added: problems that only the second has; ``removed``: only the first; ``altered``: in both, but not the same.
        problems: rates of those that are the same in both, the largest drop first.
        change: over those, the pass rate's difference with its uncertainty; None when there are none.
    """

    models: tuple[str, str]
    conditions: tuple[Mismatch, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    altered: tuple[str, ...]
    problems: tuple[ProblemRates, ...]
    change: Change | None


def difference_of(before: Baseline, after: Baseline) -> BaselineDifference:
    """Compare two baselines; a problem whose digest changed is another problem, and its rates are not compared."""
    old, new = before.samples.problem_digests, after.samples.problem_digests
    shared = [problem for problem in sorted(old.keys() & new.keys()) if old[problem] == new[problem]]
    left, right = counts_of(before.samples), counts_of(after.samples)
    rates = [ProblemRates(problem, left[problem], right[problem]) for problem in shared]
    differing = (*mismatches(before.samples, after.samples), *setting_changes(before.samples, after.samples))
    return BaselineDifference(
        models=(before.samples.model, after.samples.model),
        conditions=tuple(one for one in differing if not one.field.startswith(_PROBLEM) and one.field != "model"),
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        altered=tuple(problem for problem in sorted(old.keys() & new.keys()) if old[problem] != new[problem]),
        problems=tuple(sorted(rates, key=lambda one: (one.difference, one.problem))),
        change=change_between({name: left[name] for name in shared}, {name: right[name] for name in shared}),
    )
