from structure import complexity, statements


def test_nothing_is_written_three_times():
    assert statements() <= 25


def test_no_function_is_complex():
    assert complexity() <= 5
