"""A run's spans, as a collector on this machine receives and decodes them."""

import csv
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from codegate.candidates import Sampling
from codegate.running import load_run
from codegate.suite import Suite
from tests.kit.http import Reply, Request, Server
from tests.kit.remembered import FOUND
from tests.running.world import MODEL, NAMES, Said, codegate, run_here, serving, start

pytestmark = pytest.mark.bwrap

SECRET = "collector-key-1234567890"
CONVENTIONS = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}


class Collector:
    """An OTLP/HTTP receiver; answers ``status``."""

    def __init__(self) -> None:
        self.received: list[Request] = []
        self.status = 200
        self._closed = False
        self._server = Server(self._reply)

    def _reply(self, request: Request) -> Reply:
        self.received.append(request)
        return Reply(b"", self.status, {"Location": f"{self._server.url}/elsewhere"})

    @property
    def environment(self) -> dict[str, str]:
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self._server.url, "OTEL_EXPORTER_OTLP_HEADERS": f"api-key={SECRET}"}

    def spans(self) -> list[Span]:
        """Return all spans, each with its service."""
        found = []
        for request in self.received:
            assert (request.path, request.headers["api-key"]) == ("/v1/traces", SECRET)
            for resource in ExportTraceServiceRequest.FromString(request.raw).resource_spans:
                assert attributes(resource.resource)["service.name"] == "codegate"
                found += [span for scope in resource.scope_spans for span in scope.spans]
        return found

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._server.close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    yield server
    server.close()


def attributes(holder: Any) -> dict[str, Any]:
    return {entry.key: _value(entry.value) for entry in holder.attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_value(each) for each in value.array_value.values] if kind == "array_value" else getattr(value, kind)


def children(spans: list[Span], parent: Span) -> list[Span]:
    return sorted((s for s in spans if s.parent_span_id == parent.span_id), key=lambda s: s.start_time_unix_nano)


def solving(name: str, turn: int, request: dict[str, Any]) -> Said:
    """Look into the tree, then answer: one call with a tool, one without; the last problem's provider is down."""
    if name == "square":
        time.sleep(1)
        return Said(status=400)
    if any(message["role"] == "tool" for message in request["messages"]):
        return Said(f"The secret answer is {SECRET}.", tokens=7)
    path, content = f"calc/{name}.py", f"def {name}(n):\n    return n * 2\n"
    arguments = json.dumps({"path": path, "content": content})
    call = {"id": "c1", "type": "function", "function": {"name": "write_file", "arguments": arguments}}
    return Said(tool_calls=[call])


@pytest.fixture(scope="module")
def finished(suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nobody writes to; grades that are remembered would take no time."""
    folder = tmp_path_factory.mktemp("traced")
    with serving() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOUND, str(folder))
        server.script = solving
        run_here(suite, folder / "r", server.spec(solver="tool_loop", sampling=Sampling(temperature=0.5)))
    return folder / "r"


@pytest.fixture
def home(finished: Path, tmp_path: Path) -> Path:
    """A folder with that run as ``r``."""
    shutil.copytree(finished, tmp_path / "r")
    return tmp_path


@pytest.mark.requirement("R5")
def test_a_run_is_a_tree_of_attempts_calls_and_gradings(home: Path, collector: Collector) -> None:
    run = load_run(home / "r")
    spec = run.manifest.candidates[0]
    sent = codegate("report", "r", "--format", "otlp", cwd=home, environment=collector.environment)
    assert (sent.code, f"trace {run.manifest.trace_id}" in sent.stdout) == (0, True), sent.stderr
    spans = collector.spans()
    assert {span.trace_id.hex() for span in spans} == {run.manifest.trace_id}
    assert len({span.span_id for span in spans}) == len(spans)
    (root,) = [span for span in spans if not span.parent_span_id]
    assert attributes(root)["codegate.run.id"] == run.manifest.id
    attempts = {attributes(span)["codegate.problem"]: span for span in children(spans, root)}
    assert sorted(attempts) == sorted(f"calc-{name}" for name in NAMES)

    double = attempts["calc-double"]
    about = attributes(double)
    assert (about["codegate.sample"], about["codegate.candidate.key"]) == (0, spec.key())
    assert double.span_id.hex() == run.manifest.span_id(spec.key(), "calc-double", 0)
    first, last, grading = children(spans, double)
    assert attributes(first) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": MODEL,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.response.model": MODEL,
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_creation.input_tokens": 0,
    }
    assert (first.name, first.kind) == (f"chat {MODEL}", Span.SPAN_KIND_CLIENT)
    told = attributes(last)
    assert (told["gen_ai.response.finish_reasons"], told["gen_ai.usage.output_tokens"]) == (["stop"], 7)
    assert first.start_time_unix_nano < first.end_time_unix_nano <= last.start_time_unix_nano
    (took,) = [one.seconds for one in run.outcomes if one.problem == "calc-double"]
    assert took is not None
    assert double.start_time_unix_nano <= first.start_time_unix_nano
    assert (double.end_time_unix_nano - double.start_time_unix_nano) / 1e9 == pytest.approx(took, abs=0.01)
    assert last.end_time_unix_nano <= grading.start_time_unix_nano < grading.end_time_unix_nano
    assert attributes(grading)["codegate.resolved"] is True

    failed = attributes(children(spans, attempts["calc-half"])[-1])
    assert (failed["codegate.failure"], failed["gen_ai.evaluation.score.label"]) == ("logic_error", "fail")
    lost = attempts["calc-square"]
    (call,) = children(spans, lost)
    assert (attributes(lost)["error.type"], attributes(call)["error.type"]) == (
        "provider.bad_request",
        "bad_request",
    )
    assert call.status.code == Status.STATUS_CODE_ERROR
    for span in (lost, call):
        assert span.end_time_unix_nano - span.start_time_unix_nano >= 1e9, "as long as it took to fail"
    assert "gen_ai.response.model" not in attributes(call)

    names = {name for span in spans for name in attributes(span) if name.startswith("gen_ai.")}
    assert names <= CONVENTIONS
    everything = b"".join(request.raw for request in collector.received)
    for text in (SECRET, "returns a wrong number", "return n", "You fix one bug", "assert ", "write_file"):
        assert text.encode() not in everything, text


def test_reports_name_the_trace_and_the_span_of_each_attempt(home: Path, collector: Collector) -> None:
    run = load_run(home / "r")
    formats = [part for name in ("otlp", "csv", "json") for part in ("--format", name)]
    done = codegate("report", "r", *formats, "--out", "out", cwd=home, environment=collector.environment)
    assert done.code == 0, done.stderr
    sent = {(span.trace_id.hex(), span.span_id.hex()) for span in collector.spans()}
    rows = list(csv.DictReader((home / "out" / "report.csv").read_text().splitlines()))
    assert len(rows) == 3
    assert {(row["trace_id"], row["span_id"]) for row in rows} < sent
    document = json.loads((home / "out" / "report.json").read_text())
    assert document["runs"][0]["trace_id"] == run.manifest.trace_id
    assert document["problems"][0]["cells"][0]["attempts"][0]["span_id"] in {span for _, span in sent}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (200, "spans sent"),
        pytest.param(401, "answered 401", marks=pytest.mark.full),
        (302, "answered 302"),
        (None, "did not answer"),
    ],
)
def test_a_run_sends_at_its_end_and_no_answer_of_the_collector_changes_how_it_ends(
    suite: Suite, collector: Collector, tmp_path: Path, status: int | None, words: str
) -> None:
    if status is None:
        collector.close()
    collector.status = status or 200
    environment = collector.environment | {"OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    asked = ("run", suite.folder, "--candidate", "empty", "--sandbox", "bwrap", "--no-precheck", "--out", "r")
    done = codegate(*asked, cwd=tmp_path, environment=environment)
    assert (done.code, words in done.stdout) == (0, True), done
    assert SECRET not in done.stdout + done.stderr
    assert len(collector.received) == (status is not None)
    again = codegate("report", "r", "--format", "otlp", cwd=tmp_path, environment=environment)
    assert again.code == (0 if status == 200 else 4)


def test_a_collector_is_named_by_the_environment_alone(home: Path, collector: Collector) -> None:
    none = {"OTEL_EXPORTER_OTLP_ENDPOINT": ""}
    silent = codegate("report", "r", "--format", "otlp", cwd=home, environment=none)
    assert (silent.code, "OTEL_EXPORTER_OTLP_ENDPOINT" in silent.stderr) == (2, True)
    off = collector.environment | {"OTEL_SDK_DISABLED": "true"}
    assert codegate("report", "r", "--format", "otlp", cwd=home, environment=off).code == 2
    assert codegate("report", "r", "--out", "out", cwd=home, environment=collector.environment).code == 0
    assert not collector.received


@pytest.mark.full
def test_without_the_extra_a_run_says_so_and_only_sending_is_refused(
    suite: Suite, collector: Collector, tmp_path: Path
) -> None:
    hidden = tmp_path / "hidden"
    (hidden / "opentelemetry" / "sdk").mkdir(parents=True)
    (hidden / "opentelemetry" / "sdk" / "__init__.py").write_text("raise ModuleNotFoundError('no sdk')\n")
    environment = collector.environment | {"PYTHONPATH": os.pathsep.join([str(hidden), *sys.path])}
    asked = ("run", suite.folder, "--candidate", "reference", "--sandbox", "bwrap", "--no-gate", "--out", "r")
    run = start(*asked, cwd=tmp_path, environment=environment)
    stdout, stderr = run.communicate(timeout=120)
    assert (run.returncode, "not traced" in stdout, "Install codegate-ci[otel]" in stdout) == (0, True, True), stderr
    report = start("report", "r", "--format", "otlp", cwd=tmp_path, environment=environment)
    _, stderr = report.communicate(timeout=120)
    assert (report.returncode, "Install codegate-ci[otel]" in stderr) == (2, True)
    assert not collector.received
