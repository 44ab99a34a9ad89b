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
from codegate.reporting.json_report import MAX_RESULT_BYTES, read_result
from tests.reporting.example import example_view
from tests.reporting.hostile import HOSTILE


@functools.cache
def written() -> str:
    return render_json(example_view(n=12))


def document() -> Any:
    return json.loads(written())


def refused(changed: object) -> str:
    with pytest.raises(UsageError) as caught:
        read_result(json.dumps(changed).encode())
    return str(caught.value)


@pytest.mark.parametrize("text", ["", *HOSTILE.values()], ids=["plain", *HOSTILE])
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
        ("runs/0/id", 7),
        ("verdicts/0/kind", "excellent"),
        ("verdicts/0/extra", 1),
        ("candidates/0/measures/extra", 1),
        ("candidates/0/measures/costs/total_usd", "0.1"),
        ("candidates/0/pass_rate/high", "1e400"),
        ("problems/0/cells/0/status", "<b>"),
        ("problems/0/cells", []),
        ("candidates", {}),
        ("runs", None),
    ],
)
def test_another_form_is_refused(path: str, value: object) -> None:
    said = refused(_at(path, value))
    assert "codegate.report/1" in said
    assert "`codegate report RUN --out FOLDER`" in said, "the command that writes it again"


def test_a_key_that_is_missing_is_refused_even_where_it_has_a_default() -> None:
    changed = document()
    del changed["verdicts"][0]["warnings"]
    assert "form" in refused(changed)
    changed = document()
    del changed["candidates"][0]["pass_rate"]["of"]
    assert "form" in refused(changed)


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
