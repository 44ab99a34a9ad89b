"""Confirm a regression by fresh samples of the pinned model.

A stored baseline can be out of date: the provider serves another model under the same name, or the machine grades more
slowly. Fresh samples distinguish that from a worse candidate. A run without a regression needs none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from codegate.candidates import CandidateSpec, Prices, Provider, open_provider
from codegate.errors import UsageError
from codegate.running.attempt import Setup
from codegate.running.checks import missing_price
from codegate.running.config import with_user_prices
from codegate.running.gate import Gate, gate_candidate
from codegate.running.journal import CONFIRMATION, Journal
from codegate.running.outcome import Run
from codegate.running.plan import RunOptions, plan_run
from codegate.running.scheduler import execute
from codegate.wording import count_of


def open_pinned(
    gate: Gate,
    candidates: Sequence[CandidateSpec],
    prices: Mapping[str, Prices],
    options: RunOptions,
    providers: dict[str, Provider | None],
    announce: Callable[[str], None],
) -> CandidateSpec | None:
    """Return the pinned candidate; open its provider for fresh samples.

    The provider is added to ``providers``. Returns None if the gate takes no fresh samples, or if the candidate cannot
    be called; ``announce`` then gets the reason. A baseline file must not decide where an API key is sent. So an
    address or a key source in the file is used only if one of ``candidates`` has the same. Prices in the file are
    ignored.
    """
    if gate.baseline is None or not gate.confirm_samples:
        return None
    spec = gate.baseline.spec
    pinned = with_user_prices(spec, candidates, prices)
    reason = None
    try:
        if spec.provider == "predictions":
            reason = f"the answers of {spec.label} came from a file"
        elif not spec.is_trusted_by(candidates):
            reason = f"{spec.label} has an address or a key of its own, which only the baseline file names"
        elif (reason := missing_price(options, pinned)) is None and pinned.key() not in providers:
            providers[pinned.key()] = open_provider(pinned, options.transcripts)
    except UsageError as error:
        reason = error.cause
    if reason is not None:
        announce(f"regressions will not be confirmed by fresh samples of the pinned model: {reason}")
        return None
    return pinned


def confirm_regressions(
    setup: Setup, run: Run, gate: Gate, pinned: CandidateSpec, announce: Callable[[str], None]
) -> Run:
    """Sample the pinned model again if a candidate regressed.

    Returns ``run``, with the confirming run if one was made. The confirming run is in the subfolder ``confirmation``,
    and is resumed if it exists. Calls of both runs count against the limits in the setup's options. ``pinned`` is the
    baseline's candidate at the user's prices.
    """
    journal, count = setup.journal, gate.confirm_samples
    judged = run.model_copy(update={"confirmation": None})
    verdicts = [gate_candidate(judged, candidate, gate) for candidate in run.manifest.candidates]
    regressed = [verdict.label for verdict in verdicts if verdict.kind == "regressed"]
    if not regressed or not count:
        return run
    fresh_samples = f"{count_of(count, 'fresh sample')} per problem of the pinned {pinned.label}"
    announce(f"{', '.join(regressed)} regressed: {fresh_samples} follow")
    manifest = plan_run(setup.suite, (pinned,), count, setup.backend.name, f"{run.manifest.id[:80]}-confirmation")
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
        # No probe: if the pinned model does not answer, the run still gets a verdict.
        options = setup.options.model_copy(
            update={"spent_before": journal.calls.spending(), "full_test_suite": False}  # no report shows its result
        )
        execute(replace(setup, journal=fresh, options=options, cache=None), probe=False)
    return journal.load()
