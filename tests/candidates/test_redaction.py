import base64
import html
import json
import shlex
import textwrap
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.candidates import Message, ToolCall, environment_secrets
from codegate.candidates.redaction import MARK, Redactor
from tests.kit.runs import LATE, outcome

KEY = "sk-a/b+c=Zq7Lw2Xv9Rt4Bn8"


def test_other_text_stays() -> None:
    text = "Incorrect API key provided: sk-a****n8. See the documentation."
    assert Redactor(KEY).redact(text) == text
    assert Redactor("none").redact("none") == "none", "what stands for no key is no key"
    assert Redactor("none").redact_whole("none") == "none"
    assert Redactor("test").redact_whole("def test_it") == "def test_it", "a word that a local server takes for a key"
    assert Redactor("test").redact("the key test is wrong") == f"the key {MARK} is wrong"
    code = "def key(self):\n    return self.secret_key or 'sk-' + 'a/b'\n" * 100
    assert Redactor(KEY).redact_whole(code) == code
    assert Redactor("").redact(text) == text


@given(st.text(), st.text(), st.integers(0, 20), st.integers(8, 24))
def test_no_eight_characters_of_the_key_survive(before: str, after: str, start: int, length: int) -> None:
    part = KEY[start : start + length]
    redacted = Redactor(KEY).redact(before + part + after)
    windows = {KEY[i : i + 8] for i in range(len(KEY) - 7)}
    assert not any(window in redacted for window in windows)


@given(st.text(alphabet="abcdefgh "))
def test_text_without_the_key_is_unchanged(text: str) -> None:
    assert Redactor(KEY).redact(text) == text


ENCODINGS = {
    "raw": KEY,
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64, second place": base64.b64encode(b"x" + KEY.encode() + b"y").decode(),
    "base64, third place": base64.b64encode(b"xx" + KEY.encode() + b"yy").decode(),
    "base64 for URLs": base64.urlsafe_b64encode(KEY.encode()).decode(),
    "base64 in lines": "\n".join(textwrap.wrap(base64.b64encode(KEY.encode()).decode(), 9)),
    "hexadecimal": KEY.encode().hex(),
    "HEXADECIMAL": KEY.encode().hex().upper(),
    "hexadecimal, apart": KEY.encode().hex(" "),
    "URL": urllib.parse.quote(KEY, safe=""),
    "URL, small": urllib.parse.quote(KEY, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%3D", "%3d"),
    "URL twice": urllib.parse.quote(urllib.parse.quote(KEY, safe=""), safe=""),
    "JSON": json.dumps(KEY).replace("/", "\\/"),
    "HTML": html.escape(KEY),
    "shell": shlex.quote(KEY),
    "backwards": KEY[::-1],
    "base64, backwards": base64.b64encode(KEY.encode()).decode()[::-1],
    "in lines": "\n".join(KEY),
    "with blanks": " ".join(KEY),
    "with nothing": "\u200b".join(KEY),
    "with marks": "\ufeff\u2060".join(KEY),
    "in lines, as JSON": json.dumps("\n".join(KEY)),
    "with nothing, as JSON": json.dumps("\u200b".join(KEY)),
    "with nothing, as JSON in JSON": json.dumps(json.dumps("\ufeff".join(KEY))),
    "UTF-16": KEY.encode("utf-16-le").decode("latin-1"),
    "UTF-16, big end": KEY.encode("utf-16-be").decode("latin-1"),
    "UTF-16 in base64": base64.b64encode(KEY.encode("utf-16-le")).decode(),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_is_replaced_whole_in_long_texts_and_in_data(name: str) -> None:
    text = f"before {ENCODINGS[name]} after"
    for left in (Redactor(KEY).redact_whole(text), Redactor(KEY).redact(text)):
        assert left.startswith("before ")
        assert left.endswith(" after")
        assert MARK in left
        assert len(left) <= len("before  after") + len(MARK) + 10, left
    data = {"a": [text, {text: 1}], "b": (text, None, 2.5)}
    clean = Redactor("", "none", "another-key-1", KEY).clean(data)
    assert ENCODINGS[name] not in json.dumps(clean, ensure_ascii=False)
    assert isinstance(clean["b"], tuple)


def test_keys_with_signs_of_markup_and_shell() -> None:
    key = "ab&<>\"'cd$(x)`y`"
    for form in (html.escape(key), shlex.quote(key), json.dumps(key)):
        assert MARK in Redactor(key).redact_whole(form), form


def test_secrets_of_the_environment_go_by_their_names() -> None:
    environment = {"A_KEY": "1", "x_token": "2\n", "MY_SECRET": "3", "db_password": "4", "KEYS": "5", "EMPTY_KEY": " "}
    assert environment_secrets(environment) == ("1", "2", "3", "4")


def test_a_model_without_a_key_in_it_is_the_same_object() -> None:
    message = Message(role="user", text="\ud800", tool_calls=(ToolCall(id="1", name="n", arguments="{}"),))
    assert Redactor(KEY).clean_model(message) is message
    echo = message.model_copy(update={"text": f"it is {KEY}"})
    assert Redactor(KEY).clean_model(echo) == message.model_copy(update={"text": f"it is {MARK}"})
    lost = outcome(None, fault=LATE.model_copy(update={"message": KEY}))
    assert Redactor(KEY).clean_model(lost) == outcome(None, fault=LATE.model_copy(update={"message": MARK}))
