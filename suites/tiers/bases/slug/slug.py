"""Addresses from titles."""


def slug(title: str, longest: int = 60) -> str:
    """Return the part of an address for ``title``, of at most ``longest`` characters."""
    raise NotImplementedError
