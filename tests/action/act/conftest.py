"""What every workflow needs, made once: the runner's image, the action's, and act itself."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codegate.sandbox.docker import DockerBackend
from tests.action.act.harness import ACTION_IMAGE, JOB_IMAGE, Act, copy_of_the_action, sweep
from tests.action.act.repository import BRANCH, Repository, make_repository, pin_baseline
from tests.conftest import unavailable
from tests.kit.github import FakeGitHub, fake_github
from tests.kit.repository import run_git as git

_ACTIONS = Path(__file__).parent / "actions"
_BASE = "python:3.11-slim-bookworm"
_DOCKERFILE = f"""\
FROM {_BASE}
COPY node /usr/local/bin/node
COPY node_modules /opt/artifact-actions/node_modules
"""


def _required(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        unavailable("DOCKER", f"there is no {program}, which the artifact actions run on")
    return str(path)


def _checked(*words: str, cwd: Path) -> None:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


@pytest.fixture(scope="session")
def runner_image(docker_backend: DockerBackend, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image that jobs run in. It stays for the next time: its name is the digest of what it is made of."""
    node, npm = Path(_required("node")).resolve(), _required("npm")
    parts = ((_ACTIONS / "package-lock.json").read_bytes(), node.read_bytes(), _DOCKERFILE.encode())
    name = f"{JOB_IMAGE}:{hashlib.sha256(b''.join(map(_digest, parts))).hexdigest()[:16]}"
    if subprocess.run(["docker", "image", "inspect", name], capture_output=True, check=False).returncode == 0:
        return name
    folder = tmp_path_factory.mktemp("runner")
    for file in ("package.json", "package-lock.json"):
        shutil.copyfile(_ACTIONS / file, folder / file)
    shutil.copyfile(node, folder / "node")
    (folder / "node").chmod(0o755)
    (folder / "Dockerfile").write_text(_DOCKERFILE)
    _checked(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
    _checked("docker", "build", "--tag", name, ".", cwd=folder)
    return name


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


@pytest.fixture(scope="session")
def action(docker_backend: DockerBackend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The action, its image built once so that the builds in act find every layer, and that a fault is readable."""
    folder = copy_of_the_action(tmp_path_factory.mktemp("action"))
    _checked("docker", "build", "--tag", ACTION_IMAGE, ".", cwd=folder)
    yield folder
    # The layers stay: they are the cache of the next build.
    subprocess.run(["docker", "image", "rm", "--no-prune", ACTION_IMAGE], capture_output=True, check=False)


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    """A GitHub with the repository's pull request; the token may do what the workflow says that it may."""
    with fake_github() as fake:
        yield fake


@pytest.fixture
def act(runner_image: str, action: Path, github: FakeGitHub, tmp_path: Path) -> Iterator[Act]:
    """act, without the leftovers of what ran before, and without leaving any."""
    if not Path(sys.executable).with_name("act").exists():
        pytest.fail("act is missing; `make test-action` installs it")
    sweep()
    yield Act(tmp_path / "act", runner_image, action, {"GITHUB_API_URL": github.api_url}, github).as_run(1)
    sweep()


@pytest.fixture(scope="session")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with a pinned baseline."""
    made = make_repository(tmp_path_factory.mktemp("origin") / "demo")
    pin_baseline(made)
    return made


@pytest.fixture
def repository(origin: Repository, tmp_path: Path) -> Repository:
    """A clone of it, on a branch."""
    folder = tmp_path / "demo"
    git(tmp_path, "clone", "--quiet", str(origin.folder), str(folder))
    git(folder, "remote", "set-url", "origin", "https://github.com/acme/demo.git")
    git(folder, "switch", "--quiet", "--create", BRANCH)
    return Repository(folder)
