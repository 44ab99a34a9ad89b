"""Read what a report shows besides runs and verdicts.

If something is missing, the measures that need it are unknown.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from codegate.candidates import Message
from codegate.candidates.harness import Harness
from codegate.errors import UsageError
from codegate.gating import Baseline, CandidateSamples
from codegate.reporting.measures import ReportTerms
from codegate.running import Config, Journal, Outcome, ProblemRecord
from codegate.running.judge import RecordedJudgements, read_judged

Transcripts = Callable[[str, Outcome], Sequence[Message]]
"""Function from a run's id and an outcome to the outcome's conversation, which is empty if none was kept."""


Problems = Callable[[str, str], ProblemRecord | None]
"""Function from a run's id and a problem's name to the run's record of the problem; None if it kept none."""


@dataclass(frozen=True)
class Evidence:
    """What a report needs besides runs and verdicts.

    ``calls`` counts model calls by run id and candidate key. ``judged`` has each run's judgements by run id.
    ``transcripts`` and ``problems`` are functions that read conversations and problem records. ``baseline`` and
    ``harness`` belong to the pinned candidate.
    """

    terms: ReportTerms = field(default_factory=ReportTerms)
    baseline: CandidateSamples | None = None
    transcripts: Transcripts = lambda _run, _outcome: ()
    problems: Problems = lambda _run, _problem: None
    calls: Mapping[tuple[str, str], int] = field(default_factory=dict)
    judged: Mapping[str, RecordedJudgements] = field(default_factory=dict)
    harness: Harness | None = None


NO_EVIDENCE = Evidence()


def read_evidence(
    journals: Sequence[Journal], baseline: Baseline | None = None, terms: ReportTerms | None = None
) -> Evidence:
    """Read the evidence from the runs' folders.

    ``terms`` are prices, weights and limits, which override the runs' own.
    """
    by_run = {journal.manifest.id: journal for journal in journals}

    def transcripts(run: str, outcome: Outcome) -> Sequence[Message]:
        try:
            attempt = by_run[run].read_attempt(*outcome.key) if run in by_run else None
        except UsageError as error:  # a broken file must not prevent the report
            return (Message(role="system", text=f"The transcript cannot be read: {error}"),)
        return attempt.messages if attempt is not None else ()

    def problems(run: str, name: str) -> ProblemRecord | None:
        try:
            return by_run[run].read_problem(name) if run in by_run else None
        except UsageError:  # a broken file must not prevent the report
            return None

    pinned, harness = (baseline.samples, baseline.spec.harness) if baseline is not None else (None, None)
    return Evidence(terms or ReportTerms(), pinned, transcripts, problems, _calls(journals), _judged(journals), harness)


def _calls(journals: Sequence[Journal]) -> dict[tuple[str, str], int]:
    """Return how many model calls each candidate made.

    The keys are run id and candidate key. Runs without a readable call log are left out.
    """
    found = {}
    for journal in journals:
        for candidate in journal.manifest.candidates:
            with suppress(UsageError):  # the number of calls stays unknown
                found[journal.manifest.id, candidate.key()] = journal.calls.spending(candidate.key()).calls
    return found


def _judged(journals: Sequence[Journal]) -> dict[str, RecordedJudgements]:
    found = {}
    for journal in journals:
        with suppress(UsageError):  # a broken file must not prevent the report
            if (judged := read_judged(journal.folder)) is not None:
                found[journal.manifest.id] = judged
    return found


def terms_of(settings: Config) -> ReportTerms:
    """Return the prices, weights and limits of a configuration.

    A model is left out of the prices if a candidate sets another price for it; runs have that price.
    """
    table = settings.prices
    priced = ((one.model, one.prices.model_dump(exclude={"helpers"})) for one in settings.candidates if one.prices)
    own = {
        model for model, prices in priced if model in table and prices != table[model].model_dump(exclude={"helpers"})
    }
    return ReportTerms(
        {model: prices for model, prices in table.items() if model not in own},
        settings.sandbox_hour_usd,
        settings.score,
        settings.gate.max_cost_per_resolved,
        settings.gate.max_p95_latency,
    )
