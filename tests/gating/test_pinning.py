from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.candidates import CandidateSpec
from codegate.errors import ExitCode, UsageError
from codegate.gating import Baseline, Lock, Origin, pin
from codegate.gating.baseline import Pinning
from codegate.gating.drift import counts_of, pass_rate
from codegate.gating.pinning import DriftShown, pool, refresh, reset
from tests.gating.sampling import CONDITIONS, NOON, SETTINGS, SPEC, part, uniform

OTHER = CandidateSpec(provider="replay", model="y.jsonl", name="y")
MIXED: dict[str, list[bool | None]] = {f"p{i:03}": [True, True, i % 2 == 0, False, True] for i in range(20)}


def lock_of(baseline: Baseline) -> Lock:
    return Lock(
        baseline="baseline.json", sha256="0" * 64, digest=baseline.digest, suite_digest=baseline.suite_digest,
        model=baseline.samples.model,
    )  # fmt: skip


@pytest.mark.sandbox
@given(
    st.lists(
        st.integers(1, 4).flatmap(
            lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=3, max_size=3)
        ),
        min_size=1,
        max_size=5,
    )
)
def test_every_sample_of_every_run_is_in_the_baseline_and_none_else(runs: list[list[list[bool]]]) -> None:
    parts = [
        part({f"p{i}": list(row) for i, row in enumerate(rows)}, f"run-{number}") for number, rows in enumerate(runs)
    ]
    baseline = pin(parts, min_samples=1)
    for i in range(3):
        entries = baseline.samples.samples[f"p{i}"]
        assert [sample.index for sample in entries] == list(range(len(entries)))
        assert [sample.passed for sample in entries] == [passed for rows in runs for passed in rows[i]]
    assert [run.id for run in baseline.runs] == [f"run-{number}" for number in range(len(runs))]
    assert sum(run.samples for run in baseline.runs) == len(baseline.samples.samples["p0"])
    back = pin(parts[::-1], min_samples=1)
    assert counts_of(back.samples) == counts_of(baseline.samples), "the order of the runs changes no rate"


@pytest.mark.parametrize(
    ("results", "told"),
    [
        ({"a": [True, None], "b": [True, True]}, "a: sample 1 was lost to provider.overloaded"),
        ({"a": [True, True], "b": []}, "b: no sample"),
        ({"a": [True, True], "b": [True]}, "b: sample 1 is missing"),
        ({}, "it has no problems"),
    ],
)
def test_an_incomplete_run_is_not_pinned(results: dict[str, list[bool | None]], told: str) -> None:
    complete = part({"a": [True, True], "b": [True, False]}, "run-0")
    for parts in ([part(results)], [complete, part(results)]):
        with pytest.raises(UsageError, match="run run-1 is incomplete") as caught:
            pin(parts, min_samples=1)
        assert told in str(caught.value)


def test_what_was_never_run_was_lost_to_nothing() -> None:
    run = part({"a": [True, None]})
    (first, second) = run.samples.samples["a"]
    samples = {"a": (first, second.model_copy(update={"failure": "not run"}))}
    with pytest.raises(UsageError, match="a: sample 1 was not run"):
        pin([replace(run, samples=run.samples.model_copy(update={"samples": samples}))], min_samples=1)


def test_text_that_no_file_can_hold_is_not_pinned() -> None:
    good = part(uniform(3, 3))
    with pytest.raises(UsageError, match="not Unicode"):
        pin([replace(good, samples=good.samples.model_copy(update={"label": "\ud800"}))], min_samples=1)


def test_too_few_samples_are_refused_with_the_way_out() -> None:
    with pytest.raises(UsageError, match=r"would have 4 samples per problem; at least 5 are needed") as caught:
        pin([part(uniform(3, 3, 2), "a"), part(uniform(3, 3, 2), "b")])
    assert "--samples 10" in caught.value.remedy
    assert "--min-samples 4" in caught.value.remedy
    assert pin([part(uniform(3, 3, 2), "a"), part(uniform(3, 3, 3), "b")]).complete


def test_a_run_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="run a is given twice"):
        pin([part(MIXED, "a"), part(MIXED, "b"), part(MIXED, "a")])
    with pytest.raises(UsageError, match="no run was given"):
        pin([])


def test_a_run_that_ended_where_its_verdict_was_settled_is_no_baseline() -> None:
    with pytest.raises(UsageError, match="a biased estimate of the model's pass rate"):
        pin([replace(part(MIXED), looks=3)])


def test_a_run_without_a_time_is_refused() -> None:
    for text in ("", "yesterday", "2025-06-01T00:00:00"):
        with pytest.raises(UsageError, match="has no usable time"):
            pin([replace(part(MIXED), finished=text)])


def test_runs_of_other_candidates_models_and_conditions_are_not_pooled() -> None:
    good = part(MIXED, "a")
    with pytest.raises(UsageError, match="run b is of candidate y and run a of x"):
        pool([good, part(MIXED, "b", spec=OTHER)])
    hot = part(MIXED, "b", spec=OTHER)
    hot = replace(hot, samples=hot.samples.model_copy(update={"settings": {**good.samples.settings, "effort": "low"}}))
    with pytest.raises(UsageError, match=r"of x \(effort unset → low\)"):
        pool([good, hot])
    drifted = replace(part(MIXED, "b"), samples=good.samples.model_copy(update={"model": "model-2"}))
    with pytest.raises(UsageError, match="in run b the model 'model-2' answered, in run a it was 'model-x'"):
        pool([good, drifted])
    conditions = {**CONDITIONS, "grader": "9", "image": "i"}
    with pytest.raises(UsageError) as caught:
        pool([good, part(MIXED, "b", conditions=conditions, settings={**SETTINGS, "prompt": "2"})])
    assert "grader (1 in run a, 9 in run b); image (only in run b); prompt (1 in run a, 2 in run b)." in (
        caught.value.cause
    )
    with pytest.raises(UsageError, match="problem p019"):
        pool([good, part({name: MIXED[name] for name in list(MIXED)[:-1]}, "b")])


def test_a_problem_that_one_run_has_in_quarantine_leaves_all() -> None:
    fewer = part({name: MIXED[name] for name in list(MIXED)[:-1]}, "b")
    fewer = replace(fewer, samples=fewer.samples.model_copy(update={"excluded": {"p019": "quarantined: flaky"}}))
    for parts in ([part(MIXED, "a"), fewer], [fewer, part(MIXED, "a")]):
        pooled = pool(parts)
        assert "p019" not in pooled.samples
        assert "p019" not in pooled.problem_digests
        assert pooled.excluded == {"p019": "quarantined: flaky"}
        assert {len(entries) for entries in pooled.samples.values()} == {10}


def test_the_provenance_says_who_when_on_what_and_instead_of_what() -> None:
    first = pin([part(MIXED)], origin=Origin("me", "c" * 40, NOON))
    event = first.provenance[0]
    assert (event.action, event.who, event.commit, event.at) == ("pin", "me", "c" * 40, "2025-06-01T12:00:00+00:00")
    assert (event.runs, event.predecessor) == (("run-1",), None)
    assert first.spec == SPEC
    again = pin([part(MIXED, "run-2")], replaced=lock_of(first))
    assert (again.provenance[0].predecessor, again.provenance[0].predecessor_model) == (first.digest, "model-x")


def test_another_model_is_never_pinned_over_the_pinned_one() -> None:
    first = pin([part(MIXED)])
    with pytest.raises(UsageError, match="the lock pins model 'model-x', and the runs are of 'model-y'") as caught:
        pin([part(MIXED, spec=OTHER)], replaced=lock_of(first))
    assert f"--from {first.digest[:12]}" in caught.value.remedy


@pytest.mark.parametrize("old", ["model-x", "digest", "prefix"])
def test_a_reset_names_what_it_replaces_and_why(old: str) -> None:
    first = pin([part(MIXED)])
    named = {"model-x": "model-x", "digest": first.digest, "prefix": first.digest[:12]}[old]
    made = reset(lock_of(first), named, [part(MIXED, spec=OTHER)], reason="it is cheaper")
    event = made.provenance[-1]
    assert made.samples.model == "model-y"
    assert (event.action, event.reason, event.predecessor, event.predecessor_model) == (
        "reset", "it is cheaper", first.digest, "model-x",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("old", "reason", "spec", "told"),
    [
        ("model-y", "why", OTHER, "'model-y' is not what is pinned: that is model 'model-x'"),
        ("", "why", OTHER, "is not what is pinned"),
        ("0", "why", OTHER, "is not what is pinned"),
        ("model-x", " ", OTHER, "needs a reason"),
        ("model-x", "y" * 1001, OTHER, "needs a reason"),
        ("model-x", "why", SPEC, "which is already pinned"),
    ],
)
def test_a_reset_that_is_not_deliberate_is_refused(old: str, reason: str, spec: CandidateSpec, told: str) -> None:
    lock = lock_of(pin([part(MIXED)])).model_copy(update={"digest": "0" * 64})
    with pytest.raises(UsageError, match=told):
        reset(lock, old, [part(MIXED, spec=spec)], reason=reason)


def test_a_refresh_adds_samples_and_keeps_the_provenance() -> None:
    first = pin([part(MIXED)], origin=Origin("me", None, NOON))
    new = part(MIXED, "run-2", finished=NOON + timedelta(days=50))
    pooled, change = refresh(first, [new], reason="monthly")
    assert (change.n, change.difference, change.p) == (20, 0.0, 1.0)
    assert {len(entries) for entries in pooled.samples.samples.values()} == {10}
    assert [run.id for run in pooled.runs] == ["run-1", "run-2"]
    assert [event.action for event in pooled.provenance] == ["pin", "refresh"]
    assert pooled.provenance[0] == first.provenance[0]
    last = pooled.provenance[-1]
    assert (last.predecessor, last.drift, last.reason) == (first.digest, 1.0, "monthly")
    assert pooled.digest == pooled.computed_digest() != first.digest
    older = {**last.model_dump(), "action": "replace"}
    assert Pinning.model_validate(older).action == "replace", "baselines of older versions still load"


def test_a_refresh_with_drifted_samples_takes_a_word() -> None:
    first = pin([part(MIXED)])
    worse = part({name: [False, False, True, False, False] for name in MIXED}, "run-2")
    with pytest.raises(DriftShown) as caught:
        refresh(first, [worse])
    assert caught.value.exit_code == ExitCode.INCONCLUSIVE
    assert "70.0% then, 20.0% now on 20 problems: -50.0 pp" in caught.value.cause
    made, change = refresh(first, [worse], accept_drift=True, reason="new weights")
    assert change.p < 0.001
    assert made.provenance[-1].reason == "drift accepted (p<.001); new weights"


def test_a_refresh_takes_new_runs_of_the_same_candidate_only() -> None:
    first = pin([part(MIXED)])
    with pytest.raises(UsageError, match="run run-1 is already in the baseline"):
        refresh(first, [part(MIXED)])
    with pytest.raises(UsageError, match="in the new runs the model 'model-y' answered, in the baseline"):
        refresh(first, [part(MIXED, "run-2", spec=OTHER)])
    hotter = SPEC.model_copy(update={"max_iterations": 9})
    with pytest.raises(UsageError, match="configured differently from the pinned x"):
        refresh(first, [part(MIXED, "run-2", spec=hotter)])
    with pytest.raises(UsageError, match="made under different conditions: prompt"):
        refresh(first, [part(MIXED, "run-2", settings={**SETTINGS, "prompt": "2"})])


def test_copies_of_an_answer_count_once_in_a_drift_test() -> None:
    same = part({f"p{i}": [True] * 5 for i in range(4)})
    answers = {
        name: tuple(sample.model_copy(update={"answer": name}) for sample in entries)
        for name, entries in same.samples.samples.items()
    }
    copied = replace(same, samples=same.samples.model_copy(update={"samples": answers}))
    assert set(counts_of(pin([copied]).samples).values()) == {(1, 1)}
    assert set(counts_of(pin([same]).samples).values()) == {(5, 5)}


def test_an_unknown_rate_is_none() -> None:
    assert pass_rate({}).value is None
    assert pass_rate({"a": (0, 0)}).words() == "unknown"
    sure = pass_rate({"a": (5, 5), "b": (5, 5)})
    assert sure.low is not None
    assert sure.low < 0.5, "two problems that always pass prove little"
