"""What is read out of a stranger's zip, and what is not."""

import io
import os
import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.github.artifacts import MAX_MEMBERS, BadArchive, read_members
from codegate.running.journal import RUN_FILES


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return target.getvalue()


def patched(data: bytes, mark: bytes, offset: int, new: bytes, name: str = "") -> bytes:
    """Return ``data`` with ``new`` put ``offset`` bytes after the last ``mark``, or the last one before ``name``."""
    start = data.rindex(mark, 0, data.rindex(name.encode())) + offset
    return data[:start] + new + data[start + len(new) :]


GOOD = zipped(("baseline.json", b'{"a": 1}' * 20), ("notes/", b""), ("notes/read.me", b"hello"))
BOMB = zipped(("baseline.json", b"0" * (8 << 20)))
CENTRAL = b"PK\x01\x02"
END = b"PK\x05\x06"


def read(data: bytes, most: int = 1 << 20) -> dict[str, bytes]:
    return dict(read_members(data, {"baseline.json"}.__contains__, most, "artifact 7"))


def test_the_wanted_members_are_read_and_the_others_are_not() -> None:
    assert read(GOOD) == {"baseline.json": b'{"a": 1}' * 20}
    assert read(zipped(("baseline.json", b"{}"), method=zipfile.ZIP_STORED)) == {"baseline.json": b"{}"}
    assert read(zipped(("../baseline.json", b"[]"), ("baseline.json", b"{}"))) == {"baseline.json": b"{}"}
    assert read(zipped(("baseline.json/", b""))) == {}


HOSTILE: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "does not end"),
    "no zip": (b"<html>" * 100, "does not end"),
    "truncated": (GOOD[:-30], "does not end"),
    "cut in front": (GOOD[7:], "not where it says"),
    "something in front": (b"#!/bin/sh\n" + GOOD, "not where it says"),
    "something behind": (GOOD + b"x", "does not end"),
    "a comment": (patched(GOOD + b"x", END, 20, b"\x01\x00"), "does not end"),
    "twice": (
        zipped(("baseline.json", b"{}"), ("baseline.jsoN", b"[]")).replace(b"baseline.jsoN", b"baseline.json"),
        "twice",
    ),
    "encrypted": (patched(GOOD, CENTRAL, 8, b"\x01", "baseline.json"), "encrypted"),
    "bzip2": (zipped(("baseline.json", b"{}"), method=zipfile.ZIP_BZIP2), "compressed in a way"),
    "lzma": (zipped(("baseline.json", b"{}"), method=zipfile.ZIP_LZMA), "compressed in a way"),
    "a bomb": (BOMB, "more than 1048576 bytes"),
    "too many": (patched(GOOD, END, 8, struct.pack("<2H", MAX_MEMBERS + 1, MAX_MEMBERS + 1)), "more than 60000"),
    "a large directory": (patched(GOOD, END, 12, struct.pack("<L", 17 << 20)), "more than 60000"),
    "a directory elsewhere": (patched(GOOD, END, 16, b"\0\0\0\0"), "not where it says"),
    "another checksum": (patched(zipped(("baseline.json", b"{}")), CENTRAL, 16, b"abcd"), "CRC"),
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_a_hostile_archive_is_refused(name: str) -> None:
    data, words = HOSTILE[name]
    with pytest.raises(BadArchive, match=words) as caught:
        read(data)
    text = str(caught.value)
    assert text.startswith("artifact 7 is no usable archive: ")
    assert "\n" not in text
    assert len(text) < 400


@pytest.mark.parametrize("name", ["../run.json", "/etc/cron.d/x", "a/../../b", "a/..", ".git/config"])
def test_no_name_leaves_a_folder_even_where_it_is_wanted(name: str) -> None:
    with pytest.raises(BadArchive, match="no plain name"):
        dict(read_members(zipped((name, b"{}")), bool, 1000, "x"))


@pytest.mark.parametrize(
    ("offset", "size"),
    [(24, 1), (24, 100), (24, 0xFFFF_FFFF), (20, 1)],  # inflated and deflated size
)
def test_a_size_that_lies_is_refused(offset: int, size: int) -> None:
    with pytest.raises(BadArchive):
        read(patched(zipped(("baseline.json", b'{"a": 1}' * 20)), CENTRAL, offset, struct.pack("<L", size)))


@given(st.data())
def test_a_damaged_archive_gives_what_was_packed_or_nothing(data: st.DataObject) -> None:
    damaged = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(GOOD) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = read(bytes(damaged))
    except BadArchive:
        return
    assert set(found.values()) <= {b'{"a": 1}' * 20}


def test_only_the_files_of_a_run_are_read() -> None:
    wanted = ("run.json", "outcomes.jsonl", "transcripts/0a1b/p-1.0.json", "problems/p-1.json",
              "confirmation/calls.log")  # fmt: skip
    others = (
        "reports/report.html",
        "run.json.exe",
        "transcripts/x/.hidden.0.json",
        "transcripts/a/b/c.0.json",
        "x/run.json",
        "../run.json",
    )
    data = zipped(*((name, name.encode()) for name in (*wanted, *others)))
    assert dict(read_members(data, RUN_FILES.fullmatch, 1 << 20, "x")) == {name: name.encode() for name in wanted}


def test_a_run_of_many_attempts_is_read() -> None:
    names = [
        f"transcripts/{'a' * 16}/pull-request-{number}.{sample}.json" for number in range(1005) for sample in range(10)
    ]
    data = zipped(("run.json", b"{}"), *((name, b"{}") for name in names))
    assert len(dict(read_members(data, RUN_FILES.fullmatch, 1 << 20, "x"))) == 10_051


def test_nothing_is_read_of_files_that_are_too_large_together() -> None:
    data = zipped(("run.json", os.urandom(600)), ("calls.log", os.urandom(600)))
    with pytest.raises(BadArchive, match="more than 1000 bytes"):
        next(read_members(data, RUN_FILES.fullmatch, 1000, "x"))
