"""Find tests' hidden literals, and draw similar replacements."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from random import Random
from typing import Final

from codegate.languages.lines import dialect_of, literals_of
from codegate.languages.syntax import decode
from codegate.mining.cut import Cut
from codegate.mining.examples.crossings import replace_lines
from codegate.mining.statements.vocabulary import added_text, whole_literals

MIN_HIDDEN: Final = 3
"""Fewest characters of a literal that counts as hidden."""

#: The smallest parts of a literal: a terminal's code, a byte or a character by its number ("%2C", "\\x1b", "&#39;",
#: "0x1F"), a word with the mark that makes it a name of its language ("<style>", "<!ENTITY", "#text", "$ref", "%s",
#: "&amp;", the key of Go's 'json:"name"'), or digits.
_PIECE: Final = re.compile(
    r"(?:\x1b|\\(?:x1b|033|e|u001b))\[[\d;?]*[A-Za-z]"
    r"|%[0-9A-Fa-f]{2}|\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})|&#x?[0-9A-Fa-f]+;|\b0[xX][0-9A-Fa-f]+"
    r"|[A-Za-z]\w*:(?=\")|(?:[$@%&#\\]|<[/!?]?)?[A-Za-z]+|\d+"
)
_PHRASE: Final = re.compile(r'[^"\n]+')
_TAG: Final = re.compile(r'\w+:"([^"]*)"')
_LONG_WORD: Final = re.compile(r"[^\W_]{3,}")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
#: A number, possibly with underscores and a type's suffix; ``0x1f`` does not match.
_TYPED: Final = re.compile(r"(?!0[A-Za-z])([\d_]+(?:\.[\d_]+)?)([A-Za-z]\w*)?")
_EXPONENT: Final = re.compile(r"[\d.]+e[-+]?\d+", re.IGNORECASE)
_DIGITS_LAST: Final = re.compile(r"\d+$")
_DIGITS: Final = re.compile(r"\d{3,}")
_ANIMALS: Final = (
    "ox bee elk ant hen owl cod emu ewe yak lynx hare wolf deer swan crow toad newt moth wren heron otter bison tapir"
    " raven gecko moose stork viper lemur hyena badger falcon weasel jaguar beaver ferret parrot iguana walrus pelican"
    " octopus hamster leopard gazelle ostrich penguin vulture scorpion hedgehog kangaroo dolphin reindeer nightjar"
    " chameleon alligator jellyfish swordfish wolverine woodpecker rattlesnake grasshopper"
)
#: Words that programs treat specially, so that another word in their place is another case, or none.
_MEANINGS: Final = frozenset(
    "get post put patch head options trace connect http https ftp file mailto urn data localhost ascii utf latin base"  # noqa: SIM905
    " json yaml toml xml html svg css csv tsv sql iso gzip md txt utc gmt str string int integer float double number"
    " decimal bool boolean byte bytes char list tuple dict map array object type null none nil nan inf undefined true"
    " false any void date time datetime symbol slice chan error and or not in is if elif else for while do switch case"
    " default break continue return yield with as try except catch finally raise throw import from export class def"
    " func function lambda let var const new delete async await this self super static public private extends"
    " interface enum struct package module main html head body div span img table tbody thead tr td th ul ol li br hr"
    " pre code style script template textarea input button form select option label iframe svg href src alt id name"
    " title lang rel charset content value checked selected disabled on off yes no color background border margin"
    " padding width height display block inline flex grid auto hidden bold italic underline strike dim blink reverse"
    " left right top bottom center middle black red green blue white yellow cyan magenta grey gray monday tuesday"
    " wednesday thursday friday saturday sunday january february march april may june july august september october"
    " november december day days week weeks month months year years hour hours minute minutes second seconds".split()
)
_MAX_DRAWS: Final = 20
_FAR: Final = 60
_MAX_SINGLE_WORDS: Final = 8
_VOWELS: Final = "aeiou"
_CONSONANTS: Final = "bdfgklmnprstv"

Choose = Callable[[str], bool]
"""Function that returns whether a word may be replaced."""


def hidden_texts(literals: Iterable[str], public: str) -> frozenset[str]:
    """Return the ``literals`` that must not be shown to solvers.

    They are long enough and not in ``public``, the base's text. A literal of several lines is split into its lines. Of
    Go's struct tags, only the values count.
    """
    found: set[str] = set()
    parts = (_TAG.findall(text) if re.fullmatch(rf"(?:{_TAG.pattern}\s*)+", text) else [text] for text in literals)
    for text in chain.from_iterable(parts):
        lines = [line.strip() for line in text.replace("\\n", "\n").splitlines() if line.strip()]
        found.update(line for line in lines if len(lines) == 1 or len(_LONG_WORD.findall(line)) > 1)
    return frozenset(
        text for text in found
        if len(text) >= MIN_HIDDEN and text not in public and text.lower() not in _MEANINGS
        and (not text.isdigit() or _DIGITS.fullmatch(text))
    )  # fmt: skip


def words_and_numbers(text: str) -> frozenset[str]:
    """Return the lower-case words and the numbers in a text."""
    return frozenset(re.findall(r"\d+|[^\W\d_]+", text.lower()))


def hidden_literal_in(text: str, hidden: Collection[str]) -> str:
    """Return a ``hidden`` literal that ``text`` contains, or ""."""
    for literal in sorted(hidden):
        at = text.find(literal)
        while at >= 0:
            before, after = text[at - 1 : at], text[at + len(literal) : at + len(literal) + 1]
            joined = (before.isalnum() and literal[0].isalnum()) or (after.isalnum() and literal[-1].isalnum())
            if not joined:
                return literal
            at = text.find(literal, at + 1)
    return ""


def word_by_word(texts: Iterable[str], allowed: Choose) -> list[Choose]:
    """Return functions that each choose one word to replace.

    In a text that is parsed, most words are grammar: replacing all of them breaks it, replacing one may not. Single
    letters and likely keywords come last. ``allowed`` says which words may be replaced.
    """
    words = dict.fromkeys(word for text in texts for word in _PIECE.findall(text) if word.isalpha() and allowed(word))
    ordered = sorted(words, key=lambda word: (not is_replaceable(word), len(word) == 1, word.isupper()))
    chosen = list(dict.fromkeys(map(str.lower, ordered)))[:_MAX_SINGLE_WORDS]
    return [lambda word, one=one: word.lower() == one for one in chosen]  # type: ignore[misc]


def is_secret(text: str, hidden: Collection[str]) -> bool:
    """Return whether a literal is data unknown to solvers.

    ``hidden`` are the literals that the base lacks.
    """
    public = _LONG_WORD.search(text) and not any(line.strip() in hidden for line in text.splitlines())
    data = any(is_replaceable(piece) and piece not in {"0", "1"} for piece in _PIECE.findall(text))
    return data and not public


def is_replaceable(piece: str) -> bool:
    """Return whether a word or number may be replaced.

    Keywords and names with a usual meaning may not.
    """
    return (piece.isalpha() or piece.isdigit()) and piece.lower() not in _MEANINGS


@dataclass
class LiteralReplacer:
    """Replaces words and numbers in literals by random ones.

    Words keep their length and case, numbers their number of digits. The same word is always replaced by the same one.

    Attributes:
        avoid: literals that no replacement may be.
        numbers: whether numbers are replaced.
        digits: whether numbers in texts are replaced too.
        only: index of the one literal that is replaced; None: all are.
        least: the smallest number that is replaced.
        phrases: whether the first word of a line or quoted part is replaced if all else in it stays.
        far: whether a number's first digit changes instead of its last; a single digit gets another before it.
        initial: whether only the first letter of a word changes.
        replaced_lines: maps lines of texts to their replacements.
        replaced_texts: maps whole texts to their replacements.
        count: how many literals were replaced.
        renumbered: 1 if numbers were replaced, 2 if numbers in texts were.
    """

    random: Random
    words: Choose
    numbers: bool
    avoid: frozenset[str] = frozenset()
    only: int | None = None
    least: int = 2
    phrases: bool = False
    far: bool = False
    initial: bool = False
    replaced_lines: Mapping[str, str] = field(default_factory=dict)
    replaced_texts: Mapping[str, str] = field(default_factory=dict)
    digits: bool = True
    count: int = 0
    renumbered: int = 0
    _seen: int = 0
    _known: dict[str, str] = field(default_factory=dict)

    @property
    def renamed(self) -> dict[str, str]:
        """Map replacements to the words and numbers that they replace."""
        return {other: own for own, other in self._known.items() if other != own}

    def due(self) -> bool:
        """Count one more literal; return whether to replace it."""
        number, self._seen = self._seen, self._seen + 1
        return self.only is None or number == self.only

    def text(self, text: str) -> str:
        """Return ``text`` with words and numbers replaced at random."""
        if text in self.replaced_texts:
            self._known[text.lower()] = self.replaced_texts[text].lower()
            return self.replaced_texts[text]
        return replace_lines(text, self.replaced_lines, self._line) if self.replaced_lines else self._line(text)

    def _line(self, text: str) -> str:
        forced = set(self._first_words(text)) if self.phrases else frozenset[int]()
        return _PIECE.sub(lambda match: self._word(match[0]) if match.start() in forced else self._piece(match), text)

    def _first_words(self, text: str) -> Iterator[int]:
        """Yield the positions of words that ``phrases`` replaces.

        They are the first words of lines and quoted parts of ``text`` that would otherwise stay unchanged.
        """
        for phrase in _PHRASE.finditer(text):
            pieces = list(_PIECE.finditer(text, *phrase.span()))
            words = [piece for piece in pieces if piece[0].isalpha()]
            if len(words) > 1 and all(self._piece(piece) == piece[0] for piece in pieces):
                yield words[0].start()

    def number(self, text: str) -> str:
        """Return a decimal number with other digits, if possible."""
        if self.numbers and _EXPONENT.fullmatch(text):
            return _DIGITS_LAST.sub(lambda digits: self._digits(digits[0]), text)
        typed = _TYPED.fullmatch(text)
        if typed is not None and (plain := typed[1].replace("_", "")) != text:
            other = self.number(plain)
            return text if other == plain else other + (typed[2] or "")
        whole, point, rest = text.partition(".")
        plain = _NUMBER.fullmatch(text) and text not in {"0.0", "1.0"} and (point or int(whole) >= self.least)
        if not (self.numbers and plain):
            return text
        if int(whole) < self.least and rest.strip("0"):
            others = (f"{rest[:-1]}{(int(rest[-1]) + step) % 10}" for step in range(1, 9))
            longer = (f"{rest}{digit}" for digit in range(1, 10))
            fitting = (text for text in chain(others, longer) if text[-1] != "0" and text not in self.avoid)
            return f"{whole}.{next(fitting, rest)}"
        return self._digits(whole) + point + rest

    def _piece(self, match: re.Match[str]) -> str:
        piece = match[0]
        if piece.isdigit():
            return self._digits(piece) if self.numbers and self.digits else piece
        return self._word(piece) if piece.isalpha() and self.words(piece) else piece

    def _digits(self, digits: str) -> str:
        if digits not in self._known:
            value = int(digits)
            place = 10 ** (len(str(value)) - 1) if self.far else 1
            others = (value + sign * step * place for step in range(1, _FAR) for sign in (1, -1))
            fitting = (str(other) for other in others if other >= self.least and len(str(other)) == len(str(value)))
            longer = (str(value + step * 10 ** len(str(value))) for step in range(1, _FAR))
            every = chain(longer, fitting) if self.far and len(digits) == 1 else chain(fitting, longer)
            new = (text for text in every if not (self._is_taken(text) or self._is_taken(text.zfill(len(digits)))))
            other = next(new, digits)
            self._known[digits] = other.zfill(len(digits)) if value >= self.least else digits
        return self._known[digits]

    def _word(self, word: str) -> str:
        lower = word.lower()
        if lower not in self._known:
            self._known[lower] = self._drawn(lower)
        other = self._known[lower]
        if word.isupper():
            return other.upper()
        return other.capitalize() if word[0].isupper() else other

    def _is_taken(self, word: str) -> bool:
        return word in self.avoid or word in self._known.values()

    def _drawn(self, word: str) -> str:
        if self.initial:
            alike = _VOWELS if word[0] in _VOWELS else _CONSONANTS
            others = [f"{letter}{word[1:]}" for letter in alike if letter != word[0]]
            return self.random.choice([other for other in others if not self._is_taken(other)] or [word])
        pool = [other for other in _ANIMALS.split() if len(other) == len(word) and other[0] != word[0]]
        pool = [other for other in pool if not self._is_taken(other)]
        if pool:
            return self.random.choice(pool)
        for _ in range(_MAX_DRAWS):
            start = self.random.randrange(2)
            letters = [
                self.random.choice(_CONSONANTS if (place + start) % 2 == 0 else _VOWELS) for place in range(len(word))
            ]
            if letters[0] == word[0]:
                letters[0] = "z" if word[0] != "z" else "k"
            if not self._is_taken("".join(letters)):
                return "".join(letters)
        return word


def literals_to_hide(cut: Cut, texts: frozenset[str]) -> frozenset[str]:
    """Return the ``texts`` that examples may not show.

    ``texts`` come from ``hidden_texts``. Literals of the fix may be shown, because no solver can guess them.
    """
    added = added_text(cut)
    told = {text for text in texts if " " in text.strip() and text in added} | whole_literals(texts, added)
    return frozenset(text for text in texts if not any(text in one for one in told))


def failing_literals(cut: Cut, tests: Iterable[str], public: str) -> frozenset[str]:
    """Return literals of failing tests' files that ``public`` lacks."""
    found: frozenset[str] = frozenset()
    for path in dict.fromkeys(test.partition("::")[0] for test in tests):
        dialect, file = dialect_of(path), cut.hidden.get(path)
        if dialect is not None and file is not None:
            found |= hidden_texts(literals_of(dialect, decode(file.data)), public)
    return found


def source_literals(cut: Cut) -> frozenset[str]:
    """Return the literals of the source files after the fix."""
    files = ((dialect_of(path), file) for path, file in cut.fix.items() if file is not None)
    return frozenset(
        text for dialect, file in files if dialect is not None for text in literals_of(dialect, decode(file.data))
    )
