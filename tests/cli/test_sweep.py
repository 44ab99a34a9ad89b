"""A sweep from codegate.yml to its tables: a matrix against a model server."""

from pathlib import Path
from typing import Any

import pytest

from codegate.candidates import EXAMPLE_CANDIDATE
from codegate.suite import Suite
from tests.kit.scripted_model import Say, Turn
from tests.kit.stand_in import StandIn
from tests.running.world import answer, bug, codegate

MODEL = EXAMPLE_CANDIDATE.partition(":")[2]


def heat(document: dict[str, Any]) -> dict[str, float]:
    """Return what temperature did, by problem and (None) on all together."""
    return {one["where"]: one["difference"]["value"] for one in [*document["effects"], *document["problems"]]
            if (one["setting"], one["before"], one["after"]) == ("temperature", "0.0", "1.0")}  # fmt: skip


@pytest.mark.bwrap
@pytest.mark.requirement("C5")
def test_a_matrix_is_run_and_its_settings_are_compared(suite: Suite, tmp_path: Path) -> None:
    def hot_doubles_only(turn: Turn) -> Say:
        name = bug(turn.body) or ""
        return Say(answer(name, right=name != "half" if turn.body["temperature"] == 0 else name == "double"))

    (tmp_path / "codegate.yml").write_text(
        f"suite: {suite.folder}\nsandbox: bwrap\n"
        f"candidates: [{{provider: openai, model: {MODEL}, matrix: {{temperature: [0, 1]}}}}]\n"
    )
    with StandIn(hot_doubles_only, tmp_path) as stand_in:
        ran = codegate("run", "--no-precheck", "--out", "run", "--json", cwd=tmp_path, environment=stand_in.environment)
    assert ran.code == 0, ran.stderr
    assert [entry["label"] for entry in ran.document["candidates"]] == [
        f"{MODEL} temperature=0",
        f"{MODEL} temperature=1",
    ]
    swept = codegate("sweep", "run", "--json", cwd=tmp_path)
    assert swept.code == 0, swept.stderr
    assert heat(swept.document) == {None: pytest.approx(-1 / 3), "calc-square": -1}
    assert {"schema": "codegate.sweep/1", **ran.document["sweep"]} == swept.document
    assert "temperature   0.0 → 1.0   100% → 0% n=1 each" in swept.stderr
    assert "cannot be told from chance with 1 sample" in swept.stderr
