"""Modes ``gate``, ``plan`` and ``merge``: run candidates, compare them with the pinned baseline, report."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from codegate import operations
from codegate.candidates import CandidateSpec
from codegate.errors import ExitCode, UsageError
from codegate.github.inputs import Inputs
from codegate.github.project import Project
from codegate.github.resume import resumed
from codegate.github.step import Result, annotations, figures
from codegate.github.workflow import StepLog, notes_summary
from codegate.operations import Report
from codegate.reporting import render_console, render_markdown, terms_of
from codegate.running import Progress, RunOptions, RunRequest, plan_shards, shard_folders
from codegate.suite import images_of


def gate_step(inputs: Inputs, project: Project, folder: Path, step: StepLog) -> Result:
    """Run the candidates, or their part of a shared run, in ``folder`` and report; a part is compared with nothing.

    Raises:
        CodegateError: as ``operations.run``.
    """
    request = run_request(inputs, project, folder, step)
    terms = terms_of(project.settings)
    report = operations.run(request, progress_to(step), step.log, reports=inputs.reports, terms=terms)
    part = report.run.manifest.shard
    if part is None:
        return _result(inputs, project, report, step)
    kind = "ungated" if report.exit_code == ExitCode.PASS else "infrastructure"
    text = f"shard {part.words} of run {report.run.manifest.id} is done; mode merge puts the shards together."
    return Result(report.exit_code, {"verdict": kind, "run-id": report.run.manifest.id}, f"codegate: {text}\n")


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
    shards, terms = shard_folders([inputs.shards_path]), terms_of(project.settings)
    report = operations.merge(shards, folder, project.gate, run_id=inputs.run_id, reports=inputs.reports, terms=terms)
    return _result(inputs, project, report, step)


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
        UsageError: as ``resumed``.
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
        gate=project.gate if gated else None,
        shard=inputs.shard,
        images=images_of(project.pinned.baseline.samples.conditions) if project.pinned is not None else {},
    )
    return resumed(request, inputs, folder, step)


def log_report(report: Report, project: Project, step: StepLog) -> None:
    """Show a report in the log, and what there is to know about the baseline."""
    step.log(render_console(report.view))
    for note in project.pinned.notes if project.pinned is not None else ():
        step.log(note)


def progress_to(step: StepLog) -> Callable[[Progress], None]:
    """Return what shows each outcome in the log."""
    return lambda done: step.log(
        f"[{done.done}/{done.total}] {done.candidate}: {done.outcome.problem} {done.outcome.words()}"
    )


def _result(inputs: Inputs, project: Project, report: Report, step: StepLog) -> Result:
    log_report(report, project, step)
    wanted = inputs.on_inconclusive or project.settings.gate.on_inconclusive
    # What could not be compared was not measured: unless an input says so, it does not go in as if it had been.
    if inputs.on_inconclusive is None and any(verdict.kind == "incomparable" for verdict in report.verdicts):
        wanted = "fail"
    notes = project.pinned.notes if project.pinned is not None else ()
    return Result(
        report.exit_code,
        figures(report.view, report.exit_code),
        render_markdown(report.view) + notes_summary(notes),
        annotations(report.verdicts, report.exit_code, wanted),
        wanted,
        report.view,
    )
