"""The versions that a tree's own lock files pin: read, never executed.

A lock covers more than tests need, so its pins are not installed: they bound the resolution of what is declared
(``uv pip compile --constraints``), which takes from the lock what the tests' requirements reach. What is no release
of an index (version control, addresses, paths, the project itself) pins nothing, nor does a name that is locked in
several versions.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from codegate.suite import Tree, TreeFile
from codegate.suite.declared import MAX_LOCK_BYTES, mapping, read_json, read_requirements, read_toml

_TOML_LOCKS: Final = {"uv.lock": "package", "poetry.lock": "package", "pdm.lock": "package", "pylock.toml": "packages"}
_REQUIREMENTS: Final = (
    "requirements.txt", "constraints.txt", "requirements.lock", "requirements-dev.lock", "requirements-dev.txt",
    "requirements-test.txt", "requirements-tests.txt", "test-requirements.txt", "dev-requirements.txt",
    "requirements/base.txt", "requirements/main.txt", "requirements/test.txt", "requirements/tests.txt",
    "requirements/testing.txt", "requirements/dev.txt",
)  # fmt: skip
#: Keys of a locked package that is not a release of an index.
_ELSEWHERE: Final = frozenset({"git", "path", "url", "vcs", "directory", "archive", "hg", "svn", "bzr"})
_MAX_PINS: Final = 5000


def read_pins(tree: Tree, own: str) -> tuple[str, ...]:
    """Return what the best lock file of ``tree`` pins, as sorted ``name==version``.

    Returns:
        The pins of the first of uv.lock, poetry.lock, pdm.lock, pylock.toml, Pipfile.lock and requirements files of
        which every line is pinned; empty without any.
    """
    for path in (*_TOML_LOCKS, "Pipfile.lock"):
        file = tree.get(path)
        if file is not None:
            found = _pins_of(path, file)
            if found:
                return _without(found, own)
    return _without(tuple(_pinned_files(tree)), own)


@lru_cache(maxsize=64)  # most commits leave the lock as it is, and a large one takes a second to parse
def _pins_of(path: str, file: TreeFile) -> tuple[tuple[str, str], ...]:
    tree = Tree({path: file})
    if path == "Pipfile.lock":
        lock = read_json(tree, path, MAX_LOCK_BYTES)
        return tuple(_of_pipenv({**mapping(lock.get("develop")), **mapping(lock.get("default"))}))
    packages = read_toml(tree, path, MAX_LOCK_BYTES).get(_TOML_LOCKS[path])
    entries = packages if isinstance(packages, list) else []
    return tuple(_of_tables(mapping(entry) for entry in entries[:_MAX_PINS]))


def _of_tables(packages: Iterator[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for package in packages:
        source = mapping(package.get("source"))
        # uv names the kind of source by its key, Poetry in `type`; Poetry's "legacy" is a second index.
        elsewhere = source.get("type", "legacy") != "legacy" or not {"registry", "type"}.intersection(source)
        if _ELSEWHERE.intersection(package) or (source and elsewhere):
            continue
        name, version = package.get("name"), package.get("version")
        if isinstance(name, str) and isinstance(version, str):
            yield name, version


def _of_pipenv(packages: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, entry in list(packages.items())[:_MAX_PINS]:
        version = mapping(entry).get("version")
        if isinstance(version, str) and version.startswith("=="):
            yield name, version.removeprefix("==")


def _pinned_files(tree: Tree) -> Iterator[tuple[str, str]]:
    for path in _REQUIREMENTS:
        pins = [_pin(line) for line in read_requirements(tree, [path])]
        if all(pins):
            yield from (pin for pin in pins if pin is not None)


def _pin(line: str) -> tuple[str, str] | None:
    """Return name and version of a line that is pinned, else None."""
    try:
        requirement = Requirement(line)
    except (InvalidRequirement, RecursionError):
        return None
    clauses = list(requirement.specifier)
    exact = len(clauses) == 1 and clauses[0].operator in {"==", "==="} and not clauses[0].version.endswith(".*")
    return (requirement.name, clauses[0].version) if exact and requirement.url is None else None


def _without(pins: tuple[tuple[str, str], ...], own: str) -> tuple[str, ...]:
    """Return plain constraints, each name once: a name in several versions is for several platforms or Pythons."""
    versions: dict[str, set[str]] = {}
    for name, version in pins:
        try:
            versions.setdefault(canonicalize_name(Requirement(name).name), set()).add(str(Version(version)))
        except (InvalidRequirement, InvalidVersion, RecursionError):
            continue
    return tuple(sorted(f"{name}=={min(found)}" for name, found in versions.items() if len(found) == 1 and name != own))
