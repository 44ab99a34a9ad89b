"""What an example shows, in a line: an error, or how the result differs from what it should be."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from codegate.mining.probes.example import Example
from codegate.mining.statements.grammar import capital
from codegate.mining.statements.sentences import EXCEPTION, Sentence

#: What shows a value, around the expression whose value it is.
_PRINTED: Final = re.compile(r'fmt\.Print\w*\((?:"(?:[^"\\]|\\.)*", )?(.*)\)')
_MAX_SHOWN: Final = 90
_MAX_VALUE: Final = 24  # characters of a text in a title
_MAX_PIECE: Final = 16
_QUOTES: Final = "'\"`"
_SPACES: Final = {" ": "one space", r"\n": "one line break", r"\t": "one tab"}
#: A character of a text between quotes; an escape is one.
_CHARACTER: Final = re.compile(r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)
_BLANK: Final = re.compile(r"(?:\\[nrtf]|\s)+")


def error_in(examples: Sequence[Example], observed: Sequence[Sentence]) -> str:
    """Return the error that the first example (or else an observation) shows, unless another message is expected."""
    first = examples[0] if examples else None
    text = first.observed if first else next((each.text for each in observed if each.source == EXCEPTION), "")
    if text.startswith("panics: "):
        return "panic"
    name = re.match(r"(?:(?:raises|throws) |`)(\w+)", text)
    if name is None or (first is not None and re.match(rf"(?:raises|throws) {re.escape(name[1])}\b", first.expected)):
        return ""
    return f"`{name[1]}` is raised"


def seen_in(examples: Sequence[Example], error: str) -> str:
    """Return what the first example shows: a call, or its function, with its results; empty where that is long.

    Args:
        examples: executed before the fix and after it.
        error: what ``error_in`` found in them.
    """
    if not examples:
        return ""
    first = examples[0]
    printed = _PRINTED.fullmatch(first.expression)
    expression = printed[1] if printed is not None else first.expression
    # What a name stands for is what its function gave.
    if not first.called or not (first.called in expression or expression.isidentifier()):
        return capital(error)
    if difference := _difference(first.observed, first.expected):
        return f"the result of `{first.called}()` {difference}"
    what = _results(first, error)
    made = re.findall(r"^(?:const |let |var )?(\w+)(?:, \w+)* :?= (?!require\()", first.code, re.MULTILINE)
    call = expression if "(" in expression and expression.partition(".")[0] not in made else ""
    for subject in (call, f"{first.called}()"):
        shown = f"`{subject}` {what}"
        if subject and what and len(shown) <= _MAX_SHOWN and shown.count("`") in {2, 4, 6} and "\n" not in shown:
            return shown
    if printed is None or "err" not in expression.lower():
        return ""
    if first.observed == "<nil>":
        return f"`{first.called}()` returns no error"
    return f"`{first.called}()` returns {'an error' if first.expected == '<nil>' else 'a wrong error'}"


def _results(example: Example, error: str) -> str:
    """Return what the function does: the error that it raises, or its result and the one that is expected."""
    raised, wanted = (re.match(r"(?:raises|throws) (\w+)", result) for result in (example.observed, example.expected))
    if wanted and raised and not error:
        return f"raises `{wanted[1]}` with a wrong message"
    if raised:
        return f"raises `{raised[1]}`" + (f" instead of `{wanted[1]}`" if wanted else "")
    if error:
        return "panics"
    if wanted:
        return f"does not raise `{wanted[1]}`"
    return f"gives `{example.observed}` instead of `{example.expected}`"


def _difference(observed: str, expected: str) -> str:
    """Return what a text has too many, or lacks; empty where it is short, or that would be long."""
    if max(len(observed), len(expected)) <= _MAX_VALUE and not _BLANK.search(f"{observed}{expected}"):
        return ""
    if any(text[:1] not in _QUOTES or text[-1:] != text[:1] or len(text) <= 1 for text in (observed, expected)):
        return ""
    if not observed[1:-1] or not expected[1:-1]:
        return ""  # the results themselves say more
    old, new = (_CHARACTER.findall(text[1:-1]) for text in (observed, expected))
    changes = [each for each in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if each[0] != "equal"]
    kinds = {kind for kind, *_ in changes}
    where = f" in {len(changes)} places" if len(changes) > 1 else ""
    if kinds == {"delete"} and (piece := _named({"".join(old[a:b]) for _, a, b, _, _ in changes})):
        return f"has {piece} too many{where}"
    if kinds == {"insert"} and (piece := _named({"".join(new[a:b]) for _, _, _, a, b in changes})):
        return f"lacks {piece}{where}"
    if _BLANK.sub("", "".join(old)) == _BLANK.sub("", "".join(new)):
        return "has wrong whitespace"
    return ""


def _named(pieces: set[str]) -> str:
    """Return the one piece of a text, in words or as code; empty where there are several."""
    piece = pieces.pop() if len(pieces) == 1 else ""
    if piece in _SPACES:
        return _SPACES[piece]
    if _BLANK.fullmatch(piece):
        return "some whitespace"
    return f"`{piece}`" if 0 < len(piece) <= _MAX_PIECE and "`" not in piece and piece.strip() == piece else ""
