"""``codegate validate``: every problem proven again."""

from datetime import UTC, datetime
from pathlib import Path

import click

from codegate.cli.options import FOLDER, jobs_option, json_option, repository_option, sandbox_option
from codegate.cli.output import emit, note, say
from codegate.errors import ExitCode
from codegate.mining import Proof, ValidationReport, validate_suite
from codegate.running import check_images, new_run_id, opened_backend
from codegate.sandbox import Choice
from codegate.suite import load_suite, place_words, proved_places

_LONGEST = 400


@click.command()
@click.argument("suite", type=FOLDER)
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True, help="Runs of each state.")
@jobs_option
@repository_option
@sandbox_option
@json_option
def command(suite: Path, rounds: int, jobs: int, repository: Path | None, sandbox: Choice, as_json: bool) -> ExitCode:
    """Prove that on every problem of SUITE the reference fix passes and no change fails.

    What is flaky or fails is quarantined in the suite's files. A problem whose quarantine has expired is released when
    it is proven, and quarantined anew when not. Where the suite was proved is written to its proved.json: runs in two
    sandboxes can be compared when it is proved in both. Exits 0 when all is proven, 3 when something was quarantined, 4
    when something could not be run.
    """
    loaded = load_suite(suite)
    check_images(loaded)

    def show(proof: Proof) -> None:
        reason = proof.quarantine
        result = "proven" if reason is None else f"quarantined: {reason.reason}: {reason.evidence}"
        note(f"{proof.problem}: {' '.join(result.split())[:_LONGEST]}")

    with opened_backend(sandbox, new_run_id()) as backend:
        report = validate_suite(loaded, repository, backend, rounds, show, jobs)
    for name, fault in report.faults.items():
        say(f"{name}: could not be run: {fault}", as_json=as_json)
    for name in report.released:
        say(f"{name}: released, its quarantine has expired and the proof holds", as_json=as_json)
    today = datetime.now(UTC).date()
    for problem in report.suite.problems:
        if due := problem.tests.expired(today):
            more = f" and {len(due) - 1} more" if due[1:] else ""
            say(
                f"{problem.id}: quarantine has expired for {due[0]}{more}. To grade a test again, move it to "
                "FAIL_TO_PASS or PASS_TO_PASS in tests.json and validate.",
                as_json=as_json,
            )
    proven = sum(proof.proven for proof in report.proofs)
    say(
        f"{proven} of {len(loaded.problems)} problems proven, {rounds} times each, in {report.seconds:.0f} s",
        as_json=as_json,
    )
    here, others = _places(report)
    for line in _place_lines(here, others):
        say(line, as_json=as_json)
    if as_json:
        emit(
            {
                "schema": "codegate.validation/1",
                "suite": loaded.name,
                "suite_digest": report.suite.digest,
                "rounds": rounds,
                "proven": [proof.problem for proof in report.proofs if proof.proven],
                "quarantined": list(report.quarantined),
                "released": list(report.released),
                "faults": report.faults,
                "place": here,
                "comparable": [place for place, alike in others if alike],
            }
        )
    if report.faults:
        return ExitCode.INFRASTRUCTURE
    return ExitCode.PASS if report.proven else ExitCode.INCONCLUSIVE


def _places(report: ValidationReport) -> tuple[dict[str, str] | None, list[tuple[dict[str, str], bool]]]:
    """Return where the suite was proved now, and where before: whether runs there and here can be compared."""
    if report.proved is None:
        return None, []
    here = report.proved.place
    alike = proved_places(report.suite, here)
    return here, [
        (one.place, any(one.place.items() <= place.items() for place in alike))
        for one in report.suite.proved
        if one.place != here
    ]


def _place_lines(here: dict[str, str] | None, others: list[tuple[dict[str, str], bool]]) -> list[str]:
    if here is None:
        return []
    lines = [f"proved in {place_words(here)}"]
    for place, alike in others:
        verb = "can be compared" if alike else "cannot be compared (other packages or other proven problems)"
        lines.append(f"  runs there and in {place_words(place)} {verb}")
    return lines
