"""What a shop has in stock."""


class Stock:
    """Items in stock, those of them that are reserved, and what was done."""

    def __init__(self):
        self._stock = {}
        self._reserved = {}
        self._log = []

    def add(self, item, count):
        """Put ``count`` of an item in stock."""
        if item in self._stock:
            self._stock[item] = self._stock[item] + count
        else:
            self._stock[item] = count
        self._log = self._log + [("add", item, count)]

    def reserve(self, item, count):
        """Set ``count`` of an item aside; return whether there are as many."""
        free = 0
        if item in self._stock:
            free = self._stock[item]
            if item in self._reserved:
                free = free - self._reserved[item]
        if count > free:
            self._log = self._log + [("refuse", item, count)]
            return False
        if item in self._reserved:
            self._reserved[item] = self._reserved[item] + count
        else:
            self._reserved[item] = count
        self._log = self._log + [("reserve", item, count)]
        return True

    def free(self, item):
        """Return how many of an item are neither sold nor reserved."""
        result = 0
        if item in self._stock:
            result = self._stock[item]
            if item in self._reserved:
                result = result - self._reserved[item]
        return result

    def log(self):
        """Return what was done."""
        result = []
        for entry in self._log:
            result.append(entry)
        return result
