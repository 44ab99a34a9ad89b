"""``--rules-from``: a change is judged by the rules of a commit; the recipes of the page, word for word."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.kit.command import ROOT
from tests.kit.http import Reply, Request, Server, as_json
from tests.kit.repository import commit_all, run_git
from tests.running.world import REMEMBERING, codegate, make_suite

pytestmark = pytest.mark.bwrap

RULES = (
    "suite: suites/own\nsandbox: bwrap\ncandidates: [{provider: reference}]\nsamples: 1\n"
    "gate: {min_problems: 3, must_pass: [calc-half]}\n"
)
EASY = RULES.replace("reference", "empty").replace(", must_pass: [calc-half]", "")
PAGE = (ROOT / "docs" / "elsewhere.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a suite, a pinned baseline and rules on its branch main."""
    folder = tmp_path_factory.mktemp("origin")
    make_suite(folder)
    repository = folder / "repository"
    shutil.copytree(folder / "suite", repository / "suites" / "own")
    (repository / "codegate.yml").write_text(RULES)
    (repository / ".gitignore").write_text("/gate/\n/runs/\n")
    assert codegate("run", "--repository", ".", "--out", "runs/pinned", cwd=repository).code == 0
    assert codegate("baseline", "pin", "runs/pinned", "--min-samples", "1", cwd=repository).code == 0
    commit_all(repository)
    run_git(repository, "branch", "--force", "rules", "HEAD")
    return repository


@pytest.fixture
def clone(origin: Path, tmp_path: Path) -> Path:
    """A clone whose commit proposes a worse candidate, easier rules, no lock and an easier suite."""
    run_git(tmp_path, "clone", "--quiet", "--branch", "rules", str(origin), "clone")
    clone = tmp_path / "clone"
    (clone / "codegate.yml").write_text(EASY)
    (clone / "codegate.lock").unlink()
    shutil.rmtree(clone / "suites" / "own" / "problems" / "calc-half")
    commit_all(clone)
    return clone


@pytest.mark.requirement("P1")
def test_a_change_is_judged_by_the_rules_of_the_commit(clone: Path) -> None:
    done = codegate("run", "--rules-from", "origin/rules", "--out", "gate", "--json", cwd=clone)
    assert done.code == 1, done.stderr
    assert (done.document["candidates"][0]["label"], len(done.document["problems"])) == ("empty", 3)
    words = "This change edits suites/own and codegate.yml (gate); until it is merged, what the base commit has counts"
    assert words in done.stderr
    assert "This change edits codegate.lock; until it is merged, the one of the base commit counts." in done.stderr
    scratch = clone.parent / "scratch"
    scratch.mkdir()
    again = codegate("gate", "gate", "--rules-from", "origin/rules", cwd=clone, environment={"TMPDIR": str(scratch)})
    assert (again.code, list(scratch.iterdir())) == (1, []), again.stderr
    assert codegate("run", "--rules-from", "origin/rules", "--resume", "gate", cwd=clone).code == 1

    run_git(clone, "checkout", "--quiet", "-b", "bare", "origin/rules")
    (clone / "codegate.lock").unlink()
    commit_all(clone)
    done = codegate("gate", "gate", "--rules-from", "bare", cwd=clone)
    assert (done.code, "bare pins no baseline" in done.stderr) == (2, True), done.stderr


@pytest.mark.requirement("P1")
def test_shards_are_planned_and_merged_by_the_rules_of_the_commit(clone: Path) -> None:
    rules = ("--rules-from", "origin/rules")
    planned = codegate("plan", "--shards", "2", "--json", *rules, cwd=clone)
    assert planned.code == 0, planned.stderr
    run_id = planned.document["shards"]["run_id"]
    for shard in ("1", "2"):
        part = ("--shard", f"{shard}/2", "--run-id", run_id, "--out", f"parts/{shard}")
        assert codegate("run", *rules, *part, cwd=clone).code == 0
    own = codegate("merge", "parts", "--run-id", run_id, "--out", "own", cwd=clone)
    assert (own.code, "was planned for a gate, but neither" in own.stderr) == (2, True), own.stderr
    done = codegate("merge", "parts", "--run-id", run_id, "--out", "whole", "--json", *rules, cwd=clone)
    assert done.code == 1, done.stderr
    assert [one["kind"] for one in done.document["verdicts"]] == ["regressed"]
    assert "`codegate run --rules-from origin/rules --resume whole` samples the pinned model again" in done.stderr
    named = (*rules, "--config", "codegate.yml", "--baseline", "codegate.lock")
    again = codegate("merge", "parts", "--out", "again", *named, cwd=clone)
    assert f"`codegate run {' '.join(named)} --resume again` samples" in again.stderr + again.stdout


@pytest.mark.parametrize(
    ("option", "tags", "code", "words"),
    [
        ("--no-gate", "", 0, "not gated: the run was planned with --no-gate"),
        ("--samples=1", "tags: {owner: nobody}", 2, "has other tags or dates than the suite of the base commit"),
    ],
)
def test_a_merge_gates_what_was_planned_for_it_and_writes_nothing_that_it_refuses(
    clone: Path, option: str, tags: str, code: int, words: str
) -> None:
    run_git(clone, "checkout", "--quiet", "HEAD~1", "--", ".")
    problem = clone / "suites/own/problems/calc-half/problem.yml"
    problem.write_text(re.sub(r"(?m)^tags:.*$|\Z", f"{tags}\n", problem.read_text(), count=1))
    planned = codegate("plan", option, "--shards", "1", "--repository", ".", "--json", cwd=clone)
    run_id = planned.document["shards"]["run_id"]
    part = ("--shard", "1/1", "--run-id", run_id, "--out", "part", "--repository", ".")
    assert codegate("run", option, *part, cwd=clone).code == 0
    done = codegate("merge", "part", "--out", "whole", "--rules-from", "origin/rules", cwd=clone)
    assert (done.code, words in done.stderr + done.stdout) == (code, True), done.stderr + done.stdout
    assert (clone / "whole").exists() == (code == 0)


def test_an_error_in_the_commits_suite_names_the_commit(clone: Path) -> None:
    run_git(clone, "checkout", "--quiet", "HEAD~1", "--", ".")
    (clone / "suites/own/problems/calc-half/statement.md").write_text("Another one.\n")
    commit = commit_all(clone)
    refused = codegate("run", "--rules-from", "HEAD", cwd=clone)
    assert refused.code == 2
    assert re.search(f"codegate-rules-{commit[:12]}-[^/]*/suites/own/problems/calc-half/statement.md", refused.stderr)


def test_a_run_on_fewer_problems_than_the_commits_is_refused(clone: Path) -> None:
    run_git(clone, "checkout", "--quiet", "HEAD~1", "--", "suites", "codegate.lock")
    assert codegate("review", "suites/own", "--drop", "calc-half", cwd=clone).code == 0
    ran = codegate("run", "--no-gate", "--repository", ".", "--out", "gate", cwd=clone)
    assert ran.code == 0, ran.stderr
    refused = codegate("gate", "gate", "--rules-from", "origin/rules", cwd=clone)
    assert (refused.code, "is on other problems than the suite of the base commit" in refused.stderr) == (2, True), (
        refused.stderr
    )


def test_a_run_with_other_tags_than_the_commits_is_refused(clone: Path) -> None:
    """Floors go by tags, which no digest covers: without that of the failing problem the run passed."""
    run_git(clone, "checkout", "--quiet", "HEAD~1", "--", ".")
    problem = clone / "suites/own/problems/calc-half/problem.yml"
    problem.write_text(re.sub(r"(?m)^tags:.*$|\Z", "tags: {owner: nobody}\n", problem.read_text(), count=1))
    assert codegate("run", "--no-gate", "--repository", ".", "--out", "gate", cwd=clone).code == 0
    for command in (("gate", "gate"), ("run", "--resume", "gate")):
        refused = codegate(*command, "--rules-from", "origin/rules", cwd=clone)
        assert refused.code == 2
        assert "has other tags or dates than the suite of the base commit: calc-half. Start a new run" in refused.stderr


@pytest.mark.parametrize(
    ("text", "rules", "words"),
    [
        ("candidates: ['openai:m@https://elsewhere.example/v1']\n", "origin/rules", "A key goes to its provider's own"),
        (EASY, "nowhere", "there is no commit 'nowhere' here. Fetch it"),
        (EASY, "--help", "there is no commit '--help' here."),
    ],
    ids=["key", "commit", "option"],
)
def test_what_the_commit_does_not_allow_is_refused(clone: Path, text: str, rules: str, words: str) -> None:
    (clone / "codegate.yml").write_text(text)
    done = codegate("run", f"--rules-from={rules}", cwd=clone, environment={"OPENAI_API_KEY": "sk-canary"})
    assert done.code == 2, done.stderr
    assert words in done.stderr
    assert not (clone / "runs").exists()


@pytest.mark.requirement("P1")
def test_the_page_gates_a_merge_request_and_posts_a_note(clone: Path) -> None:
    [text] = re.findall(r"^```yaml\n(codegate:.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    job = yaml.safe_load(text)["codegate"]
    notes: list[Request] = []

    def gitlab(request: Request) -> Reply:
        notes.append(request)
        return as_json({"id": 1}, 201)

    server = Server(gitlab)
    program = clone.parent / "bin" / "codegate"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{REMEMBERING}\n")
    program.chmod(0o755)
    given = {
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "rules",
        "CI_API_V4_URL": f"{server.url}/api/v4",
        "CI_PROJECT_ID": "9",
        "CI_MERGE_REQUEST_IID": "7",
        "CODEGATE_GITLAB_TOKEN": "glpat-canary",
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    script = "\n".join(job["script"])

    def run_job() -> "subprocess.CompletedProcess[str]":
        command = ["bash", "-e", "-c", script]
        environment = {**os.environ, **given}
        return subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)

    done = run_job()
    assert done.returncode == 1, done.stdout + done.stderr
    (note,) = notes
    assert (note.method, note.path) == ("POST", "/api/v4/projects/9/merge_requests/7/notes")
    assert note.headers["private-token"] == "glpat-canary"
    assert b'name="body"' in note.raw
    assert b"regressed" in note.raw
    assert (clone / job["artifacts"]["reports"]["junit"]).is_file()
    run_git(clone, "checkout", "--quiet", "--detach", "origin/rules")
    shutil.rmtree(clone / "gate")
    same = run_job()
    server.close()
    assert (same.returncode, len(notes)) == (0, 1), same.stderr


@pytest.mark.requirement("P1")
def test_the_page_gates_in_a_plain_shell(clone: Path) -> None:
    [line] = re.findall(r"^\$ (codegate run .*?) +#", PAGE, re.MULTILINE)
    run_git(clone, "fetch", "--quiet", "origin", "rules")
    assert codegate(*line.split()[1:], cwd=clone).code == 1
