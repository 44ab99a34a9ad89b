"""Programs that run inside an agent's sandbox.

They are never imported: their text is sent to the sandbox, where Python runs it.
"""

from functools import cache
from importlib import resources


@cache
def program_text(name: str) -> str:
    """Return the source code of this folder's ``{name}.py``."""
    return resources.files("codegate.solving.drivers").joinpath(f"{name}.py").read_text(encoding="utf-8")
