"""One comment, ours, updated in place, on the pull request that GitHub says it belongs on."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.errors import UsageError
from codegate.forge import GitHub, GitHubError
from codegate.github.event import Event
from codegate.github.posts import BOT, MAX_BODY_BYTES, cut, marker, post_comment
from codegate.github.report import pull_number
from tests.github.test_event import FORK as STRANGERS
from tests.github.test_event import event_of, pull_payload, run_payload
from tests.kit.github import FakeGitHub, Fault, Reply, Token, fake_github, rate_limited
from tests.kit.github.rest import HOME, Rest

COMMENTS, ONE = r"/repos/acme/demo/issues/7/comments", r"/repos/acme/demo/issues/comments/\d+"
HEAD = "a" * 40
GATE = marker("gate")


@pytest.fixture
def server() -> Iterator[FakeGitHub]:
    """An Enterprise server with one pull request, and tokens of a workflow, a person, an app and a fork's run."""
    speak = frozenset({"pull-requests: write", "contents: read"})
    tokens = {
        "ghs_workflow": Token(speak),
        "ghp_person": Token(speak, login="alice", app=False),
        "ghs_app": Token(speak, login="gatekeeper[bot]"),
        "ghs_fork": Token(frozenset({"pull-requests: read", "contents: read"})),
    }
    with fake_github("/api/v3", tokens) as github:
        github.store(Rest).add_pull(7, HEAD)
        yield github


def client(server: FakeGitHub, token: str = "ghs_workflow") -> GitHub:
    return GitHub(server.api_url, "acme/demo", token, pause_seconds=0.01)


def comments(server: FakeGitHub) -> list[dict[str, Any]]:
    return server.store(Rest).comments.get(7, [])


def bodies(server: FakeGitHub) -> list[str]:
    return [entry["body"] for entry in comments(server)]


@pytest.mark.parametrize("token", ["ghs_workflow", "ghp_person", "ghs_app"])
def test_the_same_comment_is_updated(server: FakeGitHub, token: str) -> None:
    server.store(Rest).add_comment(7, "bob", "Nice.")
    done = [post_comment(client(server, token), 7, "gate", body) for body in ("red", "green", "green")]
    assert bodies(server) == ["Nice.", f"{GATE}\ngreen"]
    assert done[0].did == "created"
    assert done[0].url == "https://git.acme.example/acme/demo/pull/7#issuecomment"
    assert [said.warning for said in done] == [None] * 3
    if token != "ghs_app":
        assert [said.did for said in done] == ["created", "updated", "unchanged"]


def test_another_gate_has_its_own_comment(server: FakeGitHub) -> None:
    for key in ("gate", "gate-2", "gat"):
        post_comment(client(server), 7, key, "x")
    assert bodies(server) == [f"{marker(key)}\nx" for key in ("gate", "gate-2", "gat")]


def test_our_comment_is_found_on_the_last_page(server: FakeGitHub) -> None:
    for n in range(250):
        server.store(Rest).add_comment(7, "bob", f"comment {n}")
    ours = server.store(Rest).add_comment(7, BOT, f"{GATE}\r\nold")
    assert post_comment(client(server), 7, "gate", "new").did == "updated"
    assert ours["body"] == f"{GATE}\nnew"
    assert len(comments(server)) == 251


def test_a_strangers_comment_with_our_marker_is_left_alone(server: FakeGitHub) -> None:
    planted = [
        server.store(Rest).add_comment(7, login, f"{GATE}\n✓ codegate: pass")
        for login in ("mallory", "github-actions", "evil[bot]", "github-actions[bot]x")
    ]
    quoted = server.store(Rest).add_comment(7, BOT, f"somebody wrote\n{GATE}\nred")
    assert post_comment(client(server), 7, "gate", "red").did == "created"
    assert [entry["body"] for entry in planted] == [f"{GATE}\n✓ codegate: pass"] * 4
    assert quoted["body"].startswith("somebody")
    assert comments(server)[-1]["user"]["login"] == BOT


ODD: list[dict[str, Any]] = [
    {"id": 1, "user": None, "body": f"{GATE}\nx"},  # of an account that is gone
    {"id": 2, "user": {"login": BOT}, "body": None},
    {"id": 3, "user": [BOT], "body": f"{GATE}\nx"},
    {"user": {"login": ["x"]}, "body": f"{GATE}\nx"},
    {},
]


def test_odd_comments_are_nobodys(server: FakeGitHub) -> None:
    server.store(Rest).comments[7] = copy.deepcopy(ODD)
    assert post_comment(client(server), 7, "gate", "red").did == "created"
    assert comments(server)[:-1] == ODD


@pytest.mark.parametrize("number", ["5/../../x", None, True, 0, -1, 1.5])
def test_no_address_is_made_of_an_odd_number(server: FakeGitHub, tmp_path: Path, number: object) -> None:
    server.store(Rest).comments[7] = [{"id": number, "user": {"login": BOT}, "body": f"{GATE}\nx"}]
    done = post_comment(client(server), 7, "gate", "red")
    assert done.warning is not None
    assert "no id" in done.warning
    server.store(Rest).pulls[7]["number"] = number
    with pytest.raises(GitHubError, match="no number"):
        pull_number(client(server), ended(tmp_path))


def test_of_several_comments_of_ours_the_oldest_stays(server: FakeGitHub) -> None:
    oldest = server.store(Rest).add_comment(7, BOT, f"{GATE}\nred")
    server.store(Rest).add_comment(7, BOT, f"{GATE}\ngreen")
    comments(server).reverse()
    server.fail(Fault("DELETE", ONE, Reply({"message": "no"}, 403)))  # that does not matter
    assert post_comment(client(server), 7, "gate", "new").did == "updated"
    assert oldest["body"] == f"{GATE}\nnew"
    post_comment(client(server), 7, "gate", "newer")
    assert bodies(server) == [f"{GATE}\nnewer"]


def test_a_comment_that_is_deleted_meanwhile_is_written_again(server: FakeGitHub) -> None:
    server.store(Rest).add_comment(7, BOT, f"{GATE}\nold")
    server.fail(Fault("PATCH", ONE, Reply({"message": "Not Found"}, 404)))
    assert post_comment(client(server), 7, "gate", "new").did == "created"


@pytest.mark.parametrize(
    ("token", "number", "fault", "words"),
    [
        ("ghs_fork", 7, None, "permissions: issues: write or pull-requests: write"),
        ("ghs_workflow", 8, None, "HTTP 404"),
        ("ghs_nobody", 7, None, "github-token"),
        ("ghs_workflow", 7, Reply({"message": "Validation Failed"}, 422), "HTTP 422: Validation Failed"),
        ("ghs_workflow", 7, Reply({"message": "issue is locked"}, 403), "Unlock the conversation"),
        ("ghs_workflow", 7, rate_limited(4000), "4000 s"),
        ("ghs_workflow", 7, Reply({"message": "Gone"}, 410), "HTTP 410"),
        ("ghs_workflow", 7, Reply(b"<html>", 503), "HTTP 503"),
    ],
)
def test_what_github_refuses_is_a_warning(
    server: FakeGitHub, token: str, number: int, fault: Reply | None, words: str
) -> None:
    if fault is not None:
        server.fail(Fault("POST", COMMENTS, fault, times=2 if fault.status == 503 else 1))
    done = post_comment(client(server, token), number, "gate", "red")
    assert done.did == "nothing"
    assert done.warning is not None
    assert words in done.warning
    assert token not in done.warning
    assert not bodies(server)


@pytest.mark.parametrize("happened", [True, False])
@pytest.mark.parametrize("reply", [Reply(b"", 502), None], ids=["502", "cut"])
def test_an_uncertain_comment_is_looked_for_before_it_is_written_again(
    server: FakeGitHub, reply: Reply | None, happened: bool
) -> None:
    server.fail(Fault("POST", COMMENTS, reply, after=happened))
    assert post_comment(client(server), 7, "gate", "red").did == "created"
    assert bodies(server) == [f"{GATE}\nred"]


def test_it_is_written_once_github_allows_it_again(server: FakeGitHub) -> None:
    server.fail(Fault("GET", COMMENTS, Reply(b"", 500), times=2), Fault("POST", COMMENTS, rate_limited(0)))
    assert post_comment(client(server), 7, "gate", "red").did == "created"
    assert len(server.asked("POST")) == 2


@pytest.mark.parametrize("body", ["é" * 70_000, "row é\n" * 20_000, "x" * 200_000 + "\n"])
def test_a_body_is_cut_to_what_github_takes(server: FakeGitHub, body: str) -> None:
    assert post_comment(client(server), 7, "gate", body).did == "created"
    (text,) = bodies(server)
    assert text.startswith(f"{GATE}\n")
    assert text.endswith("_Truncated to the size that GitHub accepts._\n")


@given(st.text(max_size=300), st.integers(60, 400))
def test_a_cut_is_between_lines_and_within_the_limit(text: str, limit: int) -> None:
    short = cut(text, limit)
    assert len(short.encode()) <= limit
    head = short.removesuffix("\n\n_Truncated to the size that GitHub accepts._\n")
    clean = text.encode("utf-8", "replace").decode()
    assert short == clean or head == "" or clean.startswith(f"{head}\n")
    assert MAX_BODY_BYTES == 65_536


@pytest.mark.parametrize("key", ["", "a b", "a-->", "a--b", "-a", "é", "a\n", "x" * 101, "<!--"])
def test_a_key_that_could_end_the_marker_is_refused(server: FakeGitHub, key: str) -> None:
    with pytest.raises(UsageError, match="no name"):
        post_comment(client(server), 7, key, "x")


def ended(folder: Path, head: object = STRANGERS, **changes: Any) -> Event:
    """Return the event of a run that a fork's pull request started."""
    return event_of(folder, "workflow_run", run_payload(head, **{"head_branch": "patch", **changes}))


@pytest.mark.parametrize("known", [True, False], ids=["by commit", "by branch"])
def test_the_pull_request_of_a_run_is_asked_for(server: FakeGitHub, tmp_path: Path, known: bool) -> None:
    rest = server.store(Rest)
    rest.pulls.clear()
    rest.commits.clear()
    for number in range(10, 240):
        rest.add_pull(number, f"{number:040x}", branch="patch")
    rest.add_pull(9, HEAD, known=known)
    assert pull_number(client(server), ended(tmp_path)) == 9
    assert len(server.asked("GET", r"/repos/acme/demo/pulls")) == (0 if known else 3)


@pytest.mark.parametrize(
    "pull",
    [
        {"sha": "d" * 40},
        {"sha": HEAD, "state": "closed"},
        {"sha": HEAD, "head": HOME},
        {"sha": HEAD, "head": 3000},
        {"sha": HEAD, "head": None},
        {"sha": HEAD, "base": 4000},
    ],
    ids=["moved on", "closed", "of a branch of ours", "of another fork", "of a fork that is gone", "of another base"],
)
@pytest.mark.parametrize("known", [True, False])
def test_only_an_open_pull_request_of_the_runs_own_head_is_meant(
    server: FakeGitHub, tmp_path: Path, pull: dict[str, Any], known: bool
) -> None:
    rest = server.store(Rest)
    rest.pulls.clear()
    rest.commits.clear()
    rest.add_pull(9, **pull, known=known)
    assert pull_number(client(server), ended(tmp_path)) is None


def test_no_pull_request_is_looked_for_where_there_can_be_none(server: FakeGitHub, tmp_path: Path) -> None:
    for event in (
        ended(tmp_path, event="push"),
        ended(tmp_path, event="schedule"),
        event_of(tmp_path, "push", {}),
    ):
        assert pull_number(client(server), event) is None
    assert pull_number(client(server), event_of(tmp_path, "pull_request", pull_payload())) == 7
    assert not server.requests
    assert pull_number(client(server), ended(tmp_path, None)) is None


def test_what_cannot_be_asked_is_no_answer(server: FakeGitHub, tmp_path: Path) -> None:
    server.fail(Fault("GET", f"/repos/acme/demo/commits/{HEAD}/pulls", Reply({"message": "no"}, 403)))
    with pytest.raises(GitHubError, match="pull-requests: read"):
        pull_number(client(server), ended(tmp_path))
