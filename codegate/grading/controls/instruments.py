"""Instrumented hidden tests: the sites that were found, filled with random words of this run."""

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from codegate.grading.controls.sites import Edit, Function, Mutant, Receipt, Sites
from codegate.suite import Tree

_NAMES = ("receipt", "guard", "value", "change")


@dataclass(frozen=True)
class Instruments:
    """Tests as they are run once.

    Attributes:
        files: text of each instrumented file.
        names: by role (``receipt``, ``guard``, ``value``, ``change``), what the texts call the driver's functions.
        table: by token, a value as the language writes it.
        receipts: by token, the receipt that it stands for.
        mutants: by function, the mutants that the text has; empty: the tests expect what they always expected.
        originals: text of each instrumented file as it was.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    table: Mapping[str, str] = field(default_factory=dict)
    receipts: Mapping[str, Receipt] = field(default_factory=dict)
    mutants: Mapping[Function, tuple[Mutant, ...]] = field(default_factory=dict)
    originals: Mapping[str, bytes] = field(default_factory=dict)

    def place(self, tree: Tree) -> Tree:
        """Return ``tree`` with the instrumented texts in place of those that it has."""
        return tree.overlay({path: replace(tree[path], data=data) for path, data in self.files.items()})

    def receipts_of(self, function: Function) -> Mapping[str, Receipt]:
        """Return the receipts of one function, by token."""
        return self._by_function.get(function, {})

    @cached_property
    def _by_function(self) -> dict[Function, dict[str, Receipt]]:
        found: dict[Function, dict[str, Receipt]] = {}
        for token, receipt in self.receipts.items():
            found.setdefault((receipt.file, receipt.test), {})[token] = receipt
        return found

    def reveal(self, text: str) -> str:
        """Return what a run printed about its tests as if they had not been instrumented: for people."""
        if not self.names:
            return text
        named = {role: re.escape(name) for role, name in self.names.items()}
        text = re.sub(rf"\n +\+ +where [^\n]* = {named['value']}\([^\n]*\)", "", text)
        text = re.sub(
            rf"\(?{named['value']}\(\s*[\"'](\w{{1,40}})[\"']\)\)?", lambda found: self.table.get(found[1], "…"), text
        )
        text = re.sub(rf"(?:; )?{named['receipt']}\([\"']\w{{1,40}}[\"']\)", "", text)
        return re.sub(rf"(?:{named['guard']}|{named['change']})\([\"']\w{{1,40}}[\"'], ", "(", text)

    def settings(self) -> dict[str, object]:
        """Return what a test driver has to know."""
        return {"names": dict(self.names), "table": dict(self.table)}


def instrument(sites: Sites, mutants: Sequence[Mutant] = ()) -> Instruments:
    """Fill ``sites`` with new tokens and names; the ``mutants`` go into the tests.

    There is at most one of a function, or of each of its rows.
    """
    names = {role: f"_{secrets.token_hex(6)}" for role in _NAMES}
    files: dict[str, bytes] = {}
    table: dict[str, str] = {}
    receipts: dict[str, Receipt] = {}
    for path, found in sites.items():
        chosen = [mutant for mutant in mutants if mutant.file == path]
        changed = {mutant.value: mutant.text for mutant in chosen if mutant.value is not None}
        edits: list[Edit] = []
        for receipt in found.receipts:
            receipts[token := secrets.token_hex(8)] = receipt
            edits += _filled(receipt.edits, names, token)
        for number, value in enumerate(found.values):
            table[token := secrets.token_hex(8)] = changed.get(number, value.text)
            edits += _filled(value.edits, names, token)
        replaced = [edit for mutant in chosen for edit in mutant.edits if edit[0] < edit[1]]
        edits = [edit for edit in edits if not any(_inside(edit, other) for other in replaced)]
        edits += [(*edit[:2], edit[2].replace("$choice$", one.text)) for one in chosen for edit in one.edits]
        files[path] = _edited(found.data, edits)
    originals = {path: found.data for path, found in sites.items()}
    by_function: dict[Function, tuple[Mutant, ...]] = {}
    for mutant in mutants:
        key = (mutant.file, mutant.test)
        by_function[key] = (*by_function.get(key, ()), mutant)
    return Instruments(files, names, table, receipts, by_function, originals)


def _filled(edits: Iterable[Edit], names: Mapping[str, str], token: str) -> list[Edit]:
    filled = []
    for start, end, given in edits:
        text = given.replace("$token$", token)
        for role, name in names.items():
            text = text.replace(f"${role}$", name)
        filled.append((start, end, text))
    return filled


def _edited(data: bytes, edits: list[Edit]) -> bytes:
    """Apply ``edits``, which do not overlap; where several insert at one place, what closes comes before the rest."""
    parts = []
    at = 0
    for start, end, text in sorted(edits, key=lambda edit: (edit[0], edit[1], _rank(edit[2]))):
        parts += [data[at:start], text.encode("utf-8")]
        at = max(at, end)
    return b"".join([*parts, data[at:]])


def _inside(edit: Edit, other: Edit) -> bool:
    """Return whether what ``edit`` is about is gone when ``other`` is applied; what stands at its ends is not."""
    start, end, _ = edit
    within = other[0] <= start and end <= other[1]
    return within and (start < end or other[0] < start < other[1])


def _rank(text: str) -> int:
    if text.startswith(")"):
        return 0
    return 1 if text.startswith(";") else 2
