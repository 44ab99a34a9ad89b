import dataclasses
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from codegate.candidates import CandidateSpec, Message
from codegate.candidates.harness import Harness
from codegate.grading import Behaviour
from codegate.reporting import (
    Evidence,
    ReportView,
    bug,
    build_view,
    render_console,
    render_html,
    render_markdown,
)
from codegate.reporting.build import harness_diff
from codegate.reporting.cells import links
from codegate.running import ProblemRecord
from codegate.solving.attempt import AgentRecord
from tests.reporting.example import altered, example, example_view, run_of
from tests.reporting.hostile import HOSTILE
from tests.reporting.test_plain import inert
from tests.reporting.test_said import plainly


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for entry in value.values() for text in strings(entry)]
    if isinstance(value, list | tuple):
        return [text for entry in value for text in strings(entry)]
    return []


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=HOSTILE)
def test_every_text_of_the_view_is_plain(payload: str) -> None:
    view = example_view(payload, n=3)
    texts = strings(dataclasses.asdict(dataclasses.replace(view, verdicts=())))
    texts += strings([verdict.model_dump() for verdict in view.verdicts])
    assert len(texts) > 100
    assert all(inert(text) for text in texts)


def test_no_samples_is_unknown_not_zero() -> None:
    view = build_view([run_of({"a": {"p1": [None], "p2": [None]}})])
    (entry,) = view.candidates
    measures = entry.measures
    assert (entry.pass_rate.n, entry.pass_rate.value, measures.correctness.score.value) == (0, None, None)
    assert (measures.tests_passed, measures.tests_total, measures.tests.value) == (None, None, None)
    assert (measures.model_median.value, measures.input_tokens.value, measures.costs.total_usd) == (None,) * 3
    assert (measures.answered.value, measures.answered.n) == (0.0, 2)
    assert [(fault.cause, fault.count) for fault in entry.faults] == [("provider.rate_limit", 2)]
    assert [row.cells[0].status for row in view.problems] == ["infrastructure"] * 2


def test_infrastructure_samples_do_not_count_in_the_rate() -> None:
    view = build_view([run_of({"a": {"p1": [True, None], "p2": [False, True]}})])
    (entry,) = view.candidates
    assert entry.pass_rate.value == 0.75
    assert (entry.planned, entry.graded) == (4, 3)
    assert [row.cells[0].status for row in view.problems] == ["passed", "mixed"]
    assert view.problems[1].cells[0].failure == "logic_error"


def test_infinite_and_missing_numbers_are_unknown() -> None:
    view = build_view([altered(run_of({"a": {"p1": [True]}}), {"grade": {"seconds": float("inf")}})])
    assert view.problems[0].cells[0].seconds is None
    assert view.candidates[0].measures.costs.total_usd is None


def test_a_planned_problem_without_outcome_is_missing_and_an_excluded_one_says_why() -> None:
    run = run_of({"a": {"p1": [True], "p2": [True]}}, excluded={"p3": "quarantined: flaky"})
    view = build_view([run.model_copy(update={"outcomes": run.outcomes[:1]})])
    assert [(row.id, row.cells[0].status, row.excluded) for row in view.problems] == [
        ("p1", "passed", None),
        ("p2", "missing", None),
        ("p3", "excluded", "quarantined: flaky"),
    ]


def test_the_same_label_in_two_runs_is_told_apart() -> None:
    runs = [run_of({"a": {"p1": [True]}}, run=name) for name in ("first", "second")]
    assert [entry.label for entry in build_view(runs).candidates] == ["a (first)", "a (second)"]


def test_long_texts_are_cut_where_one_can_see_it() -> None:
    long = {"attempt": {"patch": "+x\n" * 50_000}, "grade": {"output": "start" + "y" * 50_000 + "end"}}
    (attempt,) = build_view([altered(run_of({"a": {"p1": [False]}}), long)]).problems[0].cells[0].attempts
    assert attempt.patch.endswith("[110,000 characters left out]")
    assert attempt.output.startswith("[38,008 characters left out]")
    assert attempt.output.endswith("end")


def test_the_whole_report_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegate.reporting.build._REPORT_LIMIT", 500)
    run, verdicts = example(n=30)
    view = build_view([run], verdicts)
    shown = sum(
        len(attempt.patch) + len(attempt.output)
        for row in view.problems
        for cell in row.cells
        for attempt in cell.attempts
    )
    assert shown < 500 + 30 * 2 * 2 * 40


def test_an_empty_view_is_possible() -> None:
    assert build_view([]) == ReportView(runs=(), candidates=(), problems=(), verdicts=())


def test_what_the_code_attempted_is_told_where_honest_code_seldom_does() -> None:
    view = build_view([run_of({"a": {"p1": [True], "p2": [False]}})])
    passed, failed = (row.cells[0].attempts[0].behaviour for row in view.problems)
    assert passed is None  # an outcome of before there was such a record
    assert failed is not None
    assert failed.summary == "network 3, processes 1, limit: output"
    assert failed.details == ("network: connect 192.0.2.1:80", "processes: /bin/sh")
    for page in (render_console(view), render_markdown(view), render_html(view)):
        assert "network 3, processes 1" in page
    assert re.search(r"a +p2 +network 3, processes 1, limit: output", render_console(view))
    assert "| `a` | `p2` | network 3, processes 1, limit: output |" in render_markdown(view)
    assert "| `a` | `p1` |" not in render_markdown(view)
    for seen, words in (
        (Behaviour(watched=True, counts={"local": 2}), "local sockets 2"),
        (Behaviour(watched=True), "nothing"),
        (Behaviour(), "— (not watched inside the process)"),
    ):
        view = build_view([altered(run_of({"a": {"p1": [False]}}), {"grade": {"behaviour": seen}})])
        assert f"<dd>{words}</dd>" in render_html(view)
        assert "attempted" not in render_console(view) + render_markdown(view)


def test_a_bug_has_its_title_and_links_to_its_change() -> None:
    view = build_view([run_of({"a": {"p1": [False]}})])
    assert "https://github.com/acme/shop/issues/7" in render_html(view)
    assert "https://github.com/acme/shop/pull/100" in render_html(view)
    (row,) = view.problems
    assert (row.pull_request, row.issues, row.project) == (100, (7,), "https://github.com/acme/shop")
    assert bug(dataclasses.replace(row, title="Keep the cent (#100)")) == "Keep the cent (#100, 2025-03-02)"
    unnumbered = dataclasses.replace(row, title="Do not crash in parse()", pull_request=None)
    assert bug(unnumbered) == "Do not crash in parse() (2025-03-02)"
    for project in ("javascript:alert(1)", "https://x.example/a/b\nc", 'https://x.example/"onclick'):
        assert links(dataclasses.replace(row, project=project)) == {}


def test_statement_and_reference_fix_stand_beside_the_answers() -> None:
    record = ProblemRecord(statement="Money is lost. <b>", fix="--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-lost\n+kept\n")
    said = (
        Message(role="user", text="def split(self):\n    share = self.cents // parts\n    return share\n"),
        Message(
            role="assistant",
            text="x.py\n<<<<<<< SEARCH\n    share = self.cents / parts\n    return share\n=======\n    return 1\n"
            ">>>>>>> REPLACE\n",
        ),
    )
    unapplied = {"attempt": {"patch": "", "patch_error": "the SEARCH text does not occur"}}
    run = altered(run_of({"a": {"p1": [False]}}), unapplied)
    view = build_view([run], evidence=Evidence(transcripts=lambda *_: said, problems=lambda *_: record))
    (row,) = view.problems
    assert (row.statement, row.fix) == (record.statement, record.fix)
    text = render_html(view)
    assert "Money is lost. &lt;b&gt;" in text
    assert '<span class="d-add">+kept' in text
    (attempt,) = row.cells[0].attempts
    assert "-    share = self.cents // parts\n+    share = self.cents / parts\n     return share" in attempt.unapplied
    assert '<span class="d-del">-    share = self.cents // parts' in text


def _used(*used: str, **refused: int) -> dict[str, Any]:
    return {"attempt": {"agent": AgentRecord(exit_code=0, used=used, refused=refused)}}


OF_A_HARNESS = CandidateSpec.model_validate({
    "agent": "claude-code", "version": "2.1.330", "model": "anthropic:m-2025-01-01",
    "harness": {"models": {"small": "tiny-1"}, "laid": [
        {"path": "CLAUDE.md", "text": "Be brief."},
        {"path": ".mcp.json", "text": json.dumps({"mcpServers": {"good": {}, "broken": {}}})},
        {"path": ".claude/settings.json",
         "text": json.dumps({"hooks": {"Stop": [{}], "PreToolUse": [{}], "SessionEnd": [{}]}})},
        {"path": ".claude/skills/spells/SKILL.md", "text": "---\nname: spells\n---\nRead me."},
    ]},
})  # fmt: skip
UNDATED = CandidateSpec(provider="openai").model_copy(update={"model": "gpt-6.1-sol"})


@pytest.mark.requirement("C11")
@pytest.mark.parametrize(
    ("spec", "changes", "field", "said"),
    [
        (None, ({"grade": {"controlled": True}}, {"grade": {"controlled": False}},
                {"grade": {"suspicious": ("<b>.py touches frames",)}}), "doubts",
         ("1 of 2 passes could not be cross-checked (a fail-to-pass test has no control, which is no fault): b",
          "c: <b>.py touches frames")),
        (UNDATED, [{"attempt": {"models": (f"gpt-6.1-sol-{name}",)}} for name in "aba"], "doubts",
         ("2 models answered, so these are results of no single one: gpt-6.1-sol-a (2 attempts), gpt-6.1-sol-b "
          "(1 attempt)",)),
        (UNDATED, [{"attempt": {"models": (f"gpt-6.1-sol-{name}",)}} for name in "aba"], "served",
         ("gpt-6.1-sol: its provider gives no dated name, so the model behind it may change; served as gpt-6.1-sol-a, "
          "gpt-6.1-sol-b",)),
        (None, ({"recall": 0.9}, {"recall": 0.2, "recited": True}), "contamination",
         ("it recites the suite's canary (on b)",
          "1 of 2 answers to long fixes repeat at least 80% of them word for word")),
        (None, ({"harness_recall": 0.6}, {"harness_recall": 0.1}), "contamination",
         ("its harness holds at least 50% of the fix word for word (of a)",)),
        (OF_A_HARNESS, (_used("CLAUDE.md", "MCP server good"), _used("hook Stop")), "harness",
         ("Harness: 3 of 7 parts used; never: hook PreToolUse, MCP server broken, skill spells, small model tiny-1",)),
        (None, (_used(**{"the model haiku": 2}), _used(**{"the tool web_search": 9})), "refused",
         (("the tool web_search", 9), ("the model haiku", 2))),
    ],
    ids=["assurance", "models", "undated", "recited", "harness has the fix", "harness", "refused"],
)  # fmt: skip
def test_what_is_noted_of_a_candidate_is_in_every_report_for_people(
    spec: CandidateSpec | None, changes: Sequence[dict[str, Any]], field: str, said: tuple[Any, ...]
) -> None:
    run = run_of({"new": {"a": [True], "b": [True], "c": [False]}})
    view = build_view([altered(run, *changes, spec=spec)])
    found = getattr(view.candidates[0], field)
    assert ((found,) if isinstance(found, str) else found) == said
    for page in (render_console(view, width=400), render_markdown(view), render_html(view)):
        for one in said:
            assert plainly(one if isinstance(one, str) else one[0]) in plainly(page.replace("\\", "")), page
    (bare,) = build_view([run]).candidates
    assert (bare.doubts, bare.served, bare.contamination, bare.harness, bare.refused) == ((), (), (), "", ())


def test_the_reference_fix_is_no_sign_of_contamination() -> None:
    run = run_of({"new": {"a": [True]}})
    reference = altered(run, {"recall": 0.9, "recited": True}, spec=CandidateSpec(provider="reference"))
    assert build_view([reference]).candidates[0].contamination == ()


def test_the_difference_of_a_harness_from_the_baselines_is_in_every_report_as_text_alone() -> None:
    before, after = (Harness.model_validate({"laid": laid}) for laid in (
        [{"path": "CLAUDE.md", "text": "Be brief.\nTest.\n"}, {"path": "old.md", "text": "gone\n"}],
        [{"path": "CLAUDE.md", "text": "Be brief.\n@someone </pre>| ![x](y)\n"}, {"path": "new.md", "text": "new\n"}],
    ))  # fmt: skip
    assert harness_diff(before, after) == (
        "--- a/CLAUDE.md", "+++ b/CLAUDE.md", "@@ -1,2 +1,2 @@", "Be brief.", "-Test.", "+@someone </pre>| ![x](y)",
        "+++ b/new.md", "@@ -0,0 +1 @@", "+new", "--- a/old.md", "@@ -1 +0,0 @@", "-gone",
    )  # fmt: skip
    assert harness_diff(before, before) == harness_diff(None, None) == ()


def test_how_many_problems_a_sign_of_contamination_does_not_name_is_said() -> None:
    run = run_of({"new": {f"p{i}": [True] for i in range(7)}})
    view = build_view([altered(run, *[{"recited": True, "harness_recall": 0.6}] * 7)])
    harness, canary = view.candidates[0].contamination
    assert harness.endswith("(of p0, p1, p2, p3, p4 and 2 more)")
    assert canary.endswith("(on p0, p1, p2, p3, p4 and 2 more)")


def test_samples_are_counted_on_a_runs_own_problems() -> None:
    runs = [run_of({"a": {"p-1": [True] * 2, "p-2": [False] * 2}}), run_of({"b": {"p-1": [True] * 2}}, run="other")]
    view = build_view(runs)
    assert [view.samples_of(run) for run in view.runs] == ["2 samples per problem"] * 2
