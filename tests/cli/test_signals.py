"""Ctrl-C and SIGTERM: how a command ends, what is left on the machine, and what can be continued."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codegate.sandbox.docker import DockerBackend
from codegate.suite import Suite, write_suite
from tests.kit.repository import HistoryBuilder
from tests.running.world import ModelServer, Said, answer, codegate, lines, results, start, wait_until


def children(pid: int) -> set[int]:
    """Return every descendant of a process."""
    found: set[int] = set()
    todo = [pid]
    while todo:
        with contextlib.suppress(OSError):
            for path in Path(f"/proc/{todo.pop()}/task").glob("*/children"):
                new = {int(each) for each in path.read_text().split()} - found
                found |= new
                todo += new
    return found


def alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    return False


def hang_on_square(name: str, turn: int, request: dict[str, Any]) -> Said:
    """Answer all but ``square``; that ``double`` is solved no earlier run has found."""
    return Said(hang=True) if name == "square" else Said(answer(name).replace("n * 2", "n+n+0"))


def interrupted(process: "subprocess.Popen[str]", number: signal.Signals) -> str:
    """Send a signal, wait for the process to end, and return its errors."""
    process.send_signal(number)
    _, said = process.communicate(timeout=120)
    return said


@pytest.mark.bwrap
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.full)])
def test_a_run_ends_in_order_leaves_nothing_and_can_be_continued(
    suite: Suite, server: ModelServer, tmp_path: Path, number: signal.Signals
) -> None:
    server.script = hang_on_square
    out = tmp_path / "a run"
    run = ("run", suite.folder, "--candidate", server.candidate, "--sandbox", "bwrap", "--no-precheck")
    with start(*run, "--samples", "1", "--out", out, cwd=tmp_path, remembering=True) as process:
        wait_until(lambda: len(lines(out)) == 2 and "square" in server.asked)
        sandboxes = {pid for pid in children(process.pid) if alive(pid)}
        assert sandboxes, "some wait, started ahead of need"
        said = interrupted(process, number)
    assert (process.returncode, "Traceback" in said) == (130, False), said
    assert f"interrupted after 2 of 3 outcomes; they are kept in {out}." in said
    pasted = shlex.split(said.splitlines()[-1])
    assert pasted[:2] == ["codegate", "run"]
    assert sorted(pasted) == sorted(["codegate", *map(str, run), "--resume", str(out)])
    wait_until(lambda: not any(alive(pid) for pid in sandboxes))
    server.reset()
    assert codegate(*pasted[1:], cwd=tmp_path).code == 0
    assert server.asked == ["square"]
    assert set(results(out).values()) == {True}


@pytest.mark.full
@pytest.mark.docker
def test_a_run_on_docker_leaves_no_container(
    suite: Suite, server: ModelServer, tmp_path: Path, docker_backend: DockerBackend
) -> None:
    from docker import APIClient
    from docker.utils import kwargs_from_env

    server.script = hang_on_square
    out = tmp_path / "r"
    client = APIClient(**kwargs_from_env())

    def containers() -> list[Any]:
        run = out.joinpath("run.json").read_text().split('"id": "')[1].split('"')[0]
        return list(client.containers(all=True, filters={"label": f"codegate.run={run}"}))

    command = ("run", suite.folder, "--sandbox", "docker", "--candidate", server.candidate, "--out", out)
    with start(*command, cwd=tmp_path) as process:
        wait_until(lambda: len(lines(out)) == 2 and "square" in server.asked, 120)
        wait_until(lambda: bool(containers()))
        said = interrupted(process, signal.SIGTERM)
    assert process.returncode == 130, said
    wait_until(lambda: not containers())
    client.close()


NEVER_CLOSED = """
    import sys, threading, time
    from concurrent.futures import ThreadPoolExecutor
    from codegate.cli.main import group, run
    from codegate.errors import Interrupted
    from codegate.running import interruptible

    class Backend:
        def close(self):
            print("stopping", flush=True)
            ThreadPoolExecutor(1).submit(threading.Event().wait).result()

    def work(**options):
        stop = threading.Event()
        with interruptible(stop, Backend()):
            print("ready", flush=True)
            while not (stop.is_set() and sys.argv[1] == "once"):
                time.sleep(0.1)
            raise Interrupted("interrupted.")

    group.main = work
    run([])
"""


HANGING = """
    import os, sys, threading
    from codegate.cli.main import run
    from codegate.sandbox.bubblewrap import BubblewrapBackend

    name, *words = sys.argv[1:]
    real, calls = getattr(BubblewrapBackend, name), []

    def hang(*given):
        calls.append(given)
        if name == "_open" and len(calls) == 1:
            return real(*given)
        os.write(1, b"hanging\\n")
        threading.Event().wait()

    setattr(BubblewrapBackend, name, hang)
    run(words)
"""


@contextlib.contextmanager
def ready(program: str, *words: str, line: str = "ready") -> Iterator["subprocess.Popen[str]"]:
    """Yield a process of ``program`` that has printed ``line``; it is killed at the end."""
    command = [sys.executable, "-c", textwrap.dedent(program), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"{line}\n"
            yield process
        finally:
            process.kill()


@pytest.mark.bwrap
@pytest.mark.parametrize("name", [pytest.param("base_image", marks=pytest.mark.full), "_open"])
def test_a_sandbox_that_never_starts_keeps_no_run_alive(suite: Suite, tmp_path: Path, name: str) -> None:
    """``_open``: of the sandboxes, the first of which is checked."""
    words = ["run", str(suite.folder), "--candidate", "reference", "--sandbox", "bwrap", "--out", str(tmp_path / "r")]
    with ready(HANGING, name, *words, line="hanging") as process:
        said = interrupted(process, signal.SIGTERM)
    assert process.returncode == 130, said
    assert "interrupted" in said


@pytest.mark.parametrize(("signals", "code"), [("once", 130), ("twice", -signal.SIGINT)])
def test_a_daemon_that_never_answers_keeps_no_process_alive(signals: str, code: int) -> None:
    """A second signal ends it at once; after one it ends in order."""
    with ready(NEVER_CLOSED, signals) as process:
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.readline() == "stopping\n"
        if signals == "twice":
            process.send_signal(signal.SIGINT)
        assert process.wait(120) == code


AT_ONCE = """
    import importlib, signal, sys

    place, name, *words = sys.argv[1:]
    sys.argv[1:] = words
    if name:
        setattr(importlib.import_module(place), name, lambda *_, **__: signal.raise_signal(signal.SIGINT))
    else:
        class Finder:
            def find_spec(self, module, *_):
                if module == place:
                    signal.raise_signal(signal.SIGINT)

        sys.meta_path.insert(0, Finder())
    from codegate.cli import main
    main()
"""


def interrupted_at(place: str, *words: object, cwd: Path) -> str:
    """Return the errors of a command that gets Ctrl-C where it calls ``module:function``, or imports ``module:``."""
    command = [sys.executable, "-c", textwrap.dedent(AT_ONCE), *place.split(":"), *map(str, words)]
    done = subprocess.run(command, check=False, cwd=cwd, capture_output=True, text=True, timeout=120)
    assert (done.returncode, "Traceback" in done.stderr) == (130, False), done.stderr
    return done.stderr


@pytest.mark.bwrap
@pytest.mark.parametrize(
    "place",
    [
        "codegate.cli.main:",
        "codegate.running.session:check_installed",
    ],
)
def test_a_run_that_is_interrupted_before_it_begins_says_that_nothing_is_written(
    suite: Suite, tmp_path: Path, place: str
) -> None:
    said = interrupted_at(place, "run", suite.folder, "--candidate", "empty", "--sandbox", "bwrap", cwd=tmp_path)
    assert said.endswith("codegate: interrupted before anything was written.\n")
    assert not list(tmp_path.glob("runs/*"))


@pytest.mark.bwrap
@pytest.mark.parametrize(
    "place",
    [
        "codegate.running.session:keep_predictions",
        pytest.param("codegate.operations.runs:gate", marks=pytest.mark.full),
    ],
)
def test_a_run_that_is_interrupted_later_says_how_to_continue_it(suite: Suite, tmp_path: Path, place: str) -> None:
    run = ("run", str(suite.folder), "--candidate", "empty", "--sandbox", "bwrap")
    said = interrupted_at(place, *run, "--out", "r", cwd=tmp_path)
    assert re.search("codegate: interrupted.* kept in r. Continue with:\n", said)
    pasted = shlex.split(said.splitlines()[-1])
    assert sorted(pasted) == sorted(["codegate", *run, "--resume", "r"])


NO_SUITE = "mining was stopped; no suite was written. The same command goes on from here."


@pytest.mark.bwrap
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("codegate.mining:check_options", NO_SUITE),
        ("codegate.mining.miner:scan", NO_SUITE),
        ("yaml.nodes:", "interrupted before anything was written."),
    ],
)
def test_mining_that_is_interrupted_at_once_says_that_no_suite_is_written(
    tmp_path: Path, place: str, words: str
) -> None:
    HistoryBuilder(tmp_path / "own").commit("Begin", {"own.py": ""})
    assert interrupted_at(place, "mine", "own", "--sandbox", "bwrap", cwd=tmp_path).endswith(f"codegate: {words}\n")
    assert not (tmp_path / "suites").exists()


WAITING = """
    import threading
    from codegate.cli.main import group, run

    def work(**options):
        print("ready", flush=True)
        threading.Event().wait()

    group.main = work
    run([])
"""


@pytest.mark.parametrize("program", [WAITING, NEVER_CLOSED], ids=["anywhere", "in a run"])
def test_two_signals_at_once_end_a_command_without_a_word(program: str) -> None:
    with ready(program, "twice") as process:
        for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
            process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (-signal.SIGTERM, "")


SLOW_REMOVAL = """#!/bin/sh
while [ -e {held} ]; do sleep 0.1; done
exec {rm} "$@"
"""


@pytest.mark.bwrap
@pytest.mark.parametrize("suite_there", [False, pytest.param(True, marks=pytest.mark.full)])
def test_mining_stopped_in_a_set_up_waits_for_no_removal_of_files(tmp_path: Path, *, suite_there: bool) -> None:
    repository, out, held = tmp_path / "own", tmp_path / "suite", tmp_path / "held"
    history = HistoryBuilder(repository)
    recipe = "environment: {setup: ['mkdir made; sleep 321'], tests: python -m unittest}\n"
    test = "import unittest\n\nclass Own(unittest.TestCase):\n    def test_own(self):\n        assert 1 == %d\n"
    history.commit("Begin", {"codegate.yml": recipe, "own.py": "", "test_own.py": test % 2})
    history.commit("Fix the wrong answer of own", {"own.py": "own = 1\n", "test_own.py": test % 1})
    if suite_there:
        write_suite(out, name="own", repository=str(repository), environments=[], problems=[])
    slow = tmp_path / "bin" / "rm"
    slow.parent.mkdir()
    slow.write_text(SLOW_REMOVAL.format(held=held, rm=shutil.which("rm")))
    slow.chmod(0o755)
    there = {"PATH": f"{slow.parent}:{os.environ['PATH']}", "CODEGATE_CACHE": str(tmp_path / "cache")}

    def is_set_up(pid: int) -> bool:
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep\x00321")
        return False

    command = ("mine", repository, "--out", out, "--sandbox", "bwrap")
    with start(*command, cwd=tmp_path, environment=there) as process:
        try:
            wait_until(lambda: any(map(is_set_up, children(process.pid))))
            inside = {pid for pid in children(process.pid) if is_set_up(pid)}
            held.touch()
            said = interrupted(process, signal.SIGINT)
            assert process.returncode == 130, said
            wait_until(lambda: not any(map(alive, inside)))
        finally:
            held.unlink(missing_ok=True)
            process.kill()
    assert "Traceback" not in said
    assert out.exists() is suite_there
    ending = "the suite is as it was" if suite_there else "no suite was written"
    assert f"mining was stopped; {ending}. The same command goes on from here." in said
    wait_until(lambda: not any((tmp_path / "cache" / "builds").iterdir()))
