"""The queue of a mining: which change is tried when."""

import pytest

from codegate.mining.options import KINDS, MineRequest
from codegate.mining.scan import scan
from codegate.suite import Kind
from tests.kit.repository import HistoryBuilder


def test_components_take_turns_among_neighbours(history: HistoryBuilder) -> None:
    history.commit("begin", {f"{name}.py": "x = 0\n" for name in ("busy", "calm")})
    history.commit("Fix calm", {"calm.py": "x = 1\n", "test_calm.py": "def test(): pass\n"})
    for number in range(1, 4):
        files: dict[str, str | bytes | None] = {
            "busy.py": f"x = {number}\n",
            "test_busy.py": f"def test_{number}(): pass\n",
        }
        history.commit(f"Fix busy for the {number}. time", files)

    queue, _ = scan(history.folder, history.git("rev-parse", "HEAD"), MineRequest(name="pkg"))

    assert [entry.unit.title for entry in queue] == [
        "Fix busy for the 3. time",
        "Fix calm",
        "Fix busy for the 2. time",
        "Fix busy for the 1. time",
    ]


@pytest.mark.parametrize(
    ("kinds", "titles"),
    [(("bugfix", "security"), ["Fix a"]), (("feature",), ["Add a", "Fix a"]), (KINDS, ["Fix a", "Add a"])],
)
def test_what_calls_itself_a_feature_is_tried_where_features_are_wanted(
    history: HistoryBuilder, kinds: tuple[Kind, ...], titles: list[str]
) -> None:
    history.commit("begin", {"a.py": "x = 0\n"})
    history.commit("Add a", {"a.py": "x = 1\n", "test_a.py": "def test_1(): pass\n"})
    history.commit("Fix a", {"a.py": "x = 2\n", "test_a.py": "def test_2(): pass\n"})

    queue, _ = scan(history.folder, history.git("rev-parse", "HEAD"), MineRequest(kinds=kinds))

    assert [entry.unit.title for entry in queue] == titles
