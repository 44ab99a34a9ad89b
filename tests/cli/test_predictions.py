"""Answers made elsewhere: graded, run, resumed, shared, pinned, gated, and written out again."""

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from codegate.running.predictions import predicted_candidates
from codegate.suite import Suite
from tests.running.world import BODIES, NAMES, codegate, lines, results

pytestmark = pytest.mark.bwrap


def patch(name: str, body: str | None = None) -> str:
    """Return a patch that gives ``name`` another body, by default the right one."""
    path, (wrong, right) = f"calc/{name}.py", BODIES[name]
    return (
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n def {name}(n):\n"
        f"-    return {wrong}\n+    return {body or right}\n"
    )


def row(name: str, text: str | None, model: str = "ours") -> dict[str, Any]:
    return {"instance_id": f"calc-{name}", "model_name_or_path": model, "model_patch": text}


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in rows))
    return path


def refused(words: str, *arguments: object, cwd: Path) -> None:
    done = codegate(*arguments, cwd=cwd)
    assert (done.code, words in done.stderr) == (2, True), done.stderr


def test_a_key_of_this_machine_is_not_taken_from_a_file(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "tk-Zq7Lw2Xv9Rt4Bn8Kp1Mc5Hd3"
    monkeypatch.setenv("DEPLOY_TOKEN", key)
    monkeypatch.setenv("DATABASE_PASSWORD", "square")
    made = patch("square", f"n ** 2  # {key}")
    [found] = predicted_candidates(write(tmp_path / "a.jsonl", [row("square", made)]), suite).predictions
    assert found.model_patch == made.replace(key, "[redacted]")


@pytest.mark.requirement("V4")
def test_answers_made_elsewhere_are_a_run_like_any_other(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)  # in CI no run in the checkout is used again
    tests_too = patch("double") + "--- /dev/null\n+++ b/tests/test_mine.py\n@@ -0,0 +1 @@\n+assert False\n"
    rows = [row("half", patch("half")), row("double", tests_too), row("half", patch("half")),
            row("double", None), row("square", patch("square")), row("square", patch("square", "n ** 4"))]  # fmt: skip
    write(tmp_path / "answers.jsonl", rows)
    (tmp_path / "codegate.yml").write_text(
        "candidates: [openai:gpt-4o-2024-08-06]\nsamples: 1\ngate: {must_pass: [calc-half]}\n"
    )
    run = ("run", suite.folder, "--sandbox", "bwrap", "--predictions", "answers.jsonl")
    done = codegate(*run, "--out", "ours", cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert results(tmp_path / "ours") == {
        ("calc-double", 0): True, ("calc-double", 1): False, ("calc-half", 0): True, ("calc-half", 1): True,
        ("calc-square", 0): True, ("calc-square", 1): False,
    }  # fmt: skip
    by_key = {(line["problem"], line["sample"]): line for line in lines(tmp_path / "ours")}
    assert by_key["calc-double", 1]["grade"]["failure"] == "no_patch"
    assert by_key["calc-double", 0]["grade"]["dropped"] == ["tests/test_mine.py"]
    assert by_key["calc-half", 0]["attempt"]["models"] == ["ours"]

    assert codegate("baseline", "pin", "ours", "--min-samples", "2", cwd=tmp_path).code == 0
    worse = [entry | {"model_patch": patch("half", "n")} if "half" in entry["instance_id"] else entry for entry in rows]
    write(tmp_path / "answers.jsonl", worse)
    gated = codegate(*run, "--label", "worse", "--json", cwd=tmp_path)
    assert (gated.code, gated.document["verdicts"][0]["kind"]) == (1, "regressed"), gated.stderr
    assert gated.document["verdicts"][0]["label"] == "worse"
    assert "the answers of ours came from a file" in gated.stderr
    [folder] = (tmp_path / "runs").iterdir()
    assert json.loads((folder / "soundness.json").read_text())["problems"] == dict.fromkeys(
        f"calc-{name}" for name in NAMES
    ), "a hidden test that expired is no regression"
    assert codegate(*run, "--label", "worse", cwd=tmp_path).code == 1
    assert list((tmp_path / "runs").iterdir()) == [folder], "the same answers are the same gate"
    assert codegate("gate", folder, cwd=tmp_path).code == 1

    out = ("--format", "predictions", "--out", "again", "--json")
    written = codegate("report", "ours", *out, cwd=tmp_path)
    assert (written.code, written.document["reports"]) == (0, {"predictions": "again/predictions.jsonl"})
    assert [path.name for path in (tmp_path / "again").iterdir()] == ["predictions.jsonl"]
    again = [json.loads(line) for line in (tmp_path / "again" / "predictions.jsonl").read_text().splitlines()]
    kept = [(sample, problem, line["attempt"]["patch"]) for (problem, sample), line in by_key.items()]
    assert [(entry["instance_id"], entry["model_patch"] or "") for entry in again] == [one[1:] for one in sorted(kept)]


def test_a_line_that_is_there_twice_is_no_failure_of_the_other_problems(suite: Suite, tmp_path: Path) -> None:
    rows = [row(name, patch(name)) for name in NAMES]
    file = write(tmp_path / "p.jsonl", [*rows, rows[0]])
    done = codegate("run", suite.folder, "--sandbox", "bwrap", "--predictions", file, "--out", "r", cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert "ours: 1 answer not used, because not every problem has as many" in done.stderr
    assert results(tmp_path / "r") == {(f"calc-{name}", 0): True for name in NAMES}


@pytest.mark.full
def test_a_run_of_predictions_is_resumed_without_the_file(suite: Suite, tmp_path: Path) -> None:
    file = write(tmp_path / "p.jsonl", [row(name, patch(name)) for name in NAMES])
    run = ("run", suite.folder, "--sandbox", "bwrap")
    assert codegate(*run, "--predictions", file, "--out", "r", cwd=tmp_path).code == 0
    before = results(tmp_path / "r")
    file.unlink()
    shutil.rmtree(tmp_path / "r" / "transcripts")
    (tmp_path / "r" / "outcomes.jsonl").unlink()
    assert codegate("run", suite.folder, "--resume", "r", cwd=tmp_path).code == 0
    assert results(tmp_path / "r") == before
    shutil.rmtree(tmp_path / "r" / "transcripts")
    write(tmp_path / "r" / "answers.jsonl", [row(name, patch(name, "n")) for name in NAMES])
    refused("has changed since ours was planned", "run", suite.folder, "--resume", "r", cwd=tmp_path)


@pytest.mark.full
def test_shards_of_predictions_are_merged(suite: Suite, tmp_path: Path) -> None:
    rows = [row(name, patch(name), model) for model in ("a", "b") for name in NAMES if (model, name) != ("b", "half")]
    file = write(tmp_path / "p.jsonl", rows)
    plan = codegate("plan", suite.folder, "--predictions", file, "--shards", "2", "--json", cwd=tmp_path)
    assert plan.code == 0, plan.stderr
    shared = plan.document["shards"]
    for number, shard in enumerate(shared["matrix"]["shard"]):
        part = ("--shard", shard, "--run-id", shared["run_id"], "--out", f"part-{number}")
        done = codegate("run", suite.folder, "--sandbox", "bwrap", "--predictions", file, *part, cwd=tmp_path)
        assert done.code == 0, done.stderr
    merged = codegate("merge", "part-0", "part-1", "--out", "whole", "--json", cwd=tmp_path)
    assert merged.code == 0, merged.stderr
    solved = [line["problem"] for line in lines(tmp_path / "whole") if line["grade"]["resolved"]]
    assert sorted(solved) == sorted([f"calc-{name}" for name in NAMES] + ["calc-double", "calc-square"])


def test_what_does_not_go_together_is_refused(suite: Suite, tmp_path: Path) -> None:
    write(tmp_path / "p.jsonl", [row("half", None, "a"), row("half", None, "b")])
    run = ("run", suite.folder, "--predictions", "p.jsonl")
    refused("has the predictions of 2 models: a, b", *run, "--label", "mine", cwd=tmp_path)
    refused("--predictions brings its own candidates", *run, "--candidate", "empty", cwd=tmp_path)
    refused("have at most 1 sample of a problem, not 3", *run, "--samples", "3", cwd=tmp_path)
    refused("Give --predictions, too", "run", suite.folder, "--label", "x", cwd=tmp_path)
    refused("there is no model to call", "run", suite.folder, "--candidate", "predictions:p.jsonl", cwd=tmp_path)
    (tmp_path / "codegate.yml").write_text("candidates: [{provider: predictions, model: x}]\n")
    refused("there is no model to call", "run", suite.folder, cwd=tmp_path)
    write(tmp_path / "p.jsonl", [row("nothing", None)])
    (tmp_path / "codegate.yml").unlink()
    refused("p.jsonl: not in suite calc: calc-nothing", *run, cwd=tmp_path)
    assert not (tmp_path / "runs").exists()


@pytest.mark.full
def test_every_command_on_the_page_about_exchange_works(own_suite: Suite, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "exchange.md").read_text()
    commands = [line for block in page.split("```")[1::2] for line in block.splitlines() if line.startswith("codegate")]
    home = tmp_path / "home"
    for place in (tmp_path / "shop", home / "suites" / "repository"):
        shutil.copytree(tmp_path / "world" / "repository", place)
    shutil.copytree(own_suite.folder, home / "suites" / "shop")
    for file in ("answers", "newer"):
        write(home / f"{file}.jsonl", [row("half", patch("half", f"n // 2  # {sample}")) for sample in range(5)])
    ran = []
    for command in commands:
        words = command.partition("#")[0].split()[1:]
        if "import rows.jsonl" in command:
            shutil.copy(home / "shop.jsonl", home / "rows.jsonl")
        # The environment of HumanEval comes from a package index; exercises have a test of their own.
        if "humaneval" in command or "exercises" in command:
            continue
        sandbox = () if words[1] in {"export", "pin"} or words[0] == "report" else ("--sandbox", "bwrap")
        done = codegate(*words, *sandbox, cwd=home)
        undecided = words[0] == "run" and (home / "codegate.lock").exists()  # of three problems a gate may not be sure
        assert done.code in ({0, 3} if undecided else {0}), f"{command}\n{done.stderr}"
        ran.append(words[0])
    assert ran == ["mine", "mine", "grade", "run", "baseline", "run", "report", "mine"]
    written = [json.loads(line) for line in (home / "predictions" / "predictions.jsonl").read_text().splitlines()]
    assert {entry["model_name_or_path"] for entry in written} == {"agent-2.1"}
