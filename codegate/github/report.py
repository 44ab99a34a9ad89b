"""Mode ``report``: comment on behalf of a fork's run.

A run on a stranger's commit has no right to comment.
"""

from collections.abc import Iterator
from typing import Any

from codegate.errors import ExitCode, UsageError
from codegate.forge import GitHub, GitHubError, Gone
from codegate.github.artifacts import download_artifact, list_artifacts, read_members
from codegate.github.event import Event, WorkflowRun
from codegate.github.posts import item_number, post_comment
from codegate.github.publish import gate_key
from codegate.github.step import COMMENT_URL, NO_SECRETS, NOT_GATED, Job, Result
from codegate.github.workflow import fault_summary, write_outputs
from codegate.operations.rules import Skipped
from codegate.reporting import MAX_RESULT_BYTES, read_result, render_comment, render_notice
from codegate.wording import documentation

_RESULT = "report.json"
_MAX_ARCHIVE_BYTES = 256 << 20


def report(job: Job) -> Result:
    """Post an ended workflow run's report on its pull request.

    That run is untrusted. It decides neither this step's verdict nor where the report is posted.
    """
    github, event = job.github, job.event
    if event is None or event.workflow_run is None:
        raise UsageError("mode report is for the event workflow_run.", f"See {documentation('action.md#forks')}.")
    if github is None:
        raise UsageError("mode report needs the input `github-token`.")
    run, name = event.workflow_run, job.inputs.artifact_name
    artifacts = list_artifacts(github, name, run.id)
    if not artifacts:
        raise Skipped(f"run {run.id} has no artifact {name}: it reported nothing.")
    number = pull_number(github, event)
    if number is None:
        raise Skipped(f"run {run.id} belongs to no open pull request whose head it still is.")
    try:
        data = download_artifact(github, artifacts[0], _MAX_ARCHIVE_BYTES)
        members = dict(read_members(data, {_RESULT, NOT_GATED}.__contains__, MAX_RESULT_BYTES, str(artifacts[0])))
        view = read_result(members[_RESULT]) if _RESULT in members and NOT_GATED not in members else None
    except (UsageError, Gone) as error:  # a broken artifact of a stranger must not fail this step
        text = f"run {run.id} reported nothing that can be shown: {error.cause}"
        return Result(
            ExitCode.PASS,
            {"verdict": "skipped"},
            fault_summary("skipped", text),
            (("warning", "codegate: skipped", text),),
        )
    url = f"{event.server_url}/{event.repository}/actions/runs/{run.id}"
    if NOT_GATED in members:  # a report beside the mark came from the checkout; the mark's text is untrusted
        body = render_notice("skipped", f"not gated: {NO_SECRETS}", run_url=url, commit=run.head_sha, fault=False)
    elif view is not None:
        body = render_comment(view, run_url=url, commit=run.head_sha, claimed=True)
    else:
        raise Skipped(f"{artifacts[0]} has no {_RESULT}: the run reported nothing.")
    key = gate_key(job.environment, job.inputs, name, str(run.workflow_id))  # one comment per gate
    posted = post_comment(github, number, key, body)
    if posted.warning:
        job.log.warn(posted.warning)
    if posted.url is not None:
        write_outputs(job.environment, {COMMENT_URL: posted.url})
    return Result(ExitCode.PASS, {"verdict": "ungated"}, f"codegate: the comment on #{number} was {posted.did}.\n")


def pull_number(github: GitHub, event: Event) -> int | None:
    """Return the number of an ended workflow run's pull request.

    None if the run's commit is the head of no open pull request. GitHub is queried by the run's commit, then by its
    branch: the event names no pull request of a fork, and a number in the run's artifact could be forged.
    """
    run = event.workflow_run
    if run is None or run.event not in {"pull_request", "pull_request_target"} or event.repository_id is None:
        return None
    return min(
        (
            item_number(pull, "number")
            for pull in _pulls(github, run)
            if pull.get("state") == "open"
            and _has_head(pull, run)
            and _part(_part(pull, "base"), "repo").get("id") == event.repository_id
        ),
        default=None,
    )


def _pulls(github: GitHub, run: WorkflowRun) -> Iterator[dict[str, Any]]:
    found = []
    try:
        found = list(github.pages(github.repo(f"commits/{run.head_sha}/pulls")))
    except GitHubError as error:
        if error.status not in {404, 422}:  # 404 and 422: the commit is not in this repository
            raise
    yield from found
    if run.head_repository is not None and run.head_branch and not any(_has_head(pull, run) for pull in found):
        owner = run.head_repository.partition("/")[0]
        yield from github.pages(github.repo("pulls"), state="open", head=f"{owner}:{run.head_branch}")


def _has_head(pull: dict[str, Any], run: WorkflowRun) -> bool:
    head = _part(pull, "head")
    home = _part(head, "repo").get("id")
    return head.get("sha") == run.head_sha and home is not None and home == run.head_repository_id


def _part(document: dict[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}
