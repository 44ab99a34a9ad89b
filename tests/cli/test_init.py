"""``codegate init --workflows``: the shipped workflows in a team's repository."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import codegate
from codegate.cli.init import PLACEHOLDER, command
from codegate.errors import UsageError
from codegate.suite import LockedEnvironment, Suite, make_problem, write_suite
from tests.running.world import ModelServer, Said, lines
from tests.running.world import codegate as run_codegate

TEMPLATES = Path(__file__).resolve().parents[2] / ".github" / "workflow-templates"
COMMIT = "codegate-ci/codegate@" + "0123456789abcdef" * 2 + "01234567"
WRITTEN = {f"codegate-{name}.yml" for name in ("gate", "nightly", "baseline", "comment", "mine")}


def init(*words: str) -> None:
    """Run the command in the current folder."""
    command.main([*words], standalone_mode=False)


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def repository(empty: Path) -> Path:
    """A repository without a commit, and the current folder."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch=trunk", "."], check=True)
    return empty


def test_the_workflows_use_the_action_that_was_named(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    init("--workflows", "--action", COMMIT, "--json")
    out, errors = capsys.readouterr()
    assert "ls-remote" not in errors
    workflows = repository / ".github" / "workflows"
    assert {path.name for path in workflows.iterdir()} == WRITTEN
    assert {Path(path).name for path in json.loads(out)["workflows"]} == WRITTEN
    for path in workflows.iterdir():
        template = (TEMPLATES / path.name).read_text()
        assert path.read_text() == template.replace(PLACEHOLDER, COMMIT).replace("[$default-branch]", '["trunk"]')
        used = re.findall(r"uses: (\S+)", path.read_text())
        assert COMMIT in used
        assert not [name for name in used if "0" * 40 in name]
    assert (repository / "codegate.yml").exists()


def test_pull_requests_to_the_remotes_default_branch_are_gated(repository: Path) -> None:
    subprocess.run(["git", "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/v2/main"], check=True)
    init("--workflows")
    text = (repository / ".github" / "workflows" / "codegate-gate.yml").read_text()
    assert yaml.safe_load(text)[True]["pull_request"]["branches"] == ["v2/main"]


def test_a_tag_is_used_where_no_commit_is_named_and_that_is_said(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init("--workflows")
    tag = f"v{codegate.__version__}"
    assert f"codegate-ci/codegate@{tag}" in (repository / ".github" / "workflows" / "codegate-gate.yml").read_text()
    assert f"git ls-remote https://github.com/codegate-ci/codegate {tag}" in capsys.readouterr().out


@pytest.mark.parametrize("words", [(), ("--action", COMMIT), ("--matrix",)], ids=["tag", "commit", "matrix"])
def test_zizmor_finds_nothing_in_the_workflows_as_they_are_written(repository: Path, words: tuple[str, ...]) -> None:
    init("--workflows", *words)
    found = subprocess.run(
        [Path(sys.executable).with_name("zizmor"), "--offline", "--no-progress", "--format", "json", repository],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (found.returncode, json.loads(found.stdout)) == (0, []), found.stdout
    gate = "codegate-matrix.yml" if "--matrix" in words else "codegate-gate.yml"
    text = (repository / ".github" / "workflows" / gate).read_text()
    assert ("pin it: `codegate init --workflows --force --action" in text) == ("--action" not in words)


def test_what_is_there_is_not_overwritten(repository: Path) -> None:
    own = repository / ".github" / "workflows" / "codegate-nightly.yml"
    own.parent.mkdir(parents=True)
    own.write_text("mine\n")
    (repository / "codegate.yml").write_text("mine too\n")
    with pytest.raises(UsageError, match=r"codegate-nightly\.yml exists"):
        init("--workflows")
    assert [path.name for path in own.parent.iterdir()] == [own.name]
    assert own.read_text() == "mine\n"
    init("--workflows", "--force")
    assert yaml.safe_load(own.read_text())["name"] == "codegate nightly"
    assert (repository / "codegate.yml").read_text() == "mine too\n"


def test_a_link_that_leads_nowhere_is_there_too(repository: Path) -> None:
    own = repository / ".github" / "workflows" / "codegate-gate.yml"
    own.parent.mkdir(parents=True)
    own.symlink_to(repository / "elsewhere")
    with pytest.raises(UsageError, match=r"codegate-gate\.yml exists"):
        init("--workflows")
    assert own.is_symlink()


def test_one_workflow_gates(repository: Path) -> None:
    init("--workflows", "--matrix")
    workflows = repository / ".github" / "workflows"
    assert {path.name for path in workflows.iterdir()} == WRITTEN - {"codegate-gate.yml"} | {"codegate-matrix.yml"}
    with pytest.raises(UsageError, match=r"codegate-matrix\.yml exists, and gates already"):
        init("--workflows", "--force")


@pytest.mark.parametrize(
    "action", ["codegate", "a/b", "a/b@", "a/b@v1\n      - run: echo", "a/b@v1 # x", "./@v1", "a/b@${{ github.ref }}"]
)
def test_an_action_that_is_none_is_refused(repository: Path, action: str) -> None:
    with pytest.raises(UsageError, match="OWNER/REPO@REF"):
        init("--workflows", "--action", action)
    assert [path.name for path in repository.iterdir()] == [".git"]


def test_workflows_belong_to_the_root_of_a_repository(empty: Path) -> None:
    with pytest.raises(UsageError, match="not the root of a git repository"):
        init("--workflows")
    assert list(empty.iterdir()) == []


def test_options_of_the_workflows_are_none_of_the_configurations(empty: Path) -> None:
    for words in (["--force"], ["--matrix"], ["--action", COMMIT]):
        with pytest.raises(UsageError, match="Give --workflows"):
            init(*words)
    assert list(empty.iterdir()) == []


def test_without_a_suite_there_is_no_limit_and_that_is_said(empty: Path) -> None:
    init()
    text = (empty / "codegate.yml").read_text()
    assert "max_model_calls" not in yaml.safe_load(text)
    assert "no limit yet: there is no suite" in text


@pytest.mark.full
@pytest.mark.bwrap
def test_the_limit_that_init_writes_lets_its_own_workflows_finish(
    own_suite: Suite, server: ModelServer, empty: Path
) -> None:
    """A model that uses every call that it may: 12 problems take 600 calls for a baseline of 10 samples."""
    problems = [
        make_problem(one.manifest.model_copy(update={"id": f"{one.id}-{copy}"}), one.statement, one.tests, one.hidden,
                     one.fix, one.environment)
        for copy in range(4) for one in own_suite.problems
    ]  # fmt: skip
    environments = [LockedEnvironment(one, own_suite.locks[one.id]) for one in own_suite.manifest.environments]
    repository = os.path.relpath(own_suite.folder.parent / "repository", empty / "suites" / "mine")
    write_suite(empty / "suites" / "mine", name="mine", repository=repository, environments=environments,
                problems=problems)  # fmt: skip
    init()
    config = empty / "codegate.yml"
    settings = yaml.safe_load(config.read_text())
    plan = run_codegate("plan", "--json", cwd=empty)
    assert plan.document["model_calls"]["baseline"] == 600
    assert plan.document["model_calls"]["limit"] == settings["max_model_calls"]
    settings["candidates"][0]["base_url"] = server.url
    config.write_text(yaml.safe_dump(settings))
    tool = {"id": "c", "type": "function", "function": {"name": "list_files", "arguments": "{}"}}
    server.script = lambda name, turn, request: Said(tool_calls=[tool])

    command = ("run", "--sandbox", "bwrap", "--repository", own_suite.folder.parent / "repository", "--no-precheck")
    made = run_codegate(*command, "--no-gate", "--samples", "10", "--out", "baseline", cwd=empty)
    assert made.code == 0, made.stderr
    assert (len(lines(empty / "baseline")), len(server.asked)) == (120, 600)
    assert run_codegate("baseline", "pin", "baseline", cwd=empty).code == 0
    gated = run_codegate(*command, "--out", "gated", cwd=empty)
    assert "model calls is reached" not in gated.stderr
    assert (empty / "gated" / "reports").exists(), gated.stderr
