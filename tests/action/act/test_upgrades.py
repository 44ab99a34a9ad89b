"""codegate-upgrade.yml: every week a pull request for what could replace a pinned agent."""

from pathlib import Path

import pytest

from tests.action.act.harness import Act, Ran
from tests.action.act.repository import Repository, make_repository
from tests.kit.github import FakeGitHub
from tests.kit.github.content import Content
from tests.kit.github.rest import Rest
from tests.kit.http import Reply, Request, Server, as_json

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1500)]

BRANCH = "codegate/upgrade-codex-0-169-0"


def week(act: Act, team: Repository, version: str, event: str) -> Ran:
    """Run the workflow while npm's latest release of the agent is ``version``."""

    def registry(request: Request) -> Reply:
        return as_json({"version": version}) if request.path == "/@openai%2Fcodex/latest" else Reply(status=404)

    server = Server(registry)
    try:
        payload = team.event(schedule="41 4 * * 1")
        environment = {"NPM_CONFIG_REGISTRY": server.url}
        return act.run(team.folder, "codegate-upgrade.yml", event, payload, environment=environment)
    finally:
        server.close()


@pytest.mark.requirement("L1")
def test_a_newer_release_is_one_pull_request_that_the_next_week_updates(
    act: Act, github: FakeGitHub, tmp_path: Path
) -> None:
    team = make_repository(tmp_path / "demo")
    team.configure('{agent: codex, version: 0.169.0, model: "openai:gpt-6.1-sol"}')
    team.commit("pin an agent")
    pulls, content = github.store(Rest).pulls, github.store(Content)
    for number, (version, event) in enumerate((("0.171.0", "schedule"), ("0.172.0", "workflow_dispatch")), start=1):
        ran = week(act.as_run(number), team, version, event)
        assert (ran.code, ran.result("upgrade")) == (0, "success"), ran.log
        found = {pull["head"]["ref"]: pull["title"] for pull in pulls.values()}
        assert found == {BRANCH: f"Upgrade codex 0.169.0 to {version}"}
        text = content.commits[content.branches[BRANCH]]["codegate.yml"].decode()
        assert text == (team.folder / "codegate.yml").read_text().replace("0.169.0", version)
