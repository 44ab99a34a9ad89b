"""The statement writer: fills title, context, observed, expected and what must stay from all sources, or gives up.

What happens today and what should happen come from the repository's own texts, turned into states, and from examples
that were executed before the fix and after it. Without something observed and something expected there is no statement.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from codegate.grading import TestResult
from codegate.languages.syntax import IDENTIFIER
from codegate.mining.cut import Cut
from codegate.mining.probes.example import MAX_SHOWN, Example, function_of, public_text
from codegate.mining.probes.line_example import declared, failing_literals, source_literals
from codegate.mining.probes.literals import asserted_literals, hidden_literals, shows
from codegate.mining.proving.outcomes import TestOutcomes
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import Unit
from codegate.mining.statements.grammar import capital
from codegate.mining.statements.interface import NO_INTERFACE, Interface
from codegate.mining.statements.material import added_entries, collect, internal_names
from codegate.mining.statements.phrases import EXPECTED
from codegate.mining.statements.sentences import EXCEPTION, PROBLEM, Sentence
from codegate.mining.statements.testsource import named_case, python_tests
from codegate.mining.statements.titles import symptom_of, title_from
from codegate.mining.statements.vocabulary import (
    FixVocabulary,
    added_text,
    gives_away,
    replaced_text,
    vocabulary,
    written_out,
)

_STAY: Final = "What works today must keep working."
_BUT: Final = "What else works today must keep working. These tests expect the wrong behaviour and will be changed: "
_MOST: Final = {"context": 1, "observed": 3, "expected": 3}
_QUOTED_LENGTH: Final = 8
_MAX_REQUIRED: Final = 24
_ALIKE: Final = 0.75
_RELATED: Final = 3
_CRASH: Final = re.compile(r"[\w.]{1,80}(?:Error|Exception|Warning|Interrupt|Exit|panic)")
_ASSERTIONS: Final = ("AssertionError", "Failed", "AssertionError [ERR_ASSERTION]")
_COMMON: Final = frozenset(
    "the and that thi with when should not for are from which have has problem can but its then".split()  # noqa: SIM905
)
#: Words of many reports and examples.
_EVERYDAY: Final = _COMMON | frozenset(
    "value error result function method return raise object type call string list test example import true false none"  # noqa: SIM905
    " null assert print wrong correct should instead with code class name self data const case default from".split()
)
_STEM: Final = 5
#: A call with arguments, or a subscript.
_OPERATION: Final = re.compile(r"[\w.]+(?:\([^()]+\)|\[[^\[\]]+\])")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class StatementText:
    """A statement and how it was made.

    Attributes:
        mode: ``sources``: written from the repository's texts and executed examples; ``rewrite``: by a model.
        text: Markdown.
        words: of ``text``, without signatures.
        sources: where its words are from, each once.
        dropped: what the gates took out, and why, for people.
        model: the snapshot that rewrote it.
    """

    mode: Literal["sources", "rewrite"]
    text: str
    words: int = 0
    sources: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    model: str | None = None


@dataclass(frozen=True)
class Gates:
    """What no statement may show.

    Attributes:
        known: what only the fix knows.
        hidden: literals that only the failing tests have.
        required: literals that assertions compare with and only the failing tests have.
        internal: names in the lines that the fix changes, unknown to tests and documentation: they tell the place.
        replaced: the lines that the fix replaces, without blanks.
    """

    known: FixVocabulary
    hidden: frozenset[str]
    required: frozenset[str] = frozenset()
    internal: frozenset[str] = frozenset()
    replaced: str = ""

    def reason(self, text: str) -> str:
        """Return why ``text`` may not be shown, or an empty string."""
        if literal := shows(text.casefold(), {each.casefold() for each in self.hidden}):
            return f"shows the hidden literal {literal[:40]!r}"
        if named := self.internal & set(IDENTIFIER.findall(text)):
            return f"names {min(named)}, which the fix changes"
        if gives_away(text, self.known):
            return "quotes the fix or names what only the fix has"
        quoted = any("".join(code.split()) in self.replaced for code in _OPERATION.findall(text))
        return "quotes code that the fix replaces" if quoted else ""


def write_statement(
    unit: Unit,
    cut: Cut,
    outcomes: TestOutcomes,
    *,
    enrichment: Enrichment | None = None,
    examples: Sequence[Example] = (),
    later: Iterable[str] = (),
    interface: Interface = NO_INTERFACE,
    public: str | None = None,
    overturned: Collection[str] = (),
) -> StatementText | str:
    """Return the statement, or why there is none.

    Args:
        unit: the change.
        cut: its parts.
        outcomes: what its tests showed.
        enrichment: what the forge knows of the change.
        examples: executed before the fix and after it.
        later: entries of later changelogs that name the change or its issue.
        interface: names that hidden tests use, disclosed on purpose.
        public: the base's text; default: read from ``cut``.
        overturned: functions of the base's tests that expect what the fix changes.
    """
    public = public_text(cut) if public is None else public
    known = declared(cut, (".py",)) if any(each.fence == "python" for each in examples) else frozenset()
    # No title blames a function of the language or of another project; examples of other languages name none.
    examples = [
        replace(each, called="") if each.fence == "python" and each.called not in known else each for each in examples
    ]
    gates = gates_of(cut, outcomes, interface, public)
    kept: list[Sentence] = []
    dropped: list[str] = []
    for sentence in collect(unit, cut, outcomes, enrichment, later):
        reason = gates.reason(sentence.text)
        if reason:
            dropped.append(f"{sentence.source}: {reason}")
        else:
            kept.append(sentence)
    entries = added_entries(unit, cut)
    title = title_from(unit, enrichment, gates.reason, entries if len(entries) == 1 else ())
    chosen = _chosen(title, [each for each in kept if _belongs(each, title, examples)])
    named = named_case(outcomes.fail_to_pass)
    named = None if named is None or gates.reason(named.text) else named
    if named is not None and named.slot == "expected" and not chosen["expected"]:
        chosen["expected"].append(named)
    # Where another source tells what happens today, a title that demands something tells what should happen.
    demanded = any(_mostly_in(_words(each.text), title) for each in chosen["expected"])
    if chosen["observed"] and EXPECTED.search(title) and not demanded and not (examples and title.startswith("It ")):
        chosen["expected"].append(Sentence(f"{title}.", "expected", "title"))
    chosen["observed"] += _crashes(outcomes, gates, chosen["observed"], examples)
    if reason := _lacking(chosen, outcomes, examples):
        return reason
    shown = {test for example in examples for test in example.tests}
    if 2 * len(set(overturned) - shown) > len({*map(function_of, outcomes.fail_to_pass)}):
        return "the fix changes what existing tests expect, and no example shows it"
    shown_words = _words(title).union(*(_words(each.text) for slot in chosen.values() for each in slot))
    case = (
        named.text if named is not None and named.slot == "context" and not _mostly_in(shown_words, named.text) else ""
    )
    heading = symptom_of(title, examples, chosen["observed"], chosen["expected"], case)
    if not heading:
        return "no source says in words what is wrong"
    if case and case not in heading.lower():
        chosen["context"].append(Sentence(f"Affected case: {case}.", "context", "test"))
    text = _rendered(heading, chosen, examples, overturned)
    form = required_form(cut, gates.required, interface, text)
    if len(form.splitlines()) > _MAX_REQUIRED:
        return "the tests ask for many exact texts that only the fix has"
    exact = _exact(cut, gates.required)
    if 2 * sum(map(len, exact)) >= len("".join(added_text(cut).split())) > 0:
        return "the fix is little more than a text that the tests ask for"
    text = f"{text}\n{form}" if form else text
    written = dict.fromkeys(each.source for slot in chosen.values() for each in slot)
    sources = (*written, *(("probe",) if examples else ()))
    return StatementText("sources", text, count_words(text), sources, tuple(dropped))


def tests_to_change(text: str) -> frozenset[str]:
    """Return the functions of tests that a statement says will be changed."""
    return frozenset(re.findall(r"`([^`]+)`", text.partition(_BUT)[2].partition("\n")[0]))


def _lacking(chosen: Mapping[str, Sequence[Sentence]], outcomes: TestOutcomes, examples: Sequence[Example]) -> str:
    """Return what is missing for a statement, or an empty string."""
    observed, expected = chosen["observed"], chosen["expected"]
    if not examples and not observed:
        return "no source says what happens today, and no probe shows it"
    if not examples and not expected:
        return "no source says what should happen instead, and no probe shows it"
    if not examples and {each.source for each in (*observed, *expected)} <= {EXCEPTION, "title"}:
        return "no source says more than the title, and no probe shows it"
    described = any(each.source != EXCEPTION for each in observed) or (examples and expected)
    if not described and _mostly_untold(outcomes, examples):
        return "the tests check more than the examples show, and no source says it"
    return ""


def _mostly_untold(outcomes: TestOutcomes, examples: Sequence[Example]) -> bool:
    """Return whether examples and exceptions stand for less than half of the failing test functions."""
    functions: dict[str, bool] = {}
    for test in outcomes.fail_to_pass:
        result = outcomes.evidence.get(test)
        raised = result is not None and bool(result.exception) and _exception_of(result) not in _ASSERTIONS
        functions[function_of(test)] = raised
    covered = sum(max(1, len(example.tests)) for example in examples) or sum(functions.values())
    return 2 * covered < len(functions)


def _exception_of(result: TestResult) -> str:
    return (result.exception or "").rpartition(".")[2]


def gates_of(cut: Cut, outcomes: TestOutcomes, interface: Interface, public: str) -> Gates:
    """Return what a statement of this problem may not show; the interface is disclosed."""
    tests = python_tests(cut, outcomes.fail_to_pass)
    others = failing_literals(cut, outcomes.fail_to_pass, public)
    hidden = hidden_literals(tests, public)
    required = (hidden & asserted_literals(tests)) | (others & source_literals(cut))
    told = written_out(hidden | others, added_text(cut))
    known = vocabulary(cut).without({*interface.names, *interface.unresolvable, *told})
    secret = (hidden | others).difference(_exact(cut, required), told)
    return Gates(known, secret, required, internal_names(cut) - interface.names, replaced_text(cut))


def _exact(cut: Cut, required: frozenset[str]) -> list[str]:
    """Return the texts that fix and failing tests share: the statement discloses them."""
    added = added_text(cut)
    return sorted(text for text in required if len(text) >= _QUOTED_LENGTH and text in added)


def count_words(text: str) -> int:
    """Return how many words ``text`` has."""
    return len(_WORD.findall(text))


def required_form(cut: Cut, required: frozenset[str], interface: Interface, statement: str) -> str:
    """Return the section of what nobody can guess: new names, and texts that fix and failing tests share."""
    exact = [text for text in _exact(cut, required) if text not in statement]
    block = interface.block().rstrip("\n")
    parts = [block] if block else []
    if exact:
        parts.append("## Required form\n\nThese texts are expected exactly:\n\n" + "\n".join(map(_quoted, exact)))
    return "\n\n".join(parts) + "\n" if parts else ""


def _chosen(title: str, kept: Sequence[Sentence]) -> dict[str, list[Sentence]]:
    """Return the sentences of each slot: no two that say the same, and only context that belongs to the rest."""
    chosen: dict[str, list[Sentence]] = {slot: [] for slot in _MOST}
    for slot in ("observed", "expected", "context"):
        for sentence in kept:
            shown = [_words(each.text) for other in chosen for each in chosen[other] if slot in {other, "context"}]
            again = any(_mostly_in(other, sentence.text) for other in shown)
            around = [_words(title), *shown]
            related = slot != "context" or any(len(_words(sentence.text) & each) >= _RELATED for each in around)
            if sentence.slot == slot and not again and related and len(chosen[slot]) < _MOST[slot]:
                chosen[slot].append(sentence)
    return chosen


def _belongs(sentence: Sentence, title: str, examples: Sequence[Example]) -> bool:
    """Return whether a sentence has rare words of the title or the examples; one is enough for an issue alone."""
    shown = [text for each in examples for text in (each.code, each.expression, each.observed, each.expected)]
    least = {"issue": 1, "test": _RELATED}.get(sentence.source, 2)
    return not examples or len(_rare(sentence.text) & _rare(" ".join([title, *shown]))) >= least


def _rare(text: str) -> frozenset[str]:
    """Return the beginnings of the words that not every report has."""
    words = re.findall(r"[A-Z]?[a-z]{3,}|[A-Z]{3,}", text)
    return frozenset(word[:_STEM].lower() for word in words if word.lower().rstrip("s") not in _EVERYDAY)


def _mostly_in(known: frozenset[str], text: str) -> bool:
    words = _words(text)
    return len(words & known) >= _ALIKE * len(words)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.rstrip("s") for word in re.findall(r"\w{3,}", text.lower())) - _COMMON


def _crashes(
    outcomes: TestOutcomes, gates: Gates, observed: Sequence[Sentence], examples: Sequence[Example]
) -> list[Sentence]:
    """Return the first exception that the code itself raises, unless a sentence has it; none beside examples."""
    if examples:
        return []  # that of another test would be a riddle
    found: list[Sentence] = []
    shown = " ".join(each.text for each in observed)
    for result in outcomes.evidence.values():
        name = _exception_of(result) if result is not None else ""
        if result is None or not _CRASH.fullmatch(name) or name in _ASSERTIONS or name in shown:
            continue
        message = " ".join(result.message.partition("\n")[0].split())[:200]
        message = message.removeprefix(f"{name}:").strip()
        text = f"`{name}: {message}` is raised." if message and "`" not in message else f"`{name}` is raised."
        if gates.reason(text):
            text = f"`{name}` is raised."
        if text not in [each.text for each in found]:
            found.append(Sentence(text, "observed", EXCEPTION))
    return found[:1]


def _rendered(
    title: str,
    chosen: dict[str, list[Sentence]],
    examples: Sequence[Example],
    overturned: Collection[str],
) -> str:
    parts = [f"# {title}"]
    in_title = _words(title)
    for slot in ("context", "observed", "expected"):
        # What should happen stands in an example; without one it is written out, even if the title has its words.
        needed = slot == "expected" and not examples
        sentences = [each.text for each in chosen[slot] if needed or not _mostly_in(in_title, each.text)]
        texts = [capital(text.removeprefix(PROBLEM)) for text in sentences]
        if texts:
            parts.append(" ".join(texts))
    for number, example in enumerate(examples):
        parts += _shown(example, first=number == 0)
    names = ", ".join(f"`{name}`" for name in sorted(overturned))
    parts.append(f"{_BUT}{names}." if names else _STAY)
    return "\n\n".join(parts) + "\n"


def _shown(example: Example, *, first: bool) -> list[str]:
    """Return an example as Markdown: the code, what it gives and what it should give."""
    value = example.expression
    lines = [part for part in (example.code, value) if part]
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0))
    code = f"{fence}{example.fence}\n" + "\n".join(lines) + f"\n{fence}"
    parts = ["For example:" if first else "And:", code]
    if example.fixtures:
        names = ", ".join(f"`{name}`" for name in example.fixtures)
        parts.append(f"Here {names} {'is a pytest fixture' if len(example.fixtures) == 1 else 'are pytest fixtures'}.")
    also = [f"`{what}` is `{observed}` and should be `{expected}`." for what, observed, expected in example.also]
    parts += [_result("Actual", example.observed), _result("Expected", example.expected)]
    return [*parts, " ".join(also)] if also else parts


def _result(word: str, value: str) -> str:
    value = value if len(value) <= MAX_SHOWN else f"{value[:MAX_SHOWN]} ..."
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", value)), default=0))
    return f"{word}:\n\n{fence}\n{value}\n{fence}"


def _quoted(text: str) -> str:
    fence = "`" * (1 + max(map(len, re.findall(r"`+", text)), default=0))
    return f"- {fence}{text}{fence}"
