"""Remove characters from untrusted text that act on a terminal.

Every piece of text that a report shows passes through here when the view is built. What remains may still hold markup
of any language; each format escapes that by its own rules.
"""

import re

from codegate.candidates import Redactor

_SEQUENCES = re.compile(
    # ECMA-48 control strings (OSC, DCS, SOS, PM, APC) with their payload, as far as the line goes
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # control sequences: colours, cursor moves
    r"|\x1b[ -/]*[0-~]?"  # two-byte escapes
)
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNSHOWABLE = re.compile(
    "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"  # would reorder or hide what is around them
    "\ud800-\udfff\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff"  # no characters: surrogates, non-characters
    + "".join(chr((plane << 16) + low) for plane in range(1, 17) for low in (0xFFFE, 0xFFFF))
    + "\U000e0000-\U000e007f]"  # tag characters: invisible
)


def plain(text: str) -> str:
    """Remove control characters and characters that hide others.

    Escape sequences and characters that reorder text are removed as well. Line ends of every kind become a line feed,
    and other characters that cannot be shown U+FFFD. Tabs stay.
    """
    text = _SEQUENCES.sub("", text)
    text = _LINE_ENDS.sub("\n", text)
    text = _CONTROLS.sub("", text)
    return _UNSHOWABLE.sub("\ufffd", text)


def untrusted(text: str, redactor: Redactor | None = None) -> str:
    """Remove API keys and runner commands from ``text``.

    GitHub's runner reads ``::name::`` at the start of a line (after blanks) and ``##[name]`` anywhere in one. Invisible
    characters are removed, because the runner ignores them when it looks for commands.
    """
    text = plain(text)  # first what is invisible, which could stand within a key
    if redactor is not None:
        text = redactor.redact_whole(text)
    signs = (c if c.isprintable() or c in "\t\n" else " " if c.isspace() else "" for c in text)
    return re.sub(r"^([^\S\n]*)::", r"\1: :", "".join(signs).replace("##[", "# #["), flags=re.MULTILINE)


def one_line(text: str, limit: int = 200) -> str:
    """Return ``text`` as one plain line, visibly shortened to ``limit``."""
    line = " ".join(plain(text[: limit * 8]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
