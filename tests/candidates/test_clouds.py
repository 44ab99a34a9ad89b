"""What other clouds ask for, through the real SDKs over real HTTP: addresses, keys, models and their snapshots."""

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import anthropic
import pytest
import trustme
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from pydantic import ValidationError

from codegate.candidates import (
    CandidateSpec,
    Completion,
    ForwardedAnswer,
    Message,
    ProblemKey,
    ProviderError,
    Sampling,
    environment_secrets,
    open_provider,
    redactor_for,
)
from codegate.candidates.anthropic import AnthropicProvider
from codegate.errors import UsageError
from tests.candidates.conftest import CANARY
from tests.kit.http import Reply, Request, Server
from tests.kit.model_server import as_json, chat_answer, messages_answer, wire_server

KEY = ProblemKey(problem="p", sample=0)
QUESTION = (Message(role="user", text="?"),)


def ask(**settings: Any) -> Completion:
    client = open_provider(CandidateSpec.model_validate({"timeout_seconds": 20, **settings}))
    assert client is not None
    try:
        return client.complete(KEY, QUESTION, (), Sampling())
    finally:
        client.close()


def forward(request: dict[str, Any], headers: dict[str, str] | None = None, **settings: Any) -> ForwardedAnswer:
    client = open_provider(CandidateSpec.model_validate({"timeout_seconds": 20, **settings}))
    assert isinstance(client, AnthropicProvider)
    try:
        return client.forward("messages", request, headers or {})
    finally:
        client.close()


SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
THINKING = {"type": "thinking", "thinking": "A file\u2028first.", "signature": "c2ln"}
TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls \u00e9"}}
BLOCKS = [THINKING, {"type": "text", "text": "Reading."}, TOOL_USE]


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What aws-actions/configure-aws-credentials leaves."""
    left = {
        "AWS_ACCESS_KEY_ID": "ASIACANARYACCESSKEYID",
        "AWS_SECRET_ACCESS_KEY": "canary/Secret+Access9Key8For7Signing6Only",
        "AWS_SESSION_TOKEN": "canarySessionToken//IQoJb3JpZ2luX2Vj",
        "AWS_REGION": "eu-west-1",
    }
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in left.items():
        monkeypatch.setenv(name, value)
    return left


def signature_of(request: Request, base_url: str, credentials: dict[str, str]) -> str:
    """Return the signature that AWS expects of a request."""
    named = re.search(r"SignedHeaders=([^,]+)", request.headers["authorization"])
    assert named is not None
    headers = {name: request.headers[name] for name in named[1].split(";")}
    signed = AWSRequest("POST", f"{base_url}{request.path}", headers=headers, data=request.raw)
    signed.context["timestamp"] = request.headers["x-amz-date"]
    keys = Credentials(credentials["AWS_ACCESS_KEY_ID"], credentials["AWS_SECRET_ACCESS_KEY"])
    auth = SigV4Auth(keys, "bedrock", credentials["AWS_REGION"])
    return str(auth.signature(auth.string_to_sign(signed, auth.canonical_request(signed)), signed))


@pytest.mark.requirement("C9")
def test_bedrock_signs_requests_with_the_credentials_of_the_environment(aws: dict[str, str]) -> None:
    echo = " ".join(value for name, value in aws.items() if name != "AWS_REGION")
    with wire_server(as_json(messages_answer(content=[{"type": "text", "text": f"Hello. {echo}"}]))) as server:
        answer = forward(
            {"model": SONNET, "max_tokens": 5, "messages": [], "system": "Be brief."},
            {"anthropic-beta": "effort-2025-11-24"},
            provider="bedrock", model=SONNET, base_url=server.url,
        )  # fmt: skip
        (request,) = server.received
        assert request.headers["authorization"].endswith(f"Signature={signature_of(request, server.url, aws)}")
    assert "/eu-west-1/bedrock/aws4_request" in request.headers["authorization"]
    assert request.headers["x-amz-security-token"] == aws["AWS_SESSION_TOKEN"]
    assert request.body["anthropic_beta"] == ["effort-2025-11-24"]
    assert "model" not in request.body, "its place is in the path"
    assert answer.completion.text == "Hello. [redacted] [redacted] [redacted]"
    assert not [value for name, value in aws.items() if name != "AWS_REGION" and value.encode() in answer.content]


@pytest.mark.parametrize(
    ("provider", "status", "message", "outcome"),
    [
        ("bedrock", 400, "Input is too long for requested model.", "context_overflow"),
        ("bedrock", 403, "The security token included in the request is expired", "authentication"),
        ("bedrock", 404, "Could not resolve the foundation model from the provided model identifier.", "not_found"),
        ("bedrock", 424, "The request failed due to an error while processing the model.", "overloaded"),
        ("bedrock", 429, "Too many requests, please wait before trying again.", "rate_limit"),
        ("gemini", 400, "API key not valid. Please pass a valid API key.", "authentication"),
        (
            "gemini", 400,
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
            "context_overflow",
        ),
    ],
)  # fmt: skip
def test_the_errors_of_clouds_are_told_apart(
    aws: dict[str, str], monkeypatch: pytest.MonkeyPatch, provider: str, status: int, message: str, outcome: str
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", CANARY)
    body = {"message": message} if provider == "bedrock" else [{"error": {"code": status, "message": message}}]
    with wire_server(as_json(body, status)) as server:
        try:
            found: str = ask(provider=provider, model="m-1", base_url=server.url).stop_reason
        except ProviderError as fault:
            found = fault.fault
    assert found == outcome


def test_bedrock_needs_credentials_and_a_region(aws: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nowhere")
    with pytest.raises(UsageError, match=r"profile \(nowhere\) could not be found"):
        open_provider(CandidateSpec(provider="bedrock", model=SONNET))
    monkeypatch.delenv("AWS_PROFILE")
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(UsageError, match="bedrock needs a region"):
        open_provider(CandidateSpec(provider="bedrock", model=SONNET))
    monkeypatch.setenv("AWS_REGION", "evil.example/x?")
    with pytest.raises(UsageError, match=r"'evil\.example/x\?' is none"):
        open_provider(CandidateSpec(provider="bedrock", model=SONNET))
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(UsageError, match="AWS_BEARER_TOKEN_BEDROCK is not set"):
        open_provider(CandidateSpec(provider="bedrock", model=SONNET))


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"])
def test_credentials_of_aws_are_redacted_without_a_candidate(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "canary-credential-1234")
    assert "canary-credential-1234" in environment_secrets({name: "canary-credential-1234"})
    assert redactor_for().redact("a canary-credential-1234.") == "a [redacted]."


def test_an_agent_that_streams_gets_an_answer_that_came_whole_as_events(
    aws: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = messages_answer(content=BLOCKS, stop_reason="tool_use", model="claude-sonnet-4-5-20250929")
    request = {"model": SONNET, "max_tokens": 5, "messages": [{"role": "user", "content": "?"}], "stream": True}
    with wire_server(as_json(whole)) as server:
        answer = forward(request, provider="bedrock", model=SONNET, base_url=server.url)
        assert "stream" not in server.received[0].body
        assert server.received[0].path.endswith("/invoke")
    assert answer.streamed
    assert answer.completion.tool_calls[0].name == "bash"
    # Anthropic's own client reads from the events what it reads from the whole answer.
    with wire_server(Reply(answer.content, headers={"Content-Type": "text/event-stream"})) as server:
        asked: Any = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "?"}]}
        with anthropic.Anthropic(api_key="k", base_url=server.url) as client, client.messages.stream(**asked) as stream:
            final = stream.get_final_message().model_dump(mode="json", exclude_none=True)
    expected = anthropic.types.Message.model_validate(whole).model_dump(mode="json", exclude_none=True)
    assert {name: final[name] for name in expected} == expected


HAIKU = "claude-haiku-4-5@20251001"


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "our-project-1")


@pytest.mark.usefixtures("google")
def test_vertex_takes_tokens_of_application_default_credentials_and_another_when_one_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    numbers = iter((1, 2, 2))

    def exchange(request: Request) -> Reply:
        if request.method == "GET":  # the job's own token, which GitHub gives
            return as_json({"value": "job-token"} if request.headers["authorization"] == "bearer of-the-job" else {})
        assert b"subject_token=job-token" in request.raw
        token = {"access_token": f"canary-access-token-{next(numbers)}", "expires_in": 3600}
        return as_json({**token, "issued_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_type": "Bearer"})

    ended = {"error": {"code": 401, "message": "ended: canary-access-token-1", "status": "UNAUTHENTICATED"}}
    google, replies = Server(exchange), [as_json(ended, 401), as_json(messages_answer()), as_json(ended, 401)]
    with contextlib.closing(google), wire_server(*replies) as server:
        credentials = tmp_path / "gha-creds.json"
        credentials.write_text(
            json.dumps(
                {  # as google-github-actions/auth writes it
                    "type": "external_account",
                    "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
                    "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
                    "token_url": f"{google.url}/token",
                    "credential_source": {
                        "url": f"{google.url}/oidc",
                        "headers": {"Authorization": "bearer of-the-job"},
                        "format": {"type": "json", "subject_token_field_name": "value"},
                    },
                }
            )
        )
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(credentials))
        client = open_provider(CandidateSpec(provider="vertex", model=HAIKU, base_url=f"{server.url}/v1"))
        assert client is not None
        assert client.complete(KEY, QUESTION, (), Sampling()).text == "Hello."
        with pytest.raises(ProviderError, match=r"status 401: ended: \[redacted\]"):
            client.complete(KEY, QUESTION, (), Sampling())
        client.close()
    used = [request.headers["authorization"].rpartition("-")[2] for request in server.received]
    assert used == ["1", "2", "2"], "the second has no successor"
    assert redactor_for().redact("canary-access-token-2") == "[redacted]"


@pytest.mark.usefixtures("google")
def test_azure_needs_an_address_and_vertex_a_project_and_a_region(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", CANARY)
    with pytest.raises(UsageError, match="each resource has its own"):
        open_provider(CandidateSpec(provider="azure", model="our-gpt"))
    spec = CandidateSpec(provider="vertex", model=HAIKU)
    with pytest.raises(UsageError, match="GOOGLE_OAUTH_ACCESS_TOKEN is not set"):
        open_provider(spec)
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", CANARY)
    monkeypatch.setenv("CLOUD_ML_REGION", "x/../y")
    with pytest.raises(UsageError, match=r"'x/\.\./y' is no region"):
        open_provider(spec)
    monkeypatch.setenv("CLOUD_ML_REGION", "us-east5")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "../other")
    with pytest.raises(UsageError, match=r"'\.\./other' is none"):
        open_provider(spec)
    monkeypatch.delenv("GOOGLE_OAUTH_ACCESS_TOKEN")
    (tmp_path / "empty.json").write_text("{}")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "empty.json"))
    with pytest.raises(UsageError, match="has no credentials"):
        open_provider(spec)


SENT = {"headers": {"x-team": "gate", "User-Agent": "codegate of ours"}, "query": {"api-version": "preview"}}


@pytest.mark.parametrize("provider", ["openai", "anthropic", "bedrock"])
def test_headers_and_parameters_of_ones_own_go_with_each_request(aws: dict[str, str], provider: str) -> None:
    answer = chat_answer() if provider == "openai" else messages_answer()
    with wire_server(as_json(answer)) as server:
        ask(provider=provider, model="m-1", base_url=f"{server.url}/v1", **SENT)
        (request,) = server.received
        if provider == "bedrock":
            assert f"Signature={signature_of(request, server.url, aws)}" in request.headers["authorization"]
    assert (request.headers["x-team"], request.headers["user-agent"]) == ("gate", "codegate of ours")
    assert request.path.endswith("?api-version=preview")


@pytest.mark.parametrize("where", ["headers", "query"])
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        *((name, "x", "may carry a key") for name in ("Authorization", "x-api-key", "Cookie", "sig-token")),
        *((name, "x", "set by the client") for name in ("HOST", "Content-Length", "transfer-encoding", "X-Amz-Date")),
        ("x team", "x", "pattern"),
        ("x-team", "a\r\nhost: evil", "pattern"),
        ("x-team", "a\n", "pattern"),
    ],
)
def test_headers_and_parameters_carry_no_key(where: str, name: str, value: str, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        CandidateSpec.model_validate({"provider": "openai", "model": "m", where: {name: value}})


def test_headers_are_part_of_a_candidate_and_of_where_its_key_goes() -> None:
    plain = CandidateSpec(provider="openai", model="m")
    sent = plain.model_copy(update={"headers": {"x-team": "gate"}})
    assert plain.key() != sent.key()
    assert plain.is_trusted_by(())
    assert not sent.is_trusted_by([plain])


def test_a_certificate_authority_of_ones_own_is_trusted_by_its_file(
    monkeypatch: pytest.MonkeyPatch, private_address: str, tmp_path: Path
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    with wire_server(as_json(chat_answer()), host=private_address) as server:
        url = server.encrypt(authority)
        candidate = {"provider": "openai", "model": "m", "base_url": f"{url}/v1"}
        with pytest.raises(ProviderError, match="certificate verify failed"):
            ask(**candidate)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert ask(**candidate).text == "Hello."
