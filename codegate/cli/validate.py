"""``codegate validate``: prove every problem of a suite again."""

from typing import Annotated

from pydantic import Field

from codegate.cli.options import Jobs, Sandbox, SuiteFolder, as_command
from codegate.cli.output import emit, note, say
from codegate.cli.progress import waiting_progress
from codegate.errors import ExitCode
from codegate.operations.requests import Repository
from codegate.operations.suites import comparable_places, proof_words, validate, validation_words


@as_command()
def command(
    suite: SuiteFolder,
    rounds: Annotated[int, Field(ge=1, le=100), "Runs of each state."] = 3,
    jobs: Jobs = 2,
    repository: Repository = None,
    sandbox: Sandbox = "auto",
) -> ExitCode:
    """Prove by execution that every problem of SUITE is sound.

    In a sound problem the reference fix passes and the unchanged tree fails. A problem that is flaky or fails is
    quarantined in the suite's files. A problem whose quarantine has expired is released if it is proven, else
    quarantined again. The sandbox in which the suite was proved is written to its proved.json: runs in two sandboxes
    can be compared if the suite is proved in both. Exits 0 if all is proven, 3 if a problem was quarantined, 4 if one
    could not be run.
    """
    with waiting_progress() as waiting:
        report = validate(
            suite, repository, lambda proof: note(proof_words(proof)), sandbox=sandbox, rounds=rounds, jobs=jobs,
            waiting=waiting,
        )  # fmt: skip
    say(*validation_words(report))
    emit(
        {
            "schema": "codegate.validation/1",
            "suite": report.suite.name,
            "suite_digest": report.suite.digest,
            "rounds": rounds,
            "proven": [proof.problem for proof in report.proofs if proof.proven],
            "quarantined": list(report.quarantined),
            "released": list(report.released),
            "faults": report.faults,
            "place": report.proved.place if report.proved is not None else None,
            "comparable": [place for place, alike in comparable_places(report) if alike],
        }
    )
    if report.faults:
        return ExitCode.INFRASTRUCTURE
    return ExitCode.PASS if report.proven else ExitCode.INCONCLUSIVE
