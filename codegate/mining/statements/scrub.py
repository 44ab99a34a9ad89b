"""Scrubbing what people wrote about a change: no reference to the fix, no patch, no template, no plumbing is left.

The text is hostile (anybody can open an issue): every pattern here is bounded, so that the time grows with the
length of the text and no faster, and what does not settle after a few passes is given up.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAX_READ: Final = 50_000
MAX_CHARACTERS: Final = 6000
_MAX_TITLE: Final = 300
_MAX_PASSES: Final = 8
_MAX_LINE: Final = 2000
_MAX_UNDERLINED: Final = 80
_ROOM_FOR_FENCE: Final = 100

_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_IMAGE: Final = re.compile(
    r"!\[[^\]\n]{0,300}\]\([^)\n]{0,1000}\)|!\[[^\]\n]{0,300}\]\[[^\]\n]{0,300}\]|<img\b[^>]{0,1000}>"
)
_FOLD: Final = re.compile(r"</?(?:details|summary|p|br|hr|div|center|sub|sup)\b[^>\n]{0,200}>", re.IGNORECASE)
_FENCE: Final = re.compile(r"[ \t>]{0,20}(`{3,}|~{3,})([^`\n]{0,200})")
_PATCH_INFO: Final = re.compile(r"(?:diff|patch|udiff|suggestion)\b", re.IGNORECASE)
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
_CODE_REFERENCE: Final = re.compile(_SHORT)
_LINK: Final = re.compile(r"(?:https?|git|ssh)://[^\s)>\]\"'`]{1,2000}|\bgit@[\w.-]{1,100}:[\w./-]{1,200}")
_LINKED: Final = re.compile(r"\[([^\[\]\n]{0,300})\]\(((?:https?|git|ssh)://[^\s)]{1,2000}+)[^)\n]{0,200}+\)")
#: Where a link may lead to the change itself: the forges, their look-alikes, trackers, registries and archives.
_GIVING_HOST: Final = re.compile(
    r"(?:^|[./@])(?:(?:\w{1,20}\.){0,3}github(?:usercontent)?|gitlab|bitbucket|codeberg|gitea|gitee|gogs|sourceforge"
    r"|launchpad|phabricator|gerrit|jira|redmine|trac|bugs|bugzilla|git|code|pypi|npmjs|unpkg|jsdelivr|goproxy|pkg\.go"
    r"|web\.archive|gist|patch-diff|sr\.ht)\b",
    re.IGNORECASE,
)
_GIVING_PATH: Final = re.compile(
    r"/(?:issues?|pulls?|pr|merge_requests|pull-requests|commits?|compare|blob|tree|raw|changeset|browse)/"
    r"|\.(?:patch|diff)\b|/-/",
    re.IGNORECASE,
)
_SHA: Final = re.compile(r"\b(?=[0-9a-f]{0,64}[0-9])(?=[0-9a-f]{0,64}[a-f])[0-9a-f]{7,64}\b")
_FULL_SHA: Final = re.compile(r"\b[0-9a-f]{40}\b")
_MENTION: Final = re.compile(r"(?<![\w/`.@])@[A-Za-z\d](?:[A-Za-z\d-]{0,38}[A-Za-z\d])?(?![\w.(\[/@-])")
_DECORATORS: Final = frozenset(
    [
        "property",
        "staticmethod",
        "classmethod",
        "dataclass",
        "override",
        "overload",
        "abstractmethod",
        "cached",
        "cache",
        "contextmanager",
        "param",
        "media",
        "import",
        "deprecated",
    ]
)
_EMPTY_BRACKETS: Final = re.compile(r"(?<!\w)[(\[][ \t]{0,3}[,;.]?[ \t]{0,3}[)\]]|(?<!`)``(?!`)")
_INLINE_CODE: Final = re.compile(r"(`[^`\n]{1,500}`)")
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
#: Sections of pull request and issue templates that tell how, or nothing.
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


@dataclass(frozen=True, slots=True)
class Block:
    """Some lines of Markdown: prose, or one code fence with its two fence lines."""

    lines: tuple[str, ...]
    info: str | None = None

    @property
    def is_fence(self) -> bool:
        """Whether it is a code fence."""
        return self.info is not None


def normalise(text: str, limit: int = MAX_READ) -> str:
    """Return the first characters of ``text`` with line breaks of one kind, and nothing invisible or undecodable."""
    text = re.sub(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "\n", text[:limit])
    kept = (
        character for character in text if character in "\n\t" or unicodedata.category(character) not in {"Cf", "Cc"}
    )
    return re.sub(r"[^\S\n]{80,}", " " * 4, "".join(kept)).encode("utf-8", "replace").decode("utf-8")


def scrub_text(title: str, body: str, repository: str = "") -> str:
    """Return title and body without what is not for the model; empty when nothing is left, or nothing settles.

    Gone are commit ids, references (``#1``, ``a/b#1``, ``GH-1``), links to forges, trackers and patches, mentions,
    trailers, HTML comments, images, patches and suggestions, checklists, merge plumbing, and the sections of
    templates that tell how something was done. Other code fences stay: a reproduction is worth gold.

    Args:
        title: one line.
        body: Markdown or a commit message; only its first 50,000 characters are read.
        repository: ``owner/name`` of the project, whose every link goes.
    """
    title = _scrub_title(title, repository)
    text = _settle(body, repository)
    lines = text.split("\n")
    while title and lines and lines[0].strip(" *#.") in {title.strip(" *#."), ""} and text:
        lines = lines[1:]
        text = "\n".join(lines)
    return "\n\n".join(part for part in (title, text.strip("\n")) if part)


def blocks(text: str) -> Iterator[Block]:
    """Split ``text`` into prose and code fences; a fence that nobody closed goes to the end, and is closed."""
    lines: list[str] = []
    opened: re.Match[str] | None = None
    for line in text.split("\n"):
        if opened is None:
            opened = _FENCE.fullmatch(line)
            if opened is not None:
                if lines:
                    yield Block(tuple(lines))
                lines = []
            lines.append(line)
            continue
        lines.append(line)
        closing = line.strip(" \t>")
        if len(closing) >= len(opened[1]) and not closing.strip(opened[1][0]):
            yield Block(tuple(lines), opened[2].strip())
            lines, opened = [], None
    if opened is not None:
        yield Block((*lines, opened[1]), opened[2].strip())
    elif lines:
        yield Block(tuple(lines))


def _scrub_title(title: str, repository: str) -> str:
    line = " ".join(normalise(title, _MAX_TITLE * 4).split())
    for _ in range(_MAX_PASSES):
        before = line
        line = (
            "" if _is_plumbing(line) else " ".join(_without_references(line, repository).split())[:_MAX_TITLE].strip()
        )
        if line == before:
            return line
    return ""


def _settle(body: str, repository: str) -> str:
    """Return the body after as many passes as it takes until nothing changes any more; empty when it never does."""
    text = normalise(body)
    for _ in range(_MAX_PASSES):
        before = text
        text = _pass(text, repository)
        if text == before:
            return text
    return ""


def _pass(text: str, repository: str) -> str:
    kept: list[str] = []
    for block in blocks(_without_comments(text)):
        if not block.is_fence:
            kept += _scrub_prose(block.lines, repository)
        elif not _is_patch(block):
            inner = [_scrub_code(line, repository) for line in block.lines[1:-1]]
            kept += [block.lines[0], *inner, block.lines[-1]] if any(line.strip() for line in inner) else []
    text = "\n".join(_without_sections(kept))
    return _shortened(re.sub(r"\n{3,}", "\n\n", text).strip())


def _without_comments(text: str) -> str:
    """Remove HTML comments, but not the code of fences that shows some."""
    if "<!--" not in text:
        return text
    fences = {"\n".join(block.lines) for block in blocks(text) if block.is_fence and "<!--" in "\n".join(block.lines)}
    if any("-->" not in fence for fence in fences) or not fences:
        return _COMMENT.sub("", text)
    parts = re.split("(" + "|".join(re.escape(fence) for fence in fences) + ")", text)
    return "".join(part if part in fences else _COMMENT.sub("", part) for part in parts)


def _shortened(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    text = text[: MAX_CHARACTERS - _ROOM_FOR_FENCE]
    text = text.rpartition("\n")[0] or text
    return "\n".join(line for block in blocks(text) for line in block.lines)[:MAX_CHARACTERS].rstrip()


def _is_patch(block: Block) -> bool:
    lines = block.lines[1:-1]
    if _PATCH_INFO.match(block.info or "") or any(_PATCH_HEADER.match(line) for line in lines):
        return True
    marked = [line.lstrip()[0] for line in lines if _PATCH_LINE.match(line)]
    return len(set(marked)) > 1 and 2 * len(marked) >= len(lines)


def _scrub_code(line: str, repository: str) -> str:
    """Scrub one line of a code fence: there, ``#1`` and ``@name`` are code, and links lead to what is reproduced."""
    line = _LINK.sub(lambda link: "…" if _gives_away(link[0], repository) else link[0], line[:_MAX_LINE])
    return _CODE_REFERENCE.sub("…", _FULL_SHA.sub("…", line)).rstrip()


def _scrub_prose(lines: tuple[str, ...], repository: str) -> list[str]:
    kept: list[str] = []
    for line in _without_patches(lines):
        if kept and _is_underlined(kept, line):
            kept[-1] = f"{'#' if line[0] == '=' else '##'} {kept[-1].strip()}"
        elif not _is_plumbing(line):
            kept.append(_without_references(_FOLD.sub("", _IMAGE.sub("", line[:_MAX_LINE])), repository))
    return kept


def _is_underlined(kept: list[str], line: str) -> bool:
    above = kept[-1].strip()
    paragraph = 0 < len(above) <= _MAX_UNDERLINED and not above.startswith(("#", "-", "*", ">", "|"))
    return paragraph and (len(kept) == 1 or not kept[-2].strip()) and _UNDERLINE.fullmatch(line) is not None


def _is_plumbing(line: str) -> bool:
    return any(pattern.fullmatch(line) for pattern in (_TRAILER, _PLUMBING))


def _without_patches(lines: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines that are not part of a patch pasted without a fence."""
    inside = False
    for number, line in enumerate(lines):
        if _PATCH_HEADER.match(line):
            inside = True
        elif inside:
            inside = _INSIDE_PATCH.match(line) is not None
        if not inside and not _is_replacement(lines, number):
            yield line


def _is_replacement(lines: tuple[str, ...], number: int) -> bool:
    """Whether a line that begins with one of ``+`` and ``-`` stands next to one that begins with the other."""
    if not _PATCH_LINE.match(lines[number]):
        return False
    sign = lines[number].lstrip()[0]
    around = (lines[other] for other in (number - 1, number + 1) if 0 <= other < len(lines))
    return any(_PATCH_LINE.match(line) and line.lstrip()[0] != sign for line in around)


def _without_references(line: str, repository: str) -> str:
    bare = line
    for _ in range(_MAX_PASSES):  # what is removed may bring another reference to light ("#1#2")
        before = bare
        bare = _LINKED.sub(lambda link: link[1] if _gives_away(link[2], repository) else link[0], bare)
        bare = _LINK.sub(lambda link: " " if _gives_away(link[0], repository) else link[0], bare)
        parts = _INLINE_CODE.split(bare)
        parts[::2] = [_MENTION.sub(_unless_decorator, _REFERENCE.sub(" ", part)) for part in parts[::2]]
        parts[1::2] = [_CODE_REFERENCE.sub("", part) for part in parts[1::2]]
        bare = _EMPTY_BRACKETS.sub(" ", _SHA.sub(" ", "".join(parts)))
        if bare == before:
            break
    else:
        return ""
    if bare == line:
        return line.rstrip()
    if _LEFT_ALONE.fullmatch(bare):
        return ""
    indent = line[: len(line) - len(line.lstrip())]
    # What stood around a reference must not begin or end the line ("Fixes #1. The text" leaves ". The text").
    text = re.sub(r"[ \t]([.,;:!?])(?=\s|$)", r"\1", re.sub(r"[ \t]+", " ", bare)).lstrip(" .,;:)")
    text = re.sub(r"([.!?])(?:[ \t]{0,2}[.,;:]){1,5}(?=\s|$)", r"\1", text)
    return (indent + text).rstrip(" ,;:-(") if text else ""


def _unless_decorator(mention: re.Match[str]) -> str:
    return mention[0] if mention[0][1:] in _DECORATORS else " "


def _gives_away(link: str, repository: str) -> bool:
    place = link.partition("://")[2] or link
    host = place.partition("/")[0]
    own = bool(repository) and f"/{repository.lower()}" in f"/{place.lower()}"
    return own or link.startswith("git@") or bool(_GIVING_HOST.search(host) or _GIVING_PATH.search(place))


@dataclass(frozen=True, slots=True)
class _Heading:
    level: int
    name: str


def _without_sections(lines: list[str]) -> list[str]:
    """Drop the sections that are not for the model, and headings that nothing stands under."""
    kept: list[str] = []
    skipping: int | None = None
    in_label = False
    fences = _fence_lines(lines)
    for number, line in enumerate(lines):
        heading = None if number in fences else _heading(line)
        if heading is not None and (skipping is None or heading.level <= skipping):
            skipping = heading.level if _NOT_FOR_THE_MODEL.fullmatch(heading.name) else None
            in_label = False
        if skipping is not None:
            continue
        label = None if number in fences else _LABEL.fullmatch(line)
        if in_label:
            in_label = not line.strip() or number in fences or _LIST_ITEM.match(line) is not None
        if label is not None and _NOT_FOR_THE_MODEL.fullmatch(label[1].strip()):
            in_label = True
        if not in_label:
            kept.append(line)
    return _without_empty_headings(kept)


def _without_empty_headings(lines: list[str]) -> list[str]:
    kept: list[str] = []
    below: _Heading | None = _Heading(0, "")  # the end of the text is a heading of all
    fences = _fence_lines(lines)
    for number in range(len(lines) - 1, -1, -1):
        heading = None if number in fences else _heading(lines[number])
        if heading is not None and below is not None and below.level <= heading.level:
            continue
        if heading is not None:
            below = heading
        elif lines[number].strip():
            below = None
        kept.append(lines[number])
    return kept[::-1]


def _heading(line: str) -> _Heading | None:
    hashes = _HASHES.fullmatch(line)
    if hashes is not None:
        return _Heading(len(hashes[1]), _name(hashes[2]))
    bold = _BOLD.fullmatch(line)
    if bold is not None:
        return _Heading(7, _name(bold[2] or bold[4]))
    return None


def _name(heading: str) -> str:
    """Return a heading's words: without emoji, marks and numbering."""
    words = re.sub(r"[^\w' /-]+", " ", re.sub(r":\w{1,40}:", " ", heading.replace("\u2019", "'")))
    return " ".join(re.sub(r"^[\d\s.)-]+", "", words).split())


def _fence_lines(lines: list[str]) -> set[int]:
    found: set[int] = set()
    number = 0
    for block in blocks("\n".join(lines)):
        found |= set(range(number, number + len(block.lines))) if block.is_fence else set()
        number += len(block.lines)
    return found
