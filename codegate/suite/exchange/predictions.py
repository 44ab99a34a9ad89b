"""SWE-bench's predictions: patches for the problems of a suite, made by any tool, read and written.

The file is JSON Lines, a JSON array, one JSON object, or a JSON object keyed by instance. Each prediction has
``instance_id``, ``model_name_or_path`` and ``model_patch`` (null for no patch); further keys are ignored, as SWE-bench
does. Several predictions of one model for one instance are its samples, in the order of the file.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from codegate.errors import UsageError
from codegate.strict import parse_json, read_text
from codegate.suite.exchange.rows import write_rows
from codegate.suite.exchange.swebench import instance_ids
from codegate.suite.model import Suite
from codegate.suite.reader import check_model

MAX_PREDICTIONS_BYTES: Final = 256 << 20
_SHOWN: Final = 5


class Prediction(BaseModel):
    """One prediction."""

    model_config = ConfigDict(extra="ignore", frozen=True, protected_namespaces=())

    instance_id: str = Field(min_length=1, max_length=200)
    model_name_or_path: str = Field(min_length=1, max_length=500)
    model_patch: str | None = None


def read_predictions(path: Path) -> tuple[Prediction, ...]:
    """Read the predictions in ``path``, in file order.

    Raises:
        UsageError: unreadable, not that format, or empty.
    """
    text = read_text(path, MAX_PREDICTIONS_BYTES).removeprefix("\ufeff")
    predictions = tuple(check_model(row, Prediction, place) for row, place in _rows(text, path))
    if not predictions:
        raise UsageError(f"{path} holds no predictions.")
    return predictions


def predictions_for(suite: Suite, path: Path) -> tuple[Prediction, ...]:
    """Read the predictions in ``path``; each ``instance_id`` becomes the id of its problem in ``suite``.

    A prediction names its problem by the problem's own id, or by the id that an export of the suite gives it,
    whatever ``owner/name`` the export was made with.

    Raises:
        UsageError: as ``read_predictions``; an instance is not in the suite, or instances name several repositories.
    """
    predictions = read_predictions(path)
    problems = _problems_by_instance(suite, {prediction.instance_id for prediction in predictions}, path)
    return tuple(
        prediction.model_copy(update={"instance_id": problems[prediction.instance_id]}) for prediction in predictions
    )


def write_predictions(path: Path, predictions: Sequence[Prediction]) -> None:
    """Write ``predictions`` to ``path`` as JSON Lines; the file is replaced.

    Raises:
        UsageError: there are none.
        InfrastructureError: the disk refused.
    """
    if not predictions:
        raise UsageError(f"there are no predictions to write to {path}.")
    write_rows(path, (prediction.model_dump() for prediction in predictions))


def _problems_by_instance(suite: Suite, instances: Collection[str], path: Path) -> Mapping[str, str]:
    """Return the problem id of each instance id."""
    found = {name: problem for problem, name in instance_ids(suite, None).items()}
    found |= {problem.id: problem.id for problem in suite.problems}
    of_slug: dict[str, dict[str, str]] = {}
    unknown = []
    for instance in sorted(set(instances) - found.keys()):
        slug = _slug(instance)
        if slug not in of_slug:
            of_slug[slug] = {name: problem for problem, name in instance_ids(suite, slug).items()}
        if instance in of_slug[slug]:
            found[instance] = of_slug[slug][instance]
        else:
            unknown.append(instance)
    if unknown:
        raise UsageError(
            f"{path}: not in suite {suite.name}: {few(unknown)}.",
            "Name problems by their own ids, or by the ids that `codegate mine export` writes.",
        )
    if len(of_slug) > 1:
        raise UsageError(
            f"{path} has instances of several repositories: {few(sorted(of_slug))}.",
            "Give the predictions of one of them.",
        )
    return found


def _slug(instance: str) -> str:
    """Return the repository in ``owner__name-number``; GitHub's owners have no underscore."""
    owner, _, name = instance.rpartition("-")[0].partition("__")
    return f"{owner}/{name}"


def few(names: Iterable[str]) -> str:
    """Return the first ``names`` for a message, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more


def _rows(text: str, path: Path) -> list[tuple[object, str]]:
    """Return each prediction with its place: a document that is JSON as a whole, else one document in each line."""
    # Only a line feed ends a line of JSON Lines; strings may hold the other characters that end a line elsewhere.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not lines:
        return []
    try:
        whole = parse_json(text, str(path))
    except UsageError:
        if len(lines) == 1 or not _is_json(lines[0][1]):
            raise
        return [(parse_json(line, f"{path} line {number}"), f"{path} line {number}") for number, line in lines]
    if isinstance(whole, dict) and not isinstance(whole.get("instance_id"), str):
        return [(_keyed(key, value, path), f"{path}: {key[:200]}") for key, value in whole.items()]
    values = whole if isinstance(whole, list) else [whole]
    return [(value, f"{path}: prediction {number}") for number, value in enumerate(values, start=1)]


def _keyed(key: str, value: object, path: Path) -> object:
    if not isinstance(value, dict):
        return value
    if value.get("instance_id", key) != key:
        raise UsageError(f"{path}: the prediction for {key[:200]} is of another instance.")
    return {"instance_id": key, **value}


def _is_json(line: str) -> bool:
    try:
        parse_json(line, "")
    except UsageError:
        return False
    return True
