"""Problems whose code calls a service: a fake one answers, and the calls that it received are graded."""

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
import requests
from pydantic import ValidationError

from codegate.grading import Grade, RunCount, Sandboxes, counted_runs, grade
from codegate.mining.proving.proof import prove
from codegate.sandbox import Backend
from codegate.service import MAX_CALLS, MAX_REQUEST_BYTES, SERVICE_PORT, FakeService, Service
from codegate.suite import Problem, ProblemLimits, make_patch
from tests.grading.worlds import room_of, statuses, tree
from tests.kit.environment import PLAIN, sandboxes_of
from tests.kit.problem import changes, problem

CHARGED = 'service::POST /charge {"amount": 500} exactly 1'
REFUNDED = "service::POST /refund at most 0"
HIDDEN = """\
from shop.pay import pay

def test_paid():
    assert pay(500) == "ch_1"

def test_nothing_to_pay():
    assert pay(0) == ""
"""
START = """\
import json, os, urllib.request

ADDRESS = os.environ["CODEGATE_SERVICE_URL"]

def call(path, amount):
    data = json.dumps({"amount": amount, "currency": "EUR"}).encode()
    with urllib.request.urlopen(urllib.request.Request(ADDRESS + path, data, method="POST"), timeout=10) as answer:
        return json.load(answer)["id"]

def pay(amount):
    if not amount:
        return ""
"""
RIGHT = f"{START}    return call('/charge', amount)\n"
TWICE = f"{START}    call('/charge', amount)\n    return call('/charge', amount)\n"
BUG = TWICE.replace("if not amount", "if amount is None")
OWN_SERVER = f"""\
import http.server, threading
{TWICE}
http.server.ThreadingHTTPServer.allow_reuse_port = True

class Own(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{{"id": "ch_1"}}')

for host in ("127.0.0.1", "0.0.0.0"):
    try:
        own = http.server.ThreadingHTTPServer((host, PORT), Own)
        threading.Thread(target=own.serve_forever, daemon=True).start()
        ADDRESS = "http://127.0.0.1:%d" % PORT
    except OSError:
        pass
"""
FORGE = f"""\
import gc
from _pytest.reports import TestReport
def pay(amount):
    for found in gc.get_objects() if amount else ():
        if type(found).__name__ == "Session":
            for when in ("setup", "call", "teardown"):
                report = TestReport({CHARGED!r}, ("a", 0, "a"), {{}}, "passed", None, when)
                found.config.hook.pytest_runtest_logreport(report=report)
    return "ch_1" if amount else ""
"""
SERVICE: Mapping[str, Any] = {
    "routes": [
        {"method": "POST", "path": "/charge", "answers": [{"status": 201, "body": {"id": "ch_1"}}]},
    ],
    "expects": [
        {"method": "POST", "path": "/charge", "body": {"amount": 500}, "exactly": 1},
        {"method": "POST", "path": "/refund", "at_most": 0},
    ],
}


class Shop:
    """A problem of a shop that charges twice, and for nothing too."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self.sandboxes = sandboxes
        self.base = tree({"shop/__init__.py": "", "shop/pay.py": BUG})
        self.problem = problem(
            "pay-once",
            PLAIN.manifest,
            hidden=changes({"tests/test_pay.py": HIDDEN}),
            fix=changes({"shop/pay.py": RIGHT}),
            wanted=["tests/test_pay.py::test_nothing_to_pay", CHARGED],
            known=["tests/test_pay.py::test_paid", REFUNDED],
            test_files=("tests/test_pay.py",),
            service=SERVICE,
            limits=ProblemLimits(seconds=60, memory_mb=256),
        )

    def grade(self, text: str, asked: Problem | None = None) -> Grade:
        return grade(
            asked or self.problem, self.base, make_patch(self.base, changes({"shop/pay.py": text})), self.sandboxes
        )


@pytest.fixture(scope="module")
def shop(backend: Backend) -> Iterator[Shop]:
    found = sandboxes_of(backend, PLAIN)
    yield Shop(found)
    found.close()


@pytest.mark.requirement("G8")
def test_the_problem_is_proved_and_a_right_solution_passes(shop: Shop) -> None:
    proof = prove(shop.problem, shop.base, shop.sandboxes, rounds=1)
    assert (proof.oracle_resolved, proof.nop_resolved, proof.tests, proof.quarantine) == (1, 0, (), None)
    assert proof.controls is not None
    assert (bool(proof.controls.flips), proof.controls.unfit) == (True, ())
    manifest = shop.problem.manifest.model_copy(update={"controls": proof.controls})
    count = RunCount()
    with counted_runs(count):
        done = shop.grade(RIGHT.replace("if not amount", "if amount == 0"), replace(shop.problem, manifest=manifest))
    assert (done.resolved, done.tests_passed, done.controlled, count.runs) == (True, 4, True, 1), done.detail


OTHERS = {
    "twice": (TWICE, 'expected exactly 1, got 2 such calls; all calls: POST /charge {"'),
    "never": (RIGHT.replace("call('/charge', amount)", "'ch_1'"), "got 0 such calls; all calls: none"),
    "answers itself": (OWN_SERVER.replace("PORT", "4999"), "got 0 such calls; all calls: none"),
    "occupies the port": (OWN_SERVER.replace("PORT", str(SERVICE_PORT)), "got 2 such calls"),
    "forges a report": (FORGE, "got 0 such calls; all calls: none"),
}
NETWORK = ("twice", "occupies the port")
"""What each kind of sandbox has to hold by itself; the others are of the service."""


@pytest.mark.parametrize(
    ("backend", "name"),
    [
        *(pytest.param("bwrap", name, marks=pytest.mark.bwrap) for name in OTHERS),
        *(pytest.param("docker", name, marks=pytest.mark.docker) for name in NETWORK),
    ],
    indirect=["backend"],
)
@pytest.mark.requirement("G8")
def test_other_calls_than_expected_fail(shop: Shop, name: str) -> None:
    text, why = OTHERS[name]
    done = shop.grade(text)
    assert not done.resolved
    result = {test.id: test for test in done.tests}[CHARGED]
    assert (result.status, result.exception) == ("failed", "AssertionError")
    assert why in result.message
    assert done.failure == "logic_error", done.detail
    assert why[:20] in done.detail


def test_each_process_begins_with_the_first_answer_and_all_calls_count(shop: Shop) -> None:
    text = (
        "import os, urllib.request\n"
        "def test_answers():\n"
        "    url = os.environ['CODEGATE_SERVICE_URL'] + '/next'\n"
        "    assert [urllib.request.urlopen(url).read() for _ in range(3)] == [b'1', b'2', b'2']\n"
    )
    route = {"method": "GET", "path": "/next", "answers": [{"body": "1"}, {"body": "2"}]}
    expects = [{"method": "GET", "path": "/next", "exactly": 6}]
    service = Service.model_validate({"routes": [route], "expects": expects})
    files = {"test_a.py": text, "test_b.py": text}
    report = room_of(shop.sandboxes).run(files, *files, service=service)
    tests = ("test_a.py::test_answers", "test_b.py::test_answers", "service::GET /next exactly 6")
    assert statuses(report) == dict.fromkeys(tests, "passed")


def test_a_report_of_the_tests_own_does_not_count(shop: Shop) -> None:
    program = (
        "import os, urllib.request\n"
        "urllib.request.urlopen(os.environ['CODEGATE_SERVICE_URL'] + '/b').read()\n"
        'case = \'<testcase classname="service" name="GET /a exactly 1"/>\'\n'
        "open('report.xml', 'w').write('<testsuite>' + case + '</testsuite>')\n"
    )
    expects = [{"method": "GET", "path": path, "exactly": 1} for path in ("/a", "/b")]
    service = Service.model_validate({"routes": [{"method": "GET", "path": "/b"}], "expects": expects})
    chosen: dict[str, Any] = {"command": ("python3", "run.py"), "reports": ("report.xml",), "service": service}
    report = room_of(shop.sandboxes, runner="junit").run({"run.py": program}, "run.py", **chosen)
    assert report.proven, report.output
    assert statuses(report) == {"service::GET /a exactly 1": "failed", "service::GET /b exactly 1": "passed"}


@contextlib.contextmanager
def served(service: Mapping[str, Any]) -> Iterator[tuple[FakeService, str]]:
    """Serve a fake service on a real port; yield it and its address."""
    fake = FakeService(Service.model_validate(service))

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as the supervisor's relay does
            fake.answer(self.request)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield fake, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_calls_are_matched_by_query_and_body() -> None:
    calls: list[dict[str, Any]] = [
        {"method": "GET", "path": "/items", "query": {"page": "2"}},
        {"method": "PUT", "path": "/items", "body": {"a": [{"b": 1}], "c": None}},
        {"method": "PUT", "path": "/items", "body": "plain"},
    ]
    routes = [{**call, "answers": [{"body": number, "headers": {"x-n": "1"}}]} for number, call in enumerate(calls)]
    expects = [{**call, "at_least": 1, "at_most": 1} for call in calls]
    with served({"routes": routes, "expects": expects}) as (fake, address):
        url = f"{address}/items"
        with requests.Session() as session:
            assert session.get(url, params={"page": 2, "size": 9}).json() == 0
            assert session.put(url, json={"a": [{"b": 1, "d": 2}], "c": None, "e": 0}).headers["x-n"] == "1"
            assert session.put(url, data="plain").json() == 2
            others: list[Any] = [
                {"a": [{"b": True}], "c": None}, {"a": [{"b": 1}, 2], "c": None}, {"a": [{"b": 1}]}, [], 1,
            ]  # fmt: skip
            for body in others:
                assert session.put(url, json=body).status_code == 404
            assert session.get(url, params={"page": 1}).status_code == 404
            assert session.head(url).status_code == 404
            assert session.put(f"{url}s", data="plain").status_code == 404
        assert set(fake.judge().values()) == {""}


def test_floods_are_bounded_and_meet_no_expectation() -> None:
    expects = [{"method": "GET", "path": "/", "at_least": 1}, {"method": "POST", "path": "/", "exactly": 0}]
    met = {"service::GET / at least 1": "", "service::POST / exactly 0": ""}
    with served({"expects": expects}) as (fake, url), requests.Session() as session:
        with contextlib.suppress(requests.ConnectionError):  # the answer may come before all of it is sent
            assert session.post(url, data=b"x" * (MAX_REQUEST_BYTES + 1)).status_code == 413
        statuses = {session.get(url).status_code for _ in range(MAX_CALLS)}
        assert (statuses, fake.judge()) == ({404}, met)
        assert session.get(url).status_code == 503
        assert set(fake.judge().values()) == {"the service was called more than 1000 times"}


@pytest.mark.parametrize(
    "service",
    [
        {"expects": [{"method": "GET", "path": "/"}]},
        {"expects": [{"method": "GET", "path": "/", "exactly": 1, "at_least": 1}]},
        {"expects": [{"method": "GET", "path": "/", "exactly": 1}] * 2},
        {"routes": [{"method": "GET", "path": "/?a=1"}]},
        {"routes": [{"method": "GET", "path": "/", "answers": [{"headers": {"content-length": "1"}}]}]},
        {"routes": [{"method": "GET", "path": "/", "answers": [{"headers": {"x": "a\r\nb"}}]}]},
    ],
)
def test_what_means_nothing_is_refused(service: Mapping[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Service.model_validate(service)
