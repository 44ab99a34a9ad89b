from roman import to_roman


def test_a_small_number():
    assert to_roman(14) == "XIV"
