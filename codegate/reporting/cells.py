"""A table of a report, and its kinds of cells.

A cell is a ``Name`` (from elsewhere), a ``Figure`` (our own text, made of numbers) or a sentence, which may quote text
from elsewhere; a ``Title`` is a sentence with a link. Each format escapes them in its own way.
"""

from dataclasses import dataclass


class Name(str):
    """A name from elsewhere: of a candidate, a problem, a file or a fault."""

    __slots__ = ()


class ProblemName(Name):
    """A problem, with the place of its first failed attempt in the HTML report, if it has one."""

    anchor: str

    def __new__(cls, text: str, anchor: str = "") -> "ProblemName":
        """Return ``text`` with ``anchor``, the id of an element."""
        made = super().__new__(cls, text)
        made.anchor = anchor
        return made


class Title(str):
    """A title from elsewhere, with the address of a page about it, if there is one."""

    address: str

    def __new__(cls, text: str, address: str = "") -> "Title":
        """Return ``text`` with ``address``, which was checked."""
        made = super().__new__(cls, text)
        made.address = address
        return made


@dataclass(frozen=True)
class Table:
    """A titled table; ``note`` explains a column. ``id`` is the table's place in a page."""

    id: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
