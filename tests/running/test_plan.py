"""What a run will do, the conditions that make two comparable, and what the gate sees of one."""

import dataclasses
from datetime import UTC, datetime
from pathlib import Path

import pytest

from codegate.candidates import CandidateSpec, Sampling
from codegate.errors import ExitCode, UsageError
from codegate.gating import Baseline, GatePolicy, RunSamples, Verdict, compare, pin
from codegate.gating.verdict import VerdictKind
from codegate.running import (
    Gate,
    Run,
    candidate_samples,
    choose_candidate,
    gate_run,
    load_run,
    new_run_id,
    plan_run,
    run_exit_code,
)
from codegate.running.gate import gate_candidate
from codegate.running.plan import candidate_settings, check_resumable, jobs
from codegate.solving.attempt import AgentRecord
from codegate.suite import Provenance, Quarantine, Suite
from tests.kit.runs import PROBLEMS, SPECS, attempt, manifest, outcome, pinned
from tests.running.world import codegate

MODEL = CandidateSpec(provider="openai", model="m-2025-01-01", base_url="http://127.0.0.1:1/v1")


def with_first_quarantined(suite: Suite) -> Suite:
    first, *others = suite.problems
    quarantine = Quarantine.model_validate({"reason": "flaky", "evidence": "it is", "expires": "2030-01-01"})
    changed = first.manifest.model_copy(update={"status": "quarantined", "quarantine": quarantine})
    return dataclasses.replace(suite, problems=(dataclasses.replace(first, manifest=changed), *others))


def test_candidates_stay_abreast_and_every_sample_is_planned(suite: Suite) -> None:
    planned = plan_run(suite, SPECS, 2, "bwrap", "r")
    keys = [job.key for job in jobs(planned, suite)]
    assert len(keys) == len(set(keys)) == 2 * 3 * 2
    first, second = (spec.key() for spec in SPECS)
    assert keys[:3] == [(first, "calc-double", 0), (second, "calc-double", 0), (first, "calc-half", 0)]
    assert [key[2] for key in keys] == [0] * 6 + [1] * 6


def test_problems_of_one_change_are_a_cluster_and_the_gate_sees_their_tags(suite: Suite) -> None:
    when = datetime(2024, 5, 1, tzinfo=UTC)
    one_change = Provenance(kind="squash", pull_request=7, commit="a" * 40, date=when)
    update = {"provenance": one_change, "kind": "bugfix", "tags": {"tier": "2"}}
    first, second, third = suite.problems
    alike = [dataclasses.replace(one, manifest=one.manifest.model_copy(update=update)) for one in (first, second)]
    planned = plan_run(dataclasses.replace(suite, problems=(*alike, third)), SPECS, 1, "bwrap", "r")
    assert planned.clusters == {"calc-double": "pull request 7", "calc-half": "pull request 7"}
    strange = one_change.model_copy(update={"project": "https://example.com/other"})
    other = dataclasses.replace(alike[1], manifest=alike[1].manifest.model_copy(update={"provenance": strange}))
    pooled = dataclasses.replace(suite, problems=(alike[0], other, third))
    assert plan_run(pooled, SPECS, 1, "bwrap", "r").clusters == {}, "another repository has a change of that number too"
    assert planned.tags["calc-half"] == ("date:2024-05-01", "kind:bugfix", "language:python", "tier:2")
    samples = candidate_samples(Run(manifest=planned, outcomes=()), SPECS[0])
    assert samples.clusters == planned.clusters
    assert samples.tags["calc-half"] == ("kind:bugfix", "language:python", "tier:2"), "a day is no cohort"


def test_a_problem_can_be_of_another_language_than_its_tests(suite: Suite) -> None:
    first, *others = suite.problems
    query = dataclasses.replace(first, manifest=first.manifest.model_copy(update={"tags": {"language": "sql"}}))
    planned = plan_run(dataclasses.replace(suite, problems=(query, *others)), SPECS, 1, "bwrap", "r")
    assert planned.tags["calc-double"] == ("language:sql",)
    assert planned.tags["calc-half"] == ("language:python",)


def test_a_quarantined_problem_is_listed_and_not_run(suite: Suite) -> None:
    planned = plan_run(with_first_quarantined(suite), SPECS, 1, "bwrap", "r")
    assert planned.excluded == {"calc-double": "quarantined: flaky"}
    assert list(planned.problems) == ["calc-half", "calc-square"]
    before, after = (
        candidate_samples(Run(manifest=plan_run(each, SPECS, 1, "bwrap", "r"), outcomes=()), SPECS[0])
        for each in (suite, with_first_quarantined(suite))
    )
    verdict = compare(before, after, GatePolicy())
    assert (verdict.kind, verdict.mismatches) == ("infrastructure", ()), "nothing ran, but it could be compared"
    assert ("calc-double", "both", "quarantined: flaky") in {(e.problem, e.side, e.reason) for e in verdict.excluded}


def test_a_plan_needs_candidates_and_problems(suite: Suite) -> None:
    with pytest.raises(UsageError, match="no candidate"):
        plan_run(suite, (), 1, "bwrap", "r")
    with pytest.raises(UsageError, match="listed twice"):
        plan_run(suite, (SPECS[0], SPECS[0].model_copy(update={"name": "same"})), 1, "bwrap", "r")
    with pytest.raises(UsageError, match="no active problem"):
        plan_run(dataclasses.replace(suite, problems=()), SPECS, 1, "bwrap", "r")


@pytest.mark.parametrize(
    ("update", "field"),
    [
        ({"solver": "tool_loop"}, {"solver", "prompt", "max_iterations"}),
        ({"sampling": Sampling(temperature=0.5)}, {"temperature"}),
        ({"sampling": Sampling(max_output_tokens=9)}, {"max_output_tokens"}),
        ({"model": "m-2025-02-02"}, {"model"}),
        ({"base_url": None, "provider": "anthropic"}, {"base_url", "provider"}),
        ({"name": "x", "timeout_seconds": 9}, set()),
        ({"max_iterations": 9}, set()),
    ],
)
def test_settings_are_readable_field_by_field(suite: Suite, update: dict[str, object], field: set[str]) -> None:
    def settings(spec: CandidateSpec) -> dict[str, str]:
        run = Run(manifest=plan_run(suite, (spec,), 1, "bwrap", "r"), outcomes=())
        return dict(candidate_samples(run, spec).settings)

    one, other = settings(MODEL), settings(MODEL.model_copy(update=update))
    assert one["model"] == "m-2025-01-01"
    assert {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)} == field


def test_the_prompt_is_that_of_the_time_of_the_run(suite: Suite) -> None:
    planned = plan_run(suite, (MODEL,), 1, "bwrap", "r")
    old = planned.model_copy(update={"prompts": {MODEL.key(): "single_shot/0"}})
    assert candidate_settings(planned, MODEL)["prompt"].startswith("single_shot/")
    assert candidate_settings(old, MODEL)["prompt"] == "single_shot/0"
    assert candidate_settings(planned.model_copy(update={"prompts": {}}), MODEL)["prompt"] == "unknown"


def test_a_run_is_not_continued_under_other_conditions(suite: Suite) -> None:
    planned = plan_run(suite, (MODEL,), 1, "bwrap", "r")
    check_resumable(planned, suite)
    check_resumable(planned, with_first_quarantined(suite))
    for update, words in (
        ({"suite_digest": "0" * 64}, "another version of suite calc"),
        ({"conditions": {**planned.conditions, "grader": "0"}}, "other grader"),
        ({"prompts": {MODEL.key(): "single_shot/0"}}, "other prompts"),
    ):
        with pytest.raises(UsageError, match=rf"{words}.*new run"):
            check_resumable(planned.model_copy(update=update), suite)


def test_samples_say_what_is_missing_and_why() -> None:
    run = Run(manifest=manifest(), outcomes=(outcome(True), outcome(None, sample=1), outcome(False, "p-2")))
    seen = candidate_samples(run, SPECS[0])
    assert [(s.passed, s.failure) for s in seen.samples["p-1"]] == [(True, None), (None, "sandbox")]
    assert [(s.passed, s.failure) for s in seen.samples["p-2"]] == [(False, "logic_error"), (None, "not run")]
    assert seen.model == "m-1"
    assert {s.failure for s in candidate_samples(run, SPECS[1]).samples["p-1"]} == {"not run"}


def test_other_packages_of_an_agent_are_listed_with_the_verdict() -> None:
    def run(lock: str) -> Run:
        made = attempt(agent=AgentRecord(exit_code=0, lock=lock))
        return Run(manifest=manifest(1), outcomes=tuple(outcome(True, name, attempt=made) for name in PROBLEMS))

    def changes(baseline: Baseline, policy: GatePolicy, lock: str = "2e") -> list[tuple[str, str, str]]:
        verdict = gate_candidate(run(lock), SPECS[0], Gate(baseline, policy))
        assert verdict.kind != "incomparable"
        return [(one.field, one.baseline, one.candidate) for one in verdict.changes]

    first = pinned(run("1f"), SPECS[0])
    for policy in (GatePolicy(), GatePolicy(compare="model")):
        assert changes(first, policy) == [("packages of the agent", "1f", "2e")]
    assert changes(first, GatePolicy(), "1f") == []
    parts = [
        RunSamples(lock, first.created, first.suite_digest, SPECS[0], candidate_samples(run(lock), SPECS[0]))
        for lock in ("1f", "2e")
    ]
    both = pin(parts, min_samples=1)
    assert changes(both, GatePolicy()) == changes(both, GatePolicy(), "1f") == []


def test_a_candidate_is_chosen_by_any_of_its_names() -> None:
    run = Run(manifest=manifest(), outcomes=())
    for name in ("nothing", SPECS[1].key()):
        assert choose_candidate(run, name) == SPECS[1]
    assert choose_candidate(Run(manifest=manifest(specs=SPECS[:1]), outcomes=()), None) == SPECS[0]
    with pytest.raises(UsageError, match=r"the run has 2 candidates\. Name one of: reference, nothing"):
        choose_candidate(run, None)
    with pytest.raises(UsageError, match="0 candidates fit 'x'"):
        choose_candidate(run, "x")


def verdict(kind: VerdictKind) -> Verdict:
    run = Run(manifest=manifest(), outcomes=())
    samples = candidate_samples(run, SPECS[0])
    return compare(samples, samples, GatePolicy()).model_copy(update={"kind": kind})


@pytest.mark.parametrize(
    ("kinds", "code"),
    [
        (("pass", "pass"), 0),
        (("pass", "regressed"), 1),
        (("pass", "inconclusive"), 3),
        (("inconclusive", "regressed"), 1),
        (("regressed", "infrastructure"), 4),
        (("pass", "incomparable"), 3),
    ],
)
def test_the_worst_verdict_decides(kinds: tuple[VerdictKind, ...], code: int) -> None:
    assert run_exit_code(Run(manifest=manifest(), outcomes=()), [verdict(kind) for kind in kinds]) == code


def test_ungated_a_missing_grade_is_infrastructure() -> None:
    every = tuple(outcome(False, p, s, c) for p in ("p-1", "p-2") for s in (0, 1) for c in SPECS)
    assert run_exit_code(Run(manifest=manifest(), outcomes=every), ()) == ExitCode.PASS
    assert run_exit_code(Run(manifest=manifest(), outcomes=every[1:]), ()) == ExitCode.INFRASTRUCTURE
    faulted = (*every[1:], outcome(None))
    assert run_exit_code(Run(manifest=manifest(), outcomes=faulted), ()) == ExitCode.INFRASTRUCTURE
    first, second = (tuple(one for one in every if one.candidate == spec.key()) for spec in SPECS)
    settled = {SPECS[1].key()}
    assert run_exit_code(Run(manifest=manifest(), outcomes=first), (), settled) == ExitCode.INCONCLUSIVE
    assert run_exit_code(Run(manifest=manifest(), outcomes=second), (), settled) == ExitCode.INFRASTRUCTURE


def test_an_unfinished_run_is_not_gated() -> None:
    every = tuple(outcome(True, p, s, c) for p in ("p-1", "p-2") for s in (0, 1) for c in SPECS)
    run = Run(manifest=manifest(), outcomes=every)
    gate = Gate(pinned(run, SPECS[0]), GatePolicy())
    assert len(gate_run(run, gate)) == 2
    faulted = run.model_copy(update={"outcomes": (*every[1:], outcome(None))})
    assert len(gate_run(faulted, gate)) == 2, "a fault is an outcome"
    stranger = outcome(True, sample=7)
    for outcomes in (every[1:], (*every[1:], stranger)):
        with pytest.raises(UsageError, match=r"is unfinished: 7 of 8 outcomes\. Finish it with"):
            gate_run(run.model_copy(update={"outcomes": outcomes}), gate)


@pytest.mark.bwrap
def test_a_few_problems_are_tried_out_and_are_no_baseline(suite: Suite, tmp_path: Path) -> None:
    tried = ("run", suite.folder, "--candidate", "reference", "--sandbox", "bwrap", "--out")
    done = codegate(*tried, "two", "--limit", 2, cwd=tmp_path)
    assert (done.code, "not gated: a run of some problems" in done.stderr) == (0, True)
    assert len(load_run(tmp_path / "two").outcomes) == 2
    pinned = codegate("baseline", "pin", "two", cwd=tmp_path)
    assert (pinned.code, "2 of 3 problems" in pinned.stderr) == (2, True), pinned.stderr
    assert codegate(*tried, "one", "--problem", "calc-half", cwd=tmp_path).code == 0
    assert [one.problem for one in load_run(tmp_path / "one").outcomes] == ["calc-half"]
    (tmp_path / "codegate.lock").write_text("of no matter")
    again = codegate("run", suite.folder, "--resume", "two", cwd=tmp_path)
    assert again.code == 0, again.stderr


def test_run_ids_do_not_collide() -> None:
    assert len({new_run_id() for _ in range(200)}) == 200
