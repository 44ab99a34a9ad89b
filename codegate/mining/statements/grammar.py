"""Forms of English words: numbers of nouns, persons of verbs, capitals of sentences."""

import re
from typing import Final

#: Verbs of demands that have no passive, or one of another meaning.
_NO_PASSIVE: Final = frozenset(
    {
        "be",
        "continue",
        "do",
        "fall",
        "get",
        "have",
        "let",
        "look",
        "make",
        "start",
        "stop",
        "try",
        "wait",
        "warn",
        "work",
    }
)


def capital(text: str) -> str:
    """Return ``text`` with a capital first letter, unless it begins with a name of code."""
    first = text.partition(" ")[0]
    code = first[:1] == "`" or re.search(r"[_.()=/\\\d]", first) or any(map(str.isupper, first[1:]))
    return text if code else text[:1].upper() + text[1:]


def plural(subject: str) -> bool:
    """Return whether the head of the noun phrase ``subject`` is a plural."""
    after = r" (?:of|in|on|with|for|from|to|when|that|at|by|like|\w+ing) |(?<=s) \w+(?:ed|en|wn) "
    phrase = re.split(after, subject.strip())[0]
    if " and " in phrase:
        return True
    if re.fullmatch(r"\w+ \w+ing \w+s", subject.strip()):
        phrase = subject.strip()  # "time parsing errors"
    head = phrase.rpartition(" ")[2]
    code = set("`_.") & set(head)
    return head.endswith("s") and not code and not head.endswith(("ss", "us", "is", "alias", "()"))


def third(verb: str) -> str:
    """Return the third person of a verb in its base form."""
    if verb in {"have", "do"}:
        return {"have": "has", "do": "does"}[verb]
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{verb}s"


def base_form(verb: str) -> str:
    """Return the base form of a verb in the third person."""
    known = {"is": "be", "are": "be", "has": "have", "does": "do"}
    if verb in known:
        return known[verb]
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    if verb.endswith(("sses", "xes", "zzes", "ches", "shes", "oes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb


_PARTICIPLES: Final = (
    "keep:kept give:given write:written put:put set:set split:split read:read hide:hidden build:built bind:bound"
    " send:sent tell:told take:taken leave:left show:shown throw:thrown find:found forbid:forbidden lose:lost"
    " omit:omitted emit:emitted permit:permitted defer:deferred infer:inferred override:overridden run:run"
    " reset:reset cast:cast catch:caught choose:chosen cut:cut hold:held format:formatted prefer:preferred"
)
_IRREGULAR: Final = dict(pair.split(":") for pair in _PARTICIPLES.split())
#: Where the object of a verb ends.
_OBJECT: Final = re.compile(
    r"(?P<what>.+?)"
    r"(?P<rest> (?:when|if|even if|even when|unless|before|after|while|against|for|from|to|as|into|on|by(?! zero\b))"
    r" .+)?"
)
#: Verbs of which "with" is told, and not of their object.
_WITH: Final = frozenset({"combine", "fill", "pad", "prefix", "provide", "replace", "suffix", "wrap"})
_CLAUSE: Final = re.compile(r"\b(?:is|are|was|were|has|have|does|do|can)\b")
#: An article, and how something is done.
_AROUND: Final = re.compile(r"^(?:an?|the) | (?:(?:less|more) \w+|\w*(?:act|ect|ent|per|saf)(?:e?ly))$", re.IGNORECASE)
#: What is not the object of a verb in front of it.
NO_OBJECT: Final = re.compile(
    r"(?:about|and|as|at|back|by|for|from|if|in|into|of|on|only|out|over|through|to|up|when|with|without)\b"
    r"|\S+ (?:an?|the) |.*(?:,|\b(?:alone|consistent|deterministic|intact|stable|unchanged|as[- ]is)\b)"
)


def participle(verb: str) -> str:
    """Return the past participle of a verb in its base form."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ied"
    doubled = re.fullmatch(r"[^aeiou]*[aeiou][bdgmnpt]", verb)  # drop, trim
    return f"{verb}{verb[-1] if doubled else ''}ed"


def passive(verb: str, text: str, no: str) -> str:
    """Return "Quotes in titles are not escaped" of the verb "escape" and the object that ``text`` begins with.

    An empty string where no object follows.

    Args:
        verb: in its base form.
        text: what follows it.
        no: what stands between the verbs, such as " not"; may be "".
    """
    found = _OBJECT.fullmatch(text)
    if found is None or verb in _NO_PASSIVE or NO_OBJECT.match(text) or _CLAUSE.search(found["what"]):
        return ""
    what, rest = _AROUND.sub("", found["what"]), found["rest"] or ""
    if verb in _WITH and " with " in what:
        what, _, more = what.partition(" with ")
        rest = f" with {more}{rest}"
    return capital(f"{what} {'are' if plural(what) else 'is'}{no} {participle(verb)}{rest}")
