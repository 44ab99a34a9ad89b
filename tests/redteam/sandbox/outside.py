"""The attacked machine as it is seen from outside: what is left on it of attacks, by their mark."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from docker import APIClient
from docker.errors import DockerException
from docker.utils import kwargs_from_env

from codegate.sandbox.docker import OWNER_LABEL

_BACK_SECONDS: Final = 10.0
_PLACES: Final = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/", "/opt", "/home")


@contextmanager
def baits(mark: str) -> Iterator[int]:
    """Listen where an attack could reach this machine: on every address, and on a socket without a file."""
    reached: list[str] = []
    with (
        socket.create_server(("0.0.0.0", 0)) as server,
        socket.socket(socket.AF_UNIX) as named,
    ):
        named.bind(f"\0{mark}")
        named.listen(8)
        for one in (server, named):
            threading.Thread(target=_accept, args=(one, reached), daemon=True).start()
        yield int(server.getsockname()[1])
    if reached:
        message = f"an attack reached this machine: {reached}"
        raise AssertionError(message)


def _accept(server: socket.socket, reached: list[str]) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, address = server.accept()
            reached.append(str(address))
            connection.close()


def left_over(mark: str, pid: int) -> list[str]:
    """Return what is left of the attacks with ``mark``, graded by the process ``pid``."""
    return [*_processes(mark), *_files(mark), *_shared(mark), *_groups(pid), *_containers(pid)]


def back_to_start(mark: str, pid: int) -> tuple[float, list[str]]:
    """Wait until nothing is left; return how long that took, and what still is."""
    begun = time.monotonic()
    while (left := left_over(mark, pid)) and time.monotonic() - begun < _BACK_SECONDS:
        time.sleep(0.1)
    return time.monotonic() - begun, left


def containers_at_once(pid: int, stop: threading.Event) -> int:
    """Count, until ``stop`` is set, how many containers the process ``pid`` has at one time."""
    most = 0
    while not stop.wait(0.2):
        most = max(most, len(list(_containers(pid))))
    return most


def _processes(mark: str) -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            arguments = path.read_bytes().split(b"\0")
            if arguments[0] == b"sleep" and mark.encode() in arguments:
                yield f"process {path.parent.name}"


def _files(mark: str) -> Iterator[str]:
    for place in _PLACES:
        with contextlib.suppress(OSError):
            yield from (f"file {path}" for path in Path(place).iterdir() if mark in path.name)


def _shared(mark: str) -> Iterator[str]:
    key = str(int(mark.partition(".")[0]) & 0x7FFFFFFF)
    for kind in ("shm", "sem", "msg"):
        with contextlib.suppress(OSError):
            lines = Path("/proc/sysvipc", kind).read_text().splitlines()[1:]
            yield from (f"{kind} {key}" for line in lines if line.split()[0] == key)


def _groups(pid: int) -> Iterator[str]:
    for root, folders, _ in os.walk("/sys/fs/cgroup"):
        yield from (
            f"control group {root}/{name}" for name in folders if name.startswith("codegate-") and f"_{pid}_" in name
        )


def _containers(pid: int) -> Iterator[str]:
    with contextlib.suppress(DockerException, OSError), contextlib.closing(APIClient(**kwargs_from_env())) as client:
        for container in client.containers(all=True, filters={"label": OWNER_LABEL}):
            if (container.get("Labels") or {}).get(OWNER_LABEL, "").split(":")[2:3] == [str(pid)]:
                yield f"container {container['Id'][:12]}"
