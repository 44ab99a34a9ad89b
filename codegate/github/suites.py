"""Modes ``mine`` and ``validate``: a suite from the checked-out history, and its proof."""

import shutil
from pathlib import Path

from codegate import operations
from codegate.errors import ExitCode
from codegate.github.inputs import Inputs, inside
from codegate.github.project import project_of
from codegate.github.step import Result
from codegate.github.workflow import StepLog
from codegate.mining import MineOptions
from codegate.sandbox import cache_folder
from codegate.suite import PROVED


def mine_step(inputs: Inputs, step: StepLog) -> Result:
    """Mine the workspace's history into the folder that the input ``suite`` names, or into the reports' folder.

    Raises:
        CodegateError: as ``operations.mine``.
    """
    suite = inside(inputs.workspace, inputs.suite, "input `suite`") if inputs.suite else inputs.reports / "suite"
    options = MineOptions(concurrency=inputs.jobs or 2, memory=cache_folder() / "mining")
    report = operations.mine(
        inputs.workspace,
        suite,
        options,
        lambda event: step.log(f"[{event.done}/{event.total}] {event.accepted} problems; {event.message}"),
        sandbox="docker",
    )
    for line in operations.mining_words(report):
        step.log(line)
    return _result(ExitCode.PASS if report.problems else ExitCode.INCONCLUSIVE, suite, inputs, "mined")


def validate_step(inputs: Inputs, base: str | None, scratch: Path, step: StepLog) -> Result:
    """Prove again that every problem of the suite is sound.

    Raises:
        CodegateError: as ``operations.validate``.
    """
    suite = project_of(inputs, base, scratch, asks=False).suite
    report = operations.validate(
        suite, inputs.workspace, lambda proof: step.log(operations.proof_words(proof)), sandbox="docker"
    )
    for line in operations.validation_words(report):
        step.log(line)
    if (suite / PROVED).is_file():  # to be committed: runs in other sandboxes are comparable by it
        inputs.reports.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(suite / PROVED, inputs.reports / PROVED)
    code = ExitCode.PASS if report.proven else ExitCode.INCONCLUSIVE
    return _result(ExitCode.INFRASTRUCTURE if report.faults else code, suite, inputs, "validated")


def _result(code: ExitCode, suite: Path, inputs: Inputs, word: str) -> Result:
    found = suite.relative_to(inputs.workspace).as_posix() if suite.is_relative_to(inputs.workspace) else ""
    kind = {ExitCode.PASS: "pass", ExitCode.INFRASTRUCTURE: "infrastructure"}.get(code, "error")
    return Result(code, {"suite-path": found, "verdict": kind}, f"## codegate: suite {word}\n\nThe log says more.\n")
