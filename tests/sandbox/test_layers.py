"""Archives of recorded builds: what a freeze keeps, and what no sandbox is laid from."""

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from codegate.sandbox import Layer, SandboxError
from codegate.sandbox.layers import freeze, read_layer, tar_blocks

Member = tuple[str, bytes, str | bytes]
FOLDER, FILE, LINK, HARD = tarfile.DIRTYPE, tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


def tar(*members: Member, change: Callable[[tarfile.TarInfo], None] = lambda _: None) -> io.BytesIO:
    """Return a tar of (name, type, target of a link or bytes of a file)."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, kind, content in members:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode, entry.mtime, entry.uid, entry.uname = (
                kind,
                0o755,
                1_700_000_000.75,
                10001,
                "sandbox",
            )
            if isinstance(content, bytes):
                entry.size = len(content)
            else:
                entry.linkname = content
            change(entry)
            archive.addfile(entry, io.BytesIO(content) if isinstance(content, bytes) else None)
    file.seek(0)
    return file


EMPTY = (("env/", FOLDER, ""),)


def layer_of(archive: Path) -> Layer:
    """Return the layer of an archive as it is now."""
    return Layer(hashlib.sha256(archive.read_bytes()).hexdigest(), archive)


def read(archive: Path) -> dict[str, tuple[bytes, str | bytes]]:
    """Return what an archive has, by name, as ``read_layer`` and tarfile agree on it."""
    written = b"".join(tar_blocks(read_layer(layer_of(archive))))
    assert written == archive.read_bytes(), "reading and writing again changes nothing"
    found: dict[str, tuple[bytes, str | bytes]] = {}
    with tarfile.open(archive) as opened:
        for entry in opened.getmembers():
            data = opened.extractfile(entry) if entry.isreg() else None
            found[entry.name] = entry.type, entry.linkname if data is None else data.read()
    return found


def test_a_freeze_keeps_what_was_built_and_leaves_out_what_was_put(tmp_path: Path) -> None:
    env = tar(
        ("env/", FOLDER, ""), ("env/bin", FOLDER, ""), ("env/bin/tool", FILE, b"tool"),
        ("env/bin/python", LINK, "/usr/bin/python3"), ("env/bin/other", HARD, "env/bin/tool"),
        ("env/cache", FOLDER, ""), ("env/cache/wheel", FILE, b"wheel"), ("env/tmp", FOLDER, ""),
        ("env/tmp/left", FILE, b""), ("env/pipe", tarfile.FIFOTYPE, ""), ("env/é\udcff" + "x" * 200, FILE, b"long"),
    )  # fmt: skip
    tree = tar(
        ("workspace/", FOLDER, ""), ("workspace/data", FOLDER, ""), ("workspace/src", FOLDER, ""),
        ("workspace/src/a.py", FILE, b"put"), ("workspace/src/a.egg-info", FOLDER, ""),
        ("workspace/src/a.egg-info/files", FILE, b"made"), ("workspace/tests", FOLDER, ""),
        ("workspace/tests/test_a.py", FILE, b"put"), ("workspace/was_file", FOLDER, ""),
        ("workspace/was_file/made", FILE, b"over what was put"),
    )  # fmt: skip
    archive = tmp_path / "layer.tar"
    digest = freeze(env, tree, ["src/a.py", "tests/test_a.py", "was_file"], archive)
    assert digest == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert read(archive) == {
        "env": (FOLDER, ""), "env/tmp": (FOLDER, ""), "env/bin": (FOLDER, ""), "env/bin/tool": (FILE, b"tool"),
        "env/bin/python": (LINK, "/usr/bin/python3"), "env/bin/other": (HARD, "env/bin/tool"),
        "env/é\udcff" + "x" * 200: (FILE, b"long"), "tree": (FOLDER, ""), "tree/data": (FOLDER, ""),
        "tree/src": (FOLDER, ""), "tree/src/a.egg-info": (FOLDER, ""), "tree/src/a.egg-info/files": (FILE, b"made"),
    }  # fmt: skip
    with tarfile.open(archive) as opened:
        for entry in opened.getmembers():
            assert (entry.uid, entry.uname, entry.mtime, entry.mode) == (0, "", 1_700_000_000, 0o755)


def test_a_hard_link_to_what_is_left_out_keeps_the_bytes(tmp_path: Path) -> None:
    env = tar(
        ("env/", FOLDER, ""), ("env/cache", FOLDER, ""), ("env/cache/one", FILE, b"1" * 1000),
        ("env/cache/two", FILE, b"2" * 3000), ("env/venv", FOLDER, ""), ("env/venv/a", HARD, "env/cache/one"),
        ("env/venv/b", HARD, "env/cache/one"), ("env/venv/c", HARD, "env/cache/two"),
        ("env/venv/d", HARD, "env/cache/pipe"),
    )  # fmt: skip
    tree = tar(
        ("workspace/", FOLDER, ""), ("workspace/a.txt", FILE, b"put"), ("workspace/dist", FOLDER, ""),
        ("workspace/dist/a.txt", HARD, "workspace/a.txt"),
    )  # fmt: skip
    freeze(env, tree, ["a.txt"], tmp_path / "layer.tar")
    found = read(tmp_path / "layer.tar")
    assert found["env/venv/a"] == (FILE, b"1" * 1000)
    assert found["env/venv/b"] == (HARD, "env/venv/a")
    assert found["env/venv/c"] == (FILE, b"2" * 3000)
    assert found["tree/dist/a.txt"] == (FILE, b"put")
    assert "env/venv/d" not in found
    assert "tree/a.txt" not in found


@pytest.mark.parametrize("cut", [-1024, -1500, 700])
def test_a_freeze_of_a_stream_that_broke_leaves_no_archive(tmp_path: Path, cut: int) -> None:
    whole = tar(("env/", FOLDER, ""), ("env/a", FILE, b"a" * 1024)).getvalue()
    whole = whole.rstrip(b"\0") + bytes(1024)  # without the padding that tarfile adds
    with pytest.raises(SandboxError, match=r"cut short|cannot be read"):
        freeze(io.BytesIO(whole[:cut]), tar(("workspace/", FOLDER, "")), [], tmp_path / "layer.tar")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("member", "fault"),
    [
        ((("etc/passwd", FILE, b""),), "neither below env nor below tree"),
        ((("/env/a", FILE, b""),), "neither below env nor below tree"),
        ((("env/../../etc/passwd", FILE, b""),), "neither below env nor below tree"),
        ((("env/a", LINK, "/etc"), ("env/a/passwd", FILE, b"")), "does not come after its folder"),
        ((("env/a", FOLDER, ""), ("env/a", LINK, "/etc")), "is there twice"),
        ((("env/a", HARD, "/etc/shadow"),), "hard link to no file"),
        ((("env/a", HARD, "env"),), "hard link to no file"),
        ((("env/sda", tarfile.BLKTYPE, ""),), "no file, folder or link"),
        ((("env/null", tarfile.CHRTYPE, ""),), "no file, folder or link"),
        ((("env/pipe", tarfile.FIFOTYPE, ""),), "no file, folder or link"),
        ((("tree", LINK, "/etc"),), "is no folder"),
    ],
)
def test_no_sandbox_is_laid_from_a_hostile_archive(tmp_path: Path, member: tuple[Member, ...], fault: str) -> None:
    archive = tmp_path / "layer.tar"
    archive.write_bytes(tar(*EMPTY, *member).getvalue())
    with pytest.raises(SandboxError, match=fault):
        list(tar_blocks(read_layer(layer_of(archive))))


def test_set_id_bits_and_owners_of_an_archive_are_dropped(tmp_path: Path) -> None:
    def hostile(entry: tarfile.TarInfo) -> None:
        entry.mode, entry.uid, entry.uname = 0o7755, 0, "root"

    archive = tmp_path / "layer.tar"
    archive.write_bytes(tar(*EMPTY, ("env/su", FILE, b"su"), change=hostile).getvalue())
    assert {(entry.mode, entry.uname) for entry, _ in read_layer(layer_of(archive))} == {(0o755, "")}


def test_an_archive_that_changed_or_is_gone_is_refused_by_name(tmp_path: Path) -> None:
    archive = tmp_path / "layer.tar"
    digest = freeze(tar(*EMPTY), tar(("workspace/", FOLDER, "")), [], archive)
    list(read_layer(Layer(digest, archive)))
    archive.write_bytes(archive.read_bytes() + bytes(512))
    with pytest.raises(SandboxError, match=r"layer\.tar has changed"):
        list(read_layer(Layer(digest, archive)))
    archive.unlink()
    with pytest.raises(SandboxError, match=r"layer\.tar cannot be read") as raised:
        list(read_layer(Layer(digest, archive)))
    assert raised.value.remedy
