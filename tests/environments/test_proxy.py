"""The way out of a build: what it lets through, by which way, and what it says of the rest."""

import base64
import http.client
import socket
import socketserver
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme

from codegate.environments.proxy import BuildProxy
from codegate.errors import UsageError
from tests.kit.http import Reply, Request, Server

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


class Listening(socketserver.ThreadingTCPServer):
    """A port of this machine that the proxy answers, as a command's relay does."""

    daemon_threads = True

    def __init__(self, proxy: BuildProxy) -> None:
        super().__init__(("127.0.0.1", 0), lambda connection, *_: proxy.answer(connection))  # type: ignore[arg-type]
        self.place = "127.0.0.1", self.server_address[1]
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def get(self, address: str, method: str = "GET", body: bytes | None = None) -> tuple[int, bytes]:
        """Return status and body of an address that is fetched through the proxy."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": "http://{}:{}".format(*self.place)}))
        try:
            with opener.open(urllib.request.Request(address, body, method=method), timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def tunnel(self, host: str, port: int) -> str:
        """Return why no tunnel is made to a host; empty: one is."""
        connection = http.client.HTTPConnection(*self.place, timeout=30)
        connection.set_tunnel(host, port)
        try:
            connection.connect()
        except OSError as error:
            return str(error)
        finally:
            connection.close()
        return ""

    def close(self) -> None:
        self.shutdown()
        self.server_close()


@pytest.fixture(autouse=True)
def _no_proxy_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def seen() -> list[Request]:
    return []


@pytest.fixture
def index(seen: list[Request]) -> Iterator[Server]:
    def respond(request: Request) -> Reply:
        seen.append(request)
        return Reply(b"simple index" if request.method != "POST" else request.raw, 200, {"X-Kept": "1"})

    with closing(Server(respond)) as server:
        yield server


def test_an_index_of_the_callers_own_environment_is_reached_also_on_loopback(
    index: Server, seen: list[Request]
) -> None:
    proxy = BuildProxy(addresses=[f"{index.url}/simple/"])
    with closing(Listening(proxy)) as listening:
        assert listening.get(f"{index.url}/simple/six/?a=1") == (200, b"simple index")
        assert listening.get(f"{index.url}/simple/six/", "HEAD") == (200, b"")
        assert listening.get(f"{index.url}/audit", "POST", b"x" * 100_000) == (200, b"x" * 100_000)
    assert [request.path for request in seen] == ["/simple/six/?a=1", "/simple/six/", "/audit"]
    assert seen[0].headers["host"] == index.url.removeprefix("http://")
    assert proxy.received == {"127.0.0.1": 12 + 100_000}
    assert not proxy.refused


def test_a_tunnel_carries_tls_and_its_bytes_are_counted(index: Server) -> None:
    authority = trustme.CA()
    context = ssl.create_default_context()
    authority.configure_trust(context)
    address = index.encrypt(authority)
    proxy = BuildProxy(addresses=[address])
    with closing(Listening(proxy)) as listening:
        connection = http.client.HTTPSConnection(*listening.place, timeout=30, context=context)
        connection.set_tunnel("127.0.0.1", urlsplit(address).port)
        for _ in range(2):
            connection.request("GET", "/simple/")
            assert connection.getresponse().read() == b"simple index"
        connection.close()
    assert proxy.received["127.0.0.1"] > 2 * 12


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("example.com", "403 example.com is no package index; to allow it, add `hosts: [example.com]`"),
        ("acme.test", "403 acme.test is no package index"),
        ("pypi.org.acme.com", "403 pypi.org.acme.com is no package index"),
        ("127.0.0.1", "403 127.0.0.1 is no name; use its name"),
        ("169.254.169.254", "403 169.254.169.254 is no name"),
        ("::1", "403 ::1 is no name"),
        ("localhost", "403 localhost leads to a private network; only an index of your own environment may"),
        ("LOCALHOST.", "403 localhost leads to a private network"),
        ("2130706433", "403 2130706433 leads to a private network"),  # 127.0.0.1 as a number
    ],
)
def test_what_is_no_index_is_refused_with_what_would_allow_it(host: str, why: str, index: Server) -> None:
    port = urlsplit(index.url).port or 0
    proxy = BuildProxy(["*.acme.test", "localhost", "2130706433", "127.0.0.1"], ["http://127.0.0.1:1/simple"])
    with closing(Listening(proxy)) as listening:
        place = f"[{host}]" if ":" in host else host
        assert why in listening.tunnel(place, port)
        status, body = listening.get(f"http://{place}:{port}/")
    assert status == 403
    assert why.removeprefix("403 ").encode() in body
    assert proxy.refused.total() == 2
    assert not proxy.received


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: pypi.org\r\n\r\n",
        b"GET https://pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n",
        b"CONNECT pypi.org:443:80 HTTP/1.1\r\nHost: pypi.org\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
    ],
)
def test_what_is_no_request_to_a_proxy_is_answered_and_ended(sent: bytes) -> None:
    with closing(Listening(BuildProxy())) as listening, socket.create_connection(listening.place, 30) as connection:
        connection.sendall(sent)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 400 ")


def test_a_second_request_on_a_connection_goes_nowhere(index: Server, seen: list[Request]) -> None:
    """The first address alone was looked at."""
    name = index.url.removeprefix("http://")
    request = f"GET {index.url}/a HTTP/1.1\r\nHost: {name}\r\n\r\nGET /b HTTP/1.1\r\nHost: elsewhere\r\n\r\n".encode()
    with (
        closing(Listening(BuildProxy(addresses=[index.url]))) as listening,
        socket.create_connection(listening.place, 30) as connection,
    ):
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
    assert answer.count(b"HTTP/1.1") == 1
    assert [request.path for request in seen] == ["/a"]


@pytest.fixture
def machines_own(seen: list[Request], monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A proxy that the machine has to use; it knows every name."""

    def respond(request: Request) -> Reply:
        seen.append(request)
        if "denied" in request.path:
            return Reply(b"", 407)
        if request.method == "CONNECT":
            return Reply(raw=lambda file: file.write(b"HTTP/1.1 200 OK\r\n\r\n"))
        return Reply(b"by proxy")

    with closing(Server(respond)) as server:
        address = server.url.replace("://", "://ada:p%40ss@")
        monkeypatch.setenv("HTTPS_PROXY", address)
        monkeypatch.setenv("http_proxy", address)
        yield server


def test_what_is_allowed_goes_through_the_machines_own_proxy(
    machines_own: Server, index: Server, seen: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    proxy = BuildProxy(["*.acme.test", "denied.test"], [index.url])
    with closing(Listening(proxy)) as listening:
        assert listening.tunnel("wheels.acme.test", 8443) == ""
        assert listening.get("http://pypi.org/simple/") == (200, b"by proxy")
        assert listening.get(f"{index.url}/direct") == (200, b"simple index")
        assert "502 the machine's own proxy answered 407 for denied.test:443" in listening.tunnel("denied.test", 443)
        assert "403 localhost is no package index" in listening.tunnel("localhost", 443)
    known = f"Basic {base64.b64encode(b'ada:p@ss').decode()}"
    assert [(request.path, request.headers.get("proxy-authorization")) for request in seen] == [
        ("wheels.acme.test:8443", known),
        ("http://pypi.org/simple/", known),
        ("/direct", None),
        ("denied.test:443", known),
    ]


def test_a_proxy_of_another_kind_is_refused_before_anything_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy.acme.test:1080")
    with pytest.raises(UsageError, match="names a proxy of the kind socks5"):
        BuildProxy()


def test_a_host_that_does_not_answer_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with closing(Listening(BuildProxy(addresses=[f"http://127.0.0.1:{port}/"]))) as listening:
        assert "502 127.0.0.1 cannot be reached: Connection refused" in listening.tunnel("127.0.0.1", port)


def test_a_name_is_looked_up_once_and_again_where_that_fails_for_the_moment(
    index: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, real = urlsplit(index.url).port, socket.getaddrinfo
    answers: list[OSError | str] = [socket.gaierror(socket.EAI_AGAIN, "later"), "127.0.0.1"]

    def look_up(host: str, port: int, *rest: Any, **named: Any) -> Any:
        answer = answers.pop(0) if host == "index.test" else host
        if isinstance(answer, OSError):
            raise answer
        return real(answer, port, *rest, **named)

    monkeypatch.setattr("codegate.environments.proxy._AGAIN_SECONDS", 0.0)
    monkeypatch.setattr("socket.getaddrinfo", look_up)
    address = f"http://index.test:{port}/"
    with closing(Listening(BuildProxy(addresses=[address]))) as listening:
        assert [listening.get(address) for _ in range(2)] == [(200, b"simple index")] * 2
    assert not answers
