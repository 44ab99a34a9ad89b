"""Anthropic's models on Amazon Bedrock.

They are called by InvokeModel through ``AnthropicBedrock``, with an API key or signed requests:
https://docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html
"""

import os
import re
from collections.abc import Mapping
from typing import Final

from codegate.candidates.anthropic import UnstreamedProvider
from codegate.candidates.endpoint import Endpoint
from codegate.candidates.providers import ModelProvider
from codegate.candidates.redaction import remember_keys
from codegate.errors import UsageError

_REGION: Final = re.compile(r"[a-z]{2,8}(?:-[a-z]+)+-\d{1,2}")
# us.anthropic.claude-sonnet-4-5-20250929-v1:0 answers as claude-sonnet-4-5-20250929.
_NAME: Final = re.compile(r"(?:[a-z-]+\.)?anthropic\.(claude-[a-z0-9-]+?)(?:-v\d+)?(?::\d+)?")


class BedrockProvider(UnstreamedProvider):
    """An Anthropic model on Bedrock."""

    client = "AnthropicBedrock"
    # Bedrock's dated models refuse the newer API version that the SDK sets by default.
    body = {"anthropic_version": "bedrock-2023-05-31"}

    def _credentials(self, endpoint: Endpoint) -> Mapping[str, str | None]:
        region = _region(endpoint.base_url)
        if endpoint.source is not _secret_key:
            return {"api_key": endpoint.key, "aws_region": region}
        try:
            import boto3  # noqa: PLC0415 - an extra
            from botocore.exceptions import BotoCoreError  # noqa: PLC0415
        except ImportError as error:
            raise UsageError(
                "AWS credentials sign requests with a package that is not installed.",
                "Install codegate-ci[bedrock], or set a Bedrock API key as AWS_BEARER_TOKEN_BEDROCK.",
            ) from error
        try:
            boto3.Session()  # fails early if the AWS settings that request signing reads are broken
        except BotoCoreError as error:
            raise UsageError(
                f"the settings of AWS cannot be read: {str(error)[:200]}.", "Unset AWS_PROFILE."
            ) from error
        names = {"aws_access_key": "AWS_ACCESS_KEY_ID", "aws_session_token": "AWS_SESSION_TOKEN"}
        others = {argument: os.environ.get(name, "").strip() or None for argument, name in names.items()}
        remember_keys(*(value for value in (endpoint.key, *others.values()) if value))
        return {"aws_secret_key": endpoint.key, **others, "aws_region": region}


def _secret_key() -> str:
    """Return AWS_SECRET_ACCESS_KEY; "" if the key's id is not set."""
    values = [os.environ.get(name, "").strip() for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
    return values[1] if all(values) else ""


def _region(base_url: str = "") -> str:
    """Return the AWS region in ``base_url``, else the environment's."""
    named = _REGION.search(base_url.partition("://")[2].partition("/")[0])
    region = named[0] if named else os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
    if not _REGION.fullmatch(region):
        raise UsageError(
            "bedrock needs a region" + (f", and {region[:40]!r} is none." if region else "."),
            "Set AWS_REGION, for example to us-east-1, or the candidate's `base_url`.",
        )
    return region


def _snapshot_of(model: str) -> str:
    name = _NAME.fullmatch(model)
    return name[1] if name else model


PROVIDER: Final = ModelProvider(
    address=lambda: f"https://bedrock-runtime.{_region()}.amazonaws.com",
    # A region begins with letters. Hosts with s3-REGION are legacy names of S3, where any customer can have a bucket.
    hosts=("bedrock-runtime.[a-z][a-z]-*.amazonaws.com", "bedrock-runtime-fips.[a-z][a-z]-*.amazonaws.com"),
    customer_hosts=("*.bedrock-runtime.*.vpce.amazonaws.com",),
    key_variable="AWS_BEARER_TOKEN_BEDROCK",
    example="global.anthropic.claude-sonnet-5-5",
    connect=BedrockProvider,
    protocols=("messages",),
    own_key=_secret_key,
    snapshot_of=_snapshot_of,
    telemetry_name="aws.bedrock",
    address_variable="ANTHROPIC_BEDROCK_BASE_URL",
)
