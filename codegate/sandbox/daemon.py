"""The Docker daemon: connection, description and errors."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from codegate.errors import UsageError
from codegate.sandbox.contract import OWN_KERNEL, Description, SandboxError, SandboxUnavailable

if TYPE_CHECKING:
    from docker import APIClient

_REMEDY: Final = "Start it, or set DOCKER_HOST to where it listens."
_NAMESPACED: Final = ("runc", "crun", "youki")  # runtimes that share the daemon's kernel and give equal results
_WEAKNESSES: Final = {
    "runsc": ("too many processes or files end the sandbox as out of memory instead of being refused",)
}


def connect(seconds: int) -> "APIClient":
    """Return a client of the docker command's daemon.

    Each call of the client may take ``seconds``.

    Raises:
        SandboxUnavailable: no daemon answers.
    """
    address = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if address.startswith("unix://") and not Path(address.removeprefix("unix:/")).exists():
        raise SandboxUnavailable(f"no Docker daemon answers (there is no {address}).", _REMEDY)
    from docker import APIClient  # noqa: PLC0415 - docker takes 0.2 s to import
    from docker.errors import DockerException  # noqa: PLC0415
    from docker.utils import kwargs_from_env  # noqa: PLC0415
    from requests.exceptions import RequestException  # noqa: PLC0415

    client = None
    try:
        client = APIClient(timeout=seconds, **kwargs_from_env())
        client.ping()
    except (DockerException, RequestException, OSError) as error:
        if client is not None:
            client.close()
        raise SandboxUnavailable(f"no Docker daemon answers ({str(error)[:200]}).", _REMEDY) from error
    return client


@contextlib.contextmanager
def explain_docker_errors(what: str) -> Iterator[None]:
    """Turn docker's errors into SandboxError "could not ``what``"."""
    from docker.errors import DockerException  # noqa: PLC0415 - docker takes 0.2 s to import
    from requests.exceptions import RequestException  # noqa: PLC0415

    try:
        yield
    except (DockerException, RequestException) as error:
        text = str(getattr(error, "explanation", None) or error)[:500]
        raise SandboxError(f"the Docker daemon could not {what}: {text}.") from error


def read_daemon(client: "APIClient", runtime: str | None) -> Description:
    """Return the engine, runtime and limits of a daemon's sandboxes.

    Raises:
        UsageError: the daemon does not have ``runtime``.
        SandboxError: the daemon does not answer.
    """
    with explain_docker_errors("say what it is"):
        info: dict[str, Any] = client.info()
        version: dict[str, Any] = client.version()
    offered: Mapping[str, Any] = info.get("Runtimes") or {}
    if runtime is not None and runtime not in offered:
        raise UsageError(
            f"the Docker daemon has no runtime {runtime!r}; it has {', '.join(sorted(offered)) or 'none'}.",
            "Name one of them after `docker:`, or make it known to the daemon (`runtimes` in its daemon.json).",
        )
    chosen = runtime or str(info.get("DefaultRuntime") or "runc")
    tier = _tier(chosen, offered.get(chosen))
    engine = str(version.get("Version") or info.get("ServerVersion") or "")
    found = {str(part.get("Name")): str(part.get("Version")) for part in version.get("Components") or ()}
    described = " ".join(part for part in (tier, found.get(tier, "")) if part)
    return Description(
        name="docker" if tier in _NAMESPACED else f"docker:{chosen}",
        tier=tier,
        engine=f"Docker {engine}"[:100],
        runtime=(described if tier == chosen or tier in _NAMESPACED else f"{chosen} ({described})")[:100],
        kernel=str(info.get("KernelVersion") or "")[:100],
        process_limit=tier != "runsc",
        inode_limit=tier != "runsc",
        weaknesses=_WEAKNESSES.get(tier, ()),
    )


def _tier(name: str, entry: object) -> str:
    """Return the known kind of a container runtime, else ``name``.

    A kind is known by the runtime's program or name, such as ``runsc``. ``entry`` is Docker's record of the runtime.
    """
    path = entry.get("path") if isinstance(entry, dict) else None
    for text in (PurePosixPath(str(path or "")).name, name.removeprefix("io.containerd.")):
        for known in (*OWN_KERNEL, *_NAMESPACED):
            if text == known or text.startswith((f"{known}-", f"{known}.", f"containerd-shim-{known}-")):
                return known
    return name
