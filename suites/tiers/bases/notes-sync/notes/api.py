"""The HTTP service."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from notes.page import render
from notes.store import Store


def make_server(path):
    """Return a server on a free port of 127.0.0.1 that keeps its notes in the SQLite file ``path``."""
    store = Store(path)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            place = urlsplit(self.path)
            if place.path == "/notes":
                query = parse_qs(place.query)
                notes = store.page(query.get("q", [""])[0])
                self.answer(200, {"notes": notes, "next": None})
                return
            if place.path == "/":
                text = parse_qs(place.query).get("q", [""])[0]
                self.send(200, render(store.page(text), text).encode(), "text/html")
                return
            note = store.get(self.note())
            self.answer(200 if note else 404, note or {"error": "unknown note"})

        def do_POST(self):
            self.answer(201, store.add(self.body()["title"]))

        def do_PUT(self):
            note = store.change(self.note(), self.body()["title"])
            self.answer(200 if note else 404, note or {"error": "unknown note"})

        def do_DELETE(self):
            store.remove(self.note())
            self.answer(204, None)

        def note(self):
            return int(self.path.rpartition("/")[2])

        def body(self):
            return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

        def answer(self, status, data):
            self.send(status, b"" if data is None else json.dumps(data).encode(), "application/json")

        def send(self, status, body, kind):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)
