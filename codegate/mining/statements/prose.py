"""Find the prose in people's texts about a change.

Text is taken as it is, or left out. It is hostile (anybody can open an issue): every pattern here is bounded, so that
time grows linearly with the text's length.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

MAX_READ: Final = 50_000
_MAX_LINE: Final = 2000
_MAX_UNDERLINED: Final = 80

#: Code, and what a page does not show, or not at once.
_HIDDEN: Final = re.compile(
    r"(`[^`\n]{1,500}`)|(^[ \t]{0,20})?<!--.*?(?:-->|\Z)|(<details\b).*?(?:</details>|\Z)",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_FENCE: Final = re.compile(r"[ \t]{0,20}(`{3,}|~{3,})[^`\n]{0,200}")
_PATCH_HEADER: Final = re.compile(r"\s*(?:diff --git |index [0-9a-f]{7,64}\.\.|--- a/|\+\+\+ b/|@@ -\d)")
_PATCH_LINE: Final = re.compile(r"[ \t]*[+-](?![ +-])\S")
_INSIDE_PATCH: Final = re.compile(r"[ \t]+\S|[+\-\\@]|(?:new|deleted) file mode|similarity index|rename ")
#: Lines that git, forges and templates write, and lines of markup.
_PLUMBING: Final = re.compile(
    r"\s{0,8}(?:[A-Za-z]{2,30}-(?:[a-z]{1,30}-){0,3}(?:by|id|to|from|author):\s.*"
    r"|(?:CC|Fixes|Closes|Resolves|Refs?)[ \t]{0,8}:\s.*"
    r"|Merge (?:pull request|PR|branch|branches|remote-tracking|tag)\b.*|Merged (?:in|PR)\b.*"
    r"|See merge request .*|Auto merge of .*|\(cherry picked from .*|(?:# )?Conflicts:.*"
    r"|[-*+][ \t]{0,8}\[[ x]\].*|\d{1,9}: .* r=\S+.*|-{3,}|\*{3,}|_{3,}|_?No response_?|<[/a-z].*>)\s*",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"``[^`\n]{1,500}``|`[^`\n]{1,500}`")
#: A number of an issue, also in a role (``:issue:`1` ``), an address, a commit's id, or the role of a user.
_REFERENCE: Final = re.compile(
    r"(?:\b[\w.-]{1,100}/[\w.-]{1,100}|(?<![\w&]))#[1-9]\d{0,11}(?!\w)|\b[Gg][Hh]-\d{1,12}"
    r"|(?::[\w:+-]{1,30}:|\{[\w:+-]{1,30}\})`(?:\d{1,12}|[^`<\n]{1,100} ?<\d{1,12}>)`|[:{]user[:}]`[^`\n]{1,100}`"
    r"|(?:https?|git|ssh)://[^\s)>\]\"'`]{1,2000}|\bgit@[\w.-]{1,100}:"
    r"|\b(?=[0-9a-f]{0,64}[0-9])(?=[0-9a-f]{0,64}[a-f])[0-9a-f]{7,64}\b"
)
#: A person, an image or markup; inside of code they stay.
_OUTSIDE_CODE: Final = re.compile(
    r"(?<![\w/.@])@[A-Za-z\d][\w-]{0,38}(?![\w(\[/@-]|\.\w)|!\[[^\]\n]{0,300}\][(\[]"
    r"|<!--|-->|</?(?:summary|p|br|hr|div|center|sub|sup|img|li|ul|ol)\b",
    re.IGNORECASE,
)
NUMBERS: Final = (
    r"(?:\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|see|related to|part of|issue|bug|pr|pull request)[\s:]{1,4})*"
    r"(?:[\w.-]{1,100}/[\w.-]{1,100})?(?:[#!]|GH-)\d{1,12}(?:[\s,&]{0,4}(?:and )?(?:[#!]|GH-)\d{1,12}){0,9}\b"
)
"""A pattern of one or more numbers of issues, with the words that close them."""
_LEADING: Final = re.compile(
    rf"(?:(?i:{NUMBERS})|`#\d{{1,12}} <[^>\n]{{1,300}}>`_{{1,2}}|https?://\S{{1,300}})(?:[.:]\s+|\s+[-–—]\s+|\s+(?=[A-Z]))"
)
_LINKED: Final = re.compile(r"\[([^\[\]\n]{0,300})\]\((?:https?|git|ssh)://[^\s)]{1,2000}+[^)\n]{0,200}+\)")
#: A link to the page of a person or group, which is named by it.
_PROFILE: Final = re.compile(r"\[@?([\w.-]{1,100})\]\(https?://[\w.-]{1,100}/\1/?\)", re.IGNORECASE)
#: Words around references that say nothing else.
_AROUND: Final = re.compile(
    r"(?:[\W_]*\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|see|also|refs?|references?|issues?|bugs?|related|part|of|to|for"
    r"|in|and|tickets?|pr|pull|request|thanks|cc)\b)*[\W_]*",
    re.IGNORECASE,
)

_HASHES: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(.{1,300}?)[ \t#]*")
_BOLD: Final = re.compile(
    r"[ \t]{0,3}(\*\*|__)([^*_\n]{1,120})\1[ \t]{0,3}:?[ \t]*|[ \t]{0,3}(\*\*|__)([^*_\n]{1,120}):\3[ \t]*"
)
_LABEL: Final = re.compile(r"([A-Z][A-Za-z' ]{2,60}):[ \t]*")
_UNDERLINE: Final = re.compile(r"(?:={2,}|-{2,})[ \t]*")
_LIST_ITEM: Final = re.compile(r"[ \t]{0,20}(?:[-*+]|\d{1,4}[.)])[ \t]|[ \t]{2,}\S")
#: Sections of templates that describe the fix, or say nothing about the bug.
_NOT_FOR_THE_MODEL: Final = re.compile(
    r"(?:unit |new |added )?tests?(?: added| plan| cases?| coverage)?|testing(?: done| instructions| plan)?|tested"
    r"|how (?:ha[sd]|have|was|were|did|is|to|do|can) (?:this|it|these|you|that)?\b.{0,60}(?:test|verif|review).{0,40}"
    r"|how (?:it|this|that|the \w+) (?:was|is|were|gets?) (?:fixed|solved|done|resolved|implemented)"
    r"|how (?:does|do|did) (?:this|it|these|we|i)\b.{0,60}(?:fix|work|solve|address).{0,40}"
    r"|(?:summary of |list of |proposed |main |key |code |the |other )?changes?(?: made| proposed| summary| log)?"
    r"|what(?:'s| has| was| is)? (?:changed?|new|done|fixed)"
    r"|what (?:does|do|did) (?:this|these) .{0,60}(?:do|change).{0,20}"
    r"|changelog(?: entry)?|release notes?|news(?: entry| fragment)?|implementation(?: details| notes)?|approach"
    r"|(?:the |proposed |suggested |possible |potential |my )?(?:fix|solution|patch|resolution)(?:es|s)?"
    r"|suggest(?:ed|ion)s?(?: fix| for a fix)?|(?:pr |pull request |contributor |author |review )?check ?lists?"
    r"|to ?do(?:s| list)?|types? of changes?|kind of change|reviewers?|review notes?|notes? (?:for|to) reviewers?"
    r"|related(?: issues?| prs?| pull requests?| links?| tickets?)?(?: (?:and|or) .{0,40})?|(?:linked |closes )issues?"
    r"|references?|links?|before (?:submitting|you|merging|opening).{0,60}|code of conduct"
    r"|(?:are|would) you (?:willing|like) to.{0,60}|ai (?:disclosure|usage).{0,40}|documentation(?: updates?)?"
    r"|breaking changes?|screenshots?|deployment(?: notes)?",
    re.IGNORECASE,
)


def normalise(text: str, limit: int = MAX_READ) -> str:
    """Return ``text`` with line feeds and visible characters only.

    Characters after the first ``limit`` are left out.
    """
    text = re.sub(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "\n", text[:limit])
    kept = (
        character for character in text if character in "\n\t" or unicodedata.category(character) not in {"Cf", "Cc"}
    )
    return re.sub(r"[^\S\n]{80,}", " " * 4, "".join(kept)).encode("utf-8", "replace").decode("utf-8")


def prose(text: str) -> str:
    """Return a text's lines, emptied where they are no prose.

    Emptied lines stay, so that no sentence goes on behind them. They are HTML comments, folds, code fences, patches,
    checklists, trailers, text that merges add, lines of references alone, headings, and the sections of templates that
    describe how something was done. A link is replaced by its text, a comment inside a line by an empty one.
    """
    lines = [line[:_MAX_LINE] for line in _HIDDEN.sub(_without_hidden, normalise(text)).split("\n")]
    lines = list(_without_sections(list(_without_patches(list(_without_fences(lines))))))
    kept = [""]
    for line in lines:
        # A line of references may also end the sentence of the line before.
        apart = not kept[-1].strip() or kept[-1].endswith((".", "!", "?")) or line[:1].isupper()
        left_out = is_plumbing(line) or (apart and is_reference(line))
        leading = _LEADING.match(line) if apart else None
        kept.append("" if left_out else _LINKED.sub(_text_of_link, line[leading.end() :] if leading else line))
    return "\n".join(kept[1:])


def _without_hidden(found: re.Match[str]) -> str:
    code, begins_line, fold = found.groups()
    return code or ("" if begins_line is not None or fold else "<!-- -->")


def _text_of_link(link: re.Match[str]) -> str:
    return link[0] if _PROFILE.fullmatch(link[0]) else link[1]


def has_references(text: str) -> bool:
    """Return whether a text has references, images, mentions or tags."""
    return bool(_REFERENCE.search(text) or _OUTSIDE_CODE.search(_CODE.sub("", text)))


def without_references(text: str) -> str:
    """Return a text with a blank for each reference."""
    return _OUTSIDE_CODE.sub(" ", _REFERENCE.sub(" ", text))


def is_reference(text: str) -> bool:
    """Return whether a text says nothing beside references."""
    bare = without_references(text)
    return bare != text and _AROUND.fullmatch(bare) is not None


def is_plumbing(line: str) -> bool:
    """Return whether a program or a template wrote a line."""
    return _PLUMBING.fullmatch(line) is not None


def _without_fences(lines: list[str]) -> Iterator[str]:
    """Yield the lines, empty ones for code fences.

    An unclosed fence reaches to the end.
    """
    opened: re.Match[str] | None = None
    for line in lines:
        if opened is None:
            opened = _FENCE.fullmatch(line)
            yield line if opened is None else ""
            continue
        yield ""
        closing = line.strip()
        if len(closing) >= len(opened[1]) and not closing.strip(opened[1][0]):
            opened = None


def _without_patches(lines: list[str]) -> Iterator[str]:
    inside = False
    for number, line in enumerate(lines):
        inside = _PATCH_HEADER.match(line) is not None or (inside and _INSIDE_PATCH.match(line) is not None)
        yield "" if inside or _is_replacement(lines, number) else line


def _is_replacement(lines: list[str], number: int) -> bool:
    if not _PATCH_LINE.match(lines[number]):
        return False
    sign = lines[number].lstrip()[0]
    around = (lines[other] for other in (number - 1, number + 1) if 0 <= other < len(lines))
    return any(_PATCH_LINE.match(line) and line.lstrip()[0] != sign for line in around)


def _without_sections(lines: list[str]) -> Iterator[str]:
    """Yield the lines, empty ones for headings and similar sections."""
    skipping: int | None = None
    in_label = False
    for number, line in enumerate(lines):
        if number and _is_underline(lines, number):
            yield ""
            continue
        underlined = number + 1 < len(lines) and _is_underline(lines, number + 1)
        heading = (1 if lines[number + 1][0] == "=" else 2, _heading_words(line)) if underlined else _heading(line)
        if heading is not None and (skipping is None or heading[0] <= skipping):
            skipping = heading[0] if _NOT_FOR_THE_MODEL.fullmatch(heading[1]) else None
            in_label = False
        if in_label:
            in_label = not line.strip() or _LIST_ITEM.match(line) is not None
        label = _LABEL.fullmatch(line)
        in_label = in_label or (label is not None and _NOT_FOR_THE_MODEL.fullmatch(label[1].strip()) is not None)
        yield line if heading is None and skipping is None and not in_label else ""


def _is_underline(lines: list[str], number: int) -> bool:
    above = lines[number - 1].strip()
    paragraph = 0 < len(above) <= _MAX_UNDERLINED and not above.startswith(("#", "-", "*", ">", "|"))
    first = number == 1 or not lines[number - 2].strip()
    return paragraph and first and _UNDERLINE.fullmatch(lines[number]) is not None


def _heading(line: str) -> tuple[int, str] | None:
    hashes, bold = _HASHES.fullmatch(line), _BOLD.fullmatch(line)
    if hashes is not None:
        return len(hashes[1]), _heading_words(hashes[2])
    return (7, _heading_words(bold[2] or bold[4])) if bold is not None else None


def _heading_words(heading: str) -> str:
    words = re.sub(r"[^\w' /-]+", " ", re.sub(r":\w{1,40}:", " ", heading.replace("\u2019", "'")))
    return " ".join(re.sub(r"^[\d\s.)-]+", "", words).split())
