"""The pages' own commands, word for word and in order, with their models at the providers' own addresses."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from codegate.candidates import EXAMPLE_CANDIDATE
from tests.e2e.project import add_service, write_history
from tests.kit.command import Done
from tests.kit.pages import ROOT, Step, Terminal, steps
from tests.kit.stand_in import KEY, StandIn
from tests.running.world import knowing

pytestmark = [pytest.mark.bwrap, pytest.mark.timeout(1500)]

# The hosts that a page's models are at, and how much the runs solve that it names.
PAGES: dict[str, tuple[set[str], dict[str, float]]] = {
    "README.md": ({"api.openai.com", "api.anthropic.com"}, {"pinned": 1.0}),
    "docs/tutorial.md": ({"127.0.0.1"}, {"pinned": 1.0, "upgrade": 0.0, "local": 1.0}),
    "docs/how-to.md": ({"api.openai.com"}, {"pinned": 1.0, "functions": 0.0}),
    "docs/harness.md": ({"api.anthropic.com"}, {"pinned": 1.0}),
}
SLOW = {"docs/harness.md"}
"""Pages with a real agent."""
NIGHTLY = {*SLOW, "docs/how-to.md", "docs/tutorial.md"}
LEFT_OUT = {
    "make demo": "sets up an environment; what it calls is run by test_demo.py",
    "make test": "runs this test",
    "pip install codegate-ci": "brings another release than this one",
    "codegate demo": "takes two minutes; run by test_demo.py",
}
"""Why a command is not carried out, by its first words."""

LOCAL = "http://127.0.0.1:8080"
EDITOR = f"sed -i s/{EXAMPLE_CANDIDATE.partition(':')[2]}/gpt-5.4-2026-03-05/"


def follow(page: str, folder: Path, stand_in: StandIn, left_out: Mapping[str, str]) -> Iterator[tuple[Step, Done]]:
    """Carry out a page's commands in ``folder``, with bubblewrap, and yield how each one ended."""
    people = {
        f"GIT_{who}_{what}": "reader@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    own = {"DOCKER_HOST": "unix:///nonexistent/docker.sock", "EDITOR": editor(page, folder), "HISTFILE": ""}
    terminal = Terminal(folder, {**os.environ, **people, **own, **stand_in.environment})
    for step in steps(page):
        if not any(step.command.startswith(begin) for begin in left_out):
            done = terminal.enter(step.command.replace(LOCAL, stand_in.url))
            assert done.code in step.codes, f"$ {step.command}\n{done.stdout}{done.stderr}"
            yield step, done


def editor(page: str, folder: Path) -> str:
    """Return what edits a file as the page says: its block of YAML is the whole file, a text gets one line more."""
    if page not in SLOW:
        return EDITOR
    [block] = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    (folder.parent / "block.yml").write_text(block)
    script = folder.parent / "edit"
    script.write_text(f'case "$1" in *.yml) cp {folder.parent}/block.yml "$1";; *) echo Shorter. >>"$1";; esac\n')
    return f"sh {script}"


def project(page: str, folder: Path) -> None:
    """Make what a page presumes in the folder where it begins."""
    if page == "docs/tutorial.md":
        write_history(folder / "codegate-demo" / "repository", fixed=2)
        return
    history = write_history(folder, fixed=1)
    if page in SLOW:
        history.commit("Instruct agents", {"AGENTS.md": "Fix the cause.\n", ".gitignore": "runs/\n"})
        return
    if page == "docs/how-to.md":
        add_service(history)
    functions = folder / "suites" / "functions"
    shutil.copytree(ROOT / "suites" / "functions", functions)
    manifest = yaml.safe_load((functions / "suite.yml").read_text())
    manifest["problems"] = manifest["problems"][:2]  # of ten, all of a kind
    (functions / "suite.yml").write_text(yaml.safe_dump(manifest))


@pytest.mark.requirement("F1")
@pytest.mark.parametrize("page", [pytest.param(page, marks=[pytest.mark.full] * (page in NIGHTLY)) for page in PAGES])
def test_every_command_of_a_page_ends_as_the_page_says(page: str, tmp_path: Path) -> None:
    hosts, rates = PAGES[page]
    project(page, tmp_path / "reader")
    with StandIn(knowing, tmp_path) as stand_in:
        assert list(follow(page, tmp_path / "reader", stand_in, LEFT_OUT))
    assert {request.host for request in stand_in.model.requests} == hosts
    assert stand_in.refused == []
    if page in SLOW:
        told = [json.dumps(request.body) for request in stand_in.model.requests]
        assert all("Fix the cause." in each for each in told if "tools" in each)
        assert any("Shorter." in each for each in told)
    for run, rate in rates.items():
        [report] = tmp_path.rglob(f"runs/{run}/reports/report.json")
        assert json.loads(report.read_text())["candidates"][0]["pass_rate"]["value"] == rate, run
    assert KEY not in "".join(path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file())
    if hosts != {"127.0.0.1"}:  # a model of this machine has no price
        assert all(re.search(r"\$0\.\d*[1-9]", path.read_text()) for path in tmp_path.rglob("runs/*/reports/report.md"))


def test_each_command_that_is_left_out_is_on_a_page() -> None:
    commands = [step.command for page in PAGES for step in steps(page)]
    assert [begin for begin in LEFT_OUT if not any(each.startswith(begin) for each in commands)] == []


@pytest.mark.full
def test_the_tutorial_shows_what_its_commands_print(tmp_path: Path) -> None:
    with StandIn(knowing, tmp_path) as stand_in:
        for step, done in follow("docs/tutorial.md", tmp_path, stand_in, {}):
            # ``...`` stands for anything.
            pattern = ".*".join(re.escape(part.strip()) for part in step.shown.split("..."))
            printed = done.stderr + done.stdout
            assert re.fullmatch(rf"\s*{pattern}\s*", printed, re.DOTALL), f"$ {step.command}\n{printed}"
