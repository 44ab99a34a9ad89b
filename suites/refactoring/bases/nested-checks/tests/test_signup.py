import pytest
from signup import problem_with

GOOD = {"name": "Ann", "password": "long enough", "terms": True, "age": 30}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, None),
        ({"age": 16}, None),
        ({"name": "  Ann  "}, None),
        ({"name": "x" * 20}, None),
        ({"name": "   "}, "name is empty"),
        ({"name": "x" * 21}, "name is too long"),
        ({"name": "a b"}, "name has odd characters"),
        ({"name": "Bob"}, "name is taken"),
        ({"password": "short"}, "password is too short"),
        ({"password": "my name is ANN"}, "password has the name in it"),
        ({"terms": False}, "terms not accepted"),
        ({"terms": 1}, "terms not accepted"),
        ({"age": 15}, "too young"),
        ({"age": "30"}, "age is not a number"),
        ({"age": None}, "age is not a number"),
        ({"name": "", "password": "", "terms": False}, "name is empty"),
        ({"password": "", "terms": False, "age": 3}, "password is too short"),
        ({"terms": False, "age": 3}, "terms not accepted"),
    ],
)
def test_the_first_problem_is_named(change, expected):
    assert problem_with(GOOD | change, {"bob"}) == expected


@pytest.mark.parametrize(
    ("missing", "expected"),
    [("name", "name is missing"), ("password", "password is missing"), ("terms", "terms not accepted"), ("age", None)],
)
def test_what_is_missing(missing, expected):
    form = {key: value for key, value in GOOD.items() if key != missing}
    assert problem_with(form, set()) == expected
