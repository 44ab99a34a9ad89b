"""Send a run's spans to an OpenTelemetry collector.

Only environment variables can name the collector. Spans are sent after the run, from its journal, so they can be sent
again; a collector that is down delays the end by the exporter's timeout at most.
"""

import logging
import os
import time
from itertools import islice
from typing import Final

from codegate.errors import CodegateError, InfrastructureError, UsageError
from codegate.running import Journal
from codegate.wording import count_of

_VARIABLES: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_BATCH: Final = 500
_SECONDS: Final = 60.0
"""Most seconds for all batches of a run together. OpenTelemetry's own variables limit each batch."""


def collector() -> str | None:
    """Return the variable that sets a collector, or None."""
    off = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if off or "otlp" not in (os.environ.get("OTEL_TRACES_EXPORTER") or "otlp"):
        return None
    return next((name for name in _VARIABLES if os.environ.get(name, "").strip()), None)


def send_trace(journal: Journal) -> str:
    """Export the spans of a run and its confirming run.

    Returns a sentence about the result.
    """
    variable = collector()
    if variable is None:
        raise UsageError("no OpenTelemetry collector is named.", f"Set {_VARIABLES[1]} to its address (OTLP/HTTP).")
    try:
        import requests  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.trace.export import SpanExportResult  # noqa: PLC0415

        from codegate.reporting.spans import RunSpans  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{variable} is set, and what sends spans is not installed.", "Install codegate-ci[otel], or unset it."
        ) from error
    statuses: list[int] = []
    deadline, sent = time.monotonic() + _SECONDS, 0
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)  # its log quotes headers, which can hold a key

    def answered(response: requests.Response, **_: object) -> None:
        statuses.append(response.status_code)

    with requests.Session() as session:
        session.hooks["response"].append(answered)
        try:
            exporter = OTLPSpanExporter(session=session)
            for each in filter(None, (journal, journal.confirmation())):
                spans = iter(RunSpans(each))
                while batch := list(islice(spans, _BATCH)):
                    statuses.clear()
                    late = time.monotonic() > deadline
                    delivered = not late and exporter.export(batch) is SpanExportResult.SUCCESS
                    if not delivered or statuses[-1] >= 300:  # the exporter takes a redirect for a success
                        answer = "is too slow" if late else f"answered {statuses[-1]}" if statuses else "did not answer"
                        raise InfrastructureError(
                            f"the collector of {variable} {answer}: {sent} spans of {journal.folder} were sent.",
                            f"Send them with `codegate report {journal.folder} --format otlp`.",
                        )
                    sent += len(batch)
        except CodegateError:
            raise
        except Exception as error:  # the text is not shown, because it can quote headers with a key
            raise InfrastructureError(
                f"the spans of {journal.folder} were not sent: {type(error).__name__}.",
                "Check the OTEL_ variables of the environment.",
            ) from None
    return f"{count_of(sent, 'span')} sent, trace {journal.manifest.trace_id}"
