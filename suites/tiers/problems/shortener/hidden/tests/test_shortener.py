import http.client
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import pytest
from shortener.server import make_server

URL = "https://example.com/a?b=c"
DAY = 86_400


class Service:
    def __init__(self, path):
        self.path = str(path / "links.db")
        self.now = 1_000
        self.start()

    def start(self):
        self.server = make_server(self.path, lambda: self.now)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection(*self.server.server_address, timeout=30)
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request(method, path, data)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return answer.status, json.loads(text) if is_json else text.decode(), answer.headers

    def add(self, **link):
        return self.call("POST", "/links", link)[:2]

    def visits(self, code):
        return self.call("GET", f"/links/{code}")[1]["visits"]


@pytest.fixture
def service(tmp_path):
    service = Service(tmp_path)
    yield service
    service.stop()


def test_a_link_is_made_and_followed(service):
    assert service.add(url=URL, code="docs") == (201, {"code": "docs", "url": URL, "visits": 0, "expires": None})
    status, _, headers = service.call("GET", "/docs")
    assert (status, headers["Location"]) == (302, URL)
    assert service.call("GET", "/links/docs")[1] == {"code": "docs", "url": URL, "visits": 1, "expires": None}


def test_codes_are_made(service):
    codes = {service.add(url=URL)[1]["code"] for _ in range(20)}
    assert len(codes) == 20
    assert all(re.fullmatch("[a-z0-9]{6,20}", code) for code in codes)


def test_a_link_is_removed(service):
    service.add(url=URL, code="docs")
    assert service.call("DELETE", "/links/docs")[0] == 204
    assert service.call("GET", "/docs")[0] == 404
    assert service.call("DELETE", "/links/docs")[0] == 404


def test_links_outlive_the_server(service):
    service.add(url=URL, code="docs", days=2)
    service.call("GET", "/docs")
    service.stop()
    service.start()
    assert service.call("GET", "/links/docs")[1] == {"code": "docs", "url": URL, "visits": 1, "expires": 1_000 + 2 * DAY}


def test_a_taken_code(service):
    service.add(url=URL, code="docs")
    service.call("GET", "/docs")
    assert service.add(url="https://example.org/", code="docs")[0] == 409
    assert service.add(url=URL, code="docs") == (200, {"code": "docs", "url": URL, "visits": 1, "expires": None})


@pytest.mark.edge_case
@pytest.mark.parametrize(
    "url",
    [None, 7, "", "example.com", "/a", "ftp://example.com/", "https://", "javascript:alert(1)", "http://a/" + "b" * 2000],
)
def test_bad_addresses(service, url):
    status, body = service.add(url=url)
    assert (status, list(body)) == (400, ["error"])


@pytest.mark.edge_case
@pytest.mark.parametrize("code", ["ab", "a" * 21, "Docs", "a/b", "a b", "links", "docs\n", 5, ""])
def test_bad_codes(service, code):
    assert service.add(url=URL, code=code)[0] == 400


@pytest.mark.edge_case
@pytest.mark.parametrize("days", [0, 366, -1, 1.5, "3", True])
def test_bad_days(service, days):
    assert service.add(url=URL, days=days)[0] == 400


@pytest.mark.edge_case
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b'{"url": "https://a.b/", "owner": "me"}', b" " * 10_001])
def test_bad_bodies(service, body):
    assert service.call("POST", "/links", body)[0] == 400


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/nothing"), ("GET", "/links/nothing"), ("POST", "/other"), ("DELETE", "/nothing")]
)
def test_what_is_not_there(service, method, path):
    status, body, _ = service.call(method, path, b"{}" if method == "POST" else None)
    assert (status, list(body)) == (404, ["error"])


@pytest.mark.edge_case
def test_a_code_is_no_sql(service):
    service.add(url=URL, code="docs")
    assert service.call("GET", "/links/x'%20OR%20'1'='1")[0] == 404
    assert service.call("DELETE", "/links/%25")[0] == 404
    assert service.visits("docs") == 0


@pytest.mark.temporal
def test_a_link_expires_at_its_second(service):
    assert service.add(url=URL, code="docs", days=1)[1]["expires"] == 1_000 + DAY
    service.now += DAY - 1
    assert service.call("GET", "/docs")[0] == 302
    service.now += 1
    assert service.call("GET", "/docs")[0] == 410
    assert service.visits("docs") == 1


@pytest.mark.temporal
def test_an_expired_code_is_given_anew(service):
    service.add(url=URL, code="docs", days=1)
    service.call("GET", "/docs")
    service.now += DAY
    other = "https://example.org/"
    assert service.add(url=other, code="docs") == (201, {"code": "docs", "url": other, "visits": 0, "expires": None})


@pytest.mark.performance
def test_no_visit_is_lost(service):
    service.add(url=URL, code="docs")
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: service.call("GET", "/docs")[0], range(80)))
    assert statuses == [302] * 80
    assert service.visits("docs") == 80


class Form(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = {"form": [], "input": [], "label": []}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag in self.found:
            self.found[tag].append(dict(attributes))


def test_the_form(service):
    status, text, headers = service.call("GET", "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    (form,) = Form(text).found["form"]
    assert (form["method"].lower(), form["action"]) == ("post", "/links")


def test_the_inputs_have_the_limits_of_the_service(service):
    found = Form(service.call("GET", "/")[1]).found
    inputs = {field["name"]: field for field in found["input"] if "name" in field}
    assert inputs.keys() == {"url", "code", "days"}
    assert (inputs["url"]["type"], "required" in inputs["url"], inputs["url"]["maxlength"]) == ("url", True, "2000")
    assert [inputs["days"][key] for key in ("type", "min", "max")] == ["number", "1", "365"]
    pattern = inputs["code"]["pattern"]
    assert [bool(re.fullmatch(pattern, code)) for code in ("a-1", "ab", "a" * 20, "a" * 21, "A-1")] == [
        True, False, True, False, False,
    ]  # fmt: skip


@pytest.mark.edge_case
def test_each_input_has_a_label(service):
    found = Form(service.call("GET", "/")[1]).found
    labels = {label.get("for") for label in found["label"]}
    assert len(labels) == 3
    assert all(field.get("id") in labels for field in found["input"] if "name" in field)
