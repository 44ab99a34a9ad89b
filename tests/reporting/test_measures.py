"""What is measured about a candidate, from outcomes built by hand."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.candidates import CandidateSpec, Prices, Usage
from codegate.gating.estimates import Estimate
from codegate.grading import Grade, OwnTests
from codegate.reporting import ReportTerms
from codegate.reporting.breakdown import failure_shares, tag_measures
from codegate.reporting.correctness import GradedSample, common_k, correctness
from codegate.reporting.measure_table import figures_of_cost
from codegate.reporting.measures import Measures, measure
from codegate.reporting.weighted import weighted_score
from codegate.running import Outcome, ScoreWeights
from codegate.running.outcome import Fault, PatchSize
from codegate.solving import AttemptSummary
from codegate.solving.attempt import DroppedPath
from tests.kit.runs import attempt, outcome

LOOP = CandidateSpec(provider="openai", model="m-2025-01-01", solver="tool_loop", max_iterations=5)
PRICES = Prices(input=Decimal(1), output=Decimal(2))


def made(
    problem: str,
    passed: bool | None,
    *,
    turns: int = 1,
    usage: Usage | None = None,
    seconds: float = 2.0,
    tools: tuple[int, int] = (0, 0),
    fault: str | None = None,
) -> Outcome:
    """Return an outcome; without a grade it has a fault, and with the fault of a provider no attempt either."""
    grade = None if passed is None else Grade(
        resolved=passed, score=100 if passed else 50, tests_passed=2 if passed else 1, tests_total=2,
        failure=None if passed else "logic_error",
    )  # fmt: skip
    usage = usage or Usage(input_tokens=1000, output_tokens=100, cached_tokens=250)
    made = attempt(solver="tool_loop", iterations=turns, tool_calls=tools[0], tool_errors=tools[1], usage=usage,
                   model_seconds=seconds, tool_seconds=0.5)  # fmt: skip
    lost = Fault(cause=fault or "sandbox", message="", retries=0) if passed is None else None
    asked = None if fault and fault.startswith("provider.") else made
    return outcome(passed, problem, 0, LOOP, problem_digest="0" * 64, attempt=asked, grade=grade, fault=lost,
                   grading_seconds=1.5)  # fmt: skip


def measured(outcomes: Sequence[Outcome], *, calls: int | None = None, terms: ReportTerms | None = None) -> Measures:
    found: dict[str, list[Outcome]] = {}
    for one in outcomes:
        found.setdefault(one.problem, []).append(one)
    return measure(LOOP, found, terms or ReportTerms({LOOP.model: PRICES}), calls=calls)


def side(results: Mapping[str, str]) -> dict[str, tuple[GradedSample, ...]]:
    """Return graded samples from a letter each: p passed, l logic error, t timeout."""
    names = {"l": "logic_error", "t": "timeout"}
    return {
        problem: tuple(GradedSample(letter == "p", 100.0 * (letter == "p"), names.get(letter)) for letter in letters)
        for problem, letters in results.items()
    }


# Correctness


def test_the_common_k_is_what_nearly_all_problems_of_every_side_have() -> None:
    many = side({f"p{i}": "ppp" for i in range(10)})
    one_short = side({f"p{i}": "ppp" if i else "p" for i in range(10)})
    two_short = side({f"p{i}": "ppp" if i > 1 else "pp" for i in range(10)})
    assert common_k([many, one_short]) == 3
    assert common_k([many, two_short]) == 2
    assert common_k([many, side({"p0": "p"})]) == 1
    assert common_k([many, {}]) == 3
    assert common_k([]) == 1


def test_pass_at_k_is_over_the_problems_that_have_k_samples() -> None:
    found = correctness(side({"a": "pll", "b": "ppp", "c": "p"}), 3)
    assert found.pass_at_1 == correctness(side({"a": "pll", "b": "ppp", "c": "p"}), 1).pass_at_1
    assert found.pass_at_1.value == pytest.approx((1 / 3 + 1 + 1) / 3)
    assert (found.pass_at_k.n, found.pass_at_k.value) == (2, 1.0)
    assert (found.pass_hat_k.n, found.pass_hat_k.value) == (2, 0.5)


# Time, tokens, reliability


@pytest.mark.requirement("D7")
def test_model_time_and_infrastructure_time_are_apart() -> None:
    found = measured([made(f"p{i}", True, seconds=i + 1.0) for i in range(5)])
    assert (found.model_median.value, found.model_p95.value) == (3.0, 5.0)
    assert (found.infrastructure_median.value, found.infrastructure_p95.value) == (2.0, 2.0)
    assert found.answer_p95.value == 5.5


def test_a_time_that_was_not_measured_is_unknown() -> None:
    one = made("p", True, seconds=0.0).model_copy(update={"grading_seconds": float("nan")})
    found = measured([one])
    assert (found.model_median.value, found.infrastructure_median.value, found.answer_p95.value) == (None, None, None)


def test_tokens_that_nobody_reported_are_left_out_and_the_n_says_so() -> None:
    found = measured([made("p", True), made("q", True, usage=Usage(output_tokens=50))])
    assert (found.input_tokens.n, found.input_tokens.value) == (1, 1000)
    assert (found.output_tokens.n, found.output_tokens.value) == (2, 75)
    assert (found.cache_share.n, found.cache_share.value) == (1000, 0.25)
    assert measured([made("p", True, usage=Usage())]).cache_share.value is None


def test_the_patch_is_measured_against_the_reference_where_both_are_known() -> None:
    size = PatchSize(lines=3, reference_lines=2, files=2, outside=1)
    sizes = [size, size.model_copy(update={"lines": 1, "outside": 0}), size.model_copy(update={"reference_lines": 0})]
    found = measured([made(f"p{i}", True).model_copy(update={"size": one}) for i, one in enumerate([*sizes, None])])
    assert (found.patch_lines.n, found.patch_lines.value) == (2, 1.0)
    assert found.patch_outside.value == pytest.approx(2 / 3)


def test_own_tests_are_counted_of_attempts_that_can_write_some() -> None:
    size = PatchSize(lines=3, reference_lines=2, files=2, outside=1)
    wrote = {"dropped": (DroppedPath(path="tests/test_a.py", reason="test"),)}
    outcomes = [made(f"p{i}", True).model_copy(update={"size": size}) for i in range(4)]
    with_tests = [
        one.model_copy(update={"attempt": one.attempt.model_copy(update=wrote)}) for one in outcomes[:3] if one.attempt
    ]
    shown = [OwnTests(passed=2, proved=1), OwnTests(passed=2, proved=0), None]  # of the third, the sandbox failed
    known = [one.model_copy(update={"own_tests": own}) for one, own in zip(with_tests, shown, strict=True)]
    single = outcomes[3].model_copy(update={"attempt": AttemptSummary(solver="single_shot", prompt_version="1")})
    found = measured([*known, outcomes[3], single])
    assert (found.own_written.n, found.own_written.value) == (4, 0.75)
    assert (found.own_proved.n, found.own_proved.value) == (2, 0.5)


def test_calls_per_attempt_are_of_the_attempts_that_called_a_model() -> None:
    found = measured([made("p", True, turns=4), made("q", False, turns=1), made("r", True, turns=0)])
    assert (found.calls.n, found.calls.value) == (2, 2.5)


def test_reliability_counts_the_provider_and_the_calls_but_not_the_sandbox() -> None:
    outcomes = [made("p", True, tools=(4, 1), turns=3), made("q", None), made("r", None, fault="provider.timeout")]
    found = measured(outcomes, calls=8)
    assert found.answered.n == 3
    assert found.answered.value == pytest.approx(2 / 3)
    assert (found.tool_calls_valid.n, found.tool_calls_valid.value) == (4, 0.75)
    assert (found.calls_answered.n, found.calls_answered.value) == (8, 0.5)
    assert measured(outcomes).calls_answered.value is None
    assert measured([made("p", None, fault="environment")]).answered.value == 1.0


# Cost


@pytest.mark.requirement("D6")
def test_the_cost_of_a_run_and_of_a_completed_task() -> None:
    outcomes = [made("p", True), made("p", False), made("q", True), made("r", None)]
    found = measured(outcomes, calls=6, terms=ReportTerms({LOOP.model: PRICES}, Decimal("3.6")))
    assert figures_of_cost(found) == "$0.0128 (4 attempts, sandboxes $0.0080, without 2 failed calls)"
    spent = found.costs
    call = 0.0012
    assert spent.model_usd == pytest.approx(4 * call)
    assert spent.sandbox_seconds == pytest.approx(8.0)
    assert spent.sandbox_usd == pytest.approx(0.008)
    assert spent.total_usd == pytest.approx(4 * call + 0.008)
    assert (spent.attempts, spent.priced, spent.completed, spent.lost_calls) == (4, 4, 2, 2)
    assert spent.per_completed.value == pytest.approx((4 * call + 0.008) / 2)
    assert spent.per_completed.n == 2


def test_one_attempt_of_unknown_cost_makes_the_cost_of_the_run_unknown_and_not_smaller() -> None:
    spent = measured([made("p", True), made("q", True, usage=Usage(input_tokens=1))]).costs
    assert (spent.attempts, spent.priced) == (2, 1)
    assert spent.model_usd == pytest.approx(0.0012)
    assert (spent.total_usd, spent.per_completed.value) == (None, None)
    unpriced = measured([made("p", True)], terms=ReportTerms()).costs
    assert (unpriced.model_usd, unpriced.total_usd, unpriced.per_completed.value) == (None, None, None)


def test_money_without_a_completed_task_has_no_cost_per_task_and_no_points() -> None:
    found = measured([made("p", False)])
    assert found.costs.total_usd is not None
    assert found.costs.per_completed.value is None
    (part,) = [part for part in found.weighted.parts if part.name == "cost"]
    assert (part.points.value, part.weight > 0) == (0.0, True)


def test_prices_of_the_report_win_over_those_of_the_run() -> None:
    listed = LOOP.model_copy(update={"prices": Prices(input=Decimal(10), output=Decimal(20), source="a list, 2026")})
    found = {"p": [made("p", True)]}
    spent = measure(listed, found, ReportTerms()).costs
    assert spent.total_usd == pytest.approx(0.012)
    assert spent.prices_from == "a list, 2026"
    spent = measure(listed, found, ReportTerms({LOOP.model: PRICES})).costs
    assert spent.total_usd == pytest.approx(0.0012)
    assert spent.prices_from == "as declared"


def test_limits_of_the_policy_are_said_when_they_are_exceeded() -> None:
    outcomes = [made("p", True)]
    assert measured(outcomes, terms=ReportTerms({LOOP.model: PRICES}, None, ScoreWeights(), 0.01, 10)).warnings == ()
    cost, slow = measured(outcomes, terms=ReportTerms({LOOP.model: PRICES}, None, ScoreWeights(), 0.001, 2)).warnings
    assert cost == "a completed task costs $0.0012 (n=1), more than the $0.001 that the policy allows"
    assert slow.startswith("the slowest twentieth of the answers takes 2.5 s or longer (n=1)")
    assert measured(outcomes, terms=ReportTerms({}, None, ScoreWeights(), 0.001)).warnings == ()


def test_what_to_raise_is_said_where_a_limit_cut_answers() -> None:
    cut = made("q", False)
    assert cut.grade is not None
    cut = cut.model_copy(update={"grade": cut.grade.model_copy(update={"failure": "context_overflow"})})
    (said,) = measured([made("p", True), cut]).warnings
    assert said.startswith("1 of 2 answers ended as context overflow. Set `max_prompt_tokens`")


# Turns


@pytest.mark.requirement("D3")
def test_the_pass_rate_by_turn_is_of_those_that_reached_it() -> None:
    outcomes = [made("a", True, turns=1), made("b", True, turns=2), made("c", False, turns=2), made("d", True, turns=4)]
    turns = measured([*outcomes, made("e", None, turns=5)]).turns
    assert [(turn.number, turn.reached, turn.solved) for turn in turns] == [(1, 4, 1), (2, 3, 1), (3, 1, 0), (4, 1, 1)]
    assert [turn.by_then.value for turn in turns] == [0.25, 0.5, 0.5, 0.75]
    assert turns[1].rate.value == pytest.approx(1 / 3)


def test_one_shot_has_no_turns() -> None:
    assert measured([made("a", True), made("b", False)]).turns == ()
    single = LOOP.model_copy(update={"solver": "single_shot"})
    assert measure(single, {"a": [made("a", True, turns=3)]}, ReportTerms()).turns == ()


@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=20))
def test_turns_add_up(entries: list[tuple[int, bool]]) -> None:
    found = measured([made(f"p{i}", passed, turns=taken) for i, (taken, passed) in enumerate(entries)])
    if found.turns:
        solved = sum(passed for _, passed in entries)
        assert sum(turn.solved for turn in found.turns) == solved
        assert found.turns[0].reached == len(entries)
        assert found.turns[-1].by_then.value == pytest.approx(solved / len(entries))
        assert found.turns[-1].by_then.value == pytest.approx(found.correctness.pass_at_1.value)


# Failures and cohorts


def test_failure_classes_move_against_the_baseline_on_the_problems_that_both_have() -> None:
    new = side({f"p{i}": "t" for i in range(8)} | {"p8": "p", "alone": "l"})
    old = side({f"p{i}": "l" for i in range(8)} | {"p8": "p", "gone": "t"})
    shares = {item.name: item for item in failure_shares(new, old)}
    assert list(shares) == ["timeout", "logic_error"]
    timeout = shares["timeout"]
    assert (timeout.count, timeout.share.n, timeout.share.value) == (8, 10, 0.8)
    assert (timeout.baseline.n, timeout.baseline.value) == (9, 0.0)
    assert timeout.difference.value == pytest.approx(8 / 9)
    assert timeout.difference.low is not None
    assert timeout.difference.low > 0
    assert timeout.p == pytest.approx(2 * 2 * 0.5**8)  # two-sided, two classes
    assert shares["logic_error"].difference.value == pytest.approx(-8 / 9)


def test_a_rare_failure_that_few_samples_do_not_show_has_not_become_rarer() -> None:
    old, new = side({f"p{i}": "lppppppppp" for i in range(6)}), side({f"p{i}": "ppp" for i in range(6)})
    (share,) = failure_shares(new, old)
    assert share.p is not None
    assert share.p > 0.2


def test_without_a_baseline_there_is_no_drift() -> None:
    (only,) = failure_shares(side({"a": "l", "b": "p"}), {})
    assert (only.count, only.share.value, only.baseline.value, only.difference.value, only.p) == (
        1,
        0.5,
        None,
        None,
        None,
    )
    assert failure_shares({}, {}) == ()


@given(st.dictionaries(st.text("abcde", min_size=1, max_size=2), st.text("plt", min_size=1, max_size=4), max_size=12))
def test_a_candidate_does_not_drift_from_itself(results: dict[str, str]) -> None:
    same = side(results)
    for item in failure_shares(same, same):
        assert item.difference.value == 0
        assert item.p == 1.0
    assert sum(item.count for item in failure_shares(same, {})) == sum(
        len(text) - text.count("p") for text in results.values()
    )


@pytest.mark.requirement("D4", "D8")
def test_cohorts_are_by_tag_and_by_the_training_cut_off() -> None:
    new = side({"a": "p", "b": "l", "c": "p", "d": "t"})
    tags = {
        "a": ("language:python", "kind:bug", "date:2024-01-01"),
        "b": ("language:python", "kind:bug", "date:2025-01-01"),
        "c": ("language:go", "kind:bug", "date:2025-06-01T00:00:00"),
        "d": ("language:go", "kind:bug", "date:someday"),
    }
    found = {item.tag: item for item in tag_measures(new, side({"a": "p", "b": "p"}), tags, date(2024, 6, 30))}
    assert list(found) == ["language:go", "language:python", "training cut-off:after", "training cut-off:before"]
    python = found["language:python"]
    assert (python.pass_rate.n, python.pass_rate.value, python.failure) == (2, 0.5, "logic_error")
    assert (python.baseline.value, python.difference.value, python.difference.n) == (1.0, -0.5, 2)
    assert (found["language:go"].baseline.value, found["language:go"].difference.value) == (None, None)
    assert (found["training cut-off:before"].pass_rate.n, found["training cut-off:after"].pass_rate.n) == (1, 2)
    assert not any(item.tag.startswith("training") for item in tag_measures(new, {}, tags, None))


def test_a_tag_that_names_problems_makes_no_cohorts() -> None:
    new = side({f"p{i}": "p" for i in range(25)})
    assert tag_measures(new, {}, {f"p{i}": (f"commit:{i}",) for i in range(25)}, None) == ()
    assert len(tag_measures(new, {}, {f"p{i}": (f"size:{i}",) for i in range(24)}, None)) == 24


# The weighted score

KNOWN = Estimate(10, 0.5, 0.25, 0.75)


def score(**changes: object) -> tuple[float | None, tuple[str, ...]]:
    given_measures: dict[str, object] = {
        "pass_at_1": KNOWN, "answer_p95": Estimate(10, 120.0, 60.0, None), "per_completed": Estimate(5, 0.5, 0.1, 1.5),
        "nothing_completed": False, "cache_share": KNOWN, "reliability": (Estimate(10, 1.0, 0.7, 1.0), Estimate()),
        "weights": ScoreWeights(),
    } | changes  # fmt: skip
    found = weighted_score(**given_measures)  # type: ignore[arg-type]
    return found.points.value, found.left_out


@pytest.mark.requirement("D2")
def test_the_weighted_score_is_the_documented_mean() -> None:
    points, left_out = score()
    assert points == pytest.approx((0.30 * 50 + 0.20 * 50 + 0.20 * 50 + 0.15 * 100) / 0.85)
    assert left_out == ()


def test_cache_hits_count_only_where_they_are_given_a_weight() -> None:
    unasked, on_request = Estimate(10, 0.5, 0.25, 0.75), Estimate(10, 0.0, 0.0, 0.1)
    assert score(cache_share=unasked) == score(cache_share=on_request) == score(cache_share=Estimate())
    points, _ = score(weights=ScoreWeights(context=0.15))
    assert points == pytest.approx(0.30 * 50 + 0.20 * 50 + 0.20 * 50 + 0.15 * 50 + 0.15 * 100)


def test_an_unknown_part_is_left_out_and_the_others_take_its_place() -> None:
    weights = ScoreWeights(context=0.15)
    points, left_out = score(cache_share=Estimate(), per_completed=Estimate(), weights=weights)
    assert left_out == ("cost", "context")
    assert points == pytest.approx((0.30 * 50 + 0.20 * 50 + 0.15 * 100) / 0.65)
    assert score(pass_at_1=Estimate())[0] is None, "of no graded problem there is no score"
    nothing = {"pass_at_1": Estimate(), "answer_p95": Estimate(), "reliability": (), "cache_share": Estimate()}
    assert score(**nothing, per_completed=Estimate(), weights=weights) == (
        None,
        ("correctness", "latency", "cost", "context", "reliability"),
    )


def test_the_ends_of_the_weighted_score_are_those_of_its_parts() -> None:
    found = weighted_score(
        ScoreWeights(correctness=1, latency=1, cost=0, context=0, reliability=0),
        pass_at_1=KNOWN,
        answer_p95=Estimate(10, 120.0, 60.0, None),
        per_completed=Estimate(),
        nothing_completed=False,
        cache_share=Estimate(),
        reliability=(),
    )
    assert found.points.low == pytest.approx((25 + 0) / 2)
    assert found.points.high == pytest.approx((75 + 100 / 1.5) / 2)
    assert found.left_out == ()  # what has no weight is not missed


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.001, 1e5), st.floats(0.001, 1e5))
def test_a_better_measure_never_scores_less(a: float, b: float, fast: float, slow: float) -> None:
    (worse, better), (fast, slow) = sorted((a, b)), sorted((fast, slow))
    assert (score(pass_at_1=Estimate(9, worse))[0] or 0) <= (score(pass_at_1=Estimate(9, better))[0] or 0)
    assert (score(answer_p95=Estimate(9, slow))[0] or 0) <= (score(answer_p95=Estimate(9, fast))[0] or 0)
    assert 0 <= (score(answer_p95=Estimate(9, slow), pass_at_1=Estimate(9, worse))[0] or 0) <= 100
