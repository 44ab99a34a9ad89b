"""Mode ``nightly``: a sample of the pinned model each night, against what was pinned and the nights before."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from codegate.errors import ExitCode
from codegate.forge import GitHub, Gone
from codegate.gating import load_pinned
from codegate.github.archive import read_members
from codegate.github.artifacts import Artifact, download_artifact, list_artifacts
from codegate.github.commands import Command
from codegate.github.event import Event
from codegate.github.gated import progress_to, run_request, write_run_reports
from codegate.github.inputs import Inputs
from codegate.github.project import Project
from codegate.github.step import Annotation, Result, Skipped, figures
from codegate.github.trust import Untrusted, check_origin, check_run, default_branch
from codegate.github.workflow import StepLog, notes_summary
from codegate.reporting import render_markdown
from codegate.running import run_exit_code, run_suite

HISTORY: Final = "history.jsonl"
_MAX_HISTORY_BYTES: Final = 32 << 20
_MAX_ARCHIVE_BYTES: Final = 1 << 30
_NIGHTS_TRIED: Final = 5


def nightly_step(
    inputs: Inputs,
    project: Project,
    event: Event | None,
    github: GitHub | None,
    folder: Path,
    step: StepLog,
    command: Command,
) -> Result:
    """Ask the pinned model anew in ``folder``, and compare with the baseline and the nights before.

    Raises:
        Skipped: nothing is pinned.
        CodegateError: as ``run_suite``; the nights before cannot be had.
    """
    if project.lock is None:
        raise Skipped("no baseline is pinned, so there is nothing to watch.", "Pin one: docs/baseline.md.")
    pinned = load_pinned(project.lock)
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
    run, journal = run_suite(request, progress_to(step), step.log)
    view = write_run_reports(inputs, project, run, journal, (), step)
    code = run_exit_code(run, ())
    if code != ExitCode.PASS:
        return Result(code, figures(view, code), render_markdown(view), view=view)
    command(["history", "append", str(folder), "--history", str(history)])
    done = command(["history", "watch", "--history", str(history), "--baseline", str(project.lock)])
    alarms = _alarms(done.document)
    compared = any(run.manifest.id in night["runs"] for night in done.document["nights"])
    # A night that was compared with nothing is no recovery, and nobody is told that all is well.
    kind = "regressed" if done.code == ExitCode.REGRESSED else "pass" if compared else "incomparable"
    code = done.code if compared or done.code != ExitCode.PASS else ExitCode.INCONCLUSIVE
    said: list[Annotation] = [("error" if level == "page" else "warning", "codegate", text) for level, text in alarms]
    summary = f"## codegate: nightly, {kind}\n{notes_summary([text for _, text in alarms])}\n{render_markdown(view)}"
    outputs = figures(view, code) | {"verdict": kind}
    return Result(code, outputs, summary, tuple(said), inputs.on_inconclusive or "fail", view)


def _alarms(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(str(alarm["level"]), str(alarm["text"])) for alarm in document.get("alarms", ())]


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
