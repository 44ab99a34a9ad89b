from structure import complexity, statements


def test_there_are_few_statements():
    assert statements() <= 20


def test_no_function_is_complex():
    assert complexity() <= 3
