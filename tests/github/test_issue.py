"""The nightly issue is open while the model is worse, and only then, and there is one of it."""

from collections.abc import Iterator
from typing import Any

import pytest

from codegate.errors import UsageError
from codegate.forge import GitHub
from codegate.github.posts import BOT, marker, post_issue
from tests.kit.github import FakeGitHub, Fault, Reply, Token, fake_github
from tests.kit.github.rest import Rest

NIGHTLY = marker("nightly")
ISSUES = "/repos/acme/demo/issues"


@pytest.fixture
def server() -> Iterator[FakeGitHub]:
    tokens = {"ghs_workflow": Token(frozenset({"issues: write"})), "ghs_poor": Token(frozenset({"issues: read"}))}
    with fake_github("/api/v3", tokens) as github:
        yield github


def tell(server: FakeGitHub, body: str, *, regressed: bool, token: str = "ghs_workflow") -> Any:
    github = GitHub(server.api_url, "acme/demo", token, pause_seconds=0.01)
    return post_issue(github, "nightly", body, regressed)


def test_it_is_opened_updated_and_closed(server: FakeGitHub) -> None:
    rest = server.store(Rest)
    assert tell(server, "all is well", regressed=False).did == "nothing"
    assert not server.asked("POST")
    assert [tell(server, body, regressed=True).did for body in ("bad", "bad", "worse")] == [
        "created", "unchanged", "updated",
    ]  # fmt: skip
    (issue,) = rest.issues.values()
    assert (issue["title"], issue["body"]) == ("codegate: nightly has regressed", f"{NIGHTLY}\nworse")
    done = tell(server, "well again", regressed=False)
    assert (done.did, done.url) == ("closed", issue["html_url"])
    assert (issue["state"], issue["state_reason"]) == ("closed", "completed")
    assert [entry["body"] for entry in rest.comments[issue["number"]]] == [f"{NIGHTLY}\nwell again"]
    assert tell(server, "well", regressed=False).did == "nothing"
    assert tell(server, "bad again", regressed=True).did == "created"


def test_ours_is_found_on_the_last_page_and_nobody_elses_is_touched(server: FakeGitHub) -> None:
    rest = server.store(Rest)
    for number in range(1, 240):
        rest.add_issue(number, "bob", "broken")
    rest.add_issue(240, "mallory", f"{NIGHTLY}\nplanted")
    rest.add_issue(241, BOT, f"{marker('weekly')}\nanother watch")
    rest.add_issue(242, BOT, f"{NIGHTLY}\na pull request", pull=True)
    rest.add_issue(243, BOT, f"{NIGHTLY}\nours")
    rest.add_issue(244, BOT, f"{NIGHTLY}\nours, too")
    assert tell(server, "worse", regressed=True).did == "updated"
    assert rest.issues[243]["body"] == f"{NIGHTLY}\nworse"
    assert tell(server, "well", regressed=False).did == "closed"
    assert [number for number, entry in rest.issues.items() if entry["state"] == "closed"] == [243, 244]
    assert rest.issues[240]["body"] == f"{NIGHTLY}\nplanted"
    assert len(rest.issues) == 244


def test_what_is_not_allowed_is_a_warning(server: FakeGitHub) -> None:
    done = tell(server, "bad", regressed=True, token="ghs_poor")
    assert done.did == "nothing"
    assert "permissions: issues: write" in done.warning
    server.fail(Fault("GET", ISSUES, Reply({"message": "Issues are disabled for this repo"}, 410)))
    assert "Issues are disabled" in tell(server, "bad", regressed=True).warning


@pytest.mark.parametrize("happened", [True, False])
def test_an_uncertain_issue_is_looked_for_before_another_is_opened(server: FakeGitHub, happened: bool) -> None:
    server.fail(Fault("POST", ISSUES, Reply(b"", 504), after=happened))
    assert tell(server, "bad", regressed=True).did == "created"
    assert len(server.store(Rest).issues) == 1


def test_a_long_report_is_cut_and_a_bad_name_refused(server: FakeGitHub) -> None:
    assert tell(server, "row\n" * 50_000, regressed=True).did == "created"
    (issue,) = server.store(Rest).issues.values()
    assert len(issue["body"]) <= 65_536
    with pytest.raises(UsageError):
        post_issue(GitHub(server.api_url, "acme/demo", None), "a b", "x", regressed=True)
