"""What programs that codegate starts on the host find in their environment."""

import os
import shutil
from pathlib import Path

import pytest

from codegate.errors import InfrastructureError
from codegate.mining import fetch_pull_heads
from codegate.operations.baselines import origin
from codegate.sandbox.cache import remove_tree
from tests.kit.repository import make_repository, run_git

KEYS = ("OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY", "GOOGLE_OAUTH_ACCESS_TOKEN", "TEAM_KEY")


def test_programs_on_the_host_get_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = tmp_path / "clone"
    make_repository(clone, {"a.py": b"1\n"})
    run_git(clone, "remote", "add", "origin", "http://127.0.0.1:1/sums.git")
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Ada\n")
    for name in ("git", "rm"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nenv >> {tmp_path}/{name}.env\nexec {shutil.which(name)} "$@"\n')
        program.chmod(0o755)
    for key in KEYS:
        monkeypatch.setenv(key, "canary-key-1")
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GITHUB_TOKEN", "for-a-credential-helper")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)

    assert origin().who == "Ada"
    with pytest.raises(InfrastructureError):
        fetch_pull_heads(clone)
    remove_tree(clone)

    assert not clone.exists()
    for name in ("git", "rm"):
        assert "canary-key-1" not in (tmp_path / f"{name}.env").read_text()
    assert "for-a-credential-helper" in (tmp_path / "git.env").read_text()
