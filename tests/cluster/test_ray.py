"""Runs on a real Ray cluster of two nodes of this machine, of which one is killed under a run.

Not part of `make test`, because Ray is 240 MB: `make test-cluster`.
"""

import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import ray

from codegate import __version__
from codegate.grading import Sandboxes
from codegate.running import ray_engine
from codegate.suite import Problem, Suite, Tree, TreeFile, write_suite
from tests.kit.environment import PLAIN
from tests.kit.problem import changes, problem
from tests.running.world import codegate, lines, start, wait_until

pytestmark = [pytest.mark.bwrap, pytest.mark.timeout(600)]

PROBLEMS = 4
SLOW = "import time\n\nfrom {0} import {0}\n\n\ndef test_{0}():\n    time.sleep(2)\n    assert {0}(7) == 14\n"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """Bugs whose tests take two seconds, so that a node dies in the middle of one."""
    folder, environment = tmp_path_factory.mktemp("slow") / "suite", PLAIN
    names = [f"double{number}" for number in range(PROBLEMS)]
    bodies = {name: f"def {name}(n):\n    return n + " for name in names}
    base = {f"{name}.py": TreeFile((body + "3\n").encode()) for name, body in bodies.items()}
    made = [
        problem(
            name,
            environment.manifest,
            hidden=changes({f"test_{name}.py": SLOW.format(name)}),
            fix=changes({f"{name}.py": body + "n\n"}),
            wanted=[f"test_{name}.py::test_{name}"],
        )
        for name, body in bodies.items()
    ]
    return write_suite(
        folder, name="slow", repository=None, environments=[environment], problems=made, bases={"base": Tree(base)}
    )


class Cluster:
    """The process of ``nodes.py``, with changes of its environment, which the nodes have from it."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("nodes.py"))],
            env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0", **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = self._line()

    def kill_a_node(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("kill\n")
        self._process.stdin.flush()
        assert self._line() == "killed"

    def close(self) -> None:
        self._process.communicate(timeout=60)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


def arguments(suite: Suite, out: Path, *more: object) -> list[object]:
    models = ("--candidate", "reference:", "--candidate", "empty:")
    return ["run", suite.folder, *models, "--sandbox", "bwrap", "--jobs", 2, "--out", out, *more]


def graded(out: Path) -> dict[tuple[str, str, int], Any]:
    """Return of each outcome what must not depend on where it was graded; each was made once."""
    found = lines(out)
    made = Counter((line["candidate"], line["problem"], line["sample"]) for line in found)
    assert set(made.values()) == {1}
    keys = ("resolved", "score", "failure", "tests_passed", "controlled")
    return {
        (line["candidate"], line["problem"], line["sample"]): [line["grade"][key] for key in keys] for line in found
    }


@pytest.mark.requirement("X2")
def test_a_run_whose_node_dies_has_the_outcomes_and_the_verdicts_of_one_on_this_machine(
    suite: Suite, tmp_path: Path, cluster: Cluster
) -> None:
    here = codegate(*arguments(suite, tmp_path / "here", "--samples", 2, "--no-gate"), cwd=tmp_path)
    assert here.code == 0, here.stderr
    pinned = codegate(
        "baseline", "pin", tmp_path / "here", "--candidate", "reference", "--min-samples", 1, cwd=tmp_path
    )
    assert pinned.code == 0, pinned.stderr
    verdicts = codegate("gate", tmp_path / "here", "--json", cwd=tmp_path)

    there = tmp_path / "there"
    run = start(
        *arguments(suite, there, "--samples", 2, "--engine", "ray", "--json"),
        cwd=tmp_path,
        environment={"RAY_ADDRESS": cluster.address},
    )
    wait_until(lambda: any(line["grade"]["resolved"] for line in lines(there)), seconds=120)
    cluster.kill_a_node()
    _, errors = run.communicate(timeout=400)

    assert "Traceback" not in errors, errors
    assert graded(there) == graded(tmp_path / "here")
    assert run.returncode == verdicts.code, errors
    assert "Ray cluster with 2 CPUs" in errors


def test_an_interrupt_ends_the_tasks_on_the_nodes_and_the_run_can_be_resumed(
    suite: Suite, tmp_path: Path, cluster: Cluster
) -> None:
    ray = {"RAY_ADDRESS": cluster.address}
    run = start(*arguments(suite, tmp_path / "r", "--engine", "ray"), cwd=tmp_path, environment=ray)
    wait_until(lambda: len(lines(tmp_path / "r")) > 0, seconds=120)
    os.kill(run.pid, signal.SIGINT)
    _, errors = run.communicate(timeout=60)

    assert run.returncode == 130, errors
    assert "Traceback" not in errors, errors
    wait_until(lambda: not sandboxes_of(cluster), seconds=10)

    resumed = codegate(
        "run", suite.folder, "--resume", tmp_path / "r", "--engine", "ray", cwd=tmp_path, environment=ray
    )
    assert resumed.code == 0, resumed.stderr
    assert len(graded(tmp_path / "r")) == 2 * PROBLEMS


def test_a_node_without_a_sandbox_is_named_and_costs_no_sample(suite: Suite, tmp_path: Path) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    with closing(Cluster({"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})) as nodes:
        run = codegate(
            *arguments(suite, tmp_path / "r", "--engine", "ray"),
            cwd=tmp_path,
            environment={"RAY_ADDRESS": nodes.address},
        )
    assert run.code == 2, run.stderr
    assert "has no sandbox that works: bubblewrap is too old" in run.stderr
    assert not lines(tmp_path / "r")


def reserved(problem: Problem, base: Tree, *, sandboxes: Sandboxes) -> dict[str, float]:
    """Do a task's work: return what Ray has reserved for it."""
    return dict(ray.get_runtime_context().get_assigned_resources())


def test_a_task_reserves_the_memory_of_its_problem_and_at_most_a_node(
    suite: Suite, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = suite.problems[0]
    limits = small.manifest.limits.model_copy(update={"memory_mb": 65_536})
    large = replace(small, manifest=small.manifest.model_copy(update={"limits": limits, "id": "large"}))
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    ray_engine.connect_cluster()
    try:
        engine = ray_engine.RayCluster(suite, "reserved", "bwrap", {})
        assert engine.run(reserved, small, lambda _: Tree({})) == {"CPU": 1, "memory": 1 << 30}
        assert engine.run(reserved, large, lambda _: Tree({})) == {"CPU": 1, "memory": 2 << 30}
    finally:
        ray.shutdown()


def test_a_node_that_cannot_load_codegate_is_named_with_what_to_install(suite: Suite, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\n\nsys.modules['codegate'] = None\n")
    with closing(Cluster({"PYTHONPATH": str(tmp_path)})) as nodes:
        run = codegate(
            *arguments(suite, tmp_path / "r", "--engine", "ray"),
            cwd=tmp_path,
            environment={"RAY_ADDRESS": nodes.address},
        )
    assert run.code == 2, run.stderr
    assert f"cannot load codegate {__version__}: ModuleNotFoundError: " in run.stderr
    assert f"Install codegate-ci[ray]=={__version__} on every node." in run.stderr


def sandboxes_of(cluster: Cluster) -> list[str]:
    """Return the command lines of sandboxes whose parents are Ray's workers."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = process.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            words = process.joinpath("cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"bwrap") and b"ray::" in Path("/proc", parent, "cmdline").read_bytes():
                found.append(b" ".join(words).decode())
        except OSError:
            continue
    return found


def test_an_address_where_no_cluster_answers_is_named_at_once(suite: Suite, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    run = codegate(
        *arguments(suite, tmp_path / "r", "--engine", "ray"), cwd=tmp_path, environment={"RAY_ADDRESS": address}
    )
    assert run.code == 4, run.stderr
    assert f"no Ray cluster answers at {address}: Connection refused." in run.stderr
    assert "Set RAY_ADDRESS to HOST:6379" in run.stderr
