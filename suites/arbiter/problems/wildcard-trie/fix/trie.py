"""A set of words that can be searched with wildcards."""

import math


class _Node:
    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.until = -math.inf


class Trie:
    """Holds words, each until its time is over."""

    def __init__(self) -> None:
        self._root = _Node()

    def insert(self, word: str, until: float = math.inf) -> None:
        """Add ``word``, which is there at all times before ``until``."""
        if "?" in word or "*" in word:
            raise ValueError("a word has no wildcards")
        node = self._root
        for letter in word:
            node = node.children.setdefault(letter, _Node())
        node.until = until

    def remove(self, word: str, now: float = 0) -> bool:
        """Remove ``word``; return whether it was there."""
        node = self._root
        for letter in word:
            if letter not in node.children:
                return False
            node = node.children[letter]
        there = now < node.until
        node.until = -math.inf
        return there

    def search(self, pattern: str, now: float = 0) -> list[str]:
        """Return the words that match ``pattern``, sorted."""
        found = []
        branches = [("", self._root, _reach(pattern, {0}))]
        while branches:
            word, node, places = branches.pop()
            if len(pattern) in places and now < node.until:
                found.append(word)
            for letter, child in node.children.items():
                after = _step(pattern, places, letter)
                if after:
                    branches.append((word + letter, child, _reach(pattern, after)))
        return sorted(found)


def _step(pattern: str, places: set[int], letter: str) -> set[int]:
    """Return the places of a pattern that ``letter`` leads to; a ``*`` takes it and stays."""
    return {
        place if pattern[place] == "*" else place + 1
        for place in places
        if place < len(pattern) and pattern[place] in (letter, "?", "*")
    }


def _reach(pattern: str, places: set[int]) -> set[int]:
    """Add the places of a pattern that follow a ``*`` that stands for nothing."""
    for place in sorted(places):
        while pattern[place : place + 1] == "*":
            place += 1
            places.add(place)
    return places
