"""Paragraphs that people wrote, as plain sentences: without marks, links, pictures and credits."""

import re
from collections.abc import Iterator
from typing import Final

WORD: Final = re.compile(r"[^\W\d_]{2,}")
_END: Final = re.compile(
    r"(?<=[.!?])[\"')`]{0,2}\s+(?=[\"'(`]{0,2}(?:[A-Z`:]|\w+_\w|\w+\(\)))|(?<![\"'(`]);\s+|\s+[-–—]{1,2}\s+(?=previously\b)"
)
_NOT_AN_END: Final = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|No|Fig|al)|\b[A-Z])\.$")
#: ``{issue}`12``` of MyST is ``:issue:`12``` of reStructuredText.
_MYST_ROLE: Final = re.compile(r"\{([\w:+-]{1,30})\}(?=`)")
_ROLE: Final = re.compile(r":[\w:+-]{1,30}:`~?([^`<>\n]{1,200}?)(?:\s*<[^>\n]{0,200}>)?`")
_REFERENCE: Final = re.compile(
    r":(?:issue|pr|pull|gh|user|ghsa|cve|bug|commit|ticket)s?:`[^`\n]{1,100}`|`#\d{1,7}`__?"
    r"|\((?:(?:close|fixe)s )?(?:issue|pr|pull|gh|bug|ticket)s?[- ]?\d{1,7}\b[^()]{0,60}\)",
    re.IGNORECASE,
)
#: Pictures that some projects mark changes with.
_PICTURES: Final = re.compile(r"^(?:(?:[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]\ufe0f?|:[a-z_]{2,30}:)\s*)+")
_MARKDOWN_LINK: Final = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^()\n]{0,500}\)")
_DOUBLE: Final = re.compile(r"``([^`\n]{1,300})``")
_CREDIT: Final = re.compile(
    r"\(?\b(?:Thanks(?: to)?|Patch by|Contributed by|Reported by|Courtesy of|Co-authored-by)\b[^.]{0,120}\.?"
    r"| ?\((?:a |an |the )?(?:bug |error |regression )?introduced (?:in|by|with)\b[^()]{0,60}\)"
    r"|,? introduced (?:in|by) v?\d[\w.]*",
    re.IGNORECASE,
)
TRAILING: Final = re.compile(
    r"\s*(?:\((?:by|thanks|via|see|patch|reported|contributed)\b[^()]{0,100}\)|\s[-–—]\s*@\w+"
    r"|\s\[[A-Za-z][\w. -]{1,30}\])\s*\.?$",
    re.IGNORECASE,
)
PREFIX: Final = re.compile(
    r"^(?:(?:\*\*)?(?:fix(?:es|ed)?|bug ?fix(?:es)?|bugs?|breaking(?: change)?|feat|chore|hotfix|regression|perf"
    r"|internal|security)(?:\([^()]{0,60}\))?!?(?:\*\*)?:\s+|\[[^\]]{1,40}\]:?\s+|\*\*[\w.() -]{1,60}:?\*\*:?\s+"
    r"|fix:\([^()]{0,60}\)\s+|`?[\w.-]{1,40}`?:\s+(?=[A-Za-z`])){1,2}",
    re.IGNORECASE,
)
CAUSE: Final = re.compile(
    r"^(?:because of|due to|owing to) [^,]{2,80}, |(?:,|,? --)? (?:because|since|due to|as a result of|mirroring)\b.*",
    re.IGNORECASE,
)
#: Code in a sentence.
CODE: Final = re.compile(r"`[^`]*`")


def plain(text: str) -> str:
    """Return ``text`` without marks, pictures, links and credits, and without when a bug began."""
    text = _MYST_ROLE.sub(r":\1:", text)
    text = _ROLE.sub(r"`\1`", _REFERENCE.sub("", text))
    text = _CREDIT.sub("", _DOUBLE.sub(r"`\1`", text))
    return _PICTURES.sub("", " ".join(_MARKDOWN_LINK.sub(r"\1", text).split()).strip(" -*•"))


def split(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph."""
    pending = ""
    for part in _END.split(" ".join(text.split())):
        pending = f"{pending} {part}".strip()
        if not _NOT_AN_END.search(pending):
            yield pending
            pending = ""
    if pending:
        yield pending


def is_whole(text: str) -> bool:
    """Return whether the code marks, quotes and brackets of ``text`` are all closed."""
    prose = CODE.sub("", text)
    brackets = "".join(letter for letter in prose if letter in "()[]{}")
    while brackets != (inner := re.sub(r"\(\)|\[\]|\{\}", "", brackets)):
        brackets = inner
    return not brackets and "`" not in prose and not prose.count('"') % 2
