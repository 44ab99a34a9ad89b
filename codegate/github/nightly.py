"""Mode ``nightly``: a sample of the pinned model each night, against what was pinned and the nights before."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from codegate.errors import ExitCode, UsageError
from codegate.gating import load_pinned
from codegate.github.archive import read_members
from codegate.github.artifacts import artifacts_named, download_artifact
from codegate.github.client import GitHub, GitHubError
from codegate.github.commands import Command
from codegate.github.event import Event
from codegate.github.gated import progress_to, run_request, write_run_reports
from codegate.github.inputs import Inputs
from codegate.github.project import Project
from codegate.github.step import Annotation, Result, figures
from codegate.github.trust import check_run, default_branch
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
        UsageError: nothing is pinned.
        CodegateError: as ``run_suite``.
    """
    if project.lock is None:
        raise UsageError("no baseline is pinned, so there is nothing to watch.", "Pin one: docs/baseline.md.")
    pinned = load_pinned(project.lock)
    history = inputs.reports / HISTORY
    inputs.reports.mkdir(parents=True, exist_ok=True)
    if event is not None and github is not None:
        _fetch_history(inputs, event, github, history, step)
    spec = pinned.spec.model_copy(update={"prices": project.settings.prices.get(pinned.spec.model)})
    request = run_request(inputs, project, folder, candidates=(spec,), samples=inputs.samples or 1, gated=False)
    run, journal = run_suite(request, progress_to(step), step.log)
    view = write_run_reports(inputs, project, run, journal, (), step)
    code = run_exit_code(run, ())
    if code != ExitCode.PASS:
        return Result(code, figures(view, (), code), render_markdown(view), view=view)
    command(["history", "append", str(folder), "--history", str(history)])
    done = command(["history", "watch", "--history", str(history), "--baseline", str(project.lock)])
    alarms = _alarms(done.document)
    kind = "regressed" if done.code == ExitCode.REGRESSED else "pass"
    said: list[Annotation] = [("error" if level == "page" else "warning", "codegate", text) for level, text in alarms]
    summary = f"## codegate: nightly, {kind}\n{notes_summary([text for _, text in alarms])}\n{render_markdown(view)}"
    outputs = figures(view, (), code) | {"verdict": kind}
    return Result(done.code, outputs, summary, tuple(said), view=view)


def _alarms(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(str(alarm["level"]), str(alarm["text"])) for alarm in document.get("alarms", ())]


def _fetch_history(inputs: Inputs, event: Event, github: GitHub, history: Path, step: StepLog) -> None:
    """Write the nights before, as the newest trusted run of this workflow kept them; without any, begin anew."""
    notes: list[str] = []
    try:
        branch = default_branch(github, event)
        for artifact in artifacts_named(github, inputs.artifact_name)[:_NIGHTS_TRIED]:
            try:
                # A night that paged somebody ended red, and is as good a witness as the others.
                check_run(github, artifact, branch, event.workflow_path, {"success", "failure"})
                data = download_artifact(github, artifact, _MAX_ARCHIVE_BYTES)
                found = read_members(data, {HISTORY: _MAX_HISTORY_BYTES}, artifact.words())
            except (UsageError, GitHubError) as error:
                notes.append(f"Not used: {artifact.words()}: {error.cause}")
                continue
            if HISTORY in found:
                history.write_bytes(found[HISTORY])
                return
    except GitHubError as error:
        notes.append(str(error))
    _say(step, (*notes, "no earlier night was found: the watch begins with this one"))


def _say(step: StepLog, lines: Sequence[str]) -> None:
    for line in lines:
        step.log(line)
