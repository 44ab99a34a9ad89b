"""Every command as a process: exit codes, the JSON documents, and what a user gets for a mistake."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from codegate.suite import Suite
from tests.kit.command import Done
from tests.running.world import ModelServer, Said, answer, codegate, lines, results, start, write_recipe

ONE = ("--min-samples", "1")  # reference and empty are the same every time
HEAVY = {"openai", "anthropic", "docker", "scipy", "pydantic", "rich", "yaml", "jinja2", "requests", "uv"}


@pytest.fixture
def home(finished: Path, tmp_path: Path) -> Path:
    """A folder with that run in it, and its reference pinned."""
    shutil.copytree(finished, tmp_path / "run")
    assert codegate("baseline", "pin", "run", *ONE, "--candidate", "reference", cwd=tmp_path).code == 0
    return tmp_path


def refused(code: int, words: str, *arguments: object, cwd: Path, environment: Mapping[str, str] | None = None) -> None:
    """The command says one line, that holds ``words``, and exits with ``code``; with --json it says so there too."""
    done = codegate(*arguments, cwd=cwd, environment=environment)
    assert done.code == code, done.stderr
    [line] = [line for line in done.stderr.splitlines() if line.startswith("codegate: ")]
    assert words in line, line
    if "--json" in arguments:
        assert done.document["schema"] == "codegate.error/1"
        assert done.document["error"]["exit_code"] == code
    else:
        assert words not in done.stdout


def test_a_command_of_commands_alone_is_its_help_and_a_mistake(tmp_path: Path) -> None:
    for words in ((), ("baseline",), ("history",)):
        done = codegate(*words, cwd=tmp_path)
        assert (done.code, done.stderr.startswith("Usage: codegate")) == (2, True), done.stderr
        assert "\nCommands:\n" in done.stderr, "line by line"


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    script = (
        "import sys, codegate.cli.main as cli\n"
        "try:\n    cli.run(['--help'])\nfinally:\n    print('\\n' + ' '.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert HEAVY.isdisjoint(done.stderr.split())
    rooms = {name for name in done.stderr.split() if name.startswith("codegate.")}
    assert rooms == {"codegate.cli", "codegate.cli.main", "codegate.cli.output", "codegate.errors"}


def test_a_run_imports_nothing_of_mining_and_no_client_that_it_may_not_need(tmp_path: Path) -> None:
    script = "import sys, codegate.cli.run; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert not {"codegate.mining", "requests"} & set(done.stdout.split())


def test_no_sandbox_at_all_is_exit_4_and_says_how_to_get_one(suite: Suite, tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "DOCKER_HOST": f"unix://{tmp_path}/no.sock"}
    git_program = shutil.which("git")
    assert git_program is not None
    (tmp_path / "git").symlink_to(git_program)
    run = ("run", suite.folder, "--candidate", "reference")
    refused(4, "no sandbox can run here", *run, cwd=tmp_path, environment=environment)
    refused(4, "bubblewrap is not installed", *run, "--sandbox", "bwrap", cwd=tmp_path, environment=environment)
    refused(4, "no Docker daemon answers", *run, "--sandbox", "docker", "--json", cwd=tmp_path, environment=environment)
    doctor = codegate("doctor", "--json", cwd=tmp_path, environment=environment)
    assert doctor.code == 4
    assert [doctor.document["checks"][name]["level"] for name in ("git", "docker", "bwrap")] == ["ok", *["missing"] * 2]


def test_doctor_refuses_a_git_that_is_too_old(tmp_path: Path) -> None:
    old = tmp_path / "git"
    old.write_text("#!/bin/sh\necho git version 2.30.9\n")
    old.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = codegate("doctor", "--json", cwd=tmp_path, environment=environment)
    assert done.code == 2
    check = done.document["checks"]["git"]
    assert check["level"] == "missing"
    assert check["detail"] == "'git version 2.30.9' is too old. Install git 2.31 or newer"
    old.unlink()
    assert (
        codegate("doctor", "--json", cwd=tmp_path, environment=environment).document["checks"]["git"]["level"] == "ok"
    )


def test_doctor_reads_the_configuration_of_the_folder(tmp_path: Path) -> None:
    config = tmp_path / "codegate.yml"
    config.write_text("suite: suites/mine\ngate\n  margin: 0.1\n")
    done = codegate("doctor", "--json", cwd=tmp_path)
    assert (done.code, done.document["checks"]["codegate.yml"]["level"]) == (2, "missing")
    assert "not usable YAML" in done.stderr
    config.write_text("suite: suites/mine\ncandidates:\n  - {provider: reference, model: reference}\n")
    found = codegate("doctor", "--json", cwd=tmp_path).document["checks"]["codegate.yml"]
    assert (found["level"], found["detail"]) == ("ok", "1 candidate")


def test_doctor_asks_for_the_keys_that_a_run_of_this_folder_needs(tmp_path: Path) -> None:
    config = tmp_path / "codegate.yml"
    config.write_text("candidates: ['openai:m-2025-01-01@http://127.0.0.1:9/v1']\n")
    local = codegate("doctor", "--json", cwd=tmp_path)
    assert (local.code != 2, local.document["checks"]["codegate.yml"]["level"]) == (True, "ok")
    assert "OPENAI_API_KEY" not in local.stderr, "a server on this machine needs none"
    config.write_text("candidates: ['openai:m-2025-01-01']\n")
    real = codegate("doctor", "--json", cwd=tmp_path)
    check = real.document["checks"]["candidates"]
    assert (real.code, check["level"]) == (2, "missing")
    assert "OPENAI_API_KEY is not set" in check["detail"]
    rented = codegate("doctor", "--json", cwd=tmp_path, environment={"MODAL_TOKEN_ID": "", "MODAL_TOKEN_SECRET": ""})
    modal = rented.document["checks"]["modal"]
    assert modal["level"] == "optional"
    assert "Set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET" in modal["detail"]


def test_doctor_does_not_call_a_missing_key_ok(tmp_path: Path) -> None:
    environment = {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "sk-ant-test"}
    done = codegate("doctor", "--json", cwd=tmp_path, environment=environment)
    checks = done.document["checks"]
    needed = {"level": "missing", "detail": "not set", "needed_for": "`openai` candidates"}
    assert (checks["OPENAI_API_KEY"], checks["ANTHROPIC_API_KEY"]["level"]) == (needed, "ok")
    assert re.search("^missing +OPENAI_API_KEY +not set; needed for `openai` candidates$", done.stderr, re.MULTILINE)
    assert "sk-ant-test" not in done.stdout + done.stderr


@pytest.mark.bwrap
def test_run_prints_one_document_and_people_read_stderr(made: tuple[Done, Path]) -> None:
    done, folder = made
    assert done.document == json.loads((folder / "reports/report.json").read_text())
    assert "[6/6]" in done.stderr
    assert "not gated: there is no codegate.lock" in done.stderr


@pytest.mark.full
@pytest.mark.bwrap
def test_an_expired_quarantine_is_named_by_run_and_lifted_by_validate(own_suite: Suite, tmp_path: Path) -> None:
    manifest = own_suite.folder / "problems/calc-half/problem.yml"
    aside = "quarantine: {reason: flaky, evidence: once, expires: '2020-01-01'}"
    manifest.write_text(manifest.read_text().replace("status: active\n", "") + f"status: quarantined\n{aside}\n")
    run = ("run", own_suite.folder, "--candidate", "reference", "--sandbox", "bwrap", "--out")
    words = (
        f"1 of 3 problems has expired (calc-half); `codegate validate {own_suite.folder}` releases them or renews it"
    )
    assert words in codegate(*run, "before", cwd=tmp_path).stderr
    listed = own_suite.folder / "problems/calc-half/tests.json"
    flaky = {"id": "tests/x.py::test_x", "quarantine": {"reason": "flaky", "evidence": "once", "expires": "2020-01-01"}}
    listed.write_text(json.dumps({**json.loads(listed.read_text()), "QUARANTINED": [flaky]}))
    validated = codegate("validate", own_suite.folder, "--rounds", "1", "--sandbox", "bwrap", "--json", cwd=tmp_path)
    assert "calc-half: quarantine has expired for tests/x.py::test_x. To grade a test again, move" in validated.stderr
    assert (validated.code, validated.document["released"]) == (0, ["calc-half"]), validated.stderr
    after = codegate(*run, "after", cwd=tmp_path)
    assert (after.code, "has expired" in after.stderr, "[3/3]" in after.stderr) == (0, False, True)


@pytest.mark.bwrap
def test_gate_baseline_and_report(home: Path, tmp_path: Path) -> None:
    gate = codegate("gate", "run", "--json", cwd=home)
    assert gate.code == 3
    kinds = [verdict["kind"] for verdict in gate.document["verdicts"]]
    assert kinds == ["inconclusive", "inconclusive"], "three problems are too few to be sure of anything"
    shown = codegate("baseline", "show", "--json", cwd=home)
    assert (shown.code, shown.document["schema"]) == (0, "codegate.baseline-summary/1")
    report = codegate("report", "run", "--baseline", "codegate.lock", "--out", "reports", "--json", cwd=home)
    assert report.code == 0
    assert all((home / path).exists() for path in report.document["reports"].values())
    assert codegate("report", "run", "run", "--out", "two", cwd=home).code == 0
    gated = (home / "run/reports/report.json").read_bytes()
    refused(2, "run/reports has reports with a verdict", "report", "run", cwd=home)
    assert (home / "run/reports/report.json").read_bytes() == gated
    assert codegate("report", "run", "--baseline", "codegate.lock", cwd=home).code == 0
    assert json.loads((home / "run/reports/report.json").read_bytes())["verdicts"] == gate.document["verdicts"]
    (home / "run/reports/report.json").write_text("[" * 200_000)
    assert codegate("report", "run", cwd=home).code == 0, "what is no report has no verdict"
    assert codegate("report", "run", "--baseline", "codegate.lock", "--format", "html", cwd=home).code == 0
    refused(2, "run/reports has reports with a verdict", "report", "run", cwd=home)
    pin = ("baseline", "pin", "run", *ONE, "--candidate", "empty")
    refused(2, "the lock pins model 'reference', and the runs are of 'empty'", *pin, cwd=home)
    before = (home / "baseline.json").read_bytes()
    refused(2, "baseline.json exists already. Give another --out", *pin, "--lock", "other.lock", cwd=home)
    assert (home / "baseline.json").read_bytes() == before, "codegate.lock still pins it"
    assert not (home / "other.lock").exists()
    assert codegate(*pin, "--lock", "other.lock", "--out", "other.json", cwd=home).code == 0
    refused(2, "the lock pins model 'reference', and the runs are of 'empty'", *pin, "--replace", cwd=home)
    again = ("baseline", "pin", "run", *ONE, "--candidate", "reference")
    refused(2, "codegate.lock pins a baseline already. Give --replace", *again, cwd=home)
    replaced = codegate(*again, "--replace", "--json", cwd=home)
    assert (replaced.code, replaced.document["lock"]["baseline"]) == (0, "baseline.json")
    refused(2, "the run has 2 candidates", "baseline", "pin", "run", *ONE, "--replace", cwd=home)


@pytest.mark.bwrap
def test_the_configurations_policy_and_baseline_hold_everywhere(home: Path) -> None:
    (home / "gate").mkdir()
    for name in ("baseline.json", "codegate.lock"):
        (home / name).rename(home / "gate" / name)
    (home / "codegate.yml").write_text(
        "candidates: [reference]\nbaseline: gate/codegate.lock\ngate: {margin: 0.2, must_pass: [calc-half]}\n"
    )
    done = codegate("gate", "run", "--json", cwd=home)
    gated = done.document
    assert {verdict["margin"] for verdict in gated["verdicts"]} == {0.2}
    assert (done.code, gated["verdicts"][1]["kind"]) == (1, "regressed")
    assert "`codegate run` with the lock samples the pinned model again" in done.stderr
    codegate("report", "run", "--baseline", "gate/codegate.lock", "--out", "reports", cwd=home)
    assert json.loads((home / "reports/report.json").read_text())["verdicts"] == gated["verdicts"]


@pytest.mark.bwrap
def test_a_run_in_another_sandbox_than_the_baselines_shows_the_command_alone(suite: Suite, tmp_path: Path) -> None:
    command = ("run", suite.folder, "--candidate", "empty")
    done = codegate(*command, "--sandbox", "bwrap", "--samples", "5", "--no-gate", "--out", "pinned", cwd=tmp_path)
    assert done.code == 0, done.stderr
    manifest = tmp_path / "pinned" / "run.json"
    manifest.write_text(manifest.read_text().replace('"bwrap"', '"docker"'))
    assert codegate("baseline", "pin", "pinned", cwd=tmp_path).code == 0
    done = codegate(*command, "--sandbox", "bwrap", cwd=tmp_path)
    assert done.code == 3, done.stderr
    assert done.stderr.endswith(f"\n  {shlex.join(map(str, ('codegate', *command)))} --sandbox docker\n")
    assert done.stdout.startswith("Conditions that differ\n"), "and no table of what was not run"


@pytest.mark.bwrap
def test_a_lock_next_to_the_configuration_gates_at_once(home: Path, own_suite: Suite, suite: Suite) -> None:
    config = home / "codegate.yml"
    config.write_text(
        f"suite: {os.path.relpath(suite.folder, home)}\ncandidates: [empty]\nsandbox: bwrap\n"
        "gate: {alpha: 0.2, max_samples: 1}\n"
    )
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    done = codegate("run", "--config", config, "--out", "new", "--json", cwd=elsewhere)
    assert done.code == 1
    assert [verdict["kind"] for verdict in done.document["verdicts"]] == ["regressed"]
    fix = own_suite.folder / "problems/calc-half/fix/calc/half.py"
    fix.write_text(fix.read_text() + "\n")
    other = codegate("run", own_suite.folder, "--config", config, "--json", "--out", "other", cwd=elsewhere)
    assert other.code == 3
    [verdict] = other.document["verdicts"]
    assert verdict["kind"] == "incomparable"
    assert "suite" in {mismatch["field"] for mismatch in verdict["mismatches"]}
    (home / "baseline.json").write_text("{}")
    refused(2, "baseline.json", "run", "--config", config, "--out", "third", cwd=elsewhere)
    assert not (elsewhere / "third").exists(), "known before money is spent"


@pytest.mark.bwrap
def test_grade_prints_one_outcome_per_line(suite: Suite, tmp_path: Path) -> None:
    patch = "diff --git a/calc/half.py b/calc/half.py\n--- a/calc/half.py\n+++ b/calc/half.py\n@@ -1,2 +1,2 @@\n"
    good = f"{patch} def half(n):\n-    return n // 3\n+    return n // 2\n"
    predictions = {
        "good": good,
        "none": None,
        "stale": good.replace("// 3", "// 4"),
        "outside": good.replace("calc/half.py", "../calc/half.py"),
        "tests": "--- /dev/null\n+++ b/tests/test_half.py\n@@ -0,0 +1 @@\n+def test_half(): pass\n",
        "odd \u2028": good.replace("n // 2", "'\udce9'"),
    }
    file = tmp_path / "predictions.jsonl"
    rows = [
        {"instance_id": "calc-half", "model_name_or_path": name, "model_patch": text}
        for name, text in predictions.items()
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = codegate("grade", suite.folder, "--predictions", file, "--sandbox", "bwrap", "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert outcomes[-1]["attempt"]["patch"] == predictions["odd \u2028"]
    assert [outcome["candidate"] for outcome in outcomes] == list(predictions)
    failures = [outcome["grade"]["failure"] for outcome in outcomes]
    assert failures[:3] == [None, "no_patch", "patch_does_not_apply"]
    assert all(failures[1:])
    assert [outcome["grade"]["resolved"] for outcome in outcomes] == [True] + [False] * 5
    rows[0]["instance_id"] = "calc-nothing"
    file.write_text(json.dumps(rows[0]))
    refused(2, "not in suite calc: calc-nothing", "grade", suite.folder, "--predictions", file, "--json", cwd=tmp_path)


@pytest.mark.bwrap
def test_validate_quarantines_what_does_not_hold(own_suite: Suite, tmp_path: Path) -> None:
    validate = ("validate", own_suite.folder, "--rounds", "1", "--sandbox", "bwrap", "--json")
    fix = own_suite.folder / "problems/calc-half/fix/calc/half.py"
    fix.write_text("def half(n):\n    return None\n")
    manifest = own_suite.folder / "suite.yml"
    manifest.write_text(re.sub("- calc-(double|square)\n", "", manifest.read_text()))
    done = codegate(*validate, cwd=tmp_path)
    assert (done.code, done.document["quarantined"], done.document["proven"]) == (3, ["calc-half"], [])
    assert re.search("calc-half: quarantined: oracle_fails: .*tests/test_half.py::", done.stderr)


@pytest.mark.bwrap
def test_a_run_that_faults_took_samples_of_says_how_it_goes_on(
    suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    server.script = lambda name, turn, _: (
        Said(status=503, headers={"Retry-After": "0"}) if name == "half" and turn < 12 else Said(answer(name))
    )
    run = ("run", suite.folder, "--candidate", server.candidate, "--sandbox", "bwrap", "--no-precheck")
    done = codegate(*run, "--out", "r", cwd=tmp_path)
    assert done.code == 4
    again = next(line for line in done.stderr.splitlines() if line.endswith("--resume r"))
    assert codegate(*shlex.split(again)[1:], cwd=tmp_path).code == 0
    assert (len(server.asked), server.asked.count("half")) == (15, 13)


@pytest.mark.full
@pytest.mark.bwrap
def test_a_full_disk_keeps_what_was_journalled(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    out = tmp_path / "r"
    run = ("run", suite.folder, "--sandbox", "bwrap")
    first = codegate(*run, "--candidate", server.candidate, "--out", tmp_path / "x", cwd=tmp_path)
    assert first.code == 0
    whole_files = [tmp_path / "x" / "sandbox.json", *(tmp_path / "x" / "transcripts").rglob("*.json")]
    largest = max(path.stat().st_size for path in whole_files)
    journal = (tmp_path / "x" / "outcomes.jsonl").stat().st_size
    samples = 2 + 3 * largest // journal
    server.reset()

    new = (*run, "--candidate", server.candidate, "--samples", samples, "--out", out)
    done = codegate(*new, cwd=tmp_path, file_bytes=largest + 500)
    assert done.code == 4, done.stderr
    assert f"cannot write {out / 'outcomes.jsonl'}: File too large. Check its space" in done.stderr
    assert f"Outcomes written before are kept. Continue with:\n  codegate {run[0]}" in done.stderr
    whole = (out / "outcomes.jsonl").read_bytes()
    kept = [json.loads(line) for line in whole[: whole.rfind(b"\n")].splitlines()]
    assert kept
    attempts = len(list((out / "transcripts").rglob("*.json")))
    server.reset()
    assert codegate(*run, "--resume", out, cwd=tmp_path).code == 0
    assert lines(out)[: len(kept)] == kept
    assert len(results(out)) == 3 * samples
    assert len(server.asked) == 3 * samples - attempts


@pytest.mark.bwrap
def test_a_run_folder_does_not_say_where_a_key_goes(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "r")
    path, openai = tmp_path / "r" / "run.json", {"provider": "openai", "model": "gpt-4o-2024-08-06"}
    command = ("run", "nowhere", "--resume", "r")
    for change in (
        {"base_url": "https://collector.example/v1"},
        {"base_url": "http://127.0.0.1:8080/v1"},
        {"api_key_env": "SOME_SECRET"},
        {"api_key_command": ["id"]},
        {"headers": {"openai-organization": "theirs"}},
    ):
        path.write_text(json.dumps({**json.loads(path.read_text()), "candidates": [{**openai, **change}]}))
        refused(2, "name it with --config or --candidate", *command, cwd=tmp_path)
    refused(2, "has no candidate openai:gpt-5-2025", *command, "--candidate", "openai:gpt-5-2025-08-07", cwd=tmp_path)
    (tmp_path / "own.yml").write_text(json.dumps({"candidates": json.loads(path.read_text())["candidates"]}))
    refused(2, "nowhere is not a suite", *command, "--config", "own.yml", cwd=tmp_path)


@pytest.mark.sandbox
@pytest.mark.parametrize("image", ["registry.example/evil@sha256:" + "1" * 64, "--volume=/:/host"])
def test_a_suite_does_not_say_which_image_is_fetched(own_suite: Suite, tmp_path: Path, image: str) -> None:
    write_recipe(own_suite.folder, f"image: '{image}'\n")
    words = "which is not allowed here. If you trust it, add it to"
    rows = [{"instance_id": "calc-half", "model_name_or_path": "m", "model_patch": ""}]
    (tmp_path / "p.json").write_text(json.dumps(rows))
    refused(2, words, "run", own_suite.folder, "--candidate", "reference", cwd=tmp_path)
    refused(2, words, "grade", own_suite.folder, "--predictions", "p.json", "--sandbox", "bwrap", cwd=tmp_path)
    refused(2, words, "validate", own_suite.folder, "--sandbox", "bwrap", cwd=tmp_path)


@pytest.mark.bwrap
def test_a_tool_that_a_written_recipe_lacks_ends_a_command_at_once(own_suite: Suite, tmp_path: Path) -> None:
    write_recipe(own_suite.folder, "tools: {ruby: '1.0'}\n")
    rows = [{"instance_id": "calc-half", "model_name_or_path": "ours", "model_patch": ""}]
    (tmp_path / "p.json").write_text(json.dumps(rows))
    refused(2, "this machine has no ruby 1.0", "grade", own_suite.folder, "--predictions", "p.json", "--sandbox",
            "bwrap", cwd=tmp_path)  # fmt: skip
    refused(2, "ruby 1.0", "validate", own_suite.folder, "--sandbox", "bwrap", cwd=tmp_path)


def test_of_an_earlier_demo_only_what_it_made_is_removed(tmp_path: Path) -> None:
    from codegate.cli.demo import _clear

    out, elsewhere = tmp_path / "demo", tmp_path / "elsewhere"
    _clear(out)
    (out / "suite" / "problems").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("x")
    (out / "runs").symlink_to(elsewhere)
    (out / "notes").write_text("mine")
    _clear(out)
    assert sorted(path.name for path in out.iterdir()) == [".codegate-demo", "notes"]
    assert (elsewhere / "precious").exists()


def test_a_bug_is_not_a_regression(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    script = "import codegate.cli.main as cli, codegate.cli.init as i; del i.write_atomic; cli.run(['init', '--json'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 4
    assert "NameError" in done.stderr
    assert done.stderr.splitlines()[-1] == "codegate: this is a bug in codegate. Please report it with the lines above."
    assert json.loads(done.stdout)["error"]["exit_code"] == 4


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("gate", "run", "--json"), 3),
        (("gate", "run"), 3),
        (("--version",), 4),
    ],
)
def test_a_reader_that_goes_away_changes_no_verdict(home: Path, command: tuple[str, ...], code: int) -> None:
    with start(*command, cwd=home) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, said = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in said) == (code, False), said


def test_a_folder_that_cannot_be_written_is_infrastructure(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(4, "cannot write", "report", finished, "--out", tmp_path / "file" / "below", cwd=tmp_path)
