"""Grades patches that were made elsewhere: no model is asked."""

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from codegate.errors import Interrupted, UsageError
from codegate.grading import Grade, Prediction, Sandboxes, grade
from codegate.running.faults import Faulted, with_retries
from codegate.running.outcome import AttemptSummary, Fault, Outcome
from codegate.sandbox import Backend
from codegate.suite import Problem, Suite, load_base


def grade_predictions(
    suite: Suite,
    predictions: Sequence[Prediction],
    backend: Backend,
    *,
    sandboxes: int,
    repository: Path | None,
    stop: threading.Event,
) -> Iterator[Outcome]:
    """Grade each prediction and give its outcome, in the order of ``predictions``.

    Raises:
        UsageError: an instance is not in the suite.
        Interrupted: ``stop`` was set.
    """
    problems = {problem.id: problem for problem in suite.problems}
    unknown = sorted({p.instance_id for p in predictions} - problems.keys())
    if unknown:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise UsageError(f"not in suite {suite.name}: {', '.join(unknown[:5])}{more}.")
    boxes = Sandboxes(backend, suite.locks, ahead=sandboxes)

    def one(prediction: Prediction) -> Outcome:
        problem = problems[prediction.instance_id]
        started = time.monotonic()
        result, fault = _graded(problem, prediction.model_patch or "")
        return Outcome(
            problem=problem.id,
            problem_digest=problem.digest,
            candidate=prediction.model_name_or_path,
            sample=0,
            attempt=AttemptSummary(solver="external", prompt_version="external", patch=prediction.model_patch or ""),
            grade=result,
            fault=fault,
            grading_seconds=round(time.monotonic() - started, 3),
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def _graded(problem: Problem, patch: str) -> tuple[Grade | None, Fault | None]:
        base = load_base(suite, problem, repository)
        try:
            return with_retries(partial(grade, problem, base, patch, boxes), stop), None
        except Faulted as error:
            return None, error.fault

    with ThreadPoolExecutor(sandboxes) as workers:
        try:
            yield from workers.map(one, predictions)
        except Interrupted:
            workers.shutdown(cancel_futures=True)
            raise
        finally:
            boxes.close()
