"""Run, gate and merge: each ends with a ``Report``, whose verdicts are computed here and nowhere else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegate.errors import ExitCode
from codegate.gating import Baseline, Verdict
from codegate.reporting import ReportView, Terms, build_view, gather, write_reports
from codegate.running import (
    Gate,
    Journal,
    Progress,
    Run,
    RunRequest,
    gate_run,
    merge_shards,
    run_exit_code,
    run_suite,
)


@dataclass(frozen=True)
class Report:
    """A finished run, compared and reported.

    Attributes:
        run: what was run.
        folder: where it is.
        verdicts: of each candidate; empty without a gate.
        view: what was reported.
        files: the reports that were written, by format.
        exit_code: of the verdicts; without any, 4 where an outcome has no grade.
    """

    run: Run
    folder: Path
    verdicts: tuple[Verdict, ...]
    view: ReportView
    files: dict[str, Path]
    exit_code: ExitCode


def run(
    request: RunRequest,
    progress: Callable[[Progress], None],
    announce: Callable[[str], None],
    *,
    reports: Path | None = None,
    terms: Terms | None = None,
    baseline: Baseline | None = None,
) -> Report:
    """Run candidates on a suite and report; with a gate, compare them. A shard is compared with nothing.

    Args:
        request: what is run, where, and the gate.
        progress: called after each outcome.
        announce: called with lines for people.
        reports: folder of the reports; None: in the run's folder.
        terms: prices, weights and limits of the reports.
        baseline: shown beside a run without a gate.

    Raises:
        CodegateError: as ``run_suite``.
    """
    finished, journal = run_suite(request, progress, announce)
    chosen = request.gate if finished.manifest.shard is None else None
    return _report(finished, journal, chosen, reports, terms, baseline)


def gate(journal: Journal, gate: Gate | None, *, reports: Path | None = None, terms: Terms | None = None) -> Report:
    """Compare the candidates of a finished run with the baseline, where there is one, and report; as ``run``.

    Raises:
        UsageError: the run is unfinished, or was planned for another gate.
    """
    return _report(journal.load(), journal, gate, reports, terms, None)


def merge(
    shards: Sequence[Path],
    out: Path | None,
    gate: Gate | None,
    *,
    run_id: str | None = None,
    reports: Path | None = None,
    terms: Terms | None = None,
) -> Report:
    """Put the shards of a run together in the folder ``out``, compare the whole and report; as ``run``.

    Raises:
        UsageError: a shard is missing, doubled or another run's, or the run was planned for another gate.
    """
    journal = merge_shards(shards, out, run_id=run_id, gate=gate)
    return _report(journal.load(), journal, gate, reports, terms, None)


def _report(
    finished: Run,
    journal: Journal,
    gate: Gate | None,
    reports: Path | None,
    terms: Terms | None,
    baseline: Baseline | None,
) -> Report:
    verdicts = gate_run(finished, gate) if gate is not None else ()
    shown = gate.baseline if gate is not None else baseline
    view = build_view([finished], verdicts, gather([journal], shown.samples if shown is not None else None, terms))
    files = write_reports(view, reports or journal.folder / "reports")
    return Report(finished, journal.folder, verdicts, view, files, run_exit_code(finished, verdicts))
