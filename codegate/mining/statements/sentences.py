"""What people wrote about a change, sentence by sentence: what happens today, and what should happen.

A change describes itself as an action ("Fix X being Y", "X no longer raises Z"); a bug report describes a state.
The rules below turn the one into the other where English makes that safe, and drop a sentence where it does not.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from codegate.mining.statements.grammar import NO_OBJECT, base_form, capital, participle, plural, third
from codegate.mining.statements.phrases import (
    ABOUT_CHANGE,
    ACTION,
    BEFORE_PARTICIPLE,
    BUG,
    DEFECT,
    DEMAND,
    DEPENDENT,
    DOING,
    EXPECTED,
    FIX,
    NEUTRAL,
    OBSERVED,
    ORDER,
    PRESENT,
    TENSES,
    TO_DO,
)
from codegate.mining.statements.prose import CAUSE, CODE, PREFIX, TRAILING, WORD, is_whole, plain, split

Slot = Literal["observed", "expected", "context"]

PROBLEM: Final = "Problem: "
"""What an observation begins with that is no whole sentence."""

EXCEPTION: Final = "exception"
"""The source of an observation that is an exception of the code under test."""

_MIN_WORDS: Final = 4
_MAX_WORDS: Final = 60
#: Source code or a table, and no sentence.
_SOURCE: Final = re.compile(r">>>|\.\w+:\d+|->|=>| == | \| | # ")
#: What a sentence says of before and after at once, of a cause or the change in the code, or of what is not shown.
_OF_THE_CHANGE: Final = re.compile(
    r"^`[^`]+` should be `|[,;:(–—-] (?:previously|as before)\b|\b(?:and|but|as|like) previously\b"
    r"|\b(?:should|must|needs? to) be (?:adapt|add|adjust|alter|chang|expand|extend|fix|improv|introduc|mov|refactor"
    r"|remov|renam|replac|rework|rewrit|simplifi|tweak|updat)\w+|\b(?:should|must) be used\b"
    r"|^the (?:bug|issue|problem) (?:arises?|arose|came|comes|is|stems|stemmed|was)\b"
    r"|\b(?:above|earlier|first|last|previous) example\b|\bexample (?:above|below)\b",
    re.IGNORECASE,
)
#: An item of a list tells what was done.
_ITEM: Final = re.compile(r"\s*[-*+•] ")
#: What stands for more of its kind may stand alone.
_INSTANCE: Final = re.compile(r"^(?:e\.g\.|for (?:example|instance))[,:] (?!this\b|it\b)", re.IGNORECASE)
#: What refers to another sentence.
_ALSO: Final = re.compile(r",? (?:as well|either|too)$")
#: "Raised an error", "Differs from others" and "Used to find names" lack their subject.
_NO_NOUN: Final = re.compile(
    rf"(?:{'|'.join(PRESENT)}|differs)\b|\w+ed (?:by|for|from|if|in|that|to|when|with) ", re.IGNORECASE
)
_NO_SUBJECT: Final = re.compile(r"^Would\b")
#: What a reference leaves behind that was taken out.
_HOLE: Final = re.compile(
    r"\b(?:for|of|in|to|with|from|by|see|at|and|or|than)(?: ?[.,;:)]|$)|(?<!\w)\( ?[,;)]", re.IGNORECASE
)
_STARS: Final = re.compile(r"(?<![\w*])\*{1,2}(\w[\w -]{0,60}\w)\*{1,2}(?![\w*])")
_FINITE: Final = re.compile(r"\b(?:is|are|can|cannot|may|has|have|does|do|takes?|returns?)\b")
#: A sentence about what is true after the change, with what was before in a clause of it.
_USED_TO: Final = re.compile(r"\b(?:that|which|what) (?:\w+ )?(?:used to|previously)\b", re.IGNORECASE)
_NOW: Final = re.compile(r"(?<!until )(?<!right )(?<!just )\bnow\b", re.IGNORECASE)
_THEN: Final = re.compile(
    r"^(?:as a result|consequently|previously|before(?: this)?|in the past|until now|formerly),? ", re.IGNORECASE
)
_NEGATION: Final = re.compile(r"\b(?:do(?:es)?|(?P<be>is|are))(?: not|n't)\b")
#: An order to the code, after a condition or without one.
_COMMANDS: Final = re.compile(
    rf"{DEMAND.pattern}(?! \w+ (?:is|are|was|were|does|do|has|have|can|cannot)\b)"
    r"|(?:^|, )(?:do not|don't|never) \w+",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(r"(.*?)(?:( (?:when|even if|even when|if|unless|instead of|rather than) )(.*))?$")
#: By which means, and how well.
_HOW: Final = re.compile(r" (?:by (?:not )?\w+ing .*?(?= (?:if|when) |$)|(?:correctly|properly)\b)")
_DEMANDS_ALREADY: Final = re.compile(r"\b(?:should|must)\b.*\b(?:no longer|now)\b", re.IGNORECASE)
PRIVATE: Final = re.compile(r"(?<![\w-])_[A-Za-z]\w+")


#: What marks a change's title as a bug's.
BUG_MARK: Final = re.compile(r"\W*(?:bug|hot)?[ -]?fix|\W*(?:bug|issue|regression)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Sentence:
    """One sentence of a statement.

    Attributes:
        text: ends with a full stop.
        slot: what it says.
        source: what its words are from, for people.
    """

    text: str
    slot: Slot
    source: str


_Slots = Iterator[tuple[Slot, str]]
_Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], _Slots]]


def sentences(text: str, source: str) -> Iterator[Sentence]:
    """Yield what the paragraph ``text`` says of the program, as states; what tells how it was changed is left out."""
    for raw in split(plain(text)):
        bare = TRAILING.sub("", _INSTANCE.sub("", PREFIX.sub("", raw, count=1)))
        sentence = _ALSO.sub("", bare.strip(" ,;:-").removesuffix(".").rstrip())
        words = len(WORD.findall(sentence))
        if not _MIN_WORDS <= words <= _MAX_WORDS or not is_whole(sentence) or _SOURCE.search(sentence):
            continue
        if not all(map(str.strip, sentence.split("`")[1::2])):
            continue  # what stood in the code was taken out
        if (
            _HOLE.search(sentence)
            or ABOUT_CHANGE.search(sentence)
            or DEPENDENT.match(sentence)
            or _NO_NOUN.match(sentence)
            or PRIVATE.search(sentence)
        ):
            continue
        after = source.endswith("changelog") or source == "test" or _ITEM.match(text) is not None
        for slot, state in read(_NO_SUBJECT.sub("It would", CAUSE.sub("", sentence)), after=after):
            # "Previously these failed" needs the sentence before it too.
            if source == "title" and state == sentence and is_ambiguous(state) and not BUG_MARK.match(raw):
                continue
            of_the_program = not _OF_THE_CHANGE.search(f"{sentence} / {state}")
            if of_the_program and is_whole(state) and (state.startswith("It would ") or not DEPENDENT.match(state)):
                yield Sentence(_finished(state), slot, source)


def is_ambiguous(sentence: str) -> bool:
    """Return whether a title may tell what is true before a change or after it: "X does not accept Y"."""
    return bool(OBSERVED.search(sentence)) and not OBSERVED.search(NEUTRAL.sub("", sentence))


def without_means(unwanted: str) -> str:
    """Return what a change prevents, without how it does that: "X from doing Y" is "X doing Y"."""
    return re.sub(r" from (?=\w+ing\b)", " ", _HOW.sub("", unwanted))


def read(sentence: str, *, after: bool = False) -> _Slots:
    """Yield the slots of one sentence, each with its text.

    Args:
        sentence: without a full stop.
        after: a plain statement in the present tense is of the program after the change.
    """
    if after:
        if _USED_TO.search(sentence):
            return
        sentence = re.sub(r"\bwill\b(?! now| no longer)", "should", sentence)
    if _DEMANDS_ALREADY.search(sentence):
        yield "expected", sentence
        return
    for pattern, make in _RULES:
        match = pattern.search(sentence)
        if match is not None:
            yield from make(match)
            return
    if ACTION.match(sentence) or ORDER.match(sentence) or _COMMANDS.search(sentence) or _NOW.search(sentence):
        return
    if EXPECTED.search(sentence):
        yield "expected", sentence
    elif after and OBSERVED.search(sentence) and not OBSERVED.search(NEUTRAL.sub("", sentence)):
        if _NEGATION.search(sentence):
            yield "expected", _NEGATION.sub(lambda no: "should not" + (" be" if no["be"] else ""), sentence, count=1)
    elif OBSERVED.search(sentence):
        yield "observed", _present(sentence)
    elif _FINITE.search(sentence):
        yield "context", sentence


def _clause(match: re.Match[str]) -> _Slots:
    yield "observed", _present(match["x"])


def _within(match: re.Match[str]) -> _Slots:
    yield "observed", f"In {match['x']}, {_present(match['y'])}"


def _being(match: re.Match[str]) -> _Slots:
    if _PREPOSITION.match(f"{match['x'].rpartition(' ')[2]} "):
        yield from _noun(match)
        return
    yield "observed", capital(f"{match['x']} {'are' if plural(match['x']) else 'is'} {match['y']}")


def _doing(match: re.Match[str]) -> _Slots:
    if " by " in f" {match['x']} ":
        return
    noun = re.match(BUG, match["y"]) or (_PREPOSITION.match(match["y"]) and match["verb"].lower() not in _ALONE)
    if noun or match["x"].lower() in _ARTICLES or _PREPOSITION.match(f"{match['x'].rpartition(' ')[2]} "):
        yield from _noun(match)
        return
    subject, verb = match["x"], DOING[match["verb"].lower()]
    if verb == "misses" and " " not in subject and not plural(subject):  # "a strange missing name"
        yield from _noun(match)
        return
    shown = {"has": "have"}.get(verb, base_form(verb)) if plural(subject) else verb
    yield "observed", capital(f"{subject} {shown} {match['y']}")
    if match["z"] and len(WORD.findall(match["z"])) >= _MIN_WORDS:
        yield from read(match["z"])


def _lacking(match: re.Match[str]) -> _Slots:
    yield "observed", f"{PROBLEM}{match['x']} not {match['verb']}{match['y']}"


def _noun(match: re.Match[str]) -> _Slots:
    whole = re.split(
        r",? so (?:that )?|(?<!caused) by (?:not )?\w+ing ", re.sub(FIX, "", match[0], flags=re.IGNORECASE)
    )[0]
    topic, _, rest = whole.partition(": ")
    if rest and not DEFECT.search(topic):
        # An order ("keep the bounds") may be the fix in words.
        yield from () if DEMAND.match(rest) else read(rest)
    elif DEFECT.search(CODE.sub("", topic)):
        yield "observed", PROBLEM + topic


def _demanded(match: re.Match[str]) -> _Slots:
    # A noun of a title in capitals, or "failure to convert".
    if match["y"][0].isupper() or DEFECT.search(match["x"]):
        yield from _noun(match)
        return
    subject = re.sub(r" needs?$", "", match["x"])
    yield "expected", f"{capital(subject)} should {match['y']}"


def _unwanted(match: re.Match[str]) -> _Slots:
    if DEFECT.search(match["x"]):
        yield "observed", f"{PROBLEM}{without_means(match['x'])}"


def _no_longer(match: re.Match[str]) -> _Slots:
    if _is_verb(match["verb"]):
        singular = (match["how"] or "").strip().lower() in {"does", "will"} and not plural(match["x"])
        yield "observed", f"{match['x']} {third(match['verb']) if singular else match['verb']}{match['y']}"
        yield "expected", f"{match['x']} should not {base_form(match['verb'])}{match['y']}"


def _now(match: re.Match[str]) -> _Slots:
    if _is_verb(match["verb"]) and not re.search(r"\b(?:which|whereas)\b", match["x"]):
        yield "expected", f"{match['x']} should {base_form(match['verb'])}{match['y']}"


def _can_now(match: re.Match[str]) -> _Slots:
    yield "expected", f"{capital(match['x'])} should be able to {match['y']}"


def _passive(match: re.Match[str]) -> _Slots:
    verb = match["verb"].lower().removesuffix("s")
    subject, when, rest = _CONDITION.findall(_HOW.sub("", match["x"]))[0]
    if match["x"].startswith("when "):
        yield "observed", f"The case that {match['x'].removeprefix('when ')} is not {participle(verb)}"
        return
    if "," in match["x"] or NO_OBJECT.match(match["x"]):
        return
    if verb == "handle":
        # How it should be handled is not known.
        yield "observed", f"{capital(subject)} {'are' if plural(subject) else 'is'} not handled{when}{rest}"
        return
    yield "expected", f"{capital(subject)} should be {participle(verb)}{when}{rest}"


def _ensured(match: re.Match[str]) -> _Slots:
    if EXPECTED.search(match["x"]):
        yield "expected", capital(match["x"])
        return
    demand, changed = re.subn(r"\b(?:does not|doesn't|do not|don't)\b", "should not", match["x"], count=1)
    if not changed:
        demand, changed = re.subn(r"\b(?:is|are)\b(?P<no> not)?", r"should\g<no> be", demand, count=1)
    if not changed:
        demand, changed = re.subn(
            rf"(?P<how>\b(?:always|never|only) )?\b(?P<verb>{_THIRD}|{TO_DO}e?s)\b(?P<rest>.*?)(?: and \w+s .*)?$",
            lambda match: f"should {match['how'] or ''}{base_form(match['verb'])}{match['rest']}",
            demand,
            count=1,
        )
    if changed:
        yield "expected", capital(demand)


def _made(match: re.Match[str]) -> _Slots:
    yield "expected", f"{capital(match['x'])} should {match['verb']}{match['y']}"


def _made_so(match: re.Match[str]) -> _Slots:
    yield "expected", f"{capital(match['x'])} should be {match['y']}"


def _rule(pattern: str, make: Callable[[re.Match[str]], _Slots]) -> _Rule:
    return re.compile(pattern, re.IGNORECASE), make


_KEEPS: Final = "respects?|preserves?|honou?rs?|keeps?|handles?|accepts?|rejects?|ignores?|allows?"
#: Verbs that need no object, so that what follows may be a preposition.
_ALONE: Final = frozenset({"crashing", "failing", "hanging", "breaking", "leaking", "blocking"})
_PREPOSITION: Final = re.compile(
    r"(?:for|of|in|on|with|when|and|to|by|from|if|without|after|before|while|at|as|than) ", re.IGNORECASE
)
_ARTICLES: Final = frozenset({"a", "an", "the"})
_THIRD: Final = "|".join([*PRESENT.values(), *DOING.values()])
_STATES: Final = r"(?:\w+[ai]ble|deterministic|consistent|idempotent|optional|stable|case-(?:in)?sensitive)"
_WORKS: Final = "work|return|raise|accept|use|respect|behave|handle|ignore|preserve"

#: The first rule that fits a sentence reads it.
_RULES: Final[tuple[_Rule, ...]] = (
    _rule(rf"{FIX}{BUG},? (?:where|in which|whereby|that when)(?: when)?,? (?P<x>.+)", _clause),
    _rule(rf"{FIX}(?P<x>.{{3,80}}?) to (?P<y>(?:never |not )?(?:be|{TO_DO}) .+)", _demanded),
    _rule(rf"{FIX}{BUG} (?:with|in|of|on|for) (?P<x>.{{2,80}}?),? (?:where|in which|whereby) (?P<y>.+)", _within),
    _rule(rf"{FIX}(?P<x>.{{3,120}}?)(?<! by) (?:not|never) (?P<verb>\w+ing)\b(?P<y>.*)", _lacking),
    _rule(rf"{FIX}(?P<x>.{{3,120}}?) being (?P<y>.+)", _being),
    _rule(
        rf"{FIX}(?!for )(?P<x>\S+(?: \S+){{0,6}}?) (?P<verb>{'|'.join(DOING)}) (?P<y>[^:(][^:]*)(?:: (?P<z>.+))?$",
        _doing,
    ),
    _rule(rf"{FIX}(?P<x>.+)", _noun),
    _rule(r"^(?P<x>.{2,150}?) (?P<verb>is|are|has|have)(?P<how>) no longer(?P<y> .*)", _no_longer),
    _rule(
        r"^(?P<x>(?:(?!\b(?:was|were)\b).){2,150}?) (?P<how>(?:do|does|will) )?no longer (?P<verb>[\w-]+)(?P<y>.*)",
        _no_longer,
    ),
    _rule(r"^(?P<x>.{2,150}?) (?P<verb>is|are|has|have) now(?: properly| correctly)?(?P<y> .*)", _now),
    _rule(r"^(?P<x>.{2,150}?) can now (?P<y>.+)", _can_now),
    _rule(
        rf"^(?P<x>.{{2,60}}?) (?:will )?now (?:(?:properly|correctly|also) )?(?P<verb>{_THIRD}|{TO_DO}(?:e?s)?)\b"
        r"(?P<y> .*)",
        _now,
    ),
    _rule(rf"^(?:allows?|lets?|permits?) (?P<x>\S+(?: \S+){{0,4}}?) to (?P<y>(?:{TO_DO}|be) .+)", _can_now),
    _rule(rf"^(?:properly |correctly )?(?P<verb>{_KEEPS}) (?P<x>.+)", _passive),
    _rule(r"^(?:avoids?|prevents?) (?P<x>.{3,120}?)(?: from)? being (?P<y>.+)", _being),
    _rule(r"^(?:avoids?|prevents?) (?P<x>.+)", _unwanted),
    _rule(r"^(?:ensures?|makes? sure|guarantees?) (?:that )?(?P<x>.+)", _ensured),
    _rule(
        rf"^makes? (?P<x>(?!(?:an?|the) (?:{_WORKS})\b)\S+(?: \S+){{0,4}}?) "
        rf"(?:actually |correctly |properly )?(?P<verb>{_WORKS})\b(?P<y>.*)",
        _made,
    ),
    _rule(rf"^makes? (?P<x>\S+(?: \S+){{0,8}}?) (?P<y>{_STATES}\b.*)", _made_so),
)


def _present(text: str) -> str:
    """Return a description of the past as one of the present, where single words make it one."""
    text = _THEN.sub("", text)
    for pattern, word in TENSES:
        text = re.sub(pattern, word, text)
    words = text.split(" ")
    for number, word in enumerate(words):
        bare = word.strip(".,;:")
        before = words[number - 1].lower() if number else "a"
        if bare in PRESENT and before not in BEFORE_PARTICIPLE and not before.endswith("ly"):
            subject = re.split(r"[,;] | (?:and|that|when|which) ", " ".join(words[:number]))[-1]
            words[number] = word.replace(bare, base_form(PRESENT[bare]) if plural(subject) else PRESENT[bare])
    return re.sub(r"\bpreviously\b ?", "", " ".join(words))


def _finished(text: str) -> str:
    text = capital(_STARS.sub(r"\1", " ".join(text.split())).strip(" ,;:/"))
    return text if text.endswith((".", "!", "?", ".`")) else f"{text}."


def _is_verb(word: str) -> bool:
    """Return whether ``word`` may be a verb of the present tense; a participle or an adverb is none."""
    return not word.endswith(("ed", "ing", "ly")) and word not in {"also", "only", "been", "that", "the"}
