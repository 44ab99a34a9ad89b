"""The result channel's reader, against everything but the driver."""

import json

from hypothesis import given
from hypothesis import strategies as st

from codegate.grading.records import read_records, receipts_of
from codegate.grading.runners.results import runner_report

TOKEN = "5" * 32


def _line(**record: object) -> bytes:
    return f"{TOKEN} {json.dumps(record)}\n".encode()


PHASE = {
    "kind": "phase",
    "id": "t.py::test",
    "when": "call",
    "outcome": "passed",
    "seconds": 0.5,
    "markers": ["slow"],
    "crash": None,
}
END = {"kind": "end", "status": 0}


def test_what_the_driver_writes_is_read() -> None:
    crash = {"exception": "KeyError", "message": "ü", "parents": ["KeyError"], "causes": [], "errno": None}
    failure = {"kind": "collection_error", "id": "t.py", "text": "", "crash": crash}
    records = read_records(_line(**PHASE) + _line(**failure) + _line(**END), TOKEN)
    assert not records.forged
    assert records.status == 0
    assert records.phases["t.py::test"][0].markers == ("slow",)
    assert records.failures[0].crash is not None
    assert records.failures[0].crash.message == "ü"


def test_two_tests_of_one_title_are_no_test_that_passes_at_times() -> None:
    failed = {**PHASE, "outcome": "failed"}
    records = read_records(_line(**PHASE) + _line(**failed) + _line(**END), TOKEN)
    assert runner_report(records, ("t.py",), receipts_of).unsteady == frozenset()
    assert runner_report(records, ("t.py",), receipts_of, repeated=True).unsteady == {"t.py::test"}


@given(st.binary(min_size=1))
def test_anything_else_is_forged(data: bytes) -> None:
    for noise in (data + b"\n", b"x" + data, TOKEN.encode() + b" " + data + b"\n"):
        records = read_records(noise + _line(**END), TOKEN)
        assert records.forged
        assert records.phases == {}


@given(st.integers(min_value=0))
def test_a_line_that_a_kill_cut_short_is_neither_a_record_nor_forged(length: int) -> None:
    line = _line(**END)
    records = read_records(_line(**PHASE) + line[: length % len(line)], TOKEN)
    assert not records.forged
    assert records.status is None
    assert list(records.phases) == ["t.py::test"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_a_clock_that_was_changed_leaves_a_time_that_a_journal_holds() -> None:
    records = read_records(b"".join(_line(**PHASE | {"seconds": 1.7e308}) for _ in range(3)), TOKEN)
    (result,) = runner_report(records, ("t.py",), receipts_of).results.values()
    assert result.seconds == 1e9


@given(st.sampled_from(sorted(PHASE)), _JSON)
def test_a_record_of_another_shape_is_forged_and_never_an_error(key: str, value: object) -> None:
    line = _line(**{**PHASE, key: value})
    records = read_records(line, TOKEN)
    accepted = [phase for found in records.phases.values() for phase in found]
    assert records.forged == (not accepted)
    for phase in accepted:
        assert 0 <= phase.seconds < float("inf")
        assert phase.when in {"setup", "call", "teardown"}
        assert phase.model_dump_json()


def test_hostile_numbers_depth_and_keys() -> None:
    good = json.dumps(PHASE)
    for text in (
        good.replace("0.5", "1e999"),
        good.replace("0.5", "-1"),
        good.replace("0.5", "NaN"),
        good.replace("0.5", "9" * 5000),
        good.replace('["slow"]', "[" * 5000 + "]" * 5000),
        good.replace('["slow"]', json.dumps(["slow"] * 51)),
        good.replace("t.py::test", "\\ud800"),
        good.replace('"crash": null', '"crash": null, "more": 1'),
        "{}",
        "null",
        "",
    ):
        assert read_records(f"{TOKEN} {text}\n".encode(), TOKEN).forged, text[:100]


def test_nothing_comes_after_the_end() -> None:
    assert read_records(_line(**END) + _line(**PHASE), TOKEN).forged
    assert read_records(_line(**END) + _line(**END), TOKEN).forged
    assert read_records(b"", TOKEN).status is None
