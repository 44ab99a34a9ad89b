"""Modes ``mine`` and ``validate``: a suite from the checked-out history, and its proof."""

import shutil
from pathlib import Path

from codegate.errors import ExitCode
from codegate.github.commands import Command
from codegate.github.inputs import Inputs, inside
from codegate.github.project import project_of
from codegate.github.step import Result
from codegate.suite import PROVED


def mine_step(inputs: Inputs, command: Command) -> Result:
    """Mine the workspace's history into the folder that the input ``suite`` names, or into the reports' folder.

    Raises:
        CodegateError: as ``codegate mine``.
    """
    suite = inside(inputs.workspace, inputs.suite, "input `suite`") if inputs.suite else inputs.reports / "suite"
    jobs = ("--jobs", str(inputs.jobs)) if inputs.jobs else ()
    done = command(["mine", str(inputs.workspace), "--out", str(suite), "--sandbox", "docker", *jobs])
    return _result(done.code, suite, inputs, "mined")


def validate_step(inputs: Inputs, base: str | None, scratch: Path, command: Command) -> Result:
    """Prove again that every problem of the suite is sound.

    Raises:
        CodegateError: as ``codegate validate``.
    """
    suite = project_of(inputs, base, scratch, asks=False).suite
    done = command(["validate", str(suite), "--repository", str(inputs.workspace), "--sandbox", "docker"])
    if (suite / PROVED).is_file():  # to be committed: runs in other sandboxes are comparable by it
        inputs.reports.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(suite / PROVED, inputs.reports / PROVED)
    return _result(done.code, suite, inputs, "validated")


def _result(code: ExitCode, suite: Path, inputs: Inputs, word: str) -> Result:
    found = suite.relative_to(inputs.workspace).as_posix() if suite.is_relative_to(inputs.workspace) else ""
    kind = {ExitCode.PASS: "pass", ExitCode.INFRASTRUCTURE: "infrastructure"}.get(code, "error")
    return Result(code, {"suite-path": found, "verdict": kind}, f"## codegate: suite {word}\n\nThe log says more.\n")
