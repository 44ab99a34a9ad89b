"""Sweeps: what is paired with what, what p is adjusted for, and what so few samples cannot show."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import pytest

from codegate.candidates import CandidateSpec
from codegate.errors import UsageError
from codegate.gating.statistics import stratified_test
from codegate.reporting import (
    build_view,
    read_result,
    render_console,
    render_html,
    render_json,
    render_markdown,
    sweep_of,
)
from codegate.running import Run
from tests.reporting.example import outcome, run_of
from tests.reporting.hostile import HOSTILE
from tests.reporting.test_plain import inert
from tests.reporting.test_view import strings

PROBLEMS = [f"p-{i:02}" for i in range(16)]
TAGS = {name: ("language:python", f"kind:{'logic' if i < 8 else 'edge'}") for i, name in enumerate(PROBLEMS)}


def spec(temperature: float | None = None, **more: object) -> CandidateSpec:
    values = {"provider": "openai", "model": "m-2025-01-01", **more}
    return CandidateSpec.model_validate(values | {"sampling": {"temperature": temperature}})


def run_with(
    specs: Sequence[CandidateSpec],
    results: Callable[[CandidateSpec, int], Sequence[bool | None]],
    *,
    tags: Mapping[str, tuple[str, ...]] = TAGS,
    **changes: object,
) -> Run:
    """Return a run of ``specs``, each with the results that ``results`` gives for the number of a problem."""
    run = run_of({"a": {name: [True] * 9 for name in PROBLEMS}})
    update = {"candidates": tuple(specs), "tags": dict(tags), "prompts": {one.key(): "1" for one in specs}, **changes}
    made = tuple(
        outcome(one, name, passed, sample=sample)
        for one in specs
        for number, name in enumerate(PROBLEMS)
        for sample, passed in enumerate(results(one, number))
    )
    return run.model_copy(update={"manifest": run.manifest.model_copy(update=update), "outcomes": made})


def heat(one: CandidateSpec, number: int) -> list[bool | None]:
    """Hot answers win the first eight problems and lose the others; the solver makes no difference."""
    return [(one.sampling.temperature == 1) == (number < 8)] * 3


GRID = [spec(heat, solver=solver) for heat in (0, 1) for solver in ("single_shot", "tool_loop")]


@pytest.mark.requirement("C5")
def test_an_effect_is_paired_over_the_other_settings_and_interference_is_found_by_tag_and_problem() -> None:
    sweep = sweep_of([run_with(GRID, heat)])
    assert sweep.settings == ("solver, max_iterations", "temperature")
    assert {one.value: one.pass_rate.value for one in sweep.scores if one.setting == "temperature"} == {
        "0.0": 0.5,
        "1.0": 0.5,
    }
    solver, hot = sweep.effects
    assert (hot.before, hot.after, hot.difference.n, hot.difference.value, hot.p) == ("0.0", "1.0", 16, 0, 1)
    assert (solver.difference.value, solver.p) == (0, 1)
    assert {one.where: one.difference.value for one in sweep.cohorts if one.setting == "temperature"} == {
        "kind:edge": -1,
        "kind:logic": 1,
    }
    assert all(one.p is not None and one.p < 0.05 for one in sweep.cohorts if one.setting == "temperature")
    assert {one.where: one.difference.value for one in sweep.problems} == {
        name: 1 if i < 8 else -1 for i, name in enumerate(PROBLEMS)
    }


def test_p_of_a_problem_is_exact_over_strata_and_adjusted_for_all_comparisons() -> None:
    def one_problem(one: CandidateSpec, number: int) -> list[bool | None]:
        return heat(one, 0) if number == 0 else [True, False, True] if number < 4 else [True] * 3

    (changed,) = sweep_of([run_with(GRID, one_problem)]).problems
    single = stratified_test([(3, 3, 0, 3)] * 2)
    # Three problems with both settings, and this one, on which the solver can show nothing. Twelve always pass.
    assert changed.where == "p-00"
    assert changed.p == pytest.approx(7 * single)


def test_unequal_numbers_of_samples_do_not_make_an_effect() -> None:
    """An average over all samples of a side would weigh the solvers differently: 3/4 against 1/2."""

    def solver_alone(one: CandidateSpec, number: int) -> list[bool | None]:
        lost = one.sampling.temperature == 0 and one.solver == "tool_loop"
        return [one.solver == "single_shot", *([None] * 2 if lost else [one.solver == "single_shot"] * 2)]

    effects = {one.setting: one for one in sweep_of([run_with(GRID, solver_alone)]).effects}
    assert effects["temperature"].difference.value == 0


def test_one_sample_says_what_cannot_be_told_and_ten_do_not() -> None:
    def once(one: CandidateSpec, number: int) -> list[bool | None]:
        return heat(one, number)[:1]

    def often(one: CandidateSpec, number: int) -> list[bool | None]:
        return heat(one, number) * 3

    assert "cannot be told from chance with 1 sample of each" in sweep_of([run_with(GRID, once)]).limits
    assert sweep_of([run_with(GRID, often)]).limits == ""


def test_models_are_no_settings() -> None:
    models = [spec(0, model="a-2025-01-01"), spec(1, model="b-2025-01-01")]  # which of the two it is, cannot be told
    run = run_with(models, heat)
    assert build_view([run]).sweep is None
    with pytest.raises(UsageError, match="differ in one setting alone"):
        sweep_of([run])
    elsewhere = run_with(GRID[2:], heat, id="other", conditions={"suite": "e" * 64})
    with pytest.raises(UsageError, match="not run under the same conditions: suite differs"):
        sweep_of([run_with(GRID[:2], heat), elsewhere])


def test_a_candidate_that_differs_in_several_settings_is_in_no_score() -> None:
    other = spec(0.5, provider="anthropic", model="x-2025-01-01", solver="tool_loop")
    found = sweep_of([run_with([spec(0), spec(1), other], heat)])
    assert [(one.setting, one.value, one.samples) for one in found.scores] == [
        ("temperature", "0.0", 48), ("temperature", "1.0", 48)
    ]  # fmt: skip


def test_recorded_answers_are_told_apart_by_their_settings_and_runs_by_theirs() -> None:
    recorded = [spec(heat, provider="replay", model=f"{heat}.jsonl") for heat in (0, 1)]
    runs = [run_with([one], heat, id=f"run-{number}") for number, one in enumerate(recorded)]
    assert sweep_of(runs).settings == ("temperature",)
    assert sweep_of([*runs, runs[0]]) == sweep_of(runs), "a run that is named twice counts once"


@pytest.mark.requirement("C6")
def test_prompts_of_one_name_are_told_apart_by_version() -> None:
    texts = [spec(prompt={"task": "fix.md", "task_text": text}) for text in ("a", "b")]
    run = run_with(texts, lambda one, number: [one is texts[0]], prompts={texts[0].key(): "1", texts[1].key(): "2"})
    assert [(one.setting, one.before, one.after) for one in sweep_of([run]).effects] == [
        ("prompt", "fix.md (1)", "fix.md (2)")
    ]


def test_every_format_shows_the_sweep() -> None:
    view = build_view([run_with(GRID, heat)])
    assert read_result(render_json(view).encode()) == view
    assert "temperature   0.0 → 1.0   tag       kind:logic +100.0 pp n=8*" in render_console(view, width=160)
    row = r"| `temperature` | `0.0 → 1.0` | tag | kind:logic +100.0 pp n=8\* | kind:edge -100.0 pp n=8\* |"
    assert row in render_markdown(view)
    page = render_html(view)
    for title in ("Score by setting", "Effect of each setting", "Most sensitive problems", "Better here, worse there"):
        assert f">{title}</h2>" in page


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=HOSTILE)
def test_every_text_of_a_sweep_is_plain(payload: str) -> None:
    prompts = [spec().model_copy(update={"model": f"{i}{payload}", "provider": "replay"}) for i in range(2)]
    named = [spec(i).model_copy(update={"base_url": f"{payload}{j}"}) for i in range(2) for j in range(2)]
    tags = {name: (f"kind:{number % 2}{payload}",) for number, name in enumerate(PROBLEMS)}
    sweep = build_view([run_with(named, heat, tags=tags)]).sweep
    assert sweep is not None
    assert sweep.cohorts
    assert all(inert(text) for text in strings(dataclasses.asdict(sweep)))
    assert build_view([run_with(prompts, heat)]).sweep is None


def test_copied_answers_and_problems_of_one_change_count_once() -> None:
    run = run_with(GRID, heat, clusters=dict.fromkeys(PROBLEMS[:4], "pull request 7"))
    copies = tuple(
        one.model_copy(update={"attempt": one.attempt.model_copy(update={"answer": "same"})})
        for one in run.outcomes
        if one.attempt is not None
    )
    sweep = sweep_of([run.model_copy(update={"outcomes": copies})])
    assert {one.difference.n for one in sweep.effects} == {len(PROBLEMS) - 3}
    assert {one.difference.n for one in sweep.problems} == {2}, "one sample with each solver, not three"
