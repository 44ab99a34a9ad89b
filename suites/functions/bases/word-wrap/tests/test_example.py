from wrap import wrap


def test_two_lines():
    assert wrap("one two three", 7) == ["one two", "three"]
