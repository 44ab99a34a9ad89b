"""The Docker backend's base images, and images that codegate made."""

import os
import re
from typing import TYPE_CHECKING, Any, Final

from codegate.sandbox.contract import NotInstalled, SandboxError, Unreachable
from codegate.sandbox.tools import MACHINES

if TYPE_CHECKING:
    from docker import APIClient

BASE_IMAGE: Final = "python:{python}-slim-bookworm"
IMAGE_VARIABLE: Final = "CODEGATE_BASE_IMAGE"
ENVIRONMENT_LABEL: Final = "codegate.environment"
_PINNED: Final = re.compile(r"(?:[a-z0-9][a-z0-9._:/-]{0,250}@)?sha256:[0-9a-f]{64}")
_OFFICIAL: Final = re.compile(r"python@sha256:[0-9a-f]{64}")
_REPOSITORY: Final = "codegate/environment"
LAYOUT: Final = 2
_MACHINES: Final = {"amd64": "x86_64", "arm64": "aarch64"}


def machine_of(architecture: str) -> str:
    """Return the ``uname -m`` name of Docker's ``architecture``.

    Raises:
        SandboxError: codegate does not support it.
    """
    machine = _MACHINES.get(architecture, architecture)
    if machine not in MACHINES:
        raise SandboxError(f"the Docker daemon runs on {architecture!r}; x86_64 and aarch64 are supported.")
    return machine


def base_image_name(python: str) -> str:
    """Return CODEGATE_BASE_IMAGE, else the default for a Python version."""
    return os.environ.get(IMAGE_VARIABLE) or BASE_IMAGE.format(python=python)


def is_available(client: "APIClient", name: str) -> bool:
    """Return whether an earlier run's base image is still available.

    ``name`` is the image by digest. An official image is pulled if absent. Always False if CODEGATE_BASE_IMAGE is set,
    which replaces that image.
    """
    if os.environ.get(IMAGE_VARIABLE) or _PINNED.fullmatch(name) is None:
        return False
    if _OFFICIAL.fullmatch(name) is None:
        return find_image(client, name) is not None
    try:
        _pulled(client, name, "")
    except SandboxError:
        return False
    return True


def base_image(client: "APIClient", python: str, named: str | None = None) -> str:
    """Return the base image's id, pulled if absent.

    ``named`` is the image that a suite asks for; the code that reads suites has checked the name. None: the default for
    ``python``.

    Raises:
        NotInstalled: the image's registry does not have it.
        SandboxError: the image cannot be pulled, ``named`` has no digest, or the image has ONBUILD or VOLUME.
    """
    name = named or base_image_name(python)
    remedy = f"Log in to its registry: `docker pull {name}` must work."
    if named is None:
        remedy = f"Supply one with python3 {python} in it: `docker pull {name}`, or name another in {IMAGE_VARIABLE}."
    elif _PINNED.fullmatch(named) is None:
        raise SandboxError(
            f"the suite names the image {named[:200]!r}, which is no name by content.",
            "Name it as repository@sha256:….",
        )
    found = _pulled(client, name, remedy)
    configuration: dict[str, Any] = found.get("Config") or {}
    for key, what in (("OnBuild", "runs commands where it is built on (ONBUILD)"),
                      ("Volumes", "declares volumes, which no limit holds for (VOLUME)")):  # fmt: skip
        if configuration.get(key):
            raise SandboxError(f"the base image {name} {what}.", "Use an image without that instruction.")
    return str(found["Id"])


def pin_image(client: "APIClient", name: str) -> str:
    """Return an image's name by digest; pull it if absent.

    Returns:
        ``repository@sha256:…`` as its registry has it. An image of no registry gives its id, which only this daemon
            knows.

    Raises:
        NotInstalled: the image's registry does not have it.
        SandboxError: the image is not here, and its registry cannot be reached.
    """
    if "@sha256:" in name or name.startswith("sha256:"):
        return name
    found = _pulled(client, name, f"Check the name, or log in to its registry: `docker pull {name}` must work.")
    repository = name if ":" not in name.rpartition("/")[2] else name.rpartition(":")[0]
    digests = [str(entry) for entry in found.get("RepoDigests") or ()]
    own = [entry for entry in digests if entry.partition("@")[0].endswith(repository)]
    return next(iter([*own, *digests]), str(found["Id"]))


def image_tag(key: str) -> str:
    """Return the tag of codegate's image for the SHA-256 ``key``."""
    return f"{_REPOSITORY}:{key[:24]}"


def made_image(client: "APIClient", key: str) -> str | None:
    """Return the id of codegate's image for ``key``, or None."""
    found = find_image(client, image_tag(key))
    if found is None or (found["Config"].get("Labels") or {}).get(ENVIRONMENT_LABEL) != key:
        return None
    return str(found["Id"])


def image_variables(client: "APIClient", image: str) -> dict[str, str]:
    """Return the variables that an image sets."""
    entries = (inspect_image(client, image).get("Config") or {}).get("Env") or ()
    return dict(str(entry).split("=", 1) for entry in entries)


def find_image(client: "APIClient", name: str) -> dict[str, Any] | None:
    """Return the daemon's record of an image, or None."""
    from docker.errors import ImageNotFound  # noqa: PLC0415 - docker takes 0.2 s to import

    try:
        return inspect_image(client, name)
    except ImageNotFound:
        return None


def _pulled(client: "APIClient", name: str, remedy: str) -> dict[str, Any]:
    """Return the daemon's record of an image, pulled if absent.

    Raises:
        NotInstalled: the image's registry does not have it. The error has ``remedy``.
        Unreachable: the image cannot be pulled. The error has ``remedy``.
    """
    from docker.errors import APIError, NotFound  # noqa: PLC0415 - docker takes 0.2 s to import

    if (found := find_image(client, name)) is not None:
        return found
    try:
        client.pull(name)
        return inspect_image(client, name)
    except APIError as error:
        reason = str(error.explanation or error)[:300]
        message = f"the base image {name} is not on this Docker daemon and cannot be pulled: {reason}."
        kind = NotInstalled if isinstance(error, NotFound) else Unreachable  # 404 is the registry's answer
        raise kind(message, remedy) from error


def inspect_image(client: "APIClient", name: str) -> dict[str, Any]:
    """Return the daemon's record of an image.

    Raises:
        docker.errors.ImageNotFound: the daemon does not have it.
    """
    return dict(client.inspect_image(name))  # type: ignore[no-untyped-call]  # untyped in types-docker
