"""Environment variables of set-up and tests: folders and package indexes."""

import os
import re
import ssl
from collections.abc import Collection, Mapping
from datetime import date, timedelta
from pathlib import Path, PurePosixPath
from typing import Final

from codegate.environments.locks import NODE
from codegate.environments.recipe import Recipe
from codegate.environments.services import service_variables

ROOT: Final = "/opt/env"
HOME: Final = f"{ROOT}/home"
VENV: Final = f"{ROOT}/venv"
PACKAGE: Final = f"{ROOT}/package"
"""Folder in which an agent from npm or the package of an MCP server is installed."""
BIN: Final = f"{ROOT}/bin"
CACHE: Final = f"{ROOT}/cache"
"""The folder that a recorded build leaves out: downloads, and files that only the build needs."""
AUTHORITIES: Final = f"{CACHE}/authorities.pem"
JAVA_AUTHORITIES: Final = f"{CACHE}/authorities.jks"
CONSTRAINTS: Final = f"{CACHE}/constraints.txt"
"""File with the versions of an earlier build, if this build has to install the same."""
UV_CONFIGURATION: Final = f"{CACHE}/uv.toml"
"""File with the packages for which another day than the tree's counts."""
PROXY_PORT: Final = 4181
"""Port on the sandbox's loopback that leads to the build's proxy."""

_NO_VERSION: Final = "0.1.dev0"
_FOLDERS: Final = (f"{VENV}/bin", BIN, f"{HOME}/.local/bin", f"{HOME}/go/bin", f"{HOME}/.cargo/bin")
_COMMON: Final = {
    "HOME": HOME,
    "CI": "true",
    "GITHUB_ACTIONS": "true",
    "UV_LINK_MODE": "copy",
    "UV_PYTHON_DOWNLOADS": "never",
    "UV_CACHE_DIR": f"{CACHE}/uv",
    "PIP_CACHE_DIR": f"{CACHE}/pip",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "npm_config_cache": f"{CACHE}/npm",
    "npm_config_audit": "false",
    "npm_config_fund": "false",
    "npm_config_update_notifier": "false",
    "npm_config_store_dir": f"{CACHE}/pnpm",
    "pnpm_config_store_dir": f"{CACHE}/pnpm",
    "npm_config_manage_package_manager_versions": "false",  # otherwise pnpm downloads another version of itself
    "pnpm_config_manage_package_manager_versions": "false",
    "BUN_INSTALL_CACHE_DIR": f"{CACHE}/bun",
    "YARN_GLOBAL_FOLDER": f"{HOME}/.yarn/berry",
    "YARN_ENABLE_TELEMETRY": "0",
    "COREPACK_ENABLE_DOWNLOAD_PROMPT": "0",
    "GOPATH": f"{HOME}/go",
    "GOMODCACHE": f"{HOME}/go/pkg/mod",
    "GOCACHE": f"{HOME}/.cache/go-build",
    "GOFLAGS": "-modcacherw",
    "GOTOOLCHAIN": "auto",  # lets Go download the version in go.mod, which some machines and images forbid
    "CARGO_HOME": f"{HOME}/.cargo",
    "GRADLE_USER_HOME": f"{HOME}/.gradle",
}
_MAVEN_HOME: Final = f"-Duser.home={HOME}"
"""Option for the home folder, which Java takes from the system's list of users, not from ``HOME``."""
# Variables for npm packages that would download hundreds of megabytes from outside of the indexes.
_NO_BROWSERS: Final = {
    "PUPPETEER_SKIP_DOWNLOAD": "1",
    "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1",
    "CYPRESS_INSTALL_BINARY": "0",
    "ELECTRON_SKIP_BINARY_DOWNLOAD": "1",
}
_PYTHON: Final = {"VIRTUAL_ENV": VENV, "UV_PROJECT_ENVIRONMENT": VENV}
_OFFLINE: Final = {
    "UV_OFFLINE": "1",
    "UV_NO_SYNC": "1",
    "PIP_NO_INDEX": "1",
    "npm_config_offline": "true",
    "YARN_ENABLE_NETWORK": "0",
    "GOPROXY": "off",
    "CARGO_NET_OFFLINE": "true",
    "MAVEN_ARGS": "--offline",
}
_AUTHORITIES: Final = (
    "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO", "YARN_HTTPS_CA_FILE_PATH", "npm_config_cafile",
)  # fmt: skip
_PROXY: Final = f"http://127.0.0.1:{PROXY_PORT}"
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")

_INDEXES: Final = re.compile(
    r"PIP_(?:EXTRA_)?INDEX_URL|UV_(?:DEFAULT_INDEX|INDEX|INDEX_URL|EXTRA_INDEX_URL)|(?i:npm_config_registry)"
    r"|YARN_NPM_REGISTRY_SERVER|GOPROXY|GOSUMDB|GONOSUMDB|GOPRIVATE"
)
# Variables of pip with their equivalents in uv: if the caller set one of them, both tools get it.
_SAME: Final = {
    "PIP_INDEX_URL": ("UV_DEFAULT_INDEX", "UV_INDEX_URL"),
    "PIP_EXTRA_INDEX_URL": ("UV_INDEX", "UV_EXTRA_INDEX_URL"),
}
_ADDRESS: Final = re.compile(r"https?://[^\s,|]+")
_CREDENTIALS: Final = re.compile(r"(?<=//)[^/\s,|]+@")
_NAMED: Final = re.compile(r"(?:^|(?<=\s))[\w.-]+=(?=https?://)")  # uv's names of indexes, which pip does not know


def index_secrets() -> tuple[str, ...]:
    """Return names of the caller's index variables that contain credentials."""
    return tuple(
        sorted(name for name, value in os.environ.items() if _INDEXES.fullmatch(name) and _CREDENTIALS.search(value))
    )


def index_variables(secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's environment variables that name package indexes.

    A variable of pip is also set for uv, and the reverse, if only one of the two is set. Users and passwords are
    removed from the values of variables that are not in ``secrets``.
    """
    found = {}
    for name, value in os.environ.items():
        if value and _INDEXES.fullmatch(name):
            found[name] = value if name in secrets else _CREDENTIALS.sub("", value)
    for pips, uvs in _SAME.items():
        given = next((name for name in uvs if name in found), None)
        if given is not None:
            found.setdefault(pips, _NAMED.sub("", found[given]))
        elif pips in found:
            found[uvs[0]] = found[pips]
    return found


def index_addresses(variables: Mapping[str, str]) -> list[str]:
    """Return all addresses in the values of index variables."""
    values = (value for name, value in variables.items() if _INDEXES.fullmatch(name))
    return [address for value in values for address in _ADDRESS.findall(value)]


def path_variable(inherited: str) -> str:
    """Return ``PATH`` with the build's programs before ``inherited`` ones."""
    return ":".join(dict.fromkeys((*_FOLDERS, *filter(None, inherited.split(":")))))


def set_up_variables(
    recipe: Recipe, path: str, names: Collection[str], day: date, indexes: Mapping[str, str], python: str | None
) -> dict[str, str]:
    """Return the environment of set-up commands, without secrets.

    ``path`` is ``PATH``, and ``indexes`` are variables that name package indexes. If no lock file is among the tree's
    ``names``, installers leave out releases after ``day``. ``python`` is the version of the virtual environment's
    interpreter; None: there is no virtual environment. The recipe's ``env`` overrides all others.
    """
    own = {address.partition("//")[2].rpartition("@")[2] for address in index_addresses(indexes)}
    direct = [place for place in _LOOPBACK if not any(host.strip("[").startswith(place) for host in own)]
    variables = {
        **_COMMON,
        **(_PYTHON if python is not None else {}),
        "PATH": path,
        **dict.fromkeys(_AUTHORITIES, AUTHORITIES),
        **_NO_BROWSERS,
        "NODE_USE_ENV_PROXY": "1",
        "COREPACK_NPM_REGISTRY": "https://registry.npmjs.org",
        "JAVA_TOOL_OPTIONS": " ".join(_java_options()),
        "YARN_HTTP_PROXY": _PROXY,
        "YARN_HTTPS_PROXY": _PROXY,
        **_dates(names, recipe.folder, day, python or ""),
        **indexes,
    }
    for name, value in {"HTTP_PROXY": _PROXY, "HTTPS_PROXY": _PROXY, "NO_PROXY": ",".join(direct)}.items():
        variables |= {name: value, name.lower(): value}
    return _with_own(variables, recipe)


def test_variables(recipe: Recipe, path: str, *, python: bool) -> dict[str, str]:
    """Return the environment of tests, which has no package index.

    ``path`` is ``PATH``; ``python``: there is a virtual environment.
    """
    return _with_own({**_COMMON, **(_PYTHON if python else {}), "PATH": path, **_OFFLINE}, recipe)


def version_variables(pyproject: bytes) -> dict[str, str]:
    """Return variables that set the project's version without git.

    Empty unless ``pyproject`` takes the version from git's tags.
    """
    text = pyproject.decode("utf-8", "replace")
    if "hatch-vcs" in text:  # hatch-vcs reads only the variable for all projects
        return {"SETUPTOOLS_SCM_PRETEND_VERSION": _NO_VERSION}
    name = re.search(r"^\s*name\s*=\s*[\"']([\w.-]+)", text, re.MULTILINE)
    if name is None or not re.search(r"setuptools[-_]scm", text):
        return {}
    return {f"SETUPTOOLS_SCM_PRETEND_VERSION_FOR_{re.sub('[-_.]+', '_', name[1]).upper()}": _NO_VERSION}


def authorities() -> bytes:
    """Return this machine's trusted certificates, as PEM."""
    from requests.utils import DEFAULT_CA_BUNDLE_PATH  # noqa: PLC0415 - slow to import, and only builds need it

    paths = (os.environ.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile, DEFAULT_CA_BUNDLE_PATH)
    return next(Path(path).read_bytes() for path in paths if path and Path(path).is_file())


def java_authorities() -> bytes | None:
    """Return this machine's Java key store of certificates, or None."""
    try:
        return Path("/etc/ssl/certs/java/cacerts").read_bytes()
    except OSError:
        return None


def maven_settings() -> bytes:
    """Return a Maven ``settings.xml`` with the build's proxy."""
    proxies = "".join(
        f"<proxy><id>{scheme}</id><active>true</active><protocol>{scheme}</protocol><host>127.0.0.1</host>"
        f"<port>{PROXY_PORT}</port></proxy>"
        for scheme in ("http", "https")
    )
    return f"<settings><proxies>{proxies}</proxies></settings>\n".encode()


def _with_own(variables: Mapping[str, str], recipe: Recipe) -> dict[str, str]:
    """Return ``variables``, overridden by those of servers and recipe."""
    # Maven always keeps its downloads in ``HOME``.
    options = f"{_MAVEN_HOME} {recipe.env.get('MAVEN_OPTS', '')}".rstrip()
    return {**variables, **service_variables(recipe), **recipe.env, "MAVEN_OPTS": options}


def _java_options() -> list[str]:
    options = [
        f"-D{scheme}.{name}={value}"
        for scheme in ("http", "https")
        for name, value in (("proxyHost", "127.0.0.1"), ("proxyPort", str(PROXY_PORT)))
    ]
    return [*options, *([f"-Djavax.net.ssl.trustStore={JAVA_AUTHORITIES}"] if java_authorities() else [])]


def _dates(names: Collection[str], folder: str, day: date, python: str) -> dict[str, str]:
    """Return variables that exclude packages released after ``day``.

    ``names`` are the paths of the tree, and ``python`` is the interpreter's version.
    """
    # A lock file excludes them already. A tree that is older than its interpreter gets packages of the interpreter's
    # first year, because older ones were never tried on it.
    minor = re.match(r"3\.(\d+)", python)
    released = date(2011 + int(minor[1]), 10, 1) if minor is not None else day  # 3.8 came in October 2019
    ready = day if day >= released else released.replace(year=released.year + 1)
    dates = {"PIP_UPLOADED_PRIOR_TO": _end_of(ready)}
    above = PurePosixPath(folder, "uv.lock")
    uv_lock = any(str(place / "uv.lock") in names for place in above.parents)
    # With a date, uv rewrites the lock.
    dates |= {"UV_FROZEN": "1"} if uv_lock else {"UV_EXCLUDE_NEWER": dates["PIP_UPLOADED_PRIOR_TO"]}
    if not NODE.keys() & {name.rpartition("/")[2] for name in names}:
        dates["npm_config_before"] = _end_of(day)
    return dates


def _end_of(day: date) -> str:
    return f"{(day + timedelta(days=1)).isoformat()}T00:00:00Z"
