"""Publish a step's result on GitHub or in a chat."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import requests

from codegate.errors import CodegateError, InfrastructureError, UsageError
from codegate.github.event import Event
from codegate.github.inputs import Inputs
from codegate.github.posts import PostResult, plain_name, post_check, post_comment, post_issue
from codegate.github.step import Job, Result
from codegate.reporting import COMMENT_LIMIT, NO_BASELINE, one_line, render_comment, render_notice

_MESSAGE: Final = 2000  # most characters of a message to a chat
_FINE: Final = frozenset({"pass", "ungated", "skipped"})
WEBHOOK_VARIABLE: Final = "CODEGATE_WEBHOOK"
"""Variable with the webhook's address. The address is a secret, because it is all that a sender needs."""

_TEAMS: Final = (".logic.azure.com", ".powerplatform.com")
_LOOPBACK: Final = ("127.0.0.1", "localhost")
_CHAT_SECONDS: Final = 15.0


def gate_key(environment: Mapping[str, str], inputs: Inputs, *more: str) -> str:
    """Return this gate's key, which marks its posts.

    The key consists of the workflow, the job, the inputs that name what is gated, and ``more``.
    """
    words = (environment.get("GITHUB_WORKFLOW", ""), environment.get("GITHUB_JOB", ""), inputs.suite or "")
    more = (inputs.config or "", inputs.baseline or "", *inputs.candidates, *more)
    return plain_name(words, more, unique=_is_unique(*words)) or "gate"


def _is_unique(workflow: str, job: str, suite: str) -> bool:
    """Return whether no other words make the same name.

    Workflow, job and suite are joined by dashes, so other words can make the same name.
    """
    # Names of at most three parts are taken to have no suite; longer ones, a workflow and a job of one part each.
    parts, folders = workflow.split(" "), suite.split("/") if suite else []
    few = (len(parts) == 1 and len(folders) > 1) if suite else len(parts) <= 2
    return few and all(part.isalnum() for part in (*parts, job, *folders) if part)


def publish(result: Result, job: Job) -> str | None:
    """Publish the result as configured; return the post's address.

    The post is a comment or an issue; None if there is none. A step that was stopped has only a few seconds, so it only
    updates an existing comment.
    """
    inputs, event, github = job.inputs, job.event, job.github
    if event is None or github is None:
        return None
    key, kind = gate_key(job.environment, inputs), result.verdict
    stopped, posted = kind == "interrupted", list[PostResult]()
    if inputs.mode == "nightly" and inputs.issue and kind in {"regressed", "pass"}:
        posted.append(post_issue(github, key, _body(result, event), kind == "regressed"))
    elif inputs.mode in {"gate", "merge"} and inputs.shard is None:
        forked = event.pull is not None and event.fork
        if forked:
            job.log.log("a pull request from a fork has no right to comment: the workflow codegate-comment does it")
        elif event.pull is not None:
            body, begin = _body(result, event), _begins(inputs.comment, kind) and not stopped
            posted.append(post_comment(github, event.pull.number, key, body, begin=begin))
        if inputs.check and not forked and not stopped:
            name, body = f"codegate ({key})", _body(result, event)
            undecided = result.on_inconclusive
            posted.append(
                post_check(
                    github, event.head_sha, name, kind, body, details_url=event.run_url, on_inconclusive=undecided
                )
            )
    if inputs.mode == "nightly" and kind == "regressed":
        notices = " ".join(message for level, _, message in result.annotations if level == "error")
        try:
            post_message(job.environment, one_line(f"codegate ({key}): {notices} {event.run_url or ''}", _MESSAGE))
        except CodegateError as error:
            posted.append(PostResult("nothing", warning=str(error)))
    for one in posted:
        if one.warning:
            job.log.warn(one.warning)
    return next((one.url for one in posted if one.url), None)


def _begins(when: str, kind: str) -> bool:
    return when == "always" or (when == "changes" and kind != "pass") or (when == "regression" and kind == "regressed")


def _body(result: Result, event: Event) -> str:
    messages = [message for _, _, message in result.annotations]
    if result.view is None:
        fault, text = result.verdict not in _FINE, "\n".join(messages)
        return render_notice(result.verdict, text, run_url=event.run_url, commit=event.head_sha, fault=fault)
    notice, notices = "", "\n".join(message for message in messages if message != NO_BASELINE)  # the comment says it
    if notices and not result.view.verdicts:
        notice = f"{render_notice(result.verdict, notices, fault=result.verdict not in _FINE)}\n"
    room = COMMENT_LIMIT - len(notice.encode("utf-8", "replace"))
    return notice + render_comment(
        result.view, run_url=event.run_url, commit=event.head_sha, notes=result.notes, limit=room
    )


def post_message(environment: Mapping[str, str], text: str) -> None:
    """Send ``text`` to a chat; keep its webhook's address secret."""
    address = environment.get(WEBHOOK_VARIABLE, "").strip()
    if not address:
        return
    remedy = f"Check the address in {WEBHOOK_VARIABLE}."
    try:
        parts = urlsplit(address)
    except ValueError:
        raise UsageError("the webhook's address is none.", remedy) from None
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise UsageError("the webhook's address does not begin with https://.", remedy)
    try:
        answer = requests.post(address, json=_document(address, text), timeout=_CHAT_SECONDS, allow_redirects=False)
    except (requests.RequestException, ValueError) as error:  # urllib3's errors are ValueErrors
        raise InfrastructureError(f"the webhook cannot be reached: {type(error).__name__}.", remedy) from None
    if not answer.ok or answer.is_redirect:
        raise InfrastructureError(f"the webhook answered {answer.status_code}.", remedy)


def _document(address: str, text: str) -> dict[str, Any]:
    """Return the JSON that the chat's webhook expects.

    Slack, Mattermost, Google Chat: {"text": …} (api.slack.com/messaging/webhooks). Microsoft Teams' workflows take an
    Adaptive Card instead (learn.microsoft.com, "Create incoming webhooks with Workflows").
    """
    if not (urlsplit(address).hostname or "").endswith(_TEAMS):
        # Escaped by Slack's rule. A space of no width keeps ``@name`` from notifying people.
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return {"text": escaped.replace("@", "@\u200b")}
    # Not a TextBlock, because it would read Markdown.
    body = {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text}]}
    card = {"type": "AdaptiveCard", "version": "1.4", "body": [body]}
    return {
        "type": "message",
        "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}],
    }
