"""Find the issues that a change's text closes."""

import re
from typing import Final

_MAX_TEXT: Final = 1 << 16
_MAX_REFERENCES: Final = 50

#: Text of a pull request's template, which authors leave in.
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


def closed_issues(text: str, name: str) -> tuple[int, ...]:
    """Return the numbers of issues that ``text`` closes, in order.

    Closing words are those of GitHub and GitLab: ``close``, ``fix``, ``resolve`` and their forms, with or without a
    colon, before ``#1``, ``GH-1``, ``owner/repo#1``, an issue's address, or a list of these.

    Args:
        text: of any length; what is past 64 Ki characters is not read.
        name: the repository's name; an issue of a repository called otherwise is no issue of this one. Forks keep
            the name and change the owner, so that the owner does not matter.
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
