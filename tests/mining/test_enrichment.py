import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codegate.errors import UsageError
from codegate.forge import GitHubError
from codegate.forge.transport import MAX_ANSWER_BYTES
from codegate.mining.options import MineRequest, check_options
from codegate.mining.sources.enrichment import Enrichment, GitHubEnrichment, LinkedIssue, find_slug
from codegate.mining.sources.history import MergedChange, project_name, project_page
from tests.kit.http import Reply, Request, Server, as_json
from tests.kit.repository import HistoryBuilder

TOKEN = "ghp_0123456789secret"
MERGED = datetime(2025, 3, 10, tzinfo=UTC)


class Forge(Server):
    """A forge on this machine: it answers with what the test lined up, then from its repository."""

    def __init__(self) -> None:
        self.nodes: dict[int, Any] = {}
        self.lined_up: list[Reply] = []
        self.requests: list[Request] = []
        super().__init__(self._respond)

    def _respond(self, request: Request) -> Reply:
        self.requests.append(request)
        asked = re.findall(r"issueOrPullRequest\(number: (\d+)\)", request.body["query"])
        return self.lined_up.pop(0) if self.lined_up else self.reply(map(int, asked))

    def reply(self, numbers: Iterable[int]) -> Reply:
        found = {f"n{number}": self.nodes.get(number) for number in numbers}
        return as_json({"data": {"repository": found}, "errors": [{"type": "NOT_FOUND"}]})


@pytest.fixture
def server() -> Iterator[Forge]:
    server = Forge()
    yield server
    server.close()


def _issue(number: int, **more: Any) -> dict[str, Any]:
    node = {"__typename": "Issue", "number": number, "title": "Sum of nothing", "body": "It crashes.",
            "createdAt": "2025-03-01T00:00:00Z", "lastEditedAt": None, "labels": {"nodes": [{"name": "bug"}]},
            "userContentEdits": {"nodes": []}}  # fmt: skip
    return {**node, **more}


def _pull(number: int, *issues: dict[str, Any], began: str = "2025-03-05T00:00:00Z") -> dict[str, Any]:
    return {
        "__typename": "PullRequest", "number": number, "title": "Start at 0", "body": "Closes it.",
        "labels": {"nodes": [{"name": "fix"}]}, "closingIssuesReferences": {"nodes": list(issues)},
        "commits": {"nodes": [{"commit": {"authoredDate": began}}]},
    }  # fmt: skip


def _unit(commit: str, pull: int | None, *closes: int) -> MergedChange:
    return MergedChange(commit, "b" * 40, "squash", pull, "", False, "Fix", "Fix", "Ada", "a@b", MERGED, (), closes)


def _edits(*texts: tuple[str, str]) -> dict[str, Any]:
    nodes = [{"editedAt": moment, "diff": text} for moment, text in texts]
    return {"lastEditedAt": texts[0][0], "body": texts[0][1], "userContentEdits": {"nodes": nodes}}


@pytest.fixture
def asked(server: Forge, tmp_path: Path) -> Callable[..., GitHubEnrichment]:
    def make(token: str = TOKEN, **more: Any) -> GitHubEnrichment:
        return GitHubEnrichment("ada/sums", token, tmp_path, server.url, pause_seconds=0.01, **more)

    return make


Asked = Callable[..., GitHubEnrichment]


class TestAnswers:
    def test_a_pull_request_with_its_issues(self, server: Forge, asked: Asked) -> None:
        server.nodes = {12: _pull(12, _issue(3))}

        found = asked().fetch([_unit("c", 12)])

        created = datetime(2025, 3, 1, tzinfo=UTC)
        issue = LinkedIssue(3, "Sum of nothing", "It crashes.", ("bug",), created, None)
        assert found == {"c": Enrichment("Start at 0", "Closes it.", ("fix",), (issue,))}
        (request,) = server.requests
        assert request.path == "/graphql"
        assert request.headers["authorization"] == f"Bearer {TOKEN}"

    def test_issues_that_only_the_text_names(self, server: Forge, asked: Asked) -> None:
        server.nodes = {12: _pull(12), 3: _issue(3), 4: _pull(4)}

        found = asked().fetch([_unit("c", 12, 3, 4, 5), _unit("d", None, 3), _unit("e", None), _unit("f", None, 5)])

        assert {commit: [issue.number for issue in entry.issues] for commit, entry in found.items()} == {
            "c": [3],
            "d": [3],
        }

    def test_fifty_in_one_question(self, server: Forge, asked: Asked) -> None:
        server.nodes = {number: _pull(number) for number in range(1, 121)}

        assert len(asked().fetch([_unit(str(number), number) for number in range(1, 121)])) == 120
        assert len(server.requests) == 3

    def test_a_second_time_nothing_is_asked(self, server: Forge, asked: Asked) -> None:
        server.nodes = {12: _pull(12, _issue(3))}
        units = [_unit("c", 12), _unit("d", 99)]
        first = asked().fetch(units)
        server.close()

        assert asked().fetch(units) == first
        assert len(server.requests) == 1


class TestTheTextBeforeTheFix:
    @pytest.mark.parametrize(
        ("more", "body"),
        [
            (_edits(("2025-03-02T00:00:00Z", "before"), ("2025-03-01T00:00:00Z", "first")), "before"),
            (_edits(("2025-03-07T00:00:00Z", "spoiled"), ("2025-03-03T00:00:00Z", "good"),
                    ("2025-03-01T00:00:00Z", "first")), "good"),
            (_edits(("2025-03-07T00:00:00Z", "spoiled"), ("2025-03-06T00:00:00Z", "too late")), ""),
            ({"lastEditedAt": "2025-03-07T00:00:00Z", "body": "spoiled"}, ""),
            (_edits(("2025-03-07T00:00:00Z", "spoiled"), ("2025-03-03T00:00:00Z", "+ good")) | {"body": "other"}, ""),
        ],
    )  # fmt: skip
    def test_edits(self, server: Forge, asked: Asked, more: dict[str, Any], body: str) -> None:
        server.nodes = {12: _pull(12, _issue(3, **more))}

        (issue,) = asked().fetch([_unit("c", 12)])["c"].issues

        assert issue.body == body
        assert issue.edited is not None

    def test_the_merge_counts_where_the_first_commit_is_unknown(self, server: Forge, asked: Asked) -> None:
        server.nodes = {3: _issue(3, **_edits(("2025-03-12T00:00:00Z", "after"), ("2025-03-09T00:00:00Z", "then")))}

        (issue,) = asked().fetch([_unit("c", None, 3)])["c"].issues

        assert issue.body == "then"


def test_without_a_token_it_is_a_usage_error(asked: Asked) -> None:
    with pytest.raises(UsageError, match="GITHUB_TOKEN"):
        asked("")


class TestFaults:
    def test_limits_are_waited_for(self, server: Forge, asked: Asked) -> None:
        server.nodes = {12: _pull(12)}
        spent = {"x-ratelimit-remaining": "0"}
        server.lined_up = [
            Reply(status=429, headers={"retry-after": "0"}),
            Reply(status=403, headers={**spent, "x-ratelimit-reset": str(int(time.time()) - 5)}),
            Reply(b'{"errors": [{"type": "RATE_LIMITED"}]}', headers={**spent, "retry-after": "0"}),
        ]

        assert set(asked().fetch([_unit("c", 12)])) == {"c"}
        assert len(server.requests) == 4

    @pytest.mark.parametrize(
        ("status", "value"), [(403, "3600"), *((429, value) for value in ("99999999999", "-1", "soon", "1" * 5000))]
    )
    def test_a_limit_that_lasts_too_long_is_said(self, server: Forge, asked: Asked, status: int, value: str) -> None:
        server.lined_up = [Reply(status=status, headers={"retry-after": value})]

        with pytest.raises(GitHubError, match=r"rate limit.*Run again"):
            asked(max_wait_seconds=1).fetch([_unit("c", 12)])

    @pytest.mark.parametrize("fault", [Reply(status=502), Reply(b"{}", cut=1)])
    def test_an_outage_or_half_an_answer_is_asked_again(self, server: Forge, asked: Asked, fault: Reply) -> None:
        server.nodes = {12: _pull(12)}
        server.lined_up = [fault, fault]

        assert set(asked().fetch([_unit("c", 12)])) == {"c"}

    def test_a_question_that_is_too_much_is_halved(self, server: Forge, asked: Asked) -> None:
        server.nodes = {12: _pull(12), 13: _pull(13)}
        server.lined_up = [Reply(status=502)] * 4

        assert set(asked().fetch([_unit("c", 12), _unit("d", 13)])) == {"c", "d"}
        assert len(server.requests) == 6

    def test_an_answer_without_end_is_cut_off(self, server: Forge, asked: Asked) -> None:
        server.lined_up = [Reply(b" " * (MAX_ANSWER_BYTES + 1))]

        assert asked().fetch([_unit("c", 12)]) == {}

    def test_what_was_fetched_before_the_fault_is_kept(self, server: Forge, asked: Asked) -> None:
        server.nodes = {number: _pull(number) for number in range(1, 61)}
        units = [_unit(str(number), number) for number in range(1, 61)]
        server.lined_up = [server.reply(range(1, 51)),
                           Reply(status=429, headers={"retry-after": "900"})]  # fmt: skip
        with pytest.raises(GitHubError):
            asked(max_wait_seconds=1).fetch(units)

        assert len(asked().fetch(units)) == 60
        assert len(server.requests) == 3

    @pytest.mark.parametrize("status", [401, 403])
    def test_a_token_that_is_refused(self, server: Forge, asked: Asked, status: int) -> None:
        server.lined_up = [Reply(status=status)]
        with pytest.raises(UsageError, match="refused the token") as caught:
            asked().fetch([_unit("c", 12)])
        assert TOKEN not in str(caught.value)

    def test_a_repository_that_the_token_cannot_see(self, server: Forge, asked: Asked) -> None:
        server.lined_up = [Reply(b'{"data": {"repository": null}}')]
        with pytest.raises(UsageError, match="no repository ada/sums"):
            asked().fetch([_unit("c", 12)])


class TestTheToken:
    @pytest.mark.parametrize("token", ["ghp_two words", "ghp_line\nX-Other: 1", "ghp_café", "ghp_\x7f"])
    def test_it_has_no_character_that_no_token_has(self, server: Forge, asked: Asked, token: str) -> None:
        with pytest.raises(UsageError, match="has characters that a token cannot have") as caught:
            asked(token)
        assert token not in str(caught.value)
        assert server.requests == []

    def test_it_goes_nowhere_else(self, server: Forge, asked: Asked, tmp_path: Path) -> None:
        elsewhere = Forge()
        server.lined_up = [Reply(status=307, headers={"location": f"{elsewhere.url}/graphql"})]
        with pytest.raises(GitHubError, match="HTTP 307"):
            asked().fetch([_unit("c", 12)])
        elsewhere.close()
        assert elsewhere.requests == []

    def test_no_file_has_it(self, server: Forge, asked: Asked, tmp_path: Path) -> None:
        server.nodes = {12: _pull(12)}
        asked().fetch([_unit("c", 12)])
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        assert not any(TOKEN.encode() in path.read_bytes() for path in files)

    def test_it_is_sent_encrypted(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="https address"):
            GitHubEnrichment("ada/sums", TOKEN, tmp_path, "http://example.org")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("2025-03-01T00:00:00Z"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["nodes", "name", "editedAt", "diff", "commit", "authoredDate", "__typename"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@example(spoiled={"closingIssuesReferences": {"nodes": None}})
@example(spoiled={"userContentEdits": 3})
@given(spoiled=st.dictionaries(st.sampled_from(sorted({*_issue(3), *_pull(12)})), _JSON))
def test_no_answer_and_no_cache_file_is_more_than_text(spoiled: dict[str, Any]) -> None:
    from codegate.mining.sources.enrichment import _enrichment

    node = {**_pull(12, {**_issue(3), **spoiled}), **spoiled}
    found = _enrichment(_unit("c", 12, 3), {12: node, 3: {**_issue(3), **spoiled}})
    if found is not None:
        json.dumps([found.title, found.body, found.labels, [issue.body for issue in found.issues]]).encode()
        assert all(isinstance(issue.created, datetime) for issue in found.issues)


def test_text_is_bounded_and_can_be_written(server: Forge, asked: Asked) -> None:
    server.nodes = {12: _pull(12) | {"body": "\0\ud800x\r\n" * 100_000, "title": "a\nb" * 1000}}

    found = asked().fetch([_unit("c", 12)])["c"]

    assert len(found.body) == 1 << 16
    assert found.body.startswith("?x\n")
    assert found.body.encode()
    assert "\n" not in found.title


@pytest.mark.parametrize(
    ("address", "slug"),
    [
        ("https://github.com/ada/sums.git", "ada/sums"),
        ("https://x-access-token:t@github.com/ada/sums", "ada/sums"),
        ("git@github.com:ada/sums.git", "ada/sums"),
        ("ssh://git@ssh.github.com:443/ada/sums.git", "ada/sums"),
        ("git@github.com:/ada/sums.git", "ada/sums"),
        ("github.com:ada/sums", "ada/sums"),
        ("git://github.com/ada/sums.git", "ada/sums"),
        ("git+ssh://git@github.com/ada/sums", "ada/sums"),
        ("ssh+git://git@github.com/ada/sums", "ada/sums"),
        ("https://gitlab.com/ada/sums", None),
        ("/srv/git/ada/sums", None),
        ("https://github.com/ada", None),
    ],
)
def test_where_the_clone_is_from(history: HistoryBuilder, address: str, slug: str | None) -> None:
    history.git("config", "remote.origin.url", address)
    assert find_slug(history.folder) == slug


@pytest.mark.parametrize(
    ("address", "name", "page"),
    [
        ("https://x-access-token:t@GitHub.com/ada/sums.git", "sums", "https://github.com/ada/sums"),
        ("git@github.com:ada/sums.git", "sums", "https://github.com/ada/sums"),
        ("ssh://git@git.example.org:2222/team/ada/sums", "sums", "https://git.example.org/team/ada/sums"),
        ("https://git.example.org:8443/ada/sums/", "sums", "https://git.example.org:8443/ada/sums"),
        ("git@git_of_work:ada/sums", "sums", "https://git_of_work/ada/sums"),
        ("/srv/git/sums.git", "sums", None),
        ("file://localhost/srv/git/sums.git", "sums", None),
        ("C:/git/ada/sums", "sums", None),
        ("https://github.com/ada/sums?x=<script>", "sums", None),
    ],
)
def test_a_project_is_called_as_its_origin(history: HistoryBuilder, address: str, name: str, page: str | None) -> None:
    history.git("config", "remote.origin.url", address)
    assert (project_name(history.folder), project_page(history.folder)) == (name, page)
    suite = check_options(history.folder, history.folder / "suite", MineRequest())
    assert suite == re.sub(r"\W+", "-", name).rstrip("-")


def test_a_clone_from_nowhere(history: HistoryBuilder) -> None:
    assert find_slug(history.folder) is None
    history.git("config", "remote.origin.url", "https://git.example.org/ada/sums")
    assert find_slug(history.folder, "https://git.example.org/api/v3") == "ada/sums"
