"""``codegate mine choose``, ``export`` and ``import``: smaller suites, suites for other tools, suites from theirs."""

from pathlib import Path

import click

from codegate.cli.options import FILE, FOLDER, json_option, repository_option, sandbox_option
from codegate.cli.output import emit, say
from codegate.errors import ExitCode
from codegate.mining import ImportFormat, MineRequest, import_proven, write_selection
from codegate.operations import read_recipe
from codegate.running import new_run_id, opened_backend
from codegate.sandbox import Choice
from codegate.suite import load_suite
from codegate.suite.exchange import ExportFormat, export_suite
from codegate.wording import count_of

_SHOWN = 10


@click.command("choose")
@click.argument("suite", type=FOLDER)
@click.option("--out", type=FOLDER, required=True, help="Folder of the smaller suite; a suite there is replaced.")
@click.option("--size", type=click.IntRange(min=1), required=True, help="How many problems: 10, 30 and 100 are usual.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random choices.")
@json_option
def choose_command(suite: Path, out: Path, size: int, seed: int) -> ExitCode:
    """Choose problems of SUITE in turns from its components, tiers and years, the freshest first."""
    chosen = write_selection(load_suite(suite), out, size, seed)
    fewer = f", all that {suite} has: fewer than {size}" if len(chosen.problems) < size else ""
    say(f"{out}: {count_of(len(chosen.problems), 'problem')}{fewer}")
    emit({"schema": "codegate.selection/1", "suite_digest": chosen.digest, "problems": chosen.manifest.problems})
    return ExitCode.PASS


@click.command("export")
@click.argument("suite", type=FOLDER)
@click.option("--format", "kind", type=click.Choice(["swe-bench", "harbor"]), required=True, help="What to write.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File of the rows, or folder of the tasks.")
@click.option("--slug", help="The repository as owner/name; default from its remote origin.")
@repository_option
@json_option
def export_command(suite: Path, kind: ExportFormat, out: Path, slug: str | None, repository: Path | None) -> ExitCode:
    """Write SUITE as SWE-bench rows or Harbor task folders; problems that are left out are named."""
    report = export_suite(load_suite(suite), out, kind, repository, slug)
    say(f"{out}: {count_of(len(report.ids), 'problem')}")
    for problem, reason in report.left_out.items():
        say(f"left out: {problem}: {reason}")
    emit({"schema": "codegate.export/1", "ids": report.ids, "left_out": report.left_out})
    return ExitCode.PASS


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice(["swe-bench", "humaneval", "harbor"]),
    required=True,
    help="What FILE holds: SWE-bench rows, HumanEval or MBPP tasks (humaneval), or Harbor task folders.",
)
@click.option("--out", type=FOLDER, required=True, help="Folder of the new suite.")
@click.option("--name", help="Name of the suite; default: the file's.")
@click.option("--config", type=FILE, help="Configuration with the recipe, `environment`; default: what is implied.")
@click.option("--rounds", type=click.IntRange(1, 20), default=3, show_default=True, help="Validation runs.")
@repository_option
@sandbox_option
@json_option
def import_command(
    file: Path,
    kind: ImportFormat,
    out: Path,
    name: str | None,
    config: Path | None,
    rounds: int,
    repository: Path | None,
    sandbox: Choice,
) -> ExitCode:
    """Make a suite of FILE. Rows are proven by execution first; HumanEval and MBPP tasks by `codegate validate`.

    Environments are built by the recipe of --config. Without one, base trees of rows say it; tasks get pytest, and
    numpy where a test imports it.

    Exits 0 when a suite was written, 2 when no row could be used.
    """
    recipe = read_recipe(Path(), config) if config is not None else None
    options = MineRequest(name=name, recipe=recipe, rounds=rounds)
    with opened_backend(sandbox, new_run_id()) as backend:
        report = import_proven(file, kind, out, options, backend, repository)
    say(f"{out}: {count_of(len(report.suite.problems), 'problem')}")
    for skipped in report.skipped[:_SHOWN]:
        say(skipped)
    if len(report.skipped) > _SHOWN:
        say(f"and {count_of(len(report.skipped) - _SHOWN, 'row')} more")
    for problem, rejected in report.rejected.items():
        say(f"{problem}: {rejected.reason}: {rejected.detail}")
    differing = [problem for problem, agreement in report.agreements.items() if agreement.exact is False]
    if differing:
        say(f"published and measured tests differ: {', '.join(differing)}")
    emit(
        {
            "schema": "codegate.import/1",
            "suite": report.suite.name,
            "suite_digest": report.suite.digest,
            "problems": [problem.id for problem in report.suite.problems],
            "skipped": report.skipped,
            "rejected": {problem: entry.reason for problem, entry in report.rejected.items()},
            "differing": differing,
        }
    )
    return ExitCode.PASS
