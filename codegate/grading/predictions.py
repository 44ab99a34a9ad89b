"""Patches from a file in SWE-bench's predictions format.

The file is JSON Lines, a JSON array, one JSON object, or a JSON object keyed by instance; each prediction has
``instance_id``, ``model_name_or_path`` and ``model_patch`` (null for no patch). Further keys are ignored, as
SWE-bench does.
"""

from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from codegate.errors import UsageError
from codegate.suite import check_model, parse_json, read_text

MAX_PREDICTIONS_BYTES: Final = 256 << 20


class Prediction(BaseModel):
    """One prediction."""

    model_config = ConfigDict(extra="ignore", frozen=True, protected_namespaces=())

    instance_id: str = Field(min_length=1, max_length=200)
    model_name_or_path: str = Field(min_length=1, max_length=500)
    model_patch: str | None = None


def read_predictions(path: Path) -> tuple[Prediction, ...]:
    """Read the predictions in ``path``, in file order.

    Raises:
        UsageError: unreadable, not that format, empty, or an instance predicted twice by one model.
    """
    text = read_text(path, MAX_PREDICTIONS_BYTES).removeprefix("\ufeff")
    predictions = tuple(check_model(row, Prediction, place) for row, place in _rows(text, path))
    if not predictions:
        raise UsageError(f"{path} holds no predictions.")
    seen = set()
    for prediction in predictions:
        key = (prediction.instance_id, prediction.model_name_or_path)
        if key in seen:
            raise UsageError(f"{path}: {prediction.instance_id} is predicted twice by {prediction.model_name_or_path}.")
        seen.add(key)
    return predictions


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
