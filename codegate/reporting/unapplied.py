"""Edits that could not be applied, beside the lines of the file that come closest to what they were looking for."""

import difflib
from collections.abc import Sequence
from typing import Final

from codegate.candidates import Message
from codegate.solving import BlockEdit, parse_edits

# An answer may be any text, and comparing two long texts line by line takes quadratic time.
_BLOCKS: Final = 8
_SEARCHED: Final = 100
_SHOWN: Final = 6000
_COMPARED: Final = 1000
_LONGEST: Final = 500  # characters of a line that are compared


def unapplied_edits(messages: Sequence[Message]) -> str:
    """Return the edits of the last answer in the form of a diff, empty without any.

    A SEARCH part is compared with what the model was shown: ``-`` is in the file, ``+`` in the answer.
    """
    last = next((number for number in reversed(range(len(messages))) if messages[number].role == "assistant"), None)
    if last is None:
        return ""
    shown = "\n".join(message.text for message in messages[:last]).split("\n")[-_SHOWN:]
    parts = []
    for edit in parse_edits(messages[last].text).edits[:_BLOCKS]:
        if isinstance(edit, BlockEdit):
            parts += [f"+++ {edit.path}", "@@ SEARCH, against the closest lines that the model was shown @@"]
            parts += _compared(edit.search[:_SEARCHED], shown)
            parts += ["@@ REPLACE @@", *(f"+{line}" for line in edit.replace)]
        else:
            parts.append(edit.diff)
    return "\n".join(parts)


def _compared(search: Sequence[str], shown: Sequence[str]) -> list[str]:
    same = difflib.SequenceMatcher(None, shown, search, autojunk=False).find_longest_match()
    start = max(same.a - same.b, 0)
    if not same.size:
        longest, lines = max(search, key=len, default=""), [line[:_LONGEST] for line in shown[-_COMPARED:]]
        near = difflib.get_close_matches(longest[:_LONGEST], lines, 1, 0.4)
        if not near:
            return [f"+{line}" for line in search]
        start = len(shown) - len(lines) + lines.index(near[0])
    lines = list(difflib.unified_diff(shown[start : start + len(search)], search, lineterm="", n=len(search)))[3:]
    return lines or [f" {line}" for line in search]
