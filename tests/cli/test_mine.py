"""``codegate mine`` and what belongs to keeping a suite, as people call it."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from codegate.cli.mine import next_steps
from codegate.mining import MineReport
from codegate.mining.report import ChangeResult
from codegate.suite import Suite, load_suite
from tests.cli.test_commands import refused
from tests.kit.repository import HistoryBuilder
from tests.running.world import codegate

SUMS = "def total(items):\n    return items[0] + sum(items[1:])\n"
TEST = "from pkg.sums import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
NOTHING = "\n\ndef test_nothing():\n    assert total([]) == 0\n"


@pytest.mark.full
@pytest.mark.bwrap
def test_a_second_mining_of_the_same_costs_nothing_and_a_refresh_keeps_what_is_there(tmp_path: Path) -> None:
    history = HistoryBuilder(tmp_path / "repository")
    history.commit("begin", {"pkg/__init__.py": "", "pkg/sums.py": SUMS, "tests/test_sums.py": TEST})
    fixed: dict[str, str | bytes | None] = {
        "pkg/sums.py": SUMS.replace("items[0] + sum(items[1:])", "sum(items)"),
        "tests/test_sums.py": TEST + NOTHING,
    }
    history.commit(
        "Fix the total of nothing (#3)\n\nThe total of an empty list raises an error. The total should be zero.", fixed
    )
    environment = {"CODEGATE_CACHE": str(tmp_path / "cache")}
    mine = ("mine", history.folder, "--out", "suite", "--sandbox", "bwrap", "--rounds", "1")
    first = codegate(*mine, "--profile", cwd=tmp_path, environment=environment)
    assert first.code == 0, first.stderr
    assert "profile: 1 unit kept, 0 tried and rejected\nstep " in first.stdout
    assert "1 validated" in first.stdout
    assert (
        "gate: 1 problem, up to 10 samples each: nothing passes below 10 problems (`gate.min_problems`)\n"
        in first.stdout
    )
    assert re.search(r"\nNext: mine more problems: \S+#when-little-comes-out\n$", first.stdout)
    again = codegate(*mine, "--json", cwd=tmp_path, environment=environment)
    assert json.loads(again.stdout)["remembered"] == 1
    assert "the suite is the one that was there before" in again.stderr
    kept = codegate(*mine, "--refresh", cwd=tmp_path, environment=environment)
    assert kept.code == 0, kept.stderr
    assert "kept: 1 problem, 0 of them retired now" in kept.stdout
    report = codegate("mine", "report", "suite", cwd=tmp_path)
    assert "funnel: " in report.stdout
    assert "kind: 1 bugfix" in report.stdout
    assert "leak audit" not in report.stdout


def test_a_suite_is_reviewed_before_it_is_pinned_and_a_small_one_mined_further(tmp_path: Path) -> None:
    late = ChangeResult("c", "merge", None, "", "", 0.0, (), "budget")
    report = MineReport(None, tmp_path, (late,), {})
    assert [*next_steps(report, few=False)] == [f"Next: codegate review {tmp_path}", "Then: codegate init"]
    (more,) = next_steps(report, few=True)
    assert more == "Next: the same command with a larger --budget-minutes or --max-problems"
    (more,) = next_steps(replace(report, results=()), few=True)
    assert "#when-little-comes-out" in more


def test_a_report_tells_what_a_model_may_have_read(own_suite: Suite, tmp_path: Path) -> None:
    (tmp_path / "codegate.yml").write_text(
        "candidates:\n- {provider: openai, model: gpt-5-2025-08-07, training_cutoff: 2024-10-01}\n"
        "- openai:gpt-6-2026-01-01\n"
    )
    done = codegate("mine", "report", own_suite.folder, "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    said = json.loads(done.stdout)
    assert [entry["cutoff"] for entry in said["exposure"]] == ["2024-10-01", None]
    assert said["mining"] is None
    assert "its training cut-off is not configured" in done.stderr
    assert "gate: 3 problems, up to 10 samples each: nothing passes below 10 problems" in done.stderr
    (own_suite.folder / "mining.json").write_text('{"schema": "codegate.mining/1", "funnel": {"units": "::error::x"}}')
    told = codegate("mine", "report", own_suite.folder, cwd=tmp_path).stdout
    assert not [line for line in told.splitlines() if line.startswith("::")]


def test_a_smaller_suite_can_be_run(own_suite: Suite, tmp_path: Path) -> None:
    out = own_suite.folder.parent / "small"
    done = codegate("mine", "choose", own_suite.folder, "--size", "2", "--out", out, cwd=tmp_path)
    assert done.code == 0, done.stderr
    small = load_suite(out)
    assert len(small.problems) == 2
    assert small.manifest.repository == own_suite.manifest.repository
    more = codegate("mine", "choose", own_suite.folder, "--size", "9", "--out", tmp_path / "all", cwd=tmp_path)
    assert "fewer than 9" in more.stdout
    refused(2, "is the suite to choose from", "mine", "choose", out, "--size", "1", "--out", out, cwd=tmp_path)
