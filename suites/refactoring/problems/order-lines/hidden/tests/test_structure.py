from structure import complexity, longest


def test_no_function_is_complex():
    assert complexity() <= 5


def test_no_function_is_long():
    assert longest() <= 15
