"""Turn a repository into a suite.

The steps: scan, cut, queue, environment, validate, statement, write. Merged changes are tried best first and
independently of each other, several at a time; which of them become problems does not depend on how many run at once.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from codegate.errors import Interrupted, UsageError, interrupted_as
from codegate.grading import Sandboxes
from codegate.mining.build import BuiltProblem, ProblemBuilder
from codegate.mining.environments.opening import (
    NewestTree,
    base_tree,
    builds_of_own_recipe,
    builds_of_suite,
    choose_recipe,
    try_recipe,
)
from codegate.mining.environments.recorded import RecordedBuilds
from codegate.mining.languages import LanguageSupport, known_languages
from codegate.mining.options import MineRequest, check_options
from codegate.mining.queue import Budget, Queue
from codegate.mining.refresh import KeptSuite, check_decisions, keep_suite
from codegate.mining.report import ChangeResult, MineEvent, MineReport, change_result, write_report
from codegate.mining.scan import scan
from codegate.mining.sources.history import check_repository, path_from, project_page
from codegate.mining.units import Prospect, Rejected
from codegate.sandbox import Backend, SandboxClosed, close_soon
from codegate.suite import Language, Suite, load_suite, read_commit, write_suite
from codegate.wording import count_of

Value = TypeVar("Value")


def mine_repository(
    repository: Path, out: Path, options: MineRequest, backend: Backend, progress: Callable[[MineEvent], None]
) -> MineReport:
    """Mine ``repository`` into a suite; report each merged change.

    A suite at ``out`` is replaced as a whole, at the end. The caller closes ``backend``; an interrupt closes it as
    well. ``progress`` is called from the calling thread only.

    Raises:
        UsageError: the repository cannot be mined, an option is wrong, or ``out`` holds something that is no suite.
        InfrastructureError: sandboxes, package index or disk failed.
        Interrupted: stopped by the user; nothing was written.
    """
    started = time.monotonic()
    name = check_options(repository, out, options)
    tip = check_repository(repository, options.branch)
    old = load_suite(out) if options.refresh else None
    if old is None and (out / "suite.yml").exists():
        check_decisions(out)
    folders = {problem.manifest.folder for problem in old.problems} if old is not None else set[str]()
    if len(folders) == 1:
        options = options.model_copy(update={"path": options.path or folders.pop()})
    queue, results = scan(repository, tip, options, old.manifest.scanned if old and options.only is None else None)
    scanned = time.monotonic() - started
    total = len(queue) + len(results)
    words = f"{count_of(total, 'unit')}, {len(queue)} to try, sandbox {backend.name}"
    progress(MineEvent("scanned", words, 0, len(queue), 0))
    today = datetime.now(UTC).date()
    sandboxes = Sandboxes(backend, {}, tree=partial(base_tree, repository, old))
    budget = Budget(options.budget_minutes, started, sandboxes)
    try:
        kept: KeptSuite | None = None
        if old is not None and options.only is not None:
            kept = KeptSuite(old, old.problems, (), {})
        elif old is not None:

            def report_kept(line: str, done: int, total: int) -> None:
                progress(MineEvent("kept", line, done, total, 0))

            kept = _until_stopped(sandboxes, out, lambda: keep_suite(old, repository, sandboxes, today, report_kept))
        languages = known_languages()
        builds = None
        if queue:
            try:
                builds = _until_stopped(
                    sandboxes,
                    out,
                    lambda: _builds(repository, tip, queue, options, languages, sandboxes, old, progress),
                )
            except SandboxClosed:  # the time was used up before a change was tried
                if not budget.used_up.is_set():
                    raise
        builder = ProblemBuilder(
            repository=repository,
            name=old.name if old is not None and options.name is None else name,
            languages=languages,
            sandboxes=sandboxes,
            options=options,
            today=today,
            tip=read_commit(repository, tip),
            stop=budget.over,
            project=project_page(repository),
            recorded=builds,
        )
        work = Queue(builder, options, budget, results, kept, progress)
        work.run(queue)
    except UsageError as error:
        if old is None and not (out / "suite.yml").exists():
            _write_reason(out, queue, results, error)
        raise
    finally:
        budget.end()
        sandboxes.close()
    # If a refresh left units untried, the next one begins where this one did.
    untried = options.only is not None or (
        old is not None and any(result.reason in {"budget", "not_needed"} for result in results)
    )
    scanned_at = (old.manifest.scanned if old is not None else None) if untried else tip
    with interrupted_as(f"interrupted while {out} was being written: it has the suite from before or the new one."):
        suite = _write(work.built, kept, repository, out, builder.name, scanned_at)
        results.sort(key=lambda result: (result.date, result.commit), reverse=True)
        seconds = {"scan": scanned, **work.profile.seconds(), "total": time.monotonic() - started}
        report = MineReport(suite, out, tuple(results), seconds, kept, builder.rewrites, builder.usage, work.profile)
        write_report(report)
    return report


def _write_reason(out: Path, queue: Sequence[Prospect], results: Sequence[ChangeResult], error: UsageError) -> None:
    end, ended = Rejected("env_unresolved", error.cause), {result.commit for result in results}
    left = (change_result(each.unit, each.bug, end) for each in queue if each.unit.commit not in ended)
    found = sorted((*results, *left), key=lambda result: (result.date, result.commit), reverse=True)
    write_report(MineReport(None, out, tuple(found), {}))


def _builds(
    repository: Path,
    tip: str,
    queue: list[Prospect],
    options: MineRequest,
    languages: Mapping[Language, LanguageSupport],
    sandboxes: Sandboxes,
    old: Suite | None,
    progress: Callable[[MineEvent], None],
) -> RecordedBuilds:
    def say(line: str) -> None:
        progress(MineEvent("tried", line, 0, len(queue), 0))

    head, known = (
        NewestTree.of(repository, tip, options.names(), options.path, queue),
        builds_of_suite(old, sandboxes),
    )
    if options.recipe is not None:
        say(f"building the recipe on {tip[:12]}")
        builds = builds_of_own_recipe(options.recipe, sandboxes, known, options.path)
        tried = try_recipe(builds, languages, sandboxes, head)
        say(f"the recipe {'works' if tried.ready else 'builds, but most tests fail'} on {tip[:12]}: {tried.words}")
        return builds
    say(f"no recipe is written; trying those that were found on {tip[:12]}")
    proved = choose_recipe(options.path, head, languages, sandboxes, say, known)
    say(f"taken: {proved.found.place}: {proved.tried.words}")
    return proved.builds


def _until_stopped(sandboxes: Sandboxes, out: Path, work: Callable[[], Value]) -> Value:
    """Return the result of ``work``; an interrupt closes the backend.

    The interrupt then raises Interrupted, with a message on what is at ``out``.
    """
    try:
        return work()
    except KeyboardInterrupt as error:
        close_soon(sandboxes.backend)
        raise Interrupted(stopped_words(out)) from error


def stopped_words(out: Path) -> str:
    """Describe what stopped mining leaves at ``out``."""
    suite = "the suite is as it was" if (out / "suite.yml").exists() else "no suite was written"
    return f"mining was stopped; {suite}. The same command goes on from here."


def _write(
    built: list[BuiltProblem], kept: KeptSuite | None, repository: Path, out: Path, name: str, scanned: str | None
) -> Suite | None:
    if not built and kept is None:
        return None
    environments = dict(kept.suite.environments) if kept else {}
    environments |= {entry.environment.manifest.id: entry.environment for entry in built}
    new = sorted((entry.problem for entry in built), key=lambda one: (str(one.manifest.provenance.date), one.id))
    return write_suite(
        out,
        name=name,
        repository=kept.suite.manifest.repository if kept else path_from(out, repository),
        environments=[entry for _, entry in sorted(environments.items())],
        problems=[*(kept.problems if kept else ()), *new],
        scanned=scanned,
        canary=kept.suite.manifest.canary if kept else None,
    )
