import http.client
import json
import threading

from notes.api import make_server


class Service:
    """A running service; ``call`` returns status, body and headers."""

    def __init__(self, path):
        self.server = make_server(str(path / "notes.db"))
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def call(self, method, path, title=None, **headers):
        connection = http.client.HTTPConnection(*self.server.server_address, timeout=30)
        body = None if title is None else json.dumps({"title": title}).encode()
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return answer.status, json.loads(data) if data and is_json else data.decode(), answer.headers
