import subprocess
import sys
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from codegate.candidates import CandidateSpec, Completion, Prices, ProviderError, agents, check_snapshot, open_provider
from codegate.candidates import parse_candidate as parse
from codegate.candidates.agents.contract import Start
from codegate.candidates.endpoint import resolve_endpoint
from codegate.candidates.snapshots import check_answered
from codegate.errors import UsageError


@pytest.mark.parametrize(
    ("text", "provider", "model", "base_url"),
    [
        ("openai:gpt-5-2025-08-07", "openai", "gpt-5-2025-08-07", None),
        ("openai:my-model@http://127.0.0.1:8080/v1", "openai", "my-model", "http://127.0.0.1:8080/v1"),
        ("openai:llama3:8b@http://localhost:11434/v1", "openai", "llama3:8b", "http://localhost:11434/v1"),
        ("openai:qwen/coder@http://[::1]:1234/v1", "openai", "qwen/coder", "http://[::1]:1234/v1"),
        ("anthropic:claude-3-5-sonnet@20240620", "anthropic", "claude-3-5-sonnet@20240620", None),
        ("openai:m@https://gateway.example.com/v1", "openai", "m", "https://gateway.example.com/v1"),
        ("replay:runs/a@b:c.jsonl", "replay", "runs/a@b:c.jsonl", None),
        ("reference", "reference", "", None),
        ("empty", "empty", "", None),
    ],
)
def test_short_form(text: str, provider: str, model: str, base_url: str | None) -> None:
    spec = parse(text)
    assert (spec.provider, spec.model, spec.base_url) == (provider, model, base_url)
    assert parse(spec.label) == spec


class Nameless(agents.Agent):
    def start(self, task: agents.Task) -> Start:
        raise AssertionError(task)


@pytest.mark.parametrize("entry", [Nameless, Nameless(), agents.OwnCommand(("x",), {}), "once"])
def test_an_entry_point_that_is_no_agent_is_refused(entry: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "load_plugin", lambda _group, _name: entry)
    with pytest.raises(UsageError, match=r"'once' of codegate\.agents is no Agent with this name"):
        agents.agent_named("once")


@pytest.mark.parametrize("name", ["ACTIONS_RUNTIME_TOKEN", "GITHUB_TOKEN", "INPUT_GITHUB-TOKEN", "runner_token"])
def test_what_a_runner_sets_is_no_providers_key(name: str) -> None:
    with pytest.raises(ValidationError, match="api_key_env"):
        CandidateSpec(provider="openai", model="m-2025-01-01", base_url="https://evil.example/v1", api_key_env=name)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((text, r"openai, anthropic, .*replay, reference, empty") for text in ("", "gpt-4o", "cohere:x", "OPENAI:x")),
        *((f"openai{rest}", "missing or malformed") for rest in ("", ":", ":@http://localhost/v1", ":a b")),
        *((f"openai:m@{address}", "has no scheme") for address in ("localhost:8080/v1", "gpu7:8080")),
        ("replay:", "needs the file"),
        ("reference:x", "takes no model"),
        ("empty:x", "takes no model"),
        ("opena:m@https://user:hunter2hunter2@host/v1", "unknown provider"),
        ("openai: m@https://u:hunter2@host/v1", "is not allowed"),
    ],
)
def test_malformed_short_form(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        parse(text)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://evil.example/v1", "http://169.254.169.254/latest", "https://169.254.169.254/latest",
        "https://[::ffff:169.254.169.254]/", "https://0.0.0.0/v1", "file:///etc/passwd",
        "https://api.openai.com@evil.example/v1", "https://user:hunter2hunter2@gateway.example/v1",
        "http://localhost@evil.example/", "http://localhost.evil.example/", "http://127.1/v1",
        "http://2130706433/v1", "https://host/v1?key=1", "https://host:99999/v1", "https://host\\@evil/",
        "HTTPS://host/v1", "http://host.docker.internal:8080/v1",
    ],
)  # fmt: skip
def test_base_url_that_is_not_allowed(url: str) -> None:
    with pytest.raises(UsageError, match="base URL") as caught:
        parse(f"openai:m@{url}")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ValidationError, match="base URL") as refused:
        CandidateSpec(provider="openai", model="m", base_url=url)
    assert "hunter2" not in refused.value.errors()[0]["msg"]
    unchecked = CandidateSpec(provider="openai", model="m").model_copy(update={"base_url": url})
    with pytest.raises(UsageError, match="base URL"):
        open_provider(unchecked)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://172.17.0.1:8080/v1", True),
        ("http://10.1.2.3/v1", True),
        ("http://[fd00::1]:8000", True),
        ("http://model:8080/v1", True),
        ("http://gpu.local", True),
        ("http://8.8.8.8/v1", False),
        ("http://[2001:4860:4860::8888]/v1", False),
        ("http://169.254.169.254/latest", False),
        ("http://[::ffff:169.254.169.254]/", False),
        ("http://0.0.0.0/v1", False),
        ("http://user@10.1.2.3/v1", False),
        ("http://2130706433/v1", False),
        ("ftp://10.1.2.3/", False),
    ],
)
def test_allow_http_allows_plain_http_to_a_private_address_alone(url: str, allowed: bool) -> None:
    with nullcontext() if allowed else pytest.raises(ValidationError, match="base URL"):
        CandidateSpec(provider="openai", model="m", base_url=url, allow_http=True)
    with pytest.raises(UsageError, match="allow_http"):
        parse(f"openai:m@{url}")


@pytest.mark.bwrap
@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("llm.corp.example", None),
        ("public.example", "public.example is 93.184.216.34, which is not a private address"),
        ("metadata.google.internal", "169.254.169.254, which is not a private address"),
        ("both.example", "93.184.216.34, which is not a private address"),
        ("nowhere.invalid", "the host nowhere.invalid has no address here"),
    ],
)
def test_a_name_has_to_stand_for_private_addresses(tmp_path: Path, host: str, words: str | None) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text(
        "10.1.2.3 llm.corp.example\n93.184.216.34 public.example\n169.254.169.254 metadata.google.internal\n"
        "10.1.2.3 both.example\n93.184.216.34 both.example\n"
    )
    program = (
        "from codegate.candidates import CandidateSpec, open_provider\n"
        f"open_provider(CandidateSpec(provider='openai', model='m', base_url='http://{host}:8000/v1', allow_http=True))"
    )
    done = subprocess.run(
        ["bwrap", "--dev-bind", "/", "/", "--ro-bind", hosts, "/etc/hosts", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode == 0) is (words is None), done.stderr
    assert words is None or words in done.stderr


PINNED = [
    "openai:gpt-4o-2024-08-06", "openai:gpt-4-0613", "openai:gpt-4-1106-preview",
    "openai:ft:gpt-4o-2024-08-06:org::abc", "anthropic:claude-sonnet-4-20250514",
    "anthropic:claude-3-5-sonnet@20240620", "anthropic:claude-opus-4-6",
    "openai:gpt-4o-2024-08-06@https://api.openai.com/v1", "anthropic:claude-opus-5@https://api.anthropic.com",
    "openai:gpt-4o@https://api.openai.com.gateway.example/v1", "openai:gpt-4o@https://gateway.example.com/v1",
    "azure:gpt-4o-2024-08-06@https://res.openai.azure.com/openai/v1",
    "azure:our-deployment@https://res.openai.azure.com/openai/v1", "openai:gpt-6.1-sol", "openai:gpt-5.6-terra",
    "openai:gpt-5.3-codex", "openai:no-such-model", "gemini:gemini-2.5-pro", "gemini:gemini-3.1-pro-preview",
    "gemini:gemini-3.8-flash", "gemini:gemini-2.0-flash-001", "gemini:gemini-2.5-flash-preview-09-2025",
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock:global.anthropic.claude-sonnet-5",
    "vertex:claude-sonnet-4-5@20250929", "replay:x.jsonl", "reference", "empty",
]  # fmt: skip
FLOATING = [  # with the newest dated form that is known
    ("openai:gpt-4o", "gpt-4o-2024-11-20"),
    ("openai:chatgpt-4o-latest", ""),
    ("openai:gpt-4.1", "gpt-4.1-2025-04-14"),
    ("openai:gpt-4", "gpt-4-0613"),
    ("openai:gpt-4o-20240806-latest", ""),
    ("openai:gpt-4o-latest@http://127.0.0.1:1/v1", None),
    ("anthropic:claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
    ("anthropic:claude-3-5-sonnet-latest", ""),
    ("openai:gpt-4o@https://api.openai.com/v1", "gpt-4o-2024-11-20"),
    ("openai:gpt-4o@https://API.OpenAI.com.:443/v1", "gpt-4o-2024-11-20"),
    ("anthropic:claude-sonnet-4-5@https://api.anthropic.com", ""),
    ("openai:claude-sonnet-4-5@https://api.anthropic.com/v1", ""),
    ("azure:gpt-4o@https://res.openai.azure.com/openai/v1", ""),
    ("gemini:gemini-flash-latest", ""),
    ("bedrock:us.anthropic.claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
    ("vertex:claude-sonnet-4-5@latest", ""),
    ("vertex:claude-sonnet-4-5@https://us-east5-aiplatform.googleapis.com/v1", ""),
]


@pytest.mark.parametrize("text", PINNED)
def test_names_are_accepted_of_which_no_dated_form_is_known(text: str) -> None:
    check_snapshot(parse(text))


@pytest.mark.parametrize(("text", "dated"), FLOATING)
@pytest.mark.requirement("C4")
def test_names_are_refused_where_a_dated_form_is_known(text: str, dated: str | None) -> None:
    spec = parse(text)
    with pytest.raises(UsageError, match="floating alias") as caught:
        check_snapshot(spec)
    assert spec.model in str(caught.value)
    assert dated is None or f"dated form, for example {dated}" in str(caught.value)
    with pytest.raises(UsageError, match="floating alias"):
        open_provider(spec)


@pytest.mark.parametrize(
    ("text", "answered", "error"),
    [
        ("openai:gpt-6.1-sol", "served-2026-09-29", None),
        ("gemini:gemini-3.1-pro-preview", "served-2026-09-29", None),
        ("bedrock:anthropic.claude-opus-4-6-v1", "served-2026-09-29", None),
        ("openai:gpt-6.1-sol", None, "an unnamed model"),
        ("openai:m@http://127.0.0.1:1/v1", "other", None),
        ("openai:gpt-4o-2024-08-06", "gpt-4o-2024-08-06", None),
        ("openai:gpt-4o-2024-08-06", "gpt-4o-2024-11-20", "'gpt-4o-2024-11-20' answered"),
        ("openai:gpt-4o-2024-08-06", None, "an unnamed model"),
        ("openai:gpt-4o-2024-08-06@https://api.openai.com/v1", "other", "'other' answered"),
        ("openai:gpt-4-0613", "other", "'other' answered"),
        ("openai:ft:gpt-4o-2024-08-06:org::abc", "other", "'other' answered"),
        ("gemini:gemini-2.5-flash-preview-09-2025", "other", "'other' answered"),
        ("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929", None),
        ("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", "x", "pinned to 'claude-sonnet-4-5-20250929'"),
        ("vertex:claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929", None),
        ("vertex:claude-sonnet-4-5@20250929", "x", "pinned to 'claude-sonnet-4-5-20250929'"),
    ],
)
def test_another_model_than_the_pinned_one_that_answers_is_a_fault(
    text: str, answered: str | None, error: str | None
) -> None:
    with pytest.raises(ProviderError, match=error) if error else nullcontext() as caught:
        check_answered(parse(text), Completion(text="", model=answered))
    assert caught is None or caught.value.fault == "model_mismatch"


@pytest.mark.parametrize("url", ["https://res.openai.azure.com/openai/v1", "https://gateway.example.com/v1"])
def test_a_name_of_ones_own_is_pinned_by_the_snapshot_that_answers_have_to_name(url: str) -> None:
    spec = CandidateSpec(provider="azure", model="our-deployment", base_url=url, snapshot="gpt-4o-2024-08-06")
    check_snapshot(spec)
    check_answered(spec, Completion(text="", model="gpt-4o-2024-08-06"))
    for model in ("gpt-4o-2024-11-20", "our-deployment", None):
        with pytest.raises(ProviderError, match="pinned to 'gpt-4o-2024-08-06'"):
            check_answered(spec, Completion(text="", model=model))
    with pytest.raises(UsageError, match="'gpt-4o-latest' is a floating alias"):
        check_snapshot(spec.model_copy(update={"snapshot": "gpt-4o-latest"}))


@pytest.mark.parametrize(
    ("url", "official"),
    [
        (None, True),
        ("https://api.openai.com/v1", True),
        ("https://API.openai.COM./v1", True),
        ("https://api.openai.com.gateway.example/v1", False),
        ("https://myapi.openai.com/v1", False),
    ],
)
def test_the_providers_own_address_is_official_however_it_is_spelled(
    monkeypatch: pytest.MonkeyPatch, url: str | None, official: bool
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert resolve_endpoint(CandidateSpec(provider="openai", model="m", base_url=url)).official is official


OWN_ADDRESSES = [
    ("openai", None),
    ("openai", "https://api.openai.com/v1"),
    ("openai", "https://EU.API.OpenAI.com.:443/v1"),
    ("anthropic", "https://api.anthropic.com"),
    ("gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
    ("bedrock", "https://bedrock-runtime.us-gov-west-1.amazonaws.com"),
    ("bedrock", "https://bedrock-runtime-fips.us-east-1.amazonaws.com"),
    ("vertex", "https://us-east5-aiplatform.googleapis.com/v1"),
    ("vertex", "https://aiplatform.eu.rep.googleapis.com/v1"),
]
OTHER_ADDRESSES = [
    ("openai", "https://api.openai.com:8443/v1"),
    ("openai", "https://api.openai.com.evil.example/v1"),
    ("openai", "https://api-openai.com/v1"),
    ("openai", "https://evilapi.openai.com/v1"),
    ("openai", "https://a.b.api.openai.com/v1"),
    ("openai", "https://[::1]/v1"),
    ("openai", "http://127.0.0.1:8080/v1"),
    ("openai", "http://localhost/v1"),
    ("openai", "https://api.anthropic.com/v1"),
    ("anthropic", "https://bedrock-runtime.us-east-1.amazonaws.com/anthropic"),
    ("azure", "https://anybody.openai.azure.com/openai/v1"),
    ("azure", "https://anybody.services.ai.azure.com/openai/v1"),
    ("azure", "https://anybody.cognitiveservices.azure.com/openai/v1"),
    ("azure", "https://api.openai.com/v1"),
    ("bedrock", "https://evil-bedrock-runtime.s3.amazonaws.com"),
    ("bedrock", "https://bedrock-runtime.s3.amazonaws.com"),
    ("bedrock", "https://bedrock-runtime.s3-us-west-2.amazonaws.com"),
    ("bedrock", "https://bedrock-runtime.us-x.s3.us-east-1.amazonaws.com"),
    ("bedrock", "https://bedrock-runtime-1234567890.us-east-1.elb.amazonaws.com"),
    ("bedrock", "https://vpce-0a1b.bedrock-runtime.us-east-1.vpce.amazonaws.com"),
    ("vertex", "https://evil-aiplatform.storage.googleapis.com/v1"),
    ("vertex", "https://aiplatform.evil.example.rep.googleapis.com/v1"),
    ("vertex", "https://generativelanguage.googleapis.com/v1"),
]


@pytest.mark.parametrize(
    ("provider", "url", "own"),
    [*((*each, True) for each in OWN_ADDRESSES), *((*each, False) for each in OTHER_ADDRESSES)],
)
def test_a_key_goes_unasked_only_where_its_provider_alone_can_have_a_host(
    provider: str, url: str | None, own: bool
) -> None:
    spec = CandidateSpec(provider=provider, model="m", base_url=url)
    assert spec.is_trusted_by([CandidateSpec(provider=provider, model="m", base_url="https://ours.example")]) is own
    assert spec.is_trusted_by([spec.model_copy(update={"model": "n", "name": "x"})])
    assert CandidateSpec(provider="reference", base_url="https://evil.example").is_trusted_by(()), "it sends no key"


def test_identity_leaves_out_what_cannot_change_an_answer() -> None:
    spec, prices = parse("openai:gpt-4o-2024-08-06"), Prices(input=Decimal(1), output=Decimal("2.5"))
    same = spec.model_copy(update={"name": "A", "api_key_env": "OTHER", "timeout_seconds": 5.0, "prices": prices})
    assert same.key() == spec.key()
    assert CandidateSpec.model_validate_json(same.model_dump_json()) == same
    assert spec.model_copy(update={"max_iterations": 6}).key() != spec.key()


def test_missing_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError, match="OPENAI_API_KEY is not set"):
        open_provider(parse("openai:gpt-4o-2024-08-06"))
    with pytest.raises(UsageError, match="TEAM_KEY"):
        open_provider(parse("openai:gpt-4o-2024-08-06").model_copy(update={"api_key_env": "TEAM_KEY"}))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-none")
    with pytest.raises(UsageError, match=r"ANTHROPIC_API_KEY is not set\. CLAUDE_CODE_OAUTH_TOKEN is not used: a sub"):
        open_provider(parse("anthropic:claude-sonnet-4-20250514"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "line\nbreak")
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY") as caught:
        open_provider(parse("anthropic:claude-sonnet-4-20250514"))
    assert "break" not in str(caught.value).replace("a line break", "")


def test_options_that_a_provider_does_not_have() -> None:
    with pytest.raises(UsageError, match="takes no base URL"):
        open_provider(CandidateSpec(provider="replay", model="x", base_url="http://localhost/v1"))
    assert open_provider(parse("reference")) is None
