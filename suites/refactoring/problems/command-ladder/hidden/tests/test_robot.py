import pytest
from robot import run


@pytest.mark.parametrize(
    ("commands", "place"),
    [
        ([], (0, 0, "N")),
        (["forward", "forward"], (0, 2, "N")),
        (["back"], (0, -1, "N")),
        (["left", "forward"], (-1, 0, "W")),
        (["left", "back"], (1, 0, "W")),
        (["right", "forward"], (1, 0, "E")),
        (["right", "back"], (-1, 0, "E")),
        (["left", "left", "forward"], (0, -1, "S")),
        (["right", "right", "back"], (0, 1, "S")),
        (["left"] * 4, (0, 0, "N")),
        (["right"] * 5, (0, 0, "E")),
        (["right", "right", "right"], (0, 0, "W")),
        (["left", "left", "left"], (0, 0, "E")),
    ],
)
def test_where_it_ends(commands, place):
    assert run(commands) == (place, [])


@pytest.mark.parametrize(
    ("commands", "carried"),
    [
        (["take a"], ["a"]),
        (["take a", "take b b", "take c"], ["a", "b b"]),
        (["drop"], []),
        (["take a", "take b", "drop", "take c"], ["a", "c"]),
        (["take "], [""]),
    ],
)
def test_what_it_carries(commands, carried):
    assert run(commands) == ((0, 0, "N"), carried)


@pytest.mark.parametrize("command", ["jump", "take", "", "Left"])
def test_what_it_does_not_know(command):
    with pytest.raises(ValueError):
        run(["forward", command])
