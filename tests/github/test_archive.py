"""What is read out of a stranger's zip, and what is not."""

import contextlib
import io
import os
import stat
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegate.github.archive import MAX_MEMBERS, BadArchive, read_members, unpack
from codegate.running import RUN_FILES

LIMIT = {"baseline.json": 1 << 20}


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return target.getvalue()


def patched(data: bytes, mark: bytes, offset: int, new: bytes) -> bytes:
    """Return ``data`` with ``new`` put ``offset`` bytes after the last ``mark``."""
    start = data.rindex(mark) + offset
    return data[:start] + new + data[start + len(new) :]


GOOD = zipped(("baseline.json", b'{"a": 1}' * 20), ("notes/", b""), ("notes/read.me", b"hello"))
BOMB = zipped(("baseline.json", b"0" * (8 << 20)))
CENTRAL = b"PK\x01\x02"
END = b"PK\x05\x06"


def of_mode(name: str, mode: int, data: bytes = b"/etc/passwd") -> bytes:
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = mode << 16
    return zipped((entry, data))


def test_the_known_members_are_read_and_the_others_are_not() -> None:
    assert read_members(GOOD, {**LIMIT, "absent.json": 10}, "x") == {"baseline.json": b'{"a": 1}' * 20}
    assert read_members(zipped(("baseline.json", b"{}"), method=zipfile.ZIP_STORED), LIMIT, "x") == {
        "baseline.json": b"{}"
    }


HOSTILE: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "does not end"),
    "no zip": (b"<html>" * 100, "does not end"),
    "truncated": (GOOD[:-30], "does not end"),
    "cut in front": (GOOD[7:], "not where it says"),
    "something in front": (b"#!/bin/sh\n" + GOOD, "not where it says"),
    "something behind": (GOOD + b"x", "does not end"),
    "a comment": (patched(GOOD + b"x", END, 20, b"\x01\x00"), "does not end"),
    "a folder above": (zipped(("../baseline.json", b"{}"), ("baseline.json", b"{}")), "no plain name"),
    "a folder above, later": (zipped(("baseline.json", b"{}"), ("a/../../b", b"{}")), "no plain name"),
    "a name that ends above": (zipped(("baseline.json", b"{}"), ("a/..", b"")), "no plain name"),
    "an absolute name": (zipped(("baseline.json", b"{}"), ("/etc/cron.d/x", b"")), "no plain name"),
    "a backslash": (zipped(("baseline.json", b"{}"), ("..\\x", b"")), "no plain name"),
    "a drive's NUL": (GOOD.replace(b"read.me", b"read\0me"), "no plain name"),
    "git's folder": (zipped((".git/config", b"")), "no plain name"),
    "a link": (of_mode("baseline.json", stat.S_IFLNK | 0o777), "link"),
    "a link beside": (of_mode("other", stat.S_IFLNK | 0o777), "link"),
    "a device": (of_mode("other", stat.S_IFBLK | 0o666), "link"),
    "a folder that is a file": (of_mode("other", stat.S_IFDIR | 0o755), "odd file"),
    "twice": (
        zipped(("baseline.json", b"{}"), ("baseline.jsoN", b"[]")).replace(b"baseline.jsoN", b"baseline.json"),
        "twice",
    ),
    "twice, as a folder": (zipped(("baseline.json", b"{}"), ("baseline.json/", b"")), "twice"),
    "encrypted": (patched(GOOD, CENTRAL, 8, b"\x01"), "encrypted"),
    "bzip2": (zipped(("baseline.json", b"{}"), method=zipfile.ZIP_BZIP2), "compressed in a way"),
    "lzma": (zipped(("baseline.json", b"{}"), method=zipfile.ZIP_LZMA), "compressed in a way"),
    "a bomb": (BOMB, "would grow"),
    "too large": (zipped(("baseline.json", os.urandom((1 << 20) + 1))), "larger than 1048576"),
    "a count that lies": (patched(GOOD, END, 8, b"\x02\x00\x02\x00"), "another number"),
    "counts that differ": (patched(GOOD, END, 8, b"\x02\x00"), "contradicts"),
    "too many": (patched(GOOD, END, 8, struct.pack("<2H", MAX_MEMBERS + 1, MAX_MEMBERS + 1)), "more than 10000"),
    "several disks": (patched(GOOD, END, 4, b"\x01\x00"), "contradicts"),
    "an offset into nowhere": (patched(GOOD, CENTRAL, 42, b"\xff\xff\xff\x7f"), "not where it says"),
    "a directory elsewhere": (patched(GOOD, END, 16, b"\0\0\0\0"), "not where it says"),
    "another checksum": (patched(zipped(("baseline.json", b"{}")), CENTRAL, 16, b"abcd"), "CRC"),
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_an_odd_archive_is_refused_as_a_whole(name: str) -> None:
    data, words = HOSTILE[name]
    with pytest.raises(BadArchive, match=words) as caught:
        read_members(data, LIMIT, "artifact 7")
    text = str(caught.value)
    assert text.startswith("artifact 7 is no usable archive: ")
    assert "\n" not in text
    assert len(text) < 400


@pytest.mark.parametrize(
    ("offset", "size"),
    [(24, 1), (24, 100), (24, 0xFFFF_FFFF), (20, 1), (20, 0xFFFF_FFFF)],  # inflated and deflated size
)
def test_a_size_that_lies_is_refused(offset: int, size: int) -> None:
    data = patched(zipped(("baseline.json", b'{"a": 1}' * 20)), CENTRAL, offset, struct.pack("<L", size))
    with pytest.raises(BadArchive):
        read_members(data, LIMIT, "x")


def test_zip64_is_refused_wherever_it_is_said() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        entry = zipfile.ZipInfo("baseline.json")
        entry.extra = struct.pack("<HHQ", 1, 8, 1 << 40)
        archive.writestr(entry, b"{}")
    data = target.getvalue()
    with pytest.raises(BadArchive):
        read_members(data, LIMIT, "x")
    with pytest.raises(BadArchive):
        read_members(patched(data, CENTRAL, 24, b"\xff" * 4), LIMIT, "x")
    end = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, 46, 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(GOOD) - 22, 1)
    with pytest.raises(BadArchive, match="not where it says"):
        read_members(GOOD[:-22] + end + locator + GOOD[-22:], LIMIT, "x")


@settings(deadline=None)
@given(st.data())
def test_a_damaged_archive_gives_what_was_packed_or_nothing(data: st.DataObject) -> None:
    damaged = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(GOOD) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = read_members(bytes(damaged), LIMIT, "x")
    except BadArchive:
        return
    assert set(found.values()) <= {b'{"a": 1}' * 20}


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_garbage_is_no_archive(data: bytes) -> None:
    with contextlib.suppress(BadArchive):
        assert read_members(data + GOOD[-22:], LIMIT, "x") == {}


def test_only_the_files_of_a_run_are_unpacked(tmp_path: Path) -> None:
    wanted = ("run.json", "outcomes.jsonl", "transcripts/0a1b/p-1.0.json", "confirmation/calls.log")
    others = (
        "reports/report.html",
        "run.json.exe",
        "transcripts/x/.hidden.0.json",
        "transcripts/a/b/c.0.json",
        "x/run.json",
    )
    data = zipped(*((name, name.encode()) for name in (*wanted, *others)))
    assert set(unpack(data, tmp_path / "run", RUN_FILES, 1 << 20, "x")) == set(wanted)
    found = {str(path.relative_to(tmp_path)): path for path in tmp_path.rglob("*") if path.is_file()}
    assert set(found) == {f"run/{name}" for name in wanted}
    assert found["run/run.json"].read_bytes() == b"run.json"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (zipped(("run.json", b"{}"), ("../run.json", b"{}")), "no plain name"),
        (of_mode("run.json", stat.S_IFLNK | 0o777), "a link or another odd file"),
        (zipped(("run.json", os.urandom(600)), ("calls.log", os.urandom(600))), "more than 1000 bytes"),
        (b"PK", "does not end"),
    ],
    ids=["a name that leaves", "a link", "too much", "no zip"],
)
def test_a_hostile_archive_of_a_run_is_refused_as_a_whole(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(BadArchive, match=words):
        unpack(data, tmp_path / "run", RUN_FILES, 1000, "x")
    assert not (tmp_path / "run").exists()
