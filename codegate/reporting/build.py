"""Build the ``ReportView`` from runs, verdicts and evidence.

All text is made plain and bounded here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from codegate.candidates import CandidateSpec, names_one_model
from codegate.candidates.agents import agent_named, harness_parts
from codegate.candidates.harness import Harness
from codegate.errors import UsageError
from codegate.gating import CandidateSamples, Verdict
from codegate.gating.estimates import Estimate, pooled_share
from codegate.reporting.correctness import Samples, common_k, correctness, graded_baseline
from codegate.reporting.evidence import NO_EVIDENCE, Evidence
from codegate.reporting.figures import dollars
from codegate.reporting.measures import Measures, ReportTerms, graded_samples, measure
from codegate.reporting.plain import one_line
from codegate.reporting.problems import FEW, MOST_LISTED, TextBudget, problem_view
from codegate.reporting.sweep import Sweep, sweep_of
from codegate.reporting.view import BaselineView, CandidateView, FaultCount, JudgeCounts, ReportView, RunView
from codegate.running import Outcome, Run
from codegate.running.judge import RecordedJudgements
from codegate.suite import Tree, TreeFile, make_patch
from codegate.wording import count_of, join_first

_REPORT_LIMIT = 24_000_000
_VERBATIM = 0.8  # share of the fix's distinctive lines in an answer; see codegate.running.endings
_TOLD = 0.5  # share of these lines in a harness, where none is expected
_TRANSCRIPT_ROOM = 8_000_000  # characters of conversations, which must not crowd out patches and outputs
_DIFFERENCE_LINES: Final = 400
_DIFFERENCE_HEADERS: Final = ("diff --git ", "index ", "new file", "deleted file", "--- /dev/null", "+++ /dev/null")


def build_view(runs: Sequence[Run], verdicts: Sequence[Verdict] = (), evidence: Evidence = NO_EVIDENCE) -> ReportView:
    """Compute the content of the reports on these runs."""
    text_budget, conversation_budget = TextBudget(_REPORT_LIMIT), TextBudget(_TRANSCRIPT_ROOM)
    columns = [(run, spec) for run in runs for spec in run.manifest.candidates]
    outcomes = [_by_problem(run, spec.key()) for run, spec in columns]
    several = {label for label, n in Counter(spec.label for _, spec in columns).items() if n > 1}
    names = list(dict.fromkeys(name for run in runs for name in (*run.manifest.problems, *run.manifest.excluded)))
    pinned = graded_baseline(evidence.baseline) if evidence.baseline is not None else {}
    incomparable = {verdict.candidate for verdict in verdicts if verdict.kind == "incomparable"}
    k = common_k([*(graded_samples(found) for found in outcomes), pinned])
    run_views = tuple(_run(run, evidence.terms, verdicts) for run in runs)
    unfinished = {run.manifest.id for run, shown in zip(runs, run_views, strict=True) if shown.unfinished}
    return ReportView(
        runs=run_views,
        candidates=tuple(
            _candidate(
                run,
                spec,
                found,
                measure(
                    spec,
                    found,
                    evidence.terms,
                    k=k,
                    baseline={} if spec.key() in incomparable else _unchanged_only(pinned, evidence.baseline, run),
                    tags={name: tuple(map(one_line, tags)) for name, tags in run.manifest.tags.items()},
                    calls=None if run.manifest.id in unfinished else evidence.calls.get((run.manifest.id, spec.key())),
                ),
                _judge_counts(found, evidence.judged.get(run.manifest.id)),
                label_run=spec.label in several,
                evidence=evidence,
            )
            for (run, spec), found in zip(columns, outcomes, strict=True)
        ),
        problems=tuple(
            problem_view(name, columns, outcomes, evidence, text_budget, conversation_budget) for name in names
        ),
        verdicts=tuple(Verdict.model_validate(_plain_tree(verdict.model_dump())) for verdict in verdicts),
        baseline=BaselineView(
            one_line(evidence.baseline.label), one_line(evidence.baseline.model), correctness(pinned, k)
        )
        if evidence.baseline is not None
        else None,
        sweep=_sweep(runs),
    )


def _sweep(runs: Sequence[Run]) -> Sweep | None:
    try:
        return sweep_of(runs)
    except UsageError:  # no two candidates differ in one setting only
        return None


def _unchanged_only(pinned: Samples, baseline: CandidateSamples | None, run: Run) -> Samples:
    digests = baseline.problem_digests if baseline is not None else {}
    return {
        problem: samples
        for problem, samples in pinned.items()
        if digests.get(problem) == run.manifest.problems.get(problem, "")
    }


def _plain_tree(value: Any) -> Any:
    if isinstance(value, str):
        return one_line(value, 2000)
    if isinstance(value, dict):
        return {key: _plain_tree(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_plain_tree(entry) for entry in value)
    return value


def _by_problem(run: Run, key: str) -> dict[str, list[Outcome]]:
    found: dict[str, list[Outcome]] = {}
    for outcome in sorted(run.of(key), key=lambda outcome: outcome.sample):
        if outcome.problem in run.manifest.problems:
            found.setdefault(outcome.problem, []).append(outcome)
    return found


def _run(run: Run, terms: ReportTerms, verdicts: Sequence[Verdict]) -> RunView:
    manifest = run.manifest
    words = dict.fromkeys(found.words for found in run.assurances)
    return RunView(
        id=one_line(manifest.id),
        trace_id=manifest.trace_id,
        created=one_line(manifest.created),
        codegate=one_line(manifest.codegate),
        suite=one_line(manifest.suite),
        suite_digest=one_line(manifest.suite_digest),
        sandbox=one_line(manifest.sandbox),
        assurance=one_line("; ".join(words) or f"not verified ({manifest.sandbox})", 500),
        weaknesses=tuple(
            dict.fromkeys(one_line(clause, 300) for found in run.assurances for clause in found.weaknesses)
        ),
        samples=manifest.samples,
        confirmation=_confirmation_cost(run.confirmation, terms) if run.confirmation is not None else None,
        unfinished=_unfinished(run, verdicts),
    )


def _unfinished(run: Run, verdicts: Sequence[Verdict]) -> str | None:
    """Return a sentence about missing outcomes, or None.

    None if there is a verdict, because a gate may stop sampling early.
    """
    wanted = {*run.manifest.outcome_keys()}
    made = len(wanted.intersection(outcome.key for outcome in run.outcomes))
    if made == len(wanted) or {spec.key() for spec in run.manifest.candidates} & {one.candidate for one in verdicts}:
        return None
    if run.manifest.sequential:
        return f"run {one_line(run.manifest.id)} has {made} of at most {len(wanted)} outcomes."
    return f"run {one_line(run.manifest.id)} is unfinished: {made} of {len(wanted)} outcomes."


def _confirmation_cost(run: Run, terms: ReportTerms) -> str:
    parts = []
    for spec in run.manifest.candidates:
        spent = measure(spec, _by_problem(run, spec.key()), terms).costs
        paid = f", {dollars(spent.total_usd)}" if spent.total_usd is not None else ""
        lost = (
            f"; {count_of(one.count, 'sample')} lost to {one.cause}: {one.message.rstrip('.')}"
            for one in _faults(run.of(spec.key()))
        )
        parts.append(
            f"the pinned {one_line(spec.label)} was sampled again to confirm the regression: "
            f"{count_of(spent.attempts, 'attempt')}{paid}{''.join(lost)}"
        )
    return "; ".join(parts)


def _candidate(
    run: Run,
    spec: CandidateSpec,
    found: Mapping[str, list[Outcome]],
    measures: Measures,
    judged: JudgeCounts | None,
    *,
    label_run: bool,
    evidence: Evidence,
) -> CandidateView:
    everything = [outcome for entries in found.values() for outcome in entries]
    label = one_line(spec.label)
    models = _ranked(
        Counter(one_line(model) for outcome in everything if outcome.attempt for model in outcome.attempt.models)
    )
    return CandidateView(
        key=spec.key(),
        label=f"{label} ({one_line(run.manifest.id)})" if label_run else label,
        model=one_line(spec.model or spec.provider),
        run=one_line(run.manifest.id),
        pass_rate=measures.correctness.pass_at_1,
        planned=_planned(run, everything),
        graded=sum(outcome.grade is not None for outcome in everything),
        measures=measures,
        faults=_faults(everything),
        contamination=_contamination(spec, everything),
        doubts=(*_several_models(models), *_doubts(everything)),
        served=_undated_model(spec, models),
        judged=judged,
        refused=_refused(everything),
        harness=_harness_use(spec, everything),
        harness_changes=harness_diff(evidence.harness, spec.harness) if evidence.baseline is not None else (),
    )


def _judge_counts(found: Mapping[str, Sequence[Outcome]], judged: RecordedJudgements | None) -> JudgeCounts | None:
    if judged is None:
        return None
    verdicts = judged.verdicts
    pairs = [
        [(one.grade.resolved, verdicts[one.key]) for one in outcomes if one.grade is not None and one.key in verdicts]
        for outcomes in found.values()
    ]
    every = [pair for entries in pairs for pair in entries]
    if not every:
        return None

    def parts(solved: Iterable[bool], right: bool | None) -> Estimate:
        """Return the share of judged attempts with the verdict ``right``.

        Only attempts count whose real result (solved or not) is in ``solved``. With ``right`` None, the result is the
        share of verdicts that agree with execution.
        """
        of = [[pair for pair in entries if pair[0] in solved and pair[1] is not None] for entries in pairs]
        counts = [(sum(said == (truth if right is None else right) for truth, said in one), len(one)) for one in of]
        return pooled_share(counts, of="attempts")

    return JudgeCounts(
        judge=one_line(judged.header.judge),
        solved_passed=every.count((True, True)),
        solved_failed=every.count((True, False)),
        broken_passed=every.count((False, True)),
        broken_failed=every.count((False, False)),
        unclear=sum(said is None for _, said in every),
        agreement=parts((True, False), None),
        broken_passed_share=parts((False,), True),
        solved_passed_share=parts((True,), True),
    )


def _refused(outcomes: Iterable[Outcome]) -> tuple[tuple[str, int], ...]:
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        if outcome.attempt is not None and outcome.attempt.agent is not None:
            for what, n in outcome.attempt.agent.refused.items():
                counts[one_line(what)] += n
    return _ranked(counts)


def _ranked(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _planned(run: Run, made: Sequence[Outcome]) -> int:
    """Return how many attempts a candidate should have by now.

    In a run with several planned comparisons, samples after the newest of the outcomes ``made`` do not count.
    """
    planned = run.manifest.planned()
    if not run.manifest.sequential:
        return len(planned)
    last = max((outcome.sample for outcome in made), default=-1)
    return sum(sample <= last for _, sample in planned)


def _several_models(models: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    if len(models) < 2:
        return ()
    named = ", ".join(f"{model} ({count_of(attempts, 'attempt')})" for model, attempts in models[:FEW])
    return (f"{len(models)} models answered, so these are results of no single one: {named}",)


def _undated_model(spec: CandidateSpec, models: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    if names_one_model(spec):
        return ()
    answered = f"; served as {', '.join(model for model, _ in models[:FEW])}" if models else ""
    return (f"{one_line(spec.model)}: its provider gives no dated name, so the model behind it may change{answered}",)


def _doubts(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    graded = [(one_line(outcome.problem), outcome.grade) for outcome in outcomes if outcome.grade is not None]
    passes = [(problem, grade) for problem, grade in graded if grade.resolved]
    lower = sorted({problem for problem, grade in passes if grade.controlled is False})
    found = []
    if reused := sum(outcome.reused for outcome in outcomes):
        found.append(
            f"{reused} of {len(outcomes)} answers were made and paid for by earlier runs (--cache): a change of the "
            "model since then is not seen"
        )
    if lower:
        count = sum(grade.controlled is False for _, grade in passes)
        found.append(
            f"{count} of {len(passes)} passes could not be cross-checked (a fail-to-pass test has no control, which is "
            f"no fault): {join_first(lower)}"
        )
    signs = list(
        dict.fromkeys(f"{problem}: {one_line(sign, 300)}" for problem, grade in graded for sign in grade.suspicious)
    )
    found += signs[:MOST_LISTED]
    if len(signs) > MOST_LISTED:
        found.append(f"{len(signs) - MOST_LISTED} more suspicious signs are in the attempts")
    return tuple(found)


def _contamination(spec: CandidateSpec, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    if spec.provider == "reference":
        return ()
    recited = {outcome.problem for outcome in outcomes if outcome.recited}
    known = [outcome.recall for outcome in outcomes if outcome.recall is not None]
    repeated = sum(recall >= _VERBATIM for recall in known)
    told = {one.problem for one in outcomes if one.harness_recall is not None and one.harness_recall >= _TOLD}
    found = []
    if told:
        named = join_first(sorted(map(one_line, told)))
        found.append(f"its harness holds at least {_TOLD:.0%} of the fix word for word (of {named})")
    if recited:
        found.append(f"it recites the suite's canary (on {join_first(sorted(map(one_line, recited)))})")
    if repeated:
        found.append(
            f"{repeated} of {len(known)} answers to long fixes repeat at least {_VERBATIM:.0%} of them word for word"
        )
    return tuple(found)


def _faults(outcomes: Iterable[Outcome]) -> tuple[FaultCount, ...]:
    messages: dict[str, list[str]] = {}
    for outcome in outcomes:
        for prefix, fault in (("", outcome.fault), ("full test suite: ", outcome.regressions_fault)):
            if fault is not None:
                messages.setdefault(prefix + one_line(fault.cause), []).append(fault.message)
    return tuple(FaultCount(cause, len(said), one_line(said[0], 300)) for cause, said in sorted(messages.items()))


def _harness_use(spec: CandidateSpec, outcomes: Iterable[Outcome]) -> str:
    if spec.agent is None or spec.harness is None:
        return ""
    attempts = [outcome.attempt for outcome in outcomes if outcome.attempt and outcome.attempt.agent]
    used = {name for attempt in attempts if attempt.agent for name in attempt.agent.used}
    asked = {spec.model, *(model for attempt in attempts for model in attempt.usage.helpers)}
    models = [(f"{role} model {model}", model) for role, model in spec.harness.models.items()]
    used |= {name for name, model in models if model in asked}
    agent = agent_named(spec.agent.name)
    parts = [name for name, _ in (*harness_parts(agent, spec.harness, spec.agent.version), *models)]
    unused = [one_line(name) for name in parts if name not in used]
    never = f"; never: {join_first(unused)}" if unused else ""
    return f"Harness: {len(parts) - len(unused)} of {count_of(len(parts), 'part')} used{never}"


def harness_diff(before: Harness | None, after: Harness | None) -> tuple[str, ...]:
    """Return the changes since the baseline's harness, as diff lines."""
    old, new = _harness_files(before), _harness_files(after)
    changes: dict[str, TreeFile | None] = {**dict.fromkeys(old), **new}
    try:
        lines = make_patch(Tree(old), changes).split("\n")
    except UsageError:  # a foreign run's harness can have invalid paths
        return ()
    shown = [line for line in lines if line and not line.startswith(_DIFFERENCE_HEADERS)]
    more = [f"{len(shown) - _DIFFERENCE_LINES} more lines"] if len(shown) > _DIFFERENCE_LINES else []
    return tuple(one_line(line, 200) for line in (*shown[:_DIFFERENCE_LINES], *more))


def _harness_files(harness: Harness | None) -> dict[str, TreeFile]:
    return {
        file.path: TreeFile(file.content(), "100755" if file.program else "100644")
        for file in (harness.laid if harness else None) or ()
    }
