"""Tools for sandboxes: installed once, used without a network, and a failure says why."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from codegate.errors import ExitCode
from codegate.sandbox import SandboxError
from codegate.sandbox.cache import cache_folder
from codegate.sandbox.tools import tools_for
from tests.kit.http import Reply, Server


def test_tools_are_installed_once_and_used_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path))
    program = "from codegate.sandbox.tools import tools_for; tools_for()"
    others = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [other.wait(240) for other in others] == [0, 0]
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:1/simple")
    tools = tools_for()
    assert os.access(tools.programs / "ruff", os.X_OK)
    assert (tools.etc / "hosts").read_text().startswith("127.0.0.1")
    assert [path.name[0] for path in (tmp_path / "programs").iterdir()] == ["r"], "nothing unfinished is left"


def test_tools_that_cannot_be_had_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    with closing(Server(lambda _: Reply(status=404))) as index:
        monkeypatch.setenv("UV_DEFAULT_INDEX", index.url.replace("//", "//ada:sesame77@"))
        with pytest.raises(SandboxError, match=r"ruff==\S+ cannot be installed; uv says: ") as raised:
            tools_for()
    assert raised.value.exit_code == ExitCode.INFRASTRUCTURE
    assert "sesame77" not in str(raised.value)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path / "file"))
    with pytest.raises(SandboxError, match="CODEGATE_CACHE"):
        tools_for()


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGATE_CACHE", "/somewhere")
    assert cache_folder() == Path("/somewhere")
    monkeypatch.delenv("CODEGATE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert cache_folder() == Path("/cache/codegate")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache" / "codegate"
