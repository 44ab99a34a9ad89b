"""``codegate init --workflows``: the shipped workflows in a team's repository."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import codegate
from codegate.cli.init import PLACEHOLDER, command
from codegate.errors import UsageError

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
