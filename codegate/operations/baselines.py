"""Pin finished runs as a baseline; append them to histories."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec, cost
from codegate.errors import UsageError
from codegate.gating import Baseline, Download, Lock, Origin, RunSamples, load_lock, pinning, trend
from codegate.gating.baseline import write_baseline, write_lock
from codegate.gating.history import HistoryEntry, append_history, history_entry, read_history
from codegate.gating.pinning import MIN_SAMPLES
from codegate.gating.trend import STALE_DAYS, WatchResult, history_alarms
from codegate.running import Run, candidate_samples, choose_candidate, load_run
from codegate.suite import GitError, git
from codegate.suite.git import user_setting
from codegate.wording import count_of

_SECONDS: Final = 10.0


def read_runs(folders: Sequence[Path], name: str | None) -> list[RunSamples]:
    """Read each run's results of the candidate called ``name``."""
    return [samples_of(load_run(folder), name) for folder in folders]


def samples_of(run: Run, name: str | None = None) -> RunSamples:
    """Return a run's results of the candidate called ``name``.

    Raises UsageError if no candidate or more than one has the name. Answers reused from earlier runs are refused too:
    their date is wrong, and together with the earlier run they would count twice.
    """
    spec = choose_candidate(run, name)
    outcomes = run.of(spec.key())
    if reused := sum(outcome.reused for outcome in outcomes):
        raise UsageError(
            f"earlier runs made {count_of(reused, 'answer')} of {spec.label} in run {run.manifest.id}.",
            "Take the runs that made them, or run it again without --cache.",
        )
    return RunSamples(
        run=run.manifest.id,
        finished=max((outcome.finished for outcome in outcomes), default="") or run.manifest.created,
        suite_digest=run.manifest.suite_digest,
        spec=spec,
        samples=candidate_samples(run, spec),
        looks=len(run.manifest.looks),
        suite=run.manifest.suite,
        models=tuple(sorted({model for one in outcomes if one.attempt for model in one.attempt.models})),
    )


def pin(
    runs: Sequence[RunSamples],
    out: Path,
    lock: Path,
    *,
    replace: bool = False,
    min_samples: int = MIN_SAMPLES,
    transport: Download | None = None,
    environments: Mapping[str, str] | None = None,
    added_to: Baseline | None = None,
) -> tuple[Baseline, Lock]:
    """Make a baseline of all runs; write baseline and lock.

    ``added_to`` is a baseline of the same model; its samples are a part of the new baseline. ``replace`` allows an
    existing lock or baseline file of the same model. ``transport`` is where the baseline can be downloaded,
    ``environments`` has the SHA-256 of built environments by key; None: as in the existing lock. Raises UsageError if a
    file exists or the runs cannot be pinned.
    """
    pinned = load_lock(lock) if os.path.lexists(lock) else None
    if added_to is None:
        made = pinning.pin(runs, origin=origin(), min_samples=min_samples, replaced=pinned)
    else:
        made, _ = pinning.refresh(added_to, runs, origin=origin(), min_samples=min_samples)
    if pinned is not None and not replace:
        raise UsageError(f"{lock} pins a baseline already.", "Give --replace to accept a new one.")
    if not replace:
        check_absent(out)
    return made, write_with_lock(made, out, lock, transport, environments)


def write_with_lock(
    made: Baseline,
    out: Path,
    lock: Path,
    transport: Download | None = None,
    environments: Mapping[str, str] | None = None,
) -> Lock:
    """Write a baseline and its lock.

    ``transport`` is where the baseline can be downloaded, ``environments`` has the SHA-256 of built environments by
    key; None: as in the existing lock.
    """
    if os.path.lexists(lock):
        pinned = load_lock(lock)
        transport, environments = transport or pinned.transport, environments or pinned.environments
    write_baseline(out, made)
    return write_lock(lock, out, transport, environments)


def check_absent(path: Path) -> None:
    """Raise UsageError if ``path`` exists, because it may be pinned."""
    if os.path.lexists(path):
        raise UsageError(f"{path} exists already.", "Give another --out, or --replace to write over it.")


def origin() -> Origin:
    """Return who makes the baseline, and at which commit.

    Workflow variables or git name both.
    """
    if os.environ.get("GITHUB_ACTIONS") == "true":
        return Origin(_text(os.environ.get("GITHUB_ACTOR")), _commit(os.environ.get("GITHUB_SHA")))
    return Origin(_git_user(), _commit(_git_here("rev-parse", "--verify", "HEAD")))


def _git_here(*arguments: str) -> str | None:
    try:
        return git(Path(), *arguments, timeout=_SECONDS, limit=1 << 16).decode("utf-8", "replace")
    except GitError:
        return None


def _git_user() -> str | None:
    # The repository's setting comes before the user's.
    if own := _text(_git_here("config", "--get", "user.name")):
        return own
    return _text(user_setting("user.name"))


def _text(value: str | None) -> str | None:
    words = "".join(sign if sign.isprintable() else " " for sign in value or "").split()
    return " ".join(words)[:200] or None


def _commit(value: str | None) -> str | None:
    text = (value or "").strip().lower()
    return text if len(text) in {40, 64} and set(text) <= set("0123456789abcdef") else None


def append_runs(
    history: Path, runs: Sequence[Run], name: str | None = None
) -> tuple[tuple[HistoryEntry, ...], tuple[HistoryEntry, ...]]:
    """Append finished runs to a history, a line per candidate.

    With ``name``, only lines of this candidate are appended. Returns the new lines, and all lines of these runs.
    """
    entries = tuple(entry for run in runs for entry in _entries(run, name))
    return append_history(history, entries), entries


def watch(history: Path, baseline: Baseline, *, stale_days: int = STALE_DAYS) -> WatchResult:
    """Compare the pinned model's nightly runs with the baseline.

    A newest run more than ``stale_days`` days old is an alarm too.
    """
    entries = read_history(history)
    found = trend.watch(baseline, entries)
    own = [entry for entry in entries if entry.candidate == baseline.samples.candidate]
    stale = (alarm for alarm in history_alarms(own, stale_days=stale_days) if alarm.kind == "stale")
    return replace(found, alarms=(*found.alarms, *stale))


def _entries(run: Run, name: str | None) -> list[HistoryEntry]:
    names = [name] if name is not None else [candidate.key() for candidate in run.manifest.candidates]
    parts = [samples_of(run, each) for each in names]
    return [history_entry(part, _dollars(run, part.spec)) for part in parts]


def _dollars(run: Run, spec: CandidateSpec) -> float | None:
    # One unknown cost makes the sum unknown.
    total = Decimal(0)
    for outcome in run.of(spec.key()):
        paid = cost(outcome.attempt.usage, spec.prices) if outcome.attempt else None
        if paid is None:
            return None
        total += paid
    return float(total)
