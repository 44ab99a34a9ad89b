"""What a report says of a candidate's harness: which parts were used, and how it differs from the baseline's."""

from collections.abc import Iterable
from typing import Final

from codegate.candidates import CandidateSpec
from codegate.candidates.agents import AGENTS, harness_parts
from codegate.candidates.harness import Harness
from codegate.errors import UsageError
from codegate.reporting.plain import one_line
from codegate.reporting.problems import FEW
from codegate.running import Outcome
from codegate.suite import Tree, TreeFile, make_patch
from codegate.wording import count_of

_LINES: Final = 400
"""Of a difference that is shown."""
_HEADERS: Final = ("diff --git ", "index ", "new file", "deleted file", "--- /dev/null", "+++ /dev/null")


def harness_use(spec: CandidateSpec, outcomes: Iterable[Outcome]) -> str:
    """Return how many parts of the candidate's harness were used in any attempt, and which were not."""
    if spec.agent is None or spec.harness is None:
        return ""
    attempts = [outcome.attempt for outcome in outcomes if outcome.attempt and outcome.attempt.agent]
    used = {name for attempt in attempts if attempt.agent for name in attempt.agent.used}
    asked = {spec.model, *(model for attempt in attempts for model in attempt.usage.helpers)}
    models = [(f"{role} model {model}", model) for role, model in spec.harness.models.items()]
    used |= {name for name, model in models if model in asked}
    parts = [name for name, _ in (*harness_parts(AGENTS[spec.agent.name], spec.harness), *models)]
    unused = [one_line(name) for name in parts if name not in used]
    more = f" and {len(unused) - FEW} more" if len(unused) > FEW else ""
    never = f"; never: {', '.join(unused[:FEW])}{more}" if unused else ""
    return f"Harness: {len(parts) - len(unused)} of {count_of(len(parts), 'part')} used{never}"


def harness_changes(before: Harness | None, after: Harness | None) -> tuple[str, ...]:
    """Return the lines of the difference between the baseline's harness and a candidate's, as a unified diff."""
    old, new = _files(before), _files(after)
    changes: dict[str, TreeFile | None] = {**dict.fromkeys(old), **new}
    try:
        lines = make_patch(Tree(old), changes).split("\n")
    except UsageError:  # paths of a run of somebody else's
        return ()
    shown = [line for line in lines if line and not line.startswith(_HEADERS)]
    more = [f"{len(shown) - _LINES} more lines"] if len(shown) > _LINES else []
    return tuple(one_line(line, 200) for line in (*shown[:_LINES], *more))


def _files(harness: Harness | None) -> dict[str, TreeFile]:
    return {
        file.path: TreeFile(file.content(), "100755" if file.program else "100644")
        for file in (harness.laid if harness else None) or ()
    }
