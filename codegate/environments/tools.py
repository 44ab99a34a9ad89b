"""Find toolchains that set-up actions and version files name."""

import contextlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from codegate.environments.inputs import INSTALLABLE
from codegate.sandbox import Backend, NotInstalled, Toolchain
from codegate.sandbox.toolchains import check_system, find_toolchain
from codegate.suite import Tree
from codegate.suite.declared import read_toml, read_tree_json, read_tree_text, value_at

Has = Callable[[str, str], bool]
"""Function that returns whether a toolchain of a name and version is available."""

PACKAGE: Final = "package"

#: Actions that install a toolchain, with the toolchain's name in recipes.
_BRINGS: Final = {
    "actions/setup-python": "python", "actions/setup-node": "node", "actions/setup-go": "go",
    "actions/setup-java": "java", "actions/setup-dotnet": "dotnet", "ruby/setup-ruby": "ruby",
    "shivammathur/setup-php": "php", "oven-sh/setup-bun": "bun", "denoland/setup-deno": "deno",
    "pnpm/action-setup": "pnpm", "dtolnay/rust-toolchain": "rust", "actions-rs/toolchain": "rust",
    "actions-rust-lang/setup-rust-toolchain": "rust", "astral-sh/setup-uv": "python",
}  # fmt: skip
#: Actions that can be replaced by a command.
_RUNS: Final = {
    "snok/install-poetry": "pip install poetry", "abatilo/actions-poetry": "pip install poetry",
    "pdm-project/setup-pdm": "pip install pdm", "pypa/hatch": "pip install hatch", "bahmutov/npm-install": "npm ci",
}  # fmt: skip
_NEEDLESS: Final = re.compile(
    r"actions/(?:checkout|cache|upload-|download-|github-script)|codecov/|coverallsapp/|swatinem/rust-cache"
    r"|step-security/|gradle/|stcarolas/setup-maven",
    re.IGNORECASE,
)
_PARTS: Final = {"python": 2, "go": 2, "ruby": 2, "php": 2, "node": 1, "java": 1}
"""How many parts of a version are kept; later parts are corrections, any of which will do."""
_OLDEST: Final = {"python": 8}
"""Oldest minor version that the test drivers run on."""
_NEWEST: Final = 30
_OLDEST_IN_INDEX: Final = {"node": 20, "go": 21}
"""Oldest major version of Node and minor version of Go in package indexes, which also lack odd versions of Node."""
_FIRST: Final = {"python": "3.", "go": "1."}
"""Text with which all versions of a tool begin."""
_LONG_TERM: Final = "24"
"""Node's version for ``lts/*`` and other nicknames; for other tools, a nickname becomes ``stable``."""
_NAMES: Final = {"nodejs": "node", "golang": "go"}
_ONE_WORD: Final = {
    ".python-version": "python", ".nvmrc": "node", ".node-version": "node", ".go-version": "go",
    ".java-version": "java", ".ruby-version": "ruby", ".bun-version": "bun", "rust-toolchain": "rust",
}  # fmt: skip
_DESCRIBED: Final = ("pyproject.toml", "setup.cfg", "setup.py")
_CLASSIFIER: Final = re.compile(r"Programming Language :: Python :: 3\.(\d+)")
_FILES: Final = (*_ONE_WORD, ".tool-versions", "rust-toolchain.toml", "package.json", "go.mod")


def toolchain_check(backend: Backend) -> Has | None:
    """Return the function that checks which toolchains a backend has.

    Return None for a backend with images, because an image can bring any toolchain.
    """
    return None if hasattr(backend, "pin_image") else is_obtainable


@cache
def is_obtainable(name: str, version: str) -> bool:
    """Return whether a toolchain is or can be installed here.

    It is for backends without images: the toolchain must be on this machine, or package indexes must have it (no
    request is made). With the name ``PACKAGE``, ``version`` is the name of a system package, which must be installed.
    """
    if name == PACKAGE:
        with contextlib.suppress(NotInstalled):
            check_system((version,))
            return True
        return False
    installable = name in INSTALLABLE and in_index(name, version)
    return installable or find_toolchain(Toolchain(name, version)) is not None


def in_index(name: str, version: str) -> bool:
    """Return whether an index or image may have a toolchain."""
    found = re.match(r"\d+", version.removeprefix(_FIRST.get(name, "")))
    number = int(found[0]) if found is not None else _NEWEST
    return number >= _OLDEST_IN_INDEX.get(name, 0) and not (name == "node" and number % 2)


def read_action(tree: Tree, uses: str, given: Mapping[str, str]) -> tuple[dict[str, str], str] | None:
    """Return a CI action's toolchains and command, None if unknown.

    ``uses`` names the action, and ``given`` has its inputs. The toolchains are versions by name. The command is ""
    for an action that only brings toolchains. An action that set-up does not need has neither toolchains nor a command.
    """
    name, _, reference = uses.partition("@")
    name = name.casefold()
    if _NEEDLESS.match(name):
        return {}, ""
    if name in _RUNS:
        python = clean_version("python", given.get("python-version", ""))
        return ({"python": python} if python else {}), _RUNS[name]
    tool = _BRINGS.get(name)
    if tool is None:
        return None
    version = given.get(f"{tool}-version") or given.get("toolchain") or ""
    if not version and tool != "python":
        version = given.get("version", "")
    found = (
        clean_version(tool, version)
        or version_in_file(tree, given.get(f"{tool}-version-file", "").removeprefix("./"), tool)
        or declared_version(tree, "", tool)[0]
    )
    if not found and tool == "rust" and not reference.startswith("v"):  # `@1.85.0` is Rust's, `@v1` the action's own
        found = clean_version(tool, reference)
    return ({tool: found} if found else {}), ""


def clean_version(tool: str, version: str) -> str:
    """Return a version as recipes write it, "" if unusable.

    A nickname such as ``lts`` gives the long-term release for Node, "" for Python, and ``stable`` for other tools.
    """
    lines = version.split("\n")
    text = next((line.strip() for line in reversed(lines) if line.strip()), "").lower()
    text = re.sub(r"\b\d{4}-\d\d-\d\d\b", "", text)  # the day of a nightly build
    found = re.search(r"\d{1,9}(?:\.\d{1,9})*", text)
    if found is None:
        nickname = text and "${{" not in text and tool != "python"
        return (_LONG_TERM if tool == "node" else "stable") if nickname else ""
    parts = found[0].split(".")
    parts = parts[1:] if tool == "java" and parts[0] == "1" else parts
    if tool == "python" and len(parts) < 2:
        return ""
    if tool == "go" and len(parts) < 2:
        return "stable"
    if tool == "node" and ">" in text and "<" not in text:
        parts[0] = max(parts[0], _LONG_TERM, key=int)
    return ".".join(parts[: _PARTS.get(tool, 3)])


def version_in_file(tree: Tree, path: str, tool: str) -> str:
    """Return the version of ``tool`` in a file, or ""."""
    name = path.rpartition("/")[2]
    text = read_tree_text(tree, path)
    if name == ".tool-versions":
        pairs = (line.split()[:2] for line in text.splitlines() if len(line.split()) > 1)
        return next((clean_version(tool, pair[1]) for pair in pairs if _NAMES.get(pair[0], pair[0]) == tool), "")
    if name == "rust-toolchain.toml" or (name == "rust-toolchain" and "[" in text):
        found = value_at(read_toml(tree, path), "toolchain", "channel") if tool == "rust" else None
        return clean_version("rust", str(found or ""))
    if name == "package.json":
        return _in_package(read_tree_json(tree, path), tool)
    if name == "go.mod" and tool == "go":
        match = re.search(r"^go (\S+)", text, re.MULTILINE)
        return clean_version("go", match[1]) if match else ""
    return clean_version(tool, text) if _ONE_WORD.get(name) == tool else ""


def _in_package(data: Mapping[str, Any], tool: str) -> str:
    manager, _, version = str(data.get("packageManager") or "").partition("@")
    if manager == tool:
        return clean_version(tool, version.partition("+")[0])
    # Volta installs a version; `engines` only bounds it.
    named = (value_at(data, table, tool) for table in ("volta", "engines"))
    return next((clean_version(tool, version) for version in named if isinstance(version, str)), "")


def nearest_version(tool: str, version: str, has: Has) -> str:
    """Return the available version nearest to ``version``.

    ``has`` checks whether a version is available. Of two equally near ones, the newer is returned. If none is
    available, ``version`` is returned.
    """
    first = _FIRST.get(tool, "")
    wanted = re.match(r"\d+", version.removeprefix(first))
    if wanted is None or has(tool, version):
        return version
    numbers = range(_OLDEST.get(tool, 1), _NEWEST)
    near = sorted(numbers, key=lambda number: (abs(number - int(wanted[0])), -number))
    return next((f"{first}{number}" for number in near if has(tool, f"{first}{number}")), version)


def declared_version(tree: Tree, folder: str, tool: str, has: Has | None = None) -> tuple[str, str]:
    """Return the required version of ``tool``, and the requiring file.

    The file nearest to ``folder`` counts. A range of Python versions counts only with ``has``, which checks whether a
    version is available. If no file requires a version, both values are "". For Node without ``has``, its long-term
    release is returned instead.
    """
    for place in dict.fromkeys((f"{folder}/" if folder else "", "")):
        for name in _FILES:
            if place + name in tree and (version := version_in_file(tree, place + name, tool)):
                return version, f"`{place}{name}`"
        for name in _DESCRIBED if tool == "python" else ():
            versions = _supported(tree, place + name) if has is not None else []
            if has is not None and versions:
                there = next((one for one in versions if has("python", one)), versions[0])
                return nearest_version("python", there, has), f"`{place}{name}`"
    return (_LONG_TERM, "the long-term release") if tool == "node" and has is None else ("", "")


def _supported(tree: Tree, path: str) -> list[str]:
    named = {int(minor) for minor in _CLASSIFIER.findall(read_tree_text(tree, path))}
    wanted = value_at(read_toml(tree, path), "project", "requires-python") if path.endswith(".toml") else None
    if not named and isinstance(wanted, str):
        try:
            bounds = SpecifierSet(wanted)
        except InvalidSpecifier:
            return []
        named = {minor for minor in range(_NEWEST) if f"3.{minor}.99" in bounds}
    return [f"3.{minor}" for minor in sorted(named, reverse=True)]
