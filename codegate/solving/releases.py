"""The newest release of an agent, by the registry that it is installed from."""

import re
from typing import Final
from urllib.parse import quote

import requests
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from codegate.candidates.agents import Agent
from codegate.errors import InfrastructureError, UsageError
from codegate.sandbox.interpreter import index_environment
from codegate.strict import parse_json

_NPM: Final = "https://registry.npmjs.org"
_PYPI: Final = "https://pypi.org/simple"
_TIMEOUTS: Final = (10.0, 30.0)  # to connect, and between two bytes
_MAX_BYTES: Final = 64 << 20
_SIMPLE: Final = "application/vnd.pypi.simple.v1+json"


def newer_release(agent: Agent, version: str) -> str | None:
    """Return the registry's newest release, None if not newer.

    npm's is the one that the registry calls latest, PyPI's the newest with a wheel that is neither yanked nor a
    pre-release. The registries are those that agents are installed from, by the same variables.

    Raises:
        InfrastructureError: the registry does not answer, or not as a registry.
    """
    found = _npm(agent.package) if agent.registry == "npm" else _pypi(agent.package)
    try:
        return found if Version(found) > Version(version) else None
    except InvalidVersion:
        return None


def _npm(package: str) -> str:
    variables = {name.lower(): value for name, value in index_environment().items()}
    base = variables.get("npm_config_registry") or _NPM
    address = f"{base.rstrip('/')}/{quote(package, safe='@')}/latest"
    found = _asked(f"npm about {package}", address, "application/json").get("version")
    if not isinstance(found, str) or not re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,60}", found):
        raise InfrastructureError(f"npm names no version of {package}.")
    return found


def _pypi(package: str) -> str:
    variables = index_environment()
    base = variables.get("UV_DEFAULT_INDEX") or variables.get("UV_INDEX_URL") or _PYPI
    address = f"{base.rstrip('/')}/{canonicalize_name(package)}/"
    files = _asked(f"PyPI about {package}", address, _SIMPLE).get("files")
    versions: list[Version] = []
    for file in files if isinstance(files, list) else ():
        if isinstance(file, dict) and not file.get("yanked"):
            try:
                versions.append(parse_wheel_filename(str(file.get("filename")))[1])
            except (InvalidWheelFilename, InvalidVersion):
                continue
    if not (released := [one for one in versions if not one.is_prerelease]):
        raise InfrastructureError(f"PyPI names no version of {package}.")
    return str(max(released))


def _asked(what: str, address: str, accepted: str) -> dict[str, object]:
    """Return the JSON object at ``address``; no message has the address, which may hold a password."""
    content = b""
    try:
        with requests.get(address, headers={"Accept": accepted}, timeout=_TIMEOUTS, stream=True) as response:
            if not response.ok:
                raise InfrastructureError(f"no answer of {what}: status {response.status_code}.")
            for piece in response.iter_content(1 << 16):
                content += piece
                if len(content) > _MAX_BYTES:
                    raise InfrastructureError(f"no usable answer of {what}: over {_MAX_BYTES >> 20} MiB.")
        found = parse_json(content.decode("utf-8", "replace"), what)
    except (requests.RequestException, UsageError) as error:
        raise InfrastructureError(
            f"no usable answer of {what}.", "Check the network and the registry's address."
        ) from error
    if not isinstance(found, dict):
        raise InfrastructureError(f"no usable answer of {what}.")
    return found
