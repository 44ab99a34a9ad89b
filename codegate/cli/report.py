"""``codegate report``: write a run's reports, predictions or spans."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from codegate.cli.options import Argument, PolicyFile, as_command
from codegate.cli.output import emit, say
from codegate.cli.policy import read_settings
from codegate.errors import UsageError
from codegate.gating import load_pinned
from codegate.operations.runs import gate
from codegate.reporting import read_result, report_formats, send_trace, terms_of
from codegate.running import Gate, Journal
from codegate.running.predictions import run_predictions
from codegate.strict import File, Folder
from codegate.suite import load_suite
from codegate.suite.exchange import repository_slug, write_predictions
from codegate.wording import count_of

PREDICTIONS = "predictions"
SPANS = "otlp"


@as_command()
def command(
    runs: Annotated[tuple[Folder, ...], Argument()],
    baseline: Annotated[File | None, "Lock of a baseline to show the verdicts against."] = None,
    config: PolicyFile = None,
    out: Annotated[Folder | None, "Where the reports go; default <run>/reports; needed for several runs."] = None,
    formats: Annotated[
        tuple[Annotated[str, Field(json_schema_extra={"enum": [*report_formats(), PREDICTIONS, SPANS]})], ...],
        f"What to write; may be given several times; default all but {PREDICTIONS} and {SPANS}.",
    ] = (),
    suite: Annotated[Folder | None, f"With --format {PREDICTIONS}: use the ids of an export of this suite."] = None,
    slug: Annotated[str | None, "With --suite: the repository as owner/name, as in `mine export`."] = None,
) -> None:
    """Write reports of one or more RUNS.

    RUNS are runs' folders. The formats are HTML, JUnit, JSON, CSV and Markdown.

    With --format predictions: write every answer as a line of SWE-bench's predictions, which `codegate grade`,
    `codegate run --predictions` and other tools read. Instances are named by problem, or as in an export of --suite.

    With --format otlp: send the runs as OpenTelemetry spans to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names.

    Exits 0 if they are written, whatever the verdicts; `codegate gate` is the command that decides.
    """
    wanted = dict.fromkeys(formats or report_formats())
    if PREDICTIONS not in wanted and (suite or slug):
        raise UsageError("--suite and --slug are about predictions.", f"Give --format {PREDICTIONS}, too.")
    chosen = [name for name in wanted if name not in {PREDICTIONS, SPANS}]
    journals = [Journal.open(folder) for folder in runs]
    if out is None and wanted.keys() != {SPANS}:
        if len(journals) > 1:
            raise UsageError("the reports of several runs have no folder of their own.", "Give --out.")
        out = journals[0].folder / "reports"
        if chosen and baseline is None:
            _check_verdict(out, journals[0].folder)
        elif chosen and "json" not in chosen:
            chosen.append("json")  # a later report finds there that these reports have a verdict
    settings, _ = read_settings(config)
    by = Gate(load_pinned(baseline), settings.gate) if baseline is not None else None
    if SPANS in wanted:
        for journal in journals:
            say(send_trace(journal))
    written: dict[str, Path] = {}
    if out is not None:
        first, *further = journals
        written = gate(first, by, further=further, reports=out, formats=chosen, terms=terms_of(settings)).files
    if out is not None and PREDICTIONS in wanted:
        named = load_suite(suite) if suite is not None else None
        if named is not None and slug is None:
            slug = repository_slug(named, None)
        predictions, faults = run_predictions(journals, named, slug)
        written[PREDICTIONS] = out / "predictions.jsonl"
        write_predictions(written[PREDICTIONS], predictions)
        if faults:
            say(f"left out: {count_of(faults, 'sample')} without an answer because of a fault")
    for name, path in written.items():
        say(f"{name:11} {path}")
    emit({"schema": "codegate.files/1", "reports": {name: str(path) for name, path in written.items()}})


def _check_verdict(reports: Path, run: Path) -> None:
    """Raise UsageError if ``reports`` has a verdict already.

    A report without a verdict would replace the existing report. ``run`` is named in the message.
    """
    try:
        written = read_result((reports / "report.json").read_bytes())
    except (OSError, UsageError):
        return
    if written.verdicts:
        raise UsageError(
            f"{reports} has reports with a verdict, and reports without --baseline have none.",
            f"`codegate gate {run}` writes them with the verdict again; --out writes these into another folder.",
        )
