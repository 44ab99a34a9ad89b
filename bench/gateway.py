"""What the gateway adds to a model call: a request of 40 kB from a sandbox to the host and back, without a provider.

    python -m bench.gateway [--sandbox bwrap|docker] [--calls 200]

Prints milliseconds by connection, medians and ninetieth percentiles, and the same for a bare HTTP server on this
machine: the difference is what the relay, the gateway's checks and its record of the conversation cost.
"""

import argparse
import http.server
import json
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from codegate.candidates import CandidateSpec, Completion, ForwardedAnswer, Usage
from codegate.candidates.gateway import AgentLimits, Gateway
from codegate.sandbox import Command, EnvironmentRecipe, SandboxLimits, select_backend
from codegate.sandbox.relay import RELAY_PORT, Relay
from tests.kit.layer import make_layer
from tests.solving.worlds import KeepsNothing

CLIENT = """\
import http.client, json, sys, time
port, calls, body = int(sys.argv[1]), int(sys.argv[2]), sys.stdin.read()
def timed(connection):
    begun = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", body)
    assert connection.getresponse().read()
    return 1000 * (time.perf_counter() - begun)
def fresh():
    connection = http.client.HTTPConnection("127.0.0.1", port)
    seconds = timed(connection)
    connection.close()
    return seconds
kept = http.client.HTTPConnection("127.0.0.1", port)
print(json.dumps({"kept alive": [timed(kept) for _ in range(calls)], "new": [fresh() for _ in range(calls)]}))
"""
MESSAGE = {"role": "assistant", "content": "x" * 400}
ANSWER = json.dumps({"model": "m", "choices": [{"message": MESSAGE, "finish_reason": "stop"}]}).encode()
REQUEST = json.dumps({"model": "m", "messages": [{"role": "user", "content": "word " * 80}] * 95}).encode()


class Instant:
    """A provider that answers at once."""

    def forward(self, *_: Any) -> ForwardedAnswer:
        return ForwardedAnswer(ANSWER, streamed=False, completion=Completion(text="x" * 400, usage=Usage(), model="m"))


class Bare(http.server.BaseHTTPRequestHandler):
    """The floor: reads a request and answers."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sandbox", default="bwrap")
    parser.add_argument("--calls", type=int, default=200)
    options = parser.parse_args()
    spec = CandidateSpec(provider="openai", model="m", base_url="http://127.0.0.1:1/v1")
    limits, paid = AgentLimits(10**6), KeepsNothing()
    gateway = Gateway(spec, "chat", Instant(), lambda action, _size, _begin: action(), limits, lambda: None, paid)
    relay = Relay({RELAY_PORT: gateway.answer})
    backend = select_backend(options.sandbox, "bench")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    sandbox = backend.open(
        backend.prepare(EnvironmentRecipe(python, layer=make_layer(Path(tempfile.mkdtemp())))), SandboxLimits()
    )
    bare = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bare)
    threading.Thread(target=bare.serve_forever, daemon=True).start()
    argv = ("{python}", "-c", CLIENT, str(RELAY_PORT), str(options.calls))
    try:
        done = sandbox.run(Command(argv, stdin=REQUEST, timeout_seconds=300, relay=relay))
        _show(f"through the gateway, {options.sandbox}", json.loads(done.stdout))
        client = [sys.executable, "-c", CLIENT, str(bare.server_port), str(options.calls)]
        _show("bare server on this machine", json.loads(subprocess.check_output(client, input=REQUEST)))
    finally:
        sandbox.close()
        relay.close()
        backend.close()
        bare.shutdown()


def _show(name: str, found: dict[str, list[float]]) -> None:
    for kind, values in found.items():
        ninth = statistics.quantiles(values, n=10)[8]
        print(f"{name}, {kind}: median {statistics.median(values):.1f} ms, p90 {ninth:.1f} ms (n={len(values)})")


if __name__ == "__main__":
    main()
