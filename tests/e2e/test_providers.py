"""A run, its baseline and a gate of an agent at its provider's own address; ``test_pages.py`` has those of models."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.kit.scripted_model import AGENT
from tests.kit.stand_in import KEY, StandIn
from tests.running.world import codegate, knowing, make_suite

pytestmark = pytest.mark.bwrap

CANDIDATE = {
    "agent": "command", "command": ["{python}", "-c", AGENT], "minutes": 2, "usd": 0.5,
    "model": "openai:gpt-5.4-mini-2026-03-17",
}  # fmt: skip


@pytest.mark.requirement("F1")
def test_an_agent_whose_model_has_a_list_price_is_pinned_and_gated(tmp_path: Path) -> None:
    make_suite(tmp_path)
    manifest = yaml.safe_load((tmp_path / "suite" / "suite.yml").read_text())
    manifest["problems"] = manifest["problems"][:1]  # of three, all of a kind
    (tmp_path / "suite" / "suite.yml").write_text(yaml.safe_dump(manifest))
    (tmp_path / "codegate.yml").write_text(json.dumps({"candidates": [CANDIDATE]}))
    with StandIn(knowing, tmp_path) as stand_in:

        def enter(*words: str, code: int = 0) -> str:
            done = codegate(*words, cwd=tmp_path, environment=stand_in.environment)
            assert done.code == code, done.stdout + done.stderr
            return done.stdout

        run = ("run", "suite", "--sandbox", "bwrap", "--samples", "1")
        enter(*run, "--out", "pinned")
        enter("baseline", "pin", "pinned", "--min-samples", "1")
        enter(*run, "--no-gate", "--out", "upgrade")
        text = enter("gate", "upgrade", code=3)
    assert "INCONCLUSIVE (few problems)" in text
    assert "solves 100.0%" in text
    report = (tmp_path / "upgrade" / "reports" / "report.md").read_text()
    assert re.search(r"\$0\.\d*[1-9]", report), report
    assert {request.host for request in stand_in.model.requests} == {"api.openai.com"}
    assert stand_in.refused == []
    assert KEY not in "".join(path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file())
