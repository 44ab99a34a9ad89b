"""What is posted: one comment, ours, updated in place; one nightly issue; and check runs on the right commit."""

import copy
from pathlib import Path
from typing import Any

import pytest

from codegate.errors import ExitCode, UsageError
from codegate.forge import GitHub, GitHubError
from codegate.github.event import Event
from codegate.github.inputs import read_inputs
from codegate.github.posts import BOT, conclusion_of, marker, post_check, post_comment, post_issue
from codegate.github.publish import gate_key, publish
from codegate.github.report import pull_number
from codegate.github.step import Job, Result
from codegate.github.workflow import open_log
from tests.github.conftest import HEAD
from tests.github.runner import variables
from tests.github.test_event import FORK as STRANGERS
from tests.github.test_event import event_of, pull_payload, run_payload
from tests.kit.github import FakeGitHub, Fault, Reply, rate_limited
from tests.kit.github.rest import HOME, Rest

ISSUES = "/repos/acme/demo/issues"
COMMENTS, ONE = f"{ISSUES}/7/comments", rf"{ISSUES}/comments/\d+"
GATE, NIGHTLY = marker("gate"), marker("nightly")


def client(server: FakeGitHub, token: str = "ghs_workflow") -> GitHub:
    return GitHub(server.api_url, "acme/demo", token, pause_seconds=0.01)


def comments(server: FakeGitHub) -> list[dict[str, Any]]:
    return server.store(Rest).comments.get(7, [])


def bodies(server: FakeGitHub) -> list[str]:
    return [entry["body"] for entry in comments(server)]


@pytest.mark.parametrize("token", ["ghs_workflow", "ghp_person", "ghs_app"])
@pytest.mark.requirement("R2")
def test_the_same_comment_is_updated(server: FakeGitHub, token: str) -> None:
    server.store(Rest).add_comment(7, "bob", "Nice.")
    done = [post_comment(client(server, token), 7, "gate", body) for body in ("red", "green", "green")]
    assert bodies(server) == ["Nice.", f"{GATE}\ngreen"]
    assert done[0].url == "https://git.acme.example/acme/demo/pull/7#issuecomment"
    assert [said.warning for said in done] == [None] * 3
    if token != "ghs_app":
        assert [said.did for said in done] == ["created", "updated", "unchanged"]


def test_another_gate_has_its_own_comment(server: FakeGitHub) -> None:
    for key in ("gate", "gate-2", "gat"):
        post_comment(client(server), 7, key, "x")
    assert bodies(server) == [f"{marker(key)}\nx" for key in ("gate", "gate-2", "gat")]


LONG = "codegate for " + "every service of the monorepo " * 3
SHIPPED = {
    "codegate-gate": ("codegate", "gate", {}),
    "codegate-comment-comment": ("codegate comment", "comment", {}),
    "codegate-gate-suites-mine": ("codegate", "gate", {"suite": "suites/mine"}),
}


def test_no_two_gates_have_one_key(tmp_path: Path) -> None:
    def key(workflow: str, job: str, inputs: dict[str, str]) -> str:
        given = {"GITHUB_WORKSPACE": str(tmp_path), "GITHUB_WORKFLOW": workflow, "GITHUB_JOB": job}
        return gate_key(given, read_inputs(given | variables(inputs)))

    assert {key(*given): given for given in SHIPPED.values()} == SHIPPED, "those that are required already stay"
    gates = [
        *({"config": path} for path in ("api/codegate.yml", "api-codegate.yml", "web/codegate.yml")),
        *({"candidates": names} for names in ("empty", "reference", "empty\nreference", "empty-reference")),
        {"suite": "web"}, {"config": "web"}, {"baseline": "web"}, {"candidates": "web"},
    ]  # fmt: skip
    keys = [key("codegate", "gate", inputs) for inputs in gates]
    keys += [key(name, "gate", {}) for name in ("質量ゲート", "モデル検査", "Prüfung", "Pr-fung")]
    for workflow, job, suite in (
        ("CI", "gate-a", ""), ("CI", "gate_a", ""), ("CI gate", "a", ""), ("CI", "gate", "a"), ("CI-gate", "a", ""),
        ("CI", "a", "suites/api/v1"), ("CI", "a", "suites/api-v1"), ("CI", "a", "suites-api-v1"),
        ("CI", "a-suites", "api/v1"), ("CI a suites", "api", "v1"), ("CI a suites api", "v1", ""),
    ):  # fmt: skip
        keys.append(key(workflow, job, {"suite": suite} if suite else {}))
    keys += [key(LONG, job, {}) for job in ("a", "b")]
    keys += [key("x" * length, "gate", {}) for length in range(60, 100)]
    assert len(set(keys)) == len(keys)
    assert all(marker(one) for one in keys)
    assert max(len(f"codegate ({one})") for one in keys) <= 100, "the name of the check is not cut"
    assert keys[0].startswith("codegate-gate-api-codegate-yml-"), "people see which one it is"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"config": "api/codegate.yml"}, {"config": "web/codegate.yml"}),
        ({"candidates": "empty"}, {"candidates": "reference"}),
    ],
)
def test_the_pass_of_one_gate_hides_no_regression_of_another(
    server: FakeGitHub, tmp_path: Path, one: dict[str, str], other: dict[str, str]
) -> None:
    event = event_of(tmp_path, "pull_request", pull_payload())
    names = {"GITHUB_WORKSPACE": str(tmp_path), "GITHUB_WORKFLOW": "codegate", "GITHUB_JOB": "gate"}
    with open_log(names) as log:
        for code, kind, inputs in ((ExitCode.REGRESSED, "regressed", one), (ExitCode.PASS, "pass", other)):
            given = read_inputs(names | variables({**inputs, "check": "true"}))
            for _ in range(2):
                publish(Result(code, {"verdict": kind}, ""), Job(given, event, client(server), names, log))
    assert ["regressed" in body for body in bodies(server)] == [True, False], "each has one comment"
    concluded = {check["name"]: check["conclusion"] for check in checks(server)}
    assert sorted(concluded.values()) == ["failure", "success"]


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
        ("ghs_reader", 7, None, "permissions: issues: write or pull-requests: write"),
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
    [{"sha": "d" * 40}, {"state": "closed"}, {"head": HOME}, {"head": 3000}, {"head": None}, {"base": 4000}],
    ids=["moved on", "closed", "of a branch of ours", "of another fork", "of a fork that is gone", "of another base"],
)
@pytest.mark.parametrize("known", [True, False])
def test_only_an_open_pull_request_of_the_runs_own_head_is_meant(
    server: FakeGitHub, tmp_path: Path, pull: dict[str, Any], known: bool
) -> None:
    rest = server.store(Rest)
    rest.pulls.clear()
    rest.commits.clear()
    rest.add_pull(9, **{"sha": HEAD, **pull}, known=known)
    assert pull_number(client(server), ended(tmp_path)) is None


def test_no_pull_request_is_looked_for_where_there_can_be_none(server: FakeGitHub, tmp_path: Path) -> None:
    for event in (ended(tmp_path, event="push"), ended(tmp_path, event="schedule"), event_of(tmp_path, "push", {})):
        assert pull_number(client(server), event) is None
    assert not server.requests
    assert pull_number(client(server), ended(tmp_path, None)) is None


def test_what_cannot_be_asked_is_no_answer(server: FakeGitHub, tmp_path: Path) -> None:
    server.fail(Fault("GET", f"/repos/acme/demo/commits/{HEAD}/pulls", Reply({"message": "no"}, 403)))
    with pytest.raises(GitHubError, match="pull-requests: read"):
        pull_number(client(server), ended(tmp_path))


# The check run


def checks(server: FakeGitHub) -> list[dict[str, Any]]:
    return list(server.store(Rest).checks.values())


CONCLUSIONS = {
    "success": ("pass",), "skipped": ("skipped",), "cancelled": ("interrupted",),
    "neutral": ("inconclusive", "incomparable", "ungated"),
    "failure": ("regressed", "infrastructure", "error", "no baseline", "anything else"),
}  # fmt: skip


@pytest.mark.parametrize(("conclusion", "kind"), [(end, kind) for end, kinds in CONCLUSIONS.items() for kind in kinds])
@pytest.mark.requirement("R2")
def test_a_verdict_ends_the_check(server: FakeGitHub, conclusion: str, kind: str) -> None:
    done = post_check(client(server), HEAD, "codegate", kind, "Why.", details_url="https://git.acme.example/run")
    assert (done.did, done.warning) == ("created", None)
    (check,) = checks(server)
    assert (check["head_sha"], check["status"], check["conclusion"]) == (HEAD, "completed", conclusion)
    assert check["output"] == {"title": f"codegate: {kind}", "summary": "Why."}


def test_what_undecided_means_is_the_policys() -> None:
    assert conclusion_of("inconclusive", "fail") == conclusion_of("infrastructure", "pass") == "failure"
    assert conclusion_of("incomparable", "pass") == "success"


def test_the_name_of_a_check_is_short(server: FakeGitHub) -> None:
    assert post_check(client(server), HEAD, "n" * 999, "pass", "Why.").warning is None
    (check,) = checks(server)
    assert len(check["name"]) <= 100


# The nightly issue


def tell(server: FakeGitHub, body: str, *, regressed: bool, token: str = "ghs_workflow") -> Any:
    return post_issue(client(server, token), "nightly", body, regressed)


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
    done = tell(server, "bad", regressed=True, token="ghs_fork")
    assert done.did == "nothing"
    assert "permissions: issues: write" in done.warning
    assert "permissions: issues: write" in tell(server, "bad", regressed=True, token="ghs_reader").warning
    server.fail(Fault("GET", ISSUES, Reply({"message": "Issues are disabled for this repo"}, 410)))
    assert "Issues are disabled" in tell(server, "bad", regressed=True).warning
