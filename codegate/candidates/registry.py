"""Open the provider of a candidate."""

from pathlib import Path

from codegate.candidates.chat import Provider
from codegate.candidates.endpoint import resolve_endpoint
from codegate.candidates.providers import model_provider
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
    if not spec.calls_a_model and spec.base_url is not None:
        raise UsageError(f"candidate {spec.label}: {spec.provider} takes no base URL.", "Remove it.")
    check_snapshot(spec)
    if spec.calls_a_model:
        endpoint = resolve_endpoint(
            spec.provider, spec.base_url, spec.api_key_env, keyless=keyless, allow_http=spec.allow_http
        )
        return model_provider(spec.provider).connect(spec, endpoint)
    return ReplayProvider(folder / spec.model) if spec.provider == "replay" else None
