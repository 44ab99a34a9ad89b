import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.reporting.plain import one_line, plain

hostile_text = st.text(
    st.characters(codec=None) | st.sampled_from("\x1b[]\\;?m0189\x07\x9b\x9c\x9d\x90\r\n\u2028\u202e\ud800"),
    max_size=60,
)


def inert(text: str) -> bool:
    return all(
        char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"} for char in text
    ) and not any(char in text for char in "\u202e\u2066\ufeff\ufffe\uffff")


@given(hostile_text)
def test_nothing_active_is_left(text: str) -> None:
    cleaned = plain(text)
    assert inert(cleaned)
    assert plain(cleaned) == cleaned
    cleaned.encode()


@given(hostile_text, st.integers(1, 50))
def test_one_line_is_one_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert inert(line)
    assert len(line) <= limit
    assert "\n" not in line
    assert "\t" not in line


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;https://evil.example\x07click\x1b]8;;\x07", "click"),
        ("\x1b]0;title\x1b\\shown", "shown"),
        ("\x9b31mred\x9d0;title\x9cshown", "redshown"),
        ("\x1bPq payload\x1b\\shown", "shown"),
        ("\x1b(Bshown\x1b7\x1bc", "shown"),
        ("cut off \x1b[31", "cut off "),
        ("50%\rdone\r\nnext\u2028last", "50%\ndone\nnext\nlast"),
        ("tab\tstays, ümläute 日本 🙂 too", "tab\tstays, ümläute 日本 🙂 too"),
        ("a\ud800b", "a\ufffdb"),
    ],
)
def test_what_is_left(text: str, left: str) -> None:
    assert plain(text) == left
