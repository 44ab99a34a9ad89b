"""Read pull request, branch, title and closed issues from messages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

MergeKind = Literal["merge", "squash", "rebase", "direct"]

_TITLE_CHARACTERS: Final = 500
_HEAD_CHARACTERS: Final = 4000

_MERGE_HEADS: Final = (
    re.compile(r"Merge (?:pull request|PR|pr) (?:'.*' )?\(?[#!](?P<number>\d{1,9})\)?(?: from (?P<branch>\S+))?"),
    re.compile(r"Merged in (?P<branch>\S+) \(pull request #(?P<number>\d{1,9})\)"),
    re.compile(r"Merged PR (?P<number>\d{1,9}):?"),
    re.compile(r"(?:Auto merge of|Auto merge|[Mm]erge) #(?P<number>\d{1,9})(?: - (?P<branch>[^,\s]+))?"),
)
_ADVISORY: Final = "Merge commit from fork"
"""Title that GitHub gives to the merge of a security advisory's private fork."""
_GITEA_TITLE: Final = re.compile(r"Merge pull request '(?P<title>.*)' \(#\d+\)")
_GITLAB: Final = re.compile(r"^See merge request (?:\S{0,500})!(?P<number>\d{1,9})\s*$", re.MULTILINE)
_BRANCH_MERGE: Final = re.compile(
    r"Merge(?:d)? (?P<what>remote-tracking branch(?:es)?|branch(?:es)?|tag|commit) '?(?P<branch>[^'\s]+)'?"
)
_SQUASH: Final = re.compile(r"\([#!](?P<number>\d{1,9})\)\s*$")
_BORS_TITLE: Final = re.compile(r"^\d+: (?P<title>.+?)(?: r=\S+)?(?: a=\S+)?$")
_LONG_LIVED: Final = re.compile(
    r"(?:(?:origin|upstream)/)?"
    r"(?:main|master|trunk|develop|development|dev|next|stable|staging|production|prod|default"
    r"|(?:stable|release|releases|rel|maint|maintenance|hotfixes)[-/].+|v?\d+(?:\.(?:\d+|x))*(?:[-/.](?:x|maintenance|maint|branch|stable|line))?)"
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_REVERT: Final = re.compile(r"(?:revert|reapply|back ?out)\b", re.IGNORECASE)
_FIX: Final = re.compile(r"\W*(?:hot|bug)?fix", re.IGNORECASE)
_MAX_TEXT: Final = 1 << 16
_MAX_REFERENCES: Final = 50

#: Comments of a pull request's template, which authors leave in.
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_REFERENCE: Final = (
    r"(?:(?:(?P<slug>[\w.-]{1,100}/[\w.-]{1,100})?#|GH-)(?P<number>\d{1,9})"
    r"|https?://[^\s/]{1,255}/(?P<path>[^\s#?]{1,300}?)(?:/-)?/(?:issues|pull|merge_requests)/(?P<linked>\d{1,9}))\b"
)
_CLOSES: Final = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?\s{1,20}(?:(?:issue|bug|ticket)s?:?\s{1,20})?"
    rf"(?={_REFERENCE})",
    re.IGNORECASE,
)
_ONE: Final = re.compile(_REFERENCE, re.IGNORECASE)
_AND: Final = re.compile(
    r"\s{0,20}(?:,\s{0,20}(?:and\s{1,20}|&\s{0,20})?|&\s{0,20}|and\s{1,20})"
    r"(?:(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\s{1,20})?(?:issue\s{1,20})?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """What a commit's message says about its merge.

    Attributes:
        kind: ``merge`` if it has several parents; else ``squash`` if the message names a pull request, else ``direct``.
        number: the pull request, or None.
        branch: the merged branch, or empty.
        forward: a long-lived branch, a tag or a remote branch was merged.
    """

    kind: MergeKind
    number: int | None
    branch: str
    forward: bool
    title: str


def parse_message(message: str, merge: bool, subjects: Sequence[str]) -> ParsedMessage:
    """Return what a commit's message says about its merge.

    ``merge``: the commit has several parents. ``subjects`` are the subjects of the commits that it merged.
    """
    head, _, rest = message.partition("\n")
    head = head[:_HEAD_CHARACTERS]
    kind: MergeKind = "merge" if merge else "direct"
    number, branch, forward, title = None, "", False, head.strip()
    body = rest.strip()
    match = next((found for pattern in _MERGE_HEADS if (found := pattern.match(head))), None)
    gitlab = _GITLAB.search(rest)
    branch_merge = _BRANCH_MERGE.match(head)
    squash = _SQUASH.search(head)
    if match is not None and (merge or not squash):
        number, branch = int(match["number"]), match.groupdict().get("branch") or ""
        title = _merge_title(head, body, match, subjects)
        kind = "merge" if merge else "squash"
    elif gitlab is not None:
        number = int(gitlab["number"])
        branch = branch_merge["branch"] if branch_merge else ""
        title = first_line(_GITLAB.sub("", body)) or title
        kind = "merge" if merge else "squash"
    elif head.startswith(_ADVISORY):
        title = first_line(body).removeprefix("* ") or (series_title(subjects) if subjects else title)
    elif branch_merge is not None and merge:
        branch = branch_merge["branch"]
        forward = branch_merge["what"].startswith(("remote", "tag", "commit")) or is_long_lived(branch)
        fix = next((subject for subject in subjects if _FIX.match(subject)), title)
        title = first_line(body) or (subjects[0] if len(subjects) == 1 else fix)
    elif squash is not None:
        number, kind = int(squash["number"]), kind if merge else "squash"
        title = head[: squash.start()].strip()
    elif merge:
        title = first_line(body) if head.startswith("Merge") and body else title
    if merge and number is None and branch and is_long_lived(branch.partition(":")[2] or branch):
        forward = True
    return ParsedMessage(kind, number, branch, forward, _CONTROL.sub(" ", title)[:_TITLE_CHARACTERS].strip())


def is_long_lived(branch: str) -> bool:
    """Return whether a branch's name means development or releases."""
    return _LONG_LIVED.fullmatch(branch) is not None


def is_revert(title: str) -> bool:
    """Return whether a title begins like a revert or reapply."""
    return _REVERT.match(title) is not None


def series_title(titles: Sequence[str]) -> str:
    """Return the first title about a fix, else the first."""
    return next((title for title in titles if _FIX.match(title)), titles[0])


def first_line(text: str) -> str:
    """Return the first line, "" if the text is wrapped.

    A line that goes on in lower case is the beginning of a sentence, and no title.
    """
    first, _, rest = text.lstrip().partition("\n")
    return "" if rest[:1].islower() else first.strip()


def _merge_title(head: str, body: str, match: re.Match[str], subjects: Sequence[str]) -> str:
    gitea = _GITEA_TITLE.match(head)
    if gitea is not None:
        return gitea["title"].strip()
    after = head[match.end() :].strip(" :")
    if head.startswith("Merged PR") and after:
        return after
    line = first_line(body)
    bors = _BORS_TITLE.match(line)
    if bors is not None:
        return bors["title"]
    if line:
        return line
    return subjects[0] if len(subjects) == 1 else (match.groupdict().get("branch") or head)


def closed_issues(text: str, name: str) -> tuple[int, ...]:
    """Return the numbers of issues that ``text`` closes, in order.

    Closing words are those of GitHub and GitLab: ``close``, ``fix``, ``resolve`` and their forms, with or without a
    colon. They stand before ``#1``, ``GH-1``, ``owner/repo#1``, an issue's address, or a list of these. An issue of a
    repository that is not called ``name`` does not count; forks keep the name and change the owner.
    """
    text = _COMMENT.sub(" ", text[:_MAX_TEXT])
    issues: dict[int, None] = {}
    for keyword in _CLOSES.finditer(text):
        position = keyword.end()
        while (one := _ONE.match(text, position)) is not None and len(issues) < _MAX_REFERENCES:
            slug, number = one["slug"] or one["path"], int(one["number"] or one["linked"])
            if number and (slug is None or slug.rpartition("/")[2].lower() == name.lower()):
                issues.setdefault(number)
            more = _AND.match(text, one.end())
            if more is None:
                break
            position = more.end()
    return tuple(issues)
