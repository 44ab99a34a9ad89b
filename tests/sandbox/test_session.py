"""The front door: choosing a backend, the preflight, the pool, ownership and sizes."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.errors import ExitCode
from codegate.sandbox import (
    Backend,
    Command,
    EnvironmentRecipe,
    PreparedEnvironment,
    Sandbox,
    SandboxClosed,
    SandboxLimits,
    SandboxPool,
    SandboxUnavailable,
    select_backend,
)
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.ownership import Owner, current_owner, parse_owner
from codegate.sandbox.session import (
    Enclosure,
    SandboxSession,
    Scope,
    inodes,
    shared_memory_bytes,
    workspace_bytes,
)
from codegate.sandbox.stream import Reply, StreamBroken, SupervisorStream

SMALL = SandboxLimits(lifetime_seconds=60, memory_bytes=128 << 20)


def test_the_front_door_imports_no_docker() -> None:
    program = "import sys, codegate.sandbox; print([n for n in ('docker', 'requests', 'uv') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"[]\n"


def test_without_any_backend_nothing_runs_and_the_remedies_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailable) as raised:
        select_backend("auto", "test")
    text = str(raised.value)
    assert raised.value.exit_code == ExitCode.INFRASTRUCTURE
    assert "\n" not in text
    assert "DOCKER_HOST" in text
    assert "apt-get install bubblewrap" in text


@pytest.mark.docker
def test_docker_comes_first_where_it_answers(docker_backend: Backend) -> None:
    backend = select_backend("auto", "test")
    assert backend.name == docker_backend.name
    backend.close()


@pytest.mark.bwrap
@pytest.mark.requirement("S2")
def test_bubblewrap_is_next(bwrap_backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    backend = select_backend("auto", "test")
    assert backend.name == bwrap_backend.name
    backend.close()


@pytest.mark.bwrap
@pytest.mark.requirement("S5")
def test_a_warm_sandbox_is_there_at_once_and_closed_when_unwanted(
    bwrap_backend: BubblewrapBackend, empty: EnvironmentRecipe
) -> None:
    environment = bwrap_backend.prepare(empty)
    pool = SandboxPool(bwrap_backend, ahead=2)
    used: list[Sandbox] = []
    for limits in (SMALL, SMALL, SMALL, SandboxLimits(pids=64)):
        warm = [one.future.result(120) for one in pool._warm if one.kind[1] == limits]
        assert len(warm) == (2 if used and limits is SMALL else 0)
        with pool.acquire(environment, limits) as sandbox:
            assert sandbox not in used
            assert sandbox in warm or not warm
            assert sandbox.run(Command(("sh", "-c", "ls; touch used"))).stdout == b""
        used.append(sandbox)
    waiting = [one.future.result(120) for one in pool._warm]
    pool.close()
    for one in (*used, *waiting):
        with pytest.raises(SandboxClosed):
            one.run(Command(("true",)))
    with pytest.raises(SandboxClosed), pool.acquire(environment, SMALL):
        pass


@pytest.mark.bwrap
def test_kinds_that_are_asked_for_in_turn_stay_warm_until_one_is_not_any_more(
    bwrap_backend: BubblewrapBackend, empty: EnvironmentRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = bwrap_backend.prepare(empty)
    other = SandboxLimits(pids=64)
    opened: list[SandboxLimits] = []
    real = bwrap_backend.open

    def counted(environment: PreparedEnvironment, limits: SandboxLimits) -> Sandbox:
        opened.append(limits)
        return real(environment, limits)

    monkeypatch.setattr(bwrap_backend, "open", counted)
    pool = SandboxPool(bwrap_backend, ahead=2)
    for limits in [SMALL, other] * 5:
        with pool.acquire(environment, limits):
            pass
    assert len(opened) <= 10 + 2, "none was made in vain but those that wait"
    for _ in range(6):
        with pool.acquire(environment, other):
            pass
    assert {one.kind[1] for one in pool._warm} == {other}
    pool.close()


def test_an_owner_is_alive_until_its_process_ends() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    here = current_owner()
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    owner = Owner(here.boot, here.namespace, process.pid, int(fields[19]))
    assert not here.known_dead
    dead = owner.known_dead
    assert not dead
    assert Owner(here.boot, here.namespace, process.pid, owner.start + 1).known_dead
    process.kill()
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    assert owner.known_dead  # a zombie does nothing any more
    process.communicate()
    assert owner.known_dead
    assert not Owner("other boot", here.namespace, process.pid, 1).known_dead
    assert not Owner(here.boot, "1", process.pid, 1).known_dead


def test_an_owner_survives_being_written_down() -> None:
    assert parse_owner(str(current_owner())) == current_owner()
    assert current_owner().pid == os.getpid()


@given(st.text(max_size=60))
def test_no_text_breaks_reading_an_owner(text: str) -> None:
    owner = parse_owner(text)
    assert owner is None or isinstance(owner.known_dead, bool)


@given(st.integers(64 << 20, 64 << 30), st.integers(16 << 20, 16 << 30))
def test_files_alone_never_use_up_the_memory(memory: int, disk: int) -> None:
    limits = SandboxLimits(memory_bytes=memory, disk_bytes=disk)
    sizes = (workspace_bytes(limits), shared_memory_bytes(limits))
    assert 0 < sum(sizes) <= memory * 9 // 16
    assert workspace_bytes(limits) <= disk
    assert all(inodes(size) >= 4096 for size in sizes)


class _Broken:
    """A supervisor's stream that breaks 0.3 s into a command."""

    def start(self, *_: object) -> Reply:
        armed = dict.fromkeys(("undumpable", "no_new_privileges", "seccomp"), True)
        return Reply({**armed, "version": [3, 11, 0], "python": "/usr/bin/python3"}, b"")

    def request(self, *_: object, **__: object) -> Reply:
        time.sleep(0.3)
        raise StreamBroken("the stream broke.")

    def close(self) -> None:
        pass


class _OutOfMemory(Enclosure):
    def destroy(self) -> None:
        pass

    def died_of_memory(self) -> bool:
        return True

    def post_mortem(self) -> str:
        return ""


def test_a_command_that_took_all_memory_took_the_time_that_passed() -> None:
    session = SandboxSession(cast("SupervisorStream", _Broken()), _OutOfMemory(), Scope({}), SMALL)
    began = time.monotonic()
    done = session.run(Command(("true",)))
    assert done.memory_exceeded
    assert 0.3 <= done.wall_seconds <= time.monotonic() - began
