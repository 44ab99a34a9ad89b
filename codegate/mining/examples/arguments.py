"""Find texts that public tests give to the same argument.

A random word is no valid time zone, locale or file name. A text that the base's tests give to the same argument is
valid, and often another case of the same kind, as execution then shows.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final

from codegate.languages.lines import Dialect
from codegate.languages.syntax import IDENTIFIER, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMED: Final = frozenset({"pair", "keyword_argument", "keyed_element"})
_LISTS: Final = frozenset({"arguments", "argument_list"})
_NEAR: Final = 4
"""Most nodes between a text and the call whose argument it is."""
_MOST: Final = 6


def usual_arguments(dialect: Dialect, code: str, public: str) -> Iterator[Mapping[str, str]]:
    """Yield replacements of one text in ``code``.

    Each maps the text to another, which a call in ``public`` gives to the same argument.
    """
    known = _texts_by_argument(dialect, public)
    own = {text_of(node): _argument(node) for node in dialect.literals(dialect.parse(code))}
    ways = [[{text: other} for other in known.get(argument, ()) if other not in own] for text, argument in own.items()]
    yield from islice((way for several in zip_longest(*ways) for way in several if way is not None), _MOST)


@lru_cache(maxsize=64)
def _texts_by_argument(dialect: Dialect, source: str) -> Mapping[str, Collection[str]]:
    found: dict[str, dict[str, None]] = {}
    for node in dialect.literals(dialect.parse(source)):
        if argument := _argument(node):
            found.setdefault(argument, {})[text_of(node)] = None
    return found


def _argument(node: "Node") -> str:
    """Return an argument's name, or its function and number.

    Return "" for a text that is no argument.
    """
    child = node
    for _ in range(_NEAR):
        parent = child.parent
        if parent is None:
            break
        if parent.type in _NAMED and parent.named_children[0] != child:
            return text_of(parent.named_children[0])
        if parent.type in _LISTS and parent.parent is not None:
            before = text_of(parent.parent).encode()[: parent.start_byte - parent.parent.start_byte]
            names = IDENTIFIER.findall(before.decode())
            return f"{names[-1]} {parent.named_children.index(child)}" if names else ""
        child = parent
    return ""
