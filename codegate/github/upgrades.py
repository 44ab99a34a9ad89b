"""Mode ``upgrades``: propose each newer model or agent.

Each proposal is a pull request, so that the gate judges it.
"""

import contextlib
from typing import Any, Final

from codegate.errors import ExitCode, UsageError
from codegate.forge import GitHub, GitHubError, NotFound
from codegate.github.posts import plain_name
from codegate.github.step import Annotation, Job, Result
from codegate.github.workflow import notes_summary
from codegate.operations.upgrades import Upgrade, find_upgrades, with_upgrade
from codegate.running import CONFIG_NAME
from codegate.strict import read_text
from codegate.suite.reader import MAX_YAML_BYTES

_RAW: Final = "application/vnd.github.raw+json"
_TREE: Final = "Codegate-Tree: "
_BODY: Final = """\
{words}.

The gate on this pull request runs a candidate that changes against the pinned baseline, and says whether it fixes \
your own bugs as often; a judge is not gated. Where no check starts, close and reopen it: GitHub starts none for a \
pull request that a workflow opened with its own token.

After the merge the old baseline is still pinned: pin a new one with the workflow `codegate-baseline`. Closed \
unmerged, this proposal is not made again.
"""


def upgrades(job: Job) -> Result:
    """Open or update a pull request for each newer version."""
    inputs, event, github = job.inputs, job.event, job.github
    if event is None or github is None or job.base is not None or event.fork:
        raise UsageError(
            "mode upgrades needs the event of a branch and the input `github-token`.", "Start it on a schedule."
        )
    base = job.environment.get("GITHUB_REF_NAME", "")
    path = inputs.config or CONFIG_NAME
    found = find_upgrades(inputs.workspace / path)
    text = read_text(inputs.workspace / path, MAX_YAML_BYTES)
    lines, failed = [], list(found.failed)
    for one in found.found:
        state = ""
        if one.to is not None:
            try:
                state = _propose(github, one, with_upgrade(text, one, path), path, base, event.sha)
            except GitHubError as error:
                failed.append(f"{one.title}: {error}")
        lines.append(f"{one.words()}{state and f': {state}'}")
        job.log.log(lines[-1])
    alarms: tuple[Annotation, ...] = tuple(("warning", "codegate", words) for words in (*failed, *found.unknown))
    code = ExitCode.INFRASTRUCTURE if failed else ExitCode.PASS
    notes = notes_summary([*(lines or [f"{found.nothing().capitalize()}."]), *failed])
    kind = "infrastructure" if failed else "pass"
    return Result(code, {"verdict": kind}, f"## codegate: upgrades\n{notes}", alarms)


def _propose(github: GitHub, upgrade: Upgrade, text: str, path: str, base: str, commit: str) -> str:
    branch = f"codegate/upgrade-{plain_name([upgrade.pinned], [path] if path != CONFIG_NAME else [])}"
    owner, pulls = github.repository.partition("/")[0], github.repo("pulls")
    every = list(github.pages(pulls, head=f"{owner}:{branch}", base=base, state="all"))
    there = next((pull for pull in every if pull.get("state") == "open"), None)
    if there is None and any(pull.get("title") == upgrade.title and not pull.get("merged_at") for pull in every):
        return "proposed before, and closed"
    if not _commit(github, branch, path, text, upgrade.title, commit, renew=there is None):
        return f"open as {_number(there)}, edited" if there else f"the branch {branch} is edited: delete or merge it"
    wanted = {"title": upgrade.title, "body": _BODY.format(words=upgrade.words())}
    if there is None:
        made = github.send("POST", pulls, {**wanted, "head": branch, "base": base})
        return f"opened as {_number(made)}"
    if any(there.get(name) != value for name, value in wanted.items()):
        github.send("PATCH", f"{pulls}/{there['number']}", wanted)
    return f"open as {_number(there)}"


def _commit(github: GitHub, branch: str, path: str, text: str, title: str, commit: str, *, renew: bool) -> bool:
    """Commit ``text`` to ``branch``; return False if people edited it.

    The commit's message names its tree. A commit with another tree was therefore written, amended or rebased by a
    person. The commit's author proves nothing, because the token can belong to a person. The branch is moved in one
    step, because GitHub closes a pull request whose branch has no commit of its own. A branch that already holds the
    text is moved only with ``renew``, because a gate costs money.
    """
    ref, head, commits = f"heads/{branch}", "", github.repo("git/commits")
    with contextlib.suppress(NotFound):
        head = github.get(github.repo(f"git/ref/{ref}"))["object"]["sha"]
    if head:
        found = github.get(f"{commits}/{head}")
        if f"{_TREE}{found['tree']['sha']}" not in found["message"]:
            return False
        place = github.repo(f"contents/{path}")
        if not renew and github.download(place, MAX_YAML_BYTES, _RAW, ref=branch) == text.encode("utf-8"):
            return True
    file = {"path": path, "mode": "100644", "type": "blob", "content": text}
    base = github.get(f"{commits}/{commit}")["tree"]["sha"]
    tree = github.send("POST", github.repo("git/trees"), {"base_tree": base, "tree": [file]})["sha"]
    message = {"message": f"{title}\n\n{_TREE}{tree}", "tree": tree, "parents": [commit]}
    made = github.send("POST", commits, message)["sha"]
    if head:
        github.send("PATCH", github.repo(f"git/refs/{ref}"), {"sha": made, "force": True})
    else:
        github.send("POST", github.repo("git/refs"), {"ref": f"refs/{ref}", "sha": made})
    return True


def _number(pull: Any) -> str:
    return f"#{pull.get('number') if isinstance(pull, dict) else '?'}"
