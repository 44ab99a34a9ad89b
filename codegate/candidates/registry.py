"""Open the provider of a candidate."""

from functools import partial
from pathlib import Path

from codegate.candidates.agents import AGENTS
from codegate.candidates.chat import Provider
from codegate.candidates.endpoint import resolve_endpoint
from codegate.candidates.key_command import key_from
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
    if spec.agent is not None:
        protocol_of(spec)
    if spec.calls_a_model:
        offered = model_provider(spec.provider).protocols
        if spec.protocol is not None and spec.protocol not in offered:
            raise UsageError(
                f"candidate {spec.label}: {spec.provider} does not speak `protocol: {spec.protocol}`.",
                "Remove `protocol`.",
            )
        endpoint = resolve_endpoint(
            spec.provider,
            spec.base_url,
            spec.api_key_env,
            command=None if spec.api_key_command is None else partial(key_from, spec.api_key_command),
            keyless=keyless,
            allow_http=spec.allow_http,
        )
        return model_provider(spec.provider).connect(spec, endpoint)
    return ReplayProvider(folder / spec.model) if spec.provider == "replay" else None


def protocol_of(spec: CandidateSpec) -> str:
    """Return the protocol that a candidate's agent and its provider both speak, the agent's best one.

    Raises:
        UsageError: they have none in common.
    """
    if spec.agent is None:
        message = "a candidate without an agent speaks through its provider"
        raise ValueError(message)
    spoken = AGENTS[spec.agent.name].protocols
    offered = model_provider(spec.provider).protocols
    if (found := next((each for each in spoken if each in offered), None)) is None:
        raise UsageError(
            f"candidate {spec.label}: {spec.agent.name} speaks {' and '.join(spoken)}, and {spec.provider} "
            f"{' and '.join(offered) or 'no protocol that agents speak'}.",
            "Choose another agent for this model.",
        )
    return found
