import pytest
from chain.checks import check
from chain.runner import run


class Tools(dict):
    """Tools that write down how they are called; ``bad`` ones raise so often."""

    def __init__(self, **bad):
        super().__init__()
        self.calls, self.bad, self.slept = [], bad, []
        for name in ("make", "drop", "send"):
            self[name] = self.tool(name)

    def tool(self, name):
        def call(**arguments):
            self.calls.append((name, arguments))
            errors = self.bad.get(name, [])
            if errors:
                raise errors.pop(0)
            return {"id": len(self.calls), **arguments}

        return call

    def run(self, *steps):
        return run(list(steps), self, self.slept.append)


MAKE = {"id": "m", "tool": "make", "with": {"n": 1}, "undo": {"tool": "drop", "with": {"which": "${m.id}"}}}


def test_results_are_handed_on():
    tools = Tools()
    ended = tools.run(MAKE, {"id": "s", "tool": "send", "with": {"text": "made ${m.n}"}})
    assert ended["results"]["s"] == {"id": 2, "text": "made 1"}
    assert (ended["failed"], ended["error"], ended["undone"]) == (None, None, [])
    assert tools.calls == [("make", {"n": 1}), ("send", {"text": "made 1"})]


def test_what_was_done_is_undone_latest_first():
    broken = RuntimeError("no")
    tools = Tools(send=[broken])
    second = MAKE | {"id": "k", "undo": {"tool": "drop", "with": {"which": "${k.id}"}}}
    ended = tools.run(MAKE, second, {"id": "plain", "tool": "make"}, {"id": "s", "tool": "send"})
    assert (ended["failed"], ended["error"], ended["undone"]) == ("s", broken, ["k", "m"])
    assert tools.calls[-2:] == [("drop", {"which": 2}), ("drop", {"which": 1})]
    assert list(ended["results"]) == ["m", "k", "plain"]


def test_a_condition():
    tools = Tools()
    ended = tools.run(
        {"id": "zero", "tool": "make", "with": {"n": 0}},
        {"id": "a", "tool": "send", "when": "${zero.n}"},
        {"id": "b", "tool": "send", "when": "${zero.id}"},
    )
    assert ended["results"]["a"] is None
    assert [name for name, _ in tools.calls] == ["make", "send"]


@pytest.mark.temporal
def test_repetitions_wait_longer_each_time():
    tools = Tools(send=[OSError(), OSError(), OSError()])
    ended = tools.run({"id": "s", "tool": "send", "retries": 3})
    assert (ended["failed"], tools.slept, len(tools.calls)) == (None, [1, 2, 4], 4)


@pytest.mark.temporal
def test_repetitions_end():
    last = OSError("last")
    tools = Tools(send=[OSError(), last, OSError()])
    ended = tools.run({"id": "s", "tool": "send", "retries": 1})
    assert (ended["error"], tools.slept, len(tools.calls)) == (last, [1], 2)


@pytest.mark.edge_case
def test_what_is_not_allowed_is_not_repeated():
    tools = Tools(send=[PermissionError()])
    assert tools.run({"id": "s", "tool": "send", "retries": 5})["failed"] == "s"
    assert (len(tools.calls), tools.slept) == (1, [])


@pytest.mark.edge_case
def test_an_undo_that_fails_does_not_stop_the_others():
    tools = Tools(send=[OSError()], drop=[OSError()])
    second = MAKE | {"id": "k", "undo": {"tool": "drop"}}
    ended = tools.run(MAKE, second, {"id": "s", "tool": "send"})
    assert (ended["undone"], ended["not_undone"]) == (["m"], ["k"])


@pytest.mark.edge_case
def test_arguments_that_cannot_be_filled_fail_the_step():
    tools = Tools()
    ended = tools.run(MAKE, {"id": "s", "tool": "send", "with": {"x": "${m.none}"}, "retries": 2})
    assert (ended["failed"], ended["undone"], tools.slept) == ("s", ["m"], [])
    assert isinstance(ended["error"], LookupError)


@pytest.mark.edge_case
def test_a_skipped_step_is_not_undone():
    tools = Tools(send=[OSError()])
    zero = {"id": "zero", "tool": "make", "with": {"n": 0}}
    ended = tools.run(zero, MAKE | {"when": "${zero.n}"}, {"id": "s", "tool": "send"})
    assert (ended["failed"], ended["undone"]) == ("s", [])


def test_faults_are_named_in_order():
    steps = [
        {"id": "a", "tool": "nope", "with": {"x": "${b.y}"}},
        {"id": "a", "tool": "make", "undo": {"tool": "gone", "with": {"x": "${a} ${z}"}}},
        {"id": "c", "tool": "make", "when": "${c}", "with": {"x": ["${d}", "$${e}"]}},
    ]
    assert check(steps, Tools()) == [
        "a: unknown tool nope",
        "a: unknown step b",
        "a: duplicate id",
        "a: unknown tool gone",
        "a: unknown step z",
        "c: unknown step c",
        "c: unknown step d",
    ]


def test_a_chain_with_faults_calls_nothing():
    tools = Tools()
    with pytest.raises(ValueError, match="^b: unknown tool x; b: unknown step y$"):
        tools.run(MAKE, {"id": "b", "tool": "x", "with": {"v": "${y}"}})
    assert tools.calls == []
