"""Recorded builds in bubblewrap: each way of laying a layer, what a dead process leaves, and what is refused."""

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from codegate.sandbox import (
    Command,
    EnvironmentRecipe,
    Layer,
    SandboxError,
    SandboxLimits,
    bubblewrap,
)
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.bubblewrap_layers import _ROOTS, _USERS, MountableLayer, Overlays, builds_folder
from codegate.sandbox.cache import layers_folder, own_folder, sweep_folders
from codegate.sandbox.conformance import Check, Subject, builds
from codegate.sandbox.ownership import current_owner
from codegate.sandbox.toolchains import MachineToolchain
from tests.kit.kept import own_cache
from tests.sandbox.conftest import shell
from tests.sandbox.test_layers import FILE, FOLDER, LINK, Member, layer_of, tar

pytestmark = pytest.mark.bwrap

RECIPE = EnvironmentRecipe("3.11")
LIMITS = SandboxLimits(memory_bytes=256 << 20, disk_bytes=16 << 20)


@pytest.fixture
def own(
    bwrap_backend: BubblewrapBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[BubblewrapBackend]:
    """A backend whose layers and builds go with the test."""
    folder = tmp_path / "cache: a, b"  # names mean something in the options of a mount
    monkeypatch.setenv("CODEGATE_CACHE", own_cache(folder))
    backend = BubblewrapBackend("test")
    yield backend
    backend.close()


def made(archive: Path, *members: Member) -> Layer:
    archive.write_bytes(tar(("env", FOLDER, ""), ("tree", FOLDER, ""), *members).getvalue())
    return layer_of(archive)


@pytest.mark.parametrize("overlays", [_USERS, None], ids=["user", "copy"])
@pytest.mark.parametrize("check", [builds.fresh_views, builds.preflight_on_layer], ids=lambda check: check.__name__)
def test_a_layer_is_laid_as_the_kernel_allows(
    own: BubblewrapBackend,
    check: Check,
    overlays: Overlays | None,
    monkeypatch: pytest.MonkeyPatch,
    empty: EnvironmentRecipe,
) -> None:
    monkeypatch.setattr(BubblewrapBackend, "_overlays", overlays)
    check(Subject(own, empty))
    assert layers_folder().exists() == (overlays is not None)  # a copy unpacks nothing on disk


@pytest.mark.skipif(os.geteuid() != 0, reason="a plain user's overlays rename no folder")
def test_roots_overlays_rename_folders_of_the_layer(own: BubblewrapBackend, tmp_path: Path) -> None:
    layer = made(tmp_path / "a.tar", ("tree/old", FOLDER, ""), ("tree/old/file", FILE, ""))
    assert own._overlays == _ROOTS
    sandbox = own.open(own.prepare(EnvironmentRecipe("3.11", layer=layer)), LIMITS)
    done = sandbox.run(Command(("{python}", "-c", "import os; os.rename('old', 'new'); print(os.listdir('new'))")))
    assert done.stdout == b"['file']\n", done.stderr


def test_a_layer_that_cannot_be_unpacked_leaves_no_process(own: BubblewrapBackend, tmp_path: Path) -> None:
    layer = replace(made(tmp_path / "archive.tar"), archive=tmp_path / "absent.tar")
    for _ in range(10):  # bubblewrap has to be met while it starts
        with pytest.raises(SandboxError, match="cannot be read"):
            own.prepare(replace(RECIPE, layer=layer))
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if os.fsencode(tmp_path) in read_or_empty(path)]
    assert left == []


def read_or_empty(path: Path) -> bytes:
    with contextlib.suppress(OSError):
        return path.read_bytes()
    return b""


def test_processes_that_unpack_a_layer_at_once_get_one_folder(own: BubblewrapBackend, tmp_path: Path) -> None:
    layer = made(tmp_path / "a.tar", *((f"env/{number}", FILE, "") for number in range(500)))
    faults: list[BaseException] = []

    def unpack() -> None:
        try:
            MountableLayer(layer, own._program, _USERS)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=unpack) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert [path.name for path in layers_folder().iterdir()] == [layer.sha256]
    assert len(list((layers_folder() / layer.sha256 / "env").iterdir())) == 500


def test_a_build_that_begins_with_a_hostile_layer_writes_nothing_of_the_host(
    own: BubblewrapBackend, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    links = (("env/bin", LINK, str(outside)), ("env/home", LINK, str(outside)))
    layer = made(tmp_path / "a.tar", *links)
    sandbox = own.open_build(EnvironmentRecipe("3.11", layer=layer), LIMITS)
    done = shell(sandbox, "readlink /opt/env/bin; touch /opt/env/bin/file")
    assert (done.exit_code, done.stdout.decode().strip()) == (1, str(outside))
    sandbox.freeze((), tmp_path / "frozen.tar")
    assert list(outside.iterdir()) == []


def test_nothing_is_left_of_a_closed_build(own: BubblewrapBackend) -> None:
    sandbox = own.open_build(RECIPE, LIMITS)
    shell(sandbox, "mkdir -p a/b; touch a/b/c; chmod 000 a/b a")
    assert len(list(builds_folder().iterdir())) == 1
    sandbox.close()
    own.close()
    assert list(builds_folder().iterdir()) == []


def test_builds_of_the_dead_are_swept_and_those_of_the_living_are_not(own: BubblewrapBackend) -> None:
    living = own_folder(builds_folder())
    boot, namespace, _, _ = str(current_owner()).split(":")
    names = {"dead": f".{boot}_{namespace}_999999999_1-x", "elsewhere": ".other_1_999999999_1-x", "odd": "something"}
    for name in names.values():
        (builds_folder() / name / "folder").mkdir(parents=True)
    old = builds_folder() / ".other_1_999999999_2-x"
    old.mkdir()
    os.utime(old, (time.time() - 200_000,) * 2)
    assert sweep_folders(builds_folder()) == 2
    assert set(builds_folder().iterdir()) == {
        living,
        builds_folder() / names["elsewhere"],
        builds_folder() / "something",
    }


def test_without_control_groups_a_toolchain_may_reserve_more_than_it_uses(own: BubblewrapBackend) -> None:
    own._parents = None
    sandbox = own.open_build(RECIPE, LIMITS)
    reserve = "import mmap; mmap.mmap(-1, 512 << 20, prot=mmap.PROT_READ); print('reserved')"
    take = "x = bytearray(512 << 20); print('taken')"
    done = [sandbox.run(Command(("{python}", "-c", program))) for program in (reserve, take)]
    assert [one.stdout for one in done] == [b"reserved\n", b""], done


def test_settings_of_installers_are_not_shown_with_a_toolchain(
    own: BubblewrapBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:  # a sandbox has its own /tmp
        folder = Path(name)
        settings = [folder / "node" / "etc" / "npmrc", folder / "python" / "pip.conf"]
        for path in settings:
            path.parent.mkdir(parents=True)
            path.write_text("//index/:_authToken=secret")
        (folder / "node" / "shown").write_text("shown")
        there = [MachineToolchain(kind, "1.0", folder / kind, folder / kind / "bin") for kind in ("node", "python")]
        monkeypatch.setattr(bubblewrap, "machine_toolchains", lambda _: tuple(there))
        done = shell(own.open_build(RECIPE, LIMITS), f"cat {settings[0]} {settings[1]} {folder}/node/shown")
    assert (done.exit_code, done.stdout) == (0, b"shown"), done.stderr
