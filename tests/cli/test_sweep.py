"""A sweep from codegate.yml to its tables: a matrix against a model server, and recorded answers."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from codegate.candidates import EXAMPLE_CANDIDATE, Message, ProblemKey, transcript_line
from codegate.candidates.replay import transcript_header
from codegate.suite import Suite
from tests.cli.run_folders import pattern, write_run
from tests.kit.scripted_model import Say, Turn
from tests.kit.stand_in import StandIn
from tests.running.world import NAMES, answer, bug, codegate

MODEL = EXAMPLE_CANDIDATE.partition(":")[2]


@pytest.fixture
def home(suite: Suite, tmp_path: Path) -> Path:
    (tmp_path / "codegate.yml").write_text(f"suite: {suite.folder}\nsandbox: bwrap\ncandidates:\n")
    return tmp_path


def declare(home: Path, *candidates: str) -> None:
    with (home / "codegate.yml").open("a") as file:
        file.writelines(f"  - {line}\n" for line in candidates)


def heat(document: dict[str, Any]) -> dict[str, float]:
    """Return what temperature did, by problem and (None) on all together."""
    return {one["where"]: one["difference"]["value"] for one in [*document["effects"], *document["problems"]]
            if (one["setting"], one["before"], one["after"]) == ("temperature", "0.0", "1.0")}  # fmt: skip


@pytest.mark.bwrap
@pytest.mark.requirement("C5")
def test_a_matrix_is_run_and_its_settings_are_compared(home: Path) -> None:
    def hot_doubles_only(turn: Turn) -> Say:
        name = bug(turn.body) or ""
        return Say(answer(name, right=name != "half" if turn.body["temperature"] == 0 else name == "double"))

    declare(home, f"{{provider: openai, model: {MODEL}, matrix: {{temperature: [0, 1]}}}}")
    with StandIn(hot_doubles_only, home) as stand_in:
        ran = codegate("run", "--no-precheck", "--out", "run", "--json", cwd=home, environment=stand_in.environment)
    assert ran.code == 0, ran.stderr
    assert [entry["label"] for entry in ran.document["candidates"]] == [
        f"{MODEL} temperature=0",
        f"{MODEL} temperature=1",
    ]
    swept = codegate("sweep", "run", "--json", cwd=home)
    assert swept.code == 0, swept.stderr
    assert heat(swept.document) == {None: pytest.approx(-1 / 3), "calc-square": -1}
    assert {"schema": "codegate.sweep/1", **ran.document["sweep"]} == swept.document
    assert "temperature   0.0 → 1.0   100% → 0% n=1 each" in swept.stderr
    assert "cannot be told from chance with 1 sample" in swept.stderr


@pytest.mark.bwrap
def test_recorded_answers_are_swept_without_a_model(home: Path) -> None:
    for temperature, right in ((0, ("double", "half")), (1, ("double", "square"))):
        lines = [transcript_header("recorded", MODEL)]
        for name in NAMES:
            said = [Message(role="assistant", text=answer(name, right=name in right))]
            lines.append(transcript_line(ProblemKey(problem=f"calc-{name}", sample=0), said))
        (home / f"{temperature}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
        declare(home, f"{{provider: replay, model: {temperature}.jsonl, sampling: {{temperature: {temperature}}}}}")
    assert codegate("run", "--no-precheck", "--out", "run", cwd=home).code == 0
    swept = codegate("sweep", "run", "--json", cwd=home)
    assert heat(swept.document) == {None: 0, "calc-half": -1, "calc-square": 1}
    assert re.search(r"problem +calc-square \+100\.0 pp n=1 +calc-half -100\.0 pp n=1\n", swept.stderr)
    assert json.loads((home / "run/reports/report.json").read_text())["sweep"]["settings"] == ["temperature"]


def test_candidates_that_differ_in_no_setting_are_refused_with_what_to_do(tmp_path: Path) -> None:
    write_run(tmp_path / "run", pattern(2, 1))
    refused = codegate("sweep", "run", cwd=tmp_path)
    assert refused.code == 2
    assert "differ in one setting alone. Declare a `matrix` in codegate.yml" in refused.stderr
