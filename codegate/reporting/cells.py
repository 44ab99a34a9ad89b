"""Tables of a report, and the kinds of their cells.

A cell is a ``Name`` (untrusted), a ``Figure`` (our own text, made of numbers) or a sentence, which may quote untrusted
text; a ``Title`` is a sentence with a link. Each format escapes them in its own way.
"""

from dataclasses import dataclass


class Name(str):
    """An untrusted name: of a candidate, problem, file or fault."""

    __slots__ = ()


class ProblemName(Name):
    """A problem's name, with its first failed attempt as ``anchor``."""

    anchor: str

    def __new__(cls, text: str, anchor: str = "") -> "ProblemName":
        """Return ``text`` with ``anchor``, the id of an element."""
        made = super().__new__(cls, text)
        made.anchor = anchor
        return made


class Title(str):
    """An untrusted title, with a page's address if known."""

    address: str

    def __new__(cls, text: str, address: str = "") -> "Title":
        """Return ``text`` with ``address``, which was checked."""
        made = super().__new__(cls, text)
        made.address = address
        return made


@dataclass(frozen=True)
class Table:
    """A titled table with a ``note``; ``id`` names its element."""

    id: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
