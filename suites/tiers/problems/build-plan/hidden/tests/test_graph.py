import pytest
from planner.graph import CycleError, stale

BUILD = {
    "lib": {"inputs": ["lib.c"], "seconds": 3},
    "app": {"needs": ["lib"], "inputs": ["app.c"], "seconds": 2},
    "docs": {"inputs": ["docs.md"]},
    "all": {"needs": ["app", "docs"]},
}
FILES = {"lib.c": "1", "app.c": "1", "docs.md": "1"}
BUILT = FILES | {"lib": "x", "app": "x", "docs": "x", "all": "x"}


def test_nothing_was_built():
    assert stale(BUILD, ["all"], {}, FILES) == {"lib", "app", "docs", "all"}


def test_nothing_has_changed():
    assert stale(BUILD, ["all"], BUILT, FILES) == set()


def test_what_needs_something_stale_is_stale():
    assert stale(BUILD, ["all"], BUILT, FILES | {"lib.c": "2"}) == {"lib", "app", "all"}
    assert stale(BUILD, ["all"], BUILT, FILES | {"docs.md": "2"}) == {"docs", "all"}


def test_goals_alone_are_looked_at():
    assert stale(BUILD, ["app"], {}, FILES) == {"lib", "app"}
    assert stale(BUILD, ["docs", "docs"], {}, FILES) == {"docs"}
    assert stale(BUILD, [], {}, FILES) == set()


@pytest.mark.edge_case
def test_a_new_input_is_a_change():
    before = {name: digest for name, digest in BUILT.items() if name != "app.c"}
    assert stale(BUILD, ["all"], before, FILES) == {"app", "all"}


@pytest.mark.edge_case
def test_a_missing_input():
    with pytest.raises(FileNotFoundError, match="docs.md"):
        stale(BUILD, ["all"], BUILT, {"lib.c": "1", "app.c": "1"})
    assert stale(BUILD, ["app"], BUILT, {"lib.c": "1", "app.c": "1"}) == set()


@pytest.mark.edge_case
@pytest.mark.parametrize("build", [{}, {"a": {"needs": ["b", "x"]}, "b": {}}])
def test_unknown_targets(build):
    with pytest.raises(KeyError) as raised:
        stale(build, ["a" if build else "x"], {}, {})
    assert raised.value.args == ("x",)


@pytest.mark.edge_case
def test_a_cycle():
    build = {"d": {"needs": ["c"]}, "c": {"needs": ["b"]}, "b": {"needs": ["a"]}, "a": {"needs": ["c"]}}
    with pytest.raises(CycleError) as raised:
        stale(build, ["d"], {}, {})
    assert raised.value.args == (["a", "c", "b"],)


@pytest.mark.edge_case
def test_a_cycle_elsewhere_does_not_matter():
    build = {"a": {}, "b": {"needs": ["b"]}}
    assert stale(build, ["a"], {}, {}) == {"a"}
    with pytest.raises(CycleError) as raised:
        stale(build, ["a", "b"], {}, {})
    assert raised.value.args == (["b"],)


@pytest.mark.performance
def test_a_long_chain():
    build = {f"t{number}": {"needs": [f"t{number - 1}"] if number else []} for number in range(20_000)}
    assert len(stale(build, ["t19999"], {}, {})) == 20_000


class Counted(dict):
    """A build that counts how often targets are looked up."""

    looked = 0

    def __getitem__(self, name):
        self.looked += 1
        return super().__getitem__(name)


@pytest.mark.performance
def test_shared_needs_are_looked_at_once():
    needs = {row: [f"t{row - 1}-0", f"t{row - 1}-1"] if row else [] for row in range(14)}
    build = Counted({f"t{row}-{side}": {"needs": needs[row]} for row in range(14) for side in (0, 1)})
    assert len(stale(build, ["t13-0"], {}, {})) == 27
    assert build.looked <= 500
