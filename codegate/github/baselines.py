"""Mode ``baseline``: samples of a model become a baseline; or the pinned one is kept from expiring."""

from pathlib import Path, PurePosixPath

from codegate import operations
from codegate.durable import write_atomic
from codegate.errors import ExitCode, UsageError
from codegate.gating import Transport
from codegate.gating.pinning import MIN_SAMPLES
from codegate.github.event import Event
from codegate.github.gated import progress_to, run_request
from codegate.github.inputs import Inputs
from codegate.github.project import Project
from codegate.github.step import Result, Skipped
from codegate.github.workflow import StepLog, notes_summary
from codegate.running import BASELINE_SAMPLES, run_exit_code, run_suite


def keep_step(inputs: Inputs, project: Project, step: StepLog) -> Result:
    """Put the pinned baseline and its lock among the reports, to be uploaded again before its artifact ends.

    Raises:
        Skipped: nothing is pinned.
    """
    pinned = project.pinned
    if pinned is None:
        raise Skipped("no baseline is pinned.", "Set the input `candidates`: the model to make one of.")
    write_atomic(inputs.reports / PurePosixPath(pinned.lock.baseline).name, pinned.data)
    write_atomic(inputs.reports / "codegate.lock", pinned.lock_data)
    text = f"the pinned baseline of {pinned.baseline.samples.label} is kept as it is, {pinned.baseline.digest[:12]}"
    step.log(text)
    return Result(ExitCode.PASS, {"verdict": "pass"}, f"## codegate: baseline kept\n{notes_summary((text,))}")


def pin_step(inputs: Inputs, project: Project, event: Event | None, folder: Path, step: StepLog) -> Result:
    """Make samples of the one candidate in ``folder``, and a baseline of them with the lock that would pin it.

    Nothing is pinned: that is what the commit of the lock does, which people review.

    Raises:
        UsageError: there is not one candidate, or too few samples are asked for.
        CodegateError: as ``run_suite``.
    """
    samples = inputs.samples or BASELINE_SAMPLES
    if len(project.settings.candidates) != 1:
        raise UsageError("a baseline is of one model.", "Name one in the input `candidates`.")
    if samples < MIN_SAMPLES:
        raise UsageError(f"a baseline needs {MIN_SAMPLES} samples per problem.", f"Ask for {BASELINE_SAMPLES}.")
    request = run_request(inputs, project, folder, step, samples=samples, gated=False)
    run, _ = run_suite(request, progress_to(step), step.log)
    code = run_exit_code(run, ())
    if code != ExitCode.PASS:
        return Result(code, {"verdict": "infrastructure"}, "## codegate: no baseline\n\nSome attempts have no grade.\n")
    baseline, lock = inputs.reports / "baseline.json", inputs.reports / "codegate.lock"
    operations.pin([operations.samples_of(run)], baseline, lock, transport=_transport(inputs, event))
    lines = ("Commit this as codegate.lock to pin it:", "", *lock.read_text(encoding="utf-8").splitlines())
    return Result(ExitCode.PASS, {"verdict": "pass"}, f"## codegate: baseline made\n{notes_summary(lines)}")


def _transport(inputs: Inputs, event: Event | None) -> Transport | None:
    if event is None or not event.workflow_path:
        return None
    return Transport(artifact=inputs.artifact_name, workflow=event.workflow_path)
