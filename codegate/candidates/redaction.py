"""Keys kept out of every text: raw, encoded, or in part."""

import base64
import json
import urllib.parse
from typing import Final

MARK: Final = "[redacted]"
WINDOW: Final = 8
"""So many consecutive characters of a key, or of an encoding of it, are taken for the key."""


class Redactor:
    """Replaces every trace of a key in a text.

    A trace is any run of at least 8 characters that also occurs in the key itself or in its URL, JSON, base64
    (all three alignments, both alphabets) or hexadecimal encoding; so a beginning or an end of the key is one.
    Keys shorter than 8 characters are replaced where they occur whole.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._grams = {
            form[start : start + WINDOW]
            for form in _forms(key)
            if len(key) >= WINDOW
            for start in range(len(form) - WINDOW + 1)
        }

    def redact(self, text: str) -> str:
        """Return ``text`` with every trace of the key replaced. Costs time in its length: cap it first."""
        if not self._key:
            return text
        text = self.redact_whole(text)
        hits = [start for start in range(len(text) - WINDOW + 1) if text[start : start + WINDOW] in self._grams]
        pieces: list[str] = []
        kept = 0
        for start in hits:
            if start >= kept:
                if start > kept or not pieces:
                    pieces.append(text[kept:start])
                pieces.append(MARK)
            kept = start + WINDOW
        pieces.append(text[kept:])
        return "".join(pieces)

    def redact_whole(self, text: str) -> str:
        """Return ``text`` with the key itself replaced; quick, for texts of any length."""
        return text.replace(self._key, MARK) if self._key else text


def _forms(key: str) -> set[str]:
    raw = key.encode()
    forms = {key, urllib.parse.quote(key, safe=""), json.dumps(key)[1:-1], raw.hex(), raw.hex().upper()}
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + raw).decode().rstrip("=")
        # The first and last characters mix in bits that are not the key's.
        core = coded[-(-shift * 8 // 6) :][:-1] if shift else coded[:-1]
        forms |= {core, core.replace("+", "-").replace("/", "_")}
    return forms
