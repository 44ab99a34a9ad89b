"""What codegate has said on GitHub, how it knows its own words again, and what it does when it may not speak.

A hidden marker alone proves nothing, because anybody can write one: words are ours when the marker is the first line
and the author is who the token writes as.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from codegate.errors import UsageError
from codegate.forge import Forbidden, GitHub, GitHubError, NotFound

MAX_BODY_BYTES: Final = 65_536
"""GitHub counts characters, of which there are never more than bytes."""

BOT: Final = "github-actions[bot]"
"""Who a workflow's own token writes as; it cannot ask who it is."""

_KEY: Final = re.compile(r"[A-Za-z0-9](?:[._]|-(?!-)|[A-Za-z0-9]){0,99}")
_CUT: Final = "\n\n_Cut to the size that GitHub takes._\n"


@dataclass(frozen=True)
class Said:
    """What became of what was to be said.

    Attributes:
        did: what was done.
        url: where people find it.
        warning: why it was not done, and what to change; it never decides about the step.
    """

    did: Literal["created", "updated", "unchanged", "closed", "nothing"]
    url: str | None = None
    warning: str | None = None


def said(did: Literal["created", "updated", "unchanged", "closed"], answer: object) -> Said:
    """Return what was done, with the address that GitHub gave in ``answer``."""
    url = answer.get("html_url") if isinstance(answer, dict) else None
    known = isinstance(url, str) and re.fullmatch(r"https?://[!-~]{1,2000}", url)
    return Said(did, url if known else None)


def attempted(what: str, tell: Callable[[], Said]) -> Said:
    """Return what ``tell`` did; where GitHub refused it, a warning instead of an error."""
    try:
        return tell()
    except GitHubError as error:
        return Said("nothing", warning=f"{what} could not be written. {error}")


def marked(key: str, body: str) -> str:
    """Return ``body`` below the marker of ``key``, cut between lines to what GitHub takes.

    Raises:
        UsageError: ``key`` is not of letters, digits and single ``.``, ``_``, ``-``.
    """
    return cut(f"{marker(key)}\n{body}", MAX_BODY_BYTES)


def marker(key: str) -> str:
    """Return the first line of what is said about ``key``; raises as ``marked``."""
    if not _KEY.fullmatch(key):
        raise UsageError(f"{key[:120]!r} is no name for a gate.", "Use letters, digits, dots, dashes and underscores.")
    return f"<!-- codegate:v1:{key} -->"


def cut(text: str, limit: int) -> str:
    """Return ``text`` in at most ``limit`` bytes of UTF-8, cut at the end of a line."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode("utf-8")
    head = data[: limit - len(_CUT.encode())].rpartition(b"\n")[0]
    return head.decode("utf-8", "replace") + _CUT


def own_login(github: GitHub) -> str:
    """Return who the token writes as, as far as it can say.

    Raises:
        GitHubError: GitHub does not answer, or refuses the token.
    """
    try:
        user = github.get("user")
    except (Forbidden, NotFound):
        return BOT
    login = user.get("login") if isinstance(user, dict) else None
    return login if isinstance(login, str) else BOT


def is_own(item: dict[str, Any], key: str, login: str) -> bool:
    """Tell whether a comment or an issue is what ``login`` said about ``key``."""
    body = item.get("body")
    ours = isinstance(body, str) and body.replace("\r\n", "\n").startswith(f"{marker(key)}\n")
    return ours and author(item) == login


def author(item: object) -> str | None:
    """Return the login of who wrote a comment or an issue."""
    user = item.get("user") if isinstance(item, dict) else None
    login = user.get("login") if isinstance(user, dict) else None
    return login if isinstance(login, str) else None


def number_of(item: dict[str, Any], name: str) -> int:
    """Return the number of something that is to be a part of an address.

    Raises:
        GitHubError: it has none.
    """
    number = item.get(name)
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise GitHubError(f"GitHub: an answer has no {name}.")
    return number


def create(github: GitHub, path: str, body: dict[str, Any], find: Callable[[], list[dict[str, Any]]]) -> dict[str, Any]:
    """Post something once: where GitHub does not say whether it did, look before it is posted again.

    Raises:
        GitHubError: it was not posted.
    """
    try:
        made = github.send("POST", path, body)
    except GitHubError as error:
        if not error.uncertain:
            raise
        found = find()
        made = found[0] if found else github.send("POST", path, body)
    return made if isinstance(made, dict) else {}
