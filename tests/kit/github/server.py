"""The server: routes that other modules add, permissions per token, pages, faults, and a list of what was asked.

What the real one does: docs.github.com/rest, "Authenticating", "Rate limits", "Using pagination in the REST API" and
"Permissions required for GitHub Apps".
"""

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.kit import http

Store = TypeVar("Store")


@dataclass(frozen=True)
class Token:
    """What a token may do: ``may`` holds permissions as a workflow has them, such as ``issues: write``.

    ``login`` is who writes with it; ``app`` tokens, as a workflow's own is, cannot ask ``/user`` who they are.
    """

    may: frozenset[str]
    login: str = "github-actions[bot]"
    app: bool = True

    def has(self, needs: str | None) -> bool:
        """Return whether it may do what needs ``name: level``; ``|`` stands between alternatives."""
        return needs is None or any(self._has(one.strip()) for one in needs.split("|"))

    def _has(self, one: str) -> bool:
        return one in self.may or (one.endswith(": read") and one.replace(": read", ": write") in self.may)


@dataclass(frozen=True)
class Request:
    """A request as it arrived; ``path`` is without the API's prefix and without the query."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    raw: bytes
    groups: tuple[str, ...] = ()
    token: Token | None = None

    @property
    def body(self) -> Any:
        return json.loads(self.raw) if self.raw else None


@dataclass(frozen=True)
class Reply:
    """What the server says; a ``body`` that is no bytes is sent as JSON."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    def data(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.body is None else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Listing:
    """All items of a list, of which the server gives one page; ``name`` is the key where the answer is an object."""

    items: list[Any]
    name: str | None = None


@dataclass
class Fault:
    """Something that goes wrong instead of an answer, ``times`` times.

    Attributes:
        method, pattern: of the requests it happens to.
        reply: what is said; None: the connection is cut.
        after: the request has been carried out before.
        cut: send this many bytes of the true answer, then hang up.
    """

    method: str
    pattern: str
    reply: Reply | None = None
    times: int = 1
    after: bool = False
    cut: int | None = None


Handler = Callable[["FakeGitHub", Request], Any]


@dataclass(frozen=True)
class _Route:
    method: str
    pattern: re.Pattern[str]
    needs: str | None
    outside: bool
    handler: Handler


_ROUTES: list[_Route] = []


def route(
    method: str, pattern: str, *, needs: str | None = None, outside: bool = False
) -> Callable[[Handler], Handler]:
    """Answer ``method`` on paths that match all of ``pattern`` with what the function returns.

    It returns a ``Reply``, a ``Listing``, or what is to be sent as JSON.

    Args:
        method: of the request.
        pattern: regular expression of the whole path, without the API's prefix.
        needs: permission, such as ``issues: write | pull-requests: write``; None: any token will do.
        outside: not part of the REST API: no prefix, no token is looked at (the function may).
    """

    def add(handler: Handler) -> Handler:
        _ROUTES.append(_Route(method, re.compile(pattern), needs, outside, handler))
        return handler

    return add


class FakeGitHub:
    """One GitHub with one repository, ``acme/demo``.

    Args:
        prefix: path of the API, such as ``/api/v3`` on an Enterprise server.
        tokens: by their text.
    """

    repository = "acme/demo"

    def __init__(self, prefix: str = "", tokens: Mapping[str, Token] | None = None) -> None:
        self.prefix = prefix
        self.tokens: dict[str, Token] = dict(tokens or {})
        self.requests: list[Request] = []
        self.violations: list[str] = []
        self.lock = threading.RLock()
        self._faults: list[Fault] = []
        self._expected: list[tuple[str, str]] = []
        self._stores: dict[type[Any], Any] = {}
        self._server = http.Server(self._received)

    @property
    def origin(self) -> str:
        return self._server.url

    @property
    def api_url(self) -> str:
        return self.origin + self.prefix

    def store(self, kind: type[Store]) -> Store:
        """Return what a module keeps on this server, made on first use."""
        with self.lock:
            return self._stores.setdefault(kind, kind())  # type: ignore[no-any-return]

    def fail(self, *faults: Fault) -> None:
        """Let these happen, each to the first requests that it fits; ``close`` complains of one that did not."""
        self._faults += faults

    def expect(self, method: str, pattern: str) -> None:
        """Require that such a request comes, once for each time this is said; ``close`` complains if it does not."""
        self._expected.append((method, pattern))

    def asked(self, method: str, pattern: str = ".*") -> list[Request]:
        """Return the requests of a kind that came so far."""
        return [r for r in self.requests if r.method == method and re.fullmatch(pattern, r.path)]

    def close(self) -> None:
        """Stop, and complain of what was asked against the rules, or expected and not asked."""
        self._server.close()
        missing = [f"{m} {p}" for m, p in self._expected if not self._took(m, p)]
        unused = [f"{fault.method} {fault.pattern}" for fault in self._faults if fault.times > 0]
        assert not self.violations, self.violations
        assert not missing, f"never asked: {missing}"
        assert not unused, f"faults that never happened: {unused}"

    def _took(self, method: str, pattern: str) -> bool:
        found = self.asked(method, pattern)
        if found:
            self.requests.remove(found[0])
        return bool(found)

    def answer(self, request: Request) -> tuple[Reply, int | None]:
        """Return what is said to a request, and after how many bytes of it the connection is cut."""
        with self.lock:
            self.requests.append(request)
            fault = next(
                (f for f in self._faults
                 if f.times > 0 and f.method == request.method and re.fullmatch(f.pattern, request.path)),
                None,
            )  # fmt: skip
            if fault is not None:
                fault.times -= 1
                if fault.cut is not None:
                    return self._true_answer(request), fault.cut
                if fault.after:
                    self._true_answer(request)
                return (fault.reply, None) if fault.reply is not None else (Reply(), 0)
            return self._true_answer(request), None

    def _true_answer(self, request: Request) -> Reply:
        for entry in _ROUTES:
            found = entry.pattern.fullmatch(request.path)
            if found is None or entry.method != request.method:
                continue
            prefixed = bool(self.prefix) and request.headers.get("x-fake-prefixed") == "yes"
            if bool(self.prefix) and prefixed == entry.outside:
                continue
            if not entry.outside and (refused := self._refused(request, entry)):
                return refused
            return self._reply(request, entry.handler(self, _with(request, found.groups(""), self._token(request))))
        self.violations.append(f"no such address: {request.method} {request.path}")
        return Reply({"message": "Not Found"}, 404)

    def _token(self, request: Request) -> Token | None:
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        if not text:
            return Token(frozenset(), login="")
        return self.tokens.get(text) if scheme.lower() in {"bearer", "token"} else None

    def _refused(self, request: Request, entry: _Route) -> Reply | None:
        if not request.headers.get("user-agent"):
            return Reply({"message": "Request forbidden by administrative rules."}, 403)
        token = self._token(request)
        if token is None:
            return Reply({"message": "Bad credentials"}, 401)
        if request.raw:
            try:
                request.body  # noqa: B018
            except ValueError:
                return Reply({"message": "Problems parsing JSON"}, 400)
        if token.has(entry.needs):
            return None
        if "authorization" not in request.headers:
            return Reply({"message": "Requires authentication"}, 401)
        assert entry.needs is not None
        alternatives = [one.strip().replace("-", "_").replace(": ", "=") for one in entry.needs.split("|")]
        return Reply(
            {"message": "Resource not accessible by integration", "status": "403"},
            403,
            {"X-Accepted-GitHub-Permissions": "; ".join(alternatives)},
        )

    def _reply(self, request: Request, said: Any) -> Reply:
        if isinstance(said, Reply):
            return said
        if not isinstance(said, Listing):
            return Reply(said)
        size = min(max(int(request.query.get("per_page", "30")), 1), 100)
        page = max(int(request.query.get("page", "1")), 1)
        part = said.items[(page - 1) * size : page * size]
        last = max(-(-len(said.items) // size), 1)
        links = {"next": page + 1, "last": last} if page < last else {}
        links |= {"prev": page - 1, "first": 1} if page > 1 else {}

        def url(number: int) -> str:
            return f"{self.api_url}{request.path}?{urlencode({**request.query, 'page': str(number)})}"

        header = ", ".join(f'<{url(number)}>; rel="{rel}"' for rel, number in links.items())
        body = part if said.name is None else {"total_count": len(said.items), said.name: part}
        return Reply(body, headers={"Link": header} if header else {})

    def _received(self, received: http.Request) -> http.Reply | None:
        parts = urlsplit(received.path)
        headers, path = {**received.headers}, parts.path
        headers.pop("x-fake-prefixed", None)
        if self.prefix and path.startswith(f"{self.prefix}/"):
            path = path.removeprefix(self.prefix)
            headers["x-fake-prefixed"] = "yes"
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        request = Request(received.method, path, query, headers, received.raw)
        try:
            reply, cut = self.answer(request)
        except Exception as error:  # it would end in this thread, unseen
            self.violations.append(f"{request.method} {request.path}: {error!r}")
            reply, cut = Reply({"message": "Server Error"}, 500), None
        data = reply.data()
        if cut == 0:
            return None
        kind = "application/octet-stream" if isinstance(reply.body, bytes) else "application/json"
        return http.Reply(data, reply.status, {"Content-Type": kind, **reply.headers}, cut=cut)


def _with(request: Request, groups: tuple[str, ...], token: Token | None) -> Request:
    return Request(request.method, request.path, request.query, request.headers, request.raw, groups, token)


def rate_limited(after: int | None = None, *, status: int = 429) -> Reply:
    """Return the answer at a rate limit: with ``Retry-After``, or with the second that the limit ends."""
    if after is not None:
        return Reply({"message": "You have exceeded a secondary rate limit."}, status, {"Retry-After": str(after)})
    ends = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()))}
    return Reply({"message": "API rate limit exceeded for installation."}, status, ends)


@contextlib.contextmanager
def fake_github(prefix: str = "", tokens: Mapping[str, Token] | None = None) -> Iterator[FakeGitHub]:
    """Run one for the length of a ``with`` block."""
    github = FakeGitHub(prefix, tokens)
    try:
        yield github
    except BaseException:
        github.violations.clear()  # what the test says is said first
        with contextlib.suppress(AssertionError):
            github.close()
        raise
    github.close()
