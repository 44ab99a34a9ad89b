"""Mode ``upgrades``: pull requests on a GitHub, for models in a provider's list and agents in a registry."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from codegate.errors import ExitCode
from tests.github.runner import Step, event_variables, run_step
from tests.github.test_event import pull_payload
from tests.kit.github import FakeGitHub, Fault, Token, fake_github
from tests.kit.github import Reply as Answer
from tests.kit.github.content import Content
from tests.kit.github.rest import HOME, Rest
from tests.kit.http import Reply, Request, Server, as_json
from tests.kit.repository import commit_all, make_repository
from tests.kit.scripted_model import Say
from tests.kit.stand_in import StandIn

CONFIG = """\
candidates:
  - openai:gpt-5.4-mini-2026-03-17   # ours
  - {agent: codex, version: 0.169.0, model: "openai:gpt-6.1-sol"}
"""
MODEL, CODEX = "codegate/upgrade-openai-gpt-5-4-mini-2026-03-17", "codegate/upgrade-codex-0-169-0"
TOKEN = "ghs_upgrades"
LATEST = {"version": "0.171.0"}


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    may = frozenset({"contents: write", "pull-requests: write"})
    reads = Token(frozenset({"contents: read", "pull-requests: write"}))
    with fake_github("/api/v3", {TOKEN: Token(may), "ghs_reads": reads}) as served:
        yield served


@pytest.fixture
def providers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    def registry(request: Request) -> Reply:
        return as_json(LATEST) if request.path == "/@openai%2Fcodex/latest" else Reply(status=404)

    server = Server(registry)
    monkeypatch.setitem(LATEST, "version", "0.171.0")
    with StandIn(lambda turn: Say("OK"), tmp_path) as played:
        played.models |= dict.fromkeys(("gpt-5.4-mini-2026-03-17", "gpt-5.6-mini-2026-10-01", "gpt-6.1-sol"))
        for name, value in (played.environment | {"NPM_CONFIG_REGISTRY": server.url}).items():
            monkeypatch.setenv(name, value)
        yield played
    server.close()


@pytest.fixture
def step(tmp_path: Path, github: FakeGitHub, providers: StandIn, capsys: pytest.CaptureFixture[str]) -> "Stepper":
    return Stepper(tmp_path, github, capsys)


class Stepper:
    """Runs the step in a checkout whose commit the GitHub has."""

    def __init__(self, folder: Path, github: FakeGitHub, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.github, self.capsys = folder, github, capsys
        make_repository(folder / "workspace", {"codegate.yml": CONFIG.encode()})
        (folder / "workspace" / "codegate.yml").write_text(CONFIG)
        self.commit()

    def commit(self) -> None:
        self.sha = commit_all(self.folder / "workspace")
        top = self.folder / "workspace"
        files = {path.relative_to(top).as_posix(): path.read_bytes() for path in top.rglob("codegate.yml")}
        self.github.store(Content).commits[self.sha] = files

    def __call__(self, event: str = "schedule", payload: object = "{}", token: str = TOKEN, **inputs: str) -> Step:
        given = event_variables(
            self.folder, event, payload, GITHUB_API_URL=self.github.api_url, GITHUB_SHA=self.sha, GITHUB_REF_NAME="main"
        )
        return run_step(self.folder, self.capsys, given, {"github_token": token, "mode": "upgrades", **inputs})


@pytest.mark.requirement("L1")
def test_each_proposal_is_one_pull_request_and_a_second_week_changes_nothing(step: Stepper, github: FakeGitHub) -> None:
    first = step()
    assert (first.code, first.outputs["verdict"]) == (ExitCode.PASS, "pass"), first.log
    pulls, content = github.store(Rest).pulls, github.store(Content)
    titles = {pull["head"]["ref"]: pull["title"] for pull in pulls.values()}
    assert titles == {
        MODEL: "Upgrade openai:gpt-5.4-mini-2026-03-17 to gpt-5.6-mini-2026-10-01",
        CODEX: "Upgrade codex 0.169.0 to 0.171.0",
    }
    for words in ("a candidate that changes", "a judge is not gated", "old baseline is still pinned: pin a new one"):
        assert all(words in pull["body"] for pull in pulls.values())
    texts = {name: content.commits[commit]["codegate.yml"].decode() for name, commit in content.branches.items()}
    assert texts == {
        MODEL: CONFIG.replace("gpt-5.4-mini-2026-03-17", "gpt-5.6-mini-2026-10-01"),
        CODEX: CONFIG.replace("0.169.0", "0.171.0"),
    }, "each changes its own line"
    assert "opened as #1" in first.summary
    before = (dict(content.branches), {number: dict(pull) for number, pull in pulls.items()})
    again = step()
    assert again.code == ExitCode.PASS, again.log
    assert "open as #1" in again.summary
    assert (content.branches, pulls) == before


def test_each_configuration_has_its_own_proposals(step: Stepper, github: FakeGitHub) -> None:
    places = ("codegate.yml", "api/codegate.yml", "web/codegate.yml")
    for place in places[1:]:
        (step.folder / "workspace" / place).parent.mkdir()
        (step.folder / "workspace" / place).write_text(f"# {place}\n{CONFIG}")
    step.commit()
    for place in places:
        step(config=place, report_path=f"report-{place[:3]}")
    pulls, content = github.store(Rest).pulls, github.store(Content)
    changed = {
        pull["head"]["ref"]: place
        for pull in pulls.values() if pull["title"] == "Upgrade codex 0.169.0 to 0.171.0"
        for place in places if b"0.171.0" in content.commits[content.branches[pull["head"]["ref"]]][place]
    }  # fmt: skip
    assert sorted(changed.values()) == sorted(places)
    assert CODEX in changed
    before = dict(content.branches)
    for place in places:
        again = step(config=place, report_path=f"again-{place[:3]}")
        assert again.summary.count("open as #") == 2, again.log
    assert content.branches == before, "none takes another's branch back, which would pay for a gate"


def test_a_still_newer_release_updates_its_pull_request(step: Stepper, github: FakeGitHub) -> None:
    step()
    LATEST["version"] = "0.172.0"
    (step.folder / "workspace" / "codegate.yml").write_text(f"# New.\n{CONFIG}")
    step.commit()
    step()
    pulls, content = github.store(Rest).pulls, github.store(Content)
    (pull,) = (one for one in pulls.values() if one["head"]["ref"] == CODEX)
    assert (len(pulls), pull["title"]) == (2, "Upgrade codex 0.169.0 to 0.172.0")
    held = content.commits[content.branches[CODEX]]["codegate.yml"].decode()
    assert held == f"# New.\n{CONFIG}".replace("0.169.0", "0.172.0"), "with what the base has meanwhile"
    assert content.parents[content.branches[CODEX]] == step.sha, "a branch of an old base would end in a conflict"


@pytest.mark.parametrize("amended", [True, False])
def test_a_branch_that_somebody_edited_is_left_alone(step: Stepper, github: FakeGitHub, *, amended: bool) -> None:
    step()
    pulls, content = github.store(Rest).pulls, github.store(Content)
    mine = content.branches[CODEX]
    content.branches[CODEX] = "f" * 40
    content.commits["f" * 40] = content.commits[mine] | {"notes.md": b"Mine.\n"}
    content.messages["f" * 40] = content.messages[mine] if amended else "Notes"
    LATEST["version"] = "0.172.0"
    done = step()
    assert (done.code, content.branches[CODEX]) == (ExitCode.PASS, "f" * 40), done.log
    assert "0.172.0 could replace it: open as #2, edited" in done.summary
    assert pulls[2]["title"] == "Upgrade codex 0.169.0 to 0.171.0"


def test_a_closed_proposal_is_made_again_for_another_release_or_after_a_revert(
    step: Stepper, github: FakeGitHub
) -> None:
    rest = github.store(Rest)
    rest.add_pull(3, "e" * 40, head=HOME, branch=CODEX, state="closed")
    rest.pulls[3]["title"] = "Upgrade codex 0.169.0 to 0.171.0"
    closed = step()
    assert "proposed before, and closed" in closed.summary
    assert CODEX not in github.store(Content).branches
    LATEST["version"] = "0.172.0"
    step()
    assert [pull["state"] for pull in rest.pulls.values() if pull["head"]["ref"] == CODEX] == ["closed", "open"]
    *_, made = rest.pulls.values()
    made |= {"state": "closed", "merged_at": "2026-01-02T03:04:05Z"}
    step()
    assert [pull["state"] for pull in rest.pulls.values() if pull["head"]["ref"] == CODEX][2:] == ["open"]


def test_a_proposal_that_fails_keeps_the_others_and_the_summary(step: Stepper, github: FakeGitHub) -> None:
    refused = {"message": "GitHub Actions is not permitted to create or approve pull requests."}
    github.fail(Fault("POST", ".*/pulls", Answer(refused, 403)))
    done = step()
    assert (done.code, done.outputs["verdict"]) == (ExitCode.INFRASTRUCTURE, "infrastructure"), done.log
    assert "Actions → General → Allow GitHub Actions to create and approve pull requests" in done.summary
    assert [pull["head"]["ref"] for pull in github.store(Rest).pulls.values()] == [CODEX]
    done = step()
    assert done.code == ExitCode.PASS, done.log
    assert {pull["head"]["ref"] for pull in github.store(Rest).pulls.values()} == {MODEL, CODEX}


def test_what_does_not_answer_is_named_after_the_proposals_of_the_others(
    step: Stepper, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "http://127.0.0.1:9")
    done = step()
    assert (done.code, done.outputs["verdict"]) == (ExitCode.INFRASTRUCTURE, "infrastructure")
    assert "::warning title=codegate::no usable answer of npm about @openai/codex." in done.log
    assert [pull["head"]["ref"] for pull in github.store(Rest).pulls.values()] == [MODEL]


def test_a_token_that_may_not_write_is_told_which_permission_it_lacks(step: Stepper, github: FakeGitHub) -> None:
    done = step(token="ghs_reads")
    assert done.code == ExitCode.INFRASTRUCTURE
    assert "permissions: contents: write" in done.log
    assert not github.store(Rest).pulls


def test_a_pull_request_proposes_nothing(step: Stepper, github: FakeGitHub) -> None:
    done = step("pull_request", pull_payload())
    assert (done.code, "needs the event of a branch" in done.log) == (ExitCode.USAGE, True), done.log
    assert not github.store(Rest).pulls
