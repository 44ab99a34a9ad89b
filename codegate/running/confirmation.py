"""Confirmation: before a regression is reported, the pinned model gets fresh samples, here and now.

A stored baseline can be out of date: the provider serves another model under the name, or the machine grades more
slowly than it did. Fresh samples of the pinned model show whether it is that or a worse candidate. A run without a
regression makes none.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from codegate.candidates import CandidateSpec, Prices, Provider
from codegate.errors import UsageError
from codegate.gating import Baseline
from codegate.running.gate import Gate, gate_candidate
from codegate.running.journal import CONFIRMATION, Journal
from codegate.running.outcome import Run
from codegate.running.plan import plan_run
from codegate.running.scheduler import Progress, RunOptions, execute
from codegate.sandbox import Backend
from codegate.suite import Suite


def why_not(baseline: Baseline, candidates: Sequence[CandidateSpec], keyless: frozenset[str]) -> str | None:
    """Return why the pinned model gets no fresh samples, or None where it may.

    A baseline file does not decide where a key goes: an address of its own, or a variable that holds the key, counts
    only where a candidate of the user's has the very same.
    """
    spec = baseline.spec
    if spec.provider == "predictions":
        return f"the answers of {spec.label} came from a file"
    if spec.base_url is None and spec.api_key_env is None:
        return None
    known = {(c.base_url, c.api_key_env) for c in candidates if c.provider == spec.provider and c.key() not in keyless}
    if (spec.base_url, spec.api_key_env) in known:
        return None
    return f"{spec.label} has an address or a key variable of its own, which only the baseline file names"


def pinned_prices(
    baseline: Baseline, candidates: Sequence[CandidateSpec], prices: Mapping[str, Prices]
) -> Prices | None:
    """Return the pinned model's prices from the user's configuration; those of the baseline file do not count."""
    spec = baseline.spec
    same = [one.prices for one in candidates if (one.provider, one.model) == (spec.provider, spec.model)]
    return next((known for known in same if known is not None), prices.get(spec.model))


def confirm_regressions(
    journal: Journal,
    run: Run,
    suite: Suite,
    backend: Backend,
    providers: Mapping[str, Provider | None],
    gate: Gate,
    pinned: CandidateSpec,
    options: RunOptions,
    progress: Callable[[Progress], None],
    interrupt: threading.Event,
    announce: Callable[[str], None],
) -> Run:
    """Make fresh samples of the pinned model if a candidate of ``run`` regressed; return the run with them.

    The samples are a run of their own in the folder ``confirmation`` of the run's; it is continued when it is there.

    Args:
        journal: the finished run's.
        run: the finished run.
        suite: the suite of both.
        backend: where code runs.
        providers: by candidate key, the pinned model's among them.
        gate: what the run was compared with.
        pinned: the baseline's own candidate, at the user's prices.
        options: how to go about it; calls of both runs count against one limit.
        progress: called after each outcome.
        interrupt: set by the user's wish to stop.
        announce: called with the reason for more calls.

    Raises:
        CodegateError: as ``execute``; what was made stays, and a resumed run goes on with it.
    """
    count = gate.policy.confirm_samples
    judged = run.model_copy(update={"confirmation": None})
    verdicts = [gate_candidate(judged, candidate, gate) for candidate in run.manifest.candidates]
    regressed = [verdict.label for verdict in verdicts if verdict.kind == "regressed"]
    if not regressed or not count:
        return run
    announce(f"{', '.join(regressed)} regressed: {count} fresh samples per problem of {pinned.label} follow")
    manifest = plan_run(suite, (pinned,), count, backend.name, f"{run.manifest.id[:80]}-confirmation")
    manifest = manifest.model_copy(update={"conditions": run.manifest.conditions, "proved": run.manifest.proved})
    fresh = journal.confirmation()
    if fresh is None:
        fresh = Journal.create(journal.folder / CONFIRMATION, manifest)
    elif fresh.manifest.fingerprint() != manifest.fingerprint():
        raise UsageError(f"{fresh.folder} is no confirmation of this run.", "Remove it, and resume.")
    fresh.manifest = manifest
    with fresh.writing():
        record = journal.soundness()
        if record is not None:
            fresh.record_soundness(record)
        # Without a probe: a pinned model that does not answer leaves a verdict, and does not end the run.
        options = replace(options, spent_before=journal.spending())
        execute(fresh, suite, backend, providers, options, progress, interrupt, probe=False)
    return journal.load()
