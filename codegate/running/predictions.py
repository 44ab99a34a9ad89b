"""Use a predictions file's patches in place of model calls.

Models in the file become candidates and its patches their attempts; no model is called. A run keeps the predictions in
its folder, so that it can be resumed without the file.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec, Message, environment_secrets, redactor_for
from codegate.candidates.redaction import LONGEST_WORD, Redactor
from codegate.durable import digest
from codegate.errors import UsageError
from codegate.grading import Grade, Sandboxes, grade, grade_answer
from codegate.running.bases import check_bases
from codegate.running.endings import answer_text
from codegate.running.faults import FinalFault, with_retries
from codegate.running.journal import ANSWERS, Journal
from codegate.running.outcome import MAX_SAMPLES, Fault, Outcome
from codegate.running.readiness import check_images, check_installed, prepare_environments
from codegate.sandbox import Backend
from codegate.solving import Attempt, AttemptSummary, contains_code, prompt_version_of
from codegate.suite import Problem, Suite, load_base
from codegate.suite.exchange import Prediction, instance_ids, predictions_for
from codegate.wording import count_of, join_first

PROVIDER: Final = "predictions"
_MAX_LABEL: Final = 200


@dataclass(frozen=True)
class PredictedCandidates:
    """The candidates of a predictions file, with their answers.

    Each model in the file is a candidate, identified by its name and the content of its answers. ``samples`` is the
    number of answers that each model has for each answered problem; answers beyond it are not used.
    """

    candidates: tuple[CandidateSpec, ...]
    samples: int
    predictions: tuple[Prediction, ...]


def predicted_candidates(path: Path, suite: Suite, label: str | None = None) -> PredictedCandidates:
    """Read the candidates and answers of a predictions file.

    ``label`` renames the only candidate; raises UsageError if there are several.
    """
    # The program that made the predictions may have known this machine's keys.
    redactor = Redactor(*(secret for secret in environment_secrets(os.environ) if len(secret) > LONGEST_WORD))
    predictions = [
        one.model_copy(update={"model_patch": redactor.redact_whole(one.model_patch)}) if one.model_patch else one
        for one in predictions_for(suite, path)
    ]
    models = list(dict.fromkeys(prediction.model_name_or_path for prediction in predictions))
    if label is not None:
        if len(models) > 1:
            raise UsageError(
                f"{path} has the predictions of {len(models)} models: {join_first(models)}.",
                "Leave out --label, or give a file for each of them.",
            )
        predictions = [prediction.model_copy(update={"model_name_or_path": label}) for prediction in predictions]
        models = [label]
    if long := next((name for name in models if len(name) > _MAX_LABEL), None):
        raise UsageError(
            f"{path}: the model's name {long[:40]!r}… has more than {_MAX_LABEL} characters.", "Give --label."
        )
    patches = {name: _patches_by_problem(predictions, name) for name in models}
    samples = min(len(made) for of_model in patches.values() for made in of_model.values())
    if samples > MAX_SAMPLES:
        raise UsageError(f"{path} has {count_of(samples, 'sample')} of a problem; a run has at most {MAX_SAMPLES}.")
    return PredictedCandidates(
        tuple(_candidate(name, made) for name, made in patches.items()), samples, tuple(predictions)
    )


def keep_predictions(journal: Journal, suite: Suite, announce: Callable[[str], None]) -> None:
    """Write attempts from the predictions kept in a run's folder.

    Attempts that are already there stay. A problem without a prediction gets an empty patch, which fails as
    ``no_patch``. Missing predictions, and those that the run does not use, are announced. Raises UsageError if the
    predictions have changed since the run was planned.
    """
    wanted = [
        (candidate, problem, sample)
        for candidate in journal.manifest.candidates
        if candidate.provider == PROVIDER
        for problem, sample in journal.manifest.planned()
        if journal.read_attempt(candidate.key(), problem, sample) is None
    ]
    if not wanted:
        return
    path = journal.folder / ANSWERS
    answers = predicted_candidates(path, suite)
    known = {candidate.key() for candidate in answers.candidates}
    patches = {
        candidate.label: _patches_by_problem(answers.predictions, candidate.label) for candidate in answers.candidates
    }
    missing: dict[str, list[str]] = {}
    for candidate, problem, sample in wanted:
        if candidate.key() not in known:
            raise UsageError(f"{path} has changed since {candidate.label} was planned.", "Restore it.")
        made = patches[candidate.label].get(problem, ())
        if not made:
            missing.setdefault(candidate.label, []).append(problem)
        journal.write_attempt(_attempt(candidate, problem, sample, made[sample] if made else ""))
    for label, names in missing.items():
        announce(
            f"{label}: {len(names)} of {len(journal.manifest.planned())} answers are missing and count as empty: "
            f"{join_first(dict.fromkeys(names))}"
        )
    for label, by_problem in patches.items():
        if extra := sum(max(len(more) - journal.manifest.samples, 0) for more in by_problem.values()):
            announce(f"{label}: {count_of(extra, 'answer')} not used, because not every problem has as many")
    if unused := sorted({entry.instance_id for entry in answers.predictions} & journal.manifest.excluded.keys()):
        announce(f"not used, because the suite leaves these problems out: {join_first(unused)}")


def run_predictions(
    journals: Sequence[Journal], suite: Suite | None, slug: str | None
) -> tuple[tuple[Prediction, ...], int]:
    """Return the patches and answers of runs as predictions.

    The second value is the number of samples that have no patch because of a fault. With ``suite``, predictions have
    the ids of the exported suite (``slug`` is the repository as ``owner/name``), otherwise the problems' ids.
    """
    ids = instance_ids(suite, slug) if suite is not None else None
    labels: dict[str, str] = {}
    found: list[Prediction] = []
    faults = 0
    for journal in journals:
        run = journal.load()
        outcomes = {outcome.key: outcome for outcome in run.outcomes}
        for candidate in run.manifest.candidates:
            key = candidate.key()
            taken = candidate.label in {label for other, label in labels.items() if other != key}
            name = labels.setdefault(key, f"{candidate.label} ({key[:8]})" if taken else candidate.label)
            for problem, sample in run.manifest.planned():
                outcome = outcomes.get((key, problem, sample))
                if outcome is None or outcome.attempt is None:
                    faults += outcome is not None
                    continue
                if ids is not None and suite is not None and problem not in ids:
                    raise UsageError(
                        f"the run's problem {problem} is not in suite {suite.name}.", "Give the suite of the run."
                    )
                instance = ids[problem] if ids is not None else problem
                patch = outcome.attempt.patch or _text_of(journal, outcome) or None
                found.append(Prediction(instance_id=instance, model_name_or_path=name[:500], model_patch=patch))
    return tuple(found), faults


def _text_of(journal: Journal, outcome: Outcome) -> str:
    """Return the answer to a question; "" for other problems."""
    question = outcome.grade is not None and any(test.id.startswith("answer::") for test in outcome.grade.tests)
    attempt = journal.read_attempt(*outcome.key) if question else None
    return answer_text(attempt) if attempt is not None else ""


def _patches_by_problem(predictions: Sequence[Prediction], label: str) -> dict[str, list[str]]:
    patches: dict[str, list[str]] = {}
    for prediction in predictions:
        if prediction.model_name_or_path == label:
            patches.setdefault(prediction.instance_id, []).append(prediction.model_patch or "")
    return patches


def _candidate(label: str, patches: Mapping[str, Sequence[str]]) -> CandidateSpec:
    return CandidateSpec(provider=PROVIDER, model=f"{label}@sha256:{digest(patches)[:16]}", name=label)


def _attempt(candidate: CandidateSpec, problem: str, sample: int, patch: str) -> Attempt:
    return Attempt(
        problem=problem,
        candidate=candidate.key(),
        sample=sample,
        solver="external",
        prompt_version=prompt_version_of(candidate),
        patch=patch,
        contains_code=contains_code(patch),
        iterations=0,
        models=(candidate.label,),
        messages=(Message(role="assistant", text=patch),) if patch.strip() else (),
    )


def grade_predictions(
    suite: Suite,
    predictions: Sequence[Prediction],
    backend: Backend,
    *,
    sandboxes: int,
    repository: Path | None,
    stop: threading.Event,
) -> Iterator[Outcome]:
    """Grade the predictions; yield their outcomes in order.

    Several predictions of one model for one problem are its samples. At most ``sandboxes`` sandboxes work at once.
    """
    check_images(suite)
    problems = {problem.id: problem for problem in suite.problems}
    wanted = [problems[name] for name in dict.fromkeys(p.instance_id for p in predictions)]
    check_bases(suite, wanted, repository)
    boxes = Sandboxes.of(suite, backend, repository, min(sandboxes, 2))
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
        return redactor.clean_model(outcome, "problem")

    def graded(problem: Problem, patch: str) -> tuple[Grade | None, Fault | None]:
        if problem.manifest.answer is not None:  # the problem is a question, and the text is its answer
            return grade_answer(problem, patch, contains_code=contains_code(patch)), None
        if problem.environment.id in broken:
            return None, broken[problem.environment.id]
        try:
            return with_retries(partial(grade, problem, base(problem.id), patch, boxes), stop), None
        except FinalFault as error:
            return None, error.fault

    workers = ThreadPoolExecutor(sandboxes, "codegate-grade")
    try:
        check_installed(suite, wanted, len(wanted), backend, repository)
        broken = prepare_environments(boxes, wanted, stop)
        yield from workers.map(one, predictions, samples)
    finally:
        workers.shutdown(cancel_futures=True)
        boxes.close()
