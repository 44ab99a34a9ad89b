"""Mode ``nightly``: a sample of the pinned model each night, against what was pinned and the nights before."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from codegate import operations
from codegate.errors import ExitCode
from codegate.forge import GitHub, Gone
from codegate.github.archive import read_members
from codegate.github.artifacts import Artifact, download_artifact, list_artifacts
from codegate.github.event import Event
from codegate.github.gated import log_report, progress_to, run_request
from codegate.github.inputs import Inputs
from codegate.github.project import Project
from codegate.github.step import Annotation, Result, Skipped, figures
from codegate.github.trust import Untrusted, check_origin, check_run, default_branch
from codegate.github.workflow import StepLog, notes_summary
from codegate.reporting import render_markdown, terms_of

HISTORY: Final = "history.jsonl"
_MAX_HISTORY_BYTES: Final = 32 << 20
_MAX_ARCHIVE_BYTES: Final = 1 << 30
_NIGHTS_TRIED: Final = 5


def nightly_step(
    inputs: Inputs, project: Project, event: Event | None, github: GitHub | None, folder: Path, step: StepLog
) -> Result:
    """Run the pinned model again in ``folder``, and compare with the baseline and the nights before.

    Raises:
        Skipped: nothing is pinned.
        CodegateError: as ``operations.run``; the nights before cannot be had.
    """
    if project.pinned is None:
        raise Skipped("no baseline is pinned, so there is nothing to watch.", "Pin one: docs/baseline.md.")
    pinned = project.pinned.baseline
    if pinned.spec.provider == "predictions":
        raise Skipped(
            f"the answers of {pinned.spec.label} came from a file, so there is no model to watch.",
            "Pin a run of a model, or leave out the nightly workflow.",
        )
    history = inputs.reports / HISTORY
    inputs.reports.mkdir(parents=True, exist_ok=True)
    if event is not None and github is not None:
        _fetch_history(inputs, event, github, history, step)
    spec = pinned.spec.model_copy(update={"prices": project.settings.prices.get(pinned.spec.model)})
    request = run_request(inputs, project, folder, step, candidates=(spec,), samples=inputs.samples or 1, gated=False)
    report = operations.run(
        request, progress_to(step), step.log, reports=inputs.reports, terms=terms_of(project.settings), baseline=pinned
    )
    log_report(report, project, step)
    outputs = figures(report.view, report.exit_code)
    if report.exit_code != ExitCode.PASS:
        return Result(report.exit_code, outputs, render_markdown(report.view), view=report.view)
    operations.append(history, [report.run])
    found = operations.watch(history, pinned)
    compared = any(report.run.manifest.id in night.runs for night in found.nights)
    # A night that was compared with nothing is no recovery, and closes no issue.
    kind, code = ("pass", ExitCode.PASS) if compared else ("incomparable", ExitCode.INCONCLUSIVE)
    if found.pages:
        kind, code = "regressed", ExitCode.REGRESSED
    alarms: tuple[Annotation, ...] = tuple(
        ("error" if alarm.level == "page" else "warning", "codegate", alarm.text) for alarm in found.alarms
    )
    notes = notes_summary([alarm.text for alarm in found.alarms])
    summary = f"## codegate: nightly, {kind}\n{notes}\n{render_markdown(report.view)}"
    wanted = inputs.on_inconclusive or "fail"
    return Result(code, outputs | {"verdict": kind}, summary, alarms, wanted, report.view)


def _fetch_history(inputs: Inputs, event: Event, github: GitHub, history: Path, step: StepLog) -> None:
    """Write the nights before, as the newest trusted run of this workflow kept them; without such a run, begin anew.

    Raises:
        GitHubError: GitHub did not answer: a history that is there must not be lost to that.
        UsageError: what a trusted run kept is broken.
    """
    branch = default_branch(github, event)
    for artifact in _trusted(github, inputs.artifact_name, branch, event.workflow_path):
        try:
            data = download_artifact(github, artifact, _MAX_ARCHIVE_BYTES)
        except Gone:
            continue
        for _, found in read_members(data, {HISTORY}.__contains__, _MAX_HISTORY_BYTES, str(artifact)):
            history.write_bytes(found)
            return
    step.log("no earlier night was found: the watch begins with this one")


def _trusted(github: GitHub, name: str, branch: str, workflow: str) -> Iterator[Artifact]:
    """Yield the newest artifacts of trusted runs. Those of others do not count: anybody can upload many."""
    tried = 0
    for artifact in list_artifacts(github, name):
        try:
            check_origin(artifact, branch)
            tried += 1
            if tried > _NIGHTS_TRIED:
                return
            # A night that paged somebody ended red, and is as good a witness as the others.
            check_run(github, artifact, branch, workflow, {"success", "failure"})
        except Untrusted:
            continue
        yield artifact
