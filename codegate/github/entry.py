"""The action's entry point: inputs and event in; outputs, summary, annotations and the exit code out."""

import contextlib
import os
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec, check_base_url
from codegate.errors import CodegateError, ExitCode, Interrupted, UsageError
from codegate.forge import GitHub
from codegate.github.baselines import keep_step, pin_step
from codegate.github.container import leave_to_child
from codegate.github.event import Event, read_event, refusal
from codegate.github.gated import gate_step, merge_step, plan_step
from codegate.github.inputs import Inputs, read_inputs
from codegate.github.nightly import nightly_step
from codegate.github.pinned import fetch_pinned
from codegate.github.project import project_of
from codegate.github.report import report_step
from codegate.github.resume import fetch_run, with_resumption, without_command
from codegate.github.step import COMMENT_URL, OUTPUTS, Result, Skipped, bug, conclude, fault
from codegate.github.suites import mine_step, validate_step
from codegate.github.told import tell
from codegate.github.workflow import StepLog, open_log, write_outputs
from codegate.sandbox import reap_job

__all__ = ["OUTPUTS", "reap_action", "run_action"]

_ASKING: Final = frozenset({"gate", "plan", "merge"})
_BOTS_WITHOUT_SECRETS: Final = frozenset({"dependabot[bot]"})


def run_action(environment: Mapping[str, str]) -> ExitCode:
    """Run the action in ``environment`` (the process's own) and return the exit code of the step.

    Outputs, summary and annotations are written however it ends, and nothing that is printed meanwhile can give the
    runner a command. An error that codegate did not expect is a bug: it says so, and ends with 4.

    Args:
        environment: where inputs, event and credentials are.
    """
    if os.getpid() == 1:
        leave_to_child()
    with open_log(environment) as step:
        inputs: Inputs | None = None
        event: Event | None = None
        try:
            inputs = _fresh(read_inputs(environment))
            event = read_event(environment) if environment.get("GITHUB_EVENT_NAME") else None
            result = _run(inputs, event, environment, step)
        except CodegateError as error:
            result = fault(without_command(error))
        except KeyboardInterrupt:
            result = fault(Interrupted("the step was cancelled."))
        except Exception:
            result = bug(step, traceback.format_exc())
        if inputs is not None:
            _give_back(inputs)
            result = replace(result, outputs=_with_paths(result.outputs, inputs))
            result = with_resumption(result, inputs, event, _run_folder(inputs))
        code = conclude(step, environment, result)
        # A step that was cancelled has a few seconds, and what cancelled it has more to say.
        posts = inputs is not None and inputs.token and inputs.mode != "report" and result.code != ExitCode.INTERRUPTED
        if inputs is not None and event is not None and posts:
            _afterwards(result, inputs, event, environment, step)
        return code


def reap_action(environment: Mapping[str, str]) -> ExitCode:
    """Remove what the steps of the job left of their sandboxes; nothing of it changes how the job ends."""
    with open_log(environment) as step:
        try:
            count = reap_job(environment)
        except CodegateError as error:
            step.log(str(error))
        else:
            step.log(f"{count} sandboxes were left over" if count else "no sandbox was left over")
    return ExitCode.PASS


def _run(inputs: Inputs, event: Event | None, environment: Mapping[str, str], step: StepLog) -> Result:
    github = GitHub(event.api_url, event.repository, inputs.token) if event is not None and inputs.token else None
    if inputs.mode == "report":
        return report_step(inputs, event, github, environment, step)
    if event is not None and (reason := refusal(event)) is not None:
        raise UsageError(reason)
    with tempfile.TemporaryDirectory(dir=environment.get("RUNNER_TEMP") or None) as scratch:
        return _carry_out(inputs, event, github, environment, Path(scratch), step)


def _carry_out(
    inputs: Inputs,
    event: Event | None,
    github: GitHub | None,
    environment: Mapping[str, str],
    scratch: Path,
    step: StepLog,
) -> Result:
    folder, base = _run_folder(inputs), event.base_sha if event is not None else None
    if inputs.mode == "mine":
        return mine_step(inputs, step)
    if inputs.mode == "validate":
        return validate_step(inputs, base, scratch, step)
    making = inputs.mode == "baseline" and bool(inputs.candidates)
    project = project_of(inputs, base, scratch, asks=making or inputs.mode in _ASKING)
    if event is not None and _keyless(event, environment):
        _check_keyless(project.settings.candidates, project.trusted)
    if project.lock is not None:
        # What is made anew needs none; the images of one that can be read here are used all the same.
        with contextlib.suppress(CodegateError) if making else contextlib.nullcontext():
            pinned = fetch_pinned(None if making else github, event, project.lock, inputs.workspace)
            project = replace(project, pinned=pinned)
    if making or inputs.mode in {"gate", "nightly"}:
        fetch_run(inputs, event, github, folder, step)
    match inputs.mode:
        case "plan":
            return plan_step(inputs, project, step)
        case "merge":
            return merge_step(inputs, project, folder, step)
        case "nightly":
            return nightly_step(inputs, project, event, github, folder, step)
        case "baseline" if making:
            return pin_step(inputs, project, event, folder, step)
        case "baseline":
            return keep_step(inputs, project, step)
        case _:
            return gate_step(inputs, project, folder, step)


def _afterwards(result: Result, inputs: Inputs, event: Event, environment: Mapping[str, str], step: StepLog) -> None:
    """Post the result on GitHub; whatever becomes of that, the verdict stands."""
    try:
        github = GitHub(event.api_url, event.repository, inputs.token)
        url = tell(result, inputs, event, github, environment, step)
        if url is not None:
            write_outputs(environment, {COMMENT_URL: url})
    except CodegateError as error:
        step.annotate("warning", "codegate", str(error))
    except Exception:
        step.annotate("warning", "codegate", f"this is a bug in codegate; {traceback.format_exc(limit=-3)}")


def _keyless(event: Event, environment: Mapping[str, str]) -> bool:
    """Return whether GitHub keeps the repository's secrets from this run."""
    return event.fork or environment.get("GITHUB_ACTOR") in _BOTS_WITHOUT_SECRETS


def _check_keyless(candidates: Sequence[CandidateSpec], trusted: Sequence[CandidateSpec]) -> None:
    """Refuse to ask a model that needs a key: there is none, and what is no key must not become one.

    A server on this machine needs none, nor does one at a private address. The latter counts only where the base
    commit's configuration names it: a stranger's proposal must not choose which server of a private network is asked.

    Raises:
        Skipped: some candidate is such a one.
    """
    known = {(spec.base_url, spec.api_key_env) for spec in trusted if spec.allow_http}
    for spec in candidates:
        here = spec.base_url is not None and check_base_url(spec.base_url, allow_http=spec.allow_http)
        if spec.calls_a_model and not here and not (spec.allow_http and (spec.base_url, spec.api_key_env) in known):
            raise Skipped(
                f"{spec.label} needs a key, or is at an address that the base commit does not name; pull requests from "
                "forks and of Dependabot get no secrets: nothing was run.",
                "A maintainer can run the gate on a branch of this repository.",
            )


def _run_folder(inputs: Inputs) -> Path:
    return inputs.reports / "run"


def _fresh(inputs: Inputs) -> Inputs:
    """Refuse a run folder that is there: another step's, or a link that a stranger's branch brought."""
    if os.path.lexists(_run_folder(inputs)):
        raise UsageError(
            f"{_for_later_steps(_run_folder(inputs), inputs)} exists already.",
            "Give every step that runs codegate its own `report-path`, and commit none of it.",
        )
    return inputs


def _for_later_steps(path: Path, inputs: Inputs) -> str:
    """Return ``path`` relative to the workspace: outside of this container the workspace is another folder."""
    return path.relative_to(inputs.workspace).as_posix()


def _with_paths(outputs: dict[str, str], inputs: Inputs) -> dict[str, str]:
    run = _run_folder(inputs)
    return {
        **outputs,
        "report-path": _for_later_steps(inputs.reports, inputs) if inputs.reports.is_dir() else "",
        "run-path": _for_later_steps(run, inputs) if (run / "run.json").is_file() else "",
    }


def _give_back(inputs: Inputs) -> None:
    """Give what was written to the owner of the workspace: root's files would break the next checkout there."""
    if os.geteuid() != 0:
        return
    owner = inputs.workspace.stat()
    mined = (inputs.workspace / inputs.suite,) if inputs.mode == "mine" and inputs.suite else ()
    for top in (inputs.reports, *mined):
        if not top.is_dir() or top.is_symlink():
            continue
        with contextlib.suppress(OSError):
            for folder in (top, *(above for above in top.parents if above.is_relative_to(inputs.workspace))):
                os.lchown(folder, owner.st_uid, owner.st_gid)
            for parent, names, files in os.walk(top):
                for name in (*names, *files):
                    os.lchown(Path(parent) / name, owner.st_uid, owner.st_gid)
