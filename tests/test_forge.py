"""The client against a GitHub that fails in every way that the real one does."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from codegate.errors import ExitCode, UsageError
from codegate.forge import Forbidden, GitHub, GitHubError, Gone, NotFound
from tests.kit.github import FakeGitHub, Fault, Listing, Reply, Request, Token, fake_github, rate_limited, route

SECRET = "ghs_0123456789abcdefSECRET"
LIST, THING, FILE = r"/repos/acme/demo/numbers", r"/repos/acme/demo/things", r"/repos/acme/demo/files/1"


@route("GET", LIST, needs="contents: read")
def _numbers(github: FakeGitHub, request: Request) -> Listing:
    return Listing([{"n": n} for n in range(250)], request.query.get("named"))


@route("GET", THING)
def _thing(github: FakeGitHub, request: Request) -> object:
    return {"seen": [r.method for r in github.asked("POST", THING)]}


@route("POST", THING, needs="pull-requests: write | issues: write")
def _make(github: FakeGitHub, request: Request) -> object:
    return Reply(request.body, 201)


@route("PATCH", THING, needs="issues: write")
def _change(github: FakeGitHub, request: Request) -> object:
    return request.body


@route("GET", FILE, needs="actions: read")
def _file(github: FakeGitHub, request: Request) -> object:
    return Reply(b"", 302, {"Location": f"{github.origin}/blobs/1?sig=SIGNED"})


@route("GET", r"/blobs/1", outside=True)
def _blob(github: FakeGitHub, request: Request) -> object:
    if "authorization" in request.headers:  # as the real storage does
        return Reply({"message": "InvalidAuthenticationInfo"}, 400)
    return Reply(b"PK" + bytes(1000))


MAY = frozenset({"contents: read", "issues: write", "actions: read"})


@pytest.fixture
def server() -> Iterator[FakeGitHub]:
    """An Enterprise server: what goes right below its prefix does so without one."""
    with fake_github("/api/v3", {SECRET: Token(MAY)}) as github:
        yield github


def client(server: FakeGitHub, token: str | None = SECRET, waits: float = 3.0) -> GitHub:
    return GitHub(server.api_url, "acme/demo", token, max_wait_seconds=waits, pause_seconds=0.01)


def test_a_list_is_read_to_its_end_page_by_page(server: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    github = client(server)
    assert [item["n"] for item in github.pages(github.repo("numbers"))] == list(range(250))
    assert [item["n"] for item in github.pages(github.repo("numbers"), "found", named="found")] == list(range(250))
    assert [r.query["page"] for r in server.asked("GET", LIST) if "page" in r.query] == ["2", "3", "2", "3"]
    monkeypatch.setattr("codegate.forge.client.MAX_PAGES", 2)
    with pytest.raises(GitHubError, match="more than 2 pages"):
        list(github.pages(github.repo("numbers")))
    with pytest.raises(GitHubError, match="else than a list"):
        list(github.pages(github.repo("things")))


@pytest.mark.parametrize("prefix", ["", "/api/v3"])
def test_what_is_sent_arrives_with_the_token(prefix: str) -> None:
    with fake_github(prefix, {SECRET: Token(MAY)}) as server:
        github = client(server)
        assert github.send("POST", github.repo("things"), {"a": "ü"}) == {"a": "ü"}
        (sent,) = server.asked("POST")
    assert sent.headers["authorization"] == f"Bearer {SECRET}"
    assert sent.headers["x-github-api-version"] == "2022-11-28"


def test_a_file_comes_from_where_it_is_stored_without_the_token(server: FakeGitHub) -> None:
    github = client(server)
    assert github.download(github.repo("files/1"), 1002) == b"PK" + bytes(1000)
    (blob,) = server.asked("GET", "/blobs/1")
    assert "authorization" not in blob.headers
    with pytest.raises(GitHubError, match="more than 1001 bytes") as caught:
        github.download(github.repo("files/1"), 1001)
    assert "SIGNED" not in str(caught.value)


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/x", "file:///etc/passwd"])
def test_a_redirect_to_no_proper_address_is_not_followed(server: FakeGitHub, target: str) -> None:
    github = client(server)
    server.fail(Fault("GET", FILE, Reply(status=302, headers={"Location": target}), times=4))
    with pytest.raises(GitHubError, match="InvalidSchema"):
        github.download(github.repo("files/1"), 10)


def test_redirects_end(server: FakeGitHub) -> None:
    github = client(server)
    round_and_round = Reply(status=302, headers={"Location": f"{server.api_url}{FILE}"})
    server.fail(Fault("GET", FILE, round_and_round, times=5))
    with pytest.raises(GitHubError, match="without end"):
        github.download(github.repo("files/1"), 10)


def test_a_repository_that_moved_is_followed_but_no_answer_leads_elsewhere(server: FakeGitHub) -> None:
    github = client(server)
    server.fail(Fault("GET", "/repos/acme/demo/old", Reply(status=301, headers={"Location": server.api_url + THING})))
    assert github.get(github.repo("old")) == {"seen": []}
    with fake_github(server.prefix) as stranger:
        away = Reply(status=301, headers={"Location": stranger.api_url + THING})
        server.fail(Fault("GET", THING, away), Fault("GET", FILE, away))
        with pytest.raises(GitHubError, match="another place"):
            github.get(github.repo("things"))
        assert github.download(github.repo("files/1"), 12) == b'{"seen": []}'
        assert len(stranger.requests) == 1
        assert not any("authorization" in request.headers for request in stranger.requests)


def test_what_the_token_lacks_is_named(server: FakeGitHub) -> None:
    server.tokens["ghs_poor"] = Token(frozenset())
    github = client(server, "ghs_poor")
    with pytest.raises(Forbidden) as caught:
        github.send("POST", github.repo("things"), {})
    assert caught.value.permission == "pull-requests: write or issues: write"
    assert "`permissions: pull-requests: write or issues: write`" in str(caught.value)
    assert len(server.asked("POST")) == 1
    several = {"X-Accepted-GitHub-Permissions": "contents=read,pull_requests=write; issues=write; ::error::=x"}
    server.fail(Fault("POST", THING, Reply({"message": "no"}, 403, several)))
    with pytest.raises(Forbidden, match="`permissions: contents: read and pull-requests: write or issues: write`"):
        github.send("POST", github.repo("things"), {})
    silent = Reply({"message": "Resource not accessible by integration"}, 403)
    for path, permission in [
        ("issues/7/comments", "pull-requests: write"),
        ("issues/comments/7", "pull-requests: write"),
        ("issues", "issues: write"),
        ("check-runs", "checks: write"),
    ]:
        server.fail(Fault("POST", f"/repos/acme/demo/{path}", silent))
        with pytest.raises(Forbidden) as caught:
            github.send("POST", github.repo(path), {})
        assert caught.value.permission == permission
    server.fail(Fault("GET", "/repos/acme/demo/actions/runs/1", silent))
    with pytest.raises(Forbidden, match="actions: read"):
        github.get(github.repo("actions/runs/1"))


@pytest.mark.parametrize(
    ("reply", "error", "status", "words"),
    [
        (Reply({"message": "Bad credentials"}, 401), GitHubError, 401, "github-token"),
        (Reply({"message": "Not Found"}, 404), NotFound, 404, "or the token lacks"),
        (Reply({"message": "Artifact has expired"}, 410), Gone, 410, "Artifact has expired"),
        (
            Reply({"message": "Validation Failed", "errors": [{"message": "body is too long"}]}, 422),
            GitHubError, 422, "Validation Failed; body is too long",
        ),
        (
            Reply({"message": "a\u2028::error::b\x1b[31m" + SECRET}, 418),
            GitHubError, 418, r"a ::error::b\\x1b\[31m\*\*\*",
        ),
        (Reply(b"<html>no</html>", 404), NotFound, 404, "HTTP 404"),
        (Reply([["deep"]], 400), GitHubError, 400, "HTTP 400"),
    ],
)  # fmt: skip
def test_every_refusal_says_what_it_is(
    server: FakeGitHub, reply: Reply, error: type[GitHubError], status: int, words: str
) -> None:
    server.fail(Fault("GET", THING, reply))
    with pytest.raises(error, match=words) as caught:
        client(server).get("repos/acme/demo/things")
    assert (caught.value.status, caught.value.exit_code) == (status, ExitCode.INFRASTRUCTURE)
    assert SECRET not in f"{caught.value!s}{caught.value!r}"
    assert len(server.asked("GET", THING)) == 1


@pytest.mark.parametrize(("status", "after"), [(429, 1), (403, None)])
def test_a_rate_limit_is_waited_for(server: FakeGitHub, status: int, after: int | None) -> None:
    server.fail(Fault("POST", THING, rate_limited(after, status=status)))
    started = time.monotonic()
    assert client(server).send("POST", "repos/acme/demo/things", {"a": 1}) == {"a": 1}
    assert time.monotonic() - started >= 0.9
    assert len(server.asked("POST")) == 2


def test_waiting_for_rate_limits_is_bounded(server: FakeGitHub) -> None:
    server.fail(Fault("GET", THING, rate_limited(9000)))
    with pytest.raises(GitHubError, match="9000 s"):
        client(server).get("repos/acme/demo/things")
    server.fail(Fault("GET", THING, rate_limited(0), times=6))
    with pytest.raises(GitHubError, match="rate limit"):
        client(server, waits=0.45).get("repos/acme/demo/things")
    server.fail(Fault("GET", THING, Reply({"message": "You hit a secondary rate limit"}, 403)))
    with pytest.raises(GitHubError, match="60 s"):
        client(server).get("repos/acme/demo/things")


@pytest.mark.parametrize("fault", [{"reply": Reply(b"", 502)}, {}, {"cut": 5}], ids=["502", "cut", "cut in the answer"])
def test_questions_and_changes_are_repeated_after_a_fault(server: FakeGitHub, fault: dict[str, object]) -> None:
    github = client(server)
    server.fail(Fault("GET", THING, times=2, **fault), Fault("PATCH", THING, times=1, **fault))  # type: ignore[arg-type]
    assert github.get(github.repo("things")) == {"seen": []}
    assert github.send("PATCH", github.repo("things"), {"a": 1}) == {"a": 1}
    server.fail(Fault("GET", THING, times=4, **fault))  # type: ignore[arg-type]
    with pytest.raises(GitHubError, match="4 tries") as caught:
        github.get(github.repo("things"))
    assert not caught.value.uncertain


@pytest.mark.parametrize("fault", [{"reply": Reply(b"", 502)}, {}, {"cut": 5}], ids=["502", "cut", "cut in the answer"])
def test_what_may_have_been_done_is_not_done_again(server: FakeGitHub, fault: dict[str, object]) -> None:
    server.fail(Fault("POST", THING, after=True, **fault))  # type: ignore[arg-type]
    with pytest.raises(GitHubError) as caught:
        client(server).send("POST", "repos/acme/demo/things", {"a": "more than five bytes"})
    assert caught.value.uncertain
    assert len(server.asked("POST")) == 1


def test_what_was_never_sent_is_sent_again_and_no_uncertainty_is_claimed(server: FakeGitHub) -> None:
    with fake_github() as gone:
        address = gone.api_url
    github = GitHub(address, "acme/demo", SECRET, pause_seconds=0.01)
    with pytest.raises(GitHubError, match="ConnectionError, 4 tries") as caught:
        github.send("POST", "repos/acme/demo/things", {})
    assert (caught.value.status, caught.value.uncertain) == (None, False)
    assert SECRET not in str(caught.value)


def test_an_answer_without_end_and_one_that_is_no_json_are_refused(server: FakeGitHub) -> None:
    github = client(server)
    for body, words in [(b" " * (17 << 20), "more than"), (b'{"a": 1, "a": 2}', "no JSON"), (b"[" * 999, "no JSON")]:
        server.fail(Fault("GET", THING, Reply(body)))
        with pytest.raises(GitHubError, match=words):
            github.get(github.repo("things"))


def test_no_netrc_and_no_log_has_a_part_in_it(
    server: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login user password hunter2\n")
    monkeypatch.setenv("NETRC", str(netrc))
    caplog.set_level("DEBUG")
    for token in (SECRET, None):
        github = client(server, token)
        github.get(github.repo("things"))
    client(server).download("repos/acme/demo/files/1", 2000)
    assert [r.headers.get("authorization") for r in server.asked("GET", THING)] == [f"Bearer {SECRET}", None]
    assert SECRET not in caplog.text
    assert "SIGNED" not in caplog.text


@pytest.mark.parametrize(
    ("api_url", "repository", "token"),
    [
        ("ftp://host", "a/b", None),
        ("https://user@host", "a/b", None),
        ("https://host?x=1", "a/b", None),
        ("https://[host", "a/b", None),
        ("https://host", "a/b/c", None),
        ("https://host", "../b", None),
        ("https://host", "a/..", None),
        ("https://host", "", None),
        ("https://host", "a/b", "two words"),
        ("https://host", "a/b", "x\r\nHost: y"),
    ],
)
def test_unusable_settings_are_refused(api_url: str, repository: str, token: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        GitHub(api_url, repository, token)
    assert not token or token not in str(caught.value)


@pytest.mark.parametrize(
    "path", ["../user", "repos/acme/../x", "/user", "https://x/y", "a//b", "a?b=c", "a#b", "a\nb", ""]
)
def test_no_path_leaves_the_api(path: str) -> None:
    with pytest.raises(UsageError, match="not a path"):
        GitHub("https://api.invalid", "acme/demo", None).get(path)
