"""From a repository to a suite: scan, cut, queue, environment, validate, statement, write.

Units are tried best first and independently of each other, several at a time; which of them become problems
does not depend on how many run at once.
"""

import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, Literal

from codegate.errors import CodegateError, Interrupted, UsageError
from codegate.grading import Sandboxes
from codegate.mining.build import Built, ProblemBuilder, Prospect, Steps
from codegate.mining.cut import duplicates, reject_by_paths
from codegate.mining.environment import EnvironmentResolver
from codegate.mining.history import check_repository, read_units
from codegate.mining.languages import Python
from codegate.mining.report import MineReport, UnitResult, write_report
from codegate.mining.units import Rejected, reject_by_text, score_unit
from codegate.mining.workers import Workers
from codegate.sandbox import Backend, SandboxClosed, SandboxError
from codegate.suite import PathClassifier, Suite, git, read_commit, repository_path, write_suite

_SLUG: Final = re.compile(r"[^A-Za-z0-9._-]+")
_PYTHON: Final = re.compile(r"3\.\d{1,2}")
_GRACE_SECONDS: Final = 5.0


@dataclass(frozen=True)
class MineOptions:
    """What to mine and how much.

    Attributes:
        name: the suite's name; None: the repository's folder name.
        branch: whose history; None: HEAD's.
        since: leave out units before this day.
        max_problems: stop when this many are validated; None: no limit.
        budget_minutes: start no unit after this long; None: no limit.
        concurrency: units under way at the same time.
        python: minor version of the interpreter, for example ``3.11``; None: this one's.
        rounds: validation runs of each state.
        include_new_tests: keep units whose tests cannot be imported before the fix.
    """

    name: str | None = None
    branch: str | None = None
    since: date | None = None
    max_problems: int | None = None
    budget_minutes: float | None = None
    concurrency: int = 2
    python: str | None = None
    rounds: int = 3
    include_new_tests: bool = False


@dataclass(frozen=True)
class MineEvent:
    """Progress, for people: ``done`` of ``total`` units have their end, ``accepted`` of them as problems."""

    kind: Literal["scanned", "unit", "writing"]
    message: str
    done: int
    total: int
    accepted: int


def mine(
    repository: Path, out: Path, options: MineOptions, backend: Backend, progress: Callable[[MineEvent], None]
) -> MineReport:
    """Mine ``repository`` into a suite at ``out`` (see the package's docstring) and return what became of each unit.

    Args:
        repository: a local clone with its history.
        out: folder of the suite; a suite that is there is replaced, as a whole and at the end.
        options: what to mine and how much.
        backend: where the code runs; stays the caller's to close, except that an interrupt closes it.
        progress: called from the calling thread only.

    Raises:
        UsageError: the repository cannot be mined, an option is wrong, or ``out`` holds something else.
        InfrastructureError: sandboxes, package index or disk failed.
        Interrupted: stopped by the user; nothing was written.
    """
    started = time.monotonic()
    name, python = _check(repository, out, options)
    tip = check_repository(repository, options.branch)
    queue, results = _scan(repository, tip, options)
    scanned = time.monotonic() - started
    total = len(queue) + len(results)
    progress(MineEvent("scanned", f"{total} units, {len(queue)} to try", len(results), total, 0))
    sandboxes = Sandboxes(backend, {})
    builder = ProblemBuilder(
        repository=repository,
        name=name,
        languages={"python": Python(EnvironmentResolver(python))},
        sandboxes=sandboxes,
        rounds=options.rounds,
        include_new_tests=options.include_new_tests,
        today=datetime.now(UTC).date(),
        stop=threading.Event(),
    )
    work = _Work(builder, options, started, results, progress)
    try:
        work.run(queue)
    finally:
        sandboxes.close()
    suite = _write(work.built, repository, out, name)
    results.sort(key=lambda result: (result.date, result.commit), reverse=True)
    seconds = {"scan": scanned, **work.seconds, "total": time.monotonic() - started}
    report = MineReport(suite, out, tuple(results), seconds)
    write_report(report)
    return report


def _check(repository: Path, out: Path, options: MineOptions) -> tuple[str, str]:
    """Return the suite's name and the interpreter's version."""
    if options.rounds < 1 or options.concurrency < 1:
        raise UsageError("rounds and concurrency must be at least 1.")
    if options.max_problems is not None and options.max_problems < 1:
        raise UsageError("max-problems must be at least 1.")
    if out.exists() and not (out / "suite.yml").exists() and (not out.is_dir() or not _only_ours(out)):
        raise UsageError(f"{out} exists and is no suite.", "Choose another folder.")
    python = options.python or f"{sys.version_info.major}.{sys.version_info.minor}"
    if not _PYTHON.fullmatch(python):
        raise UsageError(f"{python!r} is not a Python version such as 3.11.")
    name = options.name or _SLUG.sub("-", repository.resolve().name.removesuffix(".git")).strip("-._")[:60] or "suite"
    if _SLUG.search(name) or not name[0].isalnum() or len(name) > 60:
        raise UsageError(f"{name!r} is not a name for a suite.", "Use letters, digits, dots, dashes; at most 60.")
    return name, python


def _only_ours(out: Path) -> bool:
    return {path.name for path in out.iterdir()} <= {"funnel.jsonl", "mining.json"}


def _scan(repository: Path, tip: str, options: MineOptions) -> tuple[list[Prospect], list[UnitResult]]:
    """Return the units to try, best first, and the results of those that words or paths rule out."""
    units = read_units(repository, tip, options.since)
    head = PathClassifier.of(read_commit(repository, tip))
    prospects: list[Prospect] = []
    results: list[UnitResult] = []
    for unit in units:
        bug = score_unit(unit)
        reason = reject_by_text(unit, bug) or reject_by_paths(unit, head)
        if reason is None:
            prospects.append(Prospect(unit, bug))
        else:
            results.append(_result(Prospect(unit, bug), Rejected(reason), 0.0))
    again = duplicates([prospect.unit for prospect in prospects], head)
    results += [_result(entry, Rejected("duplicate"), 0.0) for entry in prospects if entry.unit.commit in again]
    queue = [entry for entry in prospects if entry.unit.commit not in again]
    queue.sort(key=lambda entry: (-entry.bug.score, -entry.unit.date.timestamp(), entry.unit.commit))
    return queue, results


class _Work:
    """The queue under way: fills ``results`` and ``built``, in the queue's order."""

    def __init__(
        self,
        builder: ProblemBuilder,
        options: MineOptions,
        started: float,
        results: list[UnitResult],
        progress: Callable[[MineEvent], None],
    ) -> None:
        self.builder = builder
        self.options = options
        self.deadline = None if options.budget_minutes is None else started + options.budget_minutes * 60
        self.results = results
        self.progress = progress
        self.built: list[Built] = []
        self.seconds: Counter[str] = Counter()

    def run(self, queue: list[Prospect]) -> None:
        """Try the queue until it is empty or enough problems were found.

        Raises:
            InfrastructureError: sandboxes or the package index failed, or no environment at all could be built.
            Interrupted: stopped by the user.
        """
        total = len(self.results) + len(queue)
        workers = Workers(self._attempt, queue, self.options.concurrency)
        grace: float | None = None
        try:
            for prospect, future in zip(queue, workers.futures, strict=True):
                self._end(prospect, future, total)
        except KeyboardInterrupt as error:
            grace = _GRACE_SECONDS
            self.builder.stop.set()
            self.builder.sandboxes.backend.close()
            raise Interrupted("mining was stopped; no suite was written.") from error
        finally:
            self.builder.stop.set()
            workers.end(grace)
        if not self.built and self.builder.prepared == 0 and self.builder.unbuildable is not None:
            raise self.builder.unbuildable

    def _attempt(self, prospect: Prospect) -> tuple[Built | Rejected, Steps]:
        steps = Steps()
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return Rejected("budget", "the time budget was used up"), steps
        try:
            try:
                return self.builder.build(prospect, steps), steps
            except SandboxClosed:
                raise
            except SandboxError:
                return self.builder.build(prospect, steps), steps  # once more: a sandbox may fail by accident
        except (CodegateError, OSError):
            raise
        except Exception as error:  # one odd file somewhere in a history must not cost everything else that was found
            return Rejected("unreadable", f"{type(error).__name__}: {error}"[:300]), steps

    def _end(self, prospect: Prospect, future: "Future[tuple[Built | Rejected, Steps]]", total: int) -> None:
        most = self.options.max_problems
        if most is not None and len(self.built) >= most:
            self.builder.stop.set()
            future.cancel()
            self.results.append(_result(prospect, Rejected("budget", f"{most} problems were enough"), 0.0))
            return
        outcome, steps = future.result()
        self.seconds.update(steps.seconds)
        result = _result(prospect, outcome, sum(steps.seconds.values()))
        if isinstance(outcome, Built):
            self.built.append(outcome)
        self.results.append(result)
        ending = result.problem or f"{result.reason}{': ' + result.detail if result.detail else ''}"
        message = f"{prospect.unit.commit[:12]} {prospect.unit.title[:60]!r}: {ending}"
        self.progress(MineEvent("unit", message, len(self.results), total, len(self.built)))


def _write(built: list[Built], repository: Path, out: Path, name: str) -> Suite | None:
    """Write the suite, oldest problem first; None when there is none to write."""
    if not built:
        return None
    environments = {entry.environment.manifest.id: entry.environment for entry in built}
    problems = [entry.problem for entry in built]
    return write_suite(
        out,
        name=name,
        repository=_repository_of(repository, out),
        environments=[entry for _, entry in sorted(environments.items())],
        problems=sorted(problems, key=lambda problem: (str(problem.manifest.provenance.date), problem.id)),
    )


def _repository_of(repository: Path, out: Path) -> str | None:
    """Return the repository's path relative to the suite where a suite may name it: around it or beside it."""
    bare = git(repository, "rev-parse", "--is-bare-repository").strip() == b"true"
    kind = "--absolute-git-dir" if bare else "--show-toplevel"
    home = Path(os.fsdecode(git(repository, "rev-parse", kind).rstrip(b"\n")))
    return repository_path(home, out)


def _result(prospect: Prospect, outcome: Built | Rejected, seconds: float) -> UnitResult:
    unit, bug = prospect.unit, prospect.bug
    return UnitResult(
        commit=unit.commit,
        kind=unit.kind,
        pull_request=unit.pull_request,
        title=unit.title,
        date=unit.date.isoformat(),
        score=bug.score,
        evidence=bug.evidence,
        reason=outcome.reason if isinstance(outcome, Rejected) else None,
        problem=outcome.problem.id if isinstance(outcome, Built) else None,
        detail=outcome.detail if isinstance(outcome, Rejected) else "",
        seconds=seconds,
    )
