"""Build a report's rows: problems with their attempts."""

import difflib
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from codegate.candidates import CandidateSpec, Message
from codegate.gating.samples import most_frequent
from codegate.grading import Behaviour
from codegate.reporting.evidence import Evidence
from codegate.reporting.plain import one_line, plain
from codegate.reporting.view import (
    AttemptView,
    BehaviourView,
    Cell,
    CellStatus,
    Count,
    FailingTest,
    ProblemView,
    TranscriptMessage,
)
from codegate.running import Outcome, ProblemOrigin, ProblemRecord, Run
from codegate.solving import BlockEdit, parse_edits

FEW: Final = 5
MOST_LISTED: Final = 50
_PATCH_LIMIT: Final = 40_000
_STATEMENT_LIMIT: Final = 12_000
_OUTPUT_LIMIT: Final = 12_000
_MESSAGE_LIMIT: Final = 8_000
_TEST_MESSAGE_LIMIT: Final = 2_000
# These limits bound the comparison of two texts line by line, which takes quadratic time.
_BLOCKS: Final = 8
_SEARCHED: Final = 100
_SHOWN: Final = 6000
_COMPARED: Final = 1000
_LONGEST: Final = 500  # most characters of a line that are compared


@dataclass
class TextBudget:
    """The number of characters left for a report's long texts."""

    characters: int

    def take(self, text: str, limit: int, keep: Literal["head", "tail"] = "head") -> str:
        """Return ``text`` as plain text, shortened with a note.

        The result has at most ``limit`` characters, from the text's ``head`` or ``tail``, and no more than the budget
        has left.
        """
        limit = min(limit, self.characters)
        short = text[:limit] if keep == "head" else text[len(text) - min(limit, len(text)) :]
        cut = len(text) - len(short)
        short = plain(short)
        self.characters -= len(short)
        if not cut:
            return short
        note = f"[{cut:,} characters left out]"
        return f"{short}\n{note}" if keep == "head" else f"{note}\n{short}"


def problem_view(
    name: str,
    columns: Sequence[tuple[Run, CandidateSpec]],
    outcomes: Sequence[Mapping[str, list[Outcome]]],
    evidence: Evidence,
    text_budget: TextBudget,
    conversation_budget: TextBudget,
) -> ProblemView:
    """Return one problem's row, with its attempts and long texts.

    ``columns`` are the candidates with their runs. ``outcomes`` has, for each candidate, the outcomes by problem.
    ``text_budget`` limits patches and outputs, ``conversation_budget`` conversations.
    """
    reasons = [
        run.manifest.excluded[name]
        for run, _ in columns
        if name in run.manifest.excluded and name not in run.manifest.problems
    ]
    cells = tuple(
        _cell(
            run,
            name,
            found.get(name, []),
            partial(evidence.transcripts, run.manifest.id),
            conversation_budget,
            text_budget,
        )
        for (run, _), found in zip(columns, outcomes, strict=True)
    )
    origin = next((run.manifest.origins[name] for run, _ in columns if name in run.manifest.origins), ProblemOrigin())
    found = (evidence.problems(run.manifest.id, name) for run, _ in columns if name in run.manifest.problems)
    record = next((each for each in found if each is not None), ProblemRecord(statement="", fix=""))
    return ProblemView(
        id=one_line(name),
        title=one_line(origin.title),
        date=_optional(origin.date),
        commit=_optional(origin.commit),
        pull_request=origin.pull_request,
        issues=origin.issues[:FEW],
        project=_optional(origin.project),
        statement=text_budget.take(record.statement, _STATEMENT_LIMIT),
        fix=text_budget.take(record.fix, _PATCH_LIMIT),
        excluded=one_line(reasons[0], 500) if reasons else None,
        cells=cells,
    )


def _cell(
    run: Run,
    name: str,
    made: Sequence[Outcome],
    transcript_of: Callable[[Outcome], Sequence[Message]],
    conversation_budget: TextBudget,
    text_budget: TextBudget,
) -> Cell:
    grades = [outcome.grade for outcome in made if outcome.grade is not None]
    passed = sum(grade.resolved for grade in grades)
    status: CellStatus
    if not made:
        status = "excluded" if name not in run.manifest.problems else "missing"
    elif not grades:
        status = "infrastructure"
    else:
        status = "passed" if passed == len(grades) else "mixed" if passed else "failed"
    seconds = [value for grade in grades if (value := _finite(grade.seconds)) is not None]
    return Cell(
        status=status,
        passed=passed,
        graded=len(grades),
        score=statistics.fmean(grade.score for grade in grades) if grades else None,
        failure=most_frequent(grade.failure for grade in grades),
        seconds=statistics.fmean(seconds) if seconds else None,
        attempts=tuple(
            _attempt(
                outcome,
                run,
                transcript_of(outcome) if conversation_budget.characters > 0 else (),
                conversation_budget,
                text_budget,
            )
            for outcome in made
        ),
    )


def _attempt(
    outcome: Outcome, run: Run, messages: Sequence[Message], conversation_budget: TextBudget, text_budget: TextBudget
) -> AttemptView:
    attempt, grade, fault = outcome.attempt, outcome.grade, outcome.fault
    failing = [test for test in grade.tests if test.status != "passed"] if grade else []
    dropped = [path.shown for path in attempt.dropped] if attempt else []
    if grade:
        known = {path.path for path in attempt.dropped} if attempt else set()
        dropped += [f"{path} (not applied)" for path in grade.dropped if path not in known]
    model_seconds = _finite(attempt.model_seconds) if attempt else None
    return AttemptView(
        sample=outcome.sample,
        span_id=run.manifest.span_id(*outcome.key),
        status="infrastructure" if grade is None else "passed" if grade.resolved else "failed",
        score=grade.score if grade else None,
        tests_passed=grade.tests_passed if grade else None,
        tests_total=grade.tests_total if grade else None,
        failure=grade.failure if grade else None,
        detail=one_line(grade.detail, 1000) if grade else "",
        stderr_class=grade.stderr_class if grade else None,
        seconds=_finite(grade.seconds) if grade else None,
        model_seconds=model_seconds or None,  # 0 means that no model was called
        peak_memory_bytes=grade.peak_memory_bytes if grade else None,
        lint_findings=grade.lint.new_findings if grade and grade.lint else None,
        input_tokens=attempt.usage.input_tokens if attempt else None,
        output_tokens=attempt.usage.output_tokens if attempt else None,
        stop=attempt.stop if attempt else None,
        patch=text_budget.take(attempt.patch, _PATCH_LIMIT) if attempt else "",
        patch_error=one_line(attempt.patch_error, 1000) if attempt and attempt.patch_error else None,
        unapplied=text_budget.take(_unapplied_edits(messages), _PATCH_LIMIT) if attempt and attempt.patch_error else "",
        dropped=tuple(one_line(path, 300) for path in dropped[:MOST_LISTED]),
        failing=tuple(
            FailingTest(
                one_line(test.id, 500),
                test.status,
                _optional(test.exception),
                text_budget.take(test.message, _TEST_MESSAGE_LIMIT),
            )
            for test in failing[:MOST_LISTED]
        ),
        failing_left_out=max(len(failing) - MOST_LISTED, 0),
        output=text_budget.take(grade.output, _OUTPUT_LIMIT, "tail") if grade else "",
        fault=_optional(fault.cause) if fault else None,
        fault_message=one_line(fault.message, 1000) if fault else None,
        fault_retries=fault.retries if fault else None,
        behaviour=_behaviour(grade.behaviour) if grade and grade.behaviour else None,
        controlled=grade.controlled if grade else None,
        suspicious=tuple(one_line(sign, 300) for sign in grade.suspicious[:MOST_LISTED]) if grade else (),
        transcript=tuple(
            TranscriptMessage(message.role, conversation_budget.take(_message_text(message), _MESSAGE_LIMIT))
            for message in messages[:200]
        ),
    )


def _behaviour(seen: Behaviour) -> BehaviourView:
    return BehaviourView(
        watched=seen.watched,
        notable=seen.notable,
        summary=seen.summary,
        counts=tuple(Count(kind, seen.counts[kind]) for kind in sorted(seen.counts)),
        details=tuple(f"{kind}: {one_line(text)}" for kind in sorted(seen.details) for text in seen.details[kind]),
        limits=seen.limits,
    )


def _message_text(message: Message) -> str:
    calls = [f"[calls {call.name}] {call.arguments}" for call in message.tool_calls]
    return "\n".join([message.text, *calls] if message.text else calls)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _optional(text: str | None) -> str | None:
    return None if text is None else one_line(text)


def _unapplied_edits(messages: Sequence[Message]) -> str:
    last = next((number for number in reversed(range(len(messages))) if messages[number].role == "assistant"), None)
    if last is None:
        return ""
    shown = "\n".join(message.text for message in messages[:last]).split("\n")[-_SHOWN:]
    parts = []
    for edit in parse_edits(messages[last].text).edits[:_BLOCKS]:
        if isinstance(edit, BlockEdit):
            parts += [f"+++ {edit.path}", "@@ SEARCH, against the closest lines that the model was shown @@"]
            parts += _closest_lines(edit.search[:_SEARCHED], shown)
            parts += ["@@ REPLACE @@", *(f"+{line}" for line in edit.replace)]
        else:
            parts.append(edit.diff)
    return "\n".join(parts)


def _closest_lines(search: Sequence[str], shown: Sequence[str]) -> list[str]:
    same = difflib.SequenceMatcher(None, shown, search, autojunk=False).find_longest_match()
    start = max(same.a - same.b, 0)
    if not same.size:
        longest, lines = max(search, key=len, default=""), [line[:_LONGEST] for line in shown[-_COMPARED:]]
        near = difflib.get_close_matches(longest[:_LONGEST], lines, 1, 0.4)
        if not near:
            return [f"+{line}" for line in search]
        start = len(shown) - len(lines) + lines.index(near[0])
    lines = list(difflib.unified_diff(shown[start : start + len(search)], search, lineterm="", n=len(search)))[3:]
    return lines or [f" {line}" for line in search]
