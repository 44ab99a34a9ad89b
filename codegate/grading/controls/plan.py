"""What a control changes: mutants, chosen at random."""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from codegate.grading.controls.sites import Function, Mutant, Sites, mutants_of

_MOST_OTHERS: Final = 5
_dice: Final = secrets.SystemRandom()


@dataclass(frozen=True)
class Plan:
    """A control that was chosen: which mutants, each with one choice, and what is left.

    Attributes:
        mutants: what is changed.
        others: those of them that are of no fail-to-pass test.
        partners: some fail-to-pass test is left as it is, and has to pass beside the others.
    """

    mutants: tuple[Mutant, ...]
    others: tuple[Mutant, ...]
    partners: bool

    def runs(self) -> list[tuple[Mutant, ...]]:
        """Return the mutants of each run of this control, in random order.

        Without partners it takes two: in one of them the fail-to-pass tests are as they are. The others are the same
        in both: their texts may be public, so that by them a program could tell a control from the real run.
        """
        found = [self.mutants] if self.partners else [self.mutants, self.others]
        _dice.shuffle(found)
        return found


def choose_mutants(
    sites: Sites,
    tests: Iterable[str],
    others: Iterable[str],
    order: Mapping[Function, Sequence[str]],
    spared: frozenset[str],
) -> Plan:
    """Choose at random which ``tests`` are changed, and how.

    Of fail-to-pass tests at least one in each file, and not all; of the others a few, for what a patch breaks may be
    hidden as well. A function's last assertion is the likeliest: everything before it has to come out as it did.

    Args:
        sites: what was found in the test files.
        tests: ids of fail-to-pass tests.
        others: ids of pass-to-pass tests.
        order: by function, all of its ids in the order of its rows.
        spared: names of mutants that are not to be chosen.
    """
    chosen: list[Mutant] = []
    beside: list[Mutant] = []
    partners = False
    usable = {
        function: [mutant for mutant in mutants_of(sites, function) if mutant.name not in spared]
        for function in sorted(order)
    }
    wanted, rest = set(tests), set(others)
    for path in sites:
        own = {function: mutants for function, mutants in usable.items() if function[0] == path}
        parts, left = _parts(own, wanted, order)
        _dice.shuffle(parts)
        most = len(parts) if partners or left or len(parts) < 2 else len(parts) - 1
        count = min(max(sum(_dice.random() < 0.5 for _ in parts), 1), most)
        partners = partners or left or count < len(parts)
        further, _ = _parts(own, rest, order)
        _dice.shuffle(further)
        taken = {mutant.test for part in parts for mutant in part}
        further = [part for part in further if part[0].test not in taken]
        chosen += map(_one, parts[:count])
        beside += map(_one, further[: max(1, min(len(further) // 2, _MOST_OTHERS))])
    return Plan((*chosen, *beside), tuple(beside), partners)


def _one(possible: Sequence[Mutant]) -> Mutant:
    """Return one of the mutants of a part, with one of its choices."""
    last = [mutant for mutant in possible if mutant.order == possible[-1].order]
    mutant = _dice.choice(last if _dice.random() < 0.5 else possible)
    return mutant.model_copy(update={"choices": (_dice.choice(mutant.choices),)})


def _parts(
    usable: Mapping[Function, Sequence[Mutant]], wanted: Collection[str], order: Mapping[Function, Sequence[str]]
) -> tuple[list[list[Mutant]], bool]:
    """Return the mutants of each part of ``wanted`` that can be changed by itself, and whether something cannot."""
    parts: list[list[Mutant]] = []
    left = False
    for function, mutants in usable.items():
        asked = [row for row, test in enumerate(order[function]) if test in wanted]
        rows = [part for row in asked if (part := [mutant for mutant in mutants if mutant.row == row])]
        whole = [mutant for mutant in mutants if mutant.row is None]
        if rows and not (whole and _dice.random() < 0.25):
            parts += rows
        elif whole and asked:
            parts.append(whole)
        left = left or (bool(asked) and not mutants)
    return parts, left
