"""Rules on texts that no statement may show."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from codegate.languages import read
from codegate.languages.lines import dialect_of
from codegate.languages.syntax import IDENTIFIER, decode, new_lines
from codegate.mining.cut import Cut
from codegate.mining.examples.literals import failing_literals, hidden_literal_in, hidden_texts, source_literals
from codegate.mining.proving.outcomes import TestOutcomes
from codegate.mining.statements.interface import Interface
from codegate.mining.statements.vocabulary import (
    FixVocabulary,
    added_text,
    gives_fix_away,
    new_stems,
    replaced_text,
    stems,
    vocabulary,
    whole_literals,
)
from codegate.suite import TreeFile

_EXACT_LENGTH: Final = 8
_MESSAGE_WORDS: Final = 3
VALUE: Final = "\0"
"""Placeholder for a value in a text that is otherwise expected word for word."""
_LONGEST_LINE: Final = 1000
_WORD: Final = re.compile(r"[^\W\d_]+")
_QUOTED: Final = re.compile(r"""(["'`])((?:\\.|(?!\1)[^\\\n])+)\1""")
#: A value in a message: ``{name}``, ``${name}``, ``{}``, ``%s``, ``%(name)s``, ``%.2f``.
_FORMATTED: Final = re.compile(r"\$?(?<!\{)\{[^{}]*\}(?!\})|%(?:\(\w+\))?[-+#]?[\d.]*[a-zA-Z](?!\w)")
_MAX_BYTES: Final = 1 << 20
_DOCUMENT: Final = re.compile(r"\.(?:rst|md|txt|adoc)$", re.IGNORECASE)
_CODE_LIKE: Final = re.compile(r"^_\w|[^_]_[^_]|[a-z][A-Z]")
_LITERAL: Final = re.compile(r"""(["'])((?:(?!\1)[^\\\n]|\\.)*)\1|\b(\d+(?:\.\d+)?)\b""")
#: A call with arguments, or a subscript.
_OPERATION: Final = re.compile(r"[\w.]+(?:\([^()]+\)|\[[^\[\]]+\])")
#: Text that a sentence can only have from code: in back quotes, a call, a name with dots, or a name of several words.
_NAMING: Final = re.compile(r"`[^`]+`|[\w.]*\w\(|\w+(?:\.\w+)+|\w*(?:[a-z][A-Z]|[^\W_]_)\w*")
#: An attribute of an attribute.
_ATTRIBUTE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){2,}")


@dataclass(frozen=True)
class LeakRules:
    """What the statement of one problem may not show.

    Attributes:
        known: the words that only the fix has.
        hidden: literals that only the failing tests have.
        exact: texts that a right fix must give word for word, so the statement discloses them.
        internal: names in changed lines, and of private declarations in changed files, that tests and documentation
            lack. They would show where the fix is.
        replaced: the lines that the fix replaces, without spaces.
        means: stems of the names that the changed files use only after the fix. Words with these stems may say how the
            bug was fixed.
        changed: names in the lines that the fix changes, in lower case.
        tested: names in the lines that the hidden tests add, in lower case.
    """

    known: FixVocabulary
    hidden: frozenset[str]
    exact: tuple[str, ...] = ()
    internal: frozenset[str] = frozenset()
    replaced: str = ""
    means: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    tested: frozenset[str] = frozenset()

    def reason(self, text: str) -> str:
        """Return why ``text`` may not be shown, or ""."""
        found = ((words, rule(self, text)) for words, rule in _RULES)
        return next((words.format(what) for words, what in found if what), "")

    def reveals_fix(self, text: str, shown: str) -> str:
        """Return why ``text`` may reveal the fix, or "".

        Words that also occur in ``shown``, the statement's examples, are ignored. Beside examples, no text may name an
        attribute of an attribute that the fix changes, such as ``order.cart.total``.
        """
        for code in _ATTRIBUTE.findall(text) if shown else ():
            if _folded([code]) <= self.changed:
                return f"names {code}, which the fix changes"
        found = (self.means & stems([text])) - stems([shown])
        return f"has words of what only the fix uses: {', '.join(sorted(found))}" if found else ""

    def names_only_changed_code(self, text: str) -> bool:
        """Return whether all code that ``text`` names is changed code.

        Changed code is in lines that the fix changes. False if the hidden tests use all of these names, or if ``text``
        names no code.
        """
        names = _folded(_NAMING.findall(text))
        return bool(names) and names <= self.changed and not names <= self.tested


def _folded(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for text in texts for name in IDENTIFIER.findall(text))


def _hidden_literal(rules: LeakRules, text: str) -> str:
    found = hidden_literal_in(text.casefold(), {each.casefold() for each in rules.hidden})
    return repr(found[:40]) if found else ""


def _internal_name(rules: LeakRules, text: str) -> str:
    return min(rules.internal & set(IDENTIFIER.findall(text)), default="")


def _of_the_fix(rules: LeakRules, text: str) -> str:
    return text if gives_fix_away(text, rules.known) else ""


def _replaced_code(rules: LeakRules, text: str) -> str:
    return next((code for code in _OPERATION.findall(text) if "".join(code.split()) in rules.replaced), "")


#: The rules: a reason, and a function that returns the forbidden part of a text. The first that finds one counts.
_RULES: Final[tuple[tuple[str, Callable[[LeakRules, str], str]], ...]] = (
    ("shows the hidden literal {}", _hidden_literal),
    ("names {}, which the fix changes", _internal_name),
    ("quotes the fix or names what only the fix has", _of_the_fix),
    ("quotes code that the fix replaces", _replaced_code),
)


def leak_rules_of(cut: Cut, outcomes: TestOutcomes, interface: Interface, public: str) -> LeakRules:
    """Return one problem's leak rules.

    Names in ``interface`` and literals in ``public``, the text of the base files, may be shown.
    """
    hidden = failing_literals(cut, outcomes.fail_to_pass, public) | _plain_literals(cut, public)
    added = added_text(cut)
    whole = whole_literals(hidden, added)
    required = hidden & (source_literals(cut) | whole)
    shared = {text for text in required if len(text) >= _EXACT_LENGTH and text in added}
    messages = set(_messages(cut, added, public, hidden))
    # If a grammar ends a text at an escaped quote, the whole message counts. Other messages that contain a required
    # text do not count, because the tests have them with their values.
    shared = {text for text in shared if not any(_after_escape(text, message) for message in messages)}
    messages = {message for message in messages if not any(text in message for text in shared)}
    exact = tuple(sorted(shared | messages))
    known = vocabulary(cut).without({*interface.names, *interface.unresolvable, *whole})
    secret = hidden.difference(exact, whole)
    internal, means = _internal_names(cut) - interface.names, new_stems(cut) - stems(interface.names)
    fix, tests = ([(file, cut.base.get(path)) for path, file in files.items()] for files in (cut.fix, cut.hidden))
    changed = _folded(line for new, old in fix for line in (*new_lines(new, old), *new_lines(old, new)))
    tested = _folded(line for new, old in tests if new is not None for line in _inserted(new, old))
    return LeakRules(known, secret, exact, internal, replaced_text(cut), means, changed, tested)


def _inserted(new: TreeFile, old: TreeFile | None) -> Iterator[str]:
    before, after = (decode(file.data).splitlines() if file is not None else [] for file in (old, new))
    for tag, _, _, begin, end in SequenceMatcher(None, before, after).get_opcodes():
        yield from after[begin:end] if tag != "equal" else ()


def _after_escape(text: str, message: str) -> bool:
    return "\\" in message and text != message and text in message


def _messages(cut: Cut, added: str, public: str, literals: Iterable[str]) -> Iterator[str]:
    """Yield messages of the fix that hidden tests may expect.

    A message is quoted text in ``added``, the lines that the fix adds; ``VALUE`` stands for each formatted value. Its
    longest part between values must be several words that are not in ``public``, the text of the base files. If the
    hidden tests lack that part, those of their ``literals`` that the message contains are yielded instead.
    """
    hidden = "\n".join(decode(file.data) for file in cut.hidden.values() if file is not None)
    parts = [text for text in literals if len(_WORD.findall(text)) >= _MESSAGE_WORDS]
    lines = (line for line in added.splitlines() if len(line) <= _LONGEST_LINE)
    for _, literal in (found for line in lines for found in _QUOTED.findall(line)):
        message = _FORMATTED.sub(VALUE, literal)
        words = longest_words(message).strip()
        if len(_WORD.findall(words)) < _MESSAGE_WORDS or words in public:
            continue
        yield from [message] if words in hidden else [text for text in parts if text in message]


def longest_words(text: str) -> str:
    """Return the longest part of ``text`` between ``VALUE`` placeholders."""
    return max(text.split(VALUE), key=len)


def _plain_literals(cut: Cut, public: str) -> frozenset[str]:
    """Return literals of hidden tests in languages without a ``Dialect``.

    Literals in ``public`` and short ones are left out.
    """
    read = {path for path in cut.hidden if dialect_of(path) is not None}
    texts = (decode(file.data) for path, file in cut.hidden.items() if file is not None and path not in read)
    return hidden_texts((text for source in texts for _, *parts in _LITERAL.findall(source) for text in parts), public)


def _internal_names(cut: Cut) -> frozenset[str]:
    changed: set[str] = set()
    for path, file in cut.fix.items():
        new = decode(file.data).splitlines() if file is not None else []
        old = decode(cut.base[path].data).splitlines() if path in cut.base else []
        for line in set(new) ^ set(old):
            changed.update(name for name in IDENTIFIER.findall(line) if _CODE_LIKE.search(name))
        source = read(path, cut.base.get(path))
        declared = source.declarations() if source is not None else ()
        changed.update(each.name for each in declared if not each.public and _CODE_LIKE.search(each.name))
    public = [file for file in cut.hidden.values() if file is not None]
    public += [file for path, file in cut.base.items() if _DOCUMENT.search(path) and len(file.data) <= _MAX_BYTES]
    for file in public:
        changed -= set(IDENTIFIER.findall(decode(file.data)))
    return frozenset(changed)
