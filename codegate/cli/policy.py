"""Read the rules that gate a run; print the report."""

import shlex
from pathlib import Path

import click

from codegate.cli.output import columns, json_wanted, note, say, write
from codegate.errors import ExitCode
from codegate.operations.requests import SuiteRequest
from codegate.operations.rules import STAND_IN, Places, Project, relative, rules_from
from codegate.operations.runs import Report
from codegate.reporting import render_console, render_json
from codegate.running import Config, Gate
from codegate.running.config import config_file, load_config
from codegate.suite import git


def project_by(
    commit: str,
    config: Path | None,
    baseline: Path | None,
    names: tuple[str, ...] = (),
    suite: Path | None = None,
    repository: Path | None = None,
) -> Project:
    """Return the project as configured at ``commit``.

    The commit's files are written to a folder that is removed when the command ends. ``names`` are the candidates to
    run. Names and paths that are not given come from the configuration.
    """
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


def project_by_request(request: SuiteRequest, suite: Path | None) -> Project | None:
    """Return the project of --rules-from, None without that option."""
    if request.rules_from is None:
        return None
    return project_by(
        request.rules_from, request.config, request.baseline, request.candidates, suite, request.repository
    )


def read_settings(config: Path | None) -> tuple[Config, Path]:
    """Return the configuration and its folder.

    Without ``config``, codegate.yml is read; without that file too, the defaults and the current folder are returned.
    """
    path = config_file(config)
    return (load_config(path), path.parent) if path is not None else (Config(candidates=STAND_IN), Path())


def print_report(
    report: Report,
    by: Gate | None = None,
    rules_from: str | None = None,
    config: Path | None = None,
    baseline: Path | None = None,
) -> ExitCode:
    """Print a run's report; return the command's exit code.

    If ``by`` takes fresh baseline samples, a command is printed that confirms a regression. The last three are the
    options from which ``by`` was read; the printed command repeats them.
    """
    if json_wanted():
        write(render_json(report.view))
    say(render_console(report.view, width=columns()))
    for name, path in report.files.items():
        say(f"{name:9} {path}")
    if report.trace:
        say(report.trace)
    regressed = any(one.kind == "regressed" and one.confirmed is None for one in report.verdicts)
    if regressed and by is not None and by.confirm_samples:
        gated = report.run.manifest.gated_by is not None
        options = {"--rules-from": rules_from, "--config": config, "--baseline": baseline}
        given = [f"{name} {shlex.quote(str(value))}" for name, value in options.items() if value is not None]
        words = " ".join([*(["SUITE"] if rules_from is None else []), *given, f"--resume {report.folder}"])
        command = f"`codegate run {words}`" if gated else "a new `codegate run` with the lock"
        note(f"{command} samples the pinned model again, where its key is set, and decides with these samples")
    return report.exit_code
