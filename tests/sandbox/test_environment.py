"""Environments: only pinned wheels get in, the cache holds, and a failure says why."""

import io
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from codegate.errors import ExitCode
from codegate.sandbox import AgentRecipe, SandboxError, environment
from codegate.sandbox.cache import cache_folder
from codegate.sandbox.environment import build_environment, environment_key, tools_folder
from tests.kit.http import Reply, Request, Server

HASH = "--hash=sha256:" + "0" * 64


@pytest.mark.requirement("S4")
def test_the_keys_cover_everything_that_goes_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = AgentRecipe("3.11", "")
    keys = {
        environment_key(recipe, "x86_64"),
        environment_key(recipe, "aarch64"),
        environment_key(AgentRecipe("3.12", ""), "x86_64"),
        environment_key(AgentRecipe("3.11", "#"), "x86_64"),
    }
    assert len(keys) == 4
    monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path))
    monkeypatch.setattr(environment, "_fill_tools", lambda *_: None)  # it would fetch them
    first = tools_folder().key
    monkeypatch.setattr(environment, "RUFF_VERSION", "0.0.1")
    assert tools_folder().key != first


def test_the_cache_is_used_without_a_network_and_readable_by_all(
    locked: AgentRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, tools = build_environment(locked), tools_folder()
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:1/simple")
    assert (build_environment(locked), tools_folder()) == (built, tools)
    assert (built.site / "pytest" / "__init__.py").is_file()
    compiled = list((built.site / "pytest" / "__pycache__").glob("__init__.*.pyc"))
    assert compiled
    assert b"/opt/codegate/agent/site/pytest" in compiled[0].read_bytes()
    assert str(built.site).encode() not in compiled[0].read_bytes()
    assert all(path.is_symlink() or path.stat().st_mode & 0o444 == 0o444 for path in built.site.rglob("*"))
    assert os.access(tools.tools / "ruff", os.X_OK)


def test_builders_at_once_agree_and_an_unusable_leftover_gives_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path))
    key = tools_folder().key
    shutil.rmtree(tmp_path / "environments" / key)
    (tmp_path / "environments" / key / "site").mkdir(parents=True)
    program = "from codegate.sandbox.environment import tools_folder;assert (tools_folder().tools / 'ruff').is_file()"
    others = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    threads = [threading.Thread(target=tools_folder) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [other.wait(240) for other in others] == [0, 0]
    assert (tmp_path / "environments" / key / "tools" / "ruff").is_file()
    assert [path.name for path in (tmp_path / "environments").iterdir()] == [key]


def index_reply(request: Request) -> Reply:
    """Answer as a package index with one wheel in it."""
    wheel = "tiny-1.0-py3-none-any.whl"
    if request.path == "/simple/tiny/":
        return Reply(f'<a href="/{wheel}">{wheel}</a>'.encode(), headers={"Content-Type": "text/html"})
    if request.path != f"/{wheel}":
        return Reply(status=404)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("tiny.py", "x = 1")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    return Reply(buffer.getvalue(), headers={"Content-Type": "application/octet-stream"})


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with closing(Server(index_reply)) as server:
        monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path))
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple")
        yield


@pytest.mark.usefixtures("index")
def test_a_package_that_cannot_be_had_is_explained(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"cannot be built; uv says: .*nothing-here") as raised:
        build_environment(AgentRecipe("3.11", f"nothing-here==1.0 {HASH}\n"))
    assert raised.value.exit_code == ExitCode.INFRASTRUCTURE
    assert list((tmp_path / "environments").iterdir()) == []


@pytest.mark.usefixtures("index")
def test_a_wheel_with_another_hash_is_refused() -> None:
    with pytest.raises(SandboxError, match=r"(?i)hash mismatch"):
        build_environment(AgentRecipe("3.11", f"tiny==1.0 {HASH}\n"))


def test_a_cache_that_cannot_be_written_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path / "file"))
    with pytest.raises(SandboxError, match="CODEGATE_CACHE"):
        build_environment(AgentRecipe("3.11", ""))


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGATE_CACHE", "/somewhere")
    assert cache_folder() == Path("/somewhere")
    monkeypatch.delenv("CODEGATE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert cache_folder() == Path("/cache/codegate")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache" / "codegate"
