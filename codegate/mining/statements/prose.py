"""Find the prose in people's texts about a change.

markdown-it-py finds the blocks of a text. Their words are taken as they are, or left out. Text is hostile (anybody can
open an issue): every pattern here is bounded, so that time grows linearly with the text's length.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from markdown_it import MarkdownIt

from codegate.mining.statements.template import NO_TEMPLATE, Template

MAX_READ: Final = 50_000
OMITTED: Final = "[…]"
"""Stands for text that a quotation leaves out."""
_MAX_LINE: Final = 2000
_MAX_UNDERLINED: Final = 80
_FEW_LINES: Final = 2
_MANY_WORDS: Final = 6
_SHORT_LINE: Final = 60
"""Shortest line that an editor may have wrapped; the end of a shorter line is intended."""
_BOLD_LEVEL: Final = 7
"""The heading level of a bold line."""
_MARKUP: Final = " *_:.："

Form = Literal["paragraph", "line", "bullet", "step"]
_MARKDOWN: Final = MarkdownIt("commonmark").enable("table")
_MARKDOWN.core.ruler.enableOnly(["normalize", "block"])

#: Code, and parts that a page hides (comments) or folds (``<details>``).
_HIDDEN: Final = re.compile(
    r"(^[ \t]{0,20}(?P<fence>`{3,}(?![^\n]*`)|~{3,}).*?(?:^[ \t]{0,20}(?P=fence)|\Z)|`[^`\n]{1,500}`)"
    r"|(^[ \t]{0,20})?(?:<!--.*?(?:-->|\Z)|<details\b.*?(?:</details>|\Z))([ \t]{0,20}$)?",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_PATCH_HEADER: Final = re.compile(r"\s*(?:diff --git |index [0-9a-f]{7,64}\.\.|--- a/|\+\+\+ b/|@@ -\d)")
_PATCH_LINE: Final = re.compile(r"[ \t]*[+-](?![ +-])\S")
_INSIDE_PATCH: Final = re.compile(r"[ \t]+\S|[+\-\\@]|(?:new|deleted) file mode|similarity index|rename ")
#: Lines that git, forges and templates write, and lines of markup.
_MACHINE_WRITTEN: Final = re.compile(
    r"\s{0,8}(?:[A-Za-z]{2,30}-(?:[a-z]{1,30}-){0,3}(?:by|id|to|from|author):\s.*"
    r"|(?:CC|Fixes|Closes|Resolves|Refs?)[ \t]{0,8}:\s.*"
    r"|Merge (?:pull request|PR|branch|branches|remote-tracking|tag)\b.*(?:#\d|['\"]| into | of ).*"
    r"|Merged (?:in|PR)\b.*|See merge request .*|Auto merge of .*|\(cherry picked from .*|(?:# )?Conflicts:.*"
    r"|(?:[-*+][ \t]{0,8})?\[[ x]\].*|\d{1,9}: .* r=\S+.*|-{3,}|\*{3,}|_{3,}|_?No response_?|<[/a-z][^<>]*>"
    r"|(?:!\[[^\]\n]{0,300}\]\([^)\n]{1,2000}\)[ \t]{0,8}){1,9})\s*",
    re.IGNORECASE,
)
CODE: Final = re.compile(r"(?P<ticks>`{1,3})(?!`)[^\n]{1,500}?(?<!`)(?P=ticks)(?!`)")
"""Pattern of a span of code."""
#: An issue's number in a role (``:issue:`1` ``), a user in a role, or an address.
_LINK: Final = re.compile(
    r"(?::[\w:+-]{1,30}:|\{[\w:+-]{1,30}\})`(?:\d{1,12}|[^`<\n]{1,100} ?<\d{1,12}>)`|[:{]user[:}]`[^`\n]{1,100}`"
    r"|(?:https?|git|ssh)://[^\s)>\]\"'`]{1,2000}|\bgit@[\w.-]{1,100}:"
)
#: A number of an issue or merge request, a commit's id, a person, an image or markup. Inside of code, these stay.
_OUTSIDE_CODE: Final = re.compile(
    r"(?:\b[\w.-]{1,100}/[\w.-]{1,100}|(?<![\w&]))#[1-9]\d{0,11}(?!\w)|\b[Gg][Hh]-\d{1,12}"
    r"|(?<![\w!])![1-9]\d{0,11}(?!\w)|\b(?=[0-9a-f]{0,64}[0-9])(?=[0-9a-f]{0,64}[a-f])[0-9a-f]{7,64}\b"
    r"|(?<![\w/.@])@[A-Za-z\d][\w-]{0,38}(?![\w(\[/@-]|\.\w)|!\[[^\]\n]{0,300}\][(\[]"
    r"|(?i:<!--|-->|</?(?:summary|p|br|hr|div|center|sub|sup|img|li|ul|ol)\b)"
)
NUMBERS: Final = (
    r"(?:\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|see|related to|part of|issue|bug|pr|pull request)[\s:]{1,4})*"
    r"(?:[\w.-]{1,100}/[\w.-]{1,100})?(?:[#!]|GH-)\d{1,12}(?:[\s,&]{0,4}(?:and )?(?:[#!]|GH-)\d{1,12}){0,9}\b"
)
"""A pattern of one or more numbers of issues, with the words that close them."""
_LEADING: Final = re.compile(
    rf"(?:(?i:{NUMBERS})|`#\d{{1,12}} <[^>\n]{{1,300}}>`_{{1,2}}|https?://\S{{1,300}})(?:[.:]\s+|\s+[-–—]\s+|\s+(?=[A-Z]))"
)
_LINKED: Final = re.compile(r"(?<!!)\[([^\[\]\n]{0,300})\]\((?:https?|git|ssh)://[^\s)]{1,2000}+[^)\n]{0,200}+\)")
#: A link whose text is the name of the person or group whose page it leads to.
_PROFILE: Final = re.compile(r"\[@?([\w.-]{1,100})\]\(https?://[\w.-]{1,100}/\1/?\)", re.IGNORECASE)
#: Words around references that say nothing else.
_AROUND: Final = re.compile(
    r"(?:[\W_]*\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|see|also|refs?|references?|issues?|bugs?|related|part|of|to|for"
    r"|in|and|tickets?|pr|pull|request|thanks|cc)\b)*[\W_]*",
    re.IGNORECASE,
)

_BOLD: Final = re.compile(r"[ \t]{0,3}(\*\*|__)([^*_\n]{1,300})\1:?[ \t]*")
#: A bold label with text behind it, or a label of a few words.
_LABEL: Final = re.compile(
    r"[ \t]{0,3}(?:(\*\*|__)([^*_\n]{1,120})(?::\1|\1:)[ \t]*(\S.*)|([A-Z][A-Za-z']*(?: [A-Za-z']+){0,3}):[ \t]*)"
)
_BLOCKS: Final = frozenset(
    {"blockquote_open", "blockquote_close", "table_open", "table_close", "fence", "code_block", "html_block"}
)
_LISTS: Final[dict[str, Form]] = {"bullet_list_open": "bullet", "ordered_list_open": "step"}
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


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of prose, on one line.

    Attributes:
        heading: the heading or label that it stands under, "" for none.
        form: its kind in the Markdown. List items (``bullet``, ``step``) are without their markers; a ``line`` is one
            of several lines.
    """

    text: str
    heading: str
    form: Form


def paragraphs(text: str, template: Template = NO_TEMPLATE) -> Iterator[Paragraph]:
    """Yield the paragraphs of a Markdown text that are prose.

    Left out are code, tables, quoted texts, HTML, folds, patches, checklists, trailers, text that merges add, lines of
    references alone, lines of the repository's own ``template``, and sections that describe how something was done. A
    link is replaced by its text, a comment inside a line by an empty comment.
    """
    lines = [line[:_MAX_LINE] for line in _HIDDEN.sub(_without_hidden, normalise(text)).split("\n")]
    lines = ["" if line in template and not _is_heading(line) else line for line in _without_patches(lines)]
    sections = _Sections(template)
    lists: list[Form] = []
    left_out = level = 0
    interrupted = False  # whether a block was left out just before
    tokens = _MARKDOWN.parse("\n".join(lines))
    for token, following in zip(tokens, [*(each.type for each in tokens[2:]), "", ""], strict=False):
        if token.type in _BLOCKS:
            left_out, interrupted = left_out + token.nesting, True
            sections.end_label()
        elif token.type in _LISTS:
            lists.append(_LISTS[token.type])
        elif token.type.endswith("list_close"):
            lists.pop()
        elif token.type == "heading_open" and not left_out:
            level, underlined = int(token.tag[1]), token.markup in {"=", "-"}
        elif token.type == "inline" and not left_out:
            # A line of dashes below a long text is a separator, and makes no heading.
            if level and not (underlined and ("\n" in token.content or len(token.content) > _MAX_UNDERLINED)):
                sections.begin(level, token.content)
                interrupted = False
            else:
                parts = sections.texts_of(token.content, in_list=bool(lists))
                headings = [heading for heading, _ in parts]
                for number, (heading, part) in enumerate(parts, 1):
                    form = lists[-1] if lists else "line" if headings.count(heading) > _FEW_LINES else "paragraph"
                    begins = f"{OMITTED} " if interrupted and part[0].islower() else ""
                    introduces = number == len(parts) and following in _BLOCKS and part.endswith(":")
                    ends = f" {OMITTED}" if introduces and part.count(" ") > _MANY_WORDS else ""
                    yield Paragraph(f"{begins}{part}{ends}", heading, form)
                    interrupted = False
            level = 0


class _Sections:
    """The headings that a text stands under.

    Attributes:
        title: the nearest heading, or the label of a paragraph or list; "" for none.
    """

    def __init__(self, template: Template) -> None:
        self.title = ""
        self._choices = template.choices
        self._heading = ""
        self._level_left_out: int | None = None
        self._label_left_out = False
        self._label_used = False

    def begin(self, level: int, heading: str) -> None:
        """Enter the section below a heading of this level."""
        if self._level_left_out is None or level <= self._level_left_out:
            self._level_left_out = level if self._is_left_out(heading) else None
        self._heading = _plain_heading(heading)
        self.end_label()

    def end_label(self) -> None:
        """End the part below a label, not its section."""
        self.title, self._label_left_out = self._heading, False

    def texts_of(self, paragraph: str, *, in_list: bool) -> list[tuple[str, str]]:
        """Return a paragraph's texts with their headings.

        If no line begins in lower case, a short line ends a text: forges show such line breaks.
        """
        if not in_list and self._label_used:
            self.end_label()
        texts: list[tuple[str, list[str]]] = [(self.title, [])]
        lines = paragraph.split("\n")
        apart = not any(map(_goes_on, lines))
        for before, line in zip(["", *lines], lines, strict=False):
            bold, label, rows, text = _BOLD.fullmatch(line), _LABEL.fullmatch(line), texts[-1][1], line
            if bold:
                self.begin(_BOLD_LEVEL, bold[2])
            elif label:
                name, text = label[2] or label[4], label[3] or line
                if self._level_left_out == _BOLD_LEVEL:
                    self._level_left_out = None
                self.title, self._label_left_out = _plain_heading(name), self._is_left_out(name)
            left_out = bold or self._level_left_out is not None or self._label_left_out
            shown = "" if left_out else _prose_of(text, rows)
            if not shown or label or (apart and rows and len(before) < _SHORT_LINE):
                texts.append((self.title, []))
            if shown:
                texts[-1][1].append(shown)
            self._label_used = text is not line or not label
        return [(heading, " ".join(rows)) for heading, rows in texts if rows]

    def _is_left_out(self, heading: str) -> bool:
        return heading in self._choices or _NOT_FOR_THE_MODEL.fullmatch(_heading_words(heading)) is not None


def _plain_heading(heading: str) -> str:
    return heading.replace("*", "").strip(_MARKUP)


def _goes_on(line: str) -> bool:
    return next(filter(str.isalpha, line), "").islower()


def _prose_of(line: str, before: list[str]) -> str:
    """Return a line's part that is prose, or "".

    ``before`` are the lines before it in the same text.
    """
    # A line of references may also end the sentence of the line before.
    apart = not before or before[-1].endswith((".", "!", "?")) or line[:1].isupper()
    if line.lstrip().startswith("```") or is_machine_written(line) or (apart and is_reference(line)):
        return ""
    leading = _LEADING.match(line) if apart else None
    return " ".join(_LINKED.sub(_text_of_link, line[leading.end() :] if leading else line).split())


def _without_hidden(found: re.Match[str]) -> str:
    code, _, begins_line, ends_line = found.groups()
    return code or ("<!-- -->" if begins_line is None and ends_line is None else "")


def _text_of_link(link: re.Match[str]) -> str:
    return link[0] if _PROFILE.fullmatch(link[0]) else link[1]


def has_references(text: str) -> bool:
    """Return whether a text has references, images, mentions or tags."""
    return bool(_LINK.search(text) or _OUTSIDE_CODE.search(CODE.sub("", text)))


def without_references(text: str) -> str:
    """Return a text with a blank for each reference."""
    return _OUTSIDE_CODE.sub(" ", _LINK.sub(" ", text))


def is_reference(text: str) -> bool:
    """Return whether a text only references issues, people or links.

    Words such as ``fixes`` and ``see`` may surround the references; there is at least one.
    """
    bare = without_references(text)
    return bare != text and _AROUND.fullmatch(bare) is not None


def is_machine_written(line: str) -> bool:
    """Return whether a program or a template wrote a line."""
    return _MACHINE_WRITTEN.fullmatch(line) is not None


def _is_heading(line: str) -> bool:
    label = _LABEL.fullmatch(line)
    return line.lstrip().startswith("#") or _BOLD.fullmatch(line) is not None or (label is not None and not label[3])


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


def _heading_words(heading: str) -> str:
    words = re.sub(r"[^\w' /-]+", " ", re.sub(r":\w{1,40}:", " ", heading.replace("\u2019", "'")))
    return " ".join(re.sub(r"^[\d\s.)-]+", "", words).split())
