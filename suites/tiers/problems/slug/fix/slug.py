"""Addresses from titles."""

import re
import unicodedata


def slug(title: str, longest: int = 60) -> str:
    """Return the part of an address for ``title``, of at most ``longest`` characters."""
    if longest < 1:
        raise ValueError("longest must be at least 1")
    plain = unicodedata.normalize("NFKD", title.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    plain = re.sub("['’]", "", plain)
    whole = re.sub("[^a-z0-9]+", "-", plain).strip("-")
    if not whole:
        raise ValueError(f"nothing is left of {title!r}")
    if len(whole) <= longest:
        return whole
    kept = whole[: longest + 1].rpartition("-")[0]
    return kept or whole[:longest]
