"""The HTTP service."""

import json
import re
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from shortener.store import Store, Taken

_PAGE = Path(__file__).parents[1] / "web" / "index.html"
_CODE = re.compile("[a-z0-9-]{3,20}")
_KEYS = {"url", "code", "days"}
_LARGEST = 10_000
_DAY = 24 * 60 * 60


def make_server(path: str, clock: Callable[[], int]) -> ThreadingHTTPServer:
    """Return a server on a free port of 127.0.0.1 that keeps its links in the SQLite file ``path``."""
    store = Store(path)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/":
                self._send(200, _PAGE.read_bytes(), "text/html; charset=utf-8")
            elif self.path.startswith("/links/"):
                link = store.find(self.path.removeprefix("/links/"))
                self._answer(200, link) if link else self._error(404, "unknown code")
            else:
                self._follow(self.path[1:])

        def do_DELETE(self) -> None:
            code = self.path.removeprefix("/links/")
            if code != self.path and store.remove(code):
                self._send(204)
            else:
                self._error(404, "unknown code")

        def do_POST(self) -> None:
            if self.path != "/links":
                self._error(404, "not found")
                return
            try:
                url, code, days = _read(self.rfile.read(self._length()))
                now = clock()
                link, new = store.add(url, code, now + days * _DAY if days else None, now)
            except ValueError as error:
                self._error(400, str(error))
            except Taken:
                self._error(409, "the code is taken")
            else:
                self._answer(201 if new else 200, link)

        def _follow(self, code: str) -> None:
            link = store.find(code)
            if link is None:
                self._error(404, "unknown code")
            elif link["expires"] is not None and clock() >= link["expires"]:
                self._error(410, "the link has expired")
            else:
                store.visit(code)
                self._send(302, location=link["url"])

        def _length(self) -> int:
            length = int(self.headers.get("Content-Length", "0"))
            if not 0 <= length <= _LARGEST:
                raise ValueError("the body is too large")
            return length

        def _error(self, status: int, words: str) -> None:
            self._answer(status, {"error": words})

        def _answer(self, status: int, data: object) -> None:
            self._send(status, json.dumps(data).encode(), "application/json")

        def _send(self, status: int, body: bytes = b"", kind: str = "", location: str = "") -> None:
            self.send_response(status)
            if kind:
                self.send_header("Content-Type", kind)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def _read(body: bytes) -> tuple[str, str | None, int | None]:
    """Return address, code and days of a request; raises ValueError."""
    data = json.loads(body)
    if not isinstance(data, dict) or not data.keys() <= _KEYS:
        raise ValueError("the body is no object of url, code and days")
    url, code, days = data.get("url"), data.get("code"), data.get("days")
    if not isinstance(url, str) or len(url) > 2000 or not url.isprintable() or " " in url:
        raise ValueError("url is no address")
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("url is no absolute http or https address")
    if "code" in data and (not isinstance(code, str) or not _CODE.fullmatch(code) or code == "links"):
        raise ValueError("code is not allowed")
    if "days" in data and (type(days) is not int or not 1 <= days <= 365):
        raise ValueError("days is no whole number from 1 to 365")
    return url, code, days
