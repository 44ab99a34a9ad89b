"""Load what packages add: providers, sandboxes, agents and others.

Each of them is registered as an entry point as in https://packaging.python.org/en/latest/specifications/entry-points/
and in ``examples/plugin``. A person who installs a package trusts it: its code runs on the host, outside of any
sandbox.

Rooms that cannot import ``codegate.languages`` load a language's parts here, by name; see
``codegate/languages/contract.py``.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from pkgutil import iter_modules, resolve_name
from typing import Literal

from codegate.errors import UsageError

Group = Literal[
    "codegate.providers", "codegate.sandboxes", "codegate.agents", "codegate.languages", "codegate.reports"
]  # fmt: skip


@cache
def plugin_names(group: Group) -> tuple[str, ...]:
    """Return a group's entry point names, without importing any."""
    return tuple(sorted({entry.name for entry in entry_points(group=group)}))


def load_plugin(group: Group, name: str) -> object:
    """Import the entry point ``name``; return its object.

    Raises:
        UsageError: no package has such an entry point, two have, or it cannot be imported.
    """
    found = list(entry_points(group=group, name=name))
    if not found:
        raise UsageError(f"no installed package adds {name!r} to {group}.", "Install the package that does.")
    if len(found) > 1:
        packages = ", ".join(sorted(map(_package, found)))
        raise UsageError(f"several packages add {name!r} to {group}: {packages}.", "Uninstall all but one of them.")
    try:
        return found[0].load()
    except Exception as error:
        raise UsageError(
            f"the entry point {name!r} of {group} cannot be imported: {type(error).__name__}: {error}.",
            f"Update or remove the package {_package(found[0])}.",
        ) from error


@cache
def language_names() -> tuple[str, ...]:
    """Return the names of all programming languages, ours first."""
    own = _own_languages()
    return (*own, *(name for name in plugin_names("codegate.languages") if name not in own))


@cache
def load_language(name: str) -> object:
    """Import the programming language ``name``; return its object.

    Raises:
        UsageError: no package has it, several have it, or it cannot be imported.
    """
    if name in _own_languages():
        return import_module(f"codegate.languages.{name}").LANGUAGE
    return load_plugin("codegate.languages", name)


@cache
def runner_places() -> Mapping[str, str]:
    """Return each test runner's ``module:object``, by runner name.

    Raises:
        UsageError: a language of another package cannot be loaded, or has no runners.
    """
    found: dict[str, str] = {}
    for name in reversed(language_names()):
        places = getattr(load_language(name), "runners", None)
        if not isinstance(places, Mapping):
            raise UsageError(f"the entry point {name!r} of codegate.languages has no runners.", "Update the package.")
        found |= places
    return found


@cache
def load_part(place: str) -> object:
    """Import ``place``, such as ``module:object``; return the object.

    Raises:
        UsageError: the object cannot be imported.
    """
    try:
        return resolve_name(place)
    except Exception as error:
        raise UsageError(f"{place} of a language cannot be imported: {type(error).__name__}: {error}.") from error


def _own_languages() -> tuple[str, ...]:
    return tuple(found.name for found in iter_modules([str(Path(__file__).parent / "languages")]) if found.ispkg)


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "a package without a name"
