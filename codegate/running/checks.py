"""Check candidates before a run: prices, servers, first answers.

This comes before environments and problems, which take minutes to check; a candidate takes a second or two.
"""

import json
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, Final, TypeAlias, cast

from codegate.candidates import (
    CandidateSpec,
    Completion,
    ForwardedAnswer,
    ListedModel,
    ListsModels,
    Message,
    ProblemKey,
    Provider,
    check_snapshot,
    cost,
    model_shutdown,
    nothing_listens,
)
from codegate.candidates.protocols import PROTOCOLS
from codegate.candidates.registry import protocol_of
from codegate.errors import InfrastructureError, Interrupted, UsageError
from codegate.running.cache import AttemptCache
from codegate.running.calls import CallLimitReached, ModelCalls
from codegate.running.endings import refuse_declined
from codegate.running.expenses import BYTES_PER_TOKEN, prompt_sizes
from codegate.running.faults import FinalFault
from codegate.running.journal import Journal
from codegate.running.outcome import Fault
from codegate.running.plan import RunOptions, jobs
from codegate.solving import request_bytes, tool_specs
from codegate.suite import Suite
from codegate.wording import count_of

PATIENCE_SECONDS: Final = 30.0
"""Longest wait for the answer to a first request. A slower model may be loading, so the run begins without the answer.
"""
_QUIET_SECONDS: Final = 5.0
"""Seconds after which a message says that an answer is awaited."""
_POLL_SECONDS: Final = 0.05
_OUR_LIMIT: Final = "output limit", "max_tokens", "max_completion_tokens", "max_output_tokens"
"""Texts in errors about the output limit. In a test request this limit is codegate's, not the candidate's."""
_FirstRequest: TypeAlias = tuple[Callable[[], Completion], int, int]
_QUESTION: Final = "Reply with the single word OK."
_OUTPUT_TOKENS: Final = 256
"""Output limit of a test request: enough for a model that reasons a little."""


def check_prices(options: RunOptions, candidates: Sequence[CandidateSpec]) -> None:
    """Raise UsageError if a dollar limit needs unknown prices."""
    for candidate in candidates:
        if (reason := missing_price(options, candidate)) is not None:
            raise UsageError(
                f"{reason}.",
                "Write its `prices: {input: …, output: …}` (dollars per million tokens) in codegate.yml, or limit the "
                "calls: max_model_calls.",
            )


def missing_price(options: RunOptions, candidate: CandidateSpec) -> str | None:
    """Return which dollar limit needs a missing price, or None."""
    own = candidate.agent is not None and candidate.agent.usd is not None
    if not candidate.calls_a_model or candidate.prices is not None or not (options.budgeted or own):
        return None
    limit = "a budget in dollars" if options.budgeted else "an agent's `usd`"
    return f"{limit} needs to know what {candidate.label} costs"


def with_spending(options: RunOptions, journal: Journal, announce: Callable[[str], None]) -> RunOptions:
    """Return the options with earlier spending subtracted from the limits.

    Spending of the run that confirmed a regression counts against all limits; that of other runs counts only against a
    month's budget. If there is a budget, calls of unknown cost are announced, because no budget counts them.
    """
    if (again := journal.confirmation()) is not None:
        options = options.model_copy(update={"spent_before": again.calls.spending()})
    if not options.budgeted:
        return options
    if unpriced := (journal.calls.spending() + options.spent_before).unpriced:
        announce(f"no budget counts {count_of(unpriced, 'earlier call')} of this run, of unknown cost")
    if (most := options.budget_usd_per_month) is None:
        return options
    spent = journal.spent_this_month()
    more = f", and {count_of(spent.unpriced, 'call')} of unknown cost, not counted" if spent.unpriced else ""
    announce(f"the month's other runs in {journal.folder.parent} cost ${spent.usd:.2f} of ${most:.2f}{more}")
    left = max(most - spent.usd, Decimal(0))
    # Only the smaller of the two limits is kept, and named once it is reached.
    own = options.budget_usd is not None and options.budget_usd <= left
    return options.model_copy(update={"budget_usd_per_month": None} if own else {"budget_usd": left})


def check_servers(candidates: Sequence[CandidateSpec]) -> None:
    """Raise InfrastructureError if no candidate's server can be reached."""
    dead = [one for one in candidates if one.base_url is not None and nothing_listens(one.base_url)]
    if dead and len(dead) == len(candidates):
        raise InfrastructureError(
            f"candidate {dead[0].label}: nothing listens at {dead[0].base_url}.",
            "Start the model's server, or correct its address (`base_url`).",
        )


def check_answering(
    journal: Journal,
    suite: Suite,
    providers: Mapping[str, Provider | None],
    options: RunOptions,
    cache: AttemptCache | None,
    settled: Collection[str],
    stop: threading.Event,
    announce: Callable[[str], None],
    resume: str,
) -> None:
    """Test with a small call whether each candidate answers.

    Helper models are tested, too. Not tested are candidates whose key is in ``settled``, that have answered before, or
    that need no call. A temporary failure is only announced. ``resume`` is the command that continues the run, for
    messages.

    Raises:
        UsageError: a provider declined a key, a model or a parameter, a candidate's model is a floating alias, or the
            budget allows no call.
        InfrastructureError: an account is out of money, or no candidate's server can be reached.
    """
    unanswered = [one for one in _unanswered(journal, suite, cache) if one.key() not in settled]
    asked = [(one, candidate) for candidate in unanswered for one in (candidate, *candidate.helpers)]
    calls = ModelCalls(options, journal, stop)
    answers: dict[str, Completion] = {}
    faults: dict[str, Fault] = {}
    failures: list[Exception] = []

    def ask(candidate: CandidateSpec, request: _FirstRequest) -> None:
        try:
            answers[candidate.key()] = calls.check(candidate, *request)
        except FinalFault as error:
            faults[candidate.key()] = error.fault
        except Interrupted:  # the run has ended meanwhile
            return
        except Exception as error:  # the main thread raises it again
            failures.append(error)

    threads = []
    for one, candidate in asked:
        provider = providers[candidate.key()]
        if provider is not None:
            arguments = (one, _smallest_request(one, provider))
            threads.append(threading.Thread(target=ask, args=arguments, name="codegate-check", daemon=True))
            threads[-1].start()
    begun, announced = time.monotonic(), False
    # Polling, as the scheduler does: a signal handler sets the event.
    while any(thread.is_alive() for thread in threads) and (waited := time.monotonic() - begun) < PATIENCE_SECONDS:
        if stop.is_set():
            raise Interrupted("interrupted before the first problem.", f"Continue with:\n{resume}")
        if waited >= _QUIET_SECONDS and not announced:
            announced = True
            announce(f"waiting for the first answer of a model, for {PATIENCE_SECONDS:g} s at most")
        time.sleep(_POLL_SECONDS)
    if failures:
        error = failures[0]
        if isinstance(error, CallLimitReached):
            raise CallLimitReached(error.cause, f"{error.remedy} Continue with:\n{resume}")
        raise error
    met = [(one.label, faults[one.key()]) for one, _ in asked if one.key() in faults]
    declined = (
        (label, fault)
        for label, fault in met
        if fault.cause != "provider.bad_request" or not any(words in fault.message for words in _OUR_LIMIT)
    )
    refuse_declined(declined, resume)
    silent = {candidate.key() for one, candidate in asked if one.key() in faults}
    if met and len(silent) == len(journal.manifest.candidates) and {f.cause for _, f in met} == {"provider.connection"}:
        raise InfrastructureError(
            " ".join(f"the first request of {label} failed: {fault.message}" for label, fault in met),
            f"Check the network and `base_url` in codegate.yml. Continue with:\n{resume}",
        )
    for one, candidate in asked:
        announce(_first_request_words(one, answers.get(one.key()), faults.get(one.key())))
        provider = providers[candidate.key()]
        listed = (provider.models() if isinstance(provider, ListsModels) else None) or ()
        check_snapshot(one, listed)
        end = model_shutdown(one, listed)
        if end is not None and (end.day is not None or one.key() not in answers):  # what answers is not gone
            announce(end.words)
        if one is candidate:
            check_context(candidate, listed, suite, options, announce)


def check_context(
    candidate: CandidateSpec,
    listed: Sequence[ListedModel],
    suite: Suite,
    options: RunOptions,
    announce: Callable[[str], None],
) -> None:
    """Announce how many problems' prompts exceed the model's context.

    ``listed`` are the provider's models. Raises UsageError if all prompts exceed it.
    """
    # llama.cpp lists its only model by its file's name and answers requests for any name.
    own = [one for one in listed if one.id == candidate.model] or listed
    window = own[0].context if len(own) == 1 else None
    prompts = prompt_sizes(suite, candidate, options.repository) if window is not None else None
    if window is None or prompts is None:
        return
    sizes = [size // BYTES_PER_TOKEN for size in prompts.texts]
    if not (over := sum(size > window for size in sizes)):
        return
    words = (
        f"{candidate.label}: the context of its model is {window:,} tokens, and the largest prompt has about "
        f"{prompts.most_tokens:,}; {over} of {count_of(len(sizes), 'prompt')} {'do' if over > 1 else 'does'} not fit."
    )
    remedy = "Serve the model with a larger context, or set `max_prompt_tokens` for the candidate."
    if over == len(sizes):
        raise UsageError(words, remedy)
    announce(f"{words} {remedy}")


def _unanswered(journal: Journal, suite: Suite, cache: AttemptCache | None) -> list[CandidateSpec]:
    # A candidate whose answers for the first look are all in the cache is not tested.
    known = {*journal.calls.answering(), *(o.candidate for o in journal.load().outcomes if o.attempt is not None)}
    first = [job for job in jobs(journal.manifest, suite) if job.sample < journal.manifest.looks[0]]
    found = []
    for candidate in journal.manifest.candidates:
        if not candidate.calls_a_model or candidate.key() in known:
            continue
        own = [job for job in first if job.candidate == candidate]
        if any(journal.read_attempt(*job.key) is not None for job in own):
            continue
        if cache is None or any(cache.take(job) is None for job in own):
            found.append(candidate)
    return found


def _first_request_words(candidate: CandidateSpec, answer: Completion | None, fault: Fault | None) -> str:
    if fault is not None:
        return f"{candidate.label}: the first request failed, and the run goes on: {fault.message}"
    if answer is None:
        return f"{candidate.label}: no answer to the first request within {PATIENCE_SECONDS:g} s; the run goes on"
    dollars = cost(answer.usage, candidate.prices)
    spent = "" if dollars is None else f", ${dollars:.4f}"
    return f"{candidate.label} answers ({answer.seconds:.1f} s{spent})"


def _smallest_request(candidate: CandidateSpec, provider: Provider) -> _FirstRequest:
    """Return a small test request to a candidate's model.

    The result has the function that sends the request, the request's size in bytes and its output limit.
    """
    sampling = candidate.sampling
    # A thinking budget has to be below the output limit, so the candidate's own limit is kept.
    limit = sampling.output_limit if isinstance(sampling.thinking, int) else min(_OUTPUT_TOKENS, sampling.output_limit)
    sampling = sampling.model_copy(update={"max_output_tokens": limit})
    if candidate.agent is None:
        messages = (Message(role="user", text=_QUESTION),)
        tools = tool_specs() if candidate.solver == "tool_loop" else ()
        key = ProblemKey(problem="", sample=0)
        send = partial(provider.complete, key, messages, tools, sampling)
        return send, request_bytes(messages, tools), limit
    spoken = PROTOCOLS[name := protocol_of(candidate)]
    conversation: dict[str, Any] = {spoken.conversation_fields[-1]: [{"role": "user", "content": _QUESTION}]}
    request = spoken.clean({"model": candidate.model, **conversation}, candidate.model, sampling).request

    def forward() -> Completion:
        answer: ForwardedAnswer = cast("Any", provider).forward(name, request, {})
        return answer.completion

    return forward, len(json.dumps(request)), limit
