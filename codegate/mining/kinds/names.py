"""Names that a change declares for others to use, and which of them its tests use: what makes a test a feature's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal

from codegate.languages import IDENTIFIER, Uses, added_lines, read
from codegate.mining.cut import Cut
from codegate.suite import TreeFile

Sort = Literal["definition", "parameter", "attribute", "operator"]

_CALL: Final = "()"
#: Initialising, copying, pickling, comparing and hashing are fixed more often than they are added.
_FIXED_OPERATORS: Final = frozenset(
    {"__init__", "__new__", "__del__", "__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__",
     "__setstate__", "__getnewargs__", "__eq__", "__ne__", "__hash__", "__slots__", "__all__", "__version__",
     "constructor", "__module__", "__doc__", "__name__", "__qualname__", "__dict__", "__wrapped__"}
)  # fmt: skip


@dataclass(frozen=True)
class DeclaredNames:
    """Public names that a fix declares and its base does not.

    Attributes:
        used: those that the added lines of the tests use, by what they are; every operator.
        unused: the other definitions.
    """

    used: Mapping[str, Sort]
    unused: tuple[str, ...]

    @property
    def words(self) -> frozenset[str]:
        """Return the last part of each name."""
        return frozenset(_last(name) for name in chain(self.used, self.unused))


def declared_names(cut: Cut) -> DeclaredNames:
    """Return the public names that ``cut`` adds to its source. What moved within the change is not new."""
    before = dict(chain.from_iterable(_declared(path, cut.base.get(path)) for path in cut.fix))
    after = dict(chain.from_iterable(_declared(path, file) for path, file in cut.fix.items()))
    gone = {_last(name) for name in before.keys() - after.keys()}
    new = {
        name: after[name]
        for name in sorted(after.keys() - before.keys())
        # A parameter is new only of what was there to be called.
        if _last(name) not in gone and (_CALL not in name or name.partition(_CALL)[0] in before)
    }
    tests = Uses()
    for path, file in cut.hidden.items():
        source = read(path, file)
        if source is not None and file is not None:
            tests.update(source.uses(added_lines(file, cut.base.get(path))))
    # Names of options and plug-ins are texts.
    tested = tests.words | tests.keywords | {word for text in tests.texts for word in IDENTIFIER.findall(text)}
    used = {name: sort for name, sort in new.items() if sort == "operator" or _last(name) in tested}
    return DeclaredNames(used, tuple(name for name, sort in new.items() if sort == "definition" and name not in used))


def added_test_lines(cut: Cut) -> list[str]:
    """Return the lines of the hidden test files that their base versions do not have."""
    return _added(cut, cut.hidden)


def added_source_lines(cut: Cut) -> list[str]:
    """Return the lines of the fixed source files that their base versions do not have."""
    return _added(cut, cut.fix)


def function_names(path: str, file: TreeFile | None) -> frozenset[str]:
    """Return the names of the functions that a file declares; empty where it cannot be read."""
    source = read(path, file)
    return frozenset(each.name for each in source.declarations() if each.kind == "function") if source else frozenset()


def _added(cut: Cut, files: Mapping[str, TreeFile | None]) -> list[str]:
    given = ((file, cut.base.get(path)) for path, file in files.items() if file is not None)
    return [line for file, old in given for line in added_lines(file, old).values()]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _declared(path: str, file: TreeFile | None) -> Iterator[tuple[str, Sort]]:
    source = read(path, file)
    for each in source.declarations() if source is not None else ():
        operator = each.name.startswith("__") and each.name.endswith("__")
        if not each.public or each.kind in {"import", "key"} or each.name in _FIXED_OPERATORS:
            continue
        if each.bare and each.kind != "function":
            continue  # many objects have a member of that name
        yield each.qualified, "attribute" if each.kind == "attribute" else "operator" if operator else "definition"
        for name in each.parameters:
            if name.isidentifier() and not name.startswith("_"):
                yield f"{each.qualified}{_CALL}.{name}", "parameter"
