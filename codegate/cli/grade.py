"""``codegate grade``: grade the patches of a predictions file."""

import threading
from typing import Annotated

from codegate.cli.options import Jobs, Sandbox, SuiteFolder, as_command
from codegate.cli.output import json_wanted, say, write
from codegate.errors import ExitCode
from codegate.operations.requests import Repository
from codegate.reporting import one_line
from codegate.running import interruptible, new_run_id, opened_backend
from codegate.running.predictions import grade_predictions
from codegate.strict import File
from codegate.suite import load_suite
from codegate.suite.exchange import predictions_for


@as_command(json="Print one outcome per line on stdout.")
def command(
    suite: SuiteFolder,
    predictions: Annotated[File, "JSON Lines or JSON in SWE-bench's predictions format."],
    jobs: Jobs = 2,
    repository: Repository = None,
    sandbox: Sandbox = "auto",
) -> ExitCode:
    """Grade the patches in --predictions on SUITE.

    Exits 0 if every patch got a grade, 4 if one could not be graded.
    """
    loaded = load_suite(suite)
    read = predictions_for(loaded, predictions)
    stop = threading.Event()
    graded, solved = 0, 0
    with opened_backend(sandbox, new_run_id()) as backend, interruptible(stop, backend):
        outcomes = grade_predictions(loaded, read, backend, sandboxes=jobs, repository=repository, stop=stop)
        for outcome in outcomes:
            graded += outcome.grade is not None
            solved += bool(outcome.grade and outcome.grade.resolved)
            if json_wanted():
                write(outcome.line())
            say(f"{one_line(outcome.candidate)}: {outcome.problem} {outcome.words()}")
    say(f"{solved} of {graded} graded patches solve their problem")
    return ExitCode.PASS if graded == len(read) else ExitCode.INFRASTRUCTURE
