"""Gated runs: sampling stops when the verdict is clear, and fresh baseline samples confirm a regression."""

import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from codegate.candidates import CandidateSpec, open_provider
from codegate.errors import ExitCode, InfrastructureError, UsageError
from codegate.gating import Baseline, GatePolicy, Verdict
from codegate.gating.baseline import EXPIRE_DAYS, WARN_DAYS
from codegate.running import (
    Gate,
    Journal,
    Outcome,
    Progress,
    Run,
    RunManifest,
    RunOptions,
    RunSpec,
    candidate_samples,
    gate_run,
    plan_run,
    run_suite,
)
from codegate.running.attempt import Setup
from codegate.running.gate import settled_candidates
from codegate.running.scheduler import execute
from codegate.running.session import check_same_plan, plan_shards
from codegate.sandbox import select_backend
from codegate.solving import AttemptSummary
from codegate.suite import Suite, load_suite
from tests.kit.runs import SPECS, manifest, outcome, pinned, solved
from tests.running.test_soundness import break_fix
from tests.running.world import ModelServer, Said, answer, lines, run_here

STRICT = GatePolicy(alpha=0.2, max_samples=1)
"""So that three problems and one sample are enough for a regression."""


def various(worse: str = "") -> Any:
    """Return a script that never says the same twice; the model ``worse`` is always wrong."""

    def say(name: str, turn: int, request: dict[str, Any]) -> Said:
        return Said(f"{answer(name, right=request['model'] != worse)}\nanswer {turn}\n")

    return say


def all_solved(suite: Suite, spec: CandidateSpec, samples: int) -> Baseline:
    """Return the baseline of ``spec`` solving everything: what one is made of is not what is tested here."""
    return pinned(solved(plan_run(suite, (spec,), samples, "bwrap", "b")), spec)


def gated(suite: Suite, out: Path, gate: Gate, *candidates: CandidateSpec, said: list[str] | None = None) -> Run:
    announce = (said if said is not None else []).append
    return run_here(suite, out, *candidates, samples=None, gate=gate, announce=announce)


@pytest.mark.bwrap
def test_candidates_that_are_settled_are_asked_no_more(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    settled, open_ = server.spec(), server.spec(max_iterations=7)
    plan = plan_run(suite, (settled, open_), 3, "bwrap", "r", looks=(1, 2, 3), gated_by="0" * 64)
    journal = Journal.create(tmp_path / "r", plan)
    providers = {spec.key(): open_provider(spec) for spec in (settled, open_)}
    steps: list[Progress] = []
    seen: list[int] = []

    def after_two(run: Run) -> tuple[str, ...]:
        seen.append(len(run.outcomes))
        return (settled.key(),) if len(run.outcomes) >= 12 else ()

    backend = select_backend("bwrap", "r")
    try:
        with journal.writing():
            options = RunOptions(precheck=False)
            setup = Setup(journal, suite, backend, providers, options, steps.append, threading.Event())
            run = execute(setup, after_two)
    finally:
        backend.close()
    assert seen == [0, 0, 2, 6, 12], "at the start, after the precheck and a first problem, when all of a look is in"
    assert sorted(o.sample for o in run.of(settled.key())) == [0] * 3 + [1] * 3
    assert len(run.of(open_.key())) == 9
    assert [(step.done, step.total) for step in steps if step.outcome][-1] == (15, 15)
    assert len(server.asked) == 15


@pytest.mark.bwrap
def test_a_regression_that_is_confirmed(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    server.script = various(worse="model-y")
    old, new = server.spec(), server.spec().model_copy(update={"model": "model-y"})
    gate = Gate(all_solved(suite, old, 5), STRICT)
    asked = len(server.asked)
    said: list[str] = []
    run = gated(suite, tmp_path / "r", gate, new, said=said)
    assert len(server.asked) == asked + 3 + 9
    assert any("model-y" in text and "3 fresh samples per problem" in text for text in said)
    (verdict,) = gate_run(run, gate)
    assert (verdict.kind, verdict.confirmed) == ("regressed", True), verdict.reason
    # Paid answers are reused: a resumed run makes no model call.
    gated(suite, tmp_path / "r", gate)
    assert len(server.asked) == asked + 12
    assert len(lines(tmp_path / "r")) == 3


@pytest.mark.bwrap
def test_an_address_that_only_the_baseline_names_is_not_asked(
    suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    old = server.spec()
    baseline = all_solved(suite, CandidateSpec(provider="reference"), 1)
    baseline = baseline.model_copy(update={"spec": old}).sealed()
    said: list[str] = []
    gated(suite, tmp_path / "r", Gate(baseline, STRICT), CandidateSpec(provider="empty"), said=said)
    assert not server.asked
    assert any("will not be confirmed" in text and "which only the baseline file names" in text for text in said)


@pytest.mark.bwrap
def test_nothing_is_spent_on_what_cannot_be_compared(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    reference = CandidateSpec(provider="reference")
    baseline = all_solved(suite, reference, 1)
    gate = Gate(baseline, GatePolicy(compare="model"))
    run = gated(suite, tmp_path / "r", gate, server.spec())
    assert not server.asked
    (verdict,) = gate_run(run, gate)
    assert verdict.kind == "incomparable"


@pytest.mark.bwrap
def test_nothing_is_spent_where_nothing_can_pass(own_suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    """What must pass is not sound here, which only the precheck finds."""
    old, new = server.spec(), server.spec().model_copy(update={"model": "model-y"})
    break_fix(own_suite, "half")
    suite = load_suite(own_suite.folder)
    policy = GatePolicy.model_validate({"must_pass": ["calc-half"], "max_samples": 1})
    gate = Gate(all_solved(suite, old, 5), policy)
    run = run_here(suite, tmp_path / "r", new, samples=None, gate=gate, precheck=True)
    assert server.asked == []
    (verdict,) = gate_run(run, gate)
    assert verdict.kind == "inconclusive"
    assert "`gate.must_pass` names problems that are left out of the comparison: calc-half" in verdict.reason


def test_a_gated_run_of_fixed_samples_is_resumed_under_its_gate_only(suite: Suite, tmp_path: Path) -> None:
    gate, (spec, _) = Gate(all_solved(suite, SPECS[0], 2), GatePolicy()), SPECS
    Journal.create(tmp_path / "r", plan_run(suite, (spec,), 2, "bwrap", "r", gated_by=gate.digest))
    resumed = RunSpec(suite.folder, (spec,), resume=tmp_path / "r")
    for by, cause in (
        (None, "neither a baseline nor a critical floor is given"),
        (Gate(gate.baseline, GatePolicy(margin=0.2)), "another baseline or gate policy"),
    ):
        with pytest.raises(UsageError, match=cause):
            run_suite(replace(resumed, gate=by), lambda step: None, lambda text: None)


def test_floors_bind_a_run_as_a_baseline_does(suite: Suite, tmp_path: Path) -> None:
    high, low = floors_alone(0.9), floors_alone(0.0)
    spec = RunSpec(suite.folder, SPECS[:1], 1, gate=high)
    plans = {plan_shards(replace(spec, gate=by), 2).run_id.rpartition("-")[2] for by in (high, low, None)}
    assert len(plans) == 3, "each is another plan"
    plan = plan_run(suite, spec.candidates, 1, "bwrap", "r", gated_by=high.digest)
    folder = Journal.create(tmp_path / "r", plan).folder
    for by, cause in ((None, "neither a baseline nor a critical floor is given"), (low, "another baseline or gate")):
        with pytest.raises(UsageError, match=cause):
            run_suite(replace(spec, resume=folder, gate=by), lambda step: None, lambda text: None)


def test_an_ungated_run_is_continued_under_floors_but_under_no_baseline(suite: Suite, tmp_path: Path) -> None:
    spec = RunSpec(suite.folder, SPECS[:1], 1, gate=floors_alone(0.9))
    folder = Journal.create(tmp_path / "r", plan_run(suite, spec.candidates, 1, "bwrap", "r")).folder
    baseline = Gate(all_solved(suite, SPECS[0], 2), GatePolicy())
    refused = set()
    for name, by in {
        "none": replace(spec, gate=None),
        "floors": spec,
        "baseline": replace(spec, gate=baseline),
    }.items():
        try:
            check_same_plan(folder, by)
        except UsageError as error:
            refused.add((name, error.cause))
    assert refused == {("baseline", "run r was planned otherwise: gated_by.")}


@pytest.mark.bwrap
def test_a_gate_of_floors_that_is_run_again_uses_the_samples_that_it_has(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    options, gate = RunOptions(precheck=False), floors_alone(0.9)
    spec = RunSpec(suite.folder, (CandidateSpec(provider="empty"),), 1, "bwrap", options=options, gate=gate)
    first, again, ungated = (
        run_suite(one, lambda step: None, lambda text: None)[1].folder for one in (spec, spec, replace(spec, gate=None))
    )
    assert first == again != ungated


def floors_alone(floor: float) -> Gate:
    return Gate(None, GatePolicy.model_validate({"cohorts": {"all": {"floor": floor, "tier": "critical"}}}))


PROBLEMS = {f"p-{number}": f"{number:064d}" for number in range(30)}


def planned(*looks: int, gate: Gate | None = None, specs: tuple[CandidateSpec, ...] = SPECS) -> RunManifest:
    gated_by = gate.digest if gate else "0" * 64
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return manifest(looks[-1], specs, looks=looks, created=created, gated_by=gated_by, problems=PROBLEMS)


def graded(spec: CandidateSpec, problem: str, sample: int, *, resolved: bool) -> Outcome:
    return outcome(resolved, problem, sample, spec, problem_digest=PROBLEMS[problem])


def always(spec: CandidateSpec, samples: int, *, resolved: bool = True) -> tuple[Outcome, ...]:
    """Return all outcomes of a candidate that solves everything, or nothing."""
    return tuple(graded(spec, problem, i, resolved=resolved) for problem in PROBLEMS for i in range(samples))


def test_a_verdict_is_of_the_looks_that_are_complete(tmp_path: Path) -> None:
    old, _ = SPECS
    gate = Gate(pinned(solved(planned(5, specs=(old,))), old), GatePolicy(margin=0.25))
    first = [graded(spec, problem, i, resolved=spec is old) for i in range(2) for problem in PROBLEMS for spec in SPECS]
    begun = [graded(old, problem, 2, resolved=False) for problem in list(PROBLEMS)[:20]]
    run = Run(manifest=planned(1, 2, 3, 4, 5, 6, 8, 10, gate=gate), outcomes=(*first, *begun))
    assert len(candidate_samples(run, old).samples["p-0"]) == 2, "the third look is not complete"
    good, bad = gate_run(run, gate)
    assert (good.kind, bad.kind) == ("pass", "regressed")
    with pytest.raises(UsageError, match="is unfinished"):
        gate_run(run.model_copy(update={"outcomes": tuple(first[2:])}), gate)


def test_an_expired_baseline_does_not_gate_unless_the_policy_allows_it(tmp_path: Path) -> None:
    old, _ = SPECS
    run = solved(planned(5, specs=(old,)))

    def judged(days: int, policy: GatePolicy) -> Verdict:
        gate = Gate(pinned(run, old, days=days), policy)
        assert (settled_candidates(begun, gate) == {old.key()}) == (days >= EXPIRE_DAYS and not policy.allow_expired)
        (verdict,) = gate_run(run, gate)
        assert isinstance(verdict, Verdict)
        return verdict

    begun = run.model_copy(update={"outcomes": ()})
    fresh, worn = judged(1, GatePolicy()), judged(WARN_DAYS, GatePolicy())
    assert (fresh.kind, worn.kind) == ("pass", "pass")
    assert "the baseline is not fresh" not in " ".join(fresh.warnings)
    assert f"the baseline is not fresh: its newest samples are {WARN_DAYS} days old" in " ".join(worn.warnings)
    expired = judged(EXPIRE_DAYS, GatePolicy())
    assert (expired.kind, expired.difference, expired.exit_code) == ("incomparable", None, ExitCode.INCONCLUSIVE)
    assert [one.field for one in expired.mismatches] == ["age of the baseline"]
    assert f"expired: its newest samples are {EXPIRE_DAYS} days old" in expired.reason
    assert "`codegate run SUITE --candidate reference --no-gate --samples 10 --out runs/renewed`" in expired.reason
    assert "`codegate baseline refresh runs/renewed`" in expired.reason
    allowed = judged(EXPIRE_DAYS, GatePolicy(allow_expired=True))
    assert allowed.kind == "pass"
    assert "the baseline is not fresh" in " ".join(allowed.warnings)


def test_a_run_that_is_in_the_baseline_is_named_with_its_verdict(tmp_path: Path) -> None:
    old, _ = SPECS
    run = solved(planned(5, specs=(old,)))
    gate = Gate(pinned(run, old, name=run.manifest.id), GatePolicy())
    (own,) = gate_run(run, gate)
    assert own.kind == "pass"
    assert f"run {run.manifest.id} is part of the pinned baseline" in " ".join(own.warnings)
    other = run.model_copy(update={"manifest": run.manifest.model_copy(update={"id": "other"})})
    (verdict,) = gate_run(other, gate)
    assert "pinned baseline" not in " ".join(verdict.warnings), "no answer was kept: nothing is known of them"

    def answered(text: str, outcomes_of: tuple[Outcome, ...] = run.outcomes) -> Run:
        outcomes = []
        for one in outcomes_of:
            attempt = AttemptSummary(solver="x", prompt_version="1", answer=f"{one.problem} {text} {one.sample % 2}")
            outcomes.append(one.model_copy(update={"attempt": attempt}))
        return other.model_copy(update={"outcomes": tuple(outcomes)})

    gate = Gate(pinned(answered("same"), old), GatePolicy())
    (copied,) = gate_run(answered("same"), gate)
    assert "every answer is one of the pinned baseline's own" in " ".join(copied.warnings)
    (verdict,) = gate_run(answered("new"), gate)
    assert "pinned baseline" not in " ".join(verdict.warnings)
    (verdict,) = gate_run(answered("same", always(old, 5, resolved=False)), gate)
    assert (verdict.kind, "pinned baseline" in " ".join(verdict.warnings)) == ("regressed", False)


def test_samples_of_a_fixed_number_are_looked_at_once(tmp_path: Path) -> None:
    old, worse = SPECS
    fixed = planned(5, specs=(old,))
    gate = Gate(pinned(solved(fixed), old), GatePolicy())
    lost = always(worse, 1, resolved=False)
    begun = Run(manifest=fixed.model_copy(update={"samples": 3, "looks": (3,), "candidates": (worse,)}), outcomes=lost)
    assert not settled_candidates(begun, gate), "carried on, it makes the samples that it was planned with"
    with pytest.raises(UsageError, match="is unfinished: 30 of 90"):
        gate_run(begun, gate)
    conditions = {**begun.manifest.conditions, "grader": "another"}
    elsewhere = begun.model_copy(update={"manifest": begun.manifest.model_copy(update={"conditions": conditions})})
    assert settled_candidates(elsewhere, gate) == {worse.key()}
    (verdict,) = gate_run(elsewhere, gate)
    assert verdict.kind == "incomparable", "and nobody is told to make samples that could not be compared"


def test_fresh_samples_that_are_in_the_baseline_confirm_nothing() -> None:
    old, worse = SPECS
    fixed = planned(5, specs=(old,))
    made = fixed.model_copy(update={"samples": 3, "looks": (3,), "candidates": (worse,)})
    fresh = made.model_copy(update={"id": "fresh", "candidates": (old,)})
    confirmation = Run(manifest=fresh, outcomes=always(old, 3))
    run = Run(manifest=made, outcomes=always(worse, 3, resolved=False), confirmation=confirmation)
    for name, counted, confirmed in (("other", 8, True), ("fresh", 5, None)):
        (verdict,) = gate_run(run, Gate(pinned(solved(fixed), old, name=name), GatePolicy()))
        assert (verdict.kind, verdict.baseline_samples, verdict.confirmed) == ("regressed", counted, confirmed)
        assert ("not confirmed by a fresh baseline run" in verdict.warnings) is (confirmed is None)


def test_what_the_confirmation_says_opens_no_look_again(tmp_path: Path) -> None:
    old, worse = SPECS
    fixed = planned(5, specs=(old,))
    gate = Gate(pinned(solved(fixed), old), GatePolicy())
    lost = always(worse, 1, resolved=False)
    fresh = fixed.model_copy(update={"samples": 3, "looks": (3,)})
    now = always(old, 3, resolved=False)
    plan = planned(1, 2, 3, 4, 5, 6, 8, 10, gate=gate, specs=(worse,))
    run = Run(manifest=plan, outcomes=lost, confirmation=Run(manifest=fresh, outcomes=now))
    (verdict,) = gate_run(run, gate)
    assert (verdict.kind, verdict.confirmed) == ("inconclusive", False)
    assert settled_candidates(run, gate) == {worse.key()}, "looks after the confirmation would be another test"
    half = run.model_copy(update={"confirmation": Run(manifest=fresh, outcomes=now[:-1])})
    with pytest.raises(UsageError, match="is unfinished: 89 of 90"):
        gate_run(half, gate)
    with pytest.raises(UsageError, match="was planned for another baseline or gate policy"):
        gate_run(run, Gate(gate.baseline, GatePolicy(margin=0.25)))
    gate_run(run, Gate(gate.baseline, GatePolicy(max_p95_latency=1.0)))


@pytest.mark.full
@pytest.mark.bwrap
def test_a_sample_that_a_fault_took_is_made_again_at_the_next_look(
    suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    def limited(name: str, turn: int, request: dict[str, Any]) -> Said:
        if name == "half" and turn < 6:  # one try and its five retries
            return Said(status=429, headers={"retry-after": "0"})
        return Said(f"{answer(name)}\nanswer {turn}\n")

    server.script = limited
    old = server.spec()
    gate = Gate(all_solved(suite, old, 5), GatePolicy())
    run = gated(suite, tmp_path / "r", gate, old)
    assert len(lines(tmp_path / "r")) == 31, "thirty samples, and the fault before one of them"
    assert sorted((o.problem, o.sample) for o in run.outcomes if o.grade) == [
        (problem, sample) for problem in sorted(run.manifest.problems) for sample in range(10)
    ]
    (verdict,) = gate_run(run, gate)
    assert (verdict.kind, verdict.look, verdict.excluded) == ("inconclusive", 8, ())


@pytest.mark.full
@pytest.mark.bwrap
def test_an_outage_between_two_looks_is_infrastructure(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    def fails_later(name: str, turn: int, request: dict[str, Any]) -> Said:
        if turn:
            return Said(status=503, headers={"Retry-After": "0"})
        return Said(f"{answer(name)}\nanswer {turn}\n")

    server.script = fails_later
    old = server.spec()
    gate = Gate(all_solved(suite, old, 5), GatePolicy())
    with pytest.raises(
        InfrastructureError, match=r"(?s)took 6 of 9 samples of .*provider.overloaded: .*status 503.*--resume"
    ):
        gated(suite, tmp_path / "r", gate, old)


@pytest.mark.bwrap
def test_an_outage_of_one_candidate_costs_no_other_its_verdict(
    suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    def fails_for_one(name: str, turn: int, request: dict[str, Any]) -> Said:
        if request["max_tokens"] == 100 and turn > 1:
            return Said(status=503, headers={"Retry-After": "0"})
        return Said(f"{answer(name)}\nanswer {turn}\n")

    server.script = fails_for_one
    old, down = server.spec(), server.spec(sampling={"max_output_tokens": 100})
    gate = Gate(all_solved(suite, old, 5), GatePolicy())
    run = gated(suite, tmp_path / "r", gate, old, down)
    verdicts = {verdict.candidate: verdict for verdict in gate_run(run, gate)}
    assert verdicts[old.key()].kind != "infrastructure"
    lost = verdicts[down.key()]
    assert (lost.kind, lost.difference) == ("infrastructure", None)
    assert "Faults took 6 of 9 samples, most often provider.overloaded" in lost.reason
    assert len(run.of(down.key())) == 9, "nothing is recorded of samples that were never tried"
    server.script = lambda name, turn, request: Said(f"{answer(name)}\nanswer {turn}\n")
    again = gated(suite, tmp_path / "r", gate, old, down)
    assert gate_run(again, gate)[1].kind != "infrastructure"


@pytest.mark.bwrap
def test_answers_that_our_limit_truncates_are_no_regression(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    prices = {"input": 1, "output": 10}
    old = server.spec(sampling={"max_output_tokens": 200}, prices=prices)
    new = old.model_copy(update={"model": "model-y"})
    gate = Gate(all_solved(suite, old, 5), STRICT)
    server.script = lambda name, turn, request: Said("Let me think", finish="length", tokens=200)
    run = gated(suite, tmp_path / "r", gate, new)
    (verdict,) = gate_run(run, gate)
    assert verdict.kind == "inconclusive", verdict.reason
    assert "A limit cut 3 of 3 answers (truncated 3)" in verdict.reason
    assert "Raise `sampling.max_output_tokens` from 200 to 32000" in verdict.reason
    assert "at most 95400 more output tokens, at most $0.95." in verdict.reason
    assert len(server.asked) == 3, "neither a further look nor a confirmation"
