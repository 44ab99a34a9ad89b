"""Quote people's sentences about a change, word for word."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from codegate.mining.kinds import without_type
from codegate.mining.statements.prose import (
    CODE,
    NUMBERS,
    OMITTED,
    Form,
    has_references,
    is_machine_written,
    is_reference,
    normalise,
    paragraphs,
)
from codegate.mining.statements.template import NO_TEMPLATE, Template

Refused = Callable[[str, str], str]
"""Function from a text and its source to the reason why it may not be shown, or ""."""

_MAX_TITLE: Final = 1200  # characters
_MIN_WORDS: Final = 4
_MAX_WORDS: Final = 60
_MIN_HEADING: Final = 3  # words
_MAX_SENTENCES: Final = 10
_ENOUGH: Final = 2
_STEM: Final = 3  # letters
_SHORT: Final = re.compile(r"[a-z]{1,2}")
_BULLETS: Final = "-*+• "
MESSAGES: Final = frozenset({"commit", "pull request"})
"""The sources that describe the fix as well as the bug."""
_FINISHED: Final = re.compile(r"[.!?。！？][\"')`*_]*$")
_SIGN: Final = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]|[^\s\u3040-\u9fff\uac00-\ud7af]+")
#: A word. In languages without blanks, each character counts as one.
_WORD: Final = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]|[^\W\d_]{2,}")
#: The end of a sentence, but not after letters with full stops, such as "e.g.", or after code.
_END: Final = re.compile(
    r"(?:(?<=[.!?])(?<!\b[^\W\d_]\.[^\W\d_]\.)|(?<=[.!?][\"')*_]))\s+(?=[^a-z]|\w+[_.(])|(?<=[。！？])(?=.)"
)
#: Source code, a prompt, or a row of a table.
_SOURCE: Final = re.compile(r">>>|\.\w+:\d+|=>| \| | # |^\$ |[{};]$")
#: A name before a value, such as "Version: ".
_NAMED: Final = re.compile(r"^\W{0,4}[^\W\d_][\w ]{0,40}[*_]{0,2}:[*_]{0,2}\s")
_HAS_CODE: Final = re.compile(r"`[^`]+`|\w\((?!e?s\))[^()\n]*\)|[A-Za-z0-9]_\w|\w_\b|[a-z][A-Z]|(?<!\S)--?[a-z]")
#: Code (the group), which stays, or brackets around a reference or an address, which are removed as a whole.
_ASIDE: Final = re.compile(
    rf"({CODE.pattern})"
    r"|,?\s?(?<![\]\w])\([^()\n]{0,200}(?:#\d|[:}]`#?\d|://)[^()\n]{0,300}\)"
    r"|\s?\[[^\[\]\n]{0,60}#\d[^\[\]\n]{0,60}\](?![(\[])"
)
#: References at the beginning or the end of a title.
_AT_ENDS: Final = re.compile(
    rf"^{NUMBERS}(?:[\s:,.;–-]*$|\s*[:,.;–-]\s*|\s+(?=(?-i:[A-Z])))|[\s,.;:–-]+{NUMBERS}[\s.]*$", re.IGNORECASE
)
#: The end of a title that is incomplete without its number: "Test and fix for #12".
_CONNECTS: Final = re.compile(rf"\b(?:and|as|by|for|from|in|of|to|with):? (?i:{NUMBERS})[\s.]*$")
_INTRODUCTIONS: Final = {
    "issue": "The issue says:",
    "changelog": "The changelog says of the fix:",
    "pull request": "The pull request that fixed it says:",
    "commit": "The commit that fixed it says:",
}


@dataclass(frozen=True)
class Quotation:
    """A quoted paragraph.

    Attributes:
        source: ``issue``, ``changelog``, ``pull request`` or ``commit``.
        parts: unchanged sentences, and an ellipsis in brackets for each one that is left out.
        heading: the heading above the paragraph, if it is shown; else "".
    """

    source: str
    parts: tuple[str, ...]
    heading: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the sentences that are quoted."""
        return tuple(part for part in self.parts if part != OMITTED)

    @property
    def text(self) -> str:
        """Return the sentences as one text, with ellipses for gaps."""
        runs = [mark for mark, own in groupby(self.parts) for mark in ([mark] if mark == OMITTED else own)]
        return " ".join(runs[runs[0] == OMITTED : len(runs) - (runs[-1] == OMITTED)])


def first_title(titles: Iterable[tuple[str, str]], refused: Refused, *, short: bool) -> tuple[str, str]:
    """Return the first title that ``refused`` allows, with source.

    Both are "" if there is none. ``refused`` returns why a text may not be shown, or "". If no other title may be
    shown, ``short`` allows a title of one or two words, or one that is incomplete without its issue number.
    """
    few = ("", "")
    for title, source in titles:
        written = " ".join(_without_asides(without_type(normalise(title, _MAX_TITLE).lstrip(_BULLETS))).split())
        text = _AT_ENDS.sub("", written).strip()
        words = len(_WORD.findall(text))
        machine_written = is_machine_written(written) or is_machine_written(text)
        if words and not machine_written and not has_references(text) and not refused(text, source):
            if words >= _MIN_HEADING and _CONNECTS.search(written) is None:
                return text, source
            few = few if few[0] else (text, source)
    return few if short else ("", "")


def quote_texts(
    texts: Iterable[tuple[str, str]], known: str, refused: Refused, template: Template = NO_TEMPLATE
) -> list[Quotation]:
    """Quote sentences from ``texts`` until they describe the bug.

    ``texts`` are pairs of a text and its source, the best first. Not quoted are lines of ``template``, sentences that
    repeat ``known``, such as the title, and unsuitable sentences: fragments, and those with references or for which
    ``refused`` returns a reason. In the text of a commit or pull request nothing is quoted after the first unsuitable
    sentence, because later sentences often describe the fix.
    """
    found: list[Quotation] = []
    earlier = [("", _stems(known))]
    for text, source in texts:
        if found and found[-1].source != source and says_enough(sentences_of(found)):
            break
        ended = False
        for paragraph in paragraphs(_without_asides(text), template):
            heading = paragraph.heading if source == "issue" else ""
            if heading and (has_references(heading) or refused(heading, source)):
                continue
            parts: list[str] = []
            for each in _sentences(paragraph.text):
                parts.append(OMITTED)
                quoted = [*sentences_of(found), *(part for part in parts if part != OMITTED)]
                # Messages describe first the bug, and then the fix.
                full = says_enough(quoted) if source in MESSAGES else len(quoted) >= _MAX_SENTENCES
                stems = _stems(without_type(each))
                repeats = any(stems <= one for under, one in earlier if under in {"", heading})
                if ended or full or repeats:
                    continue
                if is_sentence(each, source, paragraph.form) and not has_references(each) and not refused(each, source):
                    parts[-1] = each
                    earlier.append((heading, stems))
                else:
                    ended = source in MESSAGES
            if set(parts) - {OMITTED}:
                found.append(Quotation(source, tuple(parts), heading))
    return found


def quotation_parts(passages: Iterable[Quotation]) -> list[str]:
    """Return the quotations as Markdown paragraphs, with their sources."""
    parts = []
    for source, own in groupby(passages, lambda each: each.source):
        lines, heading = [], ""
        for each in own:
            shown = each.heading if each.heading.endswith("?") else f"{each.heading}:"
            lines.append(f"> *{shown}* {each.text}" if each.heading not in {"", heading} else f"> {each.text}")
            heading = each.heading
        parts += [_INTRODUCTIONS[source], "\n>\n".join(lines)]
    return parts


def sentences_of(passages: Iterable[Quotation]) -> list[str]:
    """Return the sentences of all quotations."""
    return [sentence for each in passages for sentence in each.sentences]


def says_enough(sentences: Collection[str]) -> bool:
    """Return whether ``sentences`` describe a bug without an example.

    Two sentences are enough, or one that contains code.
    """
    return len(sentences) >= _ENOUGH or any(map(_HAS_CODE.search, sentences))


def is_sentence(text: str, source: str, form: Form = "paragraph") -> bool:
    """Return whether ``text`` is a complete sentence, not an introduction.

    Each source has rules of its own for the ``form`` of a text.
    """
    bare = CODE.sub("", text)
    prose = source not in {*MESSAGES, "issue"} or _FINISHED.search(text) is not None
    told = text if prose else _NAMED.sub("", text)
    if source in MESSAGES:
        prose = prose and form in {"paragraph", "line"}  # items describe the fix
    elif source == "issue":
        prose = prose or form in {"paragraph", "step"}  # other lines and items list versions
    return (
        prose
        and _MIN_WORDS <= len(_WORD.findall(told)) <= _MAX_WORDS
        and not text.endswith(":")
        and "`" not in bare
        and _SOURCE.search(bare) is None
    )


def _sentences(text: str) -> Iterator[str]:
    """Yield a text's sentences, except references."""
    at = 0
    for end in [*(match.span() for match in _END.finditer(CODE.sub(lambda code: "X" * len(code[0]), text))), (None, 0)]:
        sentence = text[at : end[0]].strip()
        at = end[1]
        if sentence and not is_reference(sentence):
            yield sentence


def _without_asides(text: str) -> str:
    return _ASIDE.sub(lambda match: match[1] or "", normalise(text))


def _stems(text: str) -> set[str]:
    words = _SIGN.findall(_key(text))
    return {word[:_STEM] if word.isalpha() else word for word in words if not _SHORT.fullmatch(word)}


def _key(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
