"""Mode ``report``: a comment for a run that had no right to write one, because a stranger's commit was in it."""

from collections.abc import Mapping

from codegate.errors import ExitCode, UsageError
from codegate.forge import GitHub
from codegate.github.archive import read_members
from codegate.github.artifacts import download_artifact, list_artifacts
from codegate.github.comment import pull_number, upsert_comment
from codegate.github.event import Event
from codegate.github.inputs import Inputs
from codegate.github.step import COMMENT_URL, Result, Skipped
from codegate.github.told import gate_key
from codegate.github.workflow import StepLog, write_outputs
from codegate.reporting import MAX_RESULT_BYTES, read_result, render_comment

_RESULT = "report.json"
_MAX_ARCHIVE_BYTES = 256 << 20


def report_step(
    inputs: Inputs, event: Event | None, github: GitHub | None, environment: Mapping[str, str], step: StepLog
) -> Result:
    """Comment what the run that ended reported, on the pull request that GitHub says is its own.

    Nothing that the run wrote decides anything: not the verdict of this step, and not where it is said.

    Raises:
        Skipped: the run left no report, or its pull request is closed or has moved on.
        UsageError: this is no ``workflow_run``, there is no token, or the report is not one.
        GitHubError: no answer that can be used.
    """
    if event is None or event.workflow_run is None:
        raise UsageError("mode report is for the event workflow_run.", "See docs/action.md, forks.")
    if github is None:
        raise UsageError("mode report needs the input `github-token`.")
    run = event.workflow_run
    artifacts = list_artifacts(github, inputs.artifact_name, run.id)
    if not artifacts:
        raise Skipped(f"run {run.id} has no artifact {inputs.artifact_name}: it reported nothing.")
    number = pull_number(github, event)
    if number is None:
        raise Skipped(f"run {run.id} belongs to no open pull request whose head it still is.")
    data = download_artifact(github, artifacts[0], _MAX_ARCHIVE_BYTES)
    members = dict(read_members(data, {_RESULT}.__contains__, MAX_RESULT_BYTES, str(artifacts[0])))
    if _RESULT not in members:
        raise Skipped(f"{artifacts[0]} has no {_RESULT}: the run reported nothing.")
    view = read_result(members[_RESULT])
    url = f"{event.server_url}/{event.repository}/actions/runs/{run.id}"
    body = render_comment(view, run_url=url, commit=run.head_sha, claimed=True)
    said = upsert_comment(github, number, gate_key(environment, inputs), body)
    if said.warning:
        step.annotate("warning", "codegate", said.warning)
    if said.url is not None:
        write_outputs(environment, {COMMENT_URL: said.url})
    return Result(ExitCode.PASS, {"verdict": "ungated"}, f"codegate: the comment on #{number} was {said.did}.\n")
