import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from codegate.errors import UsageError
from codegate.suite.exchange import Prediction, SweBenchRow, check_any, check_row, read_rows, write_predictions
from codegate.suite.exchange.predictions import read_predictions

ROW = {
    "repo": "acme/shop",
    "instance_id": "acme__shop-7",
    "base_commit": "a" * 40,
    "patch": "--- a/x\n+++ b/x\n",
    "test_patch": "--- a/y\n+++ b/y\n",
    "problem_statement": "It breaks.",
    "FAIL_TO_PASS": '["tests/test_x.py::test_a"]',
    "PASS_TO_PASS": "[]",
}


def read(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    return read_rows(path, lambda row, place: (place, row))


def checked(folder: Path, *rows: object) -> tuple[list[SweBenchRow], list[str]]:
    return read_rows(write(folder / "rows.jsonl", *(json.dumps(row).encode() for row in rows)), check_row)


def numbers(skipped: list[str]) -> list[int]:
    return [int(reason.partition(":")[0].removeprefix("row ")) for reason in skipped]


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def test_each_broken_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    deep = b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    file = write(
        tmp_path / "rows.jsonl", b'{"a": 1}', b"", b"{", b"\xff\xfe", b"[1]x", b'{"a": 1, "a": 2}', b'{"a": NaN}', deep,
        b'{"a": "\xe2\x80\xa8"}', b"7",
    )  # fmt: skip
    rows, skipped = read(file)
    assert rows == [{"a": 1}, {"a": "\u2028"}]
    assert numbers(skipped) == [3, 4, 5, 6, 7, 8, 10]
    assert "UTF-8" in skipped[1]
    assert all("\n" not in entry and len(entry) < 1000 for entry in skipped)


def test_more_rows_than_allowed_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegate.suite.exchange.rows.MAX_ROWS", 2)
    assert len(read(write(tmp_path / "two", b"{}", b"{}"))[0]) == 2
    for name, text in (("lines", b"{}\n{}\n{}"), ("array", b"[{},{},{}]")):
        with pytest.raises(UsageError, match="more than 2 rows"):
            read(write(tmp_path / name, text))


def test_an_array_is_read_too(tmp_path: Path) -> None:
    rows, skipped = read(write(tmp_path / "rows.json", b'\xef\xbb\xbf [{"a": 1}, 2, {"b": 3}]'))
    assert (rows, numbers(skipped)) == ([{"a": 1}, {"b": 3}], [2])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gzip.compress(b"{}", mtime=0), "compressed"),
        (b"PAR1xxxx", "Parquet"),
        (b"[1,", "not usable JSON"),
        (b"[\xff", "UTF-8"),
    ],
)
def test_another_format_is_refused_with_the_remedy(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "rows").write_bytes(data)
    with pytest.raises(UsageError, match=words):
        read(tmp_path / "rows")


def test_a_file_without_a_usable_row_names_the_first_ones(tmp_path: Path) -> None:
    results, skipped = checked(tmp_path, *[{"instance_id": 7}] * 5)
    with pytest.raises(UsageError, match=r"no row that can be used. row 1: .*repo.*row 3: .*; and 2 more"):
        check_any(results, skipped, tmp_path / "rows.jsonl")
    with pytest.raises(UsageError, match="holds no rows"):
        check_any([], [], tmp_path / "rows.jsonl")


def test_the_second_row_of_an_id_is_skipped(tmp_path: Path) -> None:
    odd = {**ROW, "instance_id": "acme//shop"}
    results, skipped = checked(tmp_path, ROW, ROW, odd, {**odd, "x": 1})
    assert [row.id for row in results] == ["acme__shop-7", "acme-shop"]
    assert numbers(skipped) == [2, 4]
    assert "row 1 has the id" in skipped[0]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("repo", "no slash"), ("repo", 3), ("instance_id", ""), ("instance_id", "x" * 201), ("instance_id", "///"),
        ("base_commit", "HEAD"), ("base_commit", "--upload-pack=x"), ("base_commit", "A" * 40), ("patch", ""),
        ("patch", ["x"]), ("test_patch", None), ("problem_statement", "  \n"), ("problem_statement", "\ud800"),
        ("FAIL_TO_PASS", "{}"), ("FAIL_TO_PASS", "[1]"), ("FAIL_TO_PASS", "[" * 5000), ("FAIL_TO_PASS", ["\udcff"]),
        ("PASS_TO_PASS", 5), ("created_at", "x" * 1001), ("patch", "\udcff"),
    ],
)  # fmt: skip
def test_a_row_that_is_none_is_skipped_with_a_reason(tmp_path: Path, field: str, value: object) -> None:
    results, skipped = checked(tmp_path, {**ROW, field: value}, ROW)
    assert [row.id for row in results] == ["acme__shop-7"]
    assert numbers(skipped) == [1]
    assert skipped[0].isprintable()


def test_lists_come_as_lists_and_as_texts() -> None:
    _, row = check_row({**ROW, "FAIL_TO_PASS": ["a", "b"], "PASS_TO_PASS": ""}, "row 1")
    assert (row.FAIL_TO_PASS, row.PASS_TO_PASS, row.pull_request) == (("a", "b"), (), 7)


def test_predictions_are_what_the_grader_reads(tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    answers = (("a", "m", "--- a\n\u2028+\udcff"), ("b", "m", None), ("a", "n", ""), ("a", "m", "a second sample"))
    made = tuple(
        Prediction(instance_id=name, model_name_or_path=model, model_patch=patch) for name, model, patch in answers
    )
    write_predictions(path, made)
    assert read_predictions(path) == made
    with pytest.raises(UsageError, match="no predictions"):
        write_predictions(path, [])
