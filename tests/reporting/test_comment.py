"""The comment says what a reviewer needs, fits, and does nothing that its data ask for."""

import dataclasses
import functools
import html
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codegate.gating import worst_first
from codegate.reporting import ReportView, render_html, render_markdown
from codegate.reporting.comment import COMMENT_LIMIT, render_comment, render_notice
from tests.reporting.example import example_view
from tests.reporting.hostile import HOSTILE
from tests.reporting.test_markdown import SPAN, structure

NOTICE = {f"{kind}_{end}" for kind in ("blockquote", "paragraph", "strong") for end in ("open", "close")} | {"inline"}
RUN = "https://git.acme.example/acme/demo/actions/runs/1"


@functools.cache
def view(text: str = "", n: int = 30) -> ReportView:
    return example_view(text, n)


CHANGES = re.compile(r"\]\(https://github\.com/acme/shop/pull/\d+\)")
"""Our own links to the changes behind the problems."""


def test_it_links_to_the_run_and_a_strangers_figures_decide_nothing() -> None:
    text = render_comment(view(), run_url=RUN, commit="a" * 40)
    assert text.startswith("> [!CAUTION]\n> **✗ codegate: regressed at `aaaaaaaaaaaa`**")
    assert "at `aaaaaaaaaaaa`" in text
    assert f"[Workflow run]({RUN})" in text
    assert "controlled" not in text
    claimed = render_comment(view(), claimed=True)
    assert "decide nothing" in claimed
    assert "](http" not in claimed, "a stranger's result does not choose where links lead"


def test_it_names_what_was_compared_and_what_to_do_next() -> None:
    note = "This change edits suites/own and codegate.yml (gate); until it is merged, the base's count."
    text = render_comment(view(), notes=[note])
    assert "\n- This change edits suites/own and" in text
    assert ">\n> **Next:** look at the newly failing problems below." in text
    assert ": 0 to 1 sample per problem, codegate" in text, "of one problem it has a fault in place of a grade"
    (run,) = view().runs
    rows = [
        dataclasses.replace(row, cells=tuple(dataclasses.replace(cell, graded=3 + n % 2) for cell in row.cells))
        for n, row in enumerate(view().problems)
    ]
    settled = dataclasses.replace(view(), runs=(dataclasses.replace(run, samples=10),), problems=tuple(rows))
    for render in (render_comment, render_html, render_markdown):
        assert "3 to 4 samples per problem of at most 10" in render(settled)
    assert "Next:" not in render_comment(view(), claimed=True), "a stranger's figures give no advice"
    night = dataclasses.replace(view(), verdicts=(), candidates=view().candidates[:1])
    assert view().baseline is None or "Next:" not in render_comment(night)
    assert "**Next:** pin a baseline" in render_comment(dataclasses.replace(night, baseline=None))


def test_it_has_the_cost_of_a_confirmation_and_tells_a_changed_harness_from_the_pinned_one() -> None:
    (run,), (first, *_) = view().runs, view().verdicts
    again = "the pinned one was sampled again to confirm the regression: 30 attempts, $0.0610"
    same = first.model_copy(update={"baseline_label": first.label})
    text = render_comment(
        dataclasses.replace(view(), runs=(dataclasses.replace(run, confirmation=again),), verdicts=(same,))
    )
    assert f"\n- {again}\n" in text
    assert f"`{first.label}` against the pinned one: " in text


@pytest.mark.parametrize("kind", ["pass", "regressed"])
def test_what_floors_alone_decide_names_no_pinned_model(kind: str) -> None:
    verdict = view().verdicts[0].model_copy(update={"kind": kind, "baseline_label": None})
    text = render_comment(dataclasses.replace(view(), verdicts=(verdict,), baseline=None))
    assert "**Next:** " in text
    assert "pinned model" not in text


@pytest.mark.parametrize(
    ("kind", "alert"),
    [("pass", "TIP"), ("regressed", "CAUTION"), ("inconclusive", "WARNING"), ("incomparable", "WARNING"),
     ("infrastructure", "IMPORTANT")],
)  # fmt: skip
def test_the_worst_verdict_is_the_headline(kind: str, alert: str) -> None:
    verdict = view().verdicts[0].model_copy(update={"kind": kind})
    text = render_comment(dataclasses.replace(view(), verdicts=(verdict,)))
    assert text.startswith(f"> [!{alert}]\n> **")
    assert f"codegate: {kind}**" in text.split("\n")[1]
    passed = verdict.model_copy(update={"kind": "pass"})
    assert worst_first([passed, verdict, passed])[0].kind == kind


def test_the_pinned_score_stands_beside_the_rate_of_the_same_samples_only() -> None:
    baseline, first = view().baseline, view().verdicts[0]
    assert baseline is not None
    rate = baseline.correctness.pass_at_1.value
    assert rate is not None
    for compared, shown in ((rate, True), (rate - 0.01, False)):  # fresh samples of the pinned model, left-out problems
        verdict = first.model_copy(update={"baseline_rate": compared})
        text = render_comment(dataclasses.replace(view(), verdicts=(verdict,)))
        row = next(line for line in text.splitlines() if line.startswith(f"| `{first.label}` | "))
        assert (" → " in row) is shown, row


def test_a_verdict_that_says_nothing_of_other_bugs_has_its_notes() -> None:
    told = {"kind": "incomparable", "population": None, "warnings": ("the sandbox was not verified",)}
    verdict = view().verdicts[0].model_copy(update=told)
    text = render_comment(dataclasses.replace(view(), verdicts=(verdict,)))
    assert "- warning: the sandbox was not verified" in text


def test_without_a_verdict_nothing_is_green() -> None:
    bare = dataclasses.replace(view(), verdicts=())
    lost = "> [!IMPORTANT]\n> **! codegate: infrastructure**\n>\n> 1 attempt without a grade."
    assert render_comment(bare).startswith(lost)
    whole = dataclasses.replace(bare, candidates=bare.candidates[:1])
    assert render_comment(whole).startswith("> [!NOTE]\n> **· codegate: ungated**")


def test_the_power_of_a_comparison_is_shown_where_it_is_known() -> None:
    verdicts = tuple(verdict.model_copy(update={"detectable_drop": 0.104}) for verdict in view().verdicts)
    text = render_comment(dataclasses.replace(view(), verdicts=verdicts))
    assert "29, look 1 of 1 | 10.4 pp |" in text
    assert "found in four of five runs" in text
    assert "found in four of five runs" not in render_comment(view()), "one baseline sample does not show its noise"


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=HOSTILE)
def test_nothing_in_it_is_markup_or_a_mention(payload: str) -> None:
    text = render_comment(view(f"x{payload}", 3))
    assert structure(text) == structure(render_comment(view("x", 3)))
    notice = render_notice(payload, f"a\n{payload}")
    assert {kind for kind, _ in structure(notice)} <= NOTICE
    for said in (text, notice):
        outside = SPAN.sub("", CHANGES.sub("]", said))
        assert not re.search(r"@\w|#\d|gh-\d|https?:|www\.", html.unescape(outside), re.IGNORECASE)


def _rows(text: str, header: str) -> int:
    """Return how many rows the tables with this first column have, those included that were cut."""
    found = re.findall(rf"^\| {header} \|.*\n\|.*\n((?:\|.*\n)*)(?:\n\+([\d,]+) more)?", text, re.MULTILINE)
    return sum(len(rows.splitlines()) + int(more or 0) for rows, more in found)


@pytest.mark.parametrize("limit", [24_000, 27_001, COMMENT_LIMIT])
def test_it_fits_and_is_cut_between_rows(limit: int) -> None:
    text = render_comment(view("é" * 90, 120), run_url=RUN, limit=limit)
    assert len(text.encode()) <= limit
    assert f"[Workflow run]({RUN})" in text
    for line in text.splitlines():
        assert not line.startswith("|") or line.endswith("|")
        assert "`" not in SPAN.sub("", line), "every code span is closed"
    if limit == COMMENT_LIMIT:
        changed = [len(each.regressions) + len(each.improvements) for each in view("é" * 90, 120).verdicts]
        assert max(changed) > 50
        assert _rows(text, "Problem") == sum(changed)


def test_more_candidates_than_fit_are_counted() -> None:
    verdict = view().verdicts[1].model_copy(update={"label": "@" * 200, "warnings": ("@" * 2000,) * 9})
    text = render_comment(dataclasses.replace(view(), verdicts=tuple(verdict.model_copy() for _ in range(300))))
    assert len(text.encode()) <= COMMENT_LIMIT
    assert _rows(text, "Candidate") >= 300
    assert "more candidates" in text


@example("\U0001f600" * 60, 0)
@given(st.text(max_size=60), st.sampled_from([0, COMMENT_LIMIT]))
def test_any_text_fits(text: str, limit: int) -> None:
    changes = {"label": text, "baseline_label": text * 3, "reason": text * 20}
    verdicts = tuple(verdict.model_copy(update=changes) for verdict in view().verdicts)
    runs = tuple(dataclasses.replace(run, id=text * 9, suite=text * 9) for run in view().runs * 3)
    said = render_comment(dataclasses.replace(view(), verdicts=verdicts, runs=runs), limit=limit)
    assert "**✗ codegate: regressed**" in said
    assert len(said.encode()) <= max(limit, 24_000)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://x/) [y](https://z", "https://x y", "ftp://x", ""])
def test_only_an_address_is_linked(url: str) -> None:
    assert "](" not in CHANGES.sub("]", render_comment(view(), run_url=url))


def test_a_notice_says_why_there_is_no_report() -> None:
    text = render_notice("skipped", "No keys.\n\nA fork's pull request has none.", run_url=RUN, fault=False)
    assert text == (
        "> [!NOTE]\n> **codegate: skipped**\n>\n> No keys.\n> A fork's pull request has none.\n"
        f"\n[Workflow run]({RUN})\n"
    )
    assert len(render_notice("x", "y" * 10**6 + "\n" * 10**5 + "z\n" * 10**4)) < 20_000
