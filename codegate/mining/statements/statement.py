"""Write a statement from quotations and executed examples.

People's words are quoted unchanged, or not shown. A statement needs an executed example, or enough words that obey the
leak rules (``leak_rules.py``).
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final, Literal

from codegate.grading import TestResult
from codegate.languages.syntax import IDENTIFIER, decode
from codegate.mining.cut import Cut
from codegate.mining.examples.example import MAX_SHOWN, UNSTABLE, Example, function_of, public_text
from codegate.mining.proving.outcomes import TestOutcomes
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import MergedChange
from codegate.mining.statements.interface import NO_INTERFACE, Interface
from codegate.mining.statements.leak_rules import VALUE, LeakRules, leak_rules_of
from codegate.mining.statements.material import texts_about, titles_of
from codegate.mining.statements.quotation import (
    MESSAGES,
    Quotation,
    first_title,
    is_sentence,
    quotation_parts,
    quote_texts,
    says_enough,
    sentences_of,
)
from codegate.mining.statements.template import NO_TEMPLATE, Template
from codegate.mining.statements.vocabulary import added_text
from codegate.wording import code_fence

EXAMPLE: Final = "probe"
"""The source of a statement that shows an executed example."""

_ANY: Final = "…"
#: An escaped quotation mark in a text of source code.
_ESCAPED: Final = re.compile(r"\\([\"'`])")
_STAY: Final = "What works today must keep working."
_BUT: Final = "What else works today must keep working. These tests expect the wrong behaviour and will be changed: "
_MAX_REQUIRED: Final = 24
_MAX_NAMED: Final = 8
_MAX_NAME: Final = 200
_MAX_CALL: Final = 60
_MAX_VALUE: Final = 40
_CRASH: Final = re.compile(r"[\w.]{1,80}(?:Error|Exception|Warning|Interrupt|Exit|panic)")
_ASSERTION: Final = re.compile(r"assert|expectation", re.IGNORECASE)
#: A Go statement that prints the value of an expression.
_PRINTED: Final = re.compile(r'fmt\.Print\w*\((?:"(?:[^"\\]|\\.)*", )?(.*)\)')
_RAISED: Final = re.compile(r"(?:(raises|throws) (\w+)|panics:).*", re.DOTALL)
_NAME: Final = re.compile(r"\w+")
_ASSIGNED: Final = re.compile(r"^(?:(?:const|let|var) )?\w+(?:, \w+)* :?= ")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class StatementText:
    """A statement and how it was made.

    Attributes:
        mode: ``sources``: from the repository's texts and executed examples; ``rewrite``: by a model.
        words: number of words in ``text``.
        sources: kinds of sources of its words (``issue``, ``commit`` …), each once.
        dropped: reasons why texts were left out.
        model: the model snapshot that rewrote it.
    """

    mode: Literal["sources", "rewrite"]
    text: str
    words: int = 0
    sources: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    model: str | None = None


def write_statement(
    unit: MergedChange,
    cut: Cut,
    outcomes: TestOutcomes,
    *,
    enrichment: Enrichment | None = None,
    examples: Sequence[Example] = (),
    later: Iterable[str] = (),
    interface: Interface = NO_INTERFACE,
    rules: LeakRules | None = None,
    overturned: Collection[str] = (),
    errors: Mapping[str, str] = MappingProxyType({}),
    template: Template = NO_TEMPLATE,
) -> StatementText | str:
    """Return a change's statement, or why there is none.

    ``later`` are entries of later changelogs that name the change or its issue. ``rules`` are made from ``cut`` by
    default. ``overturned`` are tests of the base tree that expect the old behaviour. ``errors`` has, by test, the name
    of the exception that the test expects. ``template`` is what the repository's templates put into issues.
    """
    rules = rules or leak_rules_of(cut, outcomes, interface, public_text(cut))
    titles, texts = list(titles_of(unit, enrichment)), list(texts_about(unit, cut, enrichment, later))
    words = _words(titles, texts, template, rules, examples, partial(_crash, cut, outcomes, rules, interface, errors))
    if isinstance(words, str):
        return words
    title, passages, crash = words.title, words.passages, words.crash
    shown = {test for example in examples for test in example.tests}
    if 2 * len({*map(function_of, overturned)} - shown) > len({*map(function_of, outcomes.fail_to_pass)}):
        return "the fix changes what existing tests expect, and no example shows it"
    parts = [f"# {title or _difference(examples[0])}"]
    for number, example in enumerate(examples):
        parts += _example_block(example, first=number == 0)
    parts += [*quotation_parts(passages), *crash]
    names = ", ".join(f"`{name}`" for name in _names_of(overturned))
    parts.append(f"{_BUT}{names}." if names else _STAY)
    text = "\n\n".join(parts) + "\n"
    form = required_form(rules.exact, interface, text)
    if len(form.splitlines()) > _MAX_REQUIRED:
        return "the tests ask for many exact texts that only the fix has"
    if 2 * sum(map(len, rules.exact)) >= len("".join(added_text(cut).split())) > 0:
        return "the fix is little more than a text that the tests ask for"
    text = f"{text}\n{form}" if form else text
    sources = [words.title_source, *(each.source for each in passages), *(["exception"] if crash else [])]
    own = tuple(dict.fromkeys(each for each in (*sources, *([EXAMPLE] if examples else [])) if each))
    return StatementText("sources", text, count_words(text), own, tuple(dict.fromkeys(words.dropped)))


@dataclass(frozen=True)
class _Words:
    """The title and sentences of people that a statement shows.

    ``title_source`` is the title's source, ``crash`` a sentence on an exception, and ``dropped`` why other texts are
    not shown.
    """

    title: str
    title_source: str
    passages: Sequence[Quotation]
    crash: Sequence[str]
    dropped: Sequence[str]


def _words(
    titles: Sequence[tuple[str, str]],
    texts: Sequence[tuple[str, str]],
    template: Template,
    rules: LeakRules,
    examples: Sequence[Example],
    crash_beside: Callable[[str], list[str]],
) -> _Words | str:
    """Return words to quote, or why they say too little.

    ``titles`` and ``texts`` come with their sources. ``crash_beside`` returns a sentence on the exception that failing
    tests raise, or nothing if its argument names that exception.
    """
    code = "\n".join(f"{each.code}\n{each.expression}\n{each.observed}\n{each.expected}" for each in examples)
    dropped: list[str] = []

    def refused(text: str, source: str) -> str:
        # An issue is older than the fix, so its words cannot reveal the fix.
        if reason := rules.reason(text) or ("" if source == "issue" else rules.reveals_fix(text, code)):
            dropped.append(f"{source}: {reason}")
        return reason

    title, title_source = first_title(titles, refused, short=not examples)
    passages = quote_texts(texts, title, refused, template)
    if examples:
        return _Words(title, title_source, passages, [], dropped)
    sentences = sentences_of(passages)
    crash = crash_beside(" ".join([title, *sentences]))
    quoted = [*([title] if is_sentence(title, "") else []), *sentences]
    if title and ((sentences and says_enough(quoted)) or (quoted and crash)):
        of_messages = {title_source, *(each.source for each in passages)} <= MESSAGES
        if of_messages and rules.names_only_changed_code("\n".join([title, *sentences])):
            return "no example can be shown, and all code that the words name is what the fix changes"
        return _Words(title, title_source, passages, crash, dropped)
    lacking = "and fewer than two sentences say what is wrong" if title else "and no title says what is wrong"
    return f"no example can be shown, {lacking}"


def _names_of(tests: Collection[str]) -> list[str]:
    """Return the names by which a statement lists tests.

    A few tests are named with their rows, many by their functions.
    """
    few = len(tests) <= _MAX_NAMED and all(len(test) <= _MAX_NAME and not set("`\n") & set(test) for test in tests)
    return sorted(set(tests if few else map(function_of, tests)))


def tests_to_change(text: str) -> frozenset[str]:
    """Return the test functions that a statement lists as changing."""
    return frozenset(map(function_of, re.findall(r"`([^`]+)`", text.partition(_BUT)[2].partition("\n")[0])))


def count_words(text: str) -> int:
    """Return how many words ``text`` has."""
    return len(_WORD.findall(text))


def required_form(exact: Sequence[str], interface: Interface, statement: str) -> str:
    """Return the section on required names and texts, or "".

    ``exact`` are texts that an answer has to give word for word; those in ``statement`` already are left out.
    """
    exact = [text for text in exact if not all(part in statement for part in text.split(VALUE))]
    block = interface.block().rstrip("\n")
    parts = [block] if block else []
    if exact:
        values = f" (`{_ANY}` stands for a value)" if any(VALUE in text for text in exact) else ""
        listed = "\n".join(_listed(_ESCAPED.sub(r"\1", text).replace(VALUE, _ANY)) for text in exact)
        parts.append(f"## Required form\n\nThese texts are expected exactly{values}:\n\n{listed}")
    return "\n\n".join(parts) + "\n" if parts else ""


def _crash(
    cut: Cut, outcomes: TestOutcomes, rules: LeakRules, interface: Interface, errors: Mapping[str, str], quoted: str
) -> list[str]:
    """Return a sentence on the exception that failing tests raise.

    The list is empty if fewer than half of the tests raise one, if ``quoted`` names it, or if its message is about a
    new name. ``errors`` has, by test, the exception that the test expects instead.
    """
    found = ((test, _crash_result(cut, outcomes, test)) for test in outcomes.fail_to_pass)
    raised = {function_of(test): (test, result) for test, result in found if result is not None}
    if 2 * len(raised) < len({*map(function_of, outcomes.fail_to_pass)}):
        return []
    for test, result in raised.values():
        name = _exception_of(result)
        message = " ".join(result.message.partition("\n")[0].split())[:200].removeprefix(f"{result.exception}:").strip()
        may_be_shown = message and "`" not in message and not UNSTABLE.search(message) and not rules.reason(message)
        shown = f"{name}: {message}" if may_be_shown else name
        if interface.names & {*_NAME.findall(message)}:
            continue
        if name not in quoted and not rules.reason(name):
            where = _where(cut, rules, *outcomes.places.get(test, ("", "")))
            other = errors.get(function_of(test), "")
            wanted = f"`{other}` is expected" if other not in {"", name} and not rules.reason(other) else ""
            return [f"Today `{shown}` is raised{where}, and {wanted or 'it should not be'}."]
    return []


def _where(cut: Cut, rules: LeakRules, file: str, function: str) -> str:
    """Return words on where an exception was raised.

    Return "" if the base tree lacks the file, or if the words break ``rules``.
    """
    if file not in cut.base or "`" in file:
        return ""
    own = function in IDENTIFIER.findall(decode(cut.base[file].data))  # a code object may have any name
    where = f" in `{function}` of `{file}`" if own else f" in `{file}`"
    return "" if rules.reason(where) else where


def _crash_result(cut: Cut, outcomes: TestOutcomes, test: str) -> TestResult | None:
    """Return a test's result if the tested code crashed."""
    if outcomes.places.get(test, ("", ""))[0] in cut.hidden:
        return None  # the test itself raises it
    result = outcomes.evidence.get(test)
    name = _exception_of(result) if result is not None else ""
    return result if _CRASH.fullmatch(name) and not _ASSERTION.search(name) else None


def _exception_of(result: TestResult) -> str:
    return (result.exception or "").rpartition(".")[2]


def _difference(example: Example) -> str:
    """Return a title: the example's call, actual and expected result."""
    last = next((line for line in reversed(example.code.splitlines()) if line.strip()), "")
    printed = _PRINTED.fullmatch(example.expression)
    expression = printed[1] if printed is not None else example.expression or last.strip()
    if example.raising:
        expression = _ASSIGNED.sub("", example.raising).removesuffix(";")
    elif expression.isidentifier():  # the name was assigned the result of the call
        assigned = rf"(?<![\w.]){expression}(?:, \w+)* :?= (.+?);?$(?!(?s:.*\b{expression}\b))"
        made = re.search(assigned, example.code, re.MULTILINE)
        expression = made[1] if made is not None else "" if expression in example.code else expression
    short = 0 < len(expression) <= _MAX_CALL and not set("`\n") & set(expression)
    subject = f"`{expression}`" if short else "The example"
    raised, wanted = map(_RAISED.fullmatch, (example.observed, example.expected))
    if raised is not None:
        name = f"{raised[1]} `{raised[2]}`" if raised[2] else "panics"
        other = wanted is not None and wanted[2] and wanted[2] != raised[2]
        return f"{subject} {name}" + (f" instead of `{wanted[2]}`" if wanted is not None and other else "")
    if wanted is not None and wanted[2]:
        return f"{subject} does not raise `{wanted[2]}`"
    values = (example.observed, example.expected)
    if any(len(value) > _MAX_VALUE or set("`\n") & set(value) for value in values):
        return f"{subject} gives a wrong result"
    return f"{subject} gives `{example.observed}` instead of `{example.expected}`"


def _example_block(example: Example, *, first: bool) -> list[str]:
    value = example.expression
    lines = "\n".join(part for part in (example.code, value) if part)
    fence = code_fence(lines, least=3)
    code = f"{fence}{example.fence}\n{lines}\n{fence}"
    parts = ["For example:" if first else "And:", code]
    if variables := " and ".join(f"`{name}` is {what}" for name, what in example.given if name):
        parts.append(f"Here {variables}.")
    parts += [f"It runs in {what}." for name, what in example.given if not name]
    return [*parts, _result("Actual", example.observed), _result("Expected", example.expected)]


def _result(word: str, value: str) -> str:
    if len(value) > MAX_SHOWN:
        word, value = f"{word}, the first {MAX_SHOWN} characters", value[:MAX_SHOWN]
    fence = code_fence(value, least=3)
    return f"{word}:\n\n{fence}\n{value}\n{fence}"


def _listed(text: str) -> str:
    fence = code_fence(text)
    return f"- {fence}{text}{fence}"
