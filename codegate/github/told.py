"""Where a result is said besides the step: the pull request's comment, a check run, the nightly issue.

Nothing here changes what the step ends with: what GitHub refuses becomes a warning that names the missing right.
"""

import re
from collections.abc import Mapping
from typing import Final

from codegate.forge import GitHub
from codegate.github.check import write_check
from codegate.github.comment import upsert_comment
from codegate.github.event import Event
from codegate.github.inputs import Inputs
from codegate.github.issue import tell_nightly
from codegate.github.said import Said
from codegate.github.step import Result
from codegate.github.workflow import StepLog
from codegate.reporting import render_comment, render_notice

_MODES: Final = frozenset({"gate", "merge"})
_FINE: Final = frozenset({"pass", "ungated", "skipped"})


def gate_key(environment: Mapping[str, str], inputs: Inputs) -> str:
    """Return the name of this gate among others: its workflow, its job, and the suite where the input names one."""
    words = [environment.get(name, "") for name in ("GITHUB_WORKFLOW", "GITHUB_JOB")]
    found = re.sub(r"[^A-Za-z0-9]+", "-", "-".join([*words, inputs.suite or ""])).strip("-")
    return found[:100].strip("-") or "gate"


def tell(
    result: Result, inputs: Inputs, event: Event, github: GitHub, environment: Mapping[str, str], step: StepLog
) -> str | None:
    """Say the result where the inputs ask for it, and return where the pull request or the issue was told."""
    told: list[Said] = []
    key = gate_key(environment, inputs)
    if inputs.mode in _MODES and inputs.shard is None and event.pull is not None:
        if event.fork:
            step.log("a pull request from a fork has no right to comment: the workflow codegate-comment does it")
        else:
            begin = _begins(inputs, result.verdict)
            told.append(upsert_comment(github, event.pull.number, key, _body(result, event), begin=begin))
            told += _check(result, inputs, event, github, key)
    elif inputs.mode in _MODES and inputs.shard is None:
        told += _check(result, inputs, event, github, key)
    elif inputs.mode == "nightly" and inputs.issue and result.verdict in {"regressed", "pass"}:
        told.append(tell_nightly(github, key, _body(result, event), result.verdict == "regressed"))
    for said in told:
        if said.warning:
            step.annotate("warning", "codegate", said.warning)
    return next((said.url for said in told if said.url), None)


def _begins(inputs: Inputs, verdict: str) -> bool:
    """Return whether a comment is begun; one that is there is kept up to date in any case."""
    match inputs.comment:
        case "always":
            return True
        case "changes":
            return verdict != "pass"
        case "regression":
            return verdict == "regressed"
        case _:
            return False


def _body(result: Result, event: Event) -> str:
    notices = "\n".join(message for _, _, message in result.annotations)
    if result.view is None:
        return render_notice(
            result.verdict, notices, run_url=event.run_url, fault=result.verdict not in _FINE
        )  # fmt: skip
    body = render_comment(result.view, run_url=event.run_url, commit=event.head_sha)
    if result.view.verdicts or not notices:
        return body
    return f"{render_notice(result.verdict, notices, fault=result.verdict not in _FINE)}\n{body}"


def _check(result: Result, inputs: Inputs, event: Event, github: GitHub, key: str) -> list[Said]:
    if not inputs.check:
        return []
    return [
        write_check(
            github,
            event.head_sha,
            f"codegate ({key})",
            result.verdict,
            _body(result, event),
            details_url=event.run_url,
            on_inconclusive=result.on_inconclusive,
        )
    ]
