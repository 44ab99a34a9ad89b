"""The life of a baseline, through the command line."""

import json
import shutil
from pathlib import Path

import pytest

from codegate.candidates import CandidateSpec
from codegate.gating import load_lock
from codegate.running import Journal
from codegate.suite import git
from tests.cli.run_folders import SPEC, pattern, write_run
from tests.cli.test_commands import refused
from tests.running.world import codegate

NEWER = CandidateSpec(provider="openai", model="m-2025-12-01")
NIGHT = {"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "octocat", "GITHUB_SHA": "a" * 40}


@pytest.fixture(scope="module")
def pinned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("pinned")
    write_run(home / "r-1", pattern(20, 5))
    write_run(home / "r-2", pattern(20, 5, shift=1), at="2026-02-01T03:00:00+00:00")
    done = codegate("baseline", "pin", "r-1", "r-2", cwd=home, environment=NIGHT)
    assert done.code == 0, done.stderr
    assert "warning: another version of codegate graded these samples" in done.stdout + done.stderr
    return home


@pytest.fixture
def home(pinned: Path, tmp_path: Path) -> Path:
    """A folder with two runs of five samples that are pinned."""
    return shutil.copytree(pinned, tmp_path, dirs_exist_ok=True)


def test_all_samples_of_all_runs_are_pinned_and_shown(home: Path) -> None:
    shown = codegate("baseline", "show", "--json", cwd=home)
    document = shown.document
    assert (shown.code, document["schema"]) == (0, "codegate.baseline-summary/1")
    assert (document["problems"], document["samples"], document["model"]) == (20, 10, SPEC.model)
    assert [run["id"] for run in document["runs"]] == ["r-1", "r-2"]
    assert document["pass_rate"]["n"] == 20
    assert document["pass_rate"]["low"] < document["pass_rate"]["value"] < document["pass_rate"]["high"]
    assert document["rates"]["p-00"] == {"passed": 10, "n": 10}
    assert document["spec"]["model"] == SPEC.model
    assert document["provenance"][0]["who"] == "octocat"
    assert document["provenance"][0]["commit"] == "a" * 40
    assert document["age"]["state"] in {"old", "expired"}, "the runs are of early 2026"
    for words in ("20 problems x 10 samples", "made of 2 runs", "n=20 problems", "warning: its newest samples are"):
        assert words in shown.stderr, shown.stderr


def test_a_run_that_two_models_answered_is_not_pinned(tmp_path: Path) -> None:
    journal = write_run(tmp_path / "r-1", pattern(20, 5)) / "outcomes.jsonl"
    journal.write_text(journal.read_text().replace(SPEC.model, NEWER.model, 40))
    told = f"in run r-1 several models answered: {SPEC.model}, {NEWER.model}."
    refused(2, told, "baseline", "pin", "r-1", cwd=tmp_path)


def test_a_baseline_without_a_pass_is_warned_of(tmp_path: Path) -> None:
    write_run(tmp_path / "r-1", {"p-00": [False] * 5})
    done = codegate("baseline", "pin", "r-1", cwd=tmp_path)
    assert "no sample passed, so nothing can be worse than this baseline" in done.stdout
    write_run(tmp_path / "r-2", {"p-00": [True, False, False, False, False]})
    done = codegate("baseline", "pin", "r-2", "--replace", cwd=tmp_path)
    assert (done.code, "no sample passed" in done.stdout) == (0, False)
    assert "it passes 20.0% [" in done.stdout, "a lower bar is seen"
    assert "; the baseline that it replaces, 0.0% [" in done.stdout


def test_samples_that_lost_an_answer_are_noted(tmp_path: Path) -> None:
    write_run(tmp_path / "r-1", {"p-00": [None, *[True] * 5]})
    journal = Journal.open(tmp_path / "r-1")
    *_, graded = journal.load().outcomes
    with journal.writing():
        journal.append(graded.model_copy(update={"sample": 0, "lost": {"provider.timeout": 1}}))
    note = "note: 1 of 6 samples lost an answer before the graded one (provider.timeout 1)"
    assert note in codegate("baseline", "pin", "r-1", cwd=tmp_path).stdout
    assert note in codegate("baseline", "show", cwd=tmp_path).stdout


def test_git_says_who_and_on_what(tmp_path: Path) -> None:
    write_run(tmp_path / "r-1", pattern(4, 5))
    git(tmp_path, "init", "--quiet", ".")
    git(tmp_path, "config", "user.name", "Ada\tL.")
    git(tmp_path, "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "x")
    head = git(tmp_path, "rev-parse", "HEAD").decode().strip()
    done = codegate("baseline", "pin", "r-1", "--json", cwd=tmp_path, environment={"GITHUB_ACTIONS": ""})
    event = done.document["baseline"]["provenance"][0]
    assert (event["who"], event["commit"]) == ("Ada L.", head)


@pytest.mark.requirement("C4")
def test_a_new_snapshot_is_accepted_by_a_reset_only(home: Path) -> None:
    write_run(home / "r-3", pattern(20, 5), spec=NEWER)
    for more in ([], ["--replace"]):
        refused(2, "Only `codegate baseline reset` accepts", "baseline", "pin", "r-3", *more, cwd=home)
    old = json.loads((home / "codegate.lock").read_text())["digest"]
    done = codegate("baseline", "reset", "r-3", "--from", SPEC.model, "--reason", "half the price", "--json", cwd=home)
    assert done.code == 0, done.stderr
    assert done.document["lock"]["model"] == NEWER.model
    [event] = done.document["baseline"]["provenance"]
    assert (event["action"], event["reason"], event["predecessor"], event["predecessor_model"]) == (
        "reset", "half the price", old, SPEC.model,
    )  # fmt: skip


def test_refresh_adds_what_is_the_same_and_stops_at_drift(home: Path) -> None:
    write_run(home / "same", pattern(20, 2, shift=2))
    write_run(home / "worse", {name: [False] * 5 for name in pattern(20, 5)})
    before = (home / "baseline.json").read_bytes()
    refused(3, "the pinned model has drifted", "baseline", "refresh", "same", "worse", "--json", cwd=home)
    assert (home / "baseline.json").read_bytes() == before
    done = codegate("baseline", "refresh", "same", "--json", cwd=home)
    assert done.code == 0, done.stderr
    assert done.document["baseline"]["samples"] == 12
    assert done.document["drift"]["n"] == 20
    refused(2, "run same is already in the baseline", "baseline", "refresh", "same", cwd=home)
    accepted = codegate("baseline", "refresh", "worse", "--accept-drift", "--json", cwd=home)
    assert accepted.document["baseline"]["samples"] == 17
    assert [event["action"] for event in accepted.document["baseline"]["provenance"]] == ["pin", "refresh", "refresh"]
    assert codegate("baseline", "show", cwd=home).code == 0


def test_transport_and_environments_stay_in_a_lock(home: Path) -> None:
    write_run(home / "same", pattern(20, 2, shift=2))
    transport = {"artifact": "kept", "workflow": ".github/workflows/ours.yml", "release": "v1"}
    lock = home / "codegate.lock"
    more = {"transport": transport | {"asset": None}, "environments": {"a" * 64: "b" * 64}}
    lock.write_text(json.dumps(json.loads(lock.read_text()) | more))
    assert codegate("baseline", "refresh", "same", cwd=home).code == 0
    assert load_lock(lock).environments == {"a" * 64: "b" * 64}
    kept = load_lock(lock).transport
    assert kept is not None
    assert (kept.artifact, kept.workflow, kept.release) == ("kept", ".github/workflows/ours.yml", "v1")
