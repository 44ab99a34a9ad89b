import pytest
from wrap import wrap


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 5, []),
        ("  \n ", 5, []),
        ("one", 5, ["one"]),
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 8, ["one two", "three"]),
        ("one two three", 13, ["one two three"]),
        ("a b c d", 3, ["a b", "c d"]),
        ("  a \t b\nc ", 10, ["a b c"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("xy abcdefgh i j", 4, ["xy", "abcd", "efgh", "i j"]),
        ("abcde f", 3, ["abc", "de", "f"]),
        ("abcd e", 3, ["abc", "d e"]),
    ],
)
def test_what_it_returns(text, width, lines):
    assert wrap(text, width) == lines


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("text", 0),
        ("", -1),
    ],
)
def test_what_it_refuses(text, width):
    with pytest.raises(ValueError):
        wrap(text, width)
