"""What other package managers than Python's install, from locked manifests, into a folder of an environment.

Nothing of the packages' own runs: npm's scripts are off, and Go only compiles. The toolchains are wheels of the
environment's lock, so the folder is the same on every machine of one processor type; each is installed apart from the
other wheels, which could have put a program of theirs in its place.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from codegate.errors import UsageError
from codegate.sandbox.contract import EnvironmentRecipe
from codegate.sandbox.go import GO_FILES, install_go
from codegate.sandbox.npm import NPM_FILES, install_npm

_MANAGERS: Final[Mapping[frozenset[str], Callable[[EnvironmentRecipe, Path, Path], None]]] = {
    NPM_FILES: install_npm,
    GO_FILES: install_go,
}


def install_packages(recipe: EnvironmentRecipe, site: Path, target: Path) -> None:
    """Install ``recipe.packages`` into the empty folder ``target`` by the toolchain of its lock.

    Args:
        recipe: an environment.
        site: its wheels, of which nothing is run; a toolchain there is cut down to what sandboxes take.
        target: where to.

    Raises:
        UsageError: the files are of no package manager that is known here, or name what must not be installed.
        SandboxError: the package manager failed; the message has its last lines.
    """
    names = frozenset(name for name, _ in recipe.packages)
    install = _MANAGERS.get(names)
    if install is None:
        raise UsageError(f"no package manager is known for {', '.join(sorted(names))}.")
    install(recipe, site, target)
