from collections import Counter

import pytest
from flags import Flags

USERS = [{"id": number} for number in range(2_000)]


def flag(*rules, on=1, off=0, **more):
    return {"variants": {"on": on, "off": off}, "off": "off", "rules": list(rules), **more}


def when(*conditions, **then):
    return {"if": list(conditions), **(then or {"variant": "on"})}


NOBODY = when(percent=0)


def has(conditions, **user):
    """Return whether the only rule that turns the flag on holds."""
    return Flags({"f": flag(when(*conditions), NOBODY)}).variant("f", {"id": 1, **user}) == "on"


def shares(definition):
    flags = Flags({"f": definition})
    return Counter(flags.variant("f", user) for user in USERS)


def test_all_users_take_part():
    assert shares(flag()) == {"on": 2_000}


def test_a_flag_that_is_not_enabled():
    assert shares(flag(enabled=False)) == {"off": 2_000}


def test_the_first_rule_that_holds_decides():
    definition = flag(when(["plan", "=", "pro"]), when(["country", "=", "de"], variant="off"), when(variant="on"))
    flags = Flags({"f": definition})
    users = [{"id": 1, "plan": "pro", "country": "de"}, {"id": 1, "country": "de"}, {"id": 1}]
    assert [flags.variant("f", user) for user in users] == ["on", "off", "on"]


def test_places_are_as_documented():
    flags = Flags({"new-cart": flag(when(percent=30), on=1, off=1)})
    assert "".join(flags.variant("new-cart", {"id": number})[1] for number in range(40)) == "fffffffnnfnfnffnffffffffffffffffffnfffff"


def test_a_rollout_has_about_its_share():
    assert 520 <= shares(flag(when(percent=30)))["on"] <= 680


def test_a_larger_rollout_keeps_its_users():
    def members(percent):
        flags = Flags({"f": flag(when(percent=percent))})
        return {user["id"] for user in USERS if flags.variant("f", user) == "on"}

    assert members(10) < members(25) < members(90)


def test_weights():
    found = shares({"variants": {"a": 1, "b": 0, "c": 3}, "off": "b"})
    assert 1_400 <= found["c"] <= 1_600
    assert found["a"] + found["c"] == 2_000


@pytest.mark.parametrize(
    ("condition", "value", "expected"),
    [
        (["x", "=", 5], 5, True),
        (["x", "!=", 5], 6, True),
        (["x", "in", ["a", "b"]], "b", True),
        (["x", "in", ["a", "b"]], "c", False),
        (["x", "<", 5], 5, False),
        (["x", "<=", 5], 5, True),
        (["x", ">", "a"], "b", True),
        (["x", "starts", "ad"], "admin", True),
        (["x", "version>=", "1.9"], "1.10.2", True),
        (["x", "version>=", "1.9"], "1.8.9", False),
    ],
)
def test_conditions(condition, value, expected):
    assert has([condition], x=value) is expected


def test_all_conditions_must_hold():
    both = [["x", "=", 1], ["y", "=", 2]]
    assert (has(both, x=1, y=2), has(both, x=1, y=3), has(both, x=1)) == (True, False, False)


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("condition", "value"),
    [
        (["x", "=", 1], True),
        (["x", "in", [0]], False),
        (["x", "<", 5], "4"),
        (["x", "<", 5], None),
        (["x", ">=", 0], True),
        (["x", "starts", "1"], 12),
        (["x", "version>=", "1.0"], "1.x"),
        (["x", "version>=", "1.0"], 2),
    ],
)
def test_other_types_do_not_match(condition, value):
    assert has([condition], x=value) is False


@pytest.mark.edge_case
def test_a_missing_attribute_matches_nothing():
    assert has([["x", "!=", 1]]) is False
    assert has([["x", "!=", 1]], x=None) is True


@pytest.mark.edge_case
@pytest.mark.parametrize(("have", "expected"), [("2", True), ("2.0.0", True), ("1.99", False), ("2.0.1", True)])
def test_short_versions(have, expected):
    assert has([["x", "version>=", "2.0"]], x=have) is expected


@pytest.mark.edge_case
@pytest.mark.parametrize(("percent", "expected"), [(0, 0), (100, 2_000)])
def test_none_and_all(percent, expected):
    assert shares(flag(when(percent=percent)))["on"] == expected


def test_needs():
    flags = Flags({"base": flag(when(["beta", "=", True]), NOBODY), "top": flag(needs={"base": "on"})})
    assert flags.variant("top", {"id": 1, "beta": True}) == "on"
    assert flags.variant("top", {"id": 1}) == "off"


@pytest.mark.edge_case
@pytest.mark.parametrize(
    "definition",
    [
        {"variants": {"on": 1}, "off": "off"},
        flag(on=0),
        flag(on=-1, off=2),
        flag(on=1.5),
        flag(needs={"other": "on"}),
        flag(needs={"cart": "on"}),
        flag(when(["x", "~", 1])),
        flag(when(percent=101)),
        flag(when(variant="red")),
        flag(when(variant="on", percent=5)),
        flag({"if": []}),
    ],
)
def test_definitions_are_checked(definition):
    with pytest.raises(ValueError, match="cart"):
        Flags({"cart": definition})


@pytest.mark.edge_case
def test_unknown_flags():
    with pytest.raises(KeyError):
        Flags({}).variant("f", {"id": 1})


@pytest.mark.performance
def test_shared_needs_are_checked_once():
    count = 18
    definitions = {f"f{row}-{side}": flag(enabled=False) for row in range(count) for side in (0, 1)}
    for row in range(1, count):
        for side in (0, 1):
            definitions[f"f{row}-{side}"]["needs"] = Counted({f"f{row - 1}-0": "on", f"f{row - 1}-1": "on"})
    Counted.looked = 0
    Flags(definitions)
    assert Counted.looked <= 500


class Counted(dict):
    looked = 0

    def __iter__(self):
        Counted.looked += 1
        return super().__iter__()

    def items(self):
        Counted.looked += 1
        return super().items()

    def keys(self):
        Counted.looked += 1
        return super().keys()
