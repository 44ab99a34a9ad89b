"""SWE-bench predictions: patches that any tool made.

The file is JSON Lines, a JSON array, one JSON object, or a JSON object keyed by instance. Each prediction has
``instance_id``, ``model_name_or_path`` and ``model_patch`` (null for no patch); further keys are ignored, as SWE-bench
does. Several predictions of one model for one instance are its samples, in the order of the file.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pydantic import ConfigDict, Field

from codegate.errors import UsageError
from codegate.strict import Lenient
from codegate.suite.exchange.rows import read_rows, write_rows
from codegate.suite.exchange.swebench import instance_ids
from codegate.suite.loaded import Suite
from codegate.suite.reader import check_model
from codegate.wording import join_first


class Prediction(Lenient):
    """One model's patch for one instance."""

    model_config = ConfigDict(protected_namespaces=())

    instance_id: str = Field(min_length=1, max_length=200)
    model_name_or_path: str = Field(min_length=1, max_length=500)
    model_patch: str | None


def read_predictions(path: Path) -> tuple[Prediction, ...]:
    """Return the predictions in ``path``, in file order.

    Raises:
        UsageError: the file is unreadable, empty, or not in this format.
    """
    rows, skipped = read_rows(path, lambda row, place: (place, (place, row)))
    if skipped:
        raise UsageError(f"{path}: {skipped[0]}")
    values: list[tuple[str, object]] = [*rows]
    if len(rows) == 1 and not isinstance(rows[0][1].get("instance_id"), str):
        values = [(key[:200], _keyed(key, value, path)) for key, value in rows[0][1].items()]
    if not values:
        raise UsageError(f"{path} holds no predictions.")
    return tuple(check_model(value, Prediction, f"{path}: {place}") for place, value in values)


def _keyed(key: str, value: object, path: Path) -> object:
    if not isinstance(value, dict):
        return value
    if value.get("instance_id", key) != key:
        raise UsageError(f"{path}: the prediction for {key[:200]} is of another instance.")
    return {"instance_id": key, **value}


def predictions_for(suite: Suite, path: Path) -> tuple[Prediction, ...]:
    """Return the predictions in ``path``, with the suite's problem ids.

    In the file, ``instance_id`` may be a problem's own id, or its id in an export of the suite.

    Raises:
        UsageError: the file is unreadable, empty or malformed, an instance is not in the suite, or instances name
            several repositories.
    """
    predictions = read_predictions(path)
    problems = _problems_by_instance(suite, {prediction.instance_id for prediction in predictions}, path)
    return tuple(
        prediction.model_copy(update={"instance_id": problems[prediction.instance_id]}) for prediction in predictions
    )


def write_predictions(path: Path, predictions: Sequence[Prediction]) -> None:
    """Replace the file ``path`` by ``predictions`` as JSON Lines.

    Raises:
        UsageError: ``predictions`` is empty.
    """
    if not predictions:
        raise UsageError(f"there are no predictions to write to {path}.")
    write_rows(path, (prediction.model_dump() for prediction in predictions))


def _problems_by_instance(suite: Suite, instances: Collection[str], path: Path) -> Mapping[str, str]:
    found = {name: problem for problem, name in instance_ids(suite, None).items()}
    found |= {problem.id: problem.id for problem in suite.problems}
    of_slug: dict[str, dict[str, str]] = {}
    unknown = []
    for instance in sorted(set(instances) - found.keys()):
        # GitHub's owners have no underscore: `owner__name-number`.
        owner, _, name = instance.rpartition("-")[0].partition("__")
        slug = f"{owner}/{name}"
        if slug not in of_slug:
            of_slug[slug] = {name: problem for problem, name in instance_ids(suite, slug).items()}
        if instance in of_slug[slug]:
            found[instance] = of_slug[slug][instance]
        else:
            unknown.append(instance)
    if unknown:
        raise UsageError(
            f"{path}: not in suite {suite.name}: {join_first(unknown)}.",
            "Name problems by their own ids, or by the ids that `codegate mine export` writes.",
        )
    if len(of_slug) > 1:
        raise UsageError(
            f"{path} has instances of several repositories: {join_first(sorted(of_slug))}.",
            "Give the predictions of one of them.",
        )
    return found
