import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.durable import append_line, canonical_json, digest, sha256, write_atomic
from codegate.errors import InfrastructureError

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(_JSON)
def test_canonical_json_says_all_and_only_once(value: object) -> None:
    encoded = canonical_json(value)
    again = json.loads(encoded.decode("utf-8", "surrogatepass"))
    assert again == value
    assert canonical_json(again) == encoded
    assert b"\n" not in encoded


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf], {"a": math.nan}])
def test_what_is_no_json_has_no_encoding(value: object) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(value)


def test_known_bytes() -> None:
    assert canonical_json({"b": [1, 2.5, None], "a": "ä\n"}) == '{"a":"ä\\n","b":[1,2.5,null]}'.encode()
    assert sha256(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest([]) == sha256(b"[]")
    assert canonical_json("\udcff") != canonical_json("\ufffd")  # undecodable bytes of a path stay apart


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    write_atomic(path, b"old")
    assert path.read_bytes() == b"old"
    assert path.stat().st_mode & 0o777 == 0o644
    before = path.stat().st_ino
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_ino != before
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"untouched")
    (tmp_path / "link").symlink_to("target")
    write_atomic(tmp_path / "link", b"new")
    assert (tmp_path / "target").read_bytes() == b"untouched"
    assert not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("call", ["os.fsync", "os.fchmod", "pathlib.Path.replace"])
@pytest.mark.parametrize("fault", ["OSError(errno.ENOSPC, 'No space left on device')", "KeyboardInterrupt()"])
def test_a_fault_at_any_step_leaves_the_old_file_and_no_other(tmp_path: Path, call: str, fault: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    code = f"""
import errno, os, pathlib, sys
from codegate.durable import write_atomic
from codegate.errors import InfrastructureError
def fail(*arguments):
    raise {fault}
{call} = fail
try:
    write_atomic(pathlib.Path({str(path)!r}), b"new")
except InfrastructureError as error:
    assert "No space left" in str(error) and {str(path)!r} in str(error)
except KeyboardInterrupt:
    pass
else:
    sys.exit(1)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


_DISK = """
import os, sys
from pathlib import Path
from codegate.durable import append_line, write_atomic
from codegate.errors import InfrastructureError
folder = Path(sys.argv[1])
write_atomic(folder / "file", b"old")
append_line(folder / "journal", b"one")
faults = []
for write, name in ((write_atomic, "file"), (append_line, "journal")):
    try:
        write(folder / name, b"x" * 500_000)
    except InfrastructureError as error:
        faults.append(str(error))
assert len(faults) == 2 and all("No space left on device" in fault for fault in faults), faults
assert (folder / "file").read_bytes() == b"old"
assert (folder / "journal").read_bytes() == b"one\\n"
append_line(folder / "journal", b"two")
assert (folder / "journal").read_bytes() == b"one\\ntwo\\n"
assert sorted(os.listdir(folder)) == ["file", "journal"]
"""


@pytest.mark.bwrap
def test_a_full_disk_leaves_the_old_bytes(tmp_path: Path) -> None:
    """A real file system of 256 KiB, in a namespace of its own."""
    command = ["bwrap", "--ro-bind", "/", "/", "--size", str(256 << 10), "--tmpfs", "/mnt", "--dev", "/dev"]
    command += ["--setenv", "PYTHONDONTWRITEBYTECODE", "1", sys.executable, "-c", _DISK, "/mnt"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("bubblewrap is not installed")
    if "bwrap:" in done.stderr:
        pytest.skip(f"bubblewrap does not work here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr


def test_appending_waits_for_the_disk_and_begins_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def record(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    path = tmp_path / "journal"
    append_line(path, b"one")
    assert synced == [str(path), str(tmp_path)]  # a new name is only safe when its folder is
    append_line(path, b"")
    append_line(path, "zwei ä".encode())
    assert synced[2:] == [str(path)] * 2
    assert path.read_bytes() == "one\n\nzwei ä\n".encode()
    synced.clear()
    write_atomic(tmp_path / "file", b"x")
    assert synced[0].startswith(str(tmp_path / ".codegate-"))
    assert synced[1:] == [str(tmp_path)]


def test_a_line_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="newline"):
        append_line(tmp_path / "journal", b"a\nb")
    assert not (tmp_path / "journal").exists()


def test_a_place_that_cannot_be_is_infrastructure(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file" / "below", tmp_path / ("x" * 256)):
        with pytest.raises(InfrastructureError, match="cannot write"):
            write_atomic(path, b"x")
        with pytest.raises(InfrastructureError, match="cannot write"):
            append_line(path, b"x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InfrastructureError):
        write_atomic(tmp_path / "folder", b"x")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.timeout(20)
def test_nothing_is_appended_to_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"")
    (tmp_path / "link").symlink_to("target")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    try:
        for name in ("link", "fifo", "folder"):
            with pytest.raises(InfrastructureError, match=f"cannot write .*{name}"):
                append_line(tmp_path / name, b"x")
        os.close(reader)
        reader = os.open(tmp_path / "target", os.O_RDONLY)
        with pytest.raises(InfrastructureError, match="cannot write"):
            append_line(tmp_path / "fifo", b"x")
    finally:
        os.close(reader)
    assert (tmp_path / "target").read_bytes() == b""
