"""Where what can be made again is kept between runs."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder that codegate caches in: CODEGATE_CACHE, or codegate below XDG_CACHE_HOME."""
    given = os.environ.get("CODEGATE_CACHE")
    if given:
        return Path(given).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "codegate"
