"""The HTTP service."""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from notes.page import render
from notes.store import Conflict, Gone, Store


class Failed(Exception):
    """The answer is an error of this status."""


def make_server(path):
    """Return a server on a free port of 127.0.0.1 that keeps its notes in the SQLite file ``path``."""
    store = Store(path)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path = urlsplit(self.path).path
            self.handle_with({"/notes": self.list, "/": self.page}.get(path, self.show))

        def do_POST(self):
            self.handle_with(lambda: (201, store.add(self.body()["title"])))

        def do_PUT(self):
            self.handle_with(self.change)

        def do_DELETE(self):
            self.handle_with(lambda: (204, None) if store.remove(self.note()) else (404, None))

        def handle_with(self, handle):
            try:
                status, data = handle()
                self.answer(status, data)
            except Gone:
                self.answer(410, {"error": "the note was deleted"})
            except Conflict:
                self.answer(412, {"error": "the note was changed"})
            except Failed as error:
                self.answer(error.args[0], {"error": "bad request"})

        def list(self):
            query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
            limit = _number(query.get("limit", ["20"])[0])
            if not 1 <= limit <= 100:
                raise Failed(400)
            after = _number(query.get("after", ["0"])[0])
            notes, following = store.page(query.get("q", [""])[0], after, limit)
            return 200, {"notes": notes, "next": following}

        def page(self):
            text = parse_qs(urlsplit(self.path).query).get("q", [""])[0]
            return 200, render(store.page(text, 0, 100)[0], text)

        def show(self):
            note = store.get(self.note())
            return (200, note) if note else (404, None)

        def change(self):
            title = self.body()["title"]
            given = self.headers.get("If-Match")
            if given is None:
                raise Failed(428 if store.get(self.note()) else 404)
            version = re.fullmatch('"([0-9]{1,15})"', given)
            note = store.change(self.note(), int(version[1]) if version else -1, title)
            return (200, note) if note else (404, None)

        def note(self):
            return _number(self.path.rpartition("/")[2], 404)

        def body(self):
            return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

        def answer(self, status, data):
            if status == 404:
                data = {"error": "unknown note"}
            kind = "text/html; charset=utf-8" if isinstance(data, str) else "application/json"
            text = "" if data is None else data if isinstance(data, str) else json.dumps(data)
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if isinstance(data, dict) and "version" in data:
                self.send_header("ETag", f'"{data["version"]}"')
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def _number(text, status=400):
    if not re.fullmatch("[0-9]{1,15}", text):
        raise Failed(status)
    return int(text)
