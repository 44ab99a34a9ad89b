"""Make new texts from lines of hidden and public tests.

If a test's text is code itself, every word can have a meaning, so that no random word can replace it. Instead, a line
of the text is compared with a similar line of the base's tests, and takes over one difference, or all but one.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from difflib import SequenceMatcher, get_close_matches
from itertools import chain, islice, zip_longest
from typing import Final

_LINE_END: Final = re.compile(r"(\n|\\n)")
_TOKEN: Final = re.compile(r"\\.|\w+|\s+|.", re.DOTALL)
_MAX_NEAR: Final = 5
_MAX_OF_ONE: Final = 8
_LEAST_ALIKE: Final = 0.4
_LONGEST: Final = 200  # characters of a line


def mixed_lines(texts: Iterable[str], known: Collection[str]) -> Iterator[Mapping[str, str]]:
    """Yield mappings of lines to the lines that replace them.

    Lines are without indentation. ``texts`` are hidden tests' literals, and ``known`` those of the base's tests. A
    mapping replaces new lines of ``texts`` by mixtures of them and similar lines of ``known``. No mixture equals an
    existing line. If no line can be mixed, each mapping replaces one line of ``texts`` by a similar one of ``known``.
    """
    public = sorted({line for text in known for line in _lines_of(text)})
    lines = list(dict.fromkeys(line for text in texts for line in _lines_of(text) if len(line) <= _LONGEST))
    new = [line for line in lines if line not in public]
    others = {line: list(islice(dict.fromkeys(_between(line, public, new)), _MAX_OF_ONE)) for line in new}
    for ways in zip_longest(*others.values()):
        yield {line: way or own[0] for (line, own), way in zip(others.items(), ways, strict=True) if own}
    if not any(others.values()):
        near = [get_close_matches(line, public, _MAX_NEAR, _LEAST_ALIKE) for line in lines]
        swaps = ((line, way) for ways in zip_longest(*near) for line, way in zip(lines, ways, strict=True))
        yield from islice(({line: way} for line, way in swaps if way and way not in lines), _MAX_OF_ONE)


def replace_lines(text: str, others: Mapping[str, str], otherwise: Callable[[str], str]) -> str:
    """Return a literal's text with some of its lines replaced.

    ``others`` maps lines to their replacements. ``otherwise`` is applied to every other line.
    """
    parts = ((part, part.strip(" \t")) for part in _LINE_END.split(text))
    return "".join(part.replace(own, others[own]) if own in others else otherwise(part) for part, own in parts)


def _lines_of(text: str) -> list[str]:
    return [own for line in _LINE_END.split(text)[::2] if (own := line.strip(" \t"))]


def _between(line: str, public: Collection[str], new: Collection[str]) -> Iterator[str]:
    tokens = _TOKEN.findall(line)
    for near in get_close_matches(line, public, _MAX_NEAR, _LEAST_ALIKE):
        other = _TOKEN.findall(near)
        parts = SequenceMatcher(None, tokens, other, autojunk=False).get_opcodes()
        differing = [part for part in parts if part[0] != "equal"]
        for taken in [[part] for part in differing] + [
            [part for part in differing if part != one] for one in differing
        ]:
            pieces = (other[slice(*part[3:])] if part in taken else tokens[slice(*part[1:3])] for part in parts)
            found = "".join(chain.from_iterable(pieces))
            if found not in public and found not in new:
                yield found
