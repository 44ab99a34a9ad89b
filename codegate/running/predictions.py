"""Grade the patches of predictions without model calls."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path

from codegate.candidates import redactor_for
from codegate.grading import Grade, Sandboxes, grade
from codegate.running.faults import Faulted, with_retries
from codegate.running.outcome import Fault, Outcome
from codegate.running.readiness import check_bases, check_images, prepare_environments
from codegate.sandbox import Backend
from codegate.solving import AttemptSummary
from codegate.suite import Problem, Suite, load_base
from codegate.suite.exchange import Prediction


def grade_predictions(
    suite: Suite,
    predictions: Sequence[Prediction],
    backend: Backend,
    *,
    sandboxes: int,
    repository: Path | None,
    stop: threading.Event,
) -> Iterator[Outcome]:
    """Yield the outcome of each prediction, in order; repeated ones are samples.

    Raises:
        UsageError: a base commit is not in the repository, or an environment names an image that is not allowed.
        Interrupted: ``stop`` was set.
    """
    check_images(suite)
    problems = {problem.id: problem for problem in suite.problems}
    wanted = [problems[name] for name in dict.fromkeys(p.instance_id for p in predictions)]
    check_bases(suite, wanted, repository)
    boxes = Sandboxes(backend, suite.locks, min(sandboxes, 2), suite.packages)
    redactor = redactor_for()
    base = lru_cache(sandboxes)(lambda name: load_base(suite, problems[name], repository))

    made: Counter[tuple[str, str]] = Counter()
    samples = []
    for prediction in predictions:
        key = (prediction.model_name_or_path, prediction.instance_id)
        samples.append(made[key])
        made[key] += 1

    def one(prediction: Prediction, sample: int) -> Outcome:
        problem, patch = problems[prediction.instance_id], prediction.model_patch or ""
        started = time.monotonic()
        result, fault = graded(problem, patch)
        outcome = Outcome(
            problem=problem.id,
            problem_digest=problem.digest,
            candidate=prediction.model_name_or_path,
            sample=sample,
            attempt=AttemptSummary(solver="external", prompt_version="external", patch=patch),
            grade=result,
            fault=fault,
            sandbox=boxes.words,
            grading_seconds=round(time.monotonic() - started, 3),
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        return redactor.clean_model(outcome)

    def graded(problem: Problem, patch: str) -> tuple[Grade | None, Fault | None]:
        if problem.environment.id in broken:
            return None, broken[problem.environment.id]
        try:
            return with_retries(partial(grade, problem, base(problem.id), patch, boxes), stop), None
        except Faulted as error:
            return None, error.fault

    workers = ThreadPoolExecutor(sandboxes, "codegate-grade")
    try:
        broken = prepare_environments(boxes, wanted, stop)
        yield from workers.map(one, predictions, samples)
    finally:
        workers.shutdown(cancel_futures=True)
        boxes.close()
