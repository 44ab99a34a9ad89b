"""The GitHub Action's entry point."""

import contextlib
import os
import signal
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from codegate.candidates import CandidateSpec, has_key
from codegate.durable import write_atomic
from codegate.errors import CodegateError, ExitCode, Interrupted, UsageError
from codegate.forge import GitHub
from codegate.github import modes
from codegate.github.environments import take_environments
from codegate.github.event import read_event, refusal, with_merged_base
from codegate.github.inputs import Inputs, read_inputs
from codegate.github.nightly import nightly
from codegate.github.pinned import fetch_pinned
from codegate.github.publish import publish
from codegate.github.report import report
from codegate.github.resume import fetch_run, with_resumption, with_workflow_advice
from codegate.github.step import (
    COMMENT_URL,
    NO_SECRETS,
    NOT_GATED,
    Job,
    NotGated,
    Result,
    bug_result,
    conclude,
    fault_result,
)
from codegate.github.upgrades import upgrades
from codegate.github.workflow import open_log, write_outputs
from codegate.operations.rules import project_of
from codegate.sandbox import cache_folder, reap_job
from codegate.suite import git

BASE_VARIABLE: Final = "CODEGATE_BASE"
"""Environment variable with the event's base commit, for a script in the input ``run``; empty without a base."""

_NEED_CANDIDATES: Final = frozenset({"gate", "plan", "merge"})
_BOTS_WITHOUT_SECRETS: Final = frozenset({"dependabot[bot]"})
_WATCHED: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM})
_STOP_SECONDS: Final = 7


@click.command()
@click.option("--reap", is_flag=True, help="Only remove the sandboxes that the job's steps left behind.")
def command(reap: bool) -> ExitCode:
    """Run as a GitHub Action from INPUT_* and GITHUB_* variables.

    Writes the step's outputs and summary.
    """
    if reap:
        return reap_action(os.environ)
    if os.getpid() == 1:
        run_in_child()
    if script := os.environ.get("INPUT_RUN", "").strip():
        with contextlib.suppress(UsageError):  # a script needs no usable event
            event = with_merged_base(read_event(os.environ), Path())
            os.environ[BASE_VARIABLE] = event.base_sha or ""
        os.execvp("bash", ["bash", "-e", "-o", "pipefail", "-c", script])  # noqa: S606  the workflow's own
    return run_action(os.environ)


def run_action(environment: Mapping[str, str]) -> ExitCode:
    """Run the action; return the step's exit code.

    ``environment`` is the process's own. Outputs, summary and annotations are written however the action ends, and
    nothing printed meanwhile can give the runner a command. An unexpected error is reported as a bug, with exit code 4.
    """
    with open_log(environment) as log:
        job: Job | None = None
        try:
            inputs = read_inputs(environment)
            _check_new_run(inputs)
            job = Job(inputs, None, None, environment, log)
            job = _with_event(job)
            result = _run(job)
        except CodegateError as error:
            result = fault_result(with_workflow_advice(error))
        except KeyboardInterrupt:
            result = fault_result(Interrupted("the step was cancelled."))
        except Exception:
            result = bug_result(log, traceback.format_exc())
        if job is not None:
            _give_back(job.inputs, result.outputs.get("suite-path"))
            result = with_resumption(replace(result, outputs=_with_paths(result.outputs, job)), job)
        code = conclude(log, environment, result)
        if job is not None and job.inputs.mode != "report":
            with contextlib.suppress(KeyboardInterrupt):
                _publish(result, job)
        return code


def reap_action(environment: Mapping[str, str]) -> ExitCode:
    """Remove the job's sandboxes; give files to the workspace's owner."""
    with open_log(environment) as log:
        with contextlib.suppress(CodegateError):  # the step itself has reported the wrong input
            _give_back(read_inputs(environment))
        try:
            count = reap_job(environment)
        except CodegateError as error:
            log.log(str(error))
        else:
            log.log(f"{count} sandboxes were left over" if count else "no sandbox was left over")
    return ExitCode.PASS


def _with_event(job: Job) -> Job:
    if not job.environment.get("GITHUB_EVENT_NAME"):
        return job
    named, token = read_event(job.environment), job.inputs.token
    event = with_merged_base(named, job.inputs.workspace)
    if event.base_sha != named.base_sha:
        job.log.log(f"the base commit is {event.base_sha}, which GitHub merged into; the event has an older one")
    return replace(job, event=event, github=GitHub(event.api_url, event.repository, token) if token else None)


def _run(job: Job) -> Result:
    if job.inputs.mode == "report":
        return report(job)
    if job.event is not None and (reason := refusal(job.event)) is not None:
        raise UsageError(reason)
    if job.inputs.cache is not None:
        _not_in_checkout(job.inputs, job.inputs.cache)
    with tempfile.TemporaryDirectory(dir=job.environment.get("RUNNER_TEMP") or None) as scratch:
        return _run_mode(job, Path(scratch))


def _run_mode(job: Job, scratch: Path) -> Result:
    inputs, event, mode = job.inputs, job.event, job.inputs.mode
    if mode == "mine":
        return modes.mine(job)
    if mode == "upgrades":
        return upgrades(job)
    making = mode == "baseline" and bool(inputs.candidates)
    project = project_of(inputs, job.base, scratch, needs_candidates=making or mode in _NEED_CANDIDATES)
    bot = job.environment.get("GITHUB_ACTOR") in _BOTS_WITHOUT_SECRETS
    if event is not None and (event.fork or (event.pull is not None and bot)):
        _check_keyless(job, project.settings.candidates)
    if job.base is not None and project.lock is None and project.gate is None and mode in _NEED_CANDIDATES:
        return modes.ungated(job.base)
    if project.lock is not None:
        try:
            project = project.with_pinned(fetch_pinned(job.github, event, project.lock, inputs.workspace))
        except CodegateError as error:
            # A new baseline needs no old one. If there is one, its images are used and its samples kept.
            if not making:
                raise
            job.log.log(f"the new baseline does not have the pinned one's samples: {error}")
    if making or mode in {"gate", "nightly"}:
        fetch_run(job)
        # Written early, so that a later step keeps the run even if this one is killed. The end of the step replaces
        # them.
        write_outputs(job.environment, {"run-path": _for_later_steps(job.folder, inputs), "resumable": "true"})
    if mode in {"gate", "nightly", "baseline"}:
        take_environments(job, project.pinned.lock if project.pinned is not None else None)
    match mode:
        case "plan":
            return modes.plan(job, project)
        case "merge":
            return modes.merge(job, project)
        case "nightly":
            return nightly(job, project)
        case "baseline":
            return modes.make_baseline(job, project) if making else modes.keep_baseline(job, project)
        case _:
            return modes.gate(job, project)


def _publish(result: Result, job: Job) -> None:
    try:
        url = publish(result, job)
        if url is not None:
            write_outputs(job.environment, {COMMENT_URL: url})
    except CodegateError as error:
        job.log.warn(str(error))
    except Exception:
        job.log.warn(f"this is a bug in codegate; {traceback.format_exc(limit=-3)}")


def _check_keyless(job: Job, candidates: Sequence[CandidateSpec]) -> None:
    """Raise NotGated if a candidate's API key is missing.

    Call this for pull requests that often get no secrets, such as forks' pull requests. A server over plain http needs
    no key: it is on this machine or at a private address, and the base commit's configuration names it.
    """
    for spec in (one for candidate in candidates for one in (candidate, *candidate.helpers)):
        if not spec.calls_a_model or (spec.base_url or "").startswith("http://"):
            continue
        if not has_key(spec):
            text = f"not gated: {spec.label} needs a key, and {NO_SECRETS}"
            if job.event is not None and job.event.fork:
                write_atomic(job.inputs.reports / NOT_GATED, f"{text}\n".encode())
            raise NotGated(text)


def _not_in_checkout(inputs: Inputs, folder: Path) -> None:
    """Raise UsageError if the cache folder is in the checkout.

    The author of a pull request could have written files of the checkout.
    """
    place = folder.relative_to(inputs.workspace).as_posix()
    top = place.partition("/")[0]
    for path in (
        git(inputs.workspace, "ls-files", "-z", "--", f":(top,literal){top}").decode("utf-8", "replace").split("\0")
    ):
        if path and (f"{path}/".startswith(f"{place}/") or place.startswith(f"{path}/")):  # the last: in a submodule
            raise UsageError(
                f"input `cache`: {place} is part of the checkout, so the answers in it are its author's.",
                "Name a folder that the workflow alone fills.",
            )


def _check_new_run(inputs: Inputs) -> None:
    """Raise UsageError if the run's folder exists already.

    A stranger could have made such a folder.
    """
    if os.path.lexists(inputs.reports / "run"):
        raise UsageError(
            f"{_for_later_steps(inputs.reports / 'run', inputs)} exists already.",
            "Give every step that runs codegate its own `report-path`, and commit none of it.",
        )


def _for_later_steps(path: Path, inputs: Inputs) -> str:
    return path.relative_to(inputs.workspace).as_posix()


def _with_paths(outputs: dict[str, str], job: Job) -> dict[str, str]:
    inputs, run = job.inputs, job.folder
    return {
        **outputs,
        "report-path": _for_later_steps(inputs.reports, inputs) if inputs.reports.is_dir() else "",
        "run-path": _for_later_steps(run, inputs) if (run / "run.json").is_file() else "",
    }


def _give_back(inputs: Inputs, suite: str | None = None) -> None:
    """Give written files to the workspace's owner.

    Root wrote them in the action's container.
    """
    if os.geteuid() != 0:
        return
    made = suite or (inputs.suite if inputs.mode == "mine" else None)
    written = (inputs.reports, inputs.cache, cache_folder(), made and inputs.workspace / made)
    owner = inputs.workspace.stat()
    for top in {Path(place).resolve() for place in written if place}:
        if inputs.workspace not in top.parents:
            continue
        with contextlib.suppress(OSError):
            for folder in (top, *(above for above in top.parents if above.is_relative_to(inputs.workspace))):
                os.lchown(folder, owner.st_uid, owner.st_gid)
            for parent, names, files in os.walk(top):
                for name in (*names, *files):
                    os.lchown(Path(parent) / name, owner.st_uid, owner.st_gid)


def run_in_child() -> None:
    """Fork; return in the child, and wait in the parent.

    The parent is process 1, which has to reap orphans. The kernel takes no default action for a signal to it, so a
    second cancel could not end it. The parent passes SIGINT and SIGTERM on to the child. The parent exits with the
    child's exit code, or with 128 + n if signal n killed the child. Seven seconds after a signal the parent kills the
    child: the runner waits for ten, and then leaves a container that continues to spend money. Signals are blocked
    before the fork and waited for with ``sigwait``: a handler could miss a signal just before a blocking system call.
    The parent exits directly, because the command line would turn exit code 1 into 4.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    while True:
        number = signal.sigwait(_WATCHED)
        if number == signal.SIGALRM:
            os.kill(child, signal.SIGKILL)
            os._exit(ExitCode.INTERRUPTED)
        if number != signal.SIGCHLD:
            signal.alarm(_STOP_SECONDS)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)
            continue
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                code = os.waitstatus_to_exitcode(ended[1])
                os._exit(code if code >= 0 else 128 - code)
