"""What other package managers than Python's install, from locked manifests, into a folder of an environment.

A language brings the function that does it, by the name of the lock file that it reads.

Nothing of the packages' own runs: npm's scripts are off, and Go only compiles. The toolchains are wheels of the
environment's lock, so the folder is the same on every machine of one processor type; each is installed apart from the
other wheels, which could have put a program of theirs in its place.
"""

from collections.abc import Callable
from pathlib import Path
from typing import cast

from codegate.errors import UsageError
from codegate.plugins import load_part, registered
from codegate.sandbox.contract import EnvironmentRecipe

Install = Callable[[EnvironmentRecipe, Path, Path], None]
"""Takes what ``install_packages`` does."""


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
    names = sorted(name for name, _ in recipe.packages)
    found = [place for file, place in registered("packages").items() if file in names]
    if len(found) != 1:
        raise UsageError(f"no package manager is known for {', '.join(names)}.")
    cast("Install", load_part(found[0]))(recipe, site, target)
