"""The bubblewrap backend: with and without control groups, and where it does not work."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from codegate.sandbox import Command, EnvironmentRecipe, SandboxError, SandboxLimits, SandboxUnavailable, control_group
from codegate.sandbox.bubblewrap import BubblewrapBackend, BubblewrapEnvironment
from codegate.sandbox.bubblewrap_layers import BuildFolder
from codegate.sandbox.bubblewrap_program import find_bubblewrap
from codegate.sandbox.conformance import Check, Subject, checks_of, resources
from codegate.sandbox.control_group import ControlGroup, find_parents
from codegate.sandbox.ownership import current_owner
from codegate.sandbox.toolchains import find_interpreter
from codegate.sandbox.tools import index_environment

pytestmark = pytest.mark.bwrap


@pytest.fixture
def own(bwrap_backend: BubblewrapBackend) -> Iterator[BubblewrapBackend]:
    backend = BubblewrapBackend("test")
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def plain(bwrap_backend: BubblewrapBackend, empty: EnvironmentRecipe) -> BubblewrapEnvironment:
    return bwrap_backend.prepare(empty)


@pytest.mark.parametrize("check", checks_of(resources), ids=lambda check: check.__name__)
def test_limits_per_process_do_where_no_control_group_can_be_made(
    own: BubblewrapBackend, empty: EnvironmentRecipe, check: Check
) -> None:
    own._parents = None  # as on a machine that delegates none
    check(Subject(own, empty))


def test_a_peak_near_the_limit_counts_as_memory_without_a_control_group(
    own: BubblewrapBackend, plain: BubblewrapEnvironment
) -> None:
    own._parents = None
    sandbox = own.open(plain, SandboxLimits(memory_bytes=128 << 20))
    grow = "x = []\nwhile True: x.append(bytearray(1 << 20))"
    assert sandbox.run(Command(("{python}", "-I", "-c", grow))).memory_exceeded
    assert not sandbox.run(Command(("false",))).memory_exceeded


def test_nothing_is_left_of_a_closed_sandbox(own: BubblewrapBackend, plain: BubblewrapEnvironment) -> None:
    parents = find_parents()
    if parents is None:
        pytest.skip("no control groups here")
    sandbox = own.open(plain, SandboxLimits())
    mark = f"codegate-{str(current_owner()).replace(':', '_')}-*"
    assert any(list(folder.glob(mark)) for folder in parents.folders.values())
    before = {path.name for folder in parents.folders.values() for path in folder.glob(mark)}
    sandbox.close()
    own.close()
    after = {path.name for folder in parents.folders.values() for path in folder.glob(mark)}
    assert len(before - after) == 1


def test_sweeping_takes_the_groups_of_the_dead_and_leaves_the_living(bwrap_backend: BubblewrapBackend) -> None:
    parents = find_parents()
    if parents is None:
        pytest.skip("no control groups here")
    boot, namespace, _, _ = str(current_owner()).split(":")
    names = {
        "dead": f"codegate-{boot}_{namespace}_999999999_1-{'0' * 12}",
        "elsewhere": f"codegate-{boot}_1_999999999_1-{'0' * 12}",
        "odd": "codegate-something",
    }
    folders = [folder / name for folder in parents.folders.values() for name in names.values()]
    live = ControlGroup(parents, SandboxLimits())
    try:
        for folder in folders:
            folder.mkdir()
        assert bwrap_backend.sweep() >= 1
        assert {name for name in names if not any((f / names[name]).exists() for f in parents.folders.values())} == {
            "dead"
        }
        assert all(Path(file).parent.exists() for file in live.member_files)
    finally:
        live.remove()
        for folder in folders:
            with contextlib.suppress(OSError):
                folder.rmdir()


def test_a_group_that_cannot_be_made_is_an_infrastructure_error(tmp_path: Path) -> None:
    parents = control_group.GroupParents({"memory": tmp_path / "absent", "pids": tmp_path})
    with pytest.raises(SandboxError, match="cannot set up a control group"):
        ControlGroup(parents, SandboxLimits())
    assert list(tmp_path.iterdir()) == []


def test_a_commands_interpreter_has_its_own_library(own: BubblewrapBackend, plain: BubblewrapEnvironment) -> None:
    look = "import _ssl, _hashlib; print([line for line in open('/proc/self/maps') if 'libpython' in line])"
    done = own.open(plain, SandboxLimits()).run(Command(("{python}", "-I", "-c", look)))
    assert done.ok, done.stderr
    own_library = any(plain.interpreter.prefix.glob("lib/libpython3*.so.*"))
    assert not own_library or f"{plain.interpreter.prefix}/lib/libpython".encode() in done.stdout


def test_packages_of_the_machine_are_hidden(own: BubblewrapBackend, plain: BubblewrapEnvironment) -> None:
    sandbox = own.open(plain, SandboxLimits())
    done = sandbox.run(Command(("{python}", "-c", "import pip")))
    assert b"No module named 'pip'" in done.stderr


def test_bubblewrap_absent_old_or_blocked_is_said_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailable, match=r"not installed.*apt-get install bubblewrap"):
        find_bubblewrap()
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho bubblewrap 0.4.1\n")
    program.chmod(0o755)
    with pytest.raises(SandboxUnavailable, match=r"too old \(bubblewrap 0\.4\.1\)"):
        find_bubblewrap()
    program.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.8.0 && exit\necho No permissions >&2; exit 1\n'
    )
    with pytest.raises(SandboxUnavailable, match=r"cannot make a sandbox here \(No permissions\).*(namespaces|Docker)"):
        find_bubblewrap()


def test_an_interpreter_that_is_not_here_is_said_with_its_remedy(bwrap_backend: BubblewrapBackend) -> None:
    with pytest.raises(SandboxError, match=r"no Python 3\.99 .*uv python install 3\.99"):
        bwrap_backend.prepare(EnvironmentRecipe("3.99"))


def test_the_interpreter_is_outside_any_virtual_environment() -> None:
    found = find_interpreter("3.11")
    assert found is not None
    assert (found.prefix / "lib" / "python3.11" / "os.py").is_file()
    said = subprocess.run([found.executable, "--version"], capture_output=True, check=True).stdout
    assert said.startswith(b"Python 3.11")


def test_an_installer_sees_only_what_reaching_an_index_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("UV_EXTRA_INDEX_URL", "http://example.com")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1/simple")
    monkeypatch.setenv("SSL_CERT_FILE", "/cert")
    kept = index_environment()
    assert not {"OPENAI_API_KEY", "UV_EXTRA_INDEX_URL"} & kept.keys()
    assert kept["UV_DEFAULT_INDEX"] == "http://127.0.0.1/simple"
    assert kept["SSL_CERT_FILE"] == "/cert"


def test_the_user_of_a_build_is_at_home_where_layers_keep_it(own: BubblewrapBackend) -> None:
    sandbox = own.open_build(EnvironmentRecipe("3.11"), SandboxLimits())
    program = "import os, pwd; print(pwd.getpwuid(os.getuid()).pw_dir)"
    assert sandbox.run(Command(("{python}", "-c", program))).stdout == b"/opt/env/home\n"


def test_a_build_is_measured_while_its_folders_move(own: BubblewrapBackend) -> None:
    folder = BuildFolder(None, find_bubblewrap())
    script = (
        "mkdir from to; while :; do for i in 1 2 3 4 5 6 7 8 9; do mkdir -p from/a/b/c/$i/$i; done\n"
        "mv from/a/b to/b; rm -rf to/b; done"
    )
    places = [folder.path / "tree" / str(number) for number in range(3)]
    for place in places:
        place.mkdir()
    moving = [subprocess.Popen(["sh", "-c", script], cwd=place) for place in places]
    try:
        assert len([folder.written() for _ in range(25)]) == 25
    finally:
        for process in moving:
            process.kill()
            process.wait()
        folder.remove()
