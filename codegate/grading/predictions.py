"""Patches from a file in SWE-bench's predictions format.

The file is JSON Lines, a JSON array, or a JSON object keyed by instance; each prediction has ``instance_id``,
``model_name_or_path`` and ``model_patch`` (null for no patch). Further keys are ignored, as SWE-bench does.
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
    text = read_text(path, MAX_PREDICTIONS_BYTES)
    rows: list[tuple[object, str]] = []
    if text.lstrip().startswith("[") or (text.lstrip().startswith("{") and "\n{" not in text.strip()):
        data = parse_json(text, str(path))
        values = list(data.values()) if isinstance(data, dict) and "instance_id" not in data else data
        values = [values] if isinstance(values, dict) else values
        rows = [(value, f"{path}: prediction {number}") for number, value in enumerate(values, start=1)]
    else:
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                rows.append((parse_json(line, f"{path} line {number}"), f"{path} line {number}"))
    predictions = tuple(check_model(row, Prediction, place) for row, place in rows)
    if not predictions:
        raise UsageError(f"{path} holds no predictions.")
    seen = set()
    for prediction in predictions:
        key = (prediction.instance_id, prediction.model_name_or_path)
        if key in seen:
            raise UsageError(f"{path}: {prediction.instance_id} is predicted twice by {prediction.model_name_or_path}.")
        seen.add(key)
    return predictions
