import pytest
from slug import slug


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Hello World", "hello-world"),
        ("Crème brûlée: how-to!", "creme-brulee-how-to"),
        ("  10 things -- you (really) need  ", "10-things-you-really-need"),
        ("Straße", "strasse"),
        ("snake_case", "snake-case"),
    ],
)
def test_a_title(title, expected):
    assert slug(title) == expected


@pytest.mark.parametrize(("longest", "expected"), [(11, "the-quick"), (9, "the-quick"), (8, "the"), (3, "the")])
def test_no_word_is_cut(longest, expected):
    assert slug("The quick brown fox", longest) == expected


@pytest.mark.edge_case
def test_a_long_first_word_is_cut():
    assert slug("internationalization matters", 5) == "inter"


@pytest.mark.edge_case
def test_the_limit_is_reached_exactly():
    assert slug("abc def", 7) == "abc-def"


@pytest.mark.edge_case
@pytest.mark.parametrize(("title", "expected"), [("Don't", "dont"), ("rock ’n’ roll", "rock-n-roll")])
def test_apostrophes(title, expected):
    assert slug(title) == expected


@pytest.mark.edge_case
@pytest.mark.parametrize("title", ["", "!!!", "'", "日本"])
def test_nothing_is_left(title):
    with pytest.raises(ValueError):
        slug(title)


@pytest.mark.edge_case
def test_the_limit_is_checked():
    with pytest.raises(ValueError):
        slug("abc", 0)
