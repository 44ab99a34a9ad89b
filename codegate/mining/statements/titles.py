"""The title of a statement: what is wrong, in a line, from the titles that people gave the change."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from codegate.mining.probes.example import Example
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import Unit
from codegate.mining.statements.grammar import base_form, capital, passive, plural, third
from codegate.mining.statements.phrases import (
    A_BUG,
    ABOUT_CHANGE,
    DEFECT,
    DEMAND,
    DEPENDENT,
    DOING,
    EXPECTED,
    FIX,
    OBSERVED,
    TITLE_ACTION,
    TO_DO,
)
from codegate.mining.statements.prose import CAUSE, PREFIX, TRAILING, WORD, is_whole, plain, split
from codegate.mining.statements.scrub import scrub_text
from codegate.mining.statements.sentences import (
    BUG_MARK,
    EXCEPTION,
    PRIVATE,
    PROBLEM,
    Sentence,
    is_ambiguous,
    read,
    without_means,
)
from codegate.mining.statements.symptoms import error_in, seen_in

_MIN_WORDS: Final = 2
_MAX_WORDS: Final = 15
_MAX_TOPIC: Final = 120  # characters of a topic with what the first example shows
#: Where a long sentence has said enough for a title.
_CLAUSE: Final = re.compile(r"[,;:]| \(| (?:which|so that|and then) ")
#: What a demand of nobody in particular opens with.
_DEMANDS: Final = "It should "
#: "Markup printed on errors" is a state, "Columns added by rows" too.
_HAPPENS: Final = re.compile(r"\w \w+ed (?:as|at|by|for|from|if|in|on|to|twice|when|with|without)\b")
_SHOULD: Final = re.compile(
    r"^(?P<who>.{2,120}?) (?:should|must)(?P<no>n't| not| never)?(?: (?:also|still|now))?(?P<how> always)? "
    r"(?!only\b|(?!\w*ply\b)\w+ly\b|not\b)(?P<verb>[a-z]+)(?P<rest>(?:[ ,].*)?)$"
)
_OPENING: Final = re.compile(r"^(?!the way )(?:(?:an )?(?:additional|another|further)|an?|the|some) ", re.IGNORECASE)
#: What stands before a preposition is hardly a verb, and neither is a name of code or a participle.
_TOPIC: Final = re.compile(
    r"(?i:[\w.`()-]+ (?:with|in|of|for|when|on|from|after) "
    r"|(?:non|invalid|[\w-]+(?:ed|ing|ty|ic|al|[st]ive|less|ous|ful))\b)"
    r"|`|\w*[a-z_][A-Z_]\w*|[A-Z]{2,}\b"
)
#: After "always" any verb is a demand.
_DEMAND: Final = re.compile(rf"{DEMAND.pattern}|always [a-z]+ ", re.IGNORECASE)
#: "Parser mixing names of lists" and "Parser returns names" say what happens.
_DOING: Final = re.compile(
    r"^\S+ [\w-]+ing (?!(?:after|and|by|for|from|if|in|of|on|to|when|with)\b)\w"
    rf"|\b(?:always|never) \w+s\b|\b(?:is|are|has|have|does|do|can|cannot|{'|'.join(DOING.values())})\b"
)
#: What says that something is wrong, and not what.
_TROUBLE: Final = re.compile(r"^false\b|\b(?:issues?|problems?|pollution|premature\w*)\b", re.IGNORECASE)
#: One word that is a topic.
_CODE_NAME: Final = re.compile(r"`[^`]+`|[\w.]*(?:[a-z]_[a-z]|[A-Z]/[A-Z]|\w\(\))[\w./()]*")
#: What follows a noun in the plural, and no verb.
_NOUN: Final = re.compile(r"(?:after|before|that|which|with|without|\w+ed|\w+ing)\b")
_MAKE: Final = re.compile(r"(?:let|make)s? |checks? (?:for|if|that|whether) ", re.IGNORECASE)
#: What happens, or what should happen.
_EITHER: Final = re.compile(r"(?:error|fail|warn) (?:if|on|when)\b", re.IGNORECASE)
#: "Don't crash when ...".
_CRASHES: Final = re.compile(
    r"not (crash|deadlock|hang|leak|overflow|panic)((?: (?:for|from|if|in|on|when|while|with) [^,]+?)?)"
    r"(?:,.*| (?:and|any ?more|but|instead)\b.*)?",
    re.IGNORECASE,
)
#: Orders that tell how it was changed, and not what was wrong.
_HOW_CHANGED: Final = re.compile(
    r"handles? .+ as an? |(?:better|improved?) |fail (?:closed|early|fast|hard|loudly|safely)\b", re.IGNORECASE
)
_ERROR_IF: Final = re.compile(r"\w+(?:Error|Exception) (?:if|on|when)\b")
#: What is true after the change.
_AFTER: Final = re.compile(r"\b(?:no longer|now)\b", re.IGNORECASE)
_NUMBER: Final = re.compile(
    r"^(?:bug ?fix|fix(?:es|ed)?)?[ :]*\(?(?:issue|gh|bug|ticket)[-_ #]*\d+\)?[;:,. -]*|^\d{2,7} ?[:-] ", re.IGNORECASE
)
#: What a title says of the change besides.
_BESIDES: Final = re.compile(
    r"(?:(?:,| and| with)? (?:and )?(?:add(?:s|ed|ing)?|additional) (?:a |some |more |unit )?tests?"
    r"|[,;]? and (?:add(?:s|ed|ing)?|(?:allow|clean|improve|make|refactor|remove|rename|simplify|update|use)\w*)"
    r"|[,;] add(?:s|ed|ing)?"
    r"|(?<!caused) by (?!missing\b)\w+ing|,? so (?:that )?\w+ .*| to (?:call|check|first|instead|use)"
    r"|,? \( ?(?:by|do not|don't|if|now|use|using|via)"
    r"|,? and (?:other |some )?(?:edge|corner) cases?)\b.*",
    re.IGNORECASE,
)
#: What a change is for, after what was done.
_PURPOSE: Final = re.compile(rf". (?:in order )?to ((?:(?:better|correctly|properly) )?{TO_DO} .+)")
#: What is the case today, of which an example says more, and how that is changed.
_IN_PLACE: Final = re.compile(
    r"(?:,? (?:in place of|instead of|rather than)| by \w+ing) .*?(?= (?:after|before|for|if|when) |$)"
)
#: What follows a verb of another sense, or belongs to another sentence.
_NO_OBJECT_AFTER: Final = re.compile(
    r"^ (?:early|must|no|only|should|type for)\b| to (?:avoid|prevent)\b| without \w+ing\b|\b(?:must|should)\b"
)
#: Verbs of what a program gives.
_GIVES: Final = frozenset(
    "convert display emit encode format give map parse print produce raise read render report resolve return send"  # noqa: SIM905
    " show throw treat use write yield".split()
)
#: What should be, what is, and the case: "to a space instead of an empty string in headings".
_SWAPPED: Final = re.compile(
    r"(?P<head>[^,]* (?:as|at|by|from|in|into|to|with) |)(?P<good>\S[^,]*?) (?:in place of|instead of|rather than) "
    r"(?!(?:(?:\w+ )?\w+ing|an? (?:error|panic)|by|crash|error|in|on|one|panic|that|this|three|two)\b)(?P<bad>[^,]+?)"
    r"(?P<case>(?: (?:after|before|for|if|in|on|when|with|without) .*)?)"
)
#: The case, before an order that does not refer to it.
_CASE: Final = re.compile(
    r"(?P<case>(?:for|if|in|inside|on|when|with|within) [^,]{2,70}), "
    r"(?P<order>(?!.*\b(?:its?|that|their|them|these|they|this|those)\b).+)",
    re.IGNORECASE,
)
#: A tag of HTML or XML that is not marked as code.
_TAG: Final = re.compile(r"(?<![`\w])</?[A-Za-z][\w-]*(?: ?/)?>(?![`\w])")
#: What is left of what was cut.
_LEFT: Final = re.compile(r"(?: (?:and|for|in|of|or|to|with|[+&]))+$")
_ENDS: Final = re.compile(r"^(?:[ .,;:]|-(?=\s))+|[ .,;:-]+$")
_TESTS: Final = re.compile(r"\btests?\b", re.IGNORECASE)
#: A value at the end of a title, with what leads to it.
_VALUE: Final = re.compile(r"(?: (?:for|from|in|like|of|on|with))? (\"[^\"]+\"|'[^']+'|`[^`]+`)$")
_VAGUE: Final = re.compile(
    r"(?:some |various |more |many |minor )?(?:edge |corner |failing )?(?:cases?|things|stuff)|issues? .*",
    re.IGNORECASE,
)


def title_from(
    unit: Unit, enrichment: Enrichment | None, refused: Callable[[str], str], entries: Sequence[str] = ()
) -> str:
    """Return a bug's title: an issue's, the pull request's or the commit's, or an entry of a changelog.

    An issue's title comes first; of the others the first one that says what is wrong, or the first one if none does.

    Args:
        unit: the change.
        enrichment: what the forge knows of it.
        refused: returns why a text may not be shown, or an empty string.
        entries: the changelog's on this change alone.
    """
    issues = [issue.title for issue in enrichment.issues if issue.created <= unit.date] if enrichment else []
    pull = [enrichment.title] if enrichment is not None and enrichment.title.strip() else []
    reported = ((text, True) for text in issues)
    written = ((text, bool(BUG_MARK.match(text))) for text in (*pull, unit.title, *entries))
    topics: list[str] = []
    for raw, bug in (*reported, *written):
        text = scrub_text(raw, "")
        title, purpose = title_of(text, bug=bug), None if _TESTS.search(text) else _PURPOSE.search(text)
        for shown in (title, _VALUE.sub("", title), title_of(purpose[1]) if purpose else ""):
            line = headline(shown)
            if line and not refused(shown):
                if raw in issues or _wrong_in(line) or EXPECTED.search(line):
                    return line
                topics.append(line)
                break
    return topics[0] if topics else ""


def headline(text: str) -> str:
    """Return a sentence as a title, a long one up to its first clause; empty where that tells nothing."""
    text = _OPENING.sub("", text.removeprefix(PROBLEM).rstrip("."))
    words = len(WORD.findall(text))
    if words > _MAX_WORDS:
        text = _CLAUSE.split(text)[0].strip()
        words = len(WORD.findall(text)) if _wrong_in(text) else 0
    return text if 0 < words <= _MAX_WORDS and is_whole(text) else ""


def title_of(text: str, *, bug: bool = True) -> str:
    """Return a change's title as a bug's: without its verb, or an empty string when nothing is left to say.

    Args:
        text: the title.
        bug: it is marked as a bug's; others in the present may tell what is true after the change.
    """
    title = _bare(text)
    fixes = re.match(FIX, title, re.IGNORECASE) or title.lower().endswith(" fix")
    head, _, how = title.partition(": ")
    if fixes and (len(WORD.findall(head)) > _MIN_WORDS or TITLE_ACTION.match(how)):
        title = head  # how it was fixed comes after what
    marked = fixes or BUG_MARK.match(text)
    if (not fixes and _EITHER.match(title)) or (not marked and _ERROR_IF.match(title)):
        return ""
    if re.match(r"(?:if|when)\b[^,]*$", title, re.IGNORECASE):
        return ""
    if ABOUT_CHANGE.search(title) or _TESTS.search(title) or DEPENDENT.match(title) or PRIVATE.search(title):
        return ""
    demand = re.sub(r"^(?:properly|correctly) | (?:properly|correctly)\b", "", title, flags=re.IGNORECASE)
    demand = re.sub(r"^(?:do not|don't|never) ", "not ", demand, flags=re.IGNORECASE)
    if crash := _CRASHES.fullmatch(demand):
        return without_means(crash[1] + crash[2]) if crash[2] else ""
    if _HOW_CHANGED.match(demand):
        return ""
    first, _, rest = demand.partition(" ")
    if BUG_MARK.match(text) and not _NOUN.match(rest) and DEMAND.match(told := f"{base_form(first.lower())} {rest}"):
        demand = told  # "fix: parses an empty list"
    state = _state(title)
    action = TITLE_ACTION.match(title) or _MAKE.match(title)
    if not (state or fixes or action) and BUG_MARK.match(text) and not _DEMAND.match(demand):
        state = _state(f"Fix {title}")
    if not bug and is_ambiguous(title) and state in {"", title} and not DEMAND.match(demand):
        return ""
    if not state and (unwanted := re.match(r"(?:avoid|prevent)s? (.+)", demand, re.IGNORECASE)):
        return without_means(unwanted[1])
    if not state and not fixes and not action and _DEMAND.match(demand):
        state = f"{_DEMANDS}{demand[0].lower()}{demand[1:]}"
    if _AFTER.search(state or title):
        return ""
    # What no fix is of, and tells of nothing wrong, is an order with a rare verb, or a topic of anything.
    topic = BUG_MARK.match(text) and _TOPIC.match(title)
    symptom = fixes or (not action and (_wrong_in(title) or topic))
    title = state or (re.sub(FIX, "", title, flags=re.IGNORECASE) if symptom else "")
    if title.lower().endswith(" fix") and title[1:2].islower():
        title = f"{title[0].lower()}{title[1:]}"
    title = re.sub(r" (?:(?:bug ?)?fix(?:es)?|bugs?)$", "", title, flags=re.IGNORECASE)
    title = re.sub(rf"^{A_BUG}", "", title, flags=re.IGNORECASE)
    title = _OPENING.sub("", _ENDS.sub("", title.removeprefix(PROBLEM)))
    named = len(title.split()) >= _MIN_WORDS or _CODE_NAME.fullmatch(title)
    return title if named and not _VAGUE.fullmatch(title) else ""


def _bare(text: str) -> str:
    """Return the first sentence of a title without marks, numbers, causes, means and what was done besides."""
    title = CAUSE.sub("", next(split(plain(text)), ""))
    for _ in range(3):
        title = _NUMBER.sub("", PREFIX.sub("", title, count=1)).strip()
    title = _ENDS.sub("", _LEFT.sub("", TRAILING.sub("", _BESIDES.sub("", title))))
    case = _CASE.fullmatch(title)
    if case is not None and DEMAND.match(case["order"]):
        title = f"{case['order']} {case['case'][0].lower()}{case['case'][1:]}"
    return _TAG.sub(r"`\g<0>`", title)


def _state(title: str) -> str:
    """Return what a title says that happens, or else that should happen."""
    found = list(read(title))
    slots = ("observed", "expected")
    return next((text for wanted in slots for slot, text in found if slot == wanted), "")


def symptom_of(
    title: str,
    examples: Sequence[Example],
    observed: Sequence[Sentence],
    expected: Sequence[Sentence] = (),
    case: str = "",
) -> str:
    """Return a title that tells what is wrong and where, or an empty string.

    A demand becomes what is the case without it; a topic gets its symptom from an observation or an example.

    Args:
        title: may be "".
        examples: executed before the fix and after it.
        observed: the sentences of the statement that say what happens today.
        expected: those that say what should happen.
        case: what the failing tests are about, by their names.
    """
    told = [each.text.removeprefix(PROBLEM).rstrip(".") for each in observed if each.source != EXCEPTION]
    short = [text for text in told if len(WORD.findall(text)) <= _MAX_WORDS]
    demand = EXPECTED.search(title)
    if title and not demand and _wrong_in(title):
        words = set(WORD.findall(title.lower()))
        return capital(next((text for text in short if words < set(WORD.findall(text.lower()))), title))
    if short:
        return capital(short[0])
    topic = "" if demand else title
    names = {each.called for each in examples}
    called = names.pop() if len(names) == 1 else ""
    for text in [] if topic else [title, *(each.text for each in expected)]:
        unmet = _unmet(text, called)
        if unmet and len(WORD.findall(unmet)) <= _MAX_WORDS:
            return capital(_OPENING.sub("", unmet))
    topic = topic or case
    error = error_in(examples, observed)
    seen = error if topic and error else seen_in(examples, error)
    if not topic:
        return capital(seen)
    both = f"{capital(topic)}: {seen}"
    if seen and len(both) <= _MAX_TOPIC:
        return both
    return capital(topic) if _DOING.search(topic) or _TROUBLE.search(topic) else f"Problem with {topic}"


def _wrong_in(title: str) -> bool:
    """Return whether a title tells what goes wrong, and not only where."""
    return any(pattern.search(title) for pattern in (DEFECT, OBSERVED, _HAPPENS))


def _unmet(demand: str, called: str) -> str:
    """Return what is the case where a demand is not met; empty where its grammar is another one.

    Args:
        demand: "X should ...", or "It should ...".
        called: the function that the examples call, which "It" is where the verb has no object; may be "".
    """
    match = _SHOULD.match(demand.rstrip("."))
    if match is None:
        return ""
    if _NO_OBJECT_AFTER.search(match["rest"]):
        return ""
    subject, verb = match["who"], match["verb"]
    no = "" if match["no"] else f" not{match['how'] or ''}"
    rest = match["rest"]
    if no and verb in _GIVES and (swapped := _SWAPPED.fullmatch(rest.strip())):
        head, good, bad, case = swapped.group("head", "good", "bad", "case")
        if subject == "It" and (found := passive(verb, f"{head}{bad}", "")):
            return f"{found} instead of {good}{case}"
        if subject != "It":
            shown = verb if plural(subject) else third(verb)
            return f"{subject} {shown} {head}{bad} instead of {good}{case}"
    rest = _IN_PLACE.sub("", rest)
    if subject == "It":
        found = passive(verb, rest.strip(), no)
        if found or not called or called in rest or verb == "be" or not rest.strip():
            return found
        subject = f"`{called}()`"
    many = plural(subject)
    if verb == "be" and rest.startswith(" able to "):
        return f"{subject} {'cannot' if no else 'can'} {rest.removeprefix(' able to ')}"
    if verb == "be":
        return f"{subject} {'are' if many else 'is'}{no}{rest}"
    if no:
        return f"{subject} {'do' if many else 'does'}{no} {verb}{rest}"
    return f"{subject} {verb if many else third(verb)}{rest}"
