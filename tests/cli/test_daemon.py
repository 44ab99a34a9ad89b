"""A Docker daemon that goes away in the middle of a run: a socket in front of the real one is cut."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from codegate.sandbox.docker import DockerBackend
from codegate.suite import Suite
from tests.conftest import unavailable
from tests.running.world import ModelServer, Said, answer, codegate, lines, results, start, wait_until
from tests.sandbox.daemons import daemon_socket

pytestmark = [pytest.mark.docker, pytest.mark.full]


class Relay:
    """Passes bytes between a socket of its own and the daemon's, until it is cut."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._open: list[socket.socket] = []
        self._path = path
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Be as a daemon that was killed: nobody listens, and every connection is gone."""
        self._path.unlink(missing_ok=True)
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                ours, _ = self._listener.accept()
                daemon = socket.socket(socket.AF_UNIX)
                self._open += [ours, daemon]
                daemon.connect(daemon_socket())
                for source, target in ((ours, daemon), (daemon, ours)):
                    threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    @staticmethod
    def _pass(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def relay(tmp_path: Path, docker_backend: DockerBackend) -> Iterator[Relay]:
    if not Path(daemon_socket()).is_socket():
        unavailable("DOCKER", f"the daemon listens on no socket of this machine ({daemon_socket()})")
    made = Relay(tmp_path / "d.sock")
    yield made
    made.cut()


def test_a_daemon_that_goes_away_is_a_fault_and_nothing_is_lost(
    suite: Suite, server: ModelServer, tmp_path: Path, relay: Relay
) -> None:
    server.script = lambda name, turn, request: Said(answer(name), seconds=0.3)
    out = tmp_path / "r"
    run = ("run", suite.folder, "--sandbox", "docker", "--models", "1", "--jobs", "1")
    behind = {"DOCKER_HOST": f"unix://{tmp_path / 'd.sock'}"}
    new = (*run, "--candidate", server.candidate, "--samples", "3", "--out", out)
    with start(*new, cwd=tmp_path, environment=behind) as process:
        wait_until(lambda: len(lines(out)) >= 1, 120)
        kept = lines(out)[:1]
        relay.cut()
        _, said = process.communicate(timeout=240)
    assert process.returncode == 4, said
    assert "Traceback" not in said
    faults = [line["fault"] for line in lines(out) if line["fault"]]
    assert faults
    assert {fault["cause"] for fault in faults} == {"sandbox"}
    assert "Docker" in faults[0]["message"]
    assert all(line["attempt"] for line in lines(out)), "the answers were paid for and are kept"
    asked = len(server.asked)
    assert asked == 9

    assert codegate(*run, "--resume", out, cwd=tmp_path).code == 0
    assert len(server.asked) == asked
    assert lines(out)[:1] == kept
    assert set(results(out).values()) == {True}
