"""Anthropic's models on Google's Vertex AI.

They are called by rawPredict through ``AnthropicVertex``, with an access token:
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude
"""

import os
import re
from collections.abc import Mapping
from typing import Final

from codegate.candidates.anthropic import UnstreamedProvider
from codegate.candidates.endpoint import Endpoint
from codegate.candidates.providers import ModelProvider
from codegate.candidates.redaction import remember_keys
from codegate.errors import InfrastructureError, UsageError

_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
_REGION: Final = re.compile(r"global|us|eu|[a-z]+-[a-z]+\d{1,2}")
_HOST: Final = re.compile(
    r"https?://(?:([a-z0-9-]+)-aiplatform\.googleapis|aiplatform\.([a-z]+)\.rep\.googleapis)\.com"
)


class VertexProvider(UnstreamedProvider):
    """An Anthropic model on Vertex AI."""

    client = "AnthropicVertex"
    key_attribute = "access_token"
    # The SDK's default API version is newer than the one that Vertex AI documents.
    body = {"anthropic_version": "vertex-2023-10-16"}

    def _credentials(self, endpoint: Endpoint) -> Mapping[str, str | None]:
        project = os.environ.get("ANTHROPIC_VERTEX_PROJECT_ID") or os.environ.get("GOOGLE_CLOUD_PROJECT") or ""
        if not re.fullmatch(r"[a-z0-9.:-]{1,100}", project):
            raise UsageError(
                "vertex needs a project" + (f", and {project[:40]!r} is none." if project else "."),
                "Set GOOGLE_CLOUD_PROJECT to the project's id.",
            )
        return {"access_token": endpoint.key, "project_id": project, "region": _region(endpoint.base_url)}


def _region(base_url: str = "") -> str:
    """Return the region in ``base_url``, the environment's, or ``global``."""
    named = _HOST.match(base_url)
    region = (named[1] or named[2]) if named else os.environ.get("CLOUD_ML_REGION") or "global"
    if not _REGION.fullmatch(region):
        raise UsageError(f"{region[:40]!r} is no region of Vertex AI.", "Set CLOUD_ML_REGION, for example to us-east5.")
    return region


def _address() -> str:
    region = _region()
    if region in {"us", "eu"}:
        return f"https://aiplatform.{region}.rep.googleapis.com/v1"
    return f"https://{'' if region == 'global' else f'{region}-'}aiplatform.googleapis.com/v1"


def _token() -> str:
    """Return a Google access token; "" without credentials.

    GOOGLE_APPLICATION_CREDENTIALS names the file with the credentials.
    """
    if not os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        return ""
    try:
        import google.auth  # noqa: PLC0415 - an extra
        from google.auth.transport.requests import Request  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            "GOOGLE_APPLICATION_CREDENTIALS is read with a package that is not installed.",
            "Install codegate-ci[vertex], or set an access token as GOOGLE_OAUTH_ACCESS_TOKEN.",
        ) from error
    try:
        credentials, _ = google.auth.default(scopes=[_SCOPE])
        credentials.refresh(Request())  # type: ignore[no-untyped-call]
    except google.auth.exceptions.DefaultCredentialsError as error:
        raise UsageError(
            "the file that GOOGLE_APPLICATION_CREDENTIALS names has no credentials.", "Log in again."
        ) from error
    except google.auth.exceptions.GoogleAuthError as error:
        # The error's text can quote the credentials.
        raise InfrastructureError(
            f"Google gave no access token for GOOGLE_APPLICATION_CREDENTIALS ({type(error).__name__})."
        ) from error
    token = str(credentials.token)
    remember_keys(token)
    return token


PROVIDER: Final = ModelProvider(
    address=_address,
    hosts=("aiplatform.googleapis.com", "*-aiplatform.googleapis.com", "aiplatform.*.rep.googleapis.com"),
    key_variable="GOOGLE_OAUTH_ACCESS_TOKEN",
    example="claude-sonnet-5-5",
    connect=VertexProvider,
    protocols=("messages",),
    own_key=_token,
    snapshot_of=lambda model: model.replace("@", "-"),
    telemetry_name="gcp.vertex_ai",
    address_variable="ANTHROPIC_VERTEX_BASE_URL",
)
