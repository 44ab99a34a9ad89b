"""Open a candidate's provider, with its key."""

import contextlib
import os
import shlex
import subprocess
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final

from codegate.candidates.agents import agent_named
from codegate.candidates.conversation import ListedModel, ListsModels, Provider
from codegate.candidates.endpoint import find_key, resolve_endpoint
from codegate.candidates.providers import model_provider
from codegate.candidates.redaction import SHORTEST, Redactor, redactor_for, remember_keys
from codegate.candidates.replay import ReplayProvider
from codegate.candidates.snapshots import ModelShutdown, check_snapshot, model_shutdown
from codegate.candidates.spec import CandidateSpec
from codegate.errors import CodegateError, InfrastructureError, UsageError
from codegate.host_program import run_program

KEY_SECONDS: Final = 30.0
_MAX_KEY: Final = 16_384


def open_provider(spec: CandidateSpec, folder: Path = Path()) -> Provider | None:
    """Open a candidate's provider; None if the candidate needs none.

    A relative transcript file is looked up in ``folder``.

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
        endpoint = resolve_endpoint(spec, _key_command(spec))
        return model_provider(spec.provider).connect(spec, endpoint)
    return ReplayProvider(folder / spec.model) if spec.provider == "replay" else None


def has_key(spec: CandidateSpec) -> bool:
    """Return whether there is a key for the candidate's provider.

    False if the program or file of credentials gives no key, for example because a secret is missing.

    Raises:
        InfrastructureError: a server that gives the key does not answer.
    """
    with contextlib.suppress(UsageError):
        return find_key(spec, _key_command(spec))[0] != ""
    return False


def _key_command(spec: CandidateSpec) -> Callable[[], str] | None:
    return None if spec.api_key_command is None else partial(key_from, spec.api_key_command)


def model_shutdowns(candidates: Iterable[CandidateSpec]) -> tuple[ModelShutdown, ...]:
    """Return the known shutdowns of candidates' models and helpers.

    Shutdowns come from the provider's list of models, which is requested at the provider's own address if a variable
    holds the key.

    Raises:
        UsageError: a candidate's model is a floating alias, because a list has a dated form of it.
    """
    lists: dict[tuple[str, str | None], tuple[ListedModel, ...]] = {}
    found = []
    for spec in (one for candidate in candidates for one in (candidate, *candidate.helpers)):
        if not spec.calls_a_model or has_own_account(spec):
            continue
        account = spec.provider, spec.api_key_env
        if account not in lists:
            lists[account] = ()
            with contextlib.suppress(CodegateError):  # for a candidate that a run would refuse, the list stays empty
                lists[account] = listed_models(spec)
        check_snapshot(spec, lists[account])
        found.append(model_shutdown(spec, lists[account]))
    return tuple(dict.fromkeys(filter(None, found)))


def has_own_account(spec: CandidateSpec) -> bool:
    """Return whether the candidate sets an address or key command."""
    return spec.base_url is not None or spec.api_key_command is not None


def listed_models(spec: CandidateSpec) -> tuple[ListedModel, ...]:
    """Return the models that the candidate's provider lists.

    Raises:
        UsageError: no variable holds a key, the provider has no list, or ``open_provider`` fails.
        InfrastructureError: the list could not be read within seconds.
    """
    variable = spec.api_key_env or model_provider(spec.provider).key_variable
    if not os.environ.get(variable, "").strip():
        raise UsageError(f"{spec.provider}: its list of models is not read, because {variable} has no key.")
    found: tuple[ListedModel, ...] | None = None
    if (provider := open_provider(spec)) is not None:
        with contextlib.closing(provider):
            found = provider.models() if isinstance(provider, ListsModels) else None
    if found is None:
        raise UsageError(f"{spec.provider} has no list of models.")
    if not found:
        raise InfrastructureError(f"{spec.provider} gave no list of models.")
    return found


def protocol_of(spec: CandidateSpec) -> str:
    """Return the protocol between the candidate's agent and its provider.

    The first of the agent's protocols that the provider speaks is chosen.

    Raises:
        UsageError: agent and provider have no protocol in common.
    """
    if spec.agent is None:
        raise ValueError("a candidate without an agent speaks through its provider")
    spoken = agent_named(spec.agent.name).protocols
    offered = model_provider(spec.provider).protocols
    if (found := next((each for each in spoken if each in offered), None)) is None:
        raise UsageError(
            f"candidate {spec.label}: {spec.agent.name} speaks {' and '.join(spoken)}, and {spec.provider} "
            f"{' and '.join(offered) or 'no protocol that agents speak'}.",
            "Choose another agent for this model.",
        )
    return found


def key_from(command: tuple[str, ...]) -> str:
    """Return the key that ``command`` prints.

    Afterwards every redactor removes the key. The program gets the whole environment, because it may need a token of
    its own. The program starts in ``/``, because a pull request could replace a file of the checkout that a relative
    path names.

    Raises:
        UsageError: the program cannot be started, fails, takes too long, or prints nothing or too much.
    """
    shown = f"`api_key_command` {shlex.join(command)[:200]}"
    try:
        done = run_program(command, env=os.environ, seconds=KEY_SECONDS)
    except OSError as error:
        raise UsageError(
            f"{shown} cannot be started: {error.strerror}.", "It is a program and its arguments."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"{shown} printed no key within {KEY_SECONDS:g} s.", "Try it by hand.") from error
    if done.returncode != 0:
        # The error output may quote a key that was printed before.
        lines = map(str.strip, done.stdout[:_MAX_KEY].decode("utf-8", "replace").splitlines())
        of_output = Redactor(*(line for line in lines if len(line) >= SHORTEST))
        printed = redactor_for().redact(" ".join(done.stderr[-1000:].decode("utf-8", "replace").split()))
        printed = of_output.redact(printed)[-300:]
        raise UsageError(
            f"{shown} ended with status {done.returncode}: {printed or 'it wrote nothing'}", "Try it by hand."
        )
    key = done.stdout[: _MAX_KEY + 1].decode("utf-8", "replace").strip()
    if not key or len(key) > _MAX_KEY:
        raise UsageError(
            f"{shown} printed {'too much for' if key else 'no'} key.", "It prints the key and nothing else."
        )
    remember_keys(key)
    return key
