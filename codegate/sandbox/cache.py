"""Where what can be made again is kept between runs."""

import math
import os
from pathlib import Path
from typing import Final

from codegate.errors import UsageError

_BOUND: Final = "CODEGATE_CACHE_GB"
_USUAL_GB: Final = "8"


def cache_folder() -> Path:
    """Return the folder that codegate caches in: CODEGATE_CACHE, or codegate below XDG_CACHE_HOME."""
    given = os.environ.get("CODEGATE_CACHE")
    if given:
        return Path(given).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "codegate"


def cache_bytes() -> int:
    """Return how much recorded builds may take in the cache: CODEGATE_CACHE_GB, or 8 GB.

    Raises:
        UsageError: it is no number.
    """
    text = os.environ.get(_BOUND) or _USUAL_GB
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise UsageError(f"{_BOUND} is {text[:100]!r}, which is no number of gigabytes.", f"Set it to {_USUAL_GB}.")
    return int(number * 1e9)
