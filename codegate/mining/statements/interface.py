"""Disclose new names that tests use and the fix declares."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from codegate.languages import IDENTIFIER, Declaration, Uses, decode, path_for_imports, read
from codegate.mining.cut import Cut, uses_of_tests
from codegate.mining.roots import import_roots
from codegate.mining.statements.prose import normalise
from codegate.mining.statements.vocabulary import absent_names
from codegate.suite import Subtree

_MAX_SIGNATURES: Final = 40
_MAX_SIGNATURE: Final = 300
_MAX_PHRASE: Final = 80
_HEADING: Final = "## Interface"
_INTRODUCTION: Final = "The tests use these names or parameters, which the code does not have yet:"
_DUNDER: Final = re.compile(r"__\w+__")
_OPTION: Final = re.compile(r"--[a-z0-9][\w-]{1,60}")
_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9]{1,30}(?:_[A-Z0-9]{1,30}){1,6}")
_UNREAD: Final = (".pyx", ".pxd", ".c", ".cc", ".cpp", ".rs", ".vue", ".svelte")


@dataclass(frozen=True)
class Interface:
    """The new names that the hidden tests use.

    Attributes:
        signatures: signatures of names that the fix adds and the hidden tests use, without bodies and with plain
            defaults only.
        names: the plain names in ``signatures``, which a statement may mention.
        unresolvable: names without a known signature that only the fix and the tests have.
    """

    signatures: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    unresolvable: tuple[str, ...] = ()

    def block(self) -> str:
        """Return the statement's list of signatures; "" without any."""
        if not self.signatures:
            return ""
        return "\n".join([_HEADING, "", _INTRODUCTION, "", *(f"- `{line}`" for line in self.signatures)]) + "\n"

    def undisclosed(self, text: str) -> tuple[str, ...]:
        """Return the ``unresolvable`` names that ``text`` lacks."""
        words = set(re.findall(r"\w+", text))
        return tuple(name for name in self.unresolvable if name not in words)


NO_INTERFACE: Final = Interface()


def interface_of(cut: Cut) -> Interface:
    """Return the new names that hidden tests use, with signatures.

    A function or class is listed by its qualified name. A name without a known owner, a keyword argument, a
    command-line option or an environment variable is listed only if no file of the base tree contains it.
    """
    tests, sources = uses_of_tests(cut), [read(path, file) for path, file in cut.hidden.items()]
    own = {each.name for source in sources if source is not None for each in source.declarations() if not each.bare}
    disclosed, members = list[tuple[str, str]](), dict[str, str]()
    code, before, unread = Uses(), Uses(), set[str]()
    for path, file in cut.fix.items():
        new, old = read(path, file), read(path, cut.base.get(path))
        if new is None:
            unread.update(IDENTIFIER.findall(decode(file.data)) if file and path.endswith(_UNREAD) else ())
            continue
        code.update(new.uses())
        before.update(old.uses() if old is not None else Uses())
        for name, signature, bare in _new_names(
            new.declarations(_place(path, cut)), old.declarations() if old is not None else [], tests
        ):
            if bare:
                members.setdefault(name, signature)
            else:
                disclosed.append((name, signature))
    settings = dict(_settings(code.arguments - before.arguments, tests.texts))
    disclosed += [(name, settings[name]) for name in sorted(absent_names(settings, cut.base))]
    short = (text for text in code.texts if len(text) <= _MAX_PHRASE)
    listed = {word for text in short for word in re.split(r"[\s,]+", text) if IDENTIFIER.fullmatch(word)}
    wanted = (tests.members | tests.keywords) - own - {name for name, _ in disclosed}
    unresolvable = set[str]()
    for name in sorted(absent_names(wanted & (members.keys() | listed | unread), cut.base)):
        if name in members:
            disclosed.append((name, members[name]))
        elif name in tests.keywords & code.texts:
            disclosed.append((name, f"keyword argument {name}"))
        elif name in unread or name not in code.words | code.keywords:
            unresolvable.add(name)
    shown = [(name, _line(signature)) for name, signature in disclosed]
    signatures = tuple(sorted({line for _, line in shown}))[:_MAX_SIGNATURES]
    names = frozenset(name for name, line in shown if line in signatures)
    return Interface(signatures, names, unresolvable=tuple(sorted(unresolvable - names)))


def _new_names(declared: list[Declaration], before: list[Declaration], tests: Uses) -> Iterator[tuple[str, str, bool]]:
    """Yield new names that tests use, with their signatures.

    ``declared`` and ``before`` are a file's declarations after and before the fix. The third value is True if the
    name's owner is unknown. The caller then lists it only if no file of the base tree has it.
    """
    old: dict[str, set[str]] = {}
    for each in before:
        old.setdefault(each.qualified, set()).update(each.parameters)  # the parameters of all overloads
    new_types = {each.qualified for each in declared if each.kind == "type"} - old.keys()
    # Mentions of a name come last, because its declaration says more.
    for each in sorted(declared, key=lambda each: each.kind == "key"):
        unnamed_owner = each.owner in new_types and each.owner.rpartition(".")[2] not in tests.words
        # In Go, the key of a map may be a constant.
        used = each.name in tests.words or (each.kind in {"field", "value"} and each.name in tests.keywords)
        known = old.get(each.qualified, set())
        given = set(each.parameters) - known
        # A renamed parameter does not change calls by position; another type does.
        typed = any(not name.isidentifier() for name in given)
        needed = given & tests.keywords
        if each.name in tests.called and (typed or len(set(each.parameters)) > len(known)):
            needed = needed or given
        private = each.name.startswith("_") and each.name not in tests.words
        if _DUNDER.fullmatch(each.name) or private:
            continue
        if each.bare or unnamed_owner:
            yield each.name, each.signature, True
        elif used if each.qualified not in old else needed:
            for name in (each.name, *sorted(given & tests.keywords)):
                yield name, each.signature, False


def _settings(texts: set[str], used: set[str]) -> Iterator[tuple[str, str]]:
    """Yield options and environment variables with their descriptions.

    They are in both ``texts`` (literals of the fix) and ``used`` (literals of the tests).
    """
    words = {word for text in used for word in re.split(r"[\s=,'\"]+", text)}
    for text in sorted(texts & words):
        if _OPTION.fullmatch(text):
            yield text, f"command-line option {text}"
        elif _VARIABLE.fullmatch(text):
            yield text, f"environment variable {text}"


def _place(path: str, cut: Cut) -> str:
    """Return the module or path to show before a signature.

    The path of a file that is no module ends with a colon; if the base has such a file, return "".
    """
    if path_for_imports(path) is None:
        return f"{path}: " if path not in cut.base else ""
    roots = sorted((root for root in import_roots(Subtree.of(cut.fixed, cut.folder)) if root), key=len, reverse=True)
    root = next((root for root in roots if path.startswith(f"{root}/")), "")
    place = path_for_imports(path.removeprefix(f"{root}/")) or ""
    return place.removeprefix("src/").replace("/", ".")


def _line(signature: str) -> str:
    return " ".join(normalise(signature, 4 * _MAX_SIGNATURE).replace("`", "'").split())[:_MAX_SIGNATURE]
