"""The check run, for those who want the verdict beside the other checks under a name of its own.

Protocol: docs.github.com/rest/checks/runs.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from codegate.forge import GitHub
from codegate.github.inputs import OnInconclusive
from codegate.github.said import Said, attempted, create, cut, said
from codegate.reporting import one_line

MAX_TEXT_BYTES: Final = 65_535

Conclusion = Literal["success", "failure", "neutral", "skipped", "cancelled"]

_CONCLUSIONS: Final[Mapping[str, Conclusion]] = {
    "pass": "success",
    "regressed": "failure",
    "ungated": "neutral",
    "skipped": "skipped",
    "interrupted": "cancelled",
}
_UNDECIDED: Final[Mapping[OnInconclusive, Conclusion]] = {"neutral": "neutral", "pass": "success", "fail": "failure"}


def conclusion_of(kind: str, on_inconclusive: OnInconclusive) -> Conclusion:
    """Return how a check run ends for a verdict, or for what took its place.

    ``infrastructure``, ``error`` and ``no baseline`` are failures: neutral would satisfy a required check, and so let a
    change in that nobody measured; cancelled would say that somebody stopped it. The title says whose fault it was.
    """
    if kind in {"inconclusive", "incomparable"}:
        return _UNDECIDED[on_inconclusive]
    return _CONCLUSIONS.get(kind, "failure")


def write_check(
    github: GitHub,
    head_sha: str,
    name: str,
    kind: str,
    summary: str,
    *,
    details_url: str | None = None,
    on_inconclusive: OnInconclusive = "neutral",
) -> Said:
    """Add a check run to a commit; what GitHub refuses becomes a warning.

    Args:
        github: the repository.
        head_sha: the head of the pull request: a check of the merge commit, which ``GITHUB_SHA`` is, shows nowhere.
        name: of the check.
        kind: of the verdict, or what took its place.
        summary: Markdown, cut between lines to what GitHub takes.
        details_url: of the workflow run.
        on_inconclusive: what an undecided verdict means here.
    """
    run: dict[str, Any] = {
        "name": one_line(name, 100),
        "head_sha": head_sha,
        "status": "completed",
        "conclusion": conclusion_of(kind, on_inconclusive),
        "output": {"title": one_line(f"codegate: {kind}", 200), "summary": cut(summary, MAX_TEXT_BYTES)},
    }
    if details_url is not None:
        run["details_url"] = details_url

    # Of two alike, which an uncertain first one may leave, GitHub shows the later one.
    return attempted("The check run", lambda: said("created", create(github, github.repo("check-runs"), run, list)))
