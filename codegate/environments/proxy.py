"""The network access of a build: package indexes only.

Commands in the sandbox reach the proxy through a relay. The proxy takes tunnels (``CONNECT``) and plain requests, and
passes them on to the machine's own proxy if there is one. A refused request gets status 403 and the line of
configuration that would allow it.
"""

import base64
import contextlib
import ipaddress
import socket
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

import h11

from codegate.errors import UsageError
from codegate.http import MAX_HEAD_BYTES

INDEXES: Final = frozenset({
    "pypi.org", "files.pythonhosted.org",
    "registry.npmjs.org", "registry.yarnpkg.com",
    "proxy.golang.org", "sum.golang.org",
    "index.crates.io", "static.crates.io",
    "repo.maven.apache.org", "repo1.maven.org",
    "deb.debian.org", "security.debian.org",
})  # fmt: skip
"""The package indexes that every build may reach."""
_PORTS: Final = {"http": 80, "https": 443}
_CONNECT_SECONDS: Final = 30.0
_IDLE_SECONDS: Final = 600.0
_PIECE: Final = 1 << 16
_OF_A_HOP: Final = frozenset({
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te", b"upgrade",
})  # fmt: skip

_UNREACHABLE: Final = 502
_LOOKUPS: Final = 5
_AGAIN_SECONDS: Final = 1.0


class _Refused(Exception):
    """A refused request; the client gets its status and message."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


class BuildProxy:
    """Answers a build's connections, and records their hosts; thread-safe.

    Args:
        hosts: names that the recipe allows beside the indexes; ``*.NAME`` stands for all names below one.
        addresses: addresses of indexes that the caller's own environment names, which may be on a private network.

    Attributes:
        received: bytes from each host.
        refused: how often each host was refused.
        unreachable: why allowed hosts were not reached, each reason once.

    Raises:
        UsageError: the machine's own proxy is of a kind that cannot be used.
    """

    def __init__(self, hosts: Iterable[str] = (), addresses: Iterable[str] = ()) -> None:
        self._hosts = tuple(hosts)
        self._own = {_target(urlsplit(address)) for address in addresses}
        self._proxies: dict[str, str] = urllib.request.getproxies_environment()
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._found: dict[tuple[str, int], list[tuple[str, int]]] = {}
        self.received: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.unreachable: set[str] = set()
        for scheme in _PORTS:
            if (above := self._machine_proxy(scheme, "")) is not None and above.scheme != "http":
                raise UsageError(
                    f"{scheme.upper()}_PROXY names a proxy of the kind {above.scheme}, which builds cannot use.",
                    "Name one whose address begins with http://.",
                )

    def answer(self, connection: socket.socket) -> None:
        """Answer the request or tunnel of ``connection``."""
        client = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        try:
            with contextlib.suppress(h11.LocalProtocolError, OSError):  # one of the two ends has closed
                self._answer(connection, client)
        except h11.RemoteProtocolError:
            with contextlib.suppress(h11.LocalProtocolError, OSError):
                _reply(connection, client, _Refused(400, "what was sent is no request to a proxy"))

    def _answer(self, connection: socket.socket, client: h11.Connection) -> None:
        request = _next_event(client, connection)
        if not isinstance(request, h11.Request):
            return
        target = request.target.decode("latin-1")
        try:
            if request.method == b"CONNECT":
                self._tunnel(connection, client, urlsplit(f"https://{target}"))
            elif (address := urlsplit(target)).scheme == "http" and address.hostname:
                self._pass_on(connection, client, request, address)
            else:
                raise _Refused(400, "this is a proxy for http:// addresses and for tunnels")
        except _Refused as refused:
            if refused.status == _UNREACHABLE:
                with self._lock:
                    self.unreachable.add(refused.words)
            _reply(connection, client, refused)
        except ValueError as error:  # the target is no address
            raise h11.RemoteProtocolError(str(error)) from error

    def _tunnel(self, connection: socket.socket, client: h11.Connection, address: SplitResult) -> None:
        host, port = self._allowed(address)
        with self._connect("https", host, port) as server:
            connection.sendall(client.send(h11.Response(status_code=200, headers=[], reason=b"Connected")) or b"")
            server.sendall(client.trailing_data[0])
            upwards = threading.Thread(target=_carry, args=(connection, server), name="codegate-proxy", daemon=True)
            upwards.start()
            _carry(server, connection, lambda size: self._count(host, size))
            upwards.join()

    def _pass_on(
        self, connection: socket.socket, client: h11.Connection, request: h11.Request, address: SplitResult
    ) -> None:
        host, port = self._allowed(address)
        above = self._machine_proxy("http", host)
        path = f"{address.path or '/'}{f'?{address.query}' if address.query else ''}"
        name = host if port == _PORTS["http"] else f"{host}:{port}"
        headers = [(b"host", name.encode()), (b"connection", b"close"), *_passed_on_headers(request.headers, b"host")]
        if above is not None and (known := _authorization(above)):
            headers.append((b"proxy-authorization", known))
        server = h11.Connection(h11.CLIENT)
        with self._connect("http", host, port) as far:
            target = path if above is None else f"http://{name}{path}"
            far.sendall(server.send(h11.Request(method=request.method, target=target, headers=headers)) or b"")
            for event in _body_events(client, connection):
                far.sendall(server.send(event) or b"")
            while not isinstance(event := _next_event(server, far), h11.ConnectionClosed):
                if isinstance(event, h11.Response):
                    kept = [*_passed_on_headers(event.headers), (b"connection", b"close")]
                    event = h11.Response(status_code=event.status_code, reason=event.reason, headers=kept)
                elif isinstance(event, h11.Data):
                    self._count(host, len(event.data))
                connection.sendall(client.send(event) or b"")
                if isinstance(event, h11.EndOfMessage):
                    return

    def _allowed(self, address: SplitResult) -> tuple[str, int]:
        """Return an address's host and port; refuse forbidden hosts."""
        host, port = _target(address)
        if (host, port) in self._own or (host in INDEXES and port in _PORTS.values()):
            return host, port
        if _is_number(host) or not any(_fits(host, pattern) for pattern in self._hosts):
            with self._lock:
                self.refused[host] += 1
            what = "is no name" if _is_number(host) else "is no package index"
            remedy = "use its name" if _is_number(host) else f"to allow it, add `hosts: [{host}]` to `environment:`"
            raise _Refused(403, f"{host} {what}; {remedy}")
        return host, port

    def _connect(self, scheme: str, host: str, port: int) -> socket.socket:
        above = self._machine_proxy(scheme, host)
        places = self._places(host, port, needed=above is None)
        if above is not None:
            places = [_target(above)]
        failure: OSError = OSError("no address")
        for place in places:
            try:
                server = socket.create_connection(place[:2], _CONNECT_SECONDS)
            except OSError as error:
                failure = error
                continue
            try:
                server.settimeout(_IDLE_SECONDS)
                if above is not None and scheme == "https":
                    _open_tunnel(server, above, f"{host}:{port}")
            except BaseException:
                server.close()
                raise
            return server
        where = host if above is None else "the machine's own proxy"
        raise _Refused(_UNREACHABLE, f"{where} cannot be reached: {failure.strerror or failure}")

    def _places(self, host: str, port: int, *, needed: bool) -> list[tuple[str, int]]:
        """Return a host's addresses; refuse private ones.

        An index that the caller's own environment names may be private. A host that cannot be resolved is refused if
        ``needed``, else [] is returned.
        """
        # A host that only the recipe names must have public addresses. Whoever owns a name decides where it leads, and
        # it could lead to this machine or its neighbours.
        try:
            places = self._addresses_of(host, port)
        except (OSError, UnicodeError) as error:
            if not needed:
                return []  # the machine's proxy may know the host
            raise _Refused(_UNREACHABLE, f"{host} cannot be resolved: {error}") from error
        if host not in INDEXES and (host, port) not in self._own and not all(_is_public(place) for place, _ in places):
            with self._lock:
                self.refused[host] += 1
            raise _Refused(403, f"{host} leads to a private network; only an index of your own environment may")
        return places

    def _addresses_of(self, host: str, port: int) -> list[tuple[str, int]]:
        # An installer opens fifty connections at a time; one of them looks up the host.
        with self._looking:
            for left in reversed(range(_LOOKUPS)):
                if (host, port) in self._found:
                    break
                try:
                    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                    self._found[host, port] = [(str(place[4][0]), port) for place in found]
                except socket.gaierror as error:
                    if error.errno != socket.EAI_AGAIN or not left:
                        raise
                    time.sleep(_AGAIN_SECONDS)
            return self._found[host, port]

    def _machine_proxy(self, scheme: str, host: str) -> SplitResult | None:
        if host and urllib.request.proxy_bypass_environment(host, self._proxies):  # type: ignore[attr-defined]
            return None
        address = self._proxies.get(scheme) or self._proxies.get("all") or ""
        return urlsplit(address if "://" in address else f"http://{address}") if address else None

    def _count(self, host: str, size: int) -> None:
        with self._lock:
            self.received[host] += size


def _target(address: SplitResult) -> tuple[str, int]:
    return (address.hostname or "").rstrip(".").lower(), address.port or _PORTS.get(address.scheme, 0)


def _fits(host: str, pattern: str) -> bool:
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


def _is_number(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(host.partition("%")[0]))
    return not host


def _is_public(place: str) -> bool:
    address = ipaddress.ip_address(place.partition("%")[0])
    inner = getattr(address, "ipv4_mapped", None) or address
    return bool(inner.is_global and not inner.is_multicast)


def _authorization(proxy: SplitResult) -> bytes:
    if proxy.username is None:
        return b""
    known = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return b"Basic " + base64.b64encode(known)


def _open_tunnel(server: socket.socket, proxy: SplitResult, target: str) -> None:
    asked = h11.Connection(h11.CLIENT)
    known = _authorization(proxy)
    headers = [(b"host", target.encode()), *([(b"proxy-authorization", known)] if known else [])]
    server.sendall(asked.send(h11.Request(method="CONNECT", target=target, headers=headers)) or b"")
    asked.send(h11.EndOfMessage())
    answer = _next_event(asked, server)
    if not isinstance(answer, h11.Response) or answer.status_code // 100 != 2:
        status = answer.status_code if isinstance(answer, h11.Response) else "nothing"
        raise _Refused(_UNREACHABLE, f"the machine's own proxy answered {status} for {target}")


def _next_event(http: h11.Connection, connection: socket.socket) -> Any:
    while (event := http.next_event()) is h11.NEED_DATA:
        http.receive_data(connection.recv(_PIECE))
    return _next_event(http, connection) if isinstance(event, h11.InformationalResponse) else event


def _body_events(client: h11.Connection, connection: socket.socket) -> Iterator[h11.Event]:
    event: Any = None
    while not isinstance(event, h11.EndOfMessage):
        event = _next_event(client, connection)
        if isinstance(event, h11.ConnectionClosed):
            raise h11.RemoteProtocolError("the request was cut")
        yield event


def _passed_on_headers(headers: Iterable[tuple[bytes, bytes]], *left_out: bytes) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name not in _OF_A_HOP and name not in left_out]


def _reply(connection: socket.socket, client: h11.Connection, refused: _Refused) -> None:
    # The words are also in the status line, because clients show nothing else if a tunnel is refused.
    words = refused.words.encode("ascii", "replace")
    headers = [("content-type", "text/plain"), ("content-length", str(len(words) + 1)), ("connection", "close")]
    for event in (
        h11.Response(status_code=refused.status, headers=headers, reason=words),
        h11.Data(data=words + b"\n"),
        h11.EndOfMessage(),
    ):
        connection.sendall(client.send(event) or b"")


def _carry(source: socket.socket, sink: socket.socket, count: Any = lambda _: None) -> None:
    """Copy bytes until a connection closes.

    ``count`` is called with the size of each piece.
    """
    # Closing both ends the thread that carries the other direction.
    with contextlib.suppress(OSError):
        while data := source.recv(_PIECE):
            sink.sendall(data)
            count(len(data))
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
