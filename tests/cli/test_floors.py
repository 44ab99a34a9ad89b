"""A release gate without a baseline: ``codegate gate`` and ``run`` with floors alone."""

from pathlib import Path

import pytest

from codegate.suite import Suite
from tests.cli.run_folders import write_run
from tests.running.world import codegate

FLOOR = "candidates: [reference]\ngate: {cohorts: {all: {floor: 0.95, tier: critical}}}\n"


@pytest.mark.requirement("D5")
@pytest.mark.parametrize(("solved", "kind", "code"), [(60, "pass", 0), (56, "inconclusive", 3), (40, "regressed", 1)])
def test_floors_alone_decide_a_finished_run(tmp_path: Path, solved: int, kind: str, code: int) -> None:
    write_run(tmp_path / "run", {f"p-{i:02}": [i < solved] for i in range(60)})
    (tmp_path / "codegate.yml").write_text(FLOOR)
    done = codegate("gate", "run", "--json", cwd=tmp_path)
    assert done.code == code, done.stderr
    (verdict,) = done.document["verdicts"]
    assert (verdict["kind"], verdict["baseline_label"], verdict["difference"]) == (kind, None, None)
    assert "On all 60 problems the candidate solves" in done.stderr
    assert "against floors alone" in (tmp_path / "run" / "reports" / "report.html").read_text()
    assert "None" not in (tmp_path / "run" / "reports" / "report.md").read_text()


def test_without_a_baseline_and_floors_there_is_nothing_to_gate_with(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"p-1": [True]})
    for text in ("candidates: [reference]\n", f"{FLOOR}baseline: other.lock\n"):
        (tmp_path / "codegate.yml").write_text(text)
        assert codegate("gate", "run", cwd=tmp_path).code == 2


@pytest.mark.bwrap
def test_floors_alone_decide_a_run_and_are_checked_before_it(suite: Suite, tmp_path: Path) -> None:
    head = f"suite: {suite.folder}\nsandbox: bwrap\n"
    (tmp_path / "codegate.yml").write_text(f"{head}{FLOOR.replace('reference', 'reference, empty')}")
    done = codegate("run", "--out", "run", "--json", cwd=tmp_path)
    assert done.code == 1, done.stderr
    assert "gated by floors alone: there is no codegate.lock" in done.stderr
    assert [verdict["kind"] for verdict in done.document["verdicts"]] == ["pass", "regressed"]
    (tmp_path / "away").mkdir()
    away = codegate("run", suite.folder, "--resume", "../run", cwd=tmp_path / "away")
    assert away.code == 2, "where the floors are not"
    assert codegate("run", "--no-gate", "--out", "ungated", cwd=tmp_path).code == 0
    resumed = codegate("run", "--resume", "ungated", "--json", cwd=tmp_path)
    assert (resumed.code, resumed.document["verdicts"]) == (0, []), "what a run began with, it keeps"
    assert "not gated: the run was started with --no-gate" in resumed.stderr
    (tmp_path / "codegate.yml").write_text(f"{head}{FLOOR.replace('all', 'tier')}")
    refused = codegate("run", "--out", "refused", cwd=tmp_path)
    assert (refused.code, (tmp_path / "refused").exists()) == (2, False)
    assert "a tag that no problem of suite calc carries" in refused.stderr
    (tmp_path / "codegate.yml").write_text(f"{head}{FLOOR.replace('gate: {', 'gate: {newer_than: 2025-01-31, ')}")
    refused = codegate("run", "--out", "refused", cwd=tmp_path)
    assert (refused.code, (tmp_path / "refused").exists()) == (2, False)
    assert "suite calc has no active problem newer than 2025-01-31" in refused.stderr
