import gzip
from pathlib import Path

import pytest

from codegate.errors import UsageError
from codegate.suite.exchange import Prediction, Row, check_any, check_row, convert_each, read_rows, write_predictions
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


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def test_each_broken_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    deep = b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    file = write(
        tmp_path / "rows.jsonl", b'{"a": 1}', b"", b"{", b"\xff\xfe", b"[1]x", b'{"a": 1, "a": 2}', b'{"a": NaN}', deep,
        b'{"a": "\xe2\x80\xa8"}', b"7",
    )  # fmt: skip
    rows, skipped = read_rows(file)
    assert [row.number for row in rows] == [1, 9]
    assert [entry.number for entry in skipped] == [3, 4, 5, 6, 7, 8, 10]
    assert "UTF-8" in skipped[1].reason
    assert all("\n" not in str(entry) and len(str(entry)) < 1000 for entry in skipped)


def test_more_rows_than_allowed_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegate.suite.exchange.rows.MAX_ROWS", 2)
    assert len(read_rows(write(tmp_path / "two", b"{}", b"{}"))[0]) == 2
    for name, text in (("lines", b"{}\n{}\n{}"), ("array", b"[{},{},{}]")):
        with pytest.raises(UsageError, match="more than 2 rows"):
            read_rows(write(tmp_path / name, text))


def test_an_array_is_read_too(tmp_path: Path) -> None:
    rows, skipped = read_rows(write(tmp_path / "rows.json", b'\xef\xbb\xbf [{"a": 1}, 2, {"b": 3}]'))
    assert ([row.data for row in rows], [entry.number for entry in skipped]) == ([{"a": 1}, {"b": 3}], [2])


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
        read_rows(tmp_path / "rows")


def test_a_file_without_a_usable_row_names_the_first_ones(tmp_path: Path) -> None:
    rows, _ = read_rows(write(tmp_path / "rows.jsonl", *[b'{"instance_id": 7}'] * 5))
    results, skipped = convert_each(rows, check_row)
    with pytest.raises(UsageError, match=r"no row that can be used. row 1: .*repo.*row 3: .*; and 2 more"):
        check_any(results, skipped, tmp_path / "rows.jsonl")
    with pytest.raises(UsageError, match="holds no rows"):
        check_any([], [], tmp_path / "rows.jsonl")


def test_the_second_row_of_an_id_is_skipped() -> None:
    odd = {**ROW, "instance_id": "acme//shop"}
    results, skipped = convert_each([Row(1, ROW), Row(2, ROW), Row(3, odd), Row(4, {**odd, "x": 1})], check_row)
    assert [row.id for row in results] == ["acme__shop-7", "acme-shop"]
    assert [entry.number for entry in skipped] == [2, 4]
    assert "row 1 has the id" in skipped[0].reason


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
def test_a_row_that_is_none_is_skipped_with_a_reason(field: str, value: object) -> None:
    results, skipped = convert_each([Row(4, {**ROW, field: value}), Row(5, ROW)], check_row)
    assert [row.id for row in results] == ["acme__shop-7"]
    assert skipped[0].number == 4
    assert skipped[0].reason.isprintable()


def test_lists_come_as_lists_and_as_texts() -> None:
    [row], _ = convert_each([Row(1, {**ROW, "FAIL_TO_PASS": ["a", "b"], "PASS_TO_PASS": ""})], check_row)
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
