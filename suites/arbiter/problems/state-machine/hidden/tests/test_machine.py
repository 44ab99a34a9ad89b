import pytest
from machine import Machine
from steps import steps

MOVES = [("idle", "go", "busy"), ("busy", "stop", "idle"), ("*", "reset", "start"), ("busy", "reset", "idle")]


def test_events_move_the_machine():
    machine = Machine("idle", MOVES)
    assert machine.state(0) == "idle"
    assert machine.send("go", 1) is True
    assert machine.state(1) == "busy"
    assert machine.send("stop", 2) is True
    assert machine.state(2) == "idle"


def test_an_event_that_leads_nowhere():
    machine = Machine("idle", MOVES)
    assert machine.send("stop", 1) is False
    assert machine.state(1) == "idle"


def test_a_move_of_every_state():
    machine = Machine("idle", MOVES)
    assert machine.send("reset", 1) is True
    assert machine.state(1) == "start"


def test_a_move_of_the_state_itself_goes_first():
    machine = Machine("busy", MOVES)
    assert machine.send("reset", 1) is True
    assert machine.state(1) == "idle"


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("moves", "timeouts"),
    [
        ([("a", "x", "b"), ("a", "x", "c")], {}),
        ([("a", "x", "b"), ("a", "x", "b")], {}),
        ([("*", "x", "b"), ("*", "x", "c")], {}),
        ([("a", "x", "*")], {}),
        ([], {"a": (0, "b")}),
        ([], {"*": (5, "b")}),
        ([], {"a": (5, "*")}),
    ],
)
def test_what_makes_no_sense_is_refused(moves, timeouts):
    with pytest.raises(ValueError):
        Machine("a", moves, timeouts)


@pytest.mark.edge_case
def test_a_state_without_moves():
    machine = Machine("end", [])
    assert machine.send("go", 1) is False
    assert machine.state(1_000_000) == "end"


@pytest.mark.edge_case
def test_a_move_to_the_same_state_is_a_move():
    machine = Machine("a", [("a", "x", "a")])
    assert machine.send("x", 1) is True
    assert machine.state(1) == "a"


@pytest.mark.temporal
def test_a_time_out_moves_the_machine():
    machine = Machine("shut", [("shut", "push", "open")], {"open": (30, "shut")})
    assert machine.send("push", 5) is True
    assert machine.state(34) == "open"
    assert machine.state(35) == "shut"


@pytest.mark.temporal
def test_a_time_out_comes_before_an_event_of_the_same_time():
    machine = Machine("a", [("a", "x", "late"), ("b", "x", "right")], {"a": (10, "b")})
    assert machine.send("x", 10) is True
    assert machine.state(10) == "right"


@pytest.mark.temporal
def test_time_outs_follow_each_other_without_a_gap():
    machine = Machine("a", [], {"a": (10, "b"), "b": (10, "c"), "c": (10, "a")}, now=3)
    assert machine.state(36) == "a"
    assert machine.state(42) == "a"
    assert machine.state(43) == "b"


@pytest.mark.temporal
def test_entering_a_state_again_starts_its_time_anew():
    machine = Machine("a", [("a", "x", "a")], {"a": (10, "b")})
    assert machine.send("x", 8) is True
    assert machine.send("y", 12) is False
    assert machine.state(17) == "a"
    assert machine.state(18) == "b"


@pytest.mark.temporal
def test_time_does_not_go_back():
    machine = Machine("a", [("a", "x", "b")], now=10)
    with pytest.raises(ValueError):
        machine.state(9)
    assert machine.state(20) == "a"
    with pytest.raises(ValueError):
        machine.send("x", 19)
    assert machine.state(20) == "a"


@pytest.mark.performance
def test_many_moves():
    machine = Machine("0", [(str(number), "next", str(number + 1)) for number in range(3_000)])
    with steps(at_most=150_000):
        for now in range(3_000):
            machine.send("next", now)
    assert machine.state(3_000) == "3000"
