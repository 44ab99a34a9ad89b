"""What the end-to-end tests share, because it is slow: demos, run once, and the action's image, built once."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from codegate.sandbox.docker import DockerBackend
from tests.running import world

ROOT = Path(__file__).resolve().parents[2]
# The demo with one of its problems, set up as its project says; that a recipe is found is what other minings show.
SHORT = """
from functools import partial
from codegate.cli import demo
from codegate.environments import Recipe
from codegate.suite import git

unpack, recipe = demo._unpack, Recipe(setup=("uv pip install pytest",), tests="python -m pytest")

def shortened(repository):
    unpack(repository)
    commit = git(repository, "rev-parse", "main~67").decode().strip()
    demo.MineRequest = partial(demo.MineRequest, only=commit, recipe=recipe)

demo._unpack = shortened
"""


@dataclass(frozen=True)
class Demo:
    """A finished ``codegate demo``."""

    code: int | None
    out: str
    errors: str
    folder: Path


def codegate(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run the installed command."""
    command = (str(Path(sys.executable).with_name("codegate")), *words)
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=1500)


_DEMO = ("demo", "--out", "demo", "--sandbox", "bwrap")  # with Docker it takes longer


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo of one of its problems, in a fresh folder."""
    home = tmp_path_factory.mktemp("demo")
    done = world.codegate(*_DEMO, cwd=home, before=SHORT)
    return Demo(done.code, done.stdout, done.stderr, home / "demo")


@pytest.fixture(scope="session")
def whole_demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo, in a fresh folder; a part of its suite is run with Docker too."""
    home = tmp_path_factory.mktemp("demo")
    done = codegate(*_DEMO, cwd=home)
    return Demo(done.returncode, done.stdout, done.stderr, home / "demo")


@pytest.fixture(scope="session")
def image(docker_backend: DockerBackend) -> Iterator[str]:
    """The action's image, built as the runner builds it."""
    tag = f"codegate-e2e:{uuid.uuid4().hex}"
    done = subprocess.run(
        ["docker", "build", "-t", tag, "-f", str(ROOT / "Dockerfile"), str(ROOT)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ},
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    yield tag
    # The layers stay: they are the cache of the next build.
    subprocess.run(["docker", "image", "rm", "--no-prune", tag], capture_output=True, check=False)
