"""Run, gate and merge: each ends with a ``Report``, whose verdicts are computed here and nowhere else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codegate.candidates import CandidateSpec
from codegate.errors import CodegateError, ExitCode, UsageError
from codegate.gating import Baseline, GatePolicy, Verdict
from codegate.operations.suites import check_policy
from codegate.reporting import (
    ReportTerms,
    ReportView,
    Sweep,
    build_view,
    collector,
    gather,
    send_trace,
    sweep_of,
    write_reports,
)
from codegate.running import (
    Gate,
    Journal,
    Progress,
    Run,
    RunOptions,
    RunRequest,
    gate_run,
    load_run,
    merge_shards,
    run_exit_code,
    run_suite,
)
from codegate.running.gate import check_cutoffs
from codegate.running.judge import judge_run
from codegate.suite import load_suite


@dataclass(frozen=True)
class Report:
    """A finished run, compared and reported.

    ``verdicts`` are of each candidate, none without a gate; ``view`` is what was reported, in ``files`` by format;
    ``exit_code`` is that of the verdicts, and without any 4 where an outcome has no grade. ``trace`` says what became
    of its OpenTelemetry spans; empty where the environment names no collector.
    """

    run: Run
    folder: Path
    verdicts: tuple[Verdict, ...]
    view: ReportView
    files: dict[str, Path]
    exit_code: ExitCode
    trace: str = ""


def run(
    request: RunRequest,
    progress: Callable[[Progress], None],
    announce: Callable[[str], None],
    *,
    reports: Path | None = None,
    terms: ReportTerms | None = None,
    baseline: Baseline | None = None,
    floors: GatePolicy | None = None,
) -> Report:
    """Run candidates on a suite and report; with a gate, compare them. A shard is compared with nothing.

    ``announce`` gets lines for people, ``reports`` is by default in the run's folder, ``terms`` are prices, weights and
    limits of the reports, ``baseline`` is shown beside a run without a gate, and ``floors`` is the policy whose
    absolute demands decide where there is no gate.
    """
    if floors is not None:
        check_policy(floors, load_suite(request.suite))  # better before the model calls than after
        check_cutoffs(request.candidates, floors)
    finished, journal = run_suite(request, progress, announce)
    chosen = request.gate or floors if finished.manifest.shard is None else None
    return _traced(_report(finished, journal, chosen, reports, terms, baseline), journal)


def gate(
    journal: Journal, gate: Gate | GatePolicy | None, *, reports: Path | None = None, terms: ReportTerms | None = None
) -> Report:
    """Compare the candidates of a finished run with the baseline, or with floors alone, and report; as ``run``.

    Raises:
        UsageError: the run is unfinished, or was planned for another gate.
    """
    return _report(journal.load(), journal, gate, reports, terms, None)


def report(
    journals: Sequence[Journal],
    gate: Gate | None,
    out: Path,
    *,
    formats: Sequence[str] | None = None,
    terms: ReportTerms | None = None,
) -> dict[str, Path]:
    """Write the reports of one or more runs into the folder ``out``, with their verdicts where there is a gate."""
    runs = [journal.load() for journal in journals]
    return _written(runs, journals, gate, out, terms, formats=formats)[2]


def judge(
    folder: Path, judge: CandidateSpec | None, options: RunOptions, announce: Callable[[str], None]
) -> tuple[ReportView, int]:
    """Return the view of a run with its judge's verdicts, and how many attempts faults left without one.

    ``judge`` is asked about the attempts that it has not judged; None: what is recorded is shown.

    Raises:
        UsageError: there is no judge and no record, or as ``judge_run``.
    """
    journal = Journal.open(folder)
    lost = judge_run(journal, judge, options, announce) if judge is not None else 0
    view = build_view([journal.load()], (), gather([journal]))
    if not any(entry.judged for entry in view.candidates):
        raise UsageError(
            f"{folder} has no attempt that a judge has judged.", "Name one with --judge, or `judge` in codegate.yml."
        )
    return view, lost


def sweep(folders: Sequence[Path]) -> Sweep:
    """Return what the settings of the candidates of these runs do; raises UsageError where none can be compared."""
    return sweep_of([load_run(folder) for folder in folders])


def merge(
    shards: Sequence[Path],
    out: Path | None,
    gate: Gate | None,
    *,
    run_id: str | None = None,
    reports: Path | None = None,
    terms: ReportTerms | None = None,
    floors: GatePolicy | None = None,
) -> Report:
    """Put the shards of a run together in the folder ``out``, compare the whole and report; as ``run``.

    Raises:
        UsageError: a shard is missing, doubled or another run's, or the run was planned for another gate.
    """
    journal = merge_shards(shards, out, run_id=run_id, gate=gate)
    return _traced(_report(journal.load(), journal, gate or floors, reports, terms, None), journal)


def _traced(report: Report, journal: Journal) -> Report:
    """Send the spans of a whole run where the environment names a collector; that they cannot be sent is no error."""
    if report.run.manifest.shard is not None or collector() is None:
        return report
    try:
        return replace(report, trace=send_trace(journal))
    except CodegateError as error:
        return replace(report, trace=f"not traced: {error}")


def _report(
    finished: Run,
    journal: Journal,
    gate: Gate | GatePolicy | None,
    reports: Path | None,
    terms: ReportTerms | None,
    baseline: Baseline | None,
) -> Report:
    out = reports or journal.folder / "reports"
    verdicts, view, files = _written([finished], [journal], gate, out, terms, baseline)
    return Report(finished, journal.folder, verdicts, view, files, run_exit_code(finished, verdicts))


def _written(
    runs: Sequence[Run],
    journals: Sequence[Journal],
    gate: Gate | GatePolicy | None,
    out: Path,
    terms: ReportTerms | None,
    baseline: Baseline | None = None,
    formats: Sequence[str] | None = None,
) -> tuple[tuple[Verdict, ...], ReportView, dict[str, Path]]:
    """Return the verdicts on all runs, what is shown of them, and the files that were written: the only place."""
    verdicts = tuple(verdict for run in runs for verdict in gate_run(run, gate)) if gate is not None else ()
    shown = gate.baseline if isinstance(gate, Gate) else baseline
    view = build_view(list(runs), verdicts, gather(journals, shown, terms))
    return verdicts, view, write_reports(view, out, formats)
