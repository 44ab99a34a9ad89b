"""Runs workflows in act, offline: every flag here keeps it from a network, from a question or from this user's files.

What a green run here does not show, because act does not do it: permissions, concurrency, environments, the limits of
summaries and annotations, and the runner's own paths and signals (tests/e2e/runner.py shows those).
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import yaml

from tests.kit.github import FakeGitHub, Token
from tests.kit.github.artifacts import Artifacts, Run
from tests.kit.github.content import Content

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = ROOT / ".github" / "workflow-templates"
REPOSITORY = "acme/demo"
ACTION = "codegate-ci/codegate@0123456789abcdef0123456789abcdef01234567"
JOB_IMAGE, ACTION_IMAGE = "codegate-act-runner", f"act-{re.sub('[/@]', '-', ACTION)}-dockeraction"
# Shorter ones would be masked all over the log.
TOKEN = "ghs_faketoken0123456789abcdefghijklmnop"

# What stands in for the two below. A folder with builds of the real ones can take its place.
_ACTIONS = Path(os.environ.get("CODEGATE_ACTIONS") or Path(__file__).parent / "actions")

_UPLOAD = "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f"
_DOWNLOAD = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c"


@dataclass(frozen=True)
class Ran:
    """What is left of a workflow."""

    code: int
    log: str
    lines: tuple[dict[str, Any], ...]

    def outputs(self, step: str, job: str | None = None) -> dict[str, str]:
        """Return the outputs of the step with that id, in the job with that id or in any."""
        return {
            line["name"]: line["arg"]
            for line in self.lines
            if line.get("command") == "set-output"
            and line.get("stepID") == [step]
            and (job is None or line["jobID"] == job)
        }

    def result(self, job: str) -> str:
        """Return the result of the job with that id: success, failure, or nothing where it did not run."""
        found = [line["jobResult"] for line in self.lines if line["jobID"] == job and "jobResult" in line]
        return str(found[-1]) if found else ""


@dataclass(frozen=True)
class Act:
    """act with a home of its own.

    Attributes:
        folder: everything that act writes on the host goes here.
        runner: image of the jobs: git, bash, node and the official artifact client.
        action: copy of what the runner would fetch of our repository.
        environment: what the runner tells every step: the API of the fake GitHub and its artifact service.
        github: the fake.
        number: of the run.
    """

    folder: Path
    runner: str
    action: Path
    environment: dict[str, str]
    github: FakeGitHub
    number: int = 1

    def as_run(self, number: int) -> "Act":
        """Return act as another run of GitHub's; act itself numbers every run 1."""
        runtime = self.github.store(Artifacts).runtime(self.github, Run(number))
        return replace(self, environment={**self.environment, **runtime}, number=number)

    def run(
        self,
        repository: Path,
        workflow: str,
        event: str,
        payload: Mapping[str, Any],
        *,
        secrets: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        read_only: bool = False,
    ) -> Ran:
        """Run a workflow of ``repository`` to its end, and read what act says of it.

        Args:
            repository: a checkout with at least one commit.
            workflow: file name in its ``.github/workflows``.
            event: name of the event.
            payload: the event's document.
            secrets: what the workflow finds in ``secrets``, besides its token; a fork's run gets none.
            environment: of every step, besides ``Act.environment``.
            read_only: the token is that of a run for a fork.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        _publish(self.github.store(Content), repository)
        path = Path(".github", "workflows", workflow)
        head = _git(repository, "rev-parse", "HEAD").decode().strip()
        self.github.store(Artifacts).runs[self.number] = Run(self.number, event, str(path), head_sha=head)
        self.github.tokens[TOKEN] = Token(_permissions(repository / path, read_only=read_only))
        event_file = self.folder / "event.json"
        event_file.write_text(json.dumps(payload))
        values = {"GITHUB_TOKEN": TOKEN, **(secrets or {})}
        # act does not say which workflow it is at.
        reference = {"GITHUB_WORKFLOW_REF": f"{REPOSITORY}/{path}@refs/heads/main"}
        variables = {**self.environment, **reference, **(environment or {})}
        if not (self.folder / "actions").exists():
            shutil.copytree(_ACTIONS, self.folder / "actions", ignore=shutil.ignore_patterns("node_modules"))
        stand_ins = {
            ACTION: self.action,
            _UPLOAD: self.folder / "actions" / "upload",
            _DOWNLOAD: self.folder / "actions" / "download",
        }
        program = Path(sys.executable).with_name("act")
        process = subprocess.Popen(
            [
                str(program), event, "--json",
                "--workflows", str(path), "--eventpath", str(event_file),
                "--platform", f"ubuntu-24.04={self.runner}", "--pull=false", "--action-offline-mode",
                "--no-cache-server", "--container-daemon-socket", "unix:///var/run/docker.sock", "--rm",
                "--use-new-action-cache", "--action-cache-path", str(self.folder / "cache"),
                *(f"--local-repository={name}={path}" for name, path in stand_ins.items()),
                *(word for name, value in values.items() for word in ("--secret", f"{name}={value}")),
                *(word for name, value in variables.items() for word in ("--env", f"{name}={value}")),
            ],
            cwd=repository,
            # act hands the first two from its own environment to every step.
            env={
                "PATH": os.environ["PATH"],
                **{name: value for name, value in variables.items() if name.startswith("ACTIONS_RUNTIME_")},
                "HOME": str(self.folder / "home"),
                "XDG_CONFIG_HOME": str(self.folder / "home" / "config"),
                "XDG_CACHE_HOME": str(self.folder / "home" / "cache"),
                **{name: value for name, value in os.environ.items() if name == "DOCKER_HOST"},
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            log, _ = process.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            log, _ = process.communicate()
            raise AssertionError(f"act took more than 600 s:\n{log[-5000:]}") from None
        lines = [{"jobID": "", **json.loads(line)} for line in log.splitlines() if line.startswith("{")]
        rest = [line for line in log.splitlines() if not line.startswith("{")]
        words = [f"[{line['jobID']}] {str(line.get('msg')).rstrip()}" for line in lines]
        return Ran(process.returncode, "\n".join([*words, *rest]), tuple(lines))


def _permissions(workflow: Path, *, read_only: bool) -> frozenset[str]:
    """Return what the jobs of a workflow may do, which the fake enforces and act does not."""
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    levels = {(name, level) for job in jobs for name, level in job["permissions"].items()}
    return frozenset(f"{name}: {'read' if read_only else level}" for name, level in levels)


def _publish(content: Content, repository: Path) -> None:
    """Let the fake have the commit that pull requests are merged into, as GitHub has it."""
    commit = _git(repository, "rev-parse", "main").decode().strip()
    names = _git(repository, "ls-tree", "-r", "--name-only", "-z", commit).decode().split("\0")[:-1]
    content.commits[commit] = {name: _git(repository, "show", f"{commit}:{name}") for name in names}


def _git(repository: Path, *words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=repository, capture_output=True, check=True).stdout


def copy_of_the_action(target: Path) -> Path:
    """Copy what the runner would have of our repository after .dockerignore, which act does not read."""
    for name in ("action.yml", "Dockerfile", "LICENSE", ".ci/requirements-image.lock"):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target / name)
    shutil.copytree(ROOT / "codegate", target / "codegate", ignore=shutil.ignore_patterns("__pycache__"))
    return target


def sweep() -> None:
    """Remove what act leaves where it was stopped: its containers and their volumes, called codegate-something."""
    listed = ["docker", "ps", "--all", "--filter", "name=^act-codegate-", "--format", "{{.Names}}"]
    if names := subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split():
        subprocess.run(["docker", "rm", "--force", "--volumes", *names], capture_output=True, check=False)
    listed = ["docker", "volume", "ls", "--filter", "name=^act-codegate-", "--format", "{{.Name}}"]
    if volumes := subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split():
        subprocess.run(["docker", "volume", "rm", "--force", *volumes], capture_output=True, check=False)


def uploaded(github: FakeGitHub) -> dict[str, ZipFile]:
    """Return every artifact by its name; the service has checked its size and digest."""
    return {stored.name: ZipFile(BytesIO(stored.data)) for stored in github.store(Artifacts).stored.values()}
