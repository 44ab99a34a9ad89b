"""Ways to give a test other literals: all of them, the words alone, the numbers alone, or one at a time."""

import ast
import copy
from collections.abc import Iterator
from random import Random
from typing import Final

from codegate.mining.probes.literals import Choose, Replacer, is_free, word_by_word
from codegate.mining.probes.tables import Function

_MAX_SINGLE: Final = 4
_SHORT: Final = 2


def variants(
    plain: Function, known: frozenset[str], local: frozenset[str], seed: str
) -> Iterator[tuple[Replacer, Function]]:
    """Yield ways to make other literals of a function's, those that change most first."""
    avoid = frozenset(str(node.value) for node in ast.walk(plain) if isinstance(node, ast.Constant))
    named = {name.id for name in ast.walk(plain) if isinstance(name, ast.Name)}
    named |= {name.attr for name in ast.walk(plain) if isinstance(name, ast.Attribute)}
    named |= {name.arg for name in ast.walk(plain) if isinstance(name, ast.arg | ast.keyword) and name.arg}
    parts = {part for name in named for part in (name, *name.split("_"))}
    foreign = {part for name in named - local for part in (name, *name.split("_"))}

    def free(word: str) -> bool:
        return word not in known and len(word) > _SHORT and unused(word)

    def linked(word: str) -> bool:
        return len(word) > _SHORT and is_free(word) and word not in foreign and word.lower() not in foreign

    def other(word: str) -> bool:
        return len(word) != _SHORT and word not in parts and word.lower() not in parts

    def unused(word: str) -> bool:
        return is_free(word) and other(word)

    def replacer(words: Choose, *, numbers: bool, only: int | None = None, least: int = 2) -> Replacer:
        renamed = local if words is linked else frozenset[str]()
        draws = Random(seed)  # noqa: S311 (a choice to repeat, not a secret)
        return Replacer(draws, words, numbers, renamed, avoid, only, least)

    for numbers in (True, False):
        for words in (linked, free, unused):
            yield replacer(words, numbers=numbers), copy.deepcopy(plain)
    yield replacer(lambda _word: False, numbers=True), copy.deepcopy(plain)
    yield replacer(free, numbers=True, least=1), copy.deepcopy(plain)
    yield replacer(lambda word: unused(word) and not word.isupper(), numbers=False), copy.deepcopy(plain)
    texts = [node.value for node in ast.walk(plain) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    for one in word_by_word(texts, other):
        yield replacer(one, numbers=False), copy.deepcopy(plain)
    for only in range(_MAX_SINGLE):
        yield replacer(unused, numbers=True, only=only), copy.deepcopy(plain)


def own_names(node: Function) -> frozenset[str]:
    """Return the names of the functions in a test, and of their parameters."""
    inner = [each for each in ast.walk(node) if isinstance(each, Function) and each is not node]
    names = {each.name for each in inner}
    names |= {argument.arg for each in inner for argument in (*each.args.args, *each.args.kwonlyargs)}
    return frozenset(names - {argument.arg for argument in node.args.args})
