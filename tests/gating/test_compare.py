import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.errors import ExitCode, UsageError
from codegate.gating import CandidateSamples, GatePolicy, Sample, compare
from codegate.gating.sentence import probability, round_without_crossing
from codegate.reporting import figures
from tests.gating.sampling import CONDITIONS, SETTINGS, side, uniform

POLICY = GatePolicy()


@st.composite
def sides(draw: st.DrawFn) -> tuple[CandidateSamples, CandidateSamples]:
    n = draw(st.integers(0, 40))
    entry = st.lists(st.sampled_from([True, True, False, False, None]), min_size=0, max_size=4)
    names = [f"p{i}" for i in range(n)]
    return side({p: draw(entry) for p in names}, label="old"), side({p: draw(entry) for p in names}, label="new")


policies = st.builds(
    GatePolicy,
    alpha=st.sampled_from([0.01, 0.05, 0.1]),
    margin=st.sampled_from([0.05, 0.1, 0.25]),
    max_samples=st.sampled_from([1, 10]),
)


@given(sides(), policies, st.integers(1, 5))
def test_a_verdict_never_contradicts_its_evidence(
    both: tuple[CandidateSamples, CandidateSamples], policy: GatePolicy, candidates: int
) -> None:
    verdict = compare(*both, policy, looks=policy.looks, candidates=candidates)
    assert verdict.reason.endswith(".")
    assert "\n" not in verdict.reason
    assert verdict.problems + len(verdict.excluded) == len(both[0].problem_digests)
    if verdict.interval is None:
        assert verdict.kind in {"inconclusive", "infrastructure"}
        return
    assert verdict.kind in {"pass", "regressed", "inconclusive"}
    assert verdict.p_noninferior is not None
    assert verdict.p_regression is not None
    low, high = verdict.interval
    assert verdict.population is not None
    if verdict.kind == "pass":
        assert not verdict.advisory
        assert verdict.difference is not None
        assert low > -policy.margin or verdict.difference > 0
        assert verdict.problems >= 10
    if verdict.kind == "regressed":
        assert high < 0
        assert verdict.p_regression < verdict.level_regressed <= policy.alpha / candidates
        assert verdict.difference is not None
        assert verdict.difference <= -0.9 * policy.margin + 1e-9


@given(sides(), st.randoms(use_true_random=False))
def test_the_order_of_problems_does_not_matter(
    both: tuple[CandidateSamples, CandidateSamples], shuffler: random.Random
) -> None:
    def shuffled(samples: CandidateSamples) -> CandidateSamples:
        names = list(samples.samples)
        shuffler.shuffle(names)
        return samples.model_copy(
            update={
                "samples": {name: samples.samples[name] for name in names},
                "problem_digests": {name: samples.problem_digests[name] for name in reversed(names)},
            }
        )

    assert compare(shuffled(both[0]), shuffled(both[1]), POLICY) == compare(*both, POLICY)


@given(sides())
def test_swapping_the_sides_swaps_the_lists(both: tuple[CandidateSamples, CandidateSamples]) -> None:
    here, there = compare(*both, POLICY), compare(both[1], both[0], POLICY)
    assert [f.problem for f in here.regressions] == [f.problem for f in there.improvements]
    assert [f.problem for f in here.improvements] == [f.problem for f in there.regressions]
    if here.difference is not None:
        assert there.difference == -here.difference


@pytest.mark.requirement("V1")
def test_agreement_passes_with_the_numbers_in_the_reason() -> None:
    verdict = compare(side(uniform(24, 20, 10), label="old"), side(uniform(24, 20, 5), label="new"), POLICY)
    assert verdict.kind == "pass"
    assert verdict.exit_code == ExitCode.PASS
    assert verdict.reason == (
        "On these 24 problems the candidate solves 83.3%, the baseline 83.3% (+0.0 pp, 92% interval -3.8 to +2.5): "
        "a drop of 10 pp or more is ruled out (p<.001)."
    )
    assert verdict.population is not None
    assert verdict.population.sentence == (
        "For bugs like these: +0.0 pp, 93% interval -10.0 to +7.9; a drop of 10 pp or more is not ruled out, and only "
        "more problems would narrow this."
    )
    assert (verdict.label, verdict.baseline_label, verdict.candidate) == ("new", "old", "key-new")


def test_a_plain_drop_is_regressed_and_lists_what_was_lost() -> None:
    verdict = compare(side(uniform(24, 20, 10)), side(uniform(24, 8)), POLICY)
    assert verdict.kind == "regressed"
    assert verdict.exit_code == ExitCode.REGRESSED
    assert [flip.problem for flip in verdict.regressions] == [f"p{i:03}" for i in range(8, 20)]
    assert {flip.candidate_failure for flip in verdict.regressions} == {"logic_error"}
    assert verdict.improvements == ()
    assert "On these 24 problems the candidate solves 33.3%, the baseline 83.3% (-50.0 pp" in verdict.reason
    assert verdict.reason.endswith("it is worse (p<.001).")
    assert verdict.population is not None
    assert verdict.population.sentence.endswith("; the candidate is worse.")


def test_a_regression_at_an_early_look_says_that_its_size_is_likely_overstated() -> None:
    early = compare(side(uniform(24, 20, 10)), side(uniform(24, 8)), POLICY, looks=POLICY.looks)
    assert early.kind == "regressed"
    assert "it is worse (p<.001); stopped early, so the size is likely overstated. 1 of at most 10" in early.reason
    last = compare(side(uniform(24, 20, 10)), side(uniform(24, 8, 10)), POLICY, looks=POLICY.looks)
    assert "it is worse (p<.001). 10 of at most 10" in last.reason


def test_a_real_drop_inside_the_tolerance_passes_and_says_so() -> None:
    before = uniform(200, 200, 10)
    after = uniform(200, 200, 10)
    for i in range(0, 200, 2):
        after[f"p{i:03}"][9] = False
    verdict = compare(side(before), side(after), POLICY)
    assert verdict.kind == "pass"
    assert "the smaller drop is real (p<.001) and tolerated" in verdict.reason


def test_a_drop_that_is_shown_but_smaller_than_the_margin_is_no_regression() -> None:
    before, after = uniform(60, 60, 10), uniform(60, 60, 2)
    for i in range(8):
        after[f"p{i:03}"] = [False, True]
    verdict = compare(side(before), side(after), GatePolicy(margin=0.08))
    assert (verdict.kind, round(verdict.difference or 0, 3)) == ("inconclusive", -0.067)
    assert "a drop is shown (p=" in verdict.reason
    assert "but whether it reaches 8 pp is open" in verdict.reason


def test_too_little_evidence_is_inconclusive_and_names_the_next_step() -> None:
    verdict = compare(side(uniform(20, 12, 10)), side(uniform(20, 12)), POLICY)
    assert verdict.kind == "inconclusive"
    assert verdict.exit_code == ExitCode.INCONCLUSIVE
    assert "neither a drop (p=.796, needed < .04) nor the absence of one of 10 pp or more (p=" in verdict.reason
    assert "up to 10 samples per problem (gate.max_samples) would settle more" in verdict.reason
    going_on = compare(side(uniform(20, 12, 10)), side(uniform(20, 12)), POLICY, looks=POLICY.looks)
    assert "is shown, and sampling goes on. 1 of at most 10 samples per problem." in going_on.reason
    assert re.search(
        r"\(\+0\.0 pp, interval -\S+ to \+\S+, widened because the run is checked several times\)", going_on.reason
    ), "no percentage that changes at each look"


def test_a_pass_names_the_problems_that_were_lost_and_gained_beyond_chance() -> None:
    names = [f"p{i:03}" for i in range(60)]
    before = side({name: [i < 15 or i >= 30] * 10 for i, name in enumerate(names)})
    verdict = compare(before, side({name: [i >= 15] * 5 for i, name in enumerate(names)}), POLICY)
    assert (verdict.kind, verdict.difference) == ("pass", 0.0)
    assert verdict.reason.endswith(" Beyond chance 15 problems lost and 15 gained.")


def test_an_interval_stays_within_what_is_possible() -> None:
    verdict = compare(side(uniform(30, 0, 10)), side(uniform(30, 3, 2)), POLICY)
    assert verdict.interval is not None
    assert verdict.interval[0] == pytest.approx(-0.25 / 10.5), "a baseline at 0 of 10 has hardly anything to lose"
    assert "For bugs like these: +10.0 pp" in verdict.population.sentence  # type: ignore[union-attr]
    assert "solves too little for a drop of 10 pp to show." in verdict.population.sentence  # type: ignore[union-attr]


def test_below_the_minimum_there_is_no_pass() -> None:
    verdict = compare(side(uniform(15, 15, 10)), side(uniform(15, 15, 3)), POLICY)
    assert (verdict.kind, verdict.advisory) == ("inconclusive", True)
    assert "a pass takes at least 16 problems" in verdict.reason
    ten = compare(side(uniform(10, 10, 10)), side(uniform(10, 10, 10)), POLICY)
    assert (ten.kind, ten.advisory) == ("pass", False)
    nine = compare(side(uniform(9, 9, 10)), side(uniform(9, 9, 10)), POLICY)
    assert (nine.kind, nine.advisory) == ("inconclusive", True)
    worse = compare(side(uniform(8, 8, 10)), side(uniform(8, 1)), POLICY)
    assert (worse.kind, worse.advisory) == ("regressed", True), "there may be a regression"


def test_a_gate_that_cannot_see_the_margin_says_so_first() -> None:
    mixed: dict[str, list[bool | None]] = {f"p{i:03}": [True, False] * 5 for i in range(12)}
    small = compare(side(mixed), side({name: [i % 2 > 0] for i, name in enumerate(mixed)}), GatePolicy(margin=0.05))
    assert small.kind == "inconclusive"
    assert small.reason.startswith("This gate is too small to see a drop of 5 pp reliably; it finds 3")
    few = {name: mixed[name] for name in list(mixed)[:7]}
    tiny = compare(side(few), side({name: [i % 2 > 0] for i, name in enumerate(few)}), GatePolicy(margin=0.05))
    assert "it finds" not in tiny.reason, "the formula does not hold for so few"


@pytest.mark.parametrize("solved", [0, 6])
def test_without_headroom_there_is_no_pass(solved: int) -> None:
    verdict = compare(side(uniform(60, solved, 10)), side(uniform(60, solved, 10)), POLICY)
    assert verdict.kind == "inconclusive"
    assert "solves too little" in verdict.reason


def test_without_headroom_a_collapse_is_still_regressed() -> None:
    assert compare(side(uniform(60, 11, 10)), side(uniform(60, 0, 5)), POLICY).kind == "regressed"


def test_a_candidate_that_is_better_than_a_weak_baseline_passes() -> None:
    verdict = compare(side(uniform(30, 0, 10)), side(uniform(30, 30, 2)), POLICY)
    assert verdict.kind == "pass"
    assert "it is better (p<.001)." in verdict.reason


def test_lost_samples_count_on_neither_side() -> None:
    before, after = uniform(40, 30, 10), uniform(40, 30, 3)
    after["p000"] = [None] * 3
    after["p001"] = [None, True, True]
    verdict = compare(side(before), side(after), POLICY)
    assert verdict.kind == "pass"
    assert verdict.problems == 39
    assert verdict.difference == 0.0
    assert [(e.problem, e.side, e.reason) for e in verdict.excluded] == [
        ("p000", "candidate", "no counted sample: provider.overloaded")
    ]
    assert "Without a graded sample, and left out: 1 of 40 problems." in verdict.reason


def test_lost_problems_decide_nothing_only_at_the_end() -> None:
    before, after = uniform(40, 30, 10), uniform(40, 30)
    for i in range(5):
        after[f"p{i:03}"] = [None]
    at_the_end = compare(side(before), side(after), POLICY)
    assert at_the_end.kind == "infrastructure"
    assert at_the_end.exit_code == ExitCode.INFRASTRUCTURE
    assert "5 of 40 problems have fewer than half of the 1 samples of x" in at_the_end.reason
    before_it = compare(side(before), side(after), POLICY, looks=POLICY.looks)
    assert before_it.kind == "inconclusive"
    assert "the next look retries" in before_it.reason
    for i in range(21):
        after[f"p{i:03}"] = [None]
    down = compare(side(before), side(after), POLICY, looks=POLICY.looks)
    assert down.kind == "infrastructure", "nothing comes back: there is no point in asking on"


def test_one_lost_sample_in_every_ten_ends_no_run() -> None:
    whole = uniform(40, 40, 10)
    thin: dict[str, list[bool | None]] = {name: [*entries[:9], None] for name, entries in whole.items()}
    for left, right in ((whole, thin), (thin, whole)):
        assert compare(side(left), side(right), POLICY).kind == "pass"
    assert "10% of the candidate's samples were lost" in compare(side(whole), side(thin), POLICY).warnings[0]
    sparse: dict[str, list[bool | None]] = {name: [True] * 4 + [None] * 6 for name in whole}
    for left, right, blamed in ((whole, sparse, "x"), (sparse, whole, "the baseline")):
        verdict = compare(side(left), side(right), POLICY)
        assert verdict.kind == "infrastructure"
        assert f"fewer than half of the 10 samples of {blamed}:" in verdict.reason


def test_a_pass_with_many_lost_samples_must_hold_with_them_as_failures() -> None:
    before: dict[str, list[bool | None]] = {
        f"p{i:03}": [j < (8 if i < 20 else 2) for j in range(10)] for i in range(30)
    }
    after: dict[str, list[bool | None]] = {
        f"p{i:03}": [*[True] * (4 if i < 20 else 1), *[False] * (1 if i < 20 else 4), *[None] * 5] for i in range(30)
    }
    verdict = compare(side(before), side(after), POLICY)
    assert verdict.kind == "inconclusive"
    assert "with the lost samples counted as failures it would not pass" in verdict.reason


@pytest.mark.parametrize("lost", [[None], []])
def test_losing_everything_to_infrastructure_is_never_green(lost: list[bool | None]) -> None:
    after: dict[str, list[bool | None]] = dict.fromkeys(uniform(40, 30), lost)
    for left, right in ((uniform(40, 30), after), (after, uniform(40, 30)), (after, after)):
        assert compare(side(left), side(right), POLICY).kind == "infrastructure"


def test_nothing_at_all_is_inconclusive() -> None:
    assert compare(side({}), side({}), POLICY).kind == "inconclusive"


@pytest.mark.parametrize("field", list(CONDITIONS))
@pytest.mark.requirement("V2")
def test_any_condition_that_differs_is_incomparable(field: str) -> None:
    other = {**CONDITIONS, field: "another"}
    verdict = compare(side(uniform(30, 30)), side(uniform(30, 30), conditions=other), POLICY)
    assert verdict.kind == "incomparable"
    assert verdict.exit_code == ExitCode.INCONCLUSIVE
    assert [m.field for m in verdict.mismatches] == [field]
    assert f"{field} differs" in verdict.reason


def test_a_condition_on_one_side_only_is_incomparable() -> None:
    less = {key: value for key, value in CONDITIONS.items() if key != "grader"}
    verdict = compare(side(uniform(30, 30)), side(uniform(30, 30), conditions=less), POLICY)
    assert "grader is only in the baseline" in verdict.reason
    assert verdict.reason.endswith("under these. Another version of codegate has another grader.")


LARGER = {**SETTINGS, "model": "y.jsonl", "max_output_tokens": "32000", "temperature": "0.2"}


@pytest.mark.requirement("V2")
def test_settings_may_differ_and_each_difference_is_listed_with_the_verdict() -> None:
    verdict = compare(side(uniform(40, 40, 3)), side(uniform(40, 40, 3), settings=LARGER), POLICY)
    assert (verdict.kind, verdict.mismatches) == ("pass", ())
    assert [(one.field, one.baseline, one.candidate) for one in verdict.changes] == [
        ("max_output_tokens", "8192", "32000"),
        ("temperature", "unset", "0.2"),
    ]
    same = compare(side(uniform(40, 40, 3)), side(uniform(40, 40, 3)), POLICY)
    assert same.changes == ()


def test_a_policy_that_compares_models_holds_every_other_setting_equal() -> None:
    policy = POLICY.model_copy(update={"compare": "model"})
    verdict = compare(side(uniform(40, 40, 3)), side(uniform(40, 40, 3), settings=LARGER), policy)
    assert verdict.kind == "incomparable"
    assert [one.field for one in verdict.mismatches] == ["max_output_tokens", "temperature"]
    assert "max_output_tokens differs (8192 there, 32000 here)" in verdict.reason
    elsewhere = {**SETTINGS, "provider": "openai", "model": "m-2025-01-01", "base_url": "http://127.0.0.1:1/v1"}
    verdict = compare(side(uniform(40, 40, 3)), side(uniform(40, 40, 3), settings=elsewhere), policy)
    assert verdict.kind == "pass"
    assert [one.field for one in verdict.changes] == ["base_url", "provider"], "they say where the model is"
    deployed = {**elsewhere, "snapshot": "m-2025-01-01", "query": "{'api-version': 'preview'}", "headers": "{'x': 'y'}"}
    verdict = compare(side(uniform(40, 40, 3)), side(uniform(40, 40, 3), settings=deployed), policy)
    assert verdict.kind == "pass", "a deployment or a gateway needs more than a name"


AGENT = {**SETTINGS, "agent": "claude-code"}


def test_an_agent_without_a_recorded_harness_is_incomparable_and_the_command_that_pins_again_is_named() -> None:
    recorded = {**AGENT, "harness": "none"}
    verdict = compare(side(uniform(40, 40, 3), settings=AGENT), side(uniform(40, 40, 3), settings=recorded), POLICY)
    assert (verdict.kind, [one.field for one in verdict.mismatches]) == ("incomparable", ["harness"])
    assert "made without a recorded harness" in verdict.reason
    assert "`codegate baseline pin runs/renewed --replace`" in verdict.reason
    model = compare(side(uniform(40, 40, 3)), side(uniform(40, 40, 3), settings=recorded), POLICY)
    assert model.kind == "pass", "a model has no harness"


def test_the_files_of_a_harness_that_changed_are_listed_with_the_verdict() -> None:
    old, new = ({**AGENT, "harness": words} for words in ("A.md 1, B.md 2, C.md 3 program", "A.md 1, B.md 4, D.md 5"))
    verdict = compare(side(uniform(40, 40, 3), settings=old), side(uniform(40, 40, 3), settings=new), POLICY)
    assert verdict.kind == "pass"
    assert [(one.baseline, one.candidate) for one in verdict.changes] == [("B.md 2, C.md 3 program", "B.md 4, D.md 5")]
    assert "also changed: harness: B.md, C.md, D.md" in figures.notes(verdict)
    bare = compare(
        side(uniform(40, 40, 3), settings={**AGENT, "harness": "none"}), side(uniform(40, 40, 3), settings=new), POLICY
    )
    assert "also changed: harness: A.md, B.md, D.md" in figures.notes(bare)


IMAGE = "environment base image (Python 3.11)"
DOCKER = {**CONDITIONS, "sandbox": "docker", IMAGE: "python@sha256:a"}
PROVED = (
    {"sandbox": "bwrap", "interpreter (Python 3.11)": "3.11.2"},
    {"sandbox": "docker", IMAGE: "python@sha256:a", "interpreter (Python 3.11)": "3.11.9"},
)


@pytest.mark.parametrize(
    ("there", "here", "proved", "fields", "commands"),
    [
        (CONDITIONS, DOCKER, (), ["sandbox"], ["bwrap", "docker"]),
        (CONDITIONS, DOCKER, PROVED[:1], ["sandbox"], ["docker"]),
        (CONDITIONS, DOCKER, PROVED[1:], ["sandbox"], ["bwrap"]),
        (DOCKER, {**DOCKER, IMAGE: "python@sha256:b"}, PROVED, [IMAGE], ["docker"]),
        (CONDITIONS, {**DOCKER, "grader": "2"}, PROVED, ["grader"], []),
    ],
)
def test_an_unproved_sandbox_or_image_is_incomparable_and_the_command_that_proves_it_is_named(
    there: dict[str, str],
    here: dict[str, str],
    proved: tuple[dict[str, str], ...],
    fields: list[str],
    commands: list[str],
) -> None:
    candidate = side(uniform(40, 40, 3), conditions=here).model_copy(update={"proved": proved})
    verdict = compare(side(uniform(40, 40, 3), conditions=there), candidate, POLICY)
    assert verdict.kind == "incomparable"
    assert [one.field for one in verdict.mismatches] == fields
    assert re.findall(r"codegate validate SUITE --sandbox (\w+)", verdict.reason) == commands


def test_a_sandbox_that_the_suite_is_proved_in_may_differ_and_is_listed() -> None:
    candidate = side(uniform(40, 40, 3), conditions=DOCKER).model_copy(update={"proved": PROVED})
    verdict = compare(side(uniform(40, 40, 3)), candidate, POLICY)
    assert (verdict.kind, verdict.mismatches) == ("pass", ())
    assert [(one.field, one.baseline, one.candidate) for one in verdict.changes] == [
        ("interpreter (Python 3.11)", "3.11.2", "3.11.9"),
        ("sandbox", "bwrap", "docker"),
    ]


def test_another_set_of_problems_is_incomparable_in_both_directions() -> None:
    more, less = side(uniform(30, 30)), side(uniform(22, 22))
    other = more.model_copy(update={"problem_digests": {**more.problem_digests, "p007": "changed"}})
    assert [(one.field, one.candidate) for one in compare(more, other, POLICY).mismatches] == [
        ("problem p007", "changed")
    ]
    reason = compare(more, less, POLICY).reason
    assert "problem p022 is only in the baseline" in reason
    assert reason.endswith("under these. `gate.drop_changed: true` compares on the problems that both have.")
    assert "problem p022 is only in the candidate's run" in compare(less, more, POLICY).reason
    assert "and 3 more" in compare(more, less, POLICY).reason


def test_what_one_side_has_in_quarantine_leaves_both() -> None:
    more, less = side(uniform(40, 40, 5)), side(uniform(30, 30, 5))
    left_out = {f"p{i:03}": "quarantined: flaky" for i in range(30, 40)}
    less = less.model_copy(update={"excluded": left_out})
    for sides in ((more, less), (less, more)):
        verdict = compare(*sides, POLICY)
        assert (verdict.kind, verdict.problems, verdict.difference) == ("pass", 30, 0.0)
        assert [(e.problem, e.side, e.reason) for e in verdict.excluded] == [
            (problem, "both", reason) for problem, reason in left_out.items()
        ]
        assert "Left out as quarantined: 10." in verdict.reason


def test_only_a_quarantine_excuses_an_absence() -> None:
    more, less = side(uniform(40, 40, 5)), side(uniform(39, 39, 5))
    for excluded in ({"p039": "too slow"}, {"p038": "quarantined: flaky"}):
        verdict = compare(more, less.model_copy(update={"excluded": excluded}), POLICY)
        assert [mismatch.field for mismatch in verdict.mismatches] == ["problem p039"]


def test_changed_problems_leave_both_sides_only_where_that_is_asked_for() -> None:
    old, new = side(uniform(40, 40, 5)), side(uniform(38, 30, 5))
    new = new.model_copy(
        update={
            "conditions": {**new.conditions, "suite": "another"},
            "problem_digests": {**new.problem_digests, "p000": "changed", "q000": "new"},
            "samples": {**new.samples, "q000": new.samples["p001"]},
        }
    )
    assert compare(old, new, POLICY).kind == "incomparable"
    verdict = compare(old, new, GatePolicy(drop_changed=True))
    reasons = {entry.problem: entry.reason.partition(" since")[0] for entry in verdict.excluded}
    assert reasons == {
        "p000": "changed: has changed",
        "p038": "changed: is gone",
        "p039": "changed: is gone",
        "q000": "changed: is new",
    }
    assert {entry.side for entry in verdict.excluded} == {"both"}
    assert verdict.problems == 37
    assert "Left out as not the same as in the baseline's suite: 4." in verdict.reason
    other = new.model_copy(update={"conditions": {**new.conditions, "prompt": "another"}})
    assert [m.field for m in compare(old, other, GatePolicy(drop_changed=True)).mismatches] == ["prompt"]


@pytest.mark.parametrize(("indices", "message"), [((0, 0), "more than once"), ((1, 0), "out of order")])
@pytest.mark.parametrize("left", [True, False])
def test_contradicting_samples_are_refused(indices: tuple[int, ...], message: str, left: bool) -> None:
    good = side(uniform(30, 30))
    bad = good.model_copy(
        update={"samples": {**good.samples, "p003": tuple(Sample(index=i, passed=True) for i in indices)}}
    )
    with pytest.raises(UsageError, match=message) as caught:
        compare(bad if left else good, good if left else bad, POLICY)
    assert "p003" in str(caught.value)
    assert caught.value.remedy


def test_samples_without_a_digest_are_refused() -> None:
    good = side(uniform(30, 30))
    digests = {key: value for key, value in good.problem_digests.items() if key != "p000"}
    with pytest.raises(UsageError, match="no digest"):
        compare(good, good.model_copy(update={"problem_digests": digests}), POLICY)


@given(st.floats(-100, 100), st.sampled_from([-10.0, -5.0, 0.0, 0.04, 0.05, 95.0]), st.sampled_from([1, 3]))
def test_no_number_is_rounded_across_a_threshold(value: float, limit: float, digits: int) -> None:
    if abs(value - limit) > 10.0 ** -(digits + 3):
        shown = float(round_without_crossing(value, limit, digits, "+"))
        assert (shown < limit, shown > limit) == (value < limit, value > limit)


def test_a_tiny_p_is_never_printed_as_zero() -> None:
    assert [probability(p, 2e-5) for p in (1e-9, 3e-4, 0.012)] == ["p<.001", "p=.0003", "p=.012"]
    assert [probability(p, 0.05) for p in (1e-9, 3e-4, 0.012)] == ["p<.001", "p<.001", "p=.012"]


def test_another_model_behind_the_same_name_is_a_warning() -> None:
    before = side(uniform(40, 40, 3))
    now = before.model_copy(update={"model": "model-z"})
    assert compare(before, now, POLICY).warnings == (
        "x.jsonl was served as model-x for the baseline and as model-z now: the model behind the name has changed.",
    )
    renamed = now.model_copy(update={"settings": {**SETTINGS, "model": "y"}})
    assert not compare(before, renamed, POLICY).warnings
    assert not compare(before, before, POLICY).warnings
