import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, ValidationError

from codegate.candidates.replay import _Header
from codegate.environments.travel import ArchiveIndex
from codegate.errors import ExitCode, UsageError
from codegate.gating.baseline import Baseline, Lock
from codegate.gating.history import HistoryEntry
from codegate.gating.people import People
from codegate.running.judge import JudgeHeader
from codegate.running.outcome import Outcome, RunManifest, SandboxRecord, SoundnessRecord
from codegate.strict import Strict, parse_json, read_bytes, read_lines, read_text
from codegate.suite.model import StoredProblemManifest, SuiteManifest
from codegate.suite.proved import ProvedPlaces
from codegate.suite.reader import check_model, parse_yaml, read_json, read_yaml


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    version: str = ""
    seconds: float = 1


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    inner: Inner = Inner()
    names: tuple[str, ...] = ()


LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
DEEP = "a0: &a0 [x]\n" + "".join(f"a{number}: &a{number} [*a{number - 1}]\n" for number in range(1, 40))


@pytest.mark.parametrize(
    "model",
    [
        ArchiveIndex, Baseline, HistoryEntry, JudgeHeader, Lock, Outcome, People, ProvedPlaces, RunManifest,
        SandboxRecord, SoundnessRecord, StoredProblemManifest, SuiteManifest, _Header,
    ],
)  # fmt: skip
def test_a_key_of_a_file_has_one_name(model: type[Strict]) -> None:
    (name,) = (name for name, field in model.model_fields.items() if field.alias == "schema")
    with pytest.raises(ValidationError) as caught:
        model.model_validate({name: "anything"})
    assert ("extra_forbidden", (name,)) in {(fault["type"], fault["loc"]) for fault in caught.value.errors()}


def test_other_tools_files_may_have_aliases() -> None:
    text = "base: &base {on: [push], count: 010}\nagain: *base\nflag: yes\n"
    assert parse_yaml(text, "ci.yml", core=True) == {
        "base": {"on": ["push"], "count": 8}, "again": {"on": ["push"], "count": 8}, "flag": "yes",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LAUGHS, "more than 100000 values"),
        (DEEP, "deeper than 32"),
        ("a: &a [*a]", "what it is in"),
        ("a: *b", "alias"),
    ],
)
def test_aliases_that_make_a_file_much_larger_are_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_yaml(text, "ci.yml", core=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LAUGHS, "anchors and aliases are not allowed at line 1"),
        ("x: *a", "anchors and aliases"),
        ("x: &a {b: 1}\ny: {<<: *a}", "anchors and aliases"),
        ("x:\n  <<: {b: 1}\n", "merge keys are not allowed at line 2"),
        ("name: !!python/object/apply:os.system [true]", "tags are not allowed at line 1, column 7"),
        ("name: !local 1", "tags"),
        ("name: a\nname: a", "the key 'name' is given twice at line 2"),
        ("name: a\ninner: {version: a, version: b}", "'version' is given twice at line 2"),
        ("names:\n- {a: 1, b: {c: 1, c: 2}}", "'c' is given twice"),
        ("? [a]\n: 1", "unhashable"),
        ("[" * 5000, "nested deeper than 32"),
        ("name: a\n--- \nname: b\n", "expected a single document"),
        ("name: a\n\tb: c", "line 2"),
        ("name: \0", "control characters"),
        ("name: \ud800", "surrogates"),
        ("seconds: " + "1:" * 200_000 + "1", "a number is too long"),
        ("seconds: " + "9" * 5000, "a number is too long"),
        ("seconds: .nan", "not finite"),
        ("seconds: 1.0e+999", "not finite"),
        ("date: 2024-13-45", "month"),
        ("x" * (1 << 20) + "x", "larger than 1024 KiB"),
    ],
)
def test_clever_yaml_is_refused_in_one_line_that_names_the_place(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_yaml(text, "suite.yml")
    message = str(caught.value)
    assert message.startswith("suite.yml is ")
    assert words in message
    assert message.isprintable()
    assert len(message) < 400
    assert caught.value.exit_code == ExitCode.USAGE


def test_plain_yaml_is_read() -> None:
    text = "name: 'no'\ninner: {version: \"1.10\", seconds: 1e1}\nnames: [a, 'b: c', \"\\u00e4\"]\n# a comment\n"
    assert parse_yaml(text, "x") == {
        "name": "no",
        "inner": {"version": "1.10", "seconds": "1e1"},
        "names": ["a", "b: c", "ä"],
    }
    assert parse_yaml("a: [1, 0x1f, 1_000, -1.5, true, null]", "x") == {"a": [1, 31, 1000, -1.5, True, None]}
    assert parse_yaml("[" * 32 + "]" * 32, "x")


@pytest.mark.parametrize("parse", [parse_yaml, parse_json])
@given(
    text=st.one_of(
        st.text(),
        st.text(st.sampled_from("ab:-[]{}&*!<>|'\"#%? \n\t0159.,=~@`")),
        st.text(st.sampled_from("0123456789:.-+TZeE_xb ")),
        st.text(st.sampled_from('[]{},:"\\ \n1a\ud800')),
    )
)
def test_any_text_is_read_or_refused(parse: Callable[[str, str], object], text: str) -> None:
    try:
        parse(text, "file")
    except UsageError as refusal:
        message = str(refusal)
    else:
        message = ""
    assert message.isprintable()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: no", "name: Input should be a valid string (put it in quotes)"),
        ("name: 1.10", "name: Input should be a valid string (put it in quotes)"),
        ("name: 2024-01-01", "name: Input should be a valid string (put it in quotes)"),
        ("name: a\nnames: [a, off]", "names.1: Input should be a valid string (put it in quotes)"),
        ("name: [a]", "name: Input should be a valid string."),
        ("name: null", "name: Input should be a valid string."),
        ("name: a\ninner: {seconds: fast}", "inner.seconds: Input should be a valid number"),
        ("name: a\ninner: {verison: '1'}", "inner.verison: there is no such key"),
        ('name: a\n"new\\nline\\e[31m": 1', "new\\nline\\x1b[31m: there is no such key"),
        ("inner: {}", "name: this key is missing"),
        ("", "it has to be a table of keys: "),
        ("[]", "it has to be a table of keys: "),
        ("name: a\n" + "".join(f"k{n}: 1\n" for n in range(30)), "and 20 more"),
        (f"name: a\n{'k' * 1000}: 1", "kkk: there is"),
    ],
)
def test_a_wrong_value_names_file_and_key_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "suite.yml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_yaml(path, Outer)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 3000


def test_a_key_of_another_version_comes_with_a_remedy() -> None:
    with pytest.raises(UsageError) as caught:
        check_model({"name": "a", "killed": 1}, Outer, "problem.yml")
    assert "another version of codegate" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"name": "a", "name": "b"}', "'name' is given twice"),
        ('{"a": {"b": 1, "b": 1}}', "'b' is given twice"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": 1e999}', "1e999 is not finite"),
        ("[" * 200_000, "it is nested deeper than 64 levels"),
        ('{"a":' * 200_000, "it is nested deeper than 64 levels"),
        ('{"a": ' * 65 + "1" + "}" * 65, "it is nested deeper than 64 levels"),
        ("[" + "[]," * 1_000_000 + "[]]", "it holds more than 2000000 values"),
        ("9" * 21, "a number is too long"),
        ("1e101", "1e101 is not finite, or as good as"),
        ('"' + '\\"' * 200_000, "Unterminated string"),
        ("", "Expecting value"),
    ],
)
def test_json_is_read_strictly(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "tests.json"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_json(path, Outer)
    assert str(caught.value).startswith(f"{path} is not usable JSON: ")
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


def test_json_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"name": "ä", "inner": {"seconds": 1.5}}')
    assert read_json(tmp_path / "a.json", Outer) == Outer(name="ä", inner=Inner(seconds=1.5))
    assert parse_json("[1, 2.5, null]", "x") == [1, 2.5, None]
    assert parse_json("[" * 64 + "]" * 64, "x")
    assert parse_json("[18446744073709551615, -9223372036854775808, 1e100]", "x")[0] == 2**64 - 1
    brackets = '["[[{{", "a\\"[[[", "\\\\"]'
    assert parse_json(f"[{', '.join([brackets] * 100)}]", "x")[7] == ["[[{{", 'a"[[[', "\\"], "signs in text are none"
    assert check_model({"name": "a"}, Outer, "x").name == "a"


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("nothing")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.path.relpath(tmp_path / "socket"))
    server.close()
    expected = {
        "link": "is a symbolic link",
        "dangling": "is a symbolic link",
        "folder": "is not a regular file",
        "fifo": "is not a regular file",
        "socket": "cannot read",
        "missing": "does not exist",
        "file/below": "cannot read",
        "x" * 300: "cannot read",
    }
    for name, words in expected.items():
        with pytest.raises(UsageError) as caught:
            read_bytes(tmp_path / name, 10)
        with pytest.raises(UsageError):
            next(read_lines(tmp_path / name, 10, 10))
        assert words in str(caught.value)
        assert str(tmp_path / name) in str(caught.value)
    with pytest.raises(UsageError, match="not a regular file"):
        read_bytes(Path("/dev/zero"), 10)


def test_what_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="larger than"):
        read_bytes(path, 1 << 39)
    with pytest.raises(UsageError, match="line 1 is longer than 1000 bytes"):
        next(read_lines(path, 1 << 40, 1000))
    path.write_text("12345")
    assert read_text(path, 5) == "12345"
    with pytest.raises(UsageError, match="larger than 4 bytes"):
        read_text(path, 4)


def test_lines_are_read_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a\n\n" + b"x" * 10 + b"\r\nlast")
    assert list(read_lines(path, 100, 12)) == [b"a\n", b"\n", b"x" * 10 + b"\r\n", b"last"]
    with pytest.raises(UsageError, match="line 3 is longer than 11 bytes"):
        list(read_lines(path, 100, 11))


def test_reading_leaves_no_descriptor_open(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        read_bytes(tmp_path / "file", 5)
        with pytest.raises(UsageError):
            read_bytes(tmp_path / "folder", 5)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
