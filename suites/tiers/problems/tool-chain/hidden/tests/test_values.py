import pytest
from chain.values import fill

RESULTS = {"user": {"name": "Ann", "tags": ["x", "y"], "7": "seven"}, "count": 3, "none": None}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("${count}", 3),
        ("${user.tags}", ["x", "y"]),
        ("${user.tags.1}", "y"),
        ("Hello ${user.name}, ${count} new", "Hello Ann, 3 new"),
        ("tags: ${user.tags}", 'tags: ["x","y"]'),
        ({"to": ["${user.name}", {"n": "${count}"}], "k": 1}, {"to": ["Ann", {"n": 3}], "k": 1}),
    ],
)
def test_references_are_replaced(value, expected):
    assert fill(value, RESULTS) == expected


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("$$", "$"),
        ("$${count}", "${count}"),
        ("$$${count}", "$3"),
        ("costs $5", "costs $5"),
        ("${none}", None),
        ("is ${none}", "is null"),
        ("${user.7}", "seven"),
        ({"${count}": 1}, {"${count}": 1}),
        ("", ""),
    ],
)
def test_signs_and_odd_values(value, expected):
    assert fill(value, RESULTS) == expected


@pytest.mark.edge_case
@pytest.mark.parametrize(
    "reference", ["${user.age}", "${user.tags.2}", "${user.tags.x}", "${count.x}", "${other}", "${user.tags.-1}"]
)
def test_what_is_not_there(reference):
    with pytest.raises(LookupError) as raised:
        fill(["a " + reference], RESULTS)
    assert reference in str(raised.value)


@pytest.mark.edge_case
def test_values_are_not_filled_twice():
    assert fill("${a}", {"a": "${b}"}) == "${b}"
    value = {"x": ["${a}"]}
    fill(value, {"a": 1})
    assert value == {"x": ["${a}"]}
