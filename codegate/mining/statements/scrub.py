"""Reduce people's texts about a change to prose.

References, patches, templates and text that merges add are removed. The text is hostile (anybody can open an issue):
every pattern here is bounded, so that time grows linearly with the text's length. A text that still changes after a few
passes is given up.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final

MAX_READ: Final = 50_000
MAX_CHARACTERS: Final = 6000
_MAX_TITLE: Final = 300
_MAX_PASSES: Final = 8
_MAX_LINE: Final = 2000
_MAX_UNDERLINED: Final = 80

_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_IMAGE: Final = re.compile(r"!\[[^\]\n]{0,300}\]\([^)\n]{0,1000}\)|!\[[^\]\n]{0,300}\]\[[^\]\n]{0,300}\]")
#: HTML that is only markup; inside of code it stays.
_MARKUP: Final = re.compile(
    r"</?(?:details|summary|p|br|hr|div|center|sub|sup)\b[^>\n]{0,200}>|<img\b[^>]{0,1000}>", re.IGNORECASE
)
_FENCE: Final = re.compile(r"[ \t>]{0,20}(`{3,}|~{3,})[^`\n]{0,200}")
_PATCH_HEADER: Final = re.compile(r"\s*(?:diff --git |index [0-9a-f]{7,64}\.\.|--- a/|\+\+\+ b/|@@ -\d)")
_PATCH_LINE: Final = re.compile(r"[ \t]*[+-](?![ +-])\S")
_INSIDE_PATCH: Final = re.compile(r"[ \t]+\S|[+\-\\@]|--- |\+\+\+ |(?:new|deleted) file mode|similarity index|rename ")
_TRAILER: Final = re.compile(
    r"[ \t]{0,8}(?:[A-Z][a-z]{1,30}-(?:[A-Za-z]{1,30}-){0,3}(?:[Bb]y|[Ii]d|[Tt]o|[Ff]rom|[Aa]uthor)|Cc|CC"
    r"|Fixes|Closes|Resolves|Refs?)[ \t]{0,8}:\s.*"
)
_PLUMBING: Final = re.compile(
    r"\s{0,8}(?:Merge (?:pull request|PR|branch|branches|remote-tracking|tag)\b.*|Merged (?:in|PR)\b.*"
    r"|See merge request .*|Auto merge of .*|\(cherry picked from .*|(?:# )?Conflicts:.*"
    r"|[-*+][ \t]{0,8}\[[ xX]\].*|\d{1,9}: .* r=\S+.*|-{3,}|\*{3,}|_{3,}|_?No response_?)\s*",
    re.IGNORECASE,
)
_NUMBER: Final = r"(?:[#!]\d{1,12})"
_SHORT: Final = r"(?:\b[\w.-]{1,100}/[\w.-]{1,100}[#!]\d{1,12}|\b[Gg][Hh]-\d{1,12})"
_VERB: Final = (
    r"(?:\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|see|related to|part of|issue|pr|pull request)\b:?[ \t]{0,4})?"
    r"(?:\bissue[ \t]{1,4})?"
)
_MORE: Final = rf"(?:[ \t]{{0,4}}(?:,|and|&)?[ \t]{{0,4}}{_NUMBER})*"
_REFERENCE: Final = re.compile(rf"{_VERB}(?:{_SHORT}|(?<![\w&]){_NUMBER}+){_MORE}", re.IGNORECASE)
#: In code, ``!1`` is a negation, and ``#00ff12`` a colour.
_CODE_REFERENCE: Final = re.compile(rf"{_VERB}(?:{_SHORT}|(?<![\w&])#[1-9]\d{{0,11}}(?!\w))", re.IGNORECASE)
_LINK: Final = re.compile(r"(?:https?|git|ssh)://[^\s)>\]\"'`]{1,2000}|\bgit@[\w.-]{1,100}:[\w./-]{1,200}")
_LINKED: Final = re.compile(r"\[([^\[\]\n]{0,300})\]\((?:https?|git|ssh)://[^\s)]{1,2000}+[^)\n]{0,200}+\)")
#: A link to the page of a person or group, which is named by it.
_PROFILE: Final = re.compile(
    r"\[@?([\w.-]{1,100})\]\(https?://[\w.-]{1,100}/\1/?\)|`@?([\w.-]{1,100}) <https?://[\w.-]{1,100}/\2/?>`__?",
    re.IGNORECASE,
)
_SHA: Final = re.compile(r"\b(?=[0-9a-f]{0,64}[0-9])(?=[0-9a-f]{0,64}[a-f])[0-9a-f]{7,64}\b")
_MENTION: Final = re.compile(r"(?<![\w/`.@])@[A-Za-z\d](?:[A-Za-z\d-]{0,38}[A-Za-z\d])?(?![\w(\[/@-]|\.\w)")
_DECORATORS: Final = frozenset(
    "property staticmethod classmethod dataclass override overload abstractmethod cached cache contextmanager param"  # noqa: SIM905
    " media import deprecated".split()
)
#: Empty brackets or backticks left after a reference was removed; other code stays (group 1).
_EMPTY_BRACKETS: Final = re.compile(
    r"(``[^`\s][^`\n]{0,300}``|`[^`\n]{1,300}`)|(?<!\w)[(\[][ \t]{0,3}[,;.]?[ \t]{0,3}[)\]]|(?<!`)``(?!`)"
)
#: Inline code, with the role and underscores of reStructuredText and MyST.
_INLINE_CODE: Final = re.compile(r"(``[^`\n]{1,500}``|(?::[\w:+-]{1,30}:|\{[\w:+-]{1,30}\})?`[^`\n]{1,500}`_{0,2})")
#: A role of a number is a reference, that of a user a mention.
_REFERENCE_ROLE: Final = re.compile(r"(?::[\w:+-]+:|\{[\w:+-]+\})`(?:#?\d+|[^`<]+ ?<\d+>)`|[:{]user[:}]`[^`]+`")
_NO_CODE: Final = re.compile(r"(?::[\w:+-]{1,30}:)?`[\W_]*`_{0,2}")
_LEFT_ALONE: Final = re.compile(
    r"[\s>*_#-]*(?:see(?: also)?|refs?|references?|issues?|bugs?|related(?: to)?|tickets?|pr|thanks|cc)?[\s*_:.,;-]*",
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


def scrub_text(title: str, body: str) -> str:
    """Return the prose in a title and body, or "".

    Removed are commit ids, references (``#1``, ``a/b#1``, ``GH-1``), links, mentions, trailers, HTML comments, images,
    code fences, patches, checklists, text that merges add, headings, and the sections of templates that describe how
    something was done.
    """
    title = _until_unchanged(" ".join(normalise(title, _MAX_TITLE * 4).split()), _scrub_title)
    text = _until_unchanged(normalise(body), _one_pass)
    lines = text.split("\n")
    while title and lines and lines[0].strip(" *#.") in {title.strip(" *#."), ""} and text:
        lines = lines[1:]
        text = "\n".join(lines)
    return "\n\n".join(part for part in (title, text.strip("\n")) if part)


def _until_unchanged(text: str, once: Callable[[str], str]) -> str:
    """Apply ``once`` to a text until the text stays equal.

    Return "" if it still changes after ``_MAX_PASSES`` passes.
    """
    for _ in range(_MAX_PASSES):
        before, text = text, once(text)
        if text == before:
            return text
    return ""


def _scrub_title(line: str) -> str:
    return "" if _is_plumbing(line) else " ".join(_without_references(line).split())[:_MAX_TITLE].strip()


def _one_pass(text: str) -> str:
    lines = list(_without_fences(_COMMENT.sub("", text).split("\n")))
    prose = _without_sections(list(_without_patches(lines)))
    kept = [_without_references(_without_markup(line[:_MAX_LINE])) for line in prose if not _is_plumbing(line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()[:MAX_CHARACTERS].rstrip()


def _without_fences(lines: list[str]) -> Iterator[str]:
    """Yield the lines outside of code fences.

    An unclosed fence reaches to the end.
    """
    opened: re.Match[str] | None = None
    for line in lines:
        if opened is None:
            opened = _FENCE.fullmatch(line)
            if opened is None:
                yield line
            continue
        closing = line.strip(" \t>")
        if len(closing) >= len(opened[1]) and not closing.strip(opened[1][0]):
            opened = None


def _is_plumbing(line: str) -> bool:
    return any(pattern.fullmatch(line) for pattern in (_TRAILER, _PLUMBING))


def _without_patches(lines: list[str]) -> Iterator[str]:
    inside = False
    for number, line in enumerate(lines):
        if _PATCH_HEADER.match(line):
            inside = True
        elif inside:
            inside = _INSIDE_PATCH.match(line) is not None
        if not inside and not _is_replacement(lines, number):
            yield line


def _is_replacement(lines: list[str], number: int) -> bool:
    if not _PATCH_LINE.match(lines[number]):
        return False
    sign = lines[number].lstrip()[0]
    around = (lines[other] for other in (number - 1, number + 1) if 0 <= other < len(lines))
    return any(_PATCH_LINE.match(line) and line.lstrip()[0] != sign for line in around)


def _without_markup(line: str) -> str:
    parts = _INLINE_CODE.split(_IMAGE.sub("", line))
    parts[::2] = [_MARKUP.sub("", part) for part in parts[::2]]
    return "".join(parts)


def _without_references(line: str) -> str:
    bare = line.replace("()", "\ue000").replace("[]", "\ue001")  # brackets of the text itself stay
    for _ in range(_MAX_PASSES):  # removing a reference may uncover another one ("#1#2")
        before = bare
        bare = _LINK.sub(" ", _LINKED.sub(r"\1", _PROFILE.sub(" ", bare)))
        parts = _INLINE_CODE.split(bare)
        parts[::2] = [_MENTION.sub(_unless_decorator, _REFERENCE.sub(" ", part)) for part in parts[::2]]
        parts[1::2] = map(_code_without_references, parts[1::2])
        bare = _EMPTY_BRACKETS.sub(lambda match: match[1] or " ", _SHA.sub(" ", "".join(parts)))
        if bare == before:
            break
    else:
        return ""
    bare = bare.replace("\ue000", "()").replace("\ue001", "[]")
    if bare == line:
        return line.rstrip()
    if _LEFT_ALONE.fullmatch(bare):
        return ""
    indent = line[: len(line) - len(line.lstrip())]
    # What stood around a reference must not begin or end the line ("Fixes #1. The text" leaves ". The text").
    text = re.sub(r"[ \t]([.,;:!?])(?=\s|$)", r"\1", re.sub(r"[ \t]+", " ", bare))
    text = re.sub(r"^(?:[ .,;)]|:(?!\w))+", "", text)
    text = re.sub(r"(?<!\.)([.!?])(?!\.\.)(?:[ \t]{0,2}[.,;:]){1,5}(?=\s|$)", r"\1", text)
    last = line.rsplit(maxsplit=1)[-1]
    return indent + (text if text.endswith(last) else text.rstrip(" ,;:-(")) if text else ""


def _code_without_references(code: str) -> str:
    if _REFERENCE_ROLE.fullmatch(code):
        return ""
    bare = _CODE_REFERENCE.sub("…", code)
    return "" if bare != code and _NO_CODE.fullmatch(bare) else bare


def _unless_decorator(mention: re.Match[str]) -> str:
    return mention[0] if mention[0][1:] in _DECORATORS else " "


def _without_sections(lines: list[str]) -> Iterator[str]:
    """Yield the lines outside of headings, checklists and similar sections."""
    skipping: int | None = None
    in_label = False
    for number, line in enumerate(lines):
        if number and _is_underline(lines, number):
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
        if heading is not None:
            yield ""
        elif skipping is None and not in_label:
            yield line


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
