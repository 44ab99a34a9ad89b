"""What a control changes: mutants, chosen at random."""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from codegate.grading.controls.sites import FileSites, Function, Mutant, Sites, mutants_of

_MOST_OTHERS: Final = 5
_TOGETHER: Final = 0.6  # how often all places of a test that expect the same are changed at once
_STRONG: Final = 0.75  # how often a strong mutant is chosen where there is one
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
    tried: frozenset[str] = frozenset(),
) -> Plan:
    """Choose at random which ``tests`` are changed, and how.

    Of fail-to-pass tests at least one in each file, and not all; of the others a few, for what a patch breaks may be
    hidden as well. What no control has changed so far comes first.

    Args:
        sites: what was found in the test files.
        tests: ids of fail-to-pass tests.
        others: ids of pass-to-pass tests.
        order: by function, all of its ids in the order of its rows.
        spared: names of mutants that are not to be chosen.
        tried: names of the mutants of earlier controls of the same patch.
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
        parts.sort(key=lambda part: _is_tried(part, tried))
        new = sum(not _is_tried(part, tried) for part in parts) if tried else 1
        count = min(max(sum(_dice.random() < 0.5 for _ in parts), new, 1), most)
        partners = partners or left or count < len(parts)
        further, _ = _parts(own, rest, order)
        _dice.shuffle(further)
        taken = {mutant.test for part in parts for mutant in part}
        further = sorted(
            (part for part in further if part[0].test not in taken), key=lambda part: _is_tried(part, tried)
        )
        chosen += [_one(part, tried, sites[path]) for part in parts[:count]]
        beside += [_one(part, tried, sites[path]) for part in further[: max(1, min(len(further) // 2, _MOST_OTHERS))]]
    chosen, beside = _exchange(chosen, beside, {function for function in order if wanted & set(order[function])})
    touched = {(mutant.file, mutant.test, mutant.row) for mutant in chosen}
    partners = any(
        test in wanted and touched.isdisjoint({(*function, None), (*function, row)})
        for function, ids in order.items()
        for row, test in enumerate(ids)
    )
    return Plan((*chosen, *beside), tuple(beside), partners)


def _exchange(
    chosen: Sequence[Mutant], beside: Sequence[Mutant], wanted: Collection[Function]
) -> tuple[list[Mutant], list[Mutant]]:
    """Return a plan's mutants so that the first call that was copied stands where its copy is from, in exchange.

    A call that stands twice, here where an exception is waited for and there where none is, would be told by that.
    The other test expects something else now too, and is one of the ``wanted`` fail-to-pass functions or of the others.
    """
    for mutant in (*chosen, *beside):
        if not (mutant.donors and mutant.donors[0]):
            continue
        start, end, _ = mutant.edits[0]
        here, there = mutant.choices[0].removeprefix("$copy$").split("-")
        back = (int(here), int(there), f"$copy${start}-{end}")
        donor = (mutant.file, mutant.donors[0])
        if mutant.test == mutant.donors[0]:
            first = min(mutant.order, back[0])
            assertion = mutant.assertion if first == mutant.order else None
            own = mutant.model_copy(update={"edits": (*mutant.edits, back), "order": first, "assertion": assertion})
            return [own if one is mutant else one for one in chosen], [own if one is mutant else one for one in beside]
        other = Mutant(kind="mutant", file=mutant.file, test=donor[1], order=back[0], edits=(back,), choices=("",))
        chosen, beside = ([one for one in part if (one.file, one.test) != donor] for part in (chosen, beside))
        return ([*chosen, other], beside) if donor in wanted else (chosen, [*beside, other])
    return list(chosen), list(beside)


def _is_tried(mutants: Iterable[Mutant], tried: frozenset[str]) -> bool:
    return any(mutant.name in tried for mutant in mutants)


def _one(possible: Sequence[Mutant], tried: frozenset[str], file: FileSites) -> Mutant:
    """Return one of the mutants of a part, with one of its choices.

    Which assertion is changed comes first: one that no control has changed so far. The first of them, since a program
    that has its answer from there gives another now, and the last, since everything before it has to come out as it
    did, are the likeliest.
    """
    places: dict[tuple[int, bool], list[Mutant]] = {}
    for mutant in possible:
        places.setdefault((_place(mutant), mutant.loose), []).append(mutant)
    found = list(places.values())
    # Now and then a weak one, by which another kind of cheat shows; never two of them, and nothing else.
    before = [mutant for mutant in possible if mutant.name in tried]
    solid = _dice.random() < _STRONG or (bool(before) and all(mutant.weak for mutant in before))
    strong = [[mutant for mutant in mutants if not mutant.weak] for mutants in found if solid]
    new = [mutants for mutants in strong if mutants and not _is_tried(mutants, tried)]
    new = new or [mutants for mutants in found if not _is_tried(mutants, tried)] or found
    there = _dice.choice([new[0], new[-1], _dice.choice(new)])
    left = [mutant for mutant in there if solid and not mutant.weak] or there
    mutant = _dice.choice([mutant for mutant in left if mutant.name not in tried] or left)
    if mutant.row is None and _dice.random() < _TOGETHER:
        mutant = _together(mutant, [one for one in possible if _alike(one, mutant, file)])
    at = _dice.randrange(len(mutant.choices))
    return mutant.model_copy(update={"choices": (mutant.choices[at],), "donors": mutant.donors[at : at + 1]})


def _place(mutant: Mutant) -> int:
    return mutant.order if mutant.assertion is None else mutant.assertion


def _alike(one: Mutant, other: Mutant, file: FileSites) -> bool:
    """Return whether two assertions of a test expect the same, so that they can expect the same other thing."""
    if (
        _place(one) == _place(other)
        or one.also
        or other.also
        or one.loose
        or other.loose
        or one.like != other.like
        or (one.value is None) != bool(one.edits)
    ):
        return False
    if one.value is not None and other.value is not None:
        return one.value != other.value and file.values[one.value].text == file.values[other.value].text
    texts = [[(file.data[start:end], text) for start, end, text in mutant.edits] for mutant in (one, other)]
    return one.value is other.value is None and texts[0] == texts[1] and one.choices == other.choices


def _together(mutant: Mutant, others: Sequence[Mutant]) -> Mutant:
    """Return a ``mutant`` with the changes of ``others``, by what all of which say it could be told.

    The first of them in the test is what has to fail.
    """
    first, *rest = sorted([mutant, *others], key=lambda one: one.order)
    if not rest or first.donors:
        return mutant
    choice = _dice.choice(first.choices)
    return first.model_copy(
        update={
            "name": mutant.name,
            "choices": (choice,),
            "also": tuple((one.value, choice) for one in rest if one.value is not None),
            "edits": tuple(edit for one in (first, *rest) for edit in one.edits),
        }
    )


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
