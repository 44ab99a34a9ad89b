"""The inputs of a build: recipe, files and toolchains."""

import json
import os
import re
import shlex
import threading
import tomllib
from dataclasses import dataclass, replace
from sysconfig import get_python_version
from typing import Any, Final
from weakref import WeakKeyDictionary

from packaging.utils import canonicalize_name

from codegate.durable import digest, sha256
from codegate.environments.recipe import Recipe
from codegate.environments.services import servers_of
from codegate.sandbox import (
    Backend,
    BuildSandbox,
    Command,
    EnvironmentRecipe,
    Layer,
    NotInstalled,
    SandboxLimits,
    Toolchain,
)
from codegate.sandbox.toolchains import version_fits
from codegate.suite import Tree

LAYOUT: Final = 2
"""Version of builds, part of every key. It is raised when the same inputs would give another build."""
LIMITS: Final = SandboxLimits(
    lifetime_seconds=3600,
    memory_bytes=6 << 30,
    cpus=min(4, os.cpu_count() or 1),
    pids=4096,
    disk_bytes=12 << 30,
    open_files=16384,
)
"""Limits of the sandbox of a build."""
INSTALLABLE: Final = frozenset({"node", "go", "bun", "pnpm", "yarn"})
"""Toolchains that come from a package index where the machine lacks them."""
_ABSENT: Final = "absent:"
_PROBE_SECONDS: Final = 120.0

_REQUIREMENTS: Final = re.compile(
    r"(?:.*/)?(?:requirements/[^/]*|[\w.-]*(?:requirements|constraints)[\w.-]*)\.(?:txt|in)"
)
"""Paths of pip's requirement and constraint files."""
_ENTRY: Final = re.compile(r"^[ \t]*([A-Za-z0-9][\w.-]*)[^\n\\]*(?:\\\r?\n[^\n\\]*)*", re.MULTILINE)
_WHOLE: Final = re.compile(
    r"(?:uv|poetry|pdm|Cargo|composer|Pipfile|Gemfile|bun)\.lock|bun\.lockb|Pipfile|Gemfile|pylock[\w.-]*\.toml"
    r"|setup\.(?:py|cfg)|environment\.ya?ml"
    r"|package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-(?:lock|workspace)\.yaml|\.npmrc|\.yarnrc(?:\.yml)?"
    r"|go\.(?:mod|sum|work)|go\.work\.sum|Cargo\.toml|rust-toolchain(?:\.toml)?"
    r"|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|gradle\.properties|gradle-wrapper\.properties|libs\.versions\.toml"
    r"|composer\.json|[\w.-]+\.csproj|\.(?:python|node|ruby|java|go)-version|\.nvmrc|\.tool-versions|mise\.toml"
)
"""Names of files that count byte for byte, in any folder."""
_KINDS: Final = {
    "python": re.compile(r"pyproject\.toml|setup\.(?:py|cfg)|Pipfile|[\w.-]*requirements[\w.-]*\.txt"),
    "node": re.compile(r"package\.json"),
    "go": re.compile(r"go\.mod"),
    "java": re.compile(r"pom\.xml|build\.gradle(?:\.kts)?"),
    "rust": re.compile(r"Cargo\.toml"),
}
_PROGRAMS: Final = {"python": "python3", "maven": "mvn", "rust": "rustc"}
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
# Keys of a Python project that do not affect installation (``_DESCRIBES``), and the keys of ``package.json`` that do
# (``_INSTALLS``).
_DESCRIBES: Final = frozenset({
    "version", "description", "readme", "authors", "maintainers", "keywords", "classifiers", "urls", "license",
    "license-files", "homepage", "repository", "documentation",
})  # fmt: skip
_MANAGERS: Final = frozenset({"uv", "poetry", "pdm", "hatch"})
_INSTALLS: Final = frozenset({
    "name", "bin", "dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "overrides",
    "resolutions", "workspaces", "packageManager", "engines", "pnpm", "patchedDependencies",
})  # fmt: skip
_INSTALL_SCRIPTS: Final = ("preinstall", "install", "postinstall", "prepare")


@dataclass(frozen=True)
class BuildBase:
    """The sandbox and toolchains that a build begins with.

    Attributes:
        environment: the sandbox's image, toolchains and system packages.
        path: ``PATH`` in the sandbox.
        programs: which of ``bash`` and ``git`` the sandbox has.
        versions: versions of the sandbox's toolchains, by name.
        lacking: toolchains of the recipe that the build has to download.
    """

    environment: EnvironmentRecipe
    path: str
    programs: frozenset[str]
    versions: dict[str, str]
    lacking: tuple[Toolchain, ...]

    def open(self, backend: Backend, layer: Layer | None = None) -> BuildSandbox:
        """Start a build sandbox, on top of ``layer`` if given."""
        return backend.open_build(replace(self.environment, layer=layer), LIMITS)


_bases: "WeakKeyDictionary[Backend, dict[str, BuildBase]]" = WeakKeyDictionary()
_looking: Final = threading.Lock()


def inputs_of(recipe: Recipe, tree: Tree, backend: Backend) -> str:
    """Return the SHA-256 of all inputs of a build.

    Builds of equal inputs are interchangeable.

    Raises:
        NotInstalled: the machine or the image lacks a toolchain or package of the recipe.
        SandboxError: the sandbox that looks for toolchains failed.
    """
    base = base_of(recipe, tree, backend)
    return digest([LAYOUT, recipe.identity, manifests(recipe, tree), base.environment.image, base.versions])


def base_of(recipe: Recipe, tree: Tree, backend: Backend) -> BuildBase:
    """Return the sandbox and toolchains that a build begins with.

    A sandbox is started to look for them, once for each backend and set of tools.

    Raises:
        NotInstalled: the machine or the image lacks a toolchain or package of the recipe.
        SandboxError: the sandbox that looks for toolchains failed.
    """
    kinds = needed_toolchains(recipe, tree)
    servers = [server.package for server in servers_of(recipe)]
    key = digest([recipe.image, recipe.tools, recipe.packages, servers, sorted(kinds)])
    with _looking:
        known = _bases.setdefault(backend, {})
        if key not in known:
            known[key] = _look(recipe, kinds, backend)
        return known[key]


def needed_toolchains(recipe: Recipe, tree: Tree) -> frozenset[str]:
    """Return the names of toolchains that a recipe needs.

    These are the recipe's ``tools``, or, without any, the toolchains of the tree's manifests. Python is added if the
    tree has Python's manifests, because such a tree gets a virtual environment.
    """
    names = {path.rpartition("/")[2] for path in tree if path.startswith(f"{recipe.folder}/" if recipe.folder else "")}
    implied = {kind for kind, pattern in _KINDS.items() if any(map(pattern.fullmatch, names))}
    return frozenset(recipe.tools.keys() | (implied & {"python"}) if recipe.tools else implied)


def manifests(recipe: Recipe, tree: Tree) -> dict[str, str]:
    """Return, by path, digests of the files that set-up reads.

    They are manifests, lock files and files that set-up commands name.
    """
    named = {word.removeprefix("./") for line in recipe.setup for word in _words(line)}
    if any(re.search(r"\bmake\b", line) for line in recipe.setup):
        named |= {"Makefile", "makefile", "GNUmakefile"}
    found = {}
    for path, file in tree.items():
        name = path.rpartition("/")[2]
        inner = path[len(recipe.folder) + 1 :] if recipe.folder and path.startswith(f"{recipe.folder}/") else path
        if name == "pyproject.toml":
            found[path] = digest(_dependencies_of_python(file.data))
        elif name == "package.json":
            found[path] = digest(_dependencies_of_node(file.data))
        elif _WHOLE.fullmatch(name) or _REQUIREMENTS.fullmatch(path) or inner in named:
            found[path] = sha256(file.data)
    return found


def without_package(tree: Tree, package: str) -> Tree | None:
    """Return the tree without requirements on ``package``, None if unchanged."""
    name = canonicalize_name(package)
    changed = {}
    for path, file in tree.items():
        if _REQUIREMENTS.fullmatch(path) and not file.is_link:
            text = file.data.decode("utf-8", "surrogateescape")
            rest = _ENTRY.sub(lambda entry: "" if canonicalize_name(entry[1]) == name else entry[0], text)
            if rest != text:
                changed[path] = replace(file, data=rest.encode("utf-8", "surrogateescape"))
    return tree.overlay(changed) if changed else None


def _look(recipe: Recipe, kinds: frozenset[str], backend: Backend) -> BuildBase:
    pin = getattr(backend, "pin_image", None)  # a backend without images uses this machine's programs
    image = pin(recipe.image) if pin and recipe.image else backend.base_image(recipe.python)
    asked = [Toolchain(name, version) for name, version in recipe.tools.items()]
    try:
        return _probed(recipe, kinds, backend, image, asked)
    except NotInstalled:
        have = [one for one in asked if one.name not in INSTALLABLE]
        if have == asked:
            raise
        return _probed(recipe, kinds, backend, image, have)  # a package index brings the other toolchains


def _probed(
    recipe: Recipe,
    kinds: frozenset[str],
    backend: Backend,
    image: str | None,
    asked: list[Toolchain],
    servers: tuple[str, ...] = (),
) -> BuildBase:
    """Start a sandbox; return its toolchains as a ``BuildBase``.

    ``kinds`` are the toolchains to look for. The sandbox gets the toolchains ``asked``. If its image lacks programs of
    the recipe's servers, another try adds their Debian packages ``servers``.
    """
    system = (*recipe.packages, *servers)
    environment = EnvironmentRecipe(get_python_version(), image=image, toolchains=tuple(asked), system=system)
    sandbox = backend.open_build(environment, LIMITS)
    try:
        programs = {kind: _PROGRAMS.get(kind, kind) for kind in sorted(kinds)}
        options = {"go": "version", "java": "-version"}
        questions = "".join(
            f"echo '={kind}'; {program} {options.get(kind, '--version')} </dev/null 2>&1 | head -3\n"
            for kind, program in programs.items()
        )
        script = 'echo "$PATH"; for program in bash git; do command -v $program; done\n'
        for server in servers_of(recipe):
            script += f"( {server.present} ) || echo {_ABSENT}{shlex.quote(server.package)}\n"
        script += f"cd /; export GOTOOLCHAIN=local\n{questions}"
        done = sandbox.run(Command(("/bin/sh", "-c", script), timeout_seconds=_PROBE_SECONDS))
    finally:
        sandbox.close()
    first, *answers = re.split(r"^=", done.stdout.decode("utf-8", "replace"), flags=re.MULTILINE)
    path, *there = first.split()
    absent = tuple(word.removeprefix(_ABSENT) for word in there if word.startswith(_ABSENT))
    if absent and image is not None and not servers:  # packages can be added to an image, not to this machine
        return _probed(recipe, kinds, backend, image, asked, absent)
    for server in servers_of(recipe):
        if server.package in absent:
            raise server.absent()
    versions = {}
    for kind, _, text in (answer.partition("\n") for answer in answers):
        words = _COLOUR.sub("", text)
        version = _VERSION.search(words) or re.search(r"\d+", words)
        if version is not None and "not found" not in words:
            java = version[0].removeprefix("1.").replace("_", ".")  # Java 8 calls itself 1.8.0_392
            versions[kind] = java if kind == "java" else version[0]
    lacking = [
        Toolchain(name, version)
        for name, version in recipe.tools.items()
        if not (name in versions and version_fits(versions[name], version))
    ]
    if missing := [f"{one.name} {one.version}" for one in lacking if one.name not in INSTALLABLE]:
        raise NotInstalled(
            f"environment.tools: {', '.join(missing)} not to be had in the sandbox {backend.name}.",
            "Name Debian's `packages` or an `image` that has it (Docker), install it on this machine (bubblewrap), or "
            "change `tools`.",
        )
    return BuildBase(
        environment, path, frozenset(place.rpartition("/")[2] for place in there), versions, tuple(lacking)
    )


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return line.split()


def _dependencies_of_python(data: bytes) -> Any:
    """Return the parts of ``pyproject.toml`` that affect installation.

    For a malformed file, return its SHA-256.
    """
    try:
        document = tomllib.loads(data.decode())
    except (ValueError, RecursionError):
        return sha256(data)
    system = document.get("build-system", {})
    backend = json.dumps(system, default=str).replace("-", "_")
    tools = {
        name: _without_description(table)
        for name, table in document.get("tool", {}).items()
        if name in _MANAGERS or name.replace("-", "_") in backend
    }
    kept = [system, _without_description(document.get("project", {})), document.get("dependency-groups"), tools]
    return json.loads(json.dumps(kept, default=str))  # TOML has dates


def _without_description(table: Any) -> Any:
    return {k: v for k, v in table.items() if k not in _DESCRIBES} if isinstance(table, dict) else table


def _dependencies_of_node(data: bytes) -> Any:
    try:
        document = json.loads(data)
        scripts = document.get("scripts") or {}
        kept = {name: value for name, value in document.items() if name in _INSTALLS}
        return [kept, {name: scripts[name] for name in _INSTALL_SCRIPTS if name in scripts}]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return sha256(data)
