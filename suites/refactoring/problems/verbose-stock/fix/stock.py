"""What a shop has in stock."""

from collections import Counter


class Stock:
    """Items in stock, those of them that are reserved, and what was done."""

    def __init__(self):
        self._stock = Counter()
        self._reserved = Counter()
        self._log = []

    def add(self, item, count):
        """Put ``count`` of an item in stock."""
        self._stock[item] += count
        self._log.append(("add", item, count))

    def reserve(self, item, count):
        """Set ``count`` of an item aside; return whether there are as many."""
        enough = count <= self.free(item)
        if enough:
            self._reserved[item] += count
        self._log.append(("reserve" if enough else "refuse", item, count))
        return enough

    def free(self, item):
        """Return how many of an item are neither sold nor reserved."""
        return self._stock[item] - self._reserved[item]

    def log(self):
        """Return what was done."""
        return list(self._log)
