"""``codegate mine``: make a suite of past bug fixes."""

import re
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final

import click
from pydantic import Field

from codegate.cli.options import Argument, Sandbox, SuiteFolder, as_command
from codegate.cli.output import emit, say
from codegate.cli.progress import mine_progress
from codegate.errors import ExitCode, UsageError, interrupted_as
from codegate.gating.pinning import BASELINE_SAMPLES
from codegate.host_program import without_credentials
from codegate.mining import (
    Distribution,
    ImportFormat,
    MineReport,
    MineRequest,
    Strengths,
    assess,
    fetch_pull_heads,
    import_proven,
    read_summary,
    stopped_words,
    write_selection,
)
from codegate.mining.report import funnel_text
from codegate.operations.plan import usual_power
from codegate.operations.requests import Repository
from codegate.operations.suites import mine, mining_words, read_recipe
from codegate.reporting import bug, one_line
from codegate.running import CONFIG_NAME, new_run_id, opened_backend, origin_of
from codegate.running.config import config_file, load_config
from codegate.sandbox import cache_folder
from codegate.strict import File, Folder
from codegate.suite import load_suite
from codegate.suite.exchange import export_suite
from codegate.wording import count_of, documentation, join_first

_STRICT_ROUNDS: Final = 5
_SHOWN: Final = 10
_LONGEST: Final = 8
_ADDRESS: Final = re.compile(r"[a-z][a-z+]*://|[\w.-]+@[\w.-]+:")


class _MineGroup(click.Group):
    """The group ``mine``, which runs ``history`` by default."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in self.commands:
            named = bool(args) and not args[0].startswith("-") and not Path(args[0]).exists()
            near = get_close_matches(args[0], self.commands, 1, 0.7) if named else []
            if near:
                raise UsageError(
                    f"{args[0]} is neither a folder nor a command of `codegate mine`.", f"Did you mean {near[0]}?"
                )
            args = ["history", *args]
        return super().parse_args(ctx, args)


class _History(click.Command):
    def make_context(
        self,
        info_name: str | None,  # noqa: ARG002  nobody types it, so messages leave it out
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Return a context whose messages leave out the name ``history``."""
        return super().make_context(None, args, parent, **extra)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        parent = ctx.parent or ctx
        formatter.write_usage(parent.command_path, " ".join(self.collect_usage_pieces(ctx)))


class _Clone(click.Path):
    """A parameter that is the folder of a clone.

    If the value is an address, the error names the command that clones the repository.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and _ADDRESS.match(value):
            address = without_credentials(value.encode()).decode()
            name = address.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2]
            raise UsageError(
                f"{address} is an address, and only a clone on this machine can be mined.",
                f"Clone it with its whole history, and mine that:\n"
                f"git clone {shlex.quote(address)} && codegate mine {shlex.quote(name)}",
            )
        return super().convert(value, param, ctx)


@click.group(cls=_MineGroup)
def command() -> None:
    """Mine a suite from a repository's past bug fixes."""


@as_command(
    command,
    "history",
    cls=_History,
    epilog="Also: `codegate mine report SUITE` says what a suite is worth, `codegate mine choose SUITE` makes a "
    "smaller one of it, `codegate mine export SUITE` and `codegate mine import FILE` exchange it with other tools. A "
    "repository in a folder of one of these names is written ./report.",
)
@click.argument("repository", type=_Clone(path_type=Path, file_okay=False))
def history(
    repository: Path,
    out: Annotated[Folder, "Folder of the suite; a suite there is replaced."] = Path("suites/mine"),
    pull_requests: Annotated[bool, "Fetch the heads of pull requests from origin first, by git."] = False,
    *,
    request: MineRequest,
    strict: Annotated[bool, f"Validate {_STRICT_ROUNDS} times, with other clocks and time zones too."] = False,
    profile: Annotated[bool, "Print test runs and seconds of each step, after the mining."] = False,
) -> ExitCode:
    """Mine a suite of proven problems from REPOSITORY's history.

    REPOSITORY is a local clone. The result of each change is recorded: after an interrupt the same command continues,
    without --fresh. Exits 0 if at least one problem was found, else 3.
    """
    rounds = max(request.rounds, _STRICT_ROUNDS) if strict else request.rounds
    request = request.model_copy(update={"rounds": rounds, "memory": cache_folder() / "mining"})
    if pull_requests:
        with interrupted_as(stopped_words(out)):
            say(f"{count_of(fetch_pull_heads(repository), 'head')} of pull requests")
    before = read_summary(out) or {}
    with mine_progress() as progress:
        report = mine(repository, out, request, progress)
    say(*mining_words(report))
    if profile:
        say(*report.profile.lines())
    if report.suite is not None and report.suite.digest == before.get("suite_digest"):
        say("the suite is the one that was there before")
    elif report.suite is not None and report.suite.active:
        power = usual_power(report.suite)
        say(*(f"gate: {line}" for line in power.sentences()))
        if not Path("codegate.lock").exists():
            say(*next_steps(report, few=bool(power.too_few_words())))
    emit(report.summary())
    return ExitCode.PASS if report.problems else ExitCode.INCONCLUSIVE


def next_steps(report: MineReport, *, few: bool) -> Iterator[str]:
    """Yield what to do with a mined suite.

    ``few``: the suite has too few problems for a gate to pass.
    """
    suite = shlex.quote(str(report.out))
    if few and report.untried:
        yield "Next: the same command with a larger --budget-minutes or --max-problems"
    elif few:
        yield f"Next: mine more problems: {documentation('mining.md#when-little-comes-out')}"
    else:
        baseline = f"run {suite} --no-gate --samples {BASELINE_SAMPLES} --out runs/pinned"
        yield f"Next: codegate review {suite}"
        yield f"Then: codegate {baseline if Path(CONFIG_NAME).exists() else 'init'}"


@as_command(command, "choose")
def choose_command(
    suite: SuiteFolder,
    out: Annotated[Folder, "Folder of the smaller suite; a suite there is replaced."],
    size: Annotated[int, Field(ge=1), "How many problems: 10, 30 and 100 are usual."],
    seed: Annotated[int, "Seed of the random choices."] = 0,
) -> None:
    """Choose problems of SUITE for a smaller suite.

    They are taken in turn from its components, tiers and years, the newest first.
    """
    chosen = write_selection(load_suite(suite), out, size, seed)
    fewer = f", all that {suite} has: fewer than {size}" if len(chosen.problems) < size else ""
    say(f"{out}: {count_of(len(chosen.problems), 'problem')}{fewer}")
    emit({"schema": "codegate.selection/1", "suite_digest": chosen.digest, "problems": chosen.manifest.problems})


@as_command(command, "export")
def export_command(
    suite: SuiteFolder,
    out: Annotated[Path, "File of the rows."],
    slug: Annotated[str | None, "The repository as owner/name; default from its remote origin."] = None,
    repository: Repository = None,
) -> None:
    """Write SUITE as SWE-bench rows.

    The command names the problems that are left out.
    """
    report = export_suite(load_suite(suite), out, repository, slug)
    say(f"{out}: {count_of(len(report.ids), 'problem')}")
    for problem, reason in report.left_out.items():
        say(f"left out: {problem}: {reason}")
    emit({"schema": "codegate.export/1", "ids": report.ids, "left_out": report.left_out})


@as_command(command, "import")
def import_command(
    file: Annotated[Path, Argument()],
    kind: Annotated[
        ImportFormat,
        "--format",
        "What FILE holds: SWE-bench rows, HumanEval or MBPP tasks (humaneval), or Harbor task folders.",
    ],
    out: Annotated[Folder, "Folder of the new suite."],
    name: Annotated[str | None, "Name of the suite; default: the file's."] = None,
    config: Annotated[File | None, "Configuration with the recipe, `environment`; default: what is implied."] = None,
    rounds: Annotated[int, Field(ge=1, le=20), "Validation runs."] = 3,
    repository: Repository = None,
    sandbox: Sandbox = "auto",
) -> None:
    """Make a suite of the rows or tasks in FILE.

    Rows are first proven by execution; `codegate validate` proves HumanEval and MBPP tasks. Environments are built by
    the recipe of --config. Without --config, the recipe of rows is found in their base trees; tasks get pytest, and
    numpy if a test imports it.

    Exits 0 if a suite was written, 2 if no row could be used.
    """
    recipe = read_recipe(Path(), config) if config is not None else None
    options = MineRequest(name=name, recipe=recipe, rounds=rounds)
    with opened_backend(sandbox, new_run_id()) as backend:
        report = import_proven(file, kind, out, options, backend, repository)
    say(f"{out}: {count_of(len(report.suite.problems), 'problem')}")
    say(*report.skipped[:_SHOWN])
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


@as_command(command, "report")
def report_command(
    suite: SuiteFolder,
    config: Annotated[File | None, f"Configuration with training cut-offs; default {CONFIG_NAME}, if present."] = None,
) -> None:
    """Show SUITE's mining funnel and the quality of its problems."""
    mined = read_summary(suite)
    if mined is not None and not (suite / "suite.yml").exists():
        reasons = ", ".join(f"{count} {reason}" for reason, count in list(mined.get("reasons", {}).items())[:_LONGEST])
        raise UsageError(
            f"{suite} has no suite: mining kept no problem. Left out: {reasons}.",
            f"What helps, by reason: {documentation('mining.md#when-little-comes-out')}.",
        )
    loaded = load_suite(suite)
    place = config_file(config)
    known = load_config(place).candidates if place is not None else ()
    cutoffs = {entry.label: entry.training_cutoff for entry in known}
    strengths = assess(loaded, datetime.now(UTC).date(), cutoffs)
    origins = {problem.id: origin_of(problem.manifest.provenance) for problem in loaded.problems}
    say(*_lines(strengths, mined))
    if loaded.active:
        say(*(f"gate: {line}" for line in usual_power(loaded).sentences()))
    for name, origin in origins.items():
        title = bug(origin)
        say(one_line(f"  {name}: {title or 'no title'} {title.address}".rstrip(), 500))
    problems = [{"id": name, **origin.model_dump()} for name, origin in origins.items()]
    emit({**strengths.document(), "mining": mined, "problems": problems})


def _lines(found: Strengths, mined: dict[str, object] | None) -> Iterator[str]:
    funnel = mined.get("funnel") if mined else None
    if mined and isinstance(funnel, dict):
        yield f"funnel: {funnel_text(funnel, mined.get('not_tried'))}"
    reasons = mined.get("reasons") if mined else None
    if isinstance(reasons, dict) and reasons:
        yield "left out: " + ", ".join(f"{count} {reason}" for reason, count in reasons.items())
    yield "problems: " + _counted(found.status)
    for name, counts in found.counts.items():
        yield f"{name}: {_counted(counts)}"
    yield f"parts of the fix that tests notice: {_spread(found.hunk_coverage, percent=True)}"
    yield f"words in a statement: {_spread(found.statement_words)}"
    yield f"fail-to-pass tests: {_spread(found.fail_to_pass)}; pass-to-pass: {_spread(found.pass_to_pass)}"
    yield f"age in days: {_spread(found.age_days)}"
    yield f"environments: {found.environments}"
    yield from _named("leak audit not clean, or not made", found.leaks)
    yield from _named("test command disagrees with its tests", found.unclean)
    yield from _named("tests ask for exact wording", found.narrow)
    yield from _named("tests not graded, as the statement does not show what they ask for", found.untold)
    yield from _named("all tests of the fix are new", found.new_tests)
    for entry in found.exposure:
        seen = "its training cut-off is not configured (training_cutoff): what it may have read is unknown"
        if entry.cutoff is not None:
            seen = f"{entry.after} of {entry.n} problems were fixed after its training cut-off, {entry.cutoff}"
        yield f"{entry.candidate}: {seen}"


def _counted(counts: object) -> str:
    pairs = list(counts.items()) if isinstance(counts, dict) else []
    shown = ", ".join(f"{count} {value}" for value, count in pairs[:_LONGEST])
    more = sum(count for _, count in pairs[_LONGEST:])
    return shown + (f", {more} in {len(pairs) - _LONGEST} others" if more else "")


def _spread(values: Distribution, *, percent: bool = False) -> str:
    if values.median is None or values.lowest is None or values.highest is None:
        return "unknown"
    low, middle, high = (f"{value:.0%}" if percent else f"{value:.0f}" for value in (
        values.lowest, values.median, values.highest,
    ))  # fmt: skip
    return f"median {middle} ({low} to {high}, n = {values.n})"


def _named(what: str, problems: tuple[str, ...]) -> Iterator[str]:
    if problems:
        yield f"{what}: {join_first(problems, _LONGEST)}"
