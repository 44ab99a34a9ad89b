"""Resume an earlier step's run, or reuse its samples.

A workflow uploads every run of codegate as an artifact. Finished runs are kept too, because a repeated gate uses their
samples. The artifact decides a verdict, so it must come from a trusted workflow run: an earlier attempt of this one, or
a run of this workflow on the default branch that a member started. The run is resumed only if this step would plan the
same run. Candidates, addresses and keys are never taken from the artifact.
"""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Final

from codegate.candidates.endpoint import MissingKey
from codegate.durable import write_atomic
from codegate.errors import CodegateError, ExitCode, Interrupted, UsageError
from codegate.forge import GitHub
from codegate.github.artifacts import (
    Artifact,
    check_workflow_run,
    default_branch,
    download_artifact,
    list_artifacts,
    read_members,
)
from codegate.github.inputs import AUTO
from codegate.github.step import Job, Result
from codegate.github.workflow import notes_summary
from codegate.running import RunSpec
from codegate.running.calls import CallLimitReached
from codegate.running.gate import Unfinished
from codegate.running.journal import MANIFEST, RUN_FILES, Journal
from codegate.running.session import check_same_plan
from codegate.suite.store import NotASuite

_MAKING: Final = frozenset({"gate", "nightly", "baseline"})
_UNFINISHED: Final = frozenset({ExitCode.USAGE, ExitCode.INFRASTRUCTURE, ExitCode.INTERRUPTED})
_ENDED: Final = frozenset({"success", "failure", "cancelled", "timed_out"})
_FAILED: Final = '"Re-run failed jobs"'
_ALL: Final = '"Re-run all jobs"'
_MAX_ARCHIVE_BYTES: Final = 512 << 20
_MAX_BYTES: Final = 2 << 30


def fetch_run(job: Job) -> None:
    """Download the run that the input ``resume`` names, if set.

    The input is the number of a workflow run, or ``auto`` for an earlier attempt of this one. With ``auto``, a missing
    or broken artifact only logs a warning, and nothing is downloaded.

    Raises:
        UsageError: the workflow run's artifact is missing or broken, or this event cannot resume a run.
        Untrusted: the artifact is not from a trusted workflow run.
    """
    inputs, event, github = job.inputs, job.event, job.github
    if inputs.resume is None:
        return
    automatic = inputs.resume == AUTO
    if automatic and (event is None or event.run_attempt < 2):
        return
    if automatic and event is not None and event.fork:
        job.log.warn("a fork's run is not resumed: this is a new run, which pays for every answer and may decide anew.")
        return
    if event is None or github is None:
        raise UsageError("input `resume` needs a workflow's event and the input `github-token`.")
    if event.fork:
        raise UsageError("the run of a pull request from a fork is not resumed.", "Leave out the input `resume`.")
    number = event.run_id if automatic else int(inputs.resume)
    kept = (one for one in list_artifacts(github, inputs.run_artifact, number) if not one.expired)
    artifact = next(kept, None)
    if artifact is None and automatic:
        job.log.warn(
            f"GitHub lists no artifact {inputs.run_artifact} of an earlier attempt: this is a new run, which pays for "
            f"every answer. After {_ALL} GitHub lists none of them: choose {_FAILED}.",
        )
        return
    if artifact is None:
        raise UsageError(
            f"workflow run {number} has no artifact {inputs.run_artifact}.",
            "The message of the step that stopped names the run to resume; an artifact ends after its retention.",
        )
    if number != event.run_id:
        check_workflow_run(github, artifact, default_branch(github, event), event.workflow_path, _ENDED)
    try:
        _unpack(github, artifact, job.folder)
    except UsageError as error:
        shutil.rmtree(job.folder, ignore_errors=True)
        if not automatic:
            raise
        job.log.warn(f"this is a new run, because the earlier attempt's cannot be read: {error.cause}")
        return
    job.log.log(f"resuming the run in {artifact} of workflow run {number}")


def _unpack(github: GitHub, artifact: Artifact, folder: Path) -> None:
    data = download_artifact(github, artifact, _MAX_ARCHIVE_BYTES)
    for name, content in read_members(data, RUN_FILES.fullmatch, _MAX_BYTES, str(artifact)):
        write_atomic(folder / name, content)
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"{artifact} holds no run: it has no {MANIFEST}.", "Leave out the input `resume`.")
    Journal.open(folder).load()


def with_downloaded_run(spec: RunSpec, job: Job) -> RunSpec:
    """Return ``spec``, resuming the downloaded run if there is one."""
    if job.inputs.resume is None or not (job.folder / MANIFEST).exists():
        return spec
    try:
        check_same_plan(job.folder, spec)
    except UsageError as error:
        if job.inputs.resume != AUTO:
            raise
        job.log.warn(f"this is a new run, because the earlier attempt's cannot be continued: {error.cause}")
        shutil.rmtree(job.folder)
        return spec
    return replace(spec, out=None, resume=job.folder)


def with_workflow_advice(error: CodegateError) -> CodegateError:
    """Return ``error`` with advice that fits a workflow."""
    if isinstance(error, Unfinished):  # an unfinished shard, whose folder is lost with the container
        remedy = f"Choose {_FAILED}: with `resume: auto` each shard goes on where it stopped. A limit is raised first."
        return Unfinished(error.cause, remedy)
    if isinstance(error, NotASuite):
        return NotASuite(error.cause, "Run codegate-mine, and commit the suite that it keeps.")
    if isinstance(error, MissingKey):
        place = f"As a secret of the repository, and in `env` of the step: {error.variable}."
        return MissingKey(error.cause, f"{error.remedy} {place}", error.variable)
    return type(error)(error.cause) if isinstance(error, CallLimitReached | Interrupted) else error


def with_resumption(result: Result, job: Job) -> Result:
    """Return ``result``, with advice on resuming an unfinished run."""
    if job.inputs.mode not in _MAKING or result.code not in _UNFINISHED or not (job.folder / MANIFEST).is_file():
        return result
    # Only a run without a base commit (no pull request, no merge queue) can be continued by another workflow run.
    number = job.event.run_id if job.event is not None and job.base is None else 0
    text = (
        f"The run is unfinished. What it has paid for is kept where the workflow uploads `run-path` as the artifact "
        f"{job.inputs.run_artifact}. To continue it, choose {_FAILED} (with `resume: auto`)"
        + (f", or start this workflow on the default branch with `resume: {number}`" if number else "")
        + f". {_ALL} begins anew. If a limit of calls or dollars stopped it, raise the input `max-model-calls` or "
        "`budget-usd` first; the shipped workflows read them from the repository variables CODEGATE_MAX_MODEL_CALLS "
        "and CODEGATE_BUDGET_USD."
    )
    return replace(
        result,
        outputs=result.outputs | {"resumable": "true"},
        summary=result.summary + notes_summary((text,)),
        annotations=(*result.annotations, ("notice", "codegate: resumable", text)),
    )
