"""Predictions in SWE-bench's format: the other direction of ``codegate.grading.read_predictions``."""

from collections.abc import Iterable
from pathlib import Path

from codegate.errors import UsageError
from codegate.suite.exchange.rows import write_rows


def write_predictions(path: Path, predictions: Iterable[tuple[str, str, str | None]]) -> int:
    """Write predictions as JSON Lines and return how many.

    Args:
        path: the file; it is replaced.
        predictions: of each, the instance's id, the model's name, and its patch (None: it gave none).

    Raises:
        UsageError: there is none, or a model predicted an instance twice: SWE-bench would keep one of them only.
        InfrastructureError: the disk refused.
    """
    rows: dict[tuple[str, str], dict[str, str | None]] = {}
    for instance, model, patch in predictions:
        if (instance, model) in rows:
            raise UsageError(
                f"{instance} is predicted twice by {model}.", "Export one sample of each, or give them different names."
            )
        rows[instance, model] = {"instance_id": instance, "model_name_or_path": model, "model_patch": patch}
    if not rows:
        raise UsageError(f"there are no predictions to write to {path}.")
    write_rows(path, rows.values())
    return len(rows)
