from structure import complexity, depth


def test_blocks_are_not_nested():
    assert depth() <= 1


def test_no_function_is_complex():
    assert complexity() <= 6
