"""The title of a statement: what is wrong, in a line, from the titles that people gave the change."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from codegate.mining.probes.example import Example
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import Unit
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
    EXCEPTION,
    PREFIX,
    PRIVATE,
    PROBLEM,
    TRAILING,
    WORD,
    Sentence,
    capital,
    plain,
    plural,
    read,
    split,
)

_MIN_WORDS: Final = 2
_MAX_SHOWN: Final = 60
_MAX_TITLE: Final = 14  # words of a sentence that makes a title
#: What a demand of nobody in particular opens with.
_DEMANDS: Final = "It should "
#: "Markup printed on errors" is a state, "Columns added by rows" too.
_HAPPENS: Final = re.compile(r"\w \w+ed (?:as|at|by|for|from|if|in|on|to|twice|when|with|without)\b")
_OPENING: Final = re.compile(r"^(?:(?:an )?(?:additional|another|further)|an?|the|some|for) ", re.IGNORECASE)
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
    for text in (*issues, *pull, unit.title, body):
        title = title_of(scrub_text(text, ""))
        if title and not refused(title):
            return title
    first = next((each.text for each in kept if each.slot == "observed"), "")
    return first.removeprefix(PROBLEM).rstrip(".")


def title_of(text: str) -> str:
    """Return a change's title as a bug's: without its verb, or an empty string when nothing is left to say."""
    title = next(split(plain(text)), "")
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
    state = next((said for slot, said in found if slot == "observed"), "") or next((said for _, said in found), "")
    if not state and not fixes and not TITLE_ACTION.match(title) and DEMAND.match(title):
        state = f"{_DEMANDS}{title[0].lower()}{title[1:]}"
    title = state or ("" if TITLE_ACTION.match(title) else re.sub(FIX, "", title, flags=re.IGNORECASE))
    title = re.sub(r" (?:bug ?)?fix(?:es)?$", "", title, flags=re.IGNORECASE)
    title = _OPENING.sub("", title.removeprefix(PROBLEM).strip(" .-:;,"))
    return capital(title) if len(WORD.findall(title)) > 1 else ""


def symptom_of(title: str, examples: Sequence[Example], observed: Sequence[Sentence]) -> str:
    """Return a title that tells what is wrong and where; one that does not gets it from the first example.

    Args:
        title: may be "".
        examples: executed before the fix and after it.
        observed: the sentences of the statement that say what happens today.
    """
    names = list(dict.fromkeys(example.called for example in examples))
    called = names[0] if len(names) == 1 else ""
    if title.startswith(_DEMANDS):
        demanded = title.removeprefix(_DEMANDS)
        *others, last = [f"`{name}()`" for name in names] or [""]
        who = f"{', '.join(others)} and {last}" if others else last
        told = not all(names) or any(re.search(rf"\b{re.escape(name)}\b", demanded) for name in names)
        alone = f"Do {demanded}" if demanded.startswith("not ") else capital(demanded)
        return alone if told or not names else f"{who} should {demanded}"
    raised = next((each.text for each in observed if each.source == EXCEPTION), "")
    crash = re.match(r"raises (\w+)", examples[0].observed) if examples else re.match(r"`(\w+)", raised)
    if not examples and (not crash or not title):
        return title
    says = any(pattern.search(title) for pattern in (DEFECT, OBSERVED, EXPECTED, _HAPPENS)) or ORDER.match(title)
    if says:
        return title
    sentences = [each.text.removeprefix(PROBLEM).rstrip(".") for each in observed if each.source != EXCEPTION]
    short = next((text for text in sentences if len(WORD.findall(text)) <= _MAX_TITLE), "")
    if short:
        return capital(short)
    if title:
        return f"{title}: `{crash[1]}` is raised" if crash else title if sentences else _wrong(title)
    shown = f"{called}()" if called else examples[0].expression
    if not shown or len(shown) > _MAX_SHOWN:
        return ""
    return f"`{shown}` raises `{crash[1]}`" if crash else f"`{shown}` returns a wrong result"


def _wrong(title: str) -> str:
    """Return the title of a bug whose result is wrong.

    Args:
        title: an activity ("Parsing empty lists"), or the name of something.
    """
    activity = re.match(r"\w+ing\b(?! of\b)", title)
    return f"{title} {'are' if plural(title) and not activity else 'is'} wrong"
