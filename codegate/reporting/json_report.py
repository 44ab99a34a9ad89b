"""The report as one JSON document for machines, schema ``codegate.report/1``."""

import dataclasses
import json

from codegate.reporting.view import ReportView

REPORT_SCHEMA = "codegate.report/1"

_IN_SCRIPT = str.maketrans({"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"})


def render_json(view: ReportView) -> str:
    """Return the whole view as JSON: pure ASCII, without ``<``, ``>`` and ``&``, inert in a page and in a log.

    Keys are the fields of ``reporting.view`` and of ``gating.Verdict``; unknown values are null.
    """
    document = {
        "schema": REPORT_SCHEMA,
        "runs": [dataclasses.asdict(run) for run in view.runs],
        "verdicts": [verdict.model_dump(mode="json") for verdict in view.verdicts],
        "candidates": [dataclasses.asdict(entry) for entry in view.candidates],
        "baseline": dataclasses.asdict(view.baseline) if view.baseline else None,
        "problems": [dataclasses.asdict(row) for row in view.problems],
        "sweep": dataclasses.asdict(view.sweep) if view.sweep else None,
    }
    text = json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False)
    return text.translate(_IN_SCRIPT).replace("##[", "#\\u0023[") + "\n"
