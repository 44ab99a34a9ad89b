"""Which backend runs here: Docker where a daemon answers, else bubblewrap, else nothing at all."""

import re
from collections.abc import Mapping
from typing import Final

from codegate.errors import UsageError
from codegate.sandbox.contract import Backend, SandboxUnavailable
from codegate.sandbox.ownership import workflow_job

Choice = str
"""``auto``, ``bwrap``, ``docker``, or ``docker:RUNTIME`` for a container runtime that the daemon knows."""

CHOICE_PATTERN: Final = r"^(auto|bwrap|docker(:[A-Za-z0-9][A-Za-z0-9._-]{0,63})?)$"
"""What a choice looks like. Whoever starts codegate makes it: a suite cannot."""


def check_choice(text: str) -> Choice:
    """Return ``text`` if it is a choice.

    Raises:
        UsageError: it is none.
    """
    if re.fullmatch(CHOICE_PATTERN, text) is None:
        raise UsageError(
            f"{text[:100]!r} is no sandbox.",
            "Choose auto, docker, docker:RUNTIME (for example docker:runsc) or bwrap.",
        )
    return text


def select_backend(choice: Choice, run_id: str) -> Backend:
    """Return the backend that ``choice`` names, or for ``auto`` the first that works here.

    Args:
        choice: see ``Choice``.
        run_id: the run that its sandboxes belong to, for their labels.

    Raises:
        UsageError: there is no such choice, or the daemon has no such runtime.
        SandboxUnavailable: it does not work here; untrusted code never runs without a sandbox.
    """
    name, _, runtime = check_choice(choice).partition(":")
    if name == "docker":
        return _docker(run_id, runtime or None)
    if name == "bwrap":
        return _bubblewrap(run_id)
    reasons = []
    for make in (_docker, _bubblewrap):
        try:
            return make(run_id)
        except SandboxUnavailable as error:
            reasons.append(str(error))
    raise SandboxUnavailable(f"no sandbox can run here: {' '.join(reasons)}")


def reap_job(environment: Mapping[str, str]) -> int:
    """Remove the sandboxes that steps of this workflow job left behind, and return how many there were.

    Raises:
        SandboxUnavailable: no Docker daemon answers.
    """
    from codegate.sandbox.docker import DockerBackend  # noqa: PLC0415 - as below

    job = workflow_job(environment)
    if not job:
        return 0
    backend = DockerBackend("reaper")
    try:
        return backend.reap(job)
    finally:
        backend.close()


def _docker(run_id: str, runtime: str | None = None) -> Backend:
    from codegate.sandbox.docker import DockerBackend  # noqa: PLC0415 - keeps the front door cheap

    return DockerBackend(run_id, runtime)


def _bubblewrap(run_id: str) -> Backend:
    from codegate.sandbox.bubblewrap import BubblewrapBackend  # noqa: PLC0415 - as above

    return BubblewrapBackend(run_id)
