"""Find a fix's new words, and texts that reveal it.

Texts are compared as a reader sees them: lookalike and escaped characters count as the usual ones.
"""

import html
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from html.entities import html5
from itertools import groupby
from typing import Final

from codegate.languages import read
from codegate.languages.syntax import IDENTIFIER, decode, new_lines
from codegate.mining.cut import Cut
from codegate.suite import TreeFile

RUN: Final = 8
"""Number of consecutive tokens of an added line that count as a quotation of the fix."""

_MAX_ADDED: Final = 1 << 19

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_CODE_LIKE: Final = re.compile(r"[^_]_[^_]|[0-9]|[a-z][A-Z]")
_ENTITY: Final = re.compile(r"&(#\d{1,7};|#[xX][0-9a-fA-F]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)")
#: A Markdown escape.
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
#: Letters that look like Latin ones (Unicode's confusables, the common part), and typographic punctuation.
_LOOKALIKES: Final = str.maketrans(
    "аеорсухіјѕһԁԛԝАВЕКМНОРСТХУІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧοναριıɑɡ“”‘’‐‑‒–—−⁄",
    "aeopcyxijshdqwABEKMHOPCTXYIJSABEZHIKMNOPTYXovapiiag\"\"''------/",
)
_PART: Final = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}|[^\W\d_a-zA-Z]{4,}")
_STEM: Final = 4  # letters
_FILLERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800`")


@dataclass(frozen=True)
class FixVocabulary:
    """The words that the fix adds.

    Attributes:
        blocks: the tokens, in lower case, of each run of neighbouring added lines.
        identifiers: code-like names that the base tree does not have.
        replaced: the base versions of the files that the fix changes; quoting them reveals nothing.
    """

    blocks: tuple[tuple[str, ...], ...]
    identifiers: frozenset[str]
    replaced: tuple[str, ...]

    def without(self, names: Iterable[str]) -> "FixVocabulary":
        """Return the vocabulary without disclosed ``names``."""
        return replace(self, identifiers=self.identifiers - frozenset(names))


def vocabulary(cut: Cut) -> FixVocabulary:
    """Return the words that the fix of ``cut`` adds."""
    blocks = tuple(tuple(token.lower() for token in _TOKEN.findall(_as_read(block))) for block in _added_blocks(cut))
    # A plain word ("over", "short") may be English in a statement, even if the fix uses it as a name.
    words = {word for word in IDENTIFIER.findall(added_text(cut)) if _CODE_LIKE.search(word)}
    replaced = tuple(decode(cut.base[path].data) for path in cut.fix if path in cut.base)
    return FixVocabulary(blocks, frozenset(absent_names(words, cut.base)), replaced)


def added_text(cut: Cut) -> str:
    """Return all lines that the fix adds, as one text."""
    return "\n".join(line for path, file in cut.fix.items() for line in new_lines(file, cut.base.get(path)))


def replaced_text(cut: Cut) -> str:
    """Return all base lines that the fix replaces, without spaces."""
    replaced = (line for path, file in cut.fix.items() for line in new_lines(cut.base.get(path), file))
    return "\n".join("".join(line.split()) for line in replaced)


def stems(texts: Iterable[str]) -> frozenset[str]:
    """Return lower-case stems of words and of parts of names.

    A stem is the first four letters; shorter words are left out.
    """
    return frozenset(part[:_STEM].lower() for text in texts for part in _PART.findall(text) if len(part) >= _STEM)


def new_stems(cut: Cut) -> frozenset[str]:
    """Return stems of names used only after the fix.

    Names that changed files declare are left out: authors often name a new function after the bug.
    """
    old, new = set[str](), set[str]()
    for path, file in cut.fix.items():
        for names, source in ((new, read(path, file)), (old, read(path, cut.base.get(path)))):
            if source is not None:
                names.update(source.uses().words - {each.name for each in source.declarations()})
    return stems(new) - stems(old)


def whole_literals(texts: Iterable[str], added: str) -> frozenset[str]:
    """Return the ``texts`` that the fix adds as whole literals.

    ``added`` are the lines that the fix adds; a whole literal stands between quotes in them.
    """
    return frozenset(text for text in texts if any(f"{quote}{text}{quote}" in added for quote in "'\"`"))


def absent_names(names: Collection[str], base: Mapping[str, TreeFile]) -> set[str]:
    """Return the ``names`` that no file of ``base`` has."""
    left = {name: re.compile(rb"(?<![A-Za-z0-9_])%s(?![A-Za-z0-9_])" % re.escape(name.encode())) for name in names}
    for file in base.values():
        if not left:
            break
        # The plain search is much faster than the pattern.
        for name in [name for name in left if name.encode() in file.data and left[name].search(file.data)]:
            del left[name]
    return set(left)


def gives_fix_away(text: str, known: FixVocabulary) -> bool:
    """Return whether ``text`` quotes the fix or uses its names."""
    tokens = _TOKEN.findall(_as_read(text))
    return not known.identifiers.isdisjoint(tokens) or _quotes([token.lower() for token in tokens], known)


def _as_read(text: str) -> str:
    """Return ``text`` with lookalike letters and escapes replaced."""
    if text.isascii() and not set("&\\`") & set(text):
        return text
    text = _ENTITY.sub(_character, _ESCAPE.sub(r"\1", text)).translate(_LOOKALIKES)
    folded = unicodedata.normalize("NFKD", text).translate(_LOOKALIKES)
    return "".join(
        letter for letter in folded if letter not in _FILLERS and unicodedata.category(letter) not in {"Mn", "Me", "Cf"}
    )


def _character(entity: re.Match[str]) -> str:
    # ``&notEmpty;`` is kept, though HTML reads its beginning as ``&not``.
    return html.unescape(entity[0]) if entity[1][0] == "#" or entity[1] in html5 else entity[0]


def _quotes(words: list[str], known: FixVocabulary) -> bool:
    """Return whether ``RUN`` consecutive ``words`` occur only in the fix."""
    windows = set(_windows(words))
    found = {window for block in known.blocks for window in _windows(block) if window in windows}
    for source in known.replaced if found else ():
        found.difference_update(_windows([word.lower() for word in _TOKEN.findall(_as_read(source))]))
    return bool(found)


def _windows(words: "tuple[str, ...] | list[str]") -> Iterator[tuple[str, ...]]:
    return (tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1))


def _added_blocks(cut: Cut) -> Iterator[str]:
    left = _MAX_ADDED
    for path, file in cut.fix.items():
        old = cut.base.get(path)
        before = {line.strip() for line in decode(old.data).splitlines()} if old is not None else set()
        lines = [line.strip() for line in decode(file.data).splitlines()] if file is not None else []
        for known, run in groupby(filter(None, lines), before.__contains__):
            if not known:
                block = list(run)
                yield "\n".join(block)[:left]
                left = max(0, left - sum(map(len, block)))
