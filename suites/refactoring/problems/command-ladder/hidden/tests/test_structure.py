from structure import complexity, longest, statements


def test_no_function_is_complex():
    assert complexity() <= 5


def test_no_function_is_long():
    assert longest() <= 15


def test_there_are_few_statements():
    assert statements() <= 30
