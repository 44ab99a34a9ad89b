"""Start or resume a run, and execute it."""

import contextlib
import os
import shlex
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec, Prices, answers_in_file, price_words
from codegate.errors import UNWRITTEN, Interrupted, UsageError
from codegate.gating import Baseline
from codegate.grading import base_images
from codegate.running.attempt import Engine, Progress, Setup
from codegate.running.bases import check_bases
from codegate.running.cache import AttemptCache
from codegate.running.calls import TimeLimit
from codegate.running.checks import check_answering, check_prices, check_servers, with_spending
from codegate.running.confirmation import confirm_regressions, open_pinned
from codegate.running.gate import Gate, check_gate, check_planned_gate, settled_candidates
from codegate.running.journal import ANSWERS, RUNS, Journal
from codegate.running.opening import interruptible, opened_backend, opened_providers
from codegate.running.outcome import Run, RunManifest, Shard
from codegate.running.plan import EngineName, RunOptions, check_place, check_resumable, jobs, new_run_id, plan_run
from codegate.running.predictions import PROVIDER, PredictedCandidates, keep_predictions
from codegate.running.readiness import check_images, check_installed, warn_of_expired
from codegate.running.scheduler import execute
from codegate.running.shards import ShardChoice, ShardPlan, plan_parts, shard_manifest, shared_options
from codegate.sandbox import Choice, NotInstalled, check_choice
from codegate.suite import Problem, Suite, images_of, load_suite
from codegate.suite.exchange import write_predictions
from codegate.wording import count_of, join_first

_SHARD_SAMPLES: Final = 3  # samples per problem of a gated shard; suites large enough for shards need no more


@dataclass(frozen=True)
class RunSpec:
    """The request for a run: what to run, and where.

    Attributes:
        candidates: ignored when a run is resumed.
        samples: per problem and candidate; ignored when a run is resumed. None: by the gate's looks, or 1 without a
            gate.
        sandbox: where untrusted code runs; a resumed run keeps its kind.
        out: folder of a new run; None makes ``runs/<id>``.
        resume: folder of a run to continue.
        prices: prices by model, for the pinned model.
        gate: what decides; without ``samples``, sampling of a candidate stops once its verdict is settled.
        no_gate: a new run stays ungated, also when it is resumed; a run planned for a gate is resumed without it.
        shard: part of a shared run. A shard makes a fixed number of samples (three for a gate without ``samples``) and
            no verdict.
        answers: answers of ``candidates`` from a file, for a run without model calls.
        images: the baseline's base images by Python version, used where available.
        pilot: make the first sample of this many problems, then stop; None: the whole run.
        problems: ids of the problems to run; empty: all.
        limit: run only this many problems, in the order of the suite.
        command: words of the command that continues the run, without its folder; default: ``codegate run SUITE``.
    """

    suite: Path
    candidates: Sequence[CandidateSpec]
    samples: int | None = None
    sandbox: Choice = "auto"
    out: Path | None = None
    resume: Path | None = None
    options: RunOptions = field(default_factory=RunOptions)
    prices: Mapping[str, Prices] = field(default_factory=dict)
    gate: Gate | None = None
    no_gate: bool = False
    shard: ShardChoice | None = None
    answers: PredictedCandidates | None = None
    images: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    limit: int | None = None
    pilot: int | None = None
    command: tuple[str, ...] = ()

    @property
    def baseline(self) -> Baseline | None:
        """Return the baseline to compare with; None without one."""
        return self.gate.baseline if self.gate is not None else None


def run_suite(
    spec: RunSpec, progress: Callable[[Progress], None], announce: Callable[[str], None]
) -> tuple[Run, Journal]:
    """Execute a run, new or resumed; return run and journal."""
    begun: list[Journal] = []
    try:
        return _run_suite(spec, progress, announce, begun)
    except (KeyboardInterrupt, Interrupted) as error:
        if not begun:
            raise Interrupted(UNWRITTEN) from error
        if isinstance(error, Interrupted) and error.remedy:
            raise
        raise Interrupted(*interruption_words(spec, begun[0].folder)) from error


def interruption_words(spec: RunSpec, folder: Path) -> tuple[str, str]:
    """Return the message and remedy after an interruption."""
    return f"interrupted; what the run has made is kept in {folder}.", f"Continue with:\n{_command_again(spec, folder)}"


def _run_suite(
    spec: RunSpec, progress: Callable[[Progress], None], announce: Callable[[str], None], begun: list[Journal]
) -> tuple[Run, Journal]:
    """Execute a run; append its journal to ``begun``."""
    time_limit = TimeLimit(spec.options.max_minutes)
    suite = load_suite(spec.suite)
    warn_of_expired(suite, announce)
    check_images(suite)
    journal, sandbox, run_id, candidates = None, spec.sandbox, new_run_id(), spec.candidates
    if spec.resume is not None:
        journal = Journal.open(spec.resume)
        check_resumable(journal.manifest, suite)
        planned = journal.manifest
        if planned.shard is not None or (planned.gated_by is not None and not spec.no_gate):
            check_planned_gate(planned, spec.gate)
        sandbox = _same_sandbox(spec.sandbox, journal.manifest)
        run_id = journal.manifest.id
        candidates = _with_own_terms(journal.manifest, spec.candidates).candidates
    elif spec.answers is None:
        for candidate in candidates:
            if candidate.provider == PROVIDER:
                raise answers_in_file(f"candidate {candidate.label}")
    check_bases(suite, suite.active, spec.options.repository)
    check_prices(spec.options, candidates)
    cluster = _connect_engine(spec.options.engine, spec.options.jobs, announce)
    stop = threading.Event()
    with (
        opened_providers(candidates, spec.options.transcripts) as providers,
        opened_backend(sandbox, run_id) as backend,
    ):
        wanted = images_of(journal.manifest.conditions) if journal is not None else spec.images
        try:
            images = base_images(backend, suite.environments.values(), wanted)
        except NotInstalled as error:
            raise UsageError(error.cause, error.remedy) from error
        if journal is None:
            journal = _new_journal(suite, spec, backend.name, images, run_id, announce)
        try:
            check_place(journal.manifest, images)
            announce(f"run {journal.manifest.id} in {journal.folder}, sandbox {backend.name}")
            journal.manifest = _with_own_terms(journal.manifest, spec.candidates)
            for candidate in journal.manifest.candidates:
                if candidate.calls_a_model:
                    announce(price_words(candidate))
            spec = replace(spec, options=with_spending(spec.options, journal, announce))
            settled = _settled(spec.gate, journal.manifest, suite)
            gate, shard = spec.gate, journal.manifest.shard
            pinned, options = None, spec.options
            if shard is not None:
                options = shared_options(options, shard)
                announce(_shard_words(journal.manifest, shard, options))
            elif gate is not None:
                pinned = open_pinned(gate, candidates, spec.prices, options, providers, announce)
            over = settled(journal.load()) if settled is not None else ()
            left = _unfinished(journal, suite, over)
            check_installed(suite, left, journal.manifest.problem_count, backend, options.repository)
        except (UsageError, KeyboardInterrupt):
            journal.remove_if_unstarted()
            raise
        begun.append(journal)
        # Until here a signal raises KeyboardInterrupt; from here on it is handled, so that no write is cut off.
        with interruptible(stop, backend), journal.writing():
            keep_predictions(journal, suite, announce)
            conditions = journal.manifest.conditions
            cache = AttemptCache(options.cache, conditions, announce) if options.cache is not None else None
            again_with = _command_again(spec, journal.folder)
            if options.precheck:
                check_answering(journal, suite, providers, options, cache, over, stop, announce, again_with)
            engine = cluster(suite, run_id, backend.name, images, options.repository) if cluster is not None else None
            setup = Setup(
                journal, suite, backend, providers, options, progress, stop, cache, again_with, engine, time_limit
            )
            if spec.pilot is not None:
                return execute(setup, pilot=spec.pilot), journal
            run = execute(setup, settled)
            if reused := sum(outcome.reused for outcome in run.outcomes):
                announce(
                    f"{reused} of {len(run.outcomes)} answers are reused from earlier runs, and cost this one nothing"
                )
            if gate is not None and pinned is not None:
                run = confirm_regressions(replace(setup, options=spec.options), run, gate, pinned, announce)
            return run, journal


def check_same_plan(folder: Path, spec: RunSpec) -> None:
    """Raise UsageError naming where ``spec`` differs from the run's plan."""
    before = Journal.open(folder).manifest
    now = _plan(load_suite(spec.suite), spec, before.sandbox, before.id, fixed=spec.shard is not None)
    if before.gated_by is None and spec.baseline is None:  # floors may decide a run that was planned without a gate
        now = now.model_copy(update={"gated_by": None})
    if spec.shard is not None:
        now = shard_manifest(now, spec.shard)
    # The sandboxes' conditions are compared later, when sandboxes are open.
    now = now.model_copy(update={"conditions": {**before.conditions, **now.conditions}})
    if before.id == now.id and before.fingerprint() == now.fingerprint():
        return
    old, new = (plan.model_dump(mode="json", exclude={"created", "codegate", "candidates"}) for plan in (before, now))
    differing = [name for name in old | new if old.get(name) != new.get(name)]
    if [one.key() for one in before.candidates] != [one.key() for one in now.candidates]:
        differing.append("candidates")
    raise UsageError(
        f"run {before.id} was planned otherwise: {', '.join(differing)}.",
        "Restore what has changed, or start a new run.",
    )


def plan_shards(spec: RunSpec, of: int, name: str | None = None) -> ShardPlan:
    """Split a run into parts for several machines.

    There are at most ``of`` parts, each with at least one problem. The run's id is ``name``, or without one a new id,
    followed by the plan's digest.
    """
    return plan_parts(_plan(load_suite(spec.suite), spec, "", name or new_run_id(), fixed=True), of)


def _new_journal(
    suite: Suite,
    spec: RunSpec,
    sandbox: str,
    images: Mapping[str, str],
    run_id: str,
    announce: Callable[[str], None],
) -> Journal:
    choice = spec.shard
    manifest = _plan(suite, spec, sandbox, run_id, fixed=choice is not None, images=images)
    if spec.problems or spec.limit is not None:
        chosen = tuple(dict.fromkeys(spec.problems)) or tuple(manifest.problems)
        if unknown := next((name for name in chosen if name not in manifest.problems), None):
            near = get_close_matches(unknown, manifest.problems, 1)
            reason = manifest.excluded.get(unknown, "there is none of that name")
            remedy = f"Did you mean {near[0]}?" if near else f"The suite has {join_first(manifest.problems)}."
            raise UsageError(f"problem {unknown[:100]!r}: {reason}.", remedy)
        chosen = chosen[: spec.limit]
        words = f"{len(chosen)} of {len(manifest.problems)} problems"
        manifest = manifest.only(chosen).model_copy(update={"part": words})
    if choice is not None:
        part = shard_manifest(manifest, choice)
        return _created(spec.out or RUNS / f"{part.id}-shard-{choice.number}-of-{choice.of}", part, spec)
    kept = (manifest.gated_by is not None or spec.pilot is not None) and spec.out is None
    journal = _same_plan(manifest, announce) if kept else None
    return journal or _created(spec.out or RUNS / run_id, manifest, spec)


def _unfinished(journal: Journal, suite: Suite, settled: Collection[str]) -> tuple[Problem, ...]:
    run = journal.load()
    graded = {outcome.key for outcome in run.outcomes if outcome.grade is not None}
    left = (job for job in jobs(run.manifest, suite) if job.key not in graded and job.candidate.key() not in settled)
    return tuple({job.problem.id: job.problem for job in left}.values())


def _created(folder: Path, manifest: RunManifest, spec: RunSpec) -> Journal:
    if spec.options.cache is None:  # with a cache, the run may need no call
        check_servers(manifest.candidates)
    journal = Journal.create(folder, manifest, _command_again(spec, folder))
    if spec.answers is not None:
        write_predictions(folder / ANSWERS, spec.answers.predictions)
    return journal


def _command_again(spec: RunSpec, folder: Path) -> str:
    return shlex.join((*(spec.command or ("codegate", "run", str(spec.suite))), "--resume", str(folder)))


def _shard_words(manifest: RunManifest, shard: Shard, options: RunOptions) -> str:
    words = [f"shard {shard.words}: {len(manifest.problems)} of {shard.problems} problems"]
    if options.max_model_calls is not None:
        words.append(f"at most {options.max_model_calls} of the model calls")
    if options.budget_usd is not None:
        words.append(f"at most ${options.budget_usd} of the budget")
    return ", ".join(words)


def _plan(
    suite: Suite,
    spec: RunSpec,
    sandbox: str,
    run_id: str,
    *,
    fixed: bool,
    images: Mapping[str, str] | None = None,
) -> RunManifest:
    gate, samples = spec.gate, spec.samples
    if spec.answers is not None:
        samples = samples or spec.answers.samples
        if samples > spec.answers.samples:
            raise UsageError(
                f"the predictions have at most {count_of(spec.answers.samples, 'sample')} of a problem, not {samples}.",
                "Leave out --samples.",
            )
    looks = gate.looks if gate is not None and samples is None else (samples or 1,)
    if fixed:
        looks = (looks[-1] if samples else min(looks[-1], _SHARD_SAMPLES),)
    gated_by = gate.digest if gate is not None else None
    planned = plan_run(
        suite, spec.candidates, looks[-1], sandbox, run_id, looks=looks, gated_by=gated_by, images=images
    )
    return planned.model_copy(update={"no_gate": spec.no_gate})


def _with_own_terms(manifest: RunManifest, candidates: Sequence[CandidateSpec]) -> RunManifest:
    # Candidates with equal keys can have other prices and time limits; the user's ones apply.
    own = {candidate.key(): candidate for candidate in candidates}
    return manifest.model_copy(
        update={"candidates": tuple(own.get(candidate.key(), candidate) for candidate in manifest.candidates)}
    )


def _same_plan(manifest: RunManifest, announce: Callable[[str], None]) -> Journal | None:
    # An equal run is continued, because new samples would give the candidate a second chance.
    if os.environ.get("CI"):
        return None  # in CI the folder can come from an untrusted checkout
    found: list[Journal] = []
    for folder in RUNS.iterdir() if RUNS.is_dir() else ():
        with contextlib.suppress(UsageError, OSError):  # the folder holds no run
            journal = Journal.open(folder)
            if journal.manifest.fingerprint() == manifest.fingerprint():
                found.append(journal)
    if not found:
        return None
    newest = max(found, key=lambda journal: journal.manifest.created)
    announce(f"{newest.folder} has the same plan: its outcomes are reused (`codegate run --out FOLDER` makes new ones)")
    return newest


def _settled(gate: Gate | None, manifest: RunManifest, suite: Suite) -> Callable[[Run], Collection[str]] | None:
    """Return a function that returns settled candidates' keys.

    A candidate is settled if more samples cannot change its verdict. None for a run without a gate.
    """
    check_gate(manifest, gate)
    if gate is None:
        return None
    if manifest.shard is not None:
        over = settled_unsampled(suite, manifest, gate)
        return lambda _run: over
    return lambda run: settled_candidates(run, gate)


def settled_unsampled(suite: Suite, shard: RunManifest, gate: Gate) -> frozenset[str]:
    """Return keys of candidates that a shard need not sample.

    No sample can change their verdict on the whole run: they cannot be compared, or cannot pass.
    """
    whole = plan_run(suite, shard.candidates, shard.samples, shard.sandbox, shard.id)
    whole = whole.model_copy(update={"conditions": shard.conditions, "proved": shard.proved})
    return settled_candidates(Run(manifest=whole, outcomes=()), gate)


def _same_sandbox(choice: Choice, manifest: RunManifest) -> Choice:
    if choice in {"auto", manifest.sandbox} and manifest.sandbox != "auto":
        return check_choice(manifest.sandbox)
    raise UsageError(
        f"run {manifest.id} began with {manifest.sandbox} sandboxes and cannot continue with {choice}.",
        f"Leave out --sandbox, or start a new run (codegate.yml: `sandbox: {manifest.sandbox}`).",
    )


def _connect_engine(name: EngineName, sandboxes: int, announce: Callable[[str], None]) -> Callable[..., Engine] | None:
    # Connected before codegate catches signals, because connecting makes Ray handle SIGTERM.
    if name == "local":
        return None
    try:
        from codegate.running import ray_engine  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise UsageError("engine ray needs Ray, which is not installed.", "Install codegate-ci[ray].") from error
    cpus = ray_engine.connect_cluster()
    more = f" (--jobs {cpus} uses every CPU)" if sandboxes < cpus else ""
    announce(f"Ray cluster with {count_of(cpus, 'CPU')}; up to {sandboxes} sandboxes at once{more}")
    return ray_engine.RayCluster
