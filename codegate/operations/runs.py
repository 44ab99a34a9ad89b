"""Run, gate, report, judge and merge runs.

Verdicts are computed here and nowhere else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from codegate.candidates import CandidateSpec
from codegate.errors import CodegateError, ExitCode, InfrastructureError, UsageError, interrupted_as
from codegate.gating import Baseline, Verdict
from codegate.reporting import ReportTerms, ReportView, build_view, collector, read_evidence, send_trace, write_reports
from codegate.running import (
    Gate,
    Journal,
    Progress,
    Run,
    RunManifest,
    RunOptions,
    RunSpec,
    gate_run,
    merge_shards,
    run_exit_code,
    run_suite,
)
from codegate.running.gate import check_cutoffs, check_policy
from codegate.running.judge import judge_run
from codegate.running.session import interruption_words, settled_unsampled
from codegate.suite import load_suite


@dataclass(frozen=True)
class Report:
    """A finished run's verdicts, reports and exit code.

    ``verdicts`` has one for each candidate, none without a gate. ``view`` is the reported content; ``files`` has the
    paths of the reports by format. ``exit_code`` follows from the verdicts; without verdicts it is 4 if an outcome has
    no grade. ``trace`` describes the export of OpenTelemetry spans; empty if the environment names no collector.
    """

    run: Run
    folder: Path
    verdicts: tuple[Verdict, ...]
    view: ReportView
    files: dict[str, Path]
    exit_code: ExitCode
    trace: str = ""


def run(
    spec: RunSpec,
    progress: Callable[[Progress], None],
    announce: Callable[[str], None],
    *,
    reports: Path | None = None,
    terms: ReportTerms | None = None,
    baseline: Baseline | None = None,
) -> Report:
    """Run candidates on a suite, gate the run, write reports.

    A shard gets no verdict; its exit code is 3 if the whole run cannot be compared or cannot pass. ``announce`` gets
    lines for people. ``reports`` is the reports' folder, by default in the run's. ``terms`` are the reports' prices,
    weights and limits. ``baseline`` is shown beside a run without a gate.
    """
    if spec.gate is not None and spec.baseline is None:  # checked before the model calls, not only after them
        check_policy(spec.gate.policy, load_suite(spec.suite))
        check_cutoffs(spec.candidates, spec.gate.policy)
    _, journal = run_suite(spec, progress, announce)
    by = spec.gate if journal.manifest.shard is None else None
    with interrupted_as(*interruption_words(spec, journal.folder)):
        made = gate(journal, by, reports=reports, terms=terms, baseline=baseline)
        if journal.manifest.shard is not None and spec.gate is not None:
            settled = settled_unsampled(load_suite(spec.suite), journal.manifest, spec.gate)
            made = replace(made, exit_code=run_exit_code(made.run, (), settled))
        return _traced(made, journal)


def gate(
    journal: Journal,
    by: Gate | None,
    *,
    further: Sequence[Journal] = (),
    reports: Path | None = None,
    formats: Sequence[str] | None = None,
    terms: ReportTerms | None = None,
    baseline: Baseline | None = None,
) -> Report:
    """Gate a finished run and write its reports.

    Without ``by`` there are no verdicts, and ``baseline`` is only shown. ``further`` runs get verdicts too, in the same
    reports. ``reports`` is the reports' folder, by default in the run's. ``formats`` None: all. ``terms`` are the
    reports' prices, weights and limits.
    """
    journals = [journal, *further]
    runs = [each.load() for each in journals]
    verdicts: tuple[Verdict, ...] = ()
    if by is not None:
        each = (gate_run(run, by, journal.folder) for run, journal in zip(runs, journals, strict=True))
        verdicts = tuple(chain.from_iterable(each))
    shown = by.baseline if by is not None else baseline
    view = build_view(runs, verdicts, read_evidence(journals, shown, terms))
    files = write_reports(view, reports or journal.folder / "reports", formats)
    return Report(runs[0], journal.folder, verdicts, view, files, run_exit_code(runs[0], verdicts))


def judge(
    folder: Path, judge: CandidateSpec | None, options: RunOptions, announce: Callable[[str], None]
) -> tuple[ReportView, int]:
    """Let a model judge a run's attempts; return the report.

    The second value is the number of attempts that faults left without a judgement. Attempts with a judgement are not
    judged again. ``judge`` None: only recorded judgements are shown.
    """
    journal = Journal.open(folder)
    lost = judge_run(journal, judge, options, announce) if judge is not None else 0
    view = build_view([journal.load()], (), read_evidence([journal]))
    if not any(entry.judged for entry in view.candidates):
        if lost:
            raise InfrastructureError(f"faults left each attempt of {folder} unjudged.", "Try again, or name another.")
        if judge is not None:
            raise UsageError(f"no attempt of {folder} has a patch to judge.", "Judge a run whose answers are patches.")
        raise UsageError(
            f"{folder} has no attempt that a judge has judged.", "Name one with --judge, or `judge` in codegate.yml."
        )
    return view, lost


def merge(
    shards: Sequence[Path],
    out: Path | None,
    by: Gate | None,
    *,
    run_id: str | None = None,
    check: Callable[[RunManifest], None] = lambda _: None,
    reports: Path | None = None,
    terms: ReportTerms | None = None,
) -> Report:
    """Merge a run's shards into ``out``, gate it, write reports.

    Without ``by`` there are no verdicts. ``check`` raises UsageError if the whole run must not be made. ``reports`` is
    the reports' folder, by default in ``out``. ``terms`` are the reports' prices, weights and limits.
    """
    journal = merge_shards(shards, out, run_id=run_id, gate=by, check=check)
    return _traced(gate(journal, by, reports=reports, terms=terms), journal)


def _traced(report: Report, journal: Journal) -> Report:
    # A report is made even if the collector fails.
    if report.run.manifest.shard is not None or collector() is None:
        return report
    try:
        return replace(report, trace=send_trace(journal))
    except CodegateError as error:
        return replace(report, trace=f"not traced: {error}")
