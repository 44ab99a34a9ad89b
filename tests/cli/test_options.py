"""What commands share: how much they print, and completion in a shell."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from codegate.suite import Suite
from tests.running.world import ModelServer, Said, answer, codegate

SHELLS = {"bash": "complete -p codegate", "zsh": "whence -w _codegate_completion", "fish": "complete -c codegate"}


@pytest.mark.bwrap
def test_quiet_prints_results_and_errors_and_verbose_a_log(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    run = ("run", suite.folder, "--sandbox", "bwrap", "--candidate", server.candidate, "--no-precheck", "--limit", "1")
    quiet = codegate("-q", *run, "--out", "quiet", cwd=tmp_path)
    assert (quiet.code, quiet.stderr) == (0, "")
    assert "Correctness: pass@1" in quiet.stdout
    server.script = lambda name, turn, request: Said(answer(name).replace("n * 2", "n + n"))  # which is graded anew
    own = {"OPENAI_API_KEY": "sk-key-of-some-length"}
    loud = codegate(*run, "-v", "--out", "loud", cwd=tmp_path, environment=own)
    for words in ("suite.git: git cat-file in .*: exit 0, ", "sandbox.session: .*: exit ", "running.calls: model call"):
        assert re.search(rf"^[\d:]+ {words}", loud.stderr, re.MULTILINE), loud.stderr
    assert "sk-key-of-some-length" not in loud.stderr
    refused = codegate("run", "nowhere", "--candidate", "reference", "--log-level", "error", cwd=tmp_path)
    assert refused.stderr.startswith("codegate: nowhere is not a suite")


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_can_be_loaded(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    script = codegate(cwd=tmp_path, environment={"_CODEGATE_COMPLETE": f"{shell}_source"})
    assert (script.code, "codegate" in script.stdout) == (0, True), script.stderr
    words = {"COMP_WORDS": "codegate re", "COMP_CWORD": "re" if shell == "fish" else "1"}
    offered = codegate(cwd=tmp_path, environment={"_CODEGATE_COMPLETE": f"{shell}_complete", **words})
    assert {"review", "report"} <= set(re.split(r"[\s,]", offered.stdout)), offered.stdout
    if program is not None:
        loaded = f"{script.stdout}\n{SHELLS[shell]}"
        subprocess.run([program, "-c", loaded], check=True, cwd=tmp_path, capture_output=True)
