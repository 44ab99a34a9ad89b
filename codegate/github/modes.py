"""The modes ``gate``, ``plan``, ``merge``, ``baseline`` and ``mine``."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from codegate.candidates import CandidateSpec
from codegate.durable import write_atomic
from codegate.errors import ExitCode, UsageError
from codegate.gating import Baseline, Download
from codegate.gating.drift import rate_words
from codegate.gating.pinning import BASELINE_SAMPLES, MIN_SAMPLES, DriftShown
from codegate.github.environments import keep_environments
from codegate.github.event import UNKNOWN_WORKFLOW
from codegate.github.resume import with_downloaded_run
from codegate.github.step import Annotation, Job, Result, step_outputs, verdict_annotations
from codegate.github.workflow import fault_summary, notes_summary
from codegate.mining import MineRequest
from codegate.operations import baselines, runs, suites
from codegate.operations.affected import merged_before
from codegate.operations.rules import Project, Skipped, real_path
from codegate.operations.runs import Report
from codegate.reporting import ProgressLines, render_console, render_markdown, terms_of
from codegate.running import CONFIG_NAME, Progress, RunSpec
from codegate.running.session import plan_shards
from codegate.running.shards import shard_folders
from codegate.sandbox import cache_folder
from codegate.wording import count_of, join_first


def gate(job: Job, project: Project) -> Result:
    """Run the candidates and gate them, or run a shard."""
    report = runs.run(
        run_spec(job, project),
        progress_to(job),
        job.log.log,
        reports=job.inputs.reports,
        terms=terms_of(project.settings),
    )
    shard = report.run.manifest.shard
    if shard is None:
        return _compared(job, project, report)
    kinds = {ExitCode.PASS: "ungated", ExitCode.INCONCLUSIVE: "inconclusive"}
    kind = kinds.get(report.exit_code, "infrastructure")
    text = f"shard {shard.words} of run {report.run.manifest.id} is done; mode merge puts the shards together."
    return Result(report.exit_code, {"verdict": kind, "run-id": report.run.manifest.id}, f"codegate: {text}\n")


def ungated(base: str) -> Result:
    """Return the result of a change that cannot be compared.

    The commit ``base`` has neither a baseline nor critical floors, so no model is called.
    """
    text = (
        f"the base commit {base[:12]} pins no baseline and has no critical floors: nothing can be compared, so no "
        "model was called. Changes are gated from the merge of a codegate.lock on: if this one adds none, run "
        "codegate-baseline and commit the lock in its summary."
    )
    notice: Annotation = ("notice", "codegate: ungated", text)
    return Result(ExitCode.PASS, {"verdict": "ungated"}, fault_summary("ungated", text), (notice,))


def plan(job: Job, project: Project) -> Result:
    """Plan shards; return a job matrix for later jobs.

    Each entry of the matrix has a ``shard``, and its artifact's ``name``.
    """
    if job.inputs.shards is None:
        raise UsageError("mode plan needs the input `shards`.", "Say how many jobs share the run.")
    # The id is the same if the step is repeated, so that shards of an earlier attempt belong to the run.
    name = f"github-{job.event.run_id}" if job.event is not None and job.event.run_id else None
    planned = plan_shards(run_spec(job, project), job.inputs.shards, name)
    parts = [{"shard": shard, "name": shard.replace("/", "-of-")} for shard in planned.shards]
    text = f"run {planned.run_id} in {count_of(len(parts), 'shard')}"
    job.log.log(text)
    outputs = {"matrix": json.dumps({"include": parts}), "run-id": planned.run_id, "verdict": "ungated"}
    return Result(ExitCode.PASS, outputs, f"codegate: {text}.\n")


def merge(job: Job, project: Project) -> Result:
    """Merge a run's shards and gate the run."""
    inputs = job.inputs
    if inputs.run_id is None:
        raise UsageError("mode merge needs the input `run-id`.", "Pass on the output `run-id` of mode plan.")
    report = runs.merge(
        shard_folders([inputs.shards_path]),
        job.folder,
        project.gate,
        run_id=inputs.run_id,
        reports=inputs.reports,
        terms=terms_of(project.settings),
    )
    return _compared(job, project, report)


def keep_baseline(job: Job, project: Project) -> Result:
    """Copy the pinned baseline and its lock into the reports.

    The workflow uploads them again before their artifact expires.
    """
    pinned, reports = project.pinned, job.inputs.reports
    if pinned is None:
        raise Skipped("no baseline is pinned.", "Set the input `candidates`: the model to make one of.")
    write_atomic(reports / PurePosixPath(pinned.lock.baseline).name, pinned.data)
    write_atomic(reports / "codegate.lock", pinned.lock_data)
    keep_environments(job)
    text = f"the pinned baseline of {pinned.baseline.samples.label} is kept as it is, {pinned.baseline.digest[:12]}"
    job.log.log(text)
    return Result(ExitCode.PASS, {"verdict": "pass"}, f"## codegate: baseline kept\n{notes_summary((text,))}")


def make_baseline(job: Job, project: Project) -> Result:
    """Sample the only candidate; write a baseline and its lock.

    If the pinned baseline is of the same model under the same conditions, the samples are added to it. The new baseline
    is pinned only when people commit its lock.
    """
    inputs = job.inputs
    samples = inputs.samples or BASELINE_SAMPLES
    if len(project.settings.candidates) != 1:
        raise UsageError("a baseline is of one model.", "Name one in the input `candidates`.")
    if job.event is not None and not job.event.workflow_path:
        job.log.warn(f"the lock will name no artifact: {UNKNOWN_WORKFLOW}")
    before = _of_same_model(project)
    if samples < MIN_SAMPLES and before is None:
        raise UsageError(f"a baseline needs {MIN_SAMPLES} samples per problem.", f"Ask for {BASELINE_SAMPLES}.")
    spec = run_spec(job, project, samples=samples, gated=False)
    terms = terms_of(project.settings)
    report = runs.run(spec, progress_to(job), job.log.log, reports=inputs.reports, terms=terms)
    if report.exit_code != ExitCode.PASS:
        summary = "## codegate: no baseline\n\nSome attempts have no grade.\n"
        return Result(report.exit_code, {"verdict": "infrastructure"}, summary)
    path, lock = inputs.reports / "baseline.json", inputs.reports / "codegate.lock"
    workflow = job.event.workflow_path if job.event is not None else ""
    transport = Download(artifact=inputs.artifact_name, workflow=workflow) if workflow else None
    kept = keep_environments(job)
    part, notes = baselines.samples_of(report.run), list[str]()

    def write(added_to: Baseline | None) -> Baseline:
        made, _ = baselines.pin([part], path, lock, transport=transport, environments=kept, added_to=added_to)
        return made

    try:
        made = write(before)
    except (DriftShown, UsageError) as error:
        if before is None or samples < MIN_SAMPLES:
            raise
        notes, made = [f"The samples are not added to those that are pinned: {error.cause}", ""], write(None)
    place = inputs.baseline or PurePosixPath(inputs.config or "").parent / project.settings.baseline
    each = count_of(sum(run.samples for run in made.runs), "sample")
    rates = f"It passes {rate_words(made.samples)}"
    if project.pinned is not None:
        rates += f"; the pinned baseline, {rate_words(project.pinned.baseline.samples)}"
    lines = (
        *notes,
        f"{each} per problem, of {count_of(len(made.runs), 'run')}. More of them leave less to luck.",
        f"{rates}.",
        "",
        f"Commit this as {place} to pin it:",
        "",
        *lock.read_text(encoding="utf-8").splitlines(),
    )
    return Result(ExitCode.PASS, {"verdict": "pass"}, f"## codegate: baseline made\n{notes_summary(lines)}")


def _of_same_model(project: Project) -> Baseline | None:
    (candidate,) = project.settings.candidates
    pinned = project.pinned.baseline if project.pinned is not None else None
    return pinned if pinned is not None and pinned.spec.key() == candidate.key() else None


def mine(job: Job) -> Result:
    """Mine the workspace's git history into a suite.

    The suite is written to the input ``suite``, or into the reports' folder.
    """
    inputs = job.inputs
    suite = real_path(inputs.workspace, inputs.suite, "input `suite`") if inputs.suite else inputs.reports / "suite"
    lines = ProgressLines(job.log.log)
    report = suites.mine(
        inputs.workspace,
        suite,
        MineRequest(
            path=inputs.path or "",
            config=real_path(inputs.workspace, inputs.config, "input `config`") if inputs.config else None,
            budget_minutes=inputs.max_minutes,
            jobs=inputs.jobs or 2,
            memory=cache_folder() / "mining",
            sandbox="docker",
        ),
        lambda event: lines(
            event.done, event.total, event.words, important=event.important, waiting=event.kind == "trying"
        ),
    )
    for line in suites.mining_words(report):
        job.log.log(line)
    path = suite.relative_to(inputs.workspace).as_posix()
    code, kind = (ExitCode.PASS, "pass") if report.problems else (ExitCode.INCONCLUSIVE, "error")
    return Result(code, {"suite-path": path, "verdict": kind}, "## codegate: suite mined\n\nThe log says more.\n")


def run_spec(
    job: Job,
    project: Project,
    *,
    candidates: Sequence[CandidateSpec] = (),
    samples: int | None = None,
    gated: bool = True,
) -> RunSpec:
    """Return the run that inputs and configuration describe.

    A downloaded run is continued. ``candidates`` and ``samples`` replace the project's. A ``gated`` run is compared
    with the project's baseline, if any.
    """
    inputs, wanted = job.inputs, project.settings.sandbox
    spec = project.run(
        candidates,
        samples or inputs.samples,
        models=inputs.models,
        jobs=inputs.jobs,
        max_model_calls=inputs.max_model_calls,
        max_minutes=inputs.max_minutes,
        budget_usd=inputs.budget_usd,
        engine="local",  # a pull request must not choose another machine
        # No cache for baselines and nights, which measure today's model, or for pull requests, which could bring
        # answers.
        cache=inputs.cache if gated and job.base is None else None,
    )
    sandbox = "docker" if wanted in {"auto", "bwrap"} else wanted
    if not gated:
        spec = replace(spec, gate=None)
    return with_downloaded_run(replace(spec, sandbox=sandbox, out=job.folder, shard=inputs.shard), job)


def log_report(job: Job, project: Project, report: Report) -> tuple[str, ...]:
    """Log a report; return remarks on its baseline."""
    job.log.log(render_console(report.view))
    notes = (*project.notes, *_merged_before(job, project))
    for note in (*notes, *filter(None, [report.trace])):
        job.log.log(note)
    return notes


def _merged_before(job: Job, project: Project) -> Iterator[str]:
    if job.base is None or project.pinned is None:
        return
    workspace, pinned = job.inputs.workspace, project.pinned.baseline.spec
    folder = (workspace / (job.inputs.config or CONFIG_NAME)).parent
    found = merged_before(workspace, job.base, folder, pinned, project.settings.candidates)
    if found:
        yield (
            f"Changed since the baseline was pinned, but not by this change: {join_first(found)}. The verdict is of "
            "these, too: pin a new baseline."
        )


def progress_to(job: Job) -> Callable[[Progress], None]:
    """Return a function that logs outcomes and delays."""
    lines = ProgressLines(job.log.log)
    return lambda step: lines(step.done, step.total, step.words, important=bool(step.outcome), waiting=True)


def _compared(job: Job, project: Project, report: Report) -> Result:
    notes = log_report(job, project, report)
    wanted = job.inputs.on_inconclusive or project.settings.gate.on_inconclusive
    # An incomparable candidate was not measured, so the step fails, unless the input says otherwise.
    if job.inputs.on_inconclusive is None and any(verdict.kind == "incomparable" for verdict in report.verdicts):
        wanted = "fail"
    return Result(
        report.exit_code,
        step_outputs(report.view, report.exit_code),
        render_markdown(report.view) + notes_summary(notes),
        verdict_annotations(report.verdicts, report.exit_code, wanted),
        wanted,
        report.view,
        notes,
    )
