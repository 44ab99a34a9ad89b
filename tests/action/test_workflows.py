"""Every workflow, ours and those that are shipped: three linters, and what they do not look at."""

import json
import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from codegate.environments import SUFFIXES
from codegate.gating.baseline import Lock
from tests.github.runner import event_variables
from tests.github.test_event import pull_payload
from tests.kit.repository import HistoryBuilder

ROOT = Path(__file__).resolve().parents[2]
OURS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SHIPPED = sorted((ROOT / ".github" / "workflow-templates").glob("*.yml"))
PLACEHOLDER = f"codegate-ci/codegate@{'0' * 40} # filled in by `codegate init`"

CHECKOUT = "3d3c42e5aac5ba805825da76410c181273ba90b1"
UPLOAD = "bbbca2ddaa5d8feaa63e36b76fdaad77386f024f"

READ = {"contents": "read"}
REPORT = {"contents": "read", "actions": "read", "pull-requests": "write"}
NEEDED: dict[str, dict[str, dict[str, str]]] = {
    "codegate-gate.yml": {"gate": REPORT},
    "codegate-matrix.yml": {"plan": {**READ, "actions": "read"}, "shard": {**READ, "actions": "read"}, "merge": REPORT},
    "codegate-nightly.yml": {
        "nightly": {**READ, "actions": "read", "issues": "write"},
        "dashboard": {"pages": "write", "id-token": "write"},
    },
    "codegate-baseline.yml": {"baseline": {**READ, "actions": "read"}},
    "codegate-comment.yml": {"comment": {"actions": "read", "pull-requests": "write"}},
    "codegate-mine.yml": {"mine": READ},
    "codegate-upgrade.yml": {"upgrade": {"contents": "write", "pull-requests": "write"}},
}
"""What each job of the shipped workflows may do."""

# What a release writes: packages and attestations with the job's identity, and the release itself.
WRITES = {
    "release.yml": {("id-token", "write"), ("attestations", "write"), ("packages", "write"), ("contents", "write")}
}

# A newer commit of the same pull request makes an older run worthless; what else was begun has been paid for.
CANCELS = {"codegate-gate.yml", "codegate-matrix.yml"}
WITH_A_CHECKOUT = set(NEEDED) - {"codegate-comment.yml"}


def run(program: str, *words: str, cwd: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    """Run a linter of this environment."""
    path = Path(sys.executable).with_name(program)
    return subprocess.run([str(path), *words], cwd=cwd, capture_output=True, text=True, check=False, timeout=60)


def actionlint(*files: Path, cwd: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    # Whether shellcheck is there is the machine's affair.
    return run("actionlint", "-no-color", "-shellcheck=", "-pyflakes=", *map(str, files), cwd=cwd)


def zizmor(*files: Path) -> "subprocess.CompletedProcess[str]":
    config = ROOT / ".github" / "zizmor.yml"
    return run("zizmor", "--offline", "--no-progress", "--config", str(config), *map(str, files))


def complaints(text: str, *, cancels: bool) -> list[str]:
    """Return what a shipped or own workflow leaves out or opens up."""
    workflow: dict[Any, Any] = yaml.safe_load(text)
    events = workflow[True]  # YAML 1.1 takes `on` for a truth value
    found = []
    if workflow.get("permissions") != {}:
        found.append("permissions: {} is not at the top")
    if "group" not in workflow.get("concurrency", {}):
        found.append("no concurrency")
    elif workflow["concurrency"].get("cancel-in-progress", False) is not cancels:
        found.append(f"cancel-in-progress is not {cancels}")
    if "pull_request_target" in events:
        found.append("runs with the repository's rights on anybody's branch")
    found += ["starts in minute 0" for entry in events.get("schedule", ()) if entry["cron"].startswith("0 ")]
    if "actions/cache" in text:
        found.append("restores a cache, which any job of a pull request can fill with any file of the runner")
    for name, job in workflow["jobs"].items():
        if "permissions" not in job:
            found.append(f"{name}: no permissions")
        if not 1 <= job.get("timeout-minutes", 0) <= 350:
            found.append(f"{name}: no timeout within GitHub's six hours")
        if job["runs-on"].endswith("-latest"):
            found.append(f"{name}: another system one day")
        for step in job["steps"]:
            found += [f"{name}: {words}" for words in _of_step(step, "workflow_run" in events)]
    for line in text.splitlines():
        used = re.search(r"\buses: (.*)", line)
        if used and not (line.endswith(PLACEHOLDER) or re.fullmatch(r"\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used[1])):
            found.append(f"not pinned with its version: {used[1]}")
    return found


def _of_step(step: dict[str, Any], trusted: bool) -> list[str]:
    found = []
    if "${{" in step.get("run", "") + step.get("with", {}).get("run", ""):
        found.append("an expression is pasted into a shell")
    if step.get("uses", "").startswith("actions/checkout@"):
        if trusted:
            found.append("a checkout where the repository's rights are")
        if step.get("with", {}).get("persist-credentials") is not False:
            found.append("the token stays in .git/config")
        if step.get("with", {}).get("fetch-depth") != 0:
            found.append("base trees are read from history, which is not there")
    return found


def test_there_are_workflows() -> None:
    assert {path.name for path in SHIPPED} == set(NEEDED)
    assert OURS


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_a_shipped_workflow_opens_nothing(path: Path) -> None:
    assert complaints(path.read_text(), cancels=path.name in CANCELS) == []
    jobs = yaml.safe_load(path.read_text())["jobs"]
    assert {name: job["permissions"] for name, job in jobs.items()} == NEEDED[path.name]
    assert ("actions/checkout@" in path.read_text()) == (path.name in WITH_A_CHECKOUT)


def test_a_run_is_kept_whatever_its_verdict() -> None:
    """A later attempt reads it: a red gate is not run again on new samples until it is green."""
    jobs = [job for path in SHIPPED for job in yaml.safe_load(path.read_text())["jobs"].values()]
    conditions = []
    for steps in (job["steps"] for job in jobs):
        names = {step["with"].get("run-artifact", "codegate-run") for step in steps if "resume" in step.get("with", {})}
        conditions += [step["if"] for step in steps if step.get("with", {}).get("name") in names]
    assert conditions == ["always() && steps.codegate.outputs.run-path != ''"] * 4


def test_a_baseline_is_uploaded_only_where_there_is_one() -> None:
    """Before the first pin the weekly run is skipped: an upload then would look for files at the runner's root."""
    text = (ROOT / ".github" / "workflow-templates" / "codegate-baseline.yml").read_text()
    steps = yaml.safe_load(text)["jobs"]["baseline"]["steps"]
    made = "steps.codegate.outputs.verdict == 'pass'"
    kept = {step["name"]: step["if"] for step in steps if "report-path" in step.get("with", {}).get("path", "")}
    assert kept == {"Keep the baseline": made, "Keep the environments": made}


def test_all_files_of_built_environments_are_uploaded() -> None:
    text = (ROOT / ".github" / "workflow-templates" / "codegate-baseline.yml").read_text()
    steps = {step["name"]: step for step in yaml.safe_load(text)["jobs"]["baseline"]["steps"] if "name" in step}
    pattern = PurePosixPath(steps["Keep the environments"]["with"]["path"]).name
    assert all(fnmatch("0" * 64 + suffix, pattern) for suffix in SUFFIXES)


def test_what_was_mined_is_kept_before_the_job_ends() -> None:
    job = yaml.safe_load((ROOT / ".github" / "workflow-templates" / "codegate-mine.yml").read_text())["jobs"]["mine"]
    mining, kept = job["steps"][1:]
    assert int(mining["with"]["max-minutes"]) + 30 <= job["timeout-minutes"], "a set-up that runs is waited for"
    assert kept["if"] == "always() && steps.codegate.outputs.suite-path != ''"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_a_copy_of_a_workflow_has_its_own_concurrency_group(path: Path) -> None:
    """Such as one for another part of a monorepo: its name may be the same, its file is another."""
    workflow = yaml.safe_load(path.read_text())
    ended = "github.event.workflow_run.workflow_id" if "workflow_run" in workflow[True] else "github.workflow_ref"
    assert f"${{{{ {ended} }}}}" in workflow["concurrency"]["group"]


def deciding(name: str) -> str:
    """Return the script of a gate's workflow that decides whether anything is to be gated."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflow-templates" / name).read_text())["jobs"]
    [step] = [step for job in jobs.values() for step in job["steps"] if step.get("id") == "changes"]
    assert (step["uses"], step.get("env")) == (PLACEHOLDER.partition(" ")[0], None), "no key"
    return str(step["with"]["run"])


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> HistoryBuilder:
    """A repository with the shipped workflows; its suite, lock and prompt are where its configuration says."""
    made = HistoryBuilder(tmp_path_factory.mktemp("gated") / "r")
    candidate = {"provider": "openai", "model": "gpt-4.1-2025-04-14", "prompt": "prompts/fix.md"}
    replay = {"provider": "replay", "model": "answers.jsonl"}
    settings = {"suite": "evals/ours", "baseline": "ci/gate.lock", "candidates": [candidate, replay]}
    lock = Lock(baseline="b.json", sha256="0" * 64, digest="0" * 64, suite_digest="0" * 64, model="m")
    made.commit("begin", {
        "codegate.yml": json.dumps(settings), "prompts/fix.md": "{statement}",
        "evals/ours/suite.yml": "", "ci/gate.lock": lock.model_dump_json(by_alias=True),
        **{f".github/workflows/{path.name}": path.read_bytes() for path in SHIPPED},
        ".github/workflows/ci.yml": "on: push\n", "AGENTS.md": "", "src/a.py": "", "docs/a.md": "",
    })  # fmt: skip
    return made


def decided(gated: HistoryBuilder, tmp_path: Path, base: str) -> tuple["subprocess.CompletedProcess[str]", str]:
    """Run the action with the script of the gate's workflow; return how it ended, and the outputs that it wrote."""
    bin_, outputs = Path(sys.executable).parent, tmp_path / "outputs"
    payload = pull_payload()
    payload["pull_request"]["base"]["sha"] = base
    payload["pull_request"]["head"]["sha"] = gated.git("rev-parse", "change")
    environment = event_variables(
        tmp_path, "pull_request", payload, PATH=f"{bin_}:{os.environ['PATH']}", GITHUB_OUTPUT=str(outputs),
        INPUT_RUN=deciding("codegate-gate.yml"), GITHUB_REF="refs/pull/7/merge",
        GITHUB_SHA=gated.git("rev-parse", "HEAD"),
    )  # fmt: skip
    done = subprocess.run([bin_ / "codegate", "action"], cwd=gated.folder, env=environment, capture_output=True,
                          text=True, check=False)  # fmt: skip
    return done, outputs.read_text()


NOT_READ = (
    ".github/workflows/ci.yml", ".github/workflows/codegate-nightly.yml", "AGENTS.md", "codegate.lock",
    "evals/theirs/suite.yml", "prompts/other.md", "src/a.py",
)  # fmt: skip


@pytest.mark.parametrize("read", ["evals/ours/problems/one/problem.yml", ".github/workflows/codegate-gate.yml", None])
def test_a_shipped_gate_gates_exactly_what_matters(gated: HistoryBuilder, tmp_path: Path, read: str | None) -> None:
    gated.git("checkout", "--quiet", "-B", "change", "main")
    was = {path: gated.folder / path for path in (*NOT_READ, *([read] if read else []))}
    gated.commit("change", {path: f"{there.read_text() if there.exists() else ''}\n" for path, there in was.items()})
    done, answer = decided(gated, tmp_path, gated.git("rev-parse", "main"))
    assert (done.returncode, done.stdout, answer) == (0, "", "gate=true\n" if read else "gate=false\n")
    [line] = done.stderr.splitlines()
    assert line.startswith(f"{read} changed: " if read else "nothing changed that the gate reads: ")


def test_what_the_base_branch_has_changed_meanwhile_is_not_gated(gated: HistoryBuilder, tmp_path: Path) -> None:
    old = gated.git("rev-parse", "main")
    gated.git("checkout", "--quiet", "-B", "change", "main")
    gated.commit("words", {"README.md": "more\n"})
    gated.git("checkout", "--quiet", "-B", "ahead", "main")
    new = gated.commit("another prompt", {"prompts/fix.md": "Fix it: {statement}"})
    gated.git("update-ref", "refs/remotes/origin/main", new)
    gated.git("checkout", "--quiet", "--detach", "ahead")
    gated.git("-c", "user.name=G", "-c", "user.email=g@x", "merge", "--quiet", "--no-ff", "-m", "merge", "change")
    done, answer = decided(gated, tmp_path, old)
    assert (done.returncode, answer) == (0, "gate=false\n"), done.stderr


def test_without_an_answer_the_step_fails(gated: HistoryBuilder, tmp_path: Path) -> None:
    done, answer = decided(gated, tmp_path, "0" * 40)
    assert (done.returncode, answer) == (2, ""), done.stderr


def test_a_gate_of_shards_is_decided_likewise() -> None:
    script = deciding("codegate-gate.yml")
    assert deciding("codegate-matrix.yml") == script.replace("codegate-gate.yml", "codegate-matrix.yml") != script


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("permissions: {}\n", "", "permissions: {} is not at the top"),
        ("permissions: {}\n", "permissions: write-all\n", "permissions: {} is not at the top"),
        ("concurrency:\n  group:", "concurrency:\n  cancel:", "no concurrency"),
        ("cancel-in-progress: true", "cancel-in-progress: false", "cancel-in-progress is not True"),
        ("  pull_request:\n", "  pull_request_target:\n", "runs with the repository's rights on anybody's branch"),
        ("  merge_group:\n", '  schedule: [{cron: "0 3 * * *"}]\n', "starts in minute 0"),
        ("    permissions:\n      contents: read", "    env:\n      contents: read", "gate: no permissions"),
        ("timeout-minutes: 120", "timeout-minutes: 600", "gate: no timeout within GitHub's six hours"),
        ("    timeout-minutes: 120\n", "", "gate: no timeout within GitHub's six hours"),
        ("ubuntu-24.04", "ubuntu-latest", "gate: another system one day"),
        (f"@{UPLOAD} # v7.0.0", f"@{UPLOAD}", f"not pinned with its version: actions/upload-artifact@{UPLOAD}"),
        (f"@{CHECKOUT} # v7.0.1", "@v7", "not pinned with its version: actions/checkout@v7"),
        ('"$CODEGATE_BASE" HEAD', "${{ github.head_ref }}", "gate: an expression is pasted into a shell"),
        ("persist-credentials: false", "persist-credentials: true", "gate: the token stays in .git/config"),
        ("fetch-depth: 0", "fetch-depth: 1", "gate: base trees are read from history, which is not there"),
        (f"actions/checkout@{CHECKOUT} # v7.0.1", f"actions/cache/restore@{CHECKOUT} # v5.0.5",
         "restores a cache, which any job of a pull request can fill with any file of the runner"),
        ("  merge_group:\n", "  workflow_run:\n", "gate: a checkout where the repository's rights are"),
    ],
)  # fmt: skip
def test_what_a_workflow_may_not_lack_is_missed(old: str, new: str, words: str) -> None:
    text = (ROOT / ".github" / "workflow-templates" / "codegate-gate.yml").read_text()
    assert old in text
    assert complaints(text.replace(old, new, 1), cancels=True) == [words]


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_our_own_workflows_open_nothing(path: Path) -> None:
    text = path.read_text().replace("cancel-in-progress: ${{ github.event_name == 'pull_request' }}", "")
    assert complaints(text, cancels=False) == []
    for job in yaml.safe_load(text)["jobs"].values():
        assert job["permissions"].items() <= {("contents", "read")} | WRITES.get(path.name, set())


def test_the_linters_accept_every_workflow_and_the_action() -> None:
    files = [*OURS, *SHIPPED]
    assert actionlint(*files).stdout == ""
    schema = ("check-jsonschema", "--builtin-schema")
    for found in (
        zizmor(*files, ROOT / "action.yml"),
        run(*schema, "vendor.github-workflows", *map(str, files)),
        run(*schema, "vendor.github-actions", str(ROOT / "action.yml")),
    ):
        assert found.returncode == 0, found.stdout + found.stderr


def test_each_linter_refuses_what_is_its_to_see(tmp_path: Path) -> None:
    text = (ROOT / ".github" / "workflow-templates" / "codegate-gate.yml").read_text()

    def changed(name: str, old: str, new: str) -> Path:
        assert old in text
        (tmp_path / name).write_text(text.replace(old, new))
        return tmp_path / name

    assert actionlint(changed("a.yml", "steps.changes", "steps.chnages")).returncode == 1
    assert zizmor(changed("b.yml", "  pull_request:", "  pull_request_target:")).returncode != 0
    other = str(changed("c.yml", "timeout-minutes: 120", "timeout: 120"))
    assert run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", other).returncode == 1


def test_the_shipped_workflows_use_the_inputs_and_outputs_that_there_are(tmp_path: Path) -> None:
    """The linter reads ``action.yml`` where a workflow uses ``./``."""
    workflows = tmp_path / ".github" / "workflows"
    workflows.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    shutil.copyfile(ROOT / "action.yml", tmp_path / "action.yml")
    shutil.copyfile(ROOT / "Dockerfile", tmp_path / "Dockerfile")
    for path in SHIPPED:
        assert PLACEHOLDER in path.read_text()
        (workflows / path.name).write_text(path.read_text().replace(PLACEHOLDER, "./"))
    found = actionlint(cwd=tmp_path)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_githubs_page_of_templates_knows_what_each_is(path: Path) -> None:
    properties = json.loads(path.with_suffix(".properties.json").read_text())
    assert set(properties) == {"name", "description", "iconName", "categories"}
    assert properties["name"].startswith("codegate: ")


@pytest.mark.requirement("E2")
def test_everything_that_a_release_publishes_is_attested_before_it_is_published() -> None:
    """The workflow is read here; only a release runs it."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    attested = {
        name: step["with"]
        for name, job in jobs.items()
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/attest-build-provenance@")
    }
    image, packages = attested.pop("image"), attested.pop("build")
    assert not attested
    assert (image["subject-name"], image["subject-digest"]) == ("${{ env.IMAGE }}", "${{ steps.push.outputs.digest }}")
    assert packages["subject-path"] == "dist/*"
    order = ("image", "action", "build", "pypi", "notes")
    assert tuple(jobs[name]["needs"] for name in order[1:]) == order[:-1]
    for name in ("image", "build"):
        assert {"id-token": "write", "attestations": "write"}.items() <= jobs[name]["permissions"].items()
