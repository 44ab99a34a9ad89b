"""What is measured and judged is said in every format for people, and in the files for machines."""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from html import unescape
from pathlib import Path

import pytest

from codegate.candidates import CandidateSpec, Message, Prices
from codegate.gating import ChangedProblem, Verdict
from codegate.gating.verdict import Cohort
from codegate.grading import Regressions
from codegate.reporting import (
    Evidence,
    ReportTerms,
    ReportView,
    build_view,
    figures,
    read_evidence,
    render_comment,
    render_console,
    render_csv,
    render_html,
    render_json,
    render_junit,
    render_markdown,
    terms_of,
)
from codegate.running import Config, Journal, Run
from codegate.running.outcome import Fault
from codegate.sandbox import Assurance
from codegate.solving import Attempt
from tests.reporting.example import altered, example, pinned_samples, run_of, samples_of

PEOPLE: dict[str, Callable[[ReportView], str]] = {
    "console": lambda view: render_console(view, width=400),
    "markdown": render_markdown,
    "html": render_html,
}
people = pytest.mark.parametrize("name", PEOPLE)


def plainly(text: str) -> str:
    """Return a page as one reads it: no markup, no marks in between, every blank the same."""
    return " ".join(
        unescape(unescape(re.sub(r"<[a-zA-Z!/][^>]*>|\u200b", "", unescape(text)))).replace("\u200b", "").split()
    )


def looped() -> Run:
    """Return a run with three samples of each problem, made in a tool loop of up to three turns."""
    run = run_of({"new": {f"p{i}": [i % 3 != 0, True, i % 2 == 0] for i in range(12)}})
    (spec,) = run.manifest.candidates
    spec = spec.model_copy(update={"solver": "tool_loop"})
    calls = ({"iterations": 1 + i % 3, "tool_calls": 4, "tool_errors": i % 2} for i in range(len(run.outcomes)))
    return altered(run, *({"grading_seconds": 1.25, "attempt": made} for made in calls), spec=spec)


@people
def test_draws_and_turns_are_said_where_there_are_several(name: str) -> None:
    run = looped()
    page = plainly(PEOPLE[name](build_view([run])))
    for said in (
        "pass@3",
        "pass^3",
        "Sandboxes, median / P95",
        "1.25 s",
        "Tool calls valid",
        "87.5% [",
        "n=144",
        *(() if name == "console" else ("Turn",)),
    ):
        assert said.lower() in page.lower(), said
    assert "Failure classes" in page
    once = plainly(PEOPLE[name](build_view([run_of({"a": {"p": [True]}})])))
    assert "pass^" not in once
    assert "tool loop" not in once


@pytest.mark.requirement("D13")
@pytest.mark.parametrize("render", [*PEOPLE.values(), render_comment], ids=[*PEOPLE, "comment"])
def test_regressions_are_shown_only_where_the_full_test_suite_was_run(render: Callable[[ReportView], str]) -> None:
    run = looped()
    assert "full test suite" not in plainly(render(build_view([run])))
    shown = [Regressions(compared=9, failing=2), *[Regressions(compared=9, failing=0)] * 3]
    page = plainly(render(build_view([altered(run, *({"regressions": found} for found in shown))])))
    assert re.search(r"egressions in the full test suite\W*25\.0% \[\d+–\d+%\] n=4", page)
    assert render is not render_comment or ("Full test suite" in page and "Measures" not in page)


def test_the_draws_are_as_many_as_the_baseline_has_too() -> None:
    run = looped()
    pinned = samples_of(run, run.manifest.candidates[0])
    fewer = pinned.model_copy(update={"samples": {name: found[:2] for name, found in pinned.samples.items()}})
    assert build_view([run], (), Evidence(baseline=pinned)).candidates[0].measures.correctness.k == 3
    view = build_view([run], (), Evidence(baseline=fewer))
    assert view.baseline is not None
    assert (view.candidates[0].measures.correctness.k, view.baseline.correctness.k) == (2, 2)


def test_a_baseline_of_other_problems_or_conditions_is_not_compared_with() -> None:
    run, verdicts = example()
    pinned = pinned_samples()
    changed = pinned.model_copy(update={"problem_digests": dict.fromkeys(pinned.problem_digests, "1" * 64)})
    incomparable = verdicts[0].model_copy(update={"kind": "incomparable"})
    for view in (
        build_view([run], (), Evidence(baseline=changed)),
        build_view([run], (incomparable,), Evidence(baseline=pinned)),
    ):
        assert [item.baseline.value for item in view.candidates[0].measures.failures] == [None]
    both = build_view([run], (), Evidence(baseline=pinned)).candidates[0].measures.failures
    assert [item.name for item in both] == ["logic_error", "odd"]


def test_a_run_that_stopped_looking_misses_no_samples() -> None:
    run = run_of({"a": {"p": [True], "q": [False]}})
    for looks, planned in (((1, 2, 3), 2), ((3,), 6)):
        (entry,) = build_view([altered(run, looks=looks, samples=3)]).candidates
        assert (entry.planned, entry.graded) == (planned, 2)


def judged(verdict: Verdict) -> Verdict:
    """Return a verdict with everything that a verdict may say."""
    return verdict.model_copy(
        update={
            "looks": 3,
            "look": 2,
            "candidates": 2,
            "detectable_drop": 0.091,
            "must_pass_failed": ("money-00",),
            "warnings": ("kind:cache lost more than chance explains",),
            "cohorts": (
                Cohort(tag="kind:cache", problems=10, baseline_rate=1.0, candidate_rate=0.5, p_holm=0.012, floor=0.9,
                       tier="critical", upper=0.7),
                Cohort(tag="kind:dates", problems=10, baseline_rate=0.5, candidate_rate=1.0),
            ),
            "regressions": (
                ChangedProblem(problem="money-03", baseline_rate=1, baseline_n=10, candidate_rate=0, candidate_n=5,
                     candidate_failure="timeout", beyond_chance=True),
                ChangedProblem(problem="dates-01", baseline_rate=1, baseline_n=1, candidate_rate=0, candidate_n=1),
            ),
        }
    )  # fmt: skip


@people
def test_everything_that_a_verdict_says_is_said(name: str) -> None:
    run, verdicts = example()
    page = plainly(PEOPLE[name](build_view([run], [judged(verdicts[0])])))
    for said in (
        "kind:cache lost more than chance explains",
        "never solved, although the policy says they must be: money-00",
        "2 of 3; alpha is split over 2 candidates",
        "90%, critical",
        "beyond chance",
    ):
        assert said.lower() in page.lower(), said
    if name != "console":  # there the sentence of the verdict says it
        assert "9.1 pp" in page


@people
def test_a_plain_verdict_says_nothing_of_what_it_did_not_ask(name: str) -> None:
    run, verdicts = example()
    page = plainly(PEOPLE[name](build_view([run], verdicts[:1])))
    for unsaid in ("fresh baseline", "pull requests", "Floors", "must be", "warning:"):
        assert unsaid not in page


def test_every_format_says_whether_the_sandbox_was_verified_and_what_it_does_not_promise() -> None:
    run, verdicts = example()
    weak = "runc 1.1.5 has a number older than 1.1.12"
    looked_at = Assurance(sandbox="docker", tier="runc", engine="Docker 28.0.0", runtime="runc 1.1.5", kernel="6.1",
                          environment="sha256:0", checks=(), weaknesses=(weak,))  # fmt: skip
    verified = build_view([run.model_copy(update={"assurances": (looked_at,)})], verdicts)
    for name, render in {**PEOPLE, "json": render_json, "junit": render_junit, "csv": render_csv}.items():
        read = plainly if name in PEOPLE else unescape
        assert "not verified (bwrap)" in read(render(build_view([run], verdicts))), name
        page = read(render(verified))
        assert "verified (docker, runc 1.1.5)" in page, name
        assert "not verified" not in page, name
        assert weak in page or name == "csv", name
    odd = looked_at.model_copy(update={"runtime": "runc\n\x1b[31m::error::", "environment": "other"})
    view = build_view([run.model_copy(update={"assurances": (looked_at, odd)})])
    assert view.runs[0].assurance == "verified (docker, runc 1.1.5); verified (docker, runc ::error::)"


# Conversations


def kept(folder: Path) -> tuple[Journal, Run]:
    """Return a journal of one run with the conversation of one attempt."""
    run = run_of({"a": {"p": [True], "q": [False]}})
    journal = Journal.create(folder / "run", run.manifest)
    (spec,) = run.manifest.candidates
    with journal.writing():
        for outcome in run.outcomes:
            journal.append(outcome)
        journal.calls.record(spec.key())
        journal.calls.record(spec.key())
        journal.write_attempt(
            Attempt(solver="single_shot", prompt_version="1", problem="p", candidate=spec.key(), sample=0,
                    messages=(Message(role="assistant", text="This is the fix."),))
        )  # fmt: skip
    return journal, run


def test_conversations_and_calls_are_found_on_disk(tmp_path: Path) -> None:
    journal, run = kept(tmp_path)
    view = build_view([run], (), read_evidence([journal]))
    talks = [row.cells[0].attempts[0].transcript for row in view.problems]
    assert [[message.text for message in talk] for talk in talks] == [["This is the fix."], []]
    assert (view.candidates[0].measures.calls_answered.n, view.candidates[0].measures.calls_answered.value) == (2, 1.0)


def test_an_unfinished_run_says_so_and_has_no_share_of_answered_calls(tmp_path: Path) -> None:
    journal, run = kept(tmp_path)
    view = build_view([run.model_copy(update={"outcomes": run.outcomes[:1]})], (), read_evidence([journal]))
    assert view.candidates[0].measures.calls_answered.value is None
    for render in (render_console, render_markdown, render_html):
        assert f"run {run.manifest.id} is unfinished: 1 of 2 outcomes." in render(view)


def test_a_run_that_a_gate_ended_early_is_finished() -> None:
    run, verdicts = example()
    early = run.model_copy(update={"outcomes": run.outcomes[:-1]})
    assert build_view([early], verdicts).runs[0].unfinished is None
    looks = early.model_copy(update={"manifest": run.manifest.model_copy(update={"looks": (1, run.manifest.samples)})})
    assert "outcomes." in (build_view([early]).runs[0].unfinished or "")
    assert " of at most " in (build_view([looks]).runs[0].unfinished or "")


def test_a_broken_conversation_is_said_and_is_no_reason_to_have_no_report(tmp_path: Path) -> None:
    journal, run = kept(tmp_path)
    (file,) = (tmp_path / "run" / "transcripts").rglob("*.json")
    file.write_text("{")
    (message,) = build_view([run], (), read_evidence([journal])).problems[0].cells[0].attempts[0].transcript
    assert message.text.startswith("The transcript cannot be read: ")


def test_conversations_have_room_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegate.reporting.build._TRANSCRIPT_ROOM", 100)
    run = run_of({"a": {f"p{i}": [False] for i in range(5)}})
    asked: list[str] = []

    def talk(_run: str, outcome: object) -> tuple[Message, ...]:
        asked.append(_run)
        return (Message(role="user", text="x" * 80),)

    view = build_view([run], (), Evidence(transcripts=talk))
    said = [message.text for row in view.problems for message in row.cells[0].attempts[0].transcript]
    assert said[0] == "x" * 80
    assert said[1].startswith("x" * 20 + "\n[60 characters left out]")
    assert len(asked) == 2  # what there is no room for is not even read
    assert all(row.cells[0].attempts[0].patch for row in view.problems)


def test_the_candidates_own_prices_are_used_without_any_terms() -> None:
    run = run_of({"a": {"p": [True]}})
    priced = CandidateSpec.model_validate(
        run.manifest.candidates[0].model_dump() | {"prices": {"input": 1, "output": 1}}
    )
    (entry,) = build_view([altered(run, candidates=(priced,))]).candidates
    assert entry.measures.costs.total_usd == pytest.approx((1850 + 240) / 1e6)


def test_a_price_of_the_table_counts_for_candidates_without_their_own() -> None:
    cheap, dear = Prices(input=Decimal(1), output=Decimal(1)), Prices(input=Decimal(2), output=Decimal(2))
    spec = run_of({"a": {"p": [True]}}).manifest.candidates[0]
    for own, price in ((cheap, None), (dear, dear)):
        priced = spec.model_copy(update={"model": "m", "prices": own})
        terms = terms_of(Config(candidates=(priced,), prices={"m": dear}))
        assert terms.prices.get("m") == price


@people
def test_what_a_confirmation_took_is_said(name: str) -> None:
    again = looped()
    (spec,) = again.manifest.candidates
    priced = Evidence(ReportTerms(prices={spec.model or "": Prices(input=Decimal(2), output=Decimal(8))}))
    view = build_view([looped().model_copy(update={"confirmation": again})], (), priced)
    cost = f"${view.candidates[0].measures.costs.total_usd:.4f}"
    said = f"the pinned {spec.label} was sampled again to confirm the regression: 36 attempts, {cost}"
    assert said in plainly(PEOPLE[name](view))
    assert json.loads(render_json(view))["runs"][0]["confirmation"] == said
    assert "sampled again" not in plainly(PEOPLE[name](build_view([looped()])))
    unpriced = build_view([looped().model_copy(update={"confirmation": again})])
    assert unpriced.runs[0].confirmation == said.removesuffix(f", {cost}"), "an unknown cost is left out"
    lost = {"attempt": None, "grade": None, "fault": Fault(cause="provider.not_found", message="retired.", retries=0)}
    view = build_view([looped().model_copy(update={"confirmation": altered(again, *[lost] * 36)})])
    again_lost = "to confirm the regression: 0 attempts; 36 samples lost to provider.not_found: retired"
    assert again_lost in plainly(PEOPLE[name](view))


@pytest.mark.parametrize(
    ("value", "said"), [(-0.0004, "0.0 pp"), (0.0, "0.0 pp"), (-0.0006, "-0.1 pp"), (0.1, "+10.0 pp")]
)
def test_a_difference_that_rounds_to_nothing_has_no_sign(value: float, said: str) -> None:
    assert figures.points(value) == said
