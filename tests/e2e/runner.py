"""Runs a docker action the way the runner does (actions/runner, ``ContainerActionHandler.cs``)."""

import os
import subprocess
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from tests.github.runner import Step, outputs


@dataclass
class Job:
    """One job on a runner: a workspace, a home and a folder of temporary files that its steps share."""

    image: str
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    socket: bool = True

    def __post_init__(self) -> None:
        for path in (self.workspace, self.home, self.workflow, self.file_commands):
            path.mkdir(parents=True, exist_ok=True)
        (self.workflow / "event.json").write_text("{}")

    @property
    def workspace(self) -> Path:
        return self.folder / "work" / "demo" / "demo"

    @property
    def home(self) -> Path:
        return self.folder / "_temp" / "_github_home"

    @property
    def workflow(self) -> Path:
        return self.folder / "_temp" / "_github_workflow"

    @property
    def file_commands(self) -> Path:
        return self.folder / "_temp" / "_runner_file_commands"

    def start(self, inputs: dict[str, str], entrypoint: str | None = None) -> "RunningStep":
        """Start a step; every declared input is set by the runner, these are the ones that were given.

        ``entrypoint`` is that of the container after the job.
        """
        name = f"codegate-e2e-{uuid.uuid4().hex[:12]}"
        for kind in ("set_output", "step_summary", "set_env", "add_path", "save_state"):
            (self.file_commands / f"{kind}_{name}").touch()
        values = {
            **self.environment,
            **{f"INPUT_{key.upper()}": value for key, value in inputs.items()},
            "HOME": "/github/home",
            "GITHUB_ACTIONS": "true",
            "CI": "true",
            "GITHUB_WORKSPACE": "/github/workspace",
            "GITHUB_EVENT_PATH": "/github/workflow/event.json",
            "GITHUB_EVENT_NAME": "push",
            "GITHUB_REPOSITORY": "acme/demo",
            "GITHUB_SHA": "c" * 40,
            "GITHUB_RUN_ID": "1",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_JOB": "gate",
            "RUNNER_NAME": "e2e",
            "GITHUB_OUTPUT": f"/github/file_commands/set_output_{name}",
            "GITHUB_STEP_SUMMARY": f"/github/file_commands/step_summary_{name}",
            "GITHUB_ENV": f"/github/file_commands/set_env_{name}",
            "GITHUB_PATH": f"/github/file_commands/add_path_{name}",
            "GITHUB_STATE": f"/github/file_commands/save_state_{name}",
            "RUNNER_TEMP": "/github/runner_temp",
            "RUNNER_OS": "Linux",
        }
        mounts = {
            str(self.folder / "_temp"): "/github/runner_temp",
            str(self.home): "/github/home",
            str(self.workflow): "/github/workflow",
            str(self.file_commands): "/github/file_commands",
            str(self.workspace): "/github/workspace",
        }
        if self.socket:
            mounts["/var/run/docker.sock"] = "/var/run/docker.sock"
        # Not the runner's doing: the package index is reached through whatever this machine trusts.
        certificates = os.environ.get("SSL_CERT_FILE")
        if certificates and Path(certificates).is_file():
            values["SSL_CERT_FILE"] = "/etc/ssl/certs/of-the-host.crt"
            mounts[certificates] = "/etc/ssl/certs/of-the-host.crt:ro"
        process = subprocess.Popen(
            [
                "docker", "run", "--name", name, "--label", "codegate-e2e", "--workdir", "/github/workspace", "--rm",
                *(word for key in values for word in ("-e", key)),
                *(word for source, target in mounts.items() for word in ("-v", f"{source}:{target}")),
                *(() if entrypoint is None else ("--entrypoint", entrypoint)),
                self.image,
            ],
            env={**os.environ, **values},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        return RunningStep(self, name, process)

    def step(self, inputs: dict[str, str]) -> Step:
        """Run a step to its end."""
        return self.start(inputs).finish()


@dataclass
class RunningStep:
    """A step under way."""

    job: Job
    name: str
    process: "subprocess.Popen[str]"

    def finish(self, seconds: float = 280) -> Step:
        """Wait, and read what the runner reads."""
        try:
            out, errors = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            subprocess.run(["docker", "rm", "--force", self.name], capture_output=True, check=False)
            self.process.communicate()
            raise
        written = {path.name.removesuffix(f"_{self.name}"): path for path in self.job.file_commands.iterdir()}
        for kind in ("set_env", "add_path", "save_state"):
            assert written[kind].read_bytes() == b""
        return Step(
            self.process.returncode,
            out + errors,
            outputs(written["set_output"].read_bytes()),
            written["step_summary"].read_text(),
        )

    def cancel(self, signal: str = "INT") -> None:
        """Send what the runner sends first when a job is cancelled, or another signal."""
        subprocess.run(["docker", "kill", "--signal", signal, self.name], check=True, capture_output=True)
