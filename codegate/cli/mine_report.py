"""``codegate mine report``: how a suite came about, and what it is worth."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import click

from codegate.cli.options import FILE, FOLDER, json_option
from codegate.cli.output import emit, say
from codegate.errors import ExitCode, UsageError
from codegate.mining import Distribution, Strengths, assess, read_summary
from codegate.reporting import bug, one_line
from codegate.running import CONFIG_NAME, origin_of
from codegate.running.config import config_file, load_config
from codegate.suite import load_suite

_LONGEST = 8


@click.command("report")
@click.argument("suite", type=FOLDER)
@click.option(
    "--config",
    type=FILE,
    help=f"Configuration with training cut-offs; default {CONFIG_NAME}, if present.",
)
@json_option
def command(suite: Path, config: Path | None) -> ExitCode:
    """Show the funnel that SUITE came from, and what its problems are worth."""
    mined = read_summary(suite)
    if mined is not None and not (suite / "suite.yml").exists():
        reasons = ", ".join(f"{count} {reason}" for reason, count in list(mined.get("reasons", {}).items())[:_LONGEST])
        raise UsageError(
            f"{suite} has no suite: mining kept no problem. Left out: {reasons}.",
            "What helps, by reason: docs/mining.md, When little comes out.",
        )
    loaded = load_suite(suite)
    place = config_file(config)
    known = load_config(place).candidates if place is not None else ()
    cutoffs = {entry.label: entry.training_cutoff for entry in known}
    strengths = assess(loaded, datetime.now(UTC).date(), cutoffs)
    origins = {problem.id: origin_of(problem.manifest.provenance) for problem in loaded.problems}
    for line in _lines(strengths, mined):
        say(line)
    for name, origin in origins.items():
        title = bug(origin)
        say(one_line(f"  {name}: {title or 'no title'} {title.address}".rstrip(), 500))
    problems = [{"id": name, **origin.model_dump()} for name, origin in origins.items()]
    emit({**strengths.document(), "mining": mined, "problems": problems})
    return ExitCode.PASS


def _lines(found: Strengths, mined: dict[str, object] | None) -> Iterator[str]:
    funnel = mined.get("funnel") if mined else None
    if isinstance(funnel, dict):
        yield "funnel: " + " → ".join(f"{count} {stage}" for stage, count in funnel.items())
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
        yield f"{entry.candidate}: {_exposed(entry.cutoff, entry.after, entry.n)}"


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
        rest = len(problems) - _LONGEST
        yield f"{what}: {', '.join(problems[:_LONGEST])}{f' and {rest} more' if rest > 0 else ''}"


def _exposed(cutoff: date | None, after: int | None, n: int) -> str:
    if cutoff is None:
        return "its training cut-off is not configured (training_cutoff): what it may have read is unknown"
    return f"{after} of {n} problems were fixed after its training cut-off, {cutoff.isoformat()}"
