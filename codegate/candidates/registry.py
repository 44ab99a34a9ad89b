"""Open the provider of a candidate."""

from pathlib import Path

from codegate.candidates.anthropic import AnthropicProvider
from codegate.candidates.chat import Provider
from codegate.candidates.endpoint import resolve_endpoint
from codegate.candidates.openai import OpenAIProvider
from codegate.candidates.replay import ReplayProvider
from codegate.candidates.snapshots import check_snapshot
from codegate.candidates.spec import CandidateSpec
from codegate.errors import UsageError


def open_provider(spec: CandidateSpec, folder: Path = Path(), *, keyless: bool = False) -> Provider | None:
    """Return the provider of ``spec``, or None where no model is called.

    Args:
        spec: the candidate.
        folder: where a relative transcript file is looked up.
        keyless: send no API key; only a server on this machine takes requests without one.

    Raises:
        UsageError: a floating alias, an address or a file that is not allowed, or no key.
    """
    if spec.base_url is not None and spec.provider not in {"openai", "anthropic"}:
        raise UsageError(f"candidate {spec.label}: {spec.provider} takes no base URL.", "Remove it.")
    check_snapshot(spec)
    match spec.provider:
        case "openai" | "anthropic":
            provider = OpenAIProvider if spec.provider == "openai" else AnthropicProvider
            return provider(
                spec,
                resolve_endpoint(
                    spec.provider, spec.base_url, spec.api_key_env, keyless=keyless, allow_http=spec.allow_http
                ),
            )
        case "replay":
            return ReplayProvider(folder / spec.model)
        case "predictions" | "reference" | "empty":
            return None
