"""``codegate upgrades``: what ends and what is newer, by the providers' lists and registries served here."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from codegate.errors import UsageError
from codegate.operations.upgrades import Upgrade, with_upgrade
from tests.kit.http import Reply, Request, Server, as_json
from tests.kit.scripted_model import Say
from tests.kit.stand_in import StandIn
from tests.running.world import codegate

CONFIG = """\
# Ours.
candidates:
  - openai:gpt-5.4-mini-2026-03-17    # cheap
  - {agent: codex, version: 0.169.0, as_of: 2026-01-02, model: "openai:gpt-6.1-sol"}  # the tool
  - agent: {name: aider, version: '0.80.0'}
    provider: openai
    model: gpt-5.4-mini-2026-03-17
  - {agent: opencode, version: 1.2.3, model: "openai:gpt-6.1-sol", harness: {models: {small: gpt-4.1-nano-2025-04-14}}}
judge: openai:gpt-9
"""
MODELS = {
    "gpt-5.4-mini-2026-03-17": "2999-12-11", "gpt-5.4-mini": None, "gpt-4o-mini-2024-07-18": None,
    "gpt-5.6-mini-2026-10-01": None, "gpt-5.6-mini": None, "gpt-5.7-mini-2026-11-01": "2999-01-01", "gpt-6.1-sol": None,
    "gpt-image-7": None, "gpt-4.1-nano-2025-04-14": None, "gpt-5.4-nano-2026-03-17": None,
}  # fmt: skip
PROXY = ("HTTPS_PROXY", "https_proxy")
MODEL = "Upgrade openai:gpt-5.4-mini-2026-03-17 to gpt-5.6-mini-2026-10-01"


def wheels(*names: str) -> Reply:
    files = [{"filename": name, "yanked": name == "aider_chat-0.99.0-py3-none-any.whl"} for name in names]
    return as_json({"meta": {"api-version": "1.1"}, "name": "aider-chat", "files": files})


def registry(request: Request) -> Reply:
    """Answer as npm and PyPI do: a scope's slash is quoted, names are normal, and a form of JSON is asked for."""
    if request.path == "/npm/@openai%2Fcodex/latest":
        return as_json({"name": "@openai/codex", "version": "0.171.0"})
    if request.path == "/npm/opencode-ai/latest":
        return as_json({"version": "1.2.3"})
    if request.path == "/simple/aider-chat/" and "simple.v1+json" in request.headers["accept"]:
        names = "0.99.0", "0.86.2", "0.100.0rc1", "0.9.1"
        return wheels("aider-chat-1.0.tar.gz", *(f"aider_chat-{version}-py3-none-any.whl" for version in names))
    return Reply(status=404)


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    (tmp_path / "codegate.yml").write_text(CONFIG)
    server = Server(registry)
    with StandIn(lambda turn: Say("OK"), tmp_path) as played:
        played.models |= MODELS
        yield {
            **played.environment,
            "NPM_CONFIG_REGISTRY": f"{server.url}/npm/",
            "UV_DEFAULT_INDEX": f"{server.url.replace('://', '://user:sk-canary-of-the-index@')}/simple",
        }
    server.close()


@pytest.mark.requirement("L1")
def test_what_ends_and_what_is_newer_is_listed_and_one_proposal_is_written(
    environment: dict[str, str], tmp_path: Path
) -> None:
    done = codegate("upgrades", "--json", cwd=tmp_path, environment=environment)
    assert done.code == 0, done.stderr
    document = done.document
    assert [one["title"] for one in document["upgrades"]] == [
        None,
        MODEL,
        "Upgrade codex 0.169.0 to 0.171.0",
        "Upgrade aider 0.80.0 to 0.86.2",
        "Upgrade openai:gpt-4.1-nano-2025-04-14 to gpt-5.4-nano-2026-03-17",
    ]
    assert (document["unknown"], document["failed"], document["written"]) == ([], [], None)
    assert "openai:gpt-9 is not in its provider's list of models; the list has no newer model" in done.stderr
    assert "gpt-5.4-mini-2026-03-17 ends on 2999-12-11; gpt-5.6-mini-2026-10-01 could replace it" in done.stderr

    path = tmp_path / "codegate.yml"
    assert codegate("upgrades", "--write", cwd=tmp_path, environment=environment).code == 0
    written = CONFIG.replace("gpt-5.4-mini-2026-03-17", "gpt-5.6-mini-2026-10-01")
    assert path.read_text() == written, "in every candidate, and nothing else"
    for title in [one["title"] for one in document["upgrades"][2:]]:
        assert codegate("upgrades", "--write", title, cwd=tmp_path, environment=environment).code == 0
    today = json.loads(codegate("upgrades", "--json", cwd=tmp_path, environment=environment).stdout)
    assert [one["title"] for one in today["upgrades"]] == [None]
    assert "{agent: codex, version: 0.171.0, as_of: 20" in path.read_text()
    assert "as_of: 2026-01-02" not in path.read_text(), "that release is newer than this day"
    assert "version: '0.80.0'" not in path.read_text()
    refused = codegate("upgrades", "--write", MODEL, cwd=tmp_path, environment=environment)
    assert (refused.code, "there is no proposal" in refused.stderr) == (2, True)
    path.write_text(CONFIG)
    refused = codegate("upgrades", "--write", "newest", cwd=tmp_path, environment=environment)
    assert f"The proposals are: {MODEL!r}, " in refused.stderr


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"OPENAI_API_KEY": ""}, 0, "openai: its list of models is not read, because OPENAI_API_KEY has no key."),
        ({"HTTPS_PROXY": "http://127.0.0.1:9"}, 4, "openai gave no list of models."),
        ({"NPM_CONFIG_REGISTRY": "http://127.0.0.1:9"}, 4, "no usable answer of npm about @openai/codex."),
        (
            {"UV_DEFAULT_INDEX": "http://u:sk-canary-of-the-index@127.0.0.1:9/s"},
            4,
            "no usable answer of PyPI about aider-chat.",
        ),
    ],
    ids=["no key", "provider", "npm", "PyPI"],
)
def test_what_does_not_answer_is_named_and_the_rest_is_looked_up(
    environment: dict[str, str], tmp_path: Path, change: dict[str, str], code: int, words: str
) -> None:
    proxy = {"https_proxy": change["HTTPS_PROXY"]} if "HTTPS_PROXY" in change else {}
    done = codegate("upgrades", "--json", cwd=tmp_path, environment=environment | change | proxy)
    assert done.code == code
    assert words in done.stderr
    assert "canary" not in done.stderr + done.stdout
    assert len(done.document["upgrades"]) >= 2
    assert "Traceback" not in done.stderr


def test_a_provider_that_fails_is_asked_once(environment: dict[str, str], tmp_path: Path) -> None:
    asked: list[str] = []

    def refuse(request: Request) -> Reply:
        asked.append(request.host)
        return Reply(status=502)

    proxy = Server(refuse)
    names = ", ".join(f"'openai:gpt-{number}'" for number in range(3))
    (tmp_path / "codegate.yml").write_text(f"candidates: [{names}]\n")
    done = codegate("upgrades", "--json", cwd=tmp_path, environment=environment | dict.fromkeys(PROXY, proxy.url))
    assert (done.code, done.document["failed"]) == (4, ["openai gave no list of models."]), done.stderr
    assert asked == ["api.openai.com"]
    for title in ([], ["Upgrade openai:gpt-1 to gpt-2"]):
        written = codegate(
            "upgrades", "--write", *title, cwd=tmp_path, environment=environment | dict.fromkeys(PROXY, proxy.url)
        )
        assert written.code == 4, written.stderr
    proxy.close()


def test_a_provider_without_a_list_is_named_and_is_no_failure(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "codegate.yml").write_text("candidates: ['bedrock:anthropic.claude-sonnet-4-5-20250929-v1:0']\n")
    region = {"AWS_REGION": "us-east-1"}
    done = codegate("upgrades", "--json", cwd=tmp_path, environment=environment | region)
    assert (done.code, done.document["unknown"]) == (0, ["bedrock has no list of models."]), done.stderr
    assert codegate("upgrades", "--write", cwd=tmp_path, environment=environment | region).code == 0
    assert "nothing newer was found, but not everything was looked up\n" in done.stderr


def test_an_answer_that_is_no_registrys_is_named(environment: dict[str, str], tmp_path: Path) -> None:
    server = Server(lambda request: Reply(b"<html>sign in</html>", headers={"Content-Type": "text/html"}))
    both = {"NPM_CONFIG_REGISTRY": server.url, "UV_DEFAULT_INDEX": server.url}
    done = codegate("upgrades", cwd=tmp_path, environment=environment | both)
    server.close()
    assert done.code == 4
    assert "no usable answer of npm about @openai/codex." in done.stderr
    assert "no usable answer of PyPI about aider-chat." in done.stderr


@pytest.mark.parametrize("own", ["prices: {input: 1, output: 2}", "snapshot: gpt", "api_key_command: [key]"])
def test_a_candidate_that_is_changed_by_hand_is_named(environment: dict[str, str], tmp_path: Path, own: str) -> None:
    (tmp_path / "codegate.yml").write_text(
        f"candidates: [{{provider: openai, model: gpt-5.4-mini-2026-03-17, {own}}}]\n"
    )
    done = codegate("upgrades", "--json", cwd=tmp_path, environment=environment)
    assert (done.code, done.document["upgrades"]) == (0, []), done.stderr
    assert "openai:gpt-5.4-mini-2026-03-17: its address, key, name or prices are your own; change it" in done.stderr


def test_what_another_candidate_is_already_is_not_proposed(environment: dict[str, str], tmp_path: Path) -> None:
    models = "gpt-5.4-mini-2026-03-17, gpt-5.6-mini-2026-10-01"
    (tmp_path / "codegate.yml").write_text(f"candidates: [{{provider: openai, matrix: {{model: [{models}]}}}}]\n")
    done = codegate("upgrades", "--json", cwd=tmp_path, environment=environment)
    assert (done.code, done.document["upgrades"]) == (0, []), done.stderr
    assert "ends on 2999-12-11; gpt-5.6-mini-2026-10-01 could replace it. codegate.yml: another can" in done.stderr


MINI = Upgrade("model", "openai", "m-1-2025-01-01", "m-2-2026-01-01")


@pytest.mark.parametrize(
    "text",
    [
        "candidates:\n- provider: openai\n  matrix:\n    model: [PINNED, x-1]  # both\n",
        "prices: {m-1-2025-01-01: {input: 1, output: 2}}\n"
        "candidates:\n- {provider: anthropic, model: m-1-2025-01-01}\n"
        "- openai:PINNED\n- {provider: openai, model: m-1-2025-01-01, base_url: 'http://127.0.0.1:1'}\n",
        "candidates:\n- {agent: opencode, version: '1', model: 'openai:x-1', harness: {models: {small: PINNED}}}\n",
        "candidates:\n- {provider: openai, model: m-1-2025-01-01, prices: {input: 1, output: 2}}\n"
        "- {provider: openai, model: m-1-2025-01-01, snapshot: m-1}\n"
        "- {provider: openai, model: m-1-2025-01-01, api_key_command: [key], protocol: responses}\n"
        "- {provider: openai, model: PINNED, name: our PINNED}\n",
        "candidates:\n- {provider: openai, model: PINNED, prompt: a.md}\n"
        "- {provider: openai, model: m-2-2026-01-01, prompt: b.md}\n",
    ],
    ids=["matrix", "others", "helper", "by hand", "prompts"],
)
def test_only_what_the_proposal_is_about_is_replaced(text: str) -> None:
    """``PINNED`` stands for what is replaced."""
    assert with_upgrade(text.replace("PINNED", MINI.now), MINI, "codegate.yml") == text.replace("PINNED", str(MINI.to))


def test_what_was_quoted_stays_quoted() -> None:
    assert with_upgrade("candidates: ['openai:m-1-2025-01-01']\n", MINI, "codegate.yml") == (
        'candidates: ["openai:m-2-2026-01-01"]\n'
    )


def test_a_version_that_yaml_takes_for_a_number_is_quoted() -> None:
    text = "candidates:\n- {agent: aider, version: 0.86.2, model: 'openai:m-2025-01-01'}\n"
    assert 'version: "1.0",' in with_upgrade(text, Upgrade("agent", "aider", "0.86.2", "1.0"), "codegate.yml")


def test_what_cannot_be_replaced_is_said_with_its_place() -> None:
    text = 'candidates: ["openai:m-1-2025-01-0\\x32"]\n'
    with pytest.raises(UsageError, match=r"codegate\.yml: openai:m-1-2025-01-01 is not there"):
        with_upgrade(text, MINI, "codegate.yml")
