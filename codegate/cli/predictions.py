"""``--predictions`` and ``--label``: candidates whose answers are in a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from codegate.candidates import CandidateSpec
from codegate.cli.options import FILE, Decorated
from codegate.errors import UsageError
from codegate.running.predictions import PredictedCandidates, predicted_candidates
from codegate.suite import load_suite

STAND_IN: Final = (CandidateSpec(provider="reference"),)
"""Candidates of a configuration that is read for its other keys."""


def predictions_options(function: Decorated) -> Decorated:
    """Add ``--predictions`` and ``--label``."""
    label = click.option("--label", help="With --predictions: what to call their model; default as in the file.")
    file = click.option(
        "--predictions",
        type=FILE,
        help="Answers made elsewhere, in SWE-bench's predictions format; no model is called.",
    )
    return file(label(function))


def check_predictions(predictions: Path | None, label: str | None, names: Sequence[str]) -> None:
    """Check that the options go together.

    Raises:
        UsageError: they do not.
    """
    if predictions is not None and names:
        raise UsageError("--predictions brings its own candidates.", "Leave out --candidate.")
    if predictions is None and label is not None:
        raise UsageError("--label names the model of --predictions.", "Give --predictions, too.")


def given_answers(predictions: Path | None, suite: Path, label: str | None) -> PredictedCandidates | None:
    """Return the answers in ``predictions``, if given; raises as ``load_suite`` and ``predicted_candidates``."""
    return predicted_candidates(predictions, load_suite(suite), label) if predictions is not None else None
