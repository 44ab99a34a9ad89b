"""What a key is sent to, the base commit decides: a server that only the proposal names gets no request."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from codegate.candidates import CandidateSpec
from codegate.candidates.agents import AGENTS, OWN_COMMAND
from codegate.candidates.providers import model_provider, provider_names
from codegate.errors import ExitCode
from codegate.operations import baselines
from tests.cli.run_folders import write_run
from tests.github.runner import Step, event_variables, run_step
from tests.github.test_event import pull_payload
from tests.github.workspace import PROBLEMS, write_suite
from tests.kit.http import Reply, Request, Server, as_json
from tests.kit.model_server import chat_answer
from tests.kit.repository import commit_all

MODEL = "gpt-4o-2024-08-06"
GATEWAY = {"provider": "openai", "model": MODEL, "base_url": "https://models.example/v1", "headers": {"x-team": "gate"}}
"""What the base commit names beside each provider's own address."""


@dataclass
class Home:
    """A repository whose base commit is trusted, and a server that nobody named there."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    foreign: str
    received: list[Request] = field(default_factory=list)

    def configure(self, *candidates: object) -> str:
        """Write the configuration, commit it and return the commit."""
        floors = {"cohorts": {"all": {"floor": 0.01, "tier": "critical"}}}  # so that a model is called without a lock
        document = {"suite": "suite", "candidates": candidates, "gate": floors}
        (self.folder / "workspace" / "codegate.yml").write_text(json.dumps(document))
        return commit_all(self.folder / "workspace")

    def step(self, base: str | None, **inputs: str) -> Step:
        """Run a step of a pull request of the repository's own to ``base``, or one of no pull request."""
        payload = pull_payload() if base is not None else {}
        if base is not None:
            payload["pull_request"]["base"]["sha"] = base
        event = "pull_request" if base is not None else "schedule"
        return run_step(self.folder, self.capsys, event_variables(self.folder, event, payload), inputs)

    def refused(self, step: Step, *fields: str) -> None:
        assert self.received == []
        assert (step.code, step.outputs["verdict"]) == (ExitCode.USAGE, "error"), step.log
        assert f"has the same {' and '.join(f'`{name}`' for name in fields)}." in step.log


@pytest.fixture
def home(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    write_suite(tmp_path / "workspace" / "suite", PROBLEMS[:1])
    for variable in ("DEPLOY_TOKEN", *(model_provider(name).key_variable for name in provider_names())):
        monkeypatch.setenv(variable, "sk-canary-5b7d0a9c1e3f2468")
    for variable, value in (("AWS_REGION", "us-east-1"), ("GOOGLE_CLOUD_PROJECT", "ours")):
        monkeypatch.setenv(variable, value)
    received: list[Request] = []

    def answer(request: Request) -> Reply:
        received.append(request)
        return as_json(chat_answer())

    server = Server(answer)
    yield Home(tmp_path, capsys, server.url, received)
    server.close()


def kinds() -> Iterator[Any]:
    """Yield a candidate for every provider, and one for every agent."""
    for provider in provider_names():
        yield pytest.param({"provider": provider, "model": model_provider(provider).example}, id=provider)
    for name, agent in AGENTS.items():
        own = {"command": ["solve", "{address}"]} if name == OWN_COMMAND else {"version": agent.tried}
        provider = next(one for one in provider_names() if {*agent.protocols} & {*model_provider(one).protocols})
        spec = {"provider": provider, "model": model_provider(provider).example, "agent": {"name": name, **own}}
        yield pytest.param(spec, id=name)


@pytest.mark.bwrap
@pytest.mark.parametrize("kind", [*kinds()])
def test_a_proposal_sends_no_key_to_a_server_of_its_own(
    home: Home, quick_sandboxes: None, kind: dict[str, Any]
) -> None:
    base = home.configure(f"openai:{MODEL}", GATEWAY)
    home.configure({**kind, "base_url": home.foreign})
    home.refused(home.step(base), "base_url")


@pytest.mark.requirement("F3")
@pytest.mark.bwrap
@pytest.mark.parametrize("mode", ["gate", "plan", "merge", "nightly", "baseline"])
def test_no_mode_sends_a_key_elsewhere_for_a_proposal(home: Home, quick_sandboxes: None, mode: str) -> None:
    base = home.configure(f"openai:{MODEL}")
    for number, more in enumerate(({}, {"candidates": f"openai:{MODEL}@{home.foreign}"})):
        home.configure({"provider": "openai", "model": MODEL, "base_url": home.foreign} if not more else "reference")
        home.refused(home.step(base, mode=mode, report_path=f"r{number}", shards="2", run_id="r", **more), "base_url")


def other(**changes: object) -> dict[str, object]:
    return {name: value for name, value in {**GATEWAY, **changes}.items() if value is not None}


@pytest.mark.requirement("F3")
@pytest.mark.parametrize(
    ("proposed", "fields"),
    [
        ({"provider": "openai", "model": MODEL, "api_key_env": "DEPLOY_TOKEN"}, ["api_key_env"]),
        ({"provider": "openai", "model": MODEL, "api_key_env": "ANTHROPIC_API_KEY"}, ["api_key_env"]),
        ({"provider": "openai", "model": MODEL, "api_key_command": ["cat", "/etc/passwd"]}, ["api_key_command"]),
        ({"provider": "openai", "model": MODEL, "headers": {"openai-organization": "theirs"}}, ["headers"]),
        ({"provider": "openai", "model": MODEL, "query": {"project": "theirs"}}, ["query"]),
        (other(headers={"x-team": "gate", "x-custom-host": "https://evil.example"}), ["base_url", "headers"]),
        (other(query={"target": "https://evil.example"}), ["base_url", "headers", "query"]),
        (other(headers=None), ["base_url"]),
        (other(base_url="https://models.example/proxy/evil.example"), ["base_url", "headers"]),
        (other(base_url="https://models.example:8443/v1"), ["base_url", "headers"]),
        (other(provider="anthropic", model="claude-sonnet-4-5-20250929"), ["base_url", "headers"]),
        (other(api_key_env="DEPLOY_TOKEN"), ["base_url", "api_key_env", "headers"]),
        ({"provider": "openai", "model": MODEL, "base_url": "https://api.anthropic.com"}, ["base_url"]),
        ({"provider": "azure", "model": MODEL, "base_url": "https://theirs.openai.azure.com/v1"}, ["base_url"]),
        (
            {"provider": "openai", "model": MODEL, "base_url": "http://10.255.255.1/v1", "allow_http": True},
            ["base_url"],
        ),
    ],
    ids=lambda value: "-".join(map(str, value.values()))[:80] if isinstance(value, dict) else "",
)
def test_a_proposal_changes_no_part_of_where_a_key_goes(
    home: Home, proposed: dict[str, object], fields: list[str]
) -> None:
    base = home.configure(f"openai:{MODEL}", GATEWAY)
    home.configure(proposed)
    home.refused(home.step(base), *fields)


@pytest.mark.bwrap
def test_a_server_that_the_base_commit_names_gets_the_key_and_any_model(home: Home, quick_sandboxes: None) -> None:
    ours = {"provider": "openai", "model": "old-2025-01-01", "base_url": f"{home.foreign}/v1"}
    base = home.configure(ours)
    home.configure({**ours, "model": "new-2025-01-01", "solver": "tool_loop", "name": "ours"})
    step = home.step(base)
    assert "has the same" not in step.log
    assert {request.headers["authorization"] for request in home.received if request.method == "POST"} == {
        "Bearer sk-canary-5b7d0a9c1e3f2468"
    }


def test_a_base_without_a_configuration_refuses_nothing_and_runs_nothing(home: Home) -> None:
    base = commit_all(home.folder / "workspace")
    home.configure({"provider": "openai", "model": MODEL, "base_url": "https://models.example/v1"})
    assert home.step(base).outputs["verdict"] == "skipped", "the change that introduces the gate is reviewed by people"


@pytest.mark.bwrap
def test_a_baseline_file_sends_no_key_in_the_night(home: Home, quick_sandboxes: None) -> None:
    spec = CandidateSpec(provider="openai", model=MODEL, base_url=home.foreign)
    run, workspace = write_run(home.folder / "run", {"p-1": [True, False]}, spec=spec), home.folder / "workspace"
    baselines.pin(
        baselines.read_runs([run], None), workspace / "baseline.json", workspace / "codegate.lock", min_samples=2
    )
    home.configure(f"openai:{MODEL}")
    home.refused(home.step(None, mode="nightly"), "base_url")
