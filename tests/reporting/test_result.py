"""What ``render_json`` writes is read back; what else is in such a file is refused."""

import functools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.errors import UsageError
from codegate.reporting import render_json
from codegate.reporting.comment import COMMENT_LIMIT, render_comment
from codegate.reporting.result import MAX_RESULT_BYTES, read_result
from tests.reporting.example import example_view
from tests.reporting.hostile import PAYLOADS


@functools.cache
def written() -> str:
    return render_json(example_view(n=12))


def document() -> Any:
    return json.loads(written())


def refused(changed: object) -> str:
    with pytest.raises(UsageError) as caught:
        read_result(json.dumps(changed).encode())
    return str(caught.value)


@pytest.mark.parametrize("text", ["", *PAYLOADS.values()], ids=["plain", *PAYLOADS])
def test_a_report_is_read_as_it_was_written(text: str) -> None:
    view = example_view(text, n=3)
    assert read_result(render_json(view).encode()) == view


def _at(path: str, value: object) -> object:
    changed = document()
    inner = changed
    *parents, last = path.split("/")
    for part in parents:
        inner = inner[int(part)] if part.isdigit() else inner[part]
    inner[int(last) if last.isdigit() else last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema", "codegate.report/2"),
        ("extra", 1),
        ("runs/0/extra", 1),
        ("runs/0/samples", "1"),
        ("runs/0/samples", True),
        ("runs/0/id", 7),
        ("verdicts/0/kind", "excellent"),
        ("verdicts/0/extra", 1),
        ("candidates/0/measures/extra", 1),
        ("candidates/0/measures/costs/total_usd", "0.1"),
        ("problems/0/cells/0/status", "<b>"),
        ("candidates", {}),
        ("runs", None),
    ],
)
def test_another_form_is_refused(path: str, value: object) -> None:
    assert "codegate.report/1" in refused(_at(path, value))


def test_a_key_that_is_missing_is_refused_even_where_it_has_a_default() -> None:
    for path in ("baseline", "verdicts/0/warnings", "verdicts/0/look", "candidates/0/pass_rate/of"):
        changed = document()
        inner = changed
        *parents, last = path.split("/")
        for part in parents:
            inner = inner[int(part)] if part.isdigit() else inner[part]
        del inner[last]
        assert "form" in refused(changed)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("candidates/0/pass_rate/value", 0.99),
        ("candidates/0/pass_rate/n", 7),
        ("candidates/0/graded", 5),
        ("candidates/0/planned", 1),
        ("candidates/0/measures/failures/0/share/value", 1.5),
        ("candidates/0/measures/failures/0/count", 400),
        ("candidates/0/measures/correctness/score/value", 101.0),
        ("candidates/0/measures/costs/total_usd", -1.0),
        ("problems/0/cells/0/passed", 0),
        ("problems/0/cells/0/graded", 2),
        ("problems/0/cells/0/status", "failed"),
        ("problems/0/cells/0/attempts", []),
        ("problems/0/cells", []),
        ("verdicts/0/difference", 0.25),
        ("verdicts/0/candidate_rate", 1.25),
        ("verdicts/0/baseline_rate", None),
        ("verdicts/0/problems", 700),
        ("verdicts/0/p_regression", 1.5),
        ("verdicts/0/interval", [0.5, -0.5]),
        ("verdicts/0/alpha", 0.9),
        ("verdicts/0/kind", "pass"),
        ("verdicts/0/regressions/0/candidate_rate", 1.0),
        ("verdicts/0/regressions/0/candidate_n", 0),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(path: str, value: object) -> None:
    assert "agree" in refused(_at(path, value))


def test_a_number_that_no_report_has_is_refused() -> None:
    assert "number" in refused(_at("verdicts/0/margin", 1e60))
    assert "number" in refused(_at("candidates/0/measures/costs/lost_calls", 10**18))


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b"null", b'{"schema": "codegate.report/1"}', b"\xff", b"[" * 10**5, b'{"a":1,"a":1}',
     b'{"schema": "codegate.report/1", "runs": NaN}'],
)  # fmt: skip
def test_what_is_no_report_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError):
        read_result(data)


def test_a_result_has_a_limit() -> None:
    with pytest.raises(UsageError, match="larger"):
        read_result(b" " * (MAX_RESULT_BYTES + 1))


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, (*path, key))]
    if isinstance(value, list):
        return [leaf for key, inner in enumerate(value) for leaf in _leaves(inner, (*path, key))]
    return [path]


_values = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(-2, 2), st.text(max_size=6), st.just("@a <b> #1"),
    st.just([]), st.just({}),
)  # fmt: skip


@given(st.data(), _values)
def test_any_change_is_refused_or_can_be_shown(data: st.DataObject, value: Any) -> None:
    changed = document()
    *parents, last = data.draw(st.sampled_from(_leaves(changed)))
    inner = changed
    for part in parents:
        inner = inner[part]
    inner[last] = value
    try:
        view = read_result(json.dumps(changed).encode())
    except UsageError:
        return
    assert len(render_comment(view, claimed=True).encode()) <= COMMENT_LIMIT
