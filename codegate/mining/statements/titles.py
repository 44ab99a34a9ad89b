"""The title of a statement: what is wrong, in a line, from the titles that people gave the change."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from codegate.mining.probes.example import Example
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import Unit
from codegate.mining.statements.grammar import capital, plural, third
from codegate.mining.statements.phrases import (
    ABOUT_CHANGE,
    DEFECT,
    DEMAND,
    DEPENDENT,
    EXPECTED,
    FIX,
    OBSERVED,
    ORDER,
    TITLE_ACTION,
)
from codegate.mining.statements.scrub import scrub_text
from codegate.mining.statements.sentences import (
    BUG_MARK,
    CAUSE,
    EXCEPTION,
    PREFIX,
    PRIVATE,
    PROBLEM,
    TRAILING,
    WORD,
    Sentence,
    is_ambiguous,
    plain,
    read,
    split,
)

#: What shows a value, around the expression whose value it is.
_PRINTED: Final = re.compile(r'fmt\.Print\w*\((?:"(?:[^"\\]|\\.)*", )?(.*)\)')
_MIN_WORDS: Final = 2
_MAX_SHOWN: Final = 90
_MAX_SENTENCE: Final = 14  # words of a sentence that makes a title
_MAX_TITLE: Final = 20  # words
_MAX_TOPIC: Final = 120  # characters of a topic with what the first example shows
#: Where a long sentence has said enough for a title.
_CLAUSE: Final = re.compile(r"[,;:(]| (?:which|so that|and then) ")
#: What a demand of nobody in particular opens with.
_DEMANDS: Final = "It should "
#: "Markup printed on errors" is a state, "Columns added by rows" too.
_HAPPENS: Final = re.compile(r"\w \w+ed (?:as|at|by|for|from|if|in|on|to|twice|when|with|without)\b")
_SHOULD: Final = re.compile(
    r"^(?P<who>.{2,120}?) (?:should|must)(?P<no>n't| not| never)?(?: (?:also|still|now))? "
    r"(?!only\b|(?!\w*ply\b)\w+ly\b|always\b|not\b)(?P<verb>[a-z]+)(?P<rest>.*)"
)
_ACTIVITY: Final = r"\w+ing\b(?! of\b)"
_OPENING: Final = re.compile(
    r"^(?!the way )(?:(?:an )?(?:additional|another|further)|an?|the|some|for) ", re.IGNORECASE
)
#: What stands before a preposition is hardly a verb.
_TOPIC: Final = re.compile(r"^[\w.`()-]+ (?:with|in|of|for|when|on|from|after) ", re.IGNORECASE)
_NUMBER: Final = re.compile(
    r"^(?:bug ?fix|fix(?:es|ed)?)?[ :]*(?:issue|gh|bug|ticket)[-_ #]*\d+[;:,. -]*", re.IGNORECASE
)
#: What a title says of the change besides.
_BESIDES: Final = re.compile(
    r"(?:(?:,| and)? (?:and )?add(?:s|ed|ing)? (?:a |some |more |unit )?tests?"
    r"|[,;]? and (?:improve|clean|refactor|simplify|update)\w*|,? and (?:other |some )?(?:edge|corner) cases?)\b.*",
    re.IGNORECASE,
)


def title_from(
    unit: Unit, enrichment: Enrichment | None, kept: Sequence[Sentence], refused: Callable[[str], str]
) -> str:
    """Return a bug's title: an issue's, the pull request's, the commit's, or the first thing that is observed."""
    issues = [issue.title for issue in enrichment.issues if issue.created <= unit.date] if enrichment else []
    pull = [enrichment.title] if enrichment is not None and enrichment.title.strip() else []
    body = re.split(r"\n\s*\n|\n\s*[-*+•] ", scrub_text("", unit.message.partition("\n")[2]).strip())[0]
    reported = ((text, True) for text in issues)
    written = ((text, bool(BUG_MARK.match(text))) for text in (*pull, unit.title, body))
    for text, bug in (*reported, *written):
        title = headline(title_of(scrub_text(text, ""), bug=bug))
        if title and not refused(title):
            return title
    return headline(next((each.text for each in kept if each.slot == "observed"), ""))


def headline(text: str) -> str:
    """Return a sentence as a title, a long one up to its first clause; empty where that tells nothing wrong."""
    text = _OPENING.sub("", text.removeprefix(PROBLEM).rstrip("."))
    if len(WORD.findall(text)) > _MAX_TITLE:
        text = _CLAUSE.split(text)[0].strip()
        if not _MIN_WORDS < len(WORD.findall(text)) <= _MAX_TITLE or text.count("`") % 2 or not _wrong_in(text):
            return ""
    return capital(text)


def title_of(text: str, *, bug: bool = True) -> str:
    """Return a change's title as a bug's: without its verb, or an empty string when nothing is left to say.

    Args:
        text: the title.
        bug: it is marked as a bug's; others in the present may tell what is true after the change.
    """
    title = CAUSE.sub("", next(split(plain(text)), ""))
    for _ in range(3):
        title = _NUMBER.sub("", PREFIX.sub("", title, count=1)).strip()
    title = TRAILING.sub("", _BESIDES.sub("", title)).strip(" .,;:-")
    fixes = re.match(FIX, title, re.IGNORECASE) or title.lower().endswith(" fix")
    head = title.partition(": ")[0]
    if fixes and len(WORD.findall(head)) > _MIN_WORDS:
        title = head  # how it was fixed comes after what
    if ABOUT_CHANGE.search(title) or DEPENDENT.match(title) or PRIVATE.search(title):
        return ""
    found = list(read(title))
    state = next((text for slot, text in found if slot == "observed"), "") or next(
        (text for slot, text in found if slot == "expected"), ""
    )
    demand = re.sub(r"^(?:properly|correctly) ", "", title, flags=re.IGNORECASE)
    demand = re.sub(r"^(?:do not|don't|never) ", "not ", demand, flags=re.IGNORECASE)
    if not bug and is_ambiguous(title) and state in {"", title} and not DEMAND.match(demand):
        return ""
    if not state and not fixes and not TITLE_ACTION.match(title) and DEMAND.match(demand):
        state = f"{_DEMANDS}{demand[0].lower()}{demand[1:]}"
    # What no fix is of, and tells of nothing wrong, is an order with a rare verb, or a topic of anything.
    topic = BUG_MARK.match(text) and _TOPIC.match(title)
    symptom = fixes or (not TITLE_ACTION.match(title) and (_wrong_in(title) or topic))
    title = state or (re.sub(FIX, "", title, flags=re.IGNORECASE) if symptom else "")
    title = re.sub(r" (?:bug ?)?fix(?:es)?$", "", title, flags=re.IGNORECASE)
    title = re.sub(r"^(?:an? |the )?(?:bug|issue|problem)s? (?:with|in|for) ", "", title, flags=re.IGNORECASE)
    title = _OPENING.sub("", title.removeprefix(PROBLEM).strip(" .-:;,"))
    return capital(title) if len(WORD.findall(title)) > 1 else ""


def symptom_of(
    title: str,
    examples: Sequence[Example],
    observed: Sequence[Sentence],
    expected: Sequence[Sentence] = (),
    case: str = "",
) -> str:
    """Return a title that tells what is wrong and where, or an empty string.

    A demand is turned into what is the case without it. A topic gets its symptom from an observation or an example.

    Args:
        title: may be "".
        examples: executed before the fix and after it.
        observed: the sentences of the statement that say what happens today.
        expected: those that say what should happen.
        case: what the failing tests are about, by their names.
    """
    sentences = [each.text.removeprefix(PROBLEM).rstrip(".") for each in observed if each.source != EXCEPTION]
    short = [capital(text) for text in sentences if len(WORD.findall(text)) <= _MAX_SENTENCE]
    demand = EXPECTED.search(title)
    if title and not demand and _wrong_in(title):
        words = set(WORD.findall(title.lower()))
        return next((text for text in short if words < set(WORD.findall(text.lower()))), title)
    if short:
        return short[0]
    names = list(dict.fromkeys(example.called for example in examples))
    others = (each.text.rstrip(".") for each in expected if not (title and examples and each.source == "test"))
    demands = [(title, names), *((text, ()) for text in others)] if demand or not title else []
    unmet = next(filter(None, (_unmet(text, called) for text, called in demands)), "")
    raised = next((each.text for each in observed if each.source == EXCEPTION), "")
    crash = re.match(r"(?:raises|throws) (\w+)", examples[0].observed) if examples else re.match(r"`(\w+)", raised)
    if crash and examples and re.match(rf"(?:raises|throws) {re.escape(crash[1])}\b", examples[0].expected):
        crash = None  # the error is right, its message is wrong
    if unmet or demand or not title:
        seen = unmet or _seen(examples, names, crash)
        covered = set(WORD.findall(case.lower())) <= set(WORD.findall(seen.lower()))
        if not seen and sentences:  # which say what is wrong: the title may be the demand as it was made
            return capital(re.sub("^not ", "do not ", title.removeprefix(_DEMANDS)))
        return f"{seen} ({case})" if case and seen and not (covered or unmet) else seen
    if ORDER.match(title) or not (examples or crash):
        return title
    if crash and re.match(_ACTIVITY, title):
        return f"`{crash[1]}` is raised when {title[0].lower()}{title[1:]}"
    if crash:
        return f"{title}: `{crash[1]}` is raised"
    topic = f"{title}: {_seen(examples, names, crash)}"
    short_enough = len(topic) <= _MAX_TOPIC and topic != f"{title}: "
    return title if sentences else topic if short_enough else _wrong(title)


def _wrong_in(title: str) -> bool:
    """Return whether a title tells what goes wrong, and not only where."""
    return any(pattern.search(title) for pattern in (DEFECT, OBSERVED, _HAPPENS))


def _unmet(demand: str, names: Sequence[str]) -> str:
    """Return what is the case where a demand is not met; empty where it does not name its subject.

    Args:
        demand: "X should ...", or "It should ..." of the functions that the examples call.
        names: of these functions.
    """
    match = _SHOULD.match(demand)
    if match is None:
        return ""
    subject, verb, negated = match["who"], match["verb"], bool(match["no"])
    rest = re.split(r",? (?:instead of|rather than) ", match["rest"])[0]
    if subject == "It":
        subject, rest = _subject_of(rest, demand, names)
    if not subject:
        return ""
    many = plural(subject)
    if verb == "be" and rest.startswith(" able to "):
        return f"{subject} {'can' if negated else 'cannot'} {rest.removeprefix(' able to ')}"
    if verb == "be":
        return f"{subject} {'are' if many else 'is'}{'' if negated else ' not'}{rest}"
    if negated:
        return f"{subject} {verb if many else third(verb)}{rest}"
    return f"{subject} {'do' if many else 'does'} not {verb}{rest}"


def _subject_of(rest: str, demand: str, names: Sequence[str]) -> tuple[str, str]:
    """Return the subject of "It should ..." and the rest of the demand without it; empty where it is not known.

    Args:
        rest: what follows the verb.
        demand: all of it.
        names: of the functions that the examples call.
    """
    if not names or not all(names):
        return "", rest
    # "It should not lose cents in allocate": of the function that the demand itself names at its end.
    end = re.search(rf" (?:in|by|from) (?:\w+\.)*{re.escape(names[0])}(?:\(\))?$", rest)
    if end and len(names) == 1:
        return f"`{names[0]}()`", rest[: end.start()]
    if re.search(r"\w\(\)", rest) or any(re.search(rf"\b{re.escape(name)}\b", demand) for name in names):
        return "", rest
    *others, last = [f"`{name}()`" for name in names]
    return f"{', '.join(others)} and {last}" if others else last, rest


def _seen(examples: Sequence[Example], names: Sequence[str], crash: re.Match[str] | None) -> str:
    """Return what the first example shows: a short call with its results, or the error of the function."""
    if not examples:
        return ""
    first = examples[0]
    what = f"raises `{crash[1]}`" if crash else f"gives `{first.observed}` instead of `{first.expected}`"
    error = re.match(r"(?:raises|throws) (\w+)", first.expected)
    if error and crash:
        what = f"{what} instead of `{error[1]}`"
    elif error:
        wrong = first.observed.startswith(error[0])
        what = f"raises `{error[1]}` with a wrong message" if wrong else f"does not raise `{error[1]}`"
    printed = _PRINTED.fullmatch(first.expression)
    expression = printed[1] if printed is not None else first.expression
    # What a name stands for is what its function gave.
    inside = first.called in expression or expression.isidentifier()
    call = expression if ("(" in expression and inside) or expression.endswith("]") else ""
    name = f"`{names[0]}()`" if len(names) == 1 and names[0] and inside else ""
    for subject in (f"`{call}`" if call else "", name):
        if subject and len(f"{subject}{what}") <= _MAX_SHOWN and "`" not in call and what.count("`") in {2, 4}:
            return f"{subject} {what}"
    if name:
        is_error = printed is not None and "err" in expression.lower()
        if first.observed.startswith("panics: "):
            what = "panics"
        elif is_error and "<nil>" in {first.observed, first.expected}:
            what = "returns no error" if first.observed == "<nil>" else "returns an error"
        elif "raise" not in what:
            what = "gives a wrong result"
        return f"{name} {what}"
    plain = not crash and not error and expression and len(expression) <= _MAX_SHOWN // 2 and "`" not in expression
    return f"`{expression}` is wrong after `{names[0]}()`" if plain and len(names) == 1 and names[0] else ""


def _wrong(title: str) -> str:
    """Return the title of a bug whose result is wrong.

    Args:
        title: an activity ("Parsing empty lists"), or the name of something.
    """
    activity = re.match(_ACTIVITY, title)
    return f"{title} {'are' if plural(title) and not activity else 'is'} wrong"
