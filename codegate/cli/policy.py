"""What gates a run, by the configuration or the defaults, and how its report is shown."""

from pathlib import Path

import click

from codegate.cli.output import columns, json_wanted, note, say
from codegate.errors import ExitCode
from codegate.gating import GatePolicy, load_pinned
from codegate.operations.requests import STAND_IN
from codegate.operations.rules import Places, Project, relative, rules_from
from codegate.operations.runs import Report
from codegate.reporting import ReportTerms, render_console, render_json, terms_of
from codegate.running import Config, Gate
from codegate.running.config import config_file, load_config
from codegate.suite import git

rules_option = click.option(
    "--rules-from",
    "rules",
    metavar="COMMIT",
    help="Take suite, baseline, policy and limits from this commit, as the action does for pull requests.",
)


def project_by(
    commit: str,
    config: Path | None,
    baseline: Path | None,
    names: tuple[str, ...] = (),
    suite: Path | None = None,
    repository: Path | None = None,
) -> Project:
    """Return what is run by the rules of ``commit``, until the command ends."""
    top = Path(git(Path(), "rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape").strip())
    own = config_file(config)

    def place(path: Path | None, what: str) -> str | None:
        return relative(top, str(Path.cwd() / path), what) if path is not None else None

    places = Places(
        workspace=top,
        config=place(own, "--config"),
        suite=place(suite, "SUITE"),
        candidates=names,
        baseline=place(baseline, "--baseline"),
        repository=place(repository, "--repository"),
    )
    project = click.get_current_context().with_resource(rules_from(commit, places))
    for text in project.notes:
        note(text)
    return project


def gate_settings(config: Path | None) -> tuple[GatePolicy, Path, ReportTerms]:
    """Return policy, lock file and report terms of the configuration or defaults."""
    settings, home = _read(config)
    return settings.gate, home / settings.baseline, terms_of(settings)


def chosen_gate(config: Path | None, baseline: Path | None) -> tuple[Gate | GatePolicy, ReportTerms]:
    """Return what gates a run, baseline or policy alone, and the report's terms."""
    settings, home = _read(config)
    policy, lock, terms = settings.gate, home / settings.baseline, terms_of(settings)
    if baseline is None and policy.stands_alone and not settings.gates_with(lock):
        return policy, terms
    return Gate(load_pinned(baseline or lock), policy), terms


def _read(config: Path | None) -> tuple[Config, Path]:
    path = config_file(config)
    return (load_config(path), path.parent) if path is not None else (Config(candidates=STAND_IN), Path())


def conclude(report: Report) -> ExitCode:
    """Print the report of a finished run and where its files are, and return the exit code."""
    if json_wanted():
        click.echo(render_json(report.view))
    say(render_console(report.view, width=columns()))
    for name, path in report.files.items():
        say(f"{name:9} {path}")
    if report.trace:
        say(report.trace)
    return report.exit_code
