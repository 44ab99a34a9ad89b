"""Programs that run inside sandboxes. They are never imported: their text is sent there and run by an interpreter."""

from functools import cache
from importlib import resources


@cache
def driver_source(file: str) -> str:
    """Return the text of one of this package's programs, by its file's name (without ``.py`` for Python's)."""
    name = file if "." in file else f"{file}.py"
    return resources.files("codegate.grading.drivers").joinpath(name).read_text("utf-8")
