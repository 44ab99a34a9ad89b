import base64
import urllib.parse

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegate.candidates.redaction import MARK, Redactor

KEY = "sk-a/b+c=Zq7Lw2Xv9Rt4Bn8"


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_base64_at_every_alignment(shift: int) -> None:
    coded = base64.b64encode(b"x" * shift + KEY.encode() + b"tail").decode()
    left = Redactor(KEY).redact(f"body {coded} end")
    assert MARK in left
    assert left.startswith("body ")
    assert left.endswith(" end")
    # What remains of the encoding is too little to decode more than a few characters of the key.
    assert len(left) < len("body  end") + len(MARK) + 14


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
        urllib.parse.quote(KEY, safe=""),
        KEY[:8],
        KEY[-8:],
        KEY[4:14],
    ],
)
def test_every_form_is_replaced(form: str) -> None:
    assert Redactor(KEY).redact(f"a {form} b {form}") == f"a {MARK} b {MARK}"


def test_other_text_stays() -> None:
    text = "Incorrect API key provided: sk-a****n8. See the documentation."
    assert Redactor(KEY).redact(text) == text
    assert Redactor("none").redact("no") == "no"
    assert Redactor("").redact(text) == text


@settings(max_examples=50)
@given(st.text(), st.text(), st.integers(0, 20), st.integers(8, 24))
def test_no_eight_characters_of_the_key_survive(before: str, after: str, start: int, length: int) -> None:
    part = KEY[start : start + length]
    redacted = Redactor(KEY).redact(before + part + after)
    windows = {KEY[i : i + 8] for i in range(len(KEY) - 7)}
    assert not any(window in redacted for window in windows)


@given(st.text(alphabet="abcdefgh "))
def test_text_without_the_key_is_unchanged(text: str) -> None:
    assert Redactor(KEY).redact(text) == text
