from structure import complexity, depth


def test_no_function_is_complex():
    assert complexity() <= 5


def test_blocks_are_not_nested_deep():
    assert depth() <= 2
