"""Which backend runs here: Docker where a daemon answers, else bubblewrap, else nothing at all."""

from typing import Literal

from codegate.sandbox.contract import Backend, SandboxUnavailable

Choice = Literal["auto", "docker", "bwrap"]


def select_backend(choice: Choice, run_id: str) -> Backend:
    """Return the backend that ``choice`` names, or for ``auto`` the first that works here.

    Args:
        choice: ``auto``, ``docker`` or ``bwrap``.
        run_id: the run that its sandboxes belong to, for their labels.

    Raises:
        SandboxUnavailable: it does not work here; untrusted code never runs without a sandbox.
    """
    if choice == "docker":
        return _docker(run_id)
    if choice == "bwrap":
        return _bubblewrap(run_id)
    reasons = []
    for make in (_docker, _bubblewrap):
        try:
            return make(run_id)
        except SandboxUnavailable as error:
            reasons.append(str(error))
    raise SandboxUnavailable(f"no sandbox can run here: {' '.join(reasons)}")


def _docker(run_id: str) -> Backend:
    from codegate.sandbox.docker import DockerBackend  # noqa: PLC0415 - keeps the front door cheap

    return DockerBackend(run_id)


def _bubblewrap(run_id: str) -> Backend:
    from codegate.sandbox.bubblewrap import BubblewrapBackend  # noqa: PLC0415 - as above

    return BubblewrapBackend(run_id)
