"""Each provider at its own address, through the official SDKs: nothing but the environment leads to the stand-in."""

from pathlib import Path
from typing import Any

import pytest

from tests.candidates.test_clouds import ask
from tests.kit.scripted_model import Say
from tests.kit.stand_in import KEY, StandIn

HAIKU = "claude-haiku-4-5-20251001"
AZURE = "https://ours.openai.azure.com/openai/v1"
PLACES = "/v1/projects/our-project/locations/us-east5/publishers/anthropic/models"


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, region in (("CLOUD_ML_REGION", "us-east5"), ("AWS_REGION", "us-east-1")):
        monkeypatch.setenv(name, region)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "our-project")
    with StandIn(lambda _: Say("Hello."), tmp_path, served={"our-gpt": "gpt-4o-2024-08-06"}) as stand_in:
        for name, value in stand_in.environment.items():
            monkeypatch.setenv(name, value)
        yield stand_in


@pytest.mark.requirement("C9")
@pytest.mark.parametrize(
    ("candidate", "host", "path"),
    [
        ({"provider": "openai", "model": "gpt-5-2025-08-07"}, "api.openai.com", "/v1/chat/completions"),
        (
            {"provider": "openai", "model": "gpt-5-2025-08-07", "protocol": "responses"},
            "api.openai.com", "/v1/responses",
        ),
        ({"provider": "anthropic", "model": HAIKU}, "api.anthropic.com", "/v1/messages"),
        (
            {"provider": "gemini", "model": "gemini-2.5-pro"},
            "generativelanguage.googleapis.com", "/v1beta/openai/chat/completions",
        ),
        (
            {"provider": "azure", "model": "our-gpt", "snapshot": "gpt-4o-2024-08-06", "base_url": AZURE},
            "ours.openai.azure.com", "/openai/v1/chat/completions",
        ),
        (
            {"provider": "bedrock", "model": f"us.anthropic.{HAIKU}-v1:0"},
            "bedrock-runtime.us-east-1.amazonaws.com", f"/model/us.anthropic.{HAIKU}-v1:0/invoke",
        ),
        (
            {"provider": "vertex", "model": "claude-haiku-4-5@20251001"},
            "us-east5-aiplatform.googleapis.com", f"{PLACES}/claude-haiku-4-5@20251001:rawPredict",
        ),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_provider_is_called_at_its_own_address_with_its_key(
    stand_in: StandIn, candidate: dict[str, str], host: str, path: str
) -> None:
    assert ask(**candidate).text == "Hello."
    (request,) = stand_in.model.requests
    assert (request.host, request.path.replace("%40", "@")) == (host, path)
    assert KEY in request.headers.get("x-api-key", request.headers.get("authorization", ""))
    version = {"bedrock": "bedrock-2023-05-31", "vertex": "vertex-2023-10-16"}.get(candidate["provider"])
    assert request.body.get("anthropic_version") == version
    assert ("model" in request.body) == (version is None), "its place is in the path of a cloud"
    assert stand_in.refused == []
