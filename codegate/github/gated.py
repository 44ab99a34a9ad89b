"""Modes ``gate``, ``plan`` and ``merge``: run candidates, compare them with the pinned baseline, report."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from codegate.candidates import CandidateSpec
from codegate.errors import ExitCode, UsageError
from codegate.gating import GatePolicy, Verdict, load_pinned
from codegate.github.inputs import Inputs, OnInconclusive
from codegate.github.project import Project
from codegate.github.resume import resumed
from codegate.github.step import Result, annotations, figures
from codegate.github.workflow import StepLog, notes_summary
from codegate.reporting import (
    ReportView,
    build_view,
    gather,
    render_console,
    render_markdown,
    terms_of,
    write_reports,
)
from codegate.running import (
    Gate,
    Journal,
    Progress,
    Run,
    RunOptions,
    RunRequest,
    gate_run,
    merge_shards,
    pinned_images,
    plan_shards,
    run_exit_code,
    run_suite,
    shard_folders,
)


def gate_step(inputs: Inputs, project: Project, folder: Path, step: StepLog) -> Result:
    """Run the candidates, or their part of a shared run, in ``folder`` and report; a part is compared with nothing.

    Raises:
        CodegateError: as ``run_suite``.
    """
    run, journal = run_suite(run_request(inputs, project, folder, step), progress_to(step), step.log)
    part = run.manifest.shard
    if part is None:
        return _told(inputs, project, run, journal, step)
    code = run_exit_code(run, ())
    kind = "ungated" if code == ExitCode.PASS else "infrastructure"
    text = f"shard {part.words} of run {run.manifest.id} is done; mode merge puts the shards together."
    return Result(code, {"verdict": kind, "run-id": run.manifest.id}, f"codegate: {text}\n")


def plan_step(inputs: Inputs, project: Project, step: StepLog) -> Result:
    """Return the parts of a shared run as a matrix, each with its ``shard`` and a ``name`` that artifacts can have.

    Raises:
        UsageError: the input ``shards`` is missing, or nothing can be planned.
    """
    if inputs.shards is None:
        raise UsageError("mode plan needs the input `shards`.", "Say how many jobs share the run.")
    plan = plan_shards(run_request(inputs, project, Path(), step), inputs.shards)
    parts = [{"shard": shard, "name": shard.replace("/", "-of-")} for shard in plan.shards]
    text = f"run {plan.run_id} in {len(parts)} shards"
    step.log(text)
    outputs = {"matrix": json.dumps({"include": parts}), "run-id": plan.run_id, "verdict": "ungated"}
    return Result(ExitCode.PASS, outputs, f"codegate: {text}.\n")


def merge_step(inputs: Inputs, project: Project, folder: Path, step: StepLog) -> Result:
    """Put the shards of a run together in ``folder``, compare the whole with the baseline, and report.

    Raises:
        UsageError: a shard is missing, doubled or another run's.
    """
    if inputs.run_id is None:
        raise UsageError("mode merge needs the input `run-id`.", "Pass on the output `run-id` of mode plan.")
    shards = shard_folders([inputs.shards_path])
    journal = merge_shards(shards, folder, run_id=inputs.run_id, gate=_gate(project))
    return _told(inputs, project, journal.load(), journal, step)


def run_request(
    inputs: Inputs,
    project: Project,
    folder: Path,
    step: StepLog,
    *,
    candidates: Sequence[CandidateSpec] = (),
    samples: int | None = None,
    gated: bool = True,
) -> RunRequest:
    """Return what is run in ``folder``, by the inputs and else by the configuration.

    Args:
        inputs: of the step.
        project: what is run.
        folder: of the run; where ``fetch_run`` has written one into it, that is continued.
        step: logs what is continued.
        candidates: instead of the project's.
        samples: instead of what inputs and configuration say.
        gated: with the project's baseline, where it has one.

    Raises:
        UsageError: the baseline is broken, which is better known before anything is spent; or as ``resumed``.
    """
    settings = project.settings
    options = RunOptions(
        models=inputs.models or settings.concurrency.models,
        sandboxes=inputs.jobs or settings.concurrency.sandboxes,
        max_model_calls=inputs.max_model_calls or settings.max_model_calls,
        budget_usd=settings.budget_usd if inputs.budget_usd is None else inputs.budget_usd,
        repository=project.repository,
        transcripts=project.transcripts,
    )
    request = RunRequest(
        project.suite,
        candidates or settings.candidates,
        samples or inputs.samples or settings.samples,
        "docker" if settings.sandbox in {"auto", "bwrap"} else settings.sandbox,
        out=folder,
        options=options,
        prices=settings.prices,
        gate=_gate(project) if gated else None,
        shard=inputs.shard,
        images=pinned_images(project.lock) if project.lock is not None else {},
    )
    return resumed(request, inputs, folder, step)


def write_run_reports(
    inputs: Inputs, project: Project, run: Run, journal: Journal, verdicts: Sequence[Verdict], step: StepLog
) -> ReportView:
    """Write the reports of a run, show it in the log, and return what was reported."""
    stored = load_pinned(project.lock).samples if project.lock is not None else None
    view = build_view([run], verdicts, gather([journal], stored, terms_of(project.settings)))
    write_reports(view, inputs.reports)
    step.log(render_console(view))
    for note in project.notes:
        step.log(note)
    return view


def progress_to(step: StepLog) -> Callable[[Progress], None]:
    """Return what shows each outcome in the log."""
    return lambda done: step.log(
        f"[{done.done}/{done.total}] {done.candidate}: {done.outcome.problem} {done.outcome.words()}"
    )


def _on_inconclusive(policy: GatePolicy, verdicts: Sequence[Verdict]) -> OnInconclusive:
    """Return what an undecided verdict does where no input says it.

    What could not be compared was not measured: unless somebody says so, it does not go in as if it had been.
    """
    if any(verdict.kind == "incomparable" for verdict in verdicts):
        return "fail"
    return policy.on_inconclusive


def _gate(project: Project) -> Gate | None:
    return Gate(load_pinned(project.lock), project.settings.gate) if project.lock is not None else None


def _told(inputs: Inputs, project: Project, run: Run, journal: Journal, step: StepLog) -> Result:
    policy = project.settings.gate
    verdicts = gate_run(run, project.lock, policy) if project.lock is not None else ()
    view = write_run_reports(inputs, project, run, journal, verdicts, step)
    code = run_exit_code(run, verdicts)
    wanted = inputs.on_inconclusive or _on_inconclusive(policy, verdicts)
    return Result(
        code,
        figures(view, code),
        render_markdown(view) + notes_summary(project.notes),
        annotations(verdicts, code, wanted),
        wanted,
        view,
    )
