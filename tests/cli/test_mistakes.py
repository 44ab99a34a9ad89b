"""Mistakes of a first hour, a row each: what was typed, the files that were there, the exit code, and the message.

Every message names cause, place and remedy in one line; a command to paste may follow on the next.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from codegate.suite import Suite
from tests.cli.run_folders import write_run
from tests.running.world import codegate

SUITE, RUN = "SUITE", "RUN"
"""Stand for the folders of a sound suite and of a run of one sample."""

DATED = "openai:m-2025-01-01"

NO_SANDBOX = {"DOCKER_HOST": "unix:///nonexistent"}
"""Where a sandbox would be opened, the message would be about Docker."""


class Mistake(NamedTuple):
    """What was typed, the words of the message, and what was there."""

    typed: str
    message: str
    config: str = ""
    code: int = 2
    files: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}


def config(text: str, message: str, typed: str = "plan SUITE") -> Mistake:
    """A wrong codegate.yml; ``text`` follows its candidates unless it has some."""
    return Mistake(typed, message, text if "candidates" in text else f"candidates: [reference]\n{text}")


def model(text: str, message: str) -> Mistake:
    """A wrong key of a candidate in codegate.yml."""
    return config(f"candidates: [{{provider: openai, model: m-2025-01-01, {text}}}]", message)


MISTAKES: list[Any] = [
    # commands and options
    Mistake("frobnicate", "there is no command 'frobnicate'. codegate --help lists them."),
    Mistake("rnu", "there is no command 'rnu'. Did you mean run?"),
    Mistake("baseline pinn", "No such command 'pinn'. |codegate baseline --help"),
    Mistake("int", "there is no command 'int'. Did you mean init?"),
    Mistake("mine reprot SUITE", "reprot is neither a folder nor a command of `codegate mine`. Did you mean report?"),
    Mistake("validate", "Missing argument 'SUITE'. |codegate validate --help"),
    Mistake("history human", "Missing option '--from'. |codegate history human --help"),
    Mistake("run --smaples 3", "No such option '--smaples'"),
    Mistake("run SUITE --samples 0", "'--samples': 0 is not in the range 1<=x<=100."),
    Mistake("run SUITE --log-level loud", "'loud' is not one of 'error', 'info', 'debug'."),
    Mistake("run SUITE --budget-usd lots", "'lots' is no sum of dollars."),
    Mistake("run SUITE --candidate reference --sandbox chroot", "'chroot' is no sandbox. Choose auto, docker"),
    Mistake("run SUITE --candidate reference --shard 3", "--shard 2/3 --run-id ID. `codegate plan"),
    Mistake("run SUITE --candidate reference --shard 3/2 --run-id x", "'3/2' is no shard. Write it as 2/3"),
    Mistake("run SUITE --resume y --samples 2", "--resume continues a run as it was planned. Leave out --samples"),
    Mistake("run SUITE --no-gate --baseline x", "--no-gate compares with no baseline. Leave out --baseline."),
    Mistake("run SUITE --limit 1 --shard 1/2", "--limit and --problem try some problems out"),
    pytest.param(Mistake("run SUITE --candidate reference --problem calc-hal", "'calc-hal'|Did you mean calc-half?"),
                 marks=pytest.mark.bwrap),
    pytest.param(Mistake("run SUITE --candidate reference --problem nope", "'nope': there is none|The suite has calc-"),
                 marks=pytest.mark.bwrap),
    pytest.param(Mistake("run SUITE --candidate reference --out RUN",
                         "already holds a run: |or continue it:|--candidate reference --json --resume /"),
                 marks=pytest.mark.bwrap),
    Mistake("run SUITE --candidate reference --label x", "--label names the model of --predictions."),
    Mistake("run SUITE --candidate reference --run-id x", "`codegate plan --shards 3` gives both"),
    Mistake("plan", "no suite was given. Name its folder, or set `suite` in codegate.yml."),
    Mistake("mine", "Missing argument 'REPOSITORY'. |codegate mine --help"),
    pytest.param(Mistake("mine SUITE --out o", "is a suite, not a repository. |--refresh` adds its newest fixes."),
                 marks=pytest.mark.sandbox),
    Mistake("mine x --rewrite openai:gpt-5 --sandbox docker", "'gpt-5' is a floating alias", environment=NO_SANDBOX),
    Mistake("mine x --github nonsense --sandbox docker", "'nonsense' is not a repository. Give it as owner/name.",
            environment=NO_SANDBOX | {"GITHUB_TOKEN": "t"}),
    Mistake("mine nowhere --github auto", "nowhere is not a folder."),
    Mistake("mine . --github auto --sandbox docker", ". is not a git repository. ", environment=NO_SANDBOX),
    Mistake("report RUN RUN", "the reports of several runs have no folder of their own. Give --out."),
    Mistake("init --force", "--matrix, --action and --force are about the workflows. Give --workflows, too."),
    Mistake("init --candidate openai:gpt-4.1", "'gpt-4.1' is a floating alias"),
    # folders and files that are something else
    Mistake("run", "codegate.yml does not exist. Write one with `codegate init`, or give --candidate."),
    Mistake("run --candidate reference", "no suite was given. Name its folder, or set `suite` in codegate.yml."),
    Mistake("run x --candidate reference",
            "x is not a suite: there is no such folder. |`codegate mine REPOSITORY --out x`."),
    Mistake("plan RUN", "is not a suite: it has no suite.yml."),
    Mistake("gate SUITE", "holds no run: it has no run.json. Give the folder that `run` named."),
    Mistake("gate nowhere", "nowhere holds no run"),
    Mistake("baseline show", "codegate.lock does not exist. |`codegate baseline pin RUN`"),
    Mistake("run SUITE --candidate reference --baseline no.lock", "no.lock does not exist. "),
    Mistake("history show", "history.jsonl does not exist. `codegate history append RUN` writes it."),
    Mistake("grade SUITE --predictions p.json", "p.json does not exist. Check its name."),
    Mistake("run SUITE --candidate replay:t.jsonl", "t.jsonl: there is no such file of transcripts. Check the path"),
    Mistake("baseline pin RUN", "1 sample per problem; at least 5 are needed|`codegate run SUITE --samples 10`"),
    Mistake("merge RUN", "is a whole run, and no shard of one. Leave it out."),
    Mistake("run file --candidate reference", "Directory 'file' is a file.", files={"file": ""}),
    Mistake("demo --out mine", "mine exists and is no earlier demo. Choose another --out.", files={"mine/own": "x"}),
    pytest.param(Mistake("mine nowhere", "nowhere is not a folder. Give the path of a git repository."),
                 marks=pytest.mark.sandbox),
    pytest.param(Mistake("mine .", ". is not a git repository. Give the path of a clone"), marks=pytest.mark.sandbox),
    Mistake("mine https://user:pw@example.com/app.git", "git clone https://example.com/app.git && codegate mine app"),
    Mistake("mine https://github.com/octo/app.git --out o",
            "is an address|git clone https://github.com/octo/app.git && codegate mine app"),
    Mistake("mine git@github.com:octo/app", "is an address|git clone git@github.com:octo/app && codegate mine app"),
    # candidates
    Mistake("run SUITE --candidate opnai:m", "unknown provider 'opnai'. Did you mean openai?"),
    Mistake("run SUITE --candidate nope:foo", "unknown provider 'nope'. Known providers: openai"),
    Mistake("run SUITE --candidate gpt-4o", "unknown provider 'gpt-4o'. |A candidate is written provider:model"),
    Mistake("run SUITE --candidate openai:", "the model's name is missing or malformed. A candidate is written"),
    Mistake("run SUITE --candidate openai:gpt-4o", "floating alias|Pin the dated form"),
    Mistake(f"run SUITE --candidate {DATED}@localhost:8080/v1", "'localhost:8080/v1' has no scheme. Write https"),
    Mistake(f"run SUITE --candidate {DATED}@ftp://x/v1", "base URL 'ftp://x/v1' is not allowed. A base URL is https"),
    Mistake(f"run SUITE --candidate {DATED}@http://example.org/v1", "would send the key and the source unencrypted."),
    Mistake(f"run SUITE --candidate {DATED}", "OPENAI_API_KEY is not set. Set OPENAI_API_KEY"),
    # codegate.yml
    config("# no candidates\n", "codegate.yml: it is empty; it has to be a table of keys: candidates"),
    config("candidates: [\n", "codegate.yml is not usable YAML: |at line 2, column 1."),
    config("candidates:\n\t- reference\n", "not usable YAML: |column 1. Indent with spaces: YAML takes no tabs."),
    config("candidates: reference\n", "candidates: it has to be a list. `candidates` is: Each `provider:model"),
    config("candidates: []\n", "candidates: the list is too short. `candidates` is: Each"),
    config("candidates: [reference, openai:gpt-4o]\n",
           "codegate.yml: candidate openai:gpt-4o: 'gpt-4o' is a floating alias"),
    config("sampels: 3\n", "codegate.yml: sampels: there is no such key (did you mean `samples`?)."),
    config("samples: 3\nsamples: 5\n", "the key 'samples' is given twice"),
    config("samples: 0\n", "samples: Input should be greater than or equal to 1, not 0. `samples` is: Samples per"),
    config("budget_usd: free\n", "budget_usd: it has to be a number. `budget_usd` is: The run stops, resumable"),
    config("sandbox: podman\n", "sandbox: 'podman' is no sandbox. Choose auto, docker"),
    config("suite: nowhere\n", "nowhere is not a suite", "plan"),
    config("baseline: base.lock\n", "there is no base.lock, which `baseline` in the configuration names. Restore it",
           "run SUITE --candidate reference"),
    config("gate: {margin: 10}\n", "gate.margin: |0.25, not 10. `margin` is: Largest tolerated drop|ten percentage"),
    config("gate: {margn: 0.1}\n", "gate.margn: there is no such key (did you mean `margin`?)."),
    config("gate: {max_samples: 2}\n",
           "gate.max_samples: Input should be 1 or 10, not 2. `max_samples` is:|this key, set `samples`."),
    config("gate: {scope: population}\n", "gate: `scope` is no key any more: a verdict is about|Remove the line."),
    config("gate: {must_pass: [calc-hal]}\n", "`gate.must_pass` names 'calc-hal'|suite calc. Did you mean calc-half?"),
    config('gate: {cohorts: {"language:pyton": {floor: 0.8}}}\n',
           "`gate.cohorts` has a floor for 'language:pyton'|did you mean 'language:python'?"),
    config("gate: {cohorts: {critical: 0.8}}\n", "gate.cohorts.critical: it has to be a table of keys, not 0.8."),
    model("solver: toolloop", "solver: Input should be 'single_shot', 'tool_loop' or 'agent', not toolloop."),
    model("sampling: {temprature: 0}", "sampling.temprature: there is no such key (did you mean `temperature`?)."),
    model("base_url: 'localhost:8000/v1'", "base_url: base URL 'localhost:8000/v1' has no scheme. Write https"),
    # the machine's, not the user's
    Mistake("run SUITE --candidate reference --sandbox docker", "no Docker daemon answers", code=4,
            environment={"DOCKER_HOST": "unix:///nowhere.sock"}),
    pytest.param(Mistake(f"run SUITE --candidate {DATED}@http://127.0.0.1:9/v1",
                         "nothing listens at http://127.0.0.1:9/v1. Start", code=4), marks=pytest.mark.sandbox),
    Mistake("init --out file/codegate.yml", "file", code=4, files={"file": ""}),
]  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one sample; nobody writes to it."""
    return write_run(tmp_path_factory.mktemp("runs") / "r", {"p-1": [True], "p-2": [False]})


@pytest.mark.parametrize("words", [("run",), ("run", "--candidate", "reference")])
def test_a_configuration_in_a_folder_above_is_named(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "codegate.yml").write_text("suite: suites/mine\ncandidates: [reference]\n")
    (tmp_path / "src").mkdir()
    done = codegate(*words, cwd=tmp_path / "src")
    assert done.code == 2
    assert "codegate.yml is looked for in this folder only, and there is ../codegate.yml." in done.stderr


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.typed)
def test_a_mistake_is_explained_in_one_line(mistake: Mistake, suite: Suite, run: Path, tmp_path: Path) -> None:
    if mistake.config:
        (tmp_path / "codegate.yml").write_text(mistake.config)
    for name, text in mistake.files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    stand_ins = {SUITE: str(suite.folder), RUN: str(run)}
    words = [stand_ins.get(word, word) for word in mistake.typed.split()]
    done = codegate(*words, "--json", cwd=tmp_path, environment=mistake.environment)
    assert done.code == mistake.code, done.stderr
    assert (done.document["schema"], done.document["error"]["exit_code"]) == ("codegate.error/1", mistake.code)
    said = done.stderr.splitlines()
    [number] = [number for number, line in enumerate(said) if line.startswith("codegate: ")]
    command = said[number + 1 :]
    assert len(command) <= 1, "nothing follows but a command"
    for part in mistake.message.split("|"):
        assert any(part in line for line in said[number:]), said
    assert re.search(r"[\w)`'\]][.?]$|\w:$", said[number]), "a sentence, or what a command follows"
    assert "?." not in said[number]
    assert not (tmp_path / "runs").exists(), "nothing was begun"
