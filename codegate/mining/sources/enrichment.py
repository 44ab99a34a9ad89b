"""Ask GitHub for issues, labels and texts of changes.

Issues are taken as they were before the change. One query asks about fifty changes, and every answer is stored on disk,
so that a suite can be built again offline. Answers are untrusted text: their size is bounded, and invalid characters
are replaced.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, AliasPath, AwareDatetime, BaseModel, BeforeValidator, Field, ValidationError

from codegate.durable import write_atomic
from codegate.errors import UsageError
from codegate.forge import DEFAULT_API, AnswerTooLarge, GitHub, GitHubError
from codegate.mining.sources.history import MergedChange
from codegate.sandbox import cache_folder
from codegate.suite.declared import mapping
from codegate.suite.git import origin_place
from codegate.wording import encodable

Node = dict[str, Any]
"""GraphQL's fields of an issue or a pull request; empty: GitHub has neither."""

BATCH: Final = 50

_BODY_CHARACTERS: Final = 1 << 16
_TITLE_CHARACTERS: Final = 500
_LABELS: Final = 50
_ISSUES: Final = 10
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_SLUG: Final = re.compile(r"(?P<owner>[A-Za-z0-9][\w.-]{0,99})/(?P<name>[A-Za-z0-9_.-]{1,100})")

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
        body: its text before the change's first commit; empty if that is unknown.
        edited: time of the issue's last edit, which may be later than ``body``; None: never edited.
    """

    number: int
    title: str
    body: str
    labels: tuple[str, ...]
    created: datetime
    edited: datetime | None


@dataclass(frozen=True)
class Enrichment:
    """A change's pull request and closed issues, from GitHub."""

    title: str
    body: str
    labels: tuple[str, ...]
    issues: tuple[LinkedIssue, ...]


def _plain(value: Any) -> Any:
    text = value[: 2 * _BODY_CHARACTERS].replace("\r\n", "\n").replace("\0", "") if isinstance(value, str) else value
    return encodable(text[:_BODY_CHARACTERS]) if isinstance(text, str) else value


def _line(value: str) -> str:
    return value[:_TITLE_CHARACTERS].replace("\n", " ")


def _entries(connection: Any) -> Any:
    return connection.get("nodes") or [] if isinstance(connection, dict) else connection or []


Text = Annotated[str, BeforeValidator(_plain)]
Line = Annotated[Text, AfterValidator(_line)]
Connection = BeforeValidator(_entries)


class _Label(BaseModel):
    name: Line


class _Edit(BaseModel):
    moment: AwareDatetime = Field(alias="editedAt")
    text: Text = Field("", alias="diff")


class _Commit(BaseModel):
    date: AwareDatetime = Field(validation_alias=AliasPath("commit", "authoredDate"))


class _Issue(BaseModel):
    kind: Literal["Issue"] = Field(alias="__typename")
    number: int = Field(strict=True, gt=0, lt=1 << 40)
    title: Line
    body: Text
    labels: Annotated[list[_Label], Connection] = []
    created: AwareDatetime = Field(alias="createdAt")
    edited: AwareDatetime | None = Field(None, alias="lastEditedAt")
    edits: Annotated[list[_Edit], Connection] = Field([], alias="userContentEdits")


class _Pull(BaseModel):
    number: int
    title: Line
    body: Text
    labels: Annotated[list[_Label], Connection] = []
    commits: Annotated[list[_Commit], Connection] = []
    issues: Annotated[list[_Issue], Connection] = Field([], alias="closingIssuesReferences")


class GitHubEnrichment:
    """Asks GitHub (or GitHub Enterprise Server) about merged changes.

    The ``token`` is sent only to ``api_url``, the address of the REST API; answers are stored in ``cache_folder``.

    Raises:
        UsageError: the slug or the address is malformed, or there is no token.
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
        if not token:
            raise UsageError("GitHub answers no such questions without a token.", "Set GITHUB_TOKEN.")
        parts = urlsplit(api_url)
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise UsageError(f"http://{parts.hostname} would get the token unencrypted.", "Give an https address.")
        self._github = GitHub(api_url, slug, token, max_wait_seconds=max_wait_seconds, pause_seconds=pause_seconds)
        self._owner, _, self._name = slug.partition("/")
        host = re.sub(r"[^A-Za-z0-9.-]", "_", parts.netloc)
        self._folder = cache_folder / "enrichment" / host / f"{self._owner}__{self._name}".lower()

    def fetch(self, units: Iterable[MergedChange]) -> dict[str, Enrichment]:
        """Return GitHub's facts about changes, by commit.

        Changes that name no pull request and no issue are left out.

        Raises:
            GitHubError: GitHub gave no usable answer; earlier answers are stored.
            UsageError: GitHub refused the token.
            InfrastructureError: the disk could not be written.
        """
        wanted = [unit for unit in units if unit.pull_request is not None or unit.closes]
        numbers = dict.fromkeys(number for unit in wanted for number in _numbers(unit))
        nodes = {number: node for number in numbers if (node := self._kept(number)) is not None}
        missing = [number for number in numbers if number not in nodes]
        for start in range(0, len(missing), BATCH):
            nodes |= self._ask(missing[start : start + BATCH])
        found = {unit.commit: _enrichment(unit, nodes) for unit in wanted}
        return {commit: entry for commit, entry in found.items() if entry is not None}

    def _kept(self, number: int) -> Node | None:
        try:
            return mapping(json.loads((self._folder / f"{number}.json").read_bytes()))
        except (OSError, ValueError, RecursionError):  # no file, or a damaged one: GitHub is asked again
            return None

    def _ask(self, numbers: Sequence[int]) -> dict[int, Node]:
        try:
            nodes = self._query(numbers)
        except AnswerTooLarge:
            if len(numbers) == 1:
                return {}  # too large for any answer; it is not stored, so that it is asked for again
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
            write_atomic(self._folder / f"{number}.json", json.dumps(node).encode("ascii"))
        return nodes

    def _query(self, numbers: Sequence[int]) -> dict[int, Node]:
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
        return {number: mapping(repository.get(f"n{number}")) for number in numbers}


def find_slug(repository: Path, api_url: str = DEFAULT_API) -> str | None:
    """Return the origin's ``owner/name`` on ``api_url``'s GitHub, or None."""
    server, path = origin_place(repository) or ("", "")
    host = (urlsplit(api_url).hostname or "").removeprefix("api.")
    known = server.partition(":")[0] in {host, f"ssh.{host}"} and _SLUG.fullmatch(path)
    return path if known else None


def open_forge(repository: Path, named: str) -> GitHubEnrichment:
    """Return a client that asks GitHub about a repository.

    ``named`` is the repository's slug, or ``auto`` for its origin's slug.

    Raises:
        UsageError: the origin is not on GitHub, the slug or GitHub's address is malformed, or there is no token.
    """
    api_url = os.environ.get("GITHUB_API_URL") or DEFAULT_API
    slug = find_slug(repository, api_url) if named == "auto" else named
    if slug is None:
        raise UsageError(f"the origin of {repository} is not on {api_url}.", "Give --github OWNER/NAME.")
    return GitHubEnrichment(slug, os.environ.get("GITHUB_TOKEN", ""), cache_folder(), api_url)


def _numbers(unit: MergedChange) -> tuple[int, ...]:
    own = () if unit.pull_request is None else (unit.pull_request,)
    return (*own, *unit.closes[:_ISSUES])


def _parsed(node: Node) -> _Issue | _Pull | None:
    model: type[_Issue | _Pull] = _Pull if node.get("__typename") == "PullRequest" else _Issue
    try:
        return model.model_validate(node)
    except (ValidationError, RecursionError):
        return None


def _enrichment(unit: MergedChange, nodes: Mapping[int, Node]) -> Enrichment | None:
    present = [_parsed(nodes.get(number, {})) for number in _numbers(unit)]
    own = next((node for node in present if isinstance(node, _Pull) and node.number == unit.pull_request), None)
    began = min([unit.date, *(commit.date for commit in (own.commits if own else ()))])
    issues: dict[int, LinkedIssue] = {}
    for node in [*(own.issues[:_ISSUES] if own else ()), *present]:
        if isinstance(node, _Issue):
            body, labels = _body_before(node, began), _names(node.labels)
            issues.setdefault(
                node.number, LinkedIssue(node.number, node.title, body, labels, node.created, node.edited)
            )
    if own is not None:
        return Enrichment(own.title, own.body, _names(own.labels), tuple(issues.values()))
    return Enrichment(unit.title, "", (), tuple(issues.values())) if any(present) else None


def _names(labels: list[_Label]) -> tuple[str, ...]:
    return tuple(label.name for label in labels[:_LABELS])


def _body_before(issue: _Issue, began: datetime) -> str:
    # An edit's ``diff`` is the whole text after the edit. That is not documented, so edits are used only if the newest
    # one's text is the present text.
    if issue.edited is None or issue.edited < began:
        return issue.body
    texts = sorted(((edit.moment, edit.text) for edit in issue.edits), key=itemgetter(0))
    if not texts or texts[-1][1] != issue.body:
        return ""
    return next((text for moment, text in reversed(texts) if moment < began), "")
