"""What a forge knows of a change and git does not: the issues it closes, labels, and texts as they were before it.

Only what is asked for is fetched, fifty changes in one question, and every answer is kept on disk, so that a suite can
be built again offline. Answers are text from strangers: bounded, decoded leniently, never more than text.
"""

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from codegate.errors import UsageError
from codegate.forge import DEFAULT_API, GitHub, GitHubError, Gone, NotFound, TooMuch
from codegate.mining.sources.history import Unit
from codegate.mining.sources.scancache import read_cache, write_cache
from codegate.suite import GitError, git

BATCH: Final = 50

_SCHEMA: Final = "codegate.enrichment/1"
_BODY_CHARACTERS: Final = 1 << 16
_TITLE_CHARACTERS: Final = 500
_LABELS: Final = 50
_ISSUES: Final = 10
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_SLUG: Final = re.compile(r"(?P<owner>[A-Za-z0-9][\w.-]{0,99})/(?P<name>[A-Za-z0-9_.-]{1,100})")
_ADDRESS: Final = re.compile(
    r"(?:[a-z+]+://(?:[^@/]*@)?(?P<host>[^/:]+)(?::\d+)?/|(?:[^@/:]+@)?(?P<scp>[^/:]+):/?)"
    r"(?P<slug>[^/\s]+/[^/\s]+?)(?:\.git)?/?"
)

_DOCUMENT: Final = """
query($owner: String!, $name: String!) {
  repository(owner: $owner, name: $name) {
    %s
  }
}
fragment issue on Issue {
  __typename number title body createdAt lastEditedAt
  labels(first: 50) { nodes { name } }
  userContentEdits(first: 20) { nodes { editedAt diff } }
}
fragment pull on PullRequest {
  __typename number title body
  labels(first: 50) { nodes { name } }
  commits(first: 1) { nodes { commit { authoredDate } } }
  closingIssuesReferences(first: 10) { nodes { ...issue } }
}
"""


@dataclass(frozen=True)
class LinkedIssue:
    """An issue that a change closes.

    Attributes:
        body: as it was before the change's first commit; empty when that cannot be known.
        edited: when the body was last edited, at the latest; None: never.
    """

    number: int
    title: str
    body: str
    labels: tuple[str, ...]
    created: datetime
    edited: datetime | None


@dataclass(frozen=True)
class Enrichment:
    """What a forge says of one change: its pull request's title, body and labels, and the issues that it closes."""

    title: str
    body: str
    labels: tuple[str, ...]
    issues: tuple[LinkedIssue, ...]


class GitHubEnrichment:
    """Asks GitHub (or GitHub Enterprise Server) about units. Without a token, or where GraphQL is off, by REST.

    REST does not tell when a body was edited, only when anything about an issue changed; closing it is such a change.
    So issues that come by REST mostly have titles and labels only.

    Args:
        slug: the repository as ``owner/name``.
        token: may be empty; goes to ``api_url`` only.
        cache_folder: where answers are kept; no token is.
        api_url: of REST: ``https://api.github.com``, or ``https://HOST/api/v3``.
        max_wait_seconds: most that waiting for rate limits may take.
        pause_seconds: the first pause before a question that failed is repeated.

    Raises:
        UsageError: the slug or the address is none.
    """

    def __init__(
        self,
        slug: str,
        token: str,
        cache_folder: Path,
        api_url: str = DEFAULT_API,
        max_wait_seconds: float = 300.0,
        pause_seconds: float = 1.0,
    ) -> None:
        parts = urlsplit(api_url)
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise UsageError(f"http://{parts.hostname} would get the token unencrypted.", "Give an https address.")
        self._github = GitHub(api_url, slug, token, max_wait_seconds=max_wait_seconds, pause_seconds=pause_seconds)
        self._owner, _, self._name = slug.partition("/")
        host = re.sub(r"[^A-Za-z0-9.-]", "_", parts.netloc)
        self._folder = cache_folder / "enrichment" / host / f"{self._owner}__{self._name}".lower()
        self._graphql = bool(token)  # without one GitHub has no GraphQL

    def fetch(self, units: Iterable[Unit]) -> dict[str, Enrichment]:
        """Return, by commit, what is known of ``units``; one that names no pull request and no issue is left out.

        Raises:
            GitHubError: GitHub gave no answer that could be used; what it gave is kept.
            UsageError: it refused the token.
            InfrastructureError: the disk refused.
        """
        wanted = [unit for unit in units if unit.pull_request is not None or unit.closes]
        numbers = dict.fromkeys(number for unit in wanted for number in _numbers(unit))
        nodes: dict[int, Mapping[str, Any] | None] = {}
        missing: list[int] = []
        for number in numbers:
            kept = read_cache(self._file(number), _SCHEMA)
            if kept.get("number") == number and (kept.get("node") is None or isinstance(kept["node"], dict)):
                nodes[number] = kept.get("node")
            else:
                missing.append(number)
        for start in range(0, len(missing), BATCH):
            nodes |= self._ask(missing[start : start + BATCH])
        found = {unit.commit: _enrichment(unit, nodes) for unit in wanted}
        return {commit: entry for commit, entry in found.items() if entry is not None}

    def _file(self, number: int) -> Path:
        return self._folder / f"{number}.json"

    def _ask(self, numbers: Sequence[int]) -> dict[int, Mapping[str, Any] | None]:
        """Return what the forge says of ``numbers``, and keep it."""
        try:
            nodes = self._ask_graphql(numbers) if self._graphql else self._ask_rest(numbers)
        except (NotFound, Gone):
            self._graphql = False
            return self._ask(numbers)
        except TooMuch:
            if len(numbers) == 1:
                return {}  # of the one that no answer holds nothing is known; not kept, it may hold another time
            half = len(numbers) // 2
            return self._ask(numbers[:half]) | self._ask(numbers[half:])
        except GitHubError as error:
            if error.status not in {401, 403}:
                raise
            raise UsageError(
                f"{error.cause} It refused the token.",
                "Give one that may read this repository's issues and pull requests.",
            ) from error
        for number, node in nodes.items():
            write_cache(self._file(number), _SCHEMA, {"number": number, "node": node})
        return nodes

    def _ask_graphql(self, numbers: Sequence[int]) -> dict[int, Mapping[str, Any] | None]:
        fields = "\n".join(
            f"n{number}: issueOrPullRequest(number: {number}) {{ ...issue ...pull }}" for number in numbers
        )
        data = self._github.query(_DOCUMENT % fields, {"owner": self._owner, "name": self._name})
        repository = data.get("repository")
        if not isinstance(repository, dict):
            raise UsageError(
                f"the forge has no repository {self._owner}/{self._name} for this token.",
                "Check the name, and that the token may read it.",
            )
        return {number: _slim(repository.get(f"n{number}")) for number in numbers}

    def _ask_rest(self, numbers: Sequence[int]) -> dict[int, Mapping[str, Any] | None]:
        nodes: dict[int, Mapping[str, Any] | None] = {}
        for number in numbers:
            row = None
            with contextlib.suppress(NotFound, Gone):
                row = self._github.get(self._github.repo(f"issues/{number}"))
            nodes[number] = _slim(_as_node(row))
            write_cache(self._file(number), _SCHEMA, {"number": number, "node": nodes[number]})
        return nodes


def find_slug(repository: Path, api_url: str = DEFAULT_API) -> str | None:
    """Return ``owner/name`` of the clone's origin when it is on the forge that ``api_url`` belongs to, or None."""
    try:
        address = git(repository, "config", "--get", "remote.origin.url").decode("utf-8", "replace").strip()
    except GitError:
        return None
    match = _ADDRESS.fullmatch(address)
    if match is None or _SLUG.fullmatch(match["slug"]) is None:
        return None
    host = (urlsplit(api_url).hostname or "").removeprefix("api.")
    return match["slug"] if (match["host"] or match["scp"]).lower() in {host, f"ssh.{host}"} else None


def _numbers(unit: Unit) -> tuple[int, ...]:
    own = () if unit.pull_request is None else (unit.pull_request,)
    return (*own, *unit.closes[:_ISSUES])


def _as_node(row: Any) -> Any:
    """Return a row of REST in GraphQL's words."""
    if not isinstance(row, dict):
        return None
    kind = "PullRequest" if row.get("pull_request") else "Issue"
    return {**row, "__typename": kind, "createdAt": row.get("created_at"), "lastEditedAt": row.get("updated_at")}


def _slim(node: Any) -> dict[str, Any] | None:
    """Return what is used of a node, as plain bounded JSON; None for what is no issue and no pull request."""
    if not isinstance(node, dict) or node.get("__typename") not in ("Issue", "PullRequest"):
        return None
    slim: dict[str, Any] = {"__typename": node["__typename"], "number": node.get("number")}
    slim["title"] = _text(node.get("title"), _TITLE_CHARACTERS).replace("\n", " ")
    slim["body"] = _text(node.get("body"), _BODY_CHARACTERS)
    labels = _list(node.get("labels")) or _nodes(node.get("labels"))
    names = [label.get("name") if isinstance(label, dict) else label for label in labels[:_LABELS]]
    slim["labels"] = [_text(name, 100) for name in names if isinstance(name, str)]
    slim["createdAt"], slim["lastEditedAt"] = node.get("createdAt"), node.get("lastEditedAt")
    edits = _nodes(node.get("userContentEdits")) or _list(node.get("edits"))
    slim["edits"] = [
        {"editedAt": edit.get("editedAt"), "diff": _text(edit.get("diff"), _BODY_CHARACTERS)}
        for edit in edits
        if isinstance(edit, dict)
    ]
    if slim["__typename"] == "PullRequest":
        commits = [commit.get("commit") for commit in _nodes(node.get("commits")) if isinstance(commit, dict)]
        first = commits[0].get("authoredDate") if commits and isinstance(commits[0], dict) else node.get("began")
        slim["began"] = first
        closing = _nodes(node.get("closingIssuesReferences")) or _list(node.get("issues"))
        slim["issues"] = [entry for entry in map(_slim, closing[:_ISSUES]) if entry is not None]
    return slim


def _enrichment(unit: Unit, nodes: Mapping[int, Mapping[str, Any] | None]) -> Enrichment | None:
    known = [_slim(nodes.get(number)) for number in _numbers(unit)]  # a cache is read as warily as an answer
    present = [node for node in known if node is not None]
    if not present:
        return None
    own = next(
        (node for node in present if node["__typename"] == "PullRequest" and node["number"] == unit.pull_request), None
    )
    began = min(filter(None, [unit.date, _moment(own.get("began")) if own else None]))
    issues: dict[int, LinkedIssue] = {}
    for node in [*(own["issues"] if own else ()), *present]:
        issue = _issue(node, began) if node["__typename"] == "Issue" else None
        if issue is not None:
            issues.setdefault(issue.number, issue)
    title, body, labels = (own["title"], own["body"], own["labels"]) if own else (unit.title, "", [])
    return Enrichment(title, body, tuple(labels), tuple(issues.values()))


def _issue(node: Mapping[str, Any], began: datetime) -> LinkedIssue | None:
    created, edited = _moment(node["createdAt"]), _moment(node["lastEditedAt"])
    number = node["number"]
    if created is None or type(number) is not int or not 0 < number < 1 << 40:
        return None
    body = _body_before(node, edited, began)
    return LinkedIssue(number, node["title"], body, tuple(node["labels"]), created, edited)


def _body_before(node: Mapping[str, Any], edited: datetime | None, began: datetime) -> str:
    """Return an issue's body as it was when the work on the fix began.

    An edit's ``diff`` is the whole text after the edit. That is not documented, so it is believed only where the
    newest one is the text as it is now.
    """
    body: str = node["body"]
    if edited is None or edited < began:
        return body
    texts = [(moment, edit["diff"]) for edit in node["edits"] if (moment := _moment(edit["editedAt"])) is not None]
    texts.sort(key=lambda entry: entry[0])
    if not texts or texts[-1][1] != body:
        return ""
    before: list[str] = [text for moment, text in texts if moment < began]
    return before[-1] if before else ""


def _nodes(connection: Any) -> list[Any]:
    return _list(connection.get("nodes")) if isinstance(connection, dict) else []


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any, limit: int) -> str:
    if not isinstance(value, str):
        return ""
    plain = value[: 2 * limit].replace("\r\n", "\n").replace("\0", "")
    return plain[:limit].encode("utf-8", "replace").decode("utf-8")


def _moment(value: Any) -> datetime | None:
    if not isinstance(value, str) or len(value) > 40:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
