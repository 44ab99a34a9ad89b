"""The check run: on the right commit, with the right end, within GitHub's limits."""

from collections.abc import Iterator
from typing import Any

import pytest

from codegate.forge import GitHub
from codegate.github.posts import MAX_TEXT_BYTES, conclusion_of, post_check
from tests.kit.github import FakeGitHub, Fault, Reply, Token, fake_github
from tests.kit.github.rest import Rest

HEAD = "a" * 40
RUNS = "/repos/acme/demo/check-runs"


@pytest.fixture
def server() -> Iterator[FakeGitHub]:
    may = frozenset({"checks: write"})
    tokens = {"ghs_workflow": Token(may), "ghp_person": Token(may, app=False), "ghs_poor": Token(frozenset())}
    with fake_github("/api/v3", tokens) as github:
        yield github


def client(server: FakeGitHub, token: str = "ghs_workflow") -> GitHub:
    return GitHub(server.api_url, "acme/demo", token, pause_seconds=0.01)


def checks(server: FakeGitHub) -> list[dict[str, Any]]:
    return list(server.store(Rest).checks.values())


@pytest.mark.parametrize(
    ("kind", "conclusion"),
    [
        ("pass", "success"),
        ("regressed", "failure"),
        ("inconclusive", "neutral"),
        ("incomparable", "neutral"),
        ("infrastructure", "failure"),
        ("error", "failure"),
        ("no baseline", "failure"),
        ("anything else", "failure"),
        ("skipped", "skipped"),
        ("ungated", "neutral"),
        ("interrupted", "cancelled"),
    ],
)
def test_a_verdict_ends_the_check(server: FakeGitHub, kind: str, conclusion: str) -> None:
    done = post_check(client(server), HEAD, "codegate", kind, "Why.", details_url="https://git.acme.example/run")
    assert (done.did, done.warning) == ("created", None)
    (check,) = checks(server)
    assert (check["head_sha"], check["status"], check["conclusion"]) == (HEAD, "completed", conclusion)
    assert check["output"] == {"title": f"codegate: {kind}", "summary": "Why."}


def test_what_undecided_means_is_the_policys() -> None:
    assert conclusion_of("inconclusive", "fail") == "failure"
    assert conclusion_of("incomparable", "pass") == "success"
    assert conclusion_of("infrastructure", "pass") == "failure"


def test_texts_stay_within_the_limits(server: FakeGitHub) -> None:
    done = post_check(client(server), HEAD, "n" * 999, "pass", "row é\n" * 30_000)
    assert done.warning is None
    (check,) = checks(server)
    assert len(check["output"]["summary"].encode()) <= MAX_TEXT_BYTES
    assert len(check["name"]) <= 100


@pytest.mark.parametrize(
    ("token", "words"), [("ghs_poor", "permissions: checks: write"), ("ghp_person", "authenticate via a GitHub App")]
)
def test_what_github_refuses_is_a_warning(server: FakeGitHub, token: str, words: str) -> None:
    done = post_check(client(server, token), HEAD, "codegate", "regressed", "Why.")
    assert done.did == "nothing"
    assert done.warning is not None
    assert words in done.warning
    assert not checks(server)


def test_an_outage_is_survived(server: FakeGitHub) -> None:
    server.fail(Fault("POST", RUNS, Reply(b"", 502)))
    assert post_check(client(server), HEAD, "codegate", "pass", "Why.").did == "created"
    assert len(checks(server)) == 1
