"""Convert a run to OpenTelemetry spans: attempts, calls and gradings.

Model calls follow the GenAI conventions, https://github.com/open-telemetry/semantic-conventions-genai. Attributes are
names, classes and numbers: no prompt, answer, patch, test output or message of an error. Needs the extra ``otel``.
"""

import contextlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TypeAlias

from opentelemetry.context import Context
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Span, SpanKind, StatusCode, set_span_in_context

from codegate import __version__
from codegate.candidates import CallRecord, CandidateSpec
from codegate.candidates.providers import model_provider
from codegate.reporting.plain import one_line
from codegate.running import Journal, Outcome

_Attributes: TypeAlias = Mapping[str, str | int | float | list[str] | None]


class RunSpans(IdGenerator):
    """Creates a run's spans, with the ids that reports show."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._run, self._span_id = journal, journal.load(), ""
        own = Resource({"service.name": "codegate", "service.version": __version__})
        resource = own.merge(OTELResourceDetector().detect())
        provider = TracerProvider(resource=resource, id_generator=self, shutdown_on_exit=False)
        self._tracer = provider.get_tracer("codegate", __version__)

    def generate_trace_id(self) -> int:
        """Return the run's trace id."""
        return int(self._run.manifest.trace_id, 16)

    def generate_span_id(self) -> int:
        """Return the id of the span that is being created."""
        return int(self._span_id, 16)

    def __iter__(self) -> Iterator[ReadableSpan]:
        """Yield the spans to export, the run's own first."""
        return (span for span in self._spans() if isinstance(span, ReadableSpan))

    def _spans(self) -> Iterator[Span]:
        manifest = self._run.manifest
        created = _time(manifest.created)
        ended = max((_time(each.finished) for each in self._run.outcomes), default=created)
        about: _Attributes = {
            "codegate.run.id": manifest.id,
            "codegate.suite": manifest.suite,
            "codegate.suite.digest": manifest.suite_digest,
        }
        root = self._span("run", (), created, ended, about, None)
        yield root
        for spec in manifest.candidates:
            for outcome in self._run.of(spec.key()):
                yield from self._attempt(root, spec, outcome)

    def _attempt(self, root: Span, spec: CandidateSpec, outcome: Outcome) -> Iterator[Span]:
        attempt, fault, grade = outcome.attempt, outcome.fault, outcome.grade
        kept = self._journal.read_attempt(*outcome.key) if attempt is not None and not outcome.reused else None
        calls = kept.calls if kept is not None else ()
        # ``finished`` has whole seconds only, so the start of grading is moved behind the last answer if necessary.
        answered = [call.started + call.seconds for call in calls if call.started is not None]
        grading = max([_time(outcome.finished) - outcome.grading_seconds, *answered])
        ended = grading + outcome.grading_seconds
        started = [call.started for call in calls if call.started is not None]
        began = min([grading, ended - (outcome.seconds or 0.0), *started])
        error = fault.cause if fault is not None else None
        about: _Attributes = {
            "codegate.problem": outcome.problem,
            "codegate.sample": outcome.sample,
            "codegate.candidate": spec.label,
            "codegate.candidate.key": spec.key(),
            "codegate.solver": spec.solver,
            "codegate.stop": attempt.stop if attempt is not None else None,
            "codegate.reused": outcome.reused,
            "codegate.retries": fault.retries if fault is not None else None,
            "gen_ai.agent.name": spec.agent.name if spec.agent is not None else None,
            "gen_ai.agent.version": spec.agent.version if spec.agent is not None else None,
        }
        span = self._span(f"attempt {outcome.problem}", outcome.key, began, ended, about, root, error)
        yield span
        chat = f"chat {spec.model}"
        for number, call in enumerate(calls):
            at = grading - call.seconds if call.started is None else call.started
            yield self._span(chat, (*outcome.key, number), at, at + call.seconds, _call(spec, call), span)
        if fault is not None and fault.cause.startswith("provider."):
            cause = fault.cause.removeprefix("provider.")
            yield self._span(chat, (*outcome.key, "call"), began, ended, _call(spec, None), span, cause)
        elif attempt is not None:
            graded: _Attributes = {} if grade is None else {
                "gen_ai.evaluation.name": "codegate",
                "gen_ai.evaluation.score.value": grade.score,
                "gen_ai.evaluation.score.label": "pass" if grade.resolved else "fail",
                "codegate.resolved": grade.resolved,
                "codegate.failure": grade.failure,
                "codegate.tests.passed": grade.tests_passed,
                "codegate.tests.total": grade.tests_total,
                "codegate.tests.seconds": grade.seconds,
            }  # fmt: skip
            yield self._span("grade", (*outcome.key, "grade"), grading, ended, graded, span, error)

    def _span(
        self,
        name: str,
        part: tuple[str | int, ...],
        start: float,
        end: float,
        about: _Attributes,
        parent: Span | None,
        error: str | None = None,
    ) -> Span:
        self._span_id = self._run.manifest.span_id(*part)
        known = {key: value for key, value in {**about, "error.type": error}.items() if value is not None}
        span = self._tracer.start_span(
            one_line(name),
            Context() if parent is None else set_span_in_context(parent, Context()),
            SpanKind.CLIENT if "gen_ai.operation.name" in about else SpanKind.INTERNAL,
            {key: one_line(value) if isinstance(value, str) else value for key, value in known.items()},
            start_time=int(start * 1e9),
        )
        if error is not None:
            span.set_status(StatusCode.ERROR)
        span.end(int(end * 1e9))
        return span


def _call(spec: CandidateSpec, call: CallRecord | None) -> _Attributes:
    asked: _Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": (spec.calls_a_model and model_provider(spec.provider).telemetry_name) or spec.provider,
        "gen_ai.request.model": spec.model,
        "gen_ai.request.max_tokens": spec.sampling.max_output_tokens,
        "gen_ai.request.temperature": spec.sampling.temperature,
        "gen_ai.request.top_p": spec.sampling.top_p,
        "gen_ai.request.seed": spec.sampling.seed,
    }
    return asked if call is None else {
        **asked,
        "gen_ai.response.model": call.model,
        "gen_ai.response.finish_reasons": [call.stop_reason],
        "gen_ai.usage.input_tokens": call.usage.input_tokens,
        "gen_ai.usage.output_tokens": call.usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": call.usage.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": call.usage.written_tokens,
        "gen_ai.usage.reasoning.output_tokens": call.usage.reasoning_tokens,
    }  # fmt: skip


def _time(text: str) -> float:
    with contextlib.suppress(ValueError, OverflowError):
        return max(0.0, datetime.fromisoformat(text).timestamp())
    return 0.0
