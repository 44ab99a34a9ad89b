"""``codegate validate``: every problem proven again."""

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

    A flaky or failing test or problem is quarantined in the suite's files. Where the suite was proved is written to its
    proved.json: runs in two sandboxes can be compared when it is proved in both. Exits 0 when all is proven, 3 when
    something was quarantined, 4 when something could not be run.
    """
    loaded = load_suite(suite)
    check_images(loaded)

    def show(proof: Proof) -> None:
        reason = proof.quarantine
        said = "proven" if reason is None else f"quarantined: {reason.reason}: {reason.evidence}"
        note(f"{proof.problem}: {' '.join(said.split())[:_LONGEST]}")

    with opened_backend(sandbox, new_run_id()) as backend:
        report = validate_suite(loaded, repository, backend, rounds, show, jobs)
    for problem, fault in report.faults.items():
        say(f"{problem}: could not be run: {fault}", as_json=as_json)
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
