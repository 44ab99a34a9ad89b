"""A set of words that can be searched with wildcards."""

import math


class Trie:
    """Holds words, each until its time is over."""

    def insert(self, word: str, until: float = math.inf) -> None:
        """Add ``word``, which is there at all times before ``until``."""
        raise NotImplementedError

    def remove(self, word: str, now: float = 0) -> bool:
        """Remove ``word``; return whether it was there."""
        raise NotImplementedError

    def search(self, pattern: str, now: float = 0) -> list[str]:
        """Return the words that match ``pattern``, sorted."""
        raise NotImplementedError
