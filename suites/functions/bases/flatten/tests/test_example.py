from flatten import flatten


def test_a_nested_list():
    assert flatten({"a": {"b": [1, 2]}}) == {"a.b.0": 1, "a.b.1": 2}
