"""The issues and tickets that a change says it closes, in the spellings of forges and of trackers."""

import re
from dataclasses import dataclass
from typing import Final

_MAX_TEXT: Final = 1 << 16
_MAX_REFERENCES: Final = 50

#: Text of a pull request's template, which authors leave in.
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_REFERENCE: Final = (
    r"(?:(?:(?P<slug>[\w.-]{1,100}/[\w.-]{1,100})?#|GH-)(?P<number>\d{1,9})"
    r"|https?://[^\s/]{1,255}/(?P<path>[^\s#?]{1,300}?)(?:/-)?/(?:issues|pull|merge_requests)/(?P<linked>\d{1,9})"
    r"|https?://[^\s/]{1,255}/(?:ticket/|show_bug\.cgi\?id=)(?P<ticket>\d{1,9}))\b"
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
_KEY: Final = re.compile(
    r"\b(?!(?:UTF|ISO|RFC|PEP|GH|CVE|SHA|MD|AES|HTTP|GPL|BSD|GCC|PY|ASCII|CP|X)-)(?P<key>[A-Z][A-Z0-9]{1,9}-\d{1,7})\b"
)
_CLOSING_KEY: Final = re.compile(
    rf"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?\s{{1,20}}(?:issue\s{{1,20}})?\[?{_KEY.pattern}", re.IGNORECASE
)
_TITLE_KEY: Final = re.compile(rf"\[?{_KEY.pattern}\]?[:\s]")
_BUGZILLA: Final = re.compile(
    r"(?:\b(?:rhbz|bz|bugzilla|bpo|lp)[ :]{0,2}\#?-?|^Bug[ :]{1,2}\#?)(?P<number>\d{3,9})\b",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class References:
    """What a text closes.

    Attributes:
        issues: numbers of issues (or of a tracker's plain tickets) of the repository itself, in order.
        tickets: keys of other trackers and issues of other repositories, as they are written there.
        words: the first closing words, for people; empty when there is none.
    """

    issues: tuple[int, ...] = ()
    tickets: tuple[str, ...] = ()
    words: str = ""


def closing_references(text: str, name: str = "") -> References:
    """Return what ``text`` (a change's title, body and commits) closes.

    Closing words are those of GitHub and GitLab: ``close``, ``fix``, ``resolve`` and their forms, with or without a
    colon, before ``#1``, ``GH-1``, ``owner/repo#1``, an issue's address, or a list of these.

    Args:
        text: of any length; what is past 64 Ki characters is not read.
        name: the repository's name; an issue of a repository called otherwise is no issue of this one. Forks keep
            the name and change the owner, so that the owner does not matter.
    """
    text = _COMMENT.sub(" ", text[:_MAX_TEXT])
    issues: dict[int, None] = {}
    tickets: dict[str, None] = {}
    words = ""
    for keyword in _CLOSES.finditer(text):
        position = keyword.end()
        while (one := _ONE.match(text, position)) is not None and len(issues) + len(tickets) < _MAX_REFERENCES:
            words = words or " ".join(f"{keyword[0]}{one[0]}".split())[:80]
            _add(one, name, issues, tickets)
            more = _AND.match(text, one.end())
            if more is None:
                break
            position = more.end()
    keys = [*_CLOSING_KEY.finditer(text), *filter(None, [_TITLE_KEY.match(text)])]
    for key in keys[:_MAX_REFERENCES]:
        if key["key"].isupper():  # `fixes utf-8` is no ticket
            tickets.setdefault(key["key"])
    for bug in list(_BUGZILLA.finditer(text))[:_MAX_REFERENCES]:
        tickets.setdefault(" ".join(bug[0].split()))
    return References(tuple(issues), tuple(tickets), words)


def _add(one: re.Match[str], name: str, issues: dict[int, None], tickets: dict[str, None]) -> None:
    slug = one["slug"] or one["path"]
    number = int(one["number"] or one["linked"] or one["ticket"])
    own = slug is None or not name or slug.rpartition("/")[2].lower() == name.lower()
    if one["ticket"] is not None or not own:
        tickets.setdefault(one[0][:200])
    elif number:
        issues.setdefault(number)
