"""What is foretold of a gate holds together for whatever a baseline may look like."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegate.gating import (
    CandidateSamples,
    Design,
    Relation,
    Sample,
    baseline_facts,
    detectable_drop,
    power_statement,
    problems_needed,
    samples_needed,
)
from codegate.gating.power import least_drop, outlook


def stored(counts: list[tuple[int, int]]) -> CandidateSamples:
    names = [f"p-{i}" for i in range(len(counts))]
    return CandidateSamples(
        candidate="c", label="c", model="m", conditions={}, problem_digests=dict.fromkeys(names, "0"),
        samples={
            name: tuple(Sample(index=i, passed=i < passed) for i in range(n))
            for name, (passed, n) in zip(names, counts, strict=True)
        },
    )  # fmt: skip


@pytest.mark.parametrize("passed", [0, 1])
@pytest.mark.parametrize("samples", [1, 10])
def test_a_baseline_that_never_varies_has_an_outlook_too(passed: int, samples: int) -> None:
    facts = baseline_facts(stored([(passed * samples, samples)] * 40))
    statement = power_statement(facts, Design(), "same weights")
    assert statement.passed == pytest.approx(passed, abs=0.01), "never solved: no drop could show"
    assert statement.sentence().startswith("40 problems with at most 3 looks ")


@pytest.mark.parametrize("units", [2, 5, 12, 16, 20, 40])
def test_where_nothing_varies_an_equal_candidate_is_no_regression(units: int) -> None:
    facts = baseline_facts(stored([(5, 5)] * (units - 1) + [(0, 5)]))
    equal = outlook(facts, Design(), 0.0, 0.0)
    assert equal.regressed < 0.05
    assert equal.regressed + equal.passed + equal.inconclusive == pytest.approx(1.0)
    statement = power_statement(facts, Design(), "same weights")
    assert statement.passed + statement.inconclusive > 0.95


def test_few_problems_promise_no_more_than_simulated_gates_of_that_size_find() -> None:
    facts = baseline_facts(stored([(5, 5)] * 16))
    for relation in ("same weights", "same family", "other vendor"):
        least = least_drop(16, relation)
        assert least is not None
        assert detectable_drop(facts, Design(), relation) == least
        assert samples_needed(facts, Design(), relation, least - 0.01) is None
        assert problems_needed(facts, Design(), relation, least - 0.01) > 16
    assert (least_drop(9, "same family"), least_drop(24, "same family")) == (None, 0.0)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, 12).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1, max_size=40),
    st.sampled_from(["same weights", "same family", "other vendor"]),
    st.integers(1, 5),
)
def test_shares_are_shares_and_more_is_never_worse(
    counts: list[tuple[int, int]], relation: Relation, looks: int
) -> None:
    facts = baseline_facts(stored(counts))
    plan = Design(looks=looks)
    statement = power_statement(facts, plan, relation)
    assert 0 <= statement.passed <= 1
    assert 0 <= statement.inconclusive <= 1
    assert 0 < statement.calls_equal <= statement.calls_most + 0.5
    assert problems_needed(facts, plan, relation, 0.2) <= problems_needed(facts, plan, relation, 0.1)
    fewer, more = samples_needed(facts, plan, relation, 0.3), samples_needed(facts, plan, relation, 0.1)
    assert more is None or (fewer is not None and fewer <= more)
