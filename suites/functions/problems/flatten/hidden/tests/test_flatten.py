import pytest
from flatten import flatten


@pytest.mark.parametrize(
    ("data", "flat"),
    [
        ({}, {}),
        ({"a": 1}, {"a": 1}),
        ({"a": {"b": {"c": 1}}}, {"a.b.c": 1}),
        ({"a": [1, [2, 3]]}, {"a.0": 1, "a.1.0": 2, "a.1.1": 3}),
        ({"a": [{"b": 1}, {"b": 2}]}, {"a.0.b": 1, "a.1.b": 2}),
        ({"a": {}, "b": []}, {"a": {}, "b": []}),
        ({"a": {"b": {}}}, {"a.b": {}}),
        ({"a": None, "b": "xy", "c": (1, 2)}, {"a": None, "b": "xy", "c": (1, 2)}),
        ({"a.b": 1, "a": {"b": 2}}, {r"a\.b": 1, "a.b": 2}),
        ({"a\\": {"b": 1}}, {"a\\\\.b": 1}),
        ({"": {"": 1}}, {".": 1}),
        ({"x": {"y": False}, "z": 0}, {"x.y": False, "z": 0}),
    ],
)
def test_what_it_returns(data, flat):
    assert flatten(data) == flat
