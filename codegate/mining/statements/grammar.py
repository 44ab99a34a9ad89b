"""Forms of English words: numbers of nouns, persons of verbs, capitals of sentences."""

import re


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
    head = phrase.rpartition(" ")[2].strip("`")
    code = "_" in head or "." in head
    return head.endswith("s") and not code and not head.endswith(("ss", "us", "is", "()"))


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
