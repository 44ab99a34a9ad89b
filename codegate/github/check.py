"""The check run, for those who want the verdict beside the other checks under a name of its own.

Protocol: docs.github.com/rest/checks/runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from codegate.github.client import GitHub
from codegate.github.inputs import OnInconclusive
from codegate.github.said import Said, attempted, create, cut, number_of, said
from codegate.github.workflow import Level
from codegate.reporting import one_line

MAX_TEXT_BYTES: Final = 65_535
MAX_ANNOTATIONS: Final = 250

_A_REQUEST: Final = 50
_MESSAGE: Final = 4_000

Conclusion = Literal["success", "failure", "neutral", "skipped", "cancelled"]

_CONCLUSIONS: Final[Mapping[str, Conclusion]] = {
    "pass": "success",
    "regressed": "failure",
    "ungated": "neutral",
    "skipped": "skipped",
    "interrupted": "cancelled",
}
_UNDECIDED: Final[Mapping[OnInconclusive, Conclusion]] = {"neutral": "neutral", "pass": "success", "fail": "failure"}
_LEVELS: Final[Mapping[Level, str]] = {"notice": "notice", "warning": "warning", "error": "failure"}


@dataclass(frozen=True)
class Annotation:
    """A remark at a line of a file of the repository."""

    path: str
    line: int
    level: Level
    title: str
    message: str


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
    text: str = "",
    annotations: Sequence[Annotation] = (),
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
        text: the details, likewise.
        annotations: the first ``MAX_ANNOTATIONS`` are shown, and how many more there are.
        details_url: of the workflow run.
        on_inconclusive: what an undecided verdict means here.
    """
    shown = [_annotation(entry) for entry in annotations[:MAX_ANNOTATIONS]]
    more = len(annotations) - len(shown)
    output: dict[str, Any] = {
        "title": one_line(f"codegate: {kind}", 200),
        "summary": cut(summary, MAX_TEXT_BYTES - 100) + (f"\n\n+{more} more annotations\n" if more else ""),
    }
    if text:
        output["text"] = cut(text, MAX_TEXT_BYTES)
    run: dict[str, Any] = {
        "name": one_line(name, 100),
        "head_sha": head_sha,
        "status": "completed",
        "conclusion": conclusion_of(kind, on_inconclusive),
        "output": output | {"annotations": shown[:_A_REQUEST]},
    }
    if details_url is not None:
        run["details_url"] = details_url

    def tell() -> Said:
        # Of two alike, which an uncertain first one may leave, GitHub shows the later one.
        made = create(github, github.repo("check-runs"), run, list)
        for start in range(_A_REQUEST, len(shown), _A_REQUEST):
            part = output | {"annotations": shown[start : start + _A_REQUEST]}
            github.send("PATCH", github.repo(f"check-runs/{number_of(made, 'id')}"), {"output": part})
        return said("created", made)

    return attempted("The check run", tell)


def _annotation(entry: Annotation) -> dict[str, Any]:
    return {
        "path": entry.path,
        "start_line": max(entry.line, 1),
        "end_line": max(entry.line, 1),
        "annotation_level": _LEVELS[entry.level],
        "title": one_line(entry.title, 200),
        "message": entry.message[:_MESSAGE] or "-",
    }
