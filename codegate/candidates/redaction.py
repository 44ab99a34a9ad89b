"""Remove keys from text: whole, encoded, split up, partial."""

import base64
import html
import json
import os
import re
import shlex
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from codegate.candidates.endpoint import NO_KEY
from codegate.candidates.providers import SECRET_NAME, model_provider
from codegate.candidates.spec import CandidateSpec

MARK: Final = "[redacted]"
WINDOW: Final = 8
"""Fewest consecutive characters of a key or its encoding that are redacted."""
SHORTEST: Final = len(MARK)
"""Least length of a secret: shorter values are words such as ``none`` or ``test``, which code needs."""
LONGEST_WORD: Final = 19
"""Most characters of a secret that can also be a word of the code."""

# Separators within a split key: blanks, line ends, invisible characters, and the zeros of UTF-16.
_BETWEEN: Final = r"[\s\x00\xad\u034f\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufe0f\ufeff]"
_SPLITTER: Final = re.compile(_BETWEEN)
# The same separators, escaped as JSON within a text, such as in the arguments of a tool call.
_SPELLED: Final = (
    r"\\+(?:[nrtf]|u(?:0000|00a[0d]|034f|061c|115f|180e|200[b-fB-F]|202[89a-eA-E]|206[0-9]"
    r"|[fF][eE]0[fF]|[fF][eE][fF][fF]))"
)
_SPELLED_SPLITTER: Final = re.compile(f"{_BETWEEN}|{_SPELLED}")


Model = TypeVar("Model", bound=BaseModel)

_LEARNED: Final[list[str]] = []


def remember_keys(*keys: str) -> None:
    """Make all redactors remove these keys, too.

    Use it for keys that no environment variable holds.
    """
    _LEARNED.extend(key for key in dict.fromkeys(keys) if key not in _LEARNED)


class Redactor:
    """Replaces keys in texts, in all their encodings.

    Encodings are URL (once and twice), JSON, HTML, shell, base64 (all three alignments, both alphabets), hexadecimal,
    UTF-16, and each of these backwards. Keys split up by blanks or invisible characters are replaced too. Keys shorter
    than ``SHORTEST`` are replaced by ``redact`` only, where they occur whole.

    Args:
        keys: the keys; empty keys and ``NO_KEY`` are ignored.
    """

    def __init__(self, *keys: str) -> None:
        self._keys = keys
        self._learned = -1
        self._know()

    def _know(self) -> None:
        if (learned := len(_LEARNED)) == self._learned:
            return
        known = [key for key in dict.fromkeys((*self._keys, *_LEARNED[:learned])) if key and key != NO_KEY]
        self._short = sorted((key for key in known if len(key) < SHORTEST), key=len, reverse=True)
        forms = {form for key in known if len(key) >= SHORTEST for form in _forms(key)}
        self._grams = {form[start : start + WINDOW] for form in forms for start in range(len(form) - WINDOW + 1)}
        self._forms = sorted(forms, key=lambda form: (-len(form), form))  # longest first: one can begin with another
        self._learned = learned

    def redact_whole(self, text: str) -> str:
        """Replace keys that occur whole, in any encoding."""
        self._know()
        if not self._forms:
            return text
        joined = "".join(text.split())
        if not (joined.isascii() and joined.isprintable()):
            joined = _SPLITTER.sub("", joined)
        spelled = _SPELLED_SPLITTER.sub("", text) if "\\" in text else joined
        found = [form for form in self._forms if form in joined or form in spelled]
        if not found:
            return text
        apart = f"(?:{_BETWEEN}|{_SPELLED})*+"
        pattern = "|".join(apart.join(re.escape(sign) for sign in form) for form in found)
        return re.sub(pattern, MARK, text)

    def redact(self, text: str) -> str:
        """Replace whole keys and parts of keys.

        Slow for a long text: truncate it first.
        """
        self._know()
        for key in self._short:
            text = text.replace(key, MARK)
        text = self.redact_whole(text)
        places = [place for place, sign in enumerate(text) if not _SPLITTER.match(sign)]
        joined = "".join(text[place] for place in places)
        pieces: list[str] = []
        kept = 0
        for start in range(len(joined) - WINDOW + 1):
            if joined[start : start + WINDOW] in self._grams:
                first, last = places[start], places[start + WINDOW - 1]
                if first >= kept:
                    if first > kept or not pieces:
                        pieces.append(text[kept:first])
                    pieces.append(MARK)
                kept = last + 1
        pieces.append(text[kept:])
        return "".join(pieces)

    def clean(self, value: Any) -> Any:
        """Return JSON data with keys removed from all its texts."""
        if isinstance(value, str):
            return self.redact_whole(value)
        if isinstance(value, dict):
            return {self.clean(key): self.clean(entry) for key, entry in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.clean(entry) for entry in value)
        return value

    def clean_model(self, model: Model, *kept: str) -> Model:
        """Return ``model`` without keys; the same object if unchanged.

        The fields ``kept`` stay as they are: an id can contain a word that is also a password.
        """
        before = model.model_dump(by_alias=True)
        after = {name: value if name in kept else self.clean(value) for name, value in before.items()}
        return model if after == before else type(model).model_validate(after)


def environment_secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values, stripped, of variables named like ``SECRET_NAME``.

    The headers in ``*_CUSTOM_HEADERS`` are secrets too, without a scheme such as Bearer.
    """
    lines = [
        line for name, value in environment.items() if name.endswith("_CUSTOM_HEADERS") for line in value.splitlines()
    ]
    sent = (word for line in lines for word in line.partition(":")[2].split()[-1:] if len(word) >= SHORTEST)
    values = (value.strip() for name, value in environment.items() if SECRET_NAME.search(name))
    return (*filter(None, values), *sent)


def redactor_for(candidates: Iterable[CandidateSpec] = ()) -> Redactor:
    """Return a redactor for secrets of the environment and candidates."""
    return Redactor(*_keys_of(candidates), *environment_secrets(os.environ))


def answer_redactor(candidates: Iterable[CandidateSpec] = (), *keys: str) -> Redactor:
    """Return a redactor that removes only keys from models' texts.

    A server can echo its key, but it never got the environment's other secrets. If an answer contains such a secret,
    for example the password of a test's database, the secret is also a word of the repository's code. A short key
    without a digit, such as the ``placeholder`` of a local server, is kept for the same reason.
    """
    given = (*_keys_of(candidates), *keys)
    return Redactor(*(key for key in given if len(key) > LONGEST_WORD or any(map(str.isdigit, key))))


def _keys_of(candidates: Iterable[CandidateSpec]) -> list[str]:
    asking = [candidate for candidate in candidates if candidate.calls_a_model]
    named = [name for c in asking for name in (model_provider(c.provider).key_variable, c.api_key_env)]
    return [os.environ.get(name, "").strip() for name in named if name]


def _forms(key: str) -> Iterator[str]:
    for text in (key, key[::-1]):
        raw = text.encode()
        quoted = urllib.parse.quote(text, safe="")
        forms = {
            text,
            quoted,
            re.sub("%..", lambda match: match[0].lower(), quoted),
            urllib.parse.quote(quoted, safe=""),
            json.dumps(text)[1:-1],
            text.replace("/", "\\/"),
            html.escape(text),
            html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
            shlex.quote(text)[1:-1] if "'" in text else text,
            *_coded(raw),
            *_coded(text.encode("utf-16-le")),
            *_coded(text.encode("utf-16-be")),
        }
        for form in forms:
            yield form
            yield form[::-1]


def _coded(raw: bytes) -> Iterator[str]:
    """Yield the hexadecimal and base64 encodings of ``raw``.

    Base64 lacks its first and last characters, which depend on the bytes beside ``raw``.
    """
    yield raw.hex()
    yield raw.hex().upper()
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + raw).decode().rstrip("=")
        # The first and last characters mix in bits that are not the key's.
        core = coded[-(-shift * 8 // 6) :][:-1] if shift else coded[:-1]
        yield core
        yield core.replace("+", "-").replace("/", "_")
