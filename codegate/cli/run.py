"""``codegate run``: candidates on a suite; with a baseline, the gate right after it."""

from pathlib import Path
from typing import cast

import click

from codegate.candidates import CandidateSpec, parse_candidate
from codegate.cli.conclude import conclude
from codegate.cli.options import FILE, FOLDER, json_option, repository_option, sandbox_option
from codegate.cli.output import say
from codegate.cli.progress import run_progress
from codegate.errors import ExitCode, UsageError
from codegate.running import CONFIG_NAME, Config, RunOptions, RunRequest, check_candidate, load_config, run_suite
from codegate.sandbox import Choice


@click.command()
@click.argument("suite", type=FOLDER, required=False)
@click.option("--candidate", "names", multiple=True, help="provider:model[@base_url]; may be given several times.")
@click.option("--config", type=FILE, help=f"Configuration file; default {CONFIG_NAME} where there is one.")
@click.option("--samples", type=click.IntRange(1, 100), help="Samples per problem.")
@click.option("--out", type=FOLDER, help="Folder of the run; default runs/<id>.")
@click.option("--resume", type=FOLDER, help="Continue the run in this folder.")
@click.option("--baseline", type=FILE, help="Lock file of the baseline to gate with.")
@click.option("--reports", type=FOLDER, help="Write HTML, JUnit, JSON, CSV and Markdown reports here.")
@click.option("--models", type=click.IntRange(1, 256), help="Model calls under way at once.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Sandboxes running at once.")
@click.option("--max-model-calls", type=click.IntRange(min=1), help="Stop, resumable, before more calls than this.")
@repository_option
@sandbox_option
@json_option
def command(
    suite: Path | None,
    names: tuple[str, ...],
    config: Path | None,
    samples: int | None,
    out: Path | None,
    resume: Path | None,
    baseline: Path | None,
    reports: Path | None,
    models: int | None,
    jobs: int | None,
    max_model_calls: int | None,
    repository: Path | None,
    sandbox: str,
    as_json: bool,
) -> ExitCode:
    """Run candidates on SUITE and, with --baseline, compare them with the pinned baseline."""
    settings, home = _settings(config, names)
    folder = suite or (home / settings.suite if settings.suite else None)
    if folder is None:
        raise UsageError("no suite was given.", "Name its folder, or set `suite` in codegate.yml.")
    options = RunOptions(
        models=models or settings.concurrency.models,
        sandboxes=jobs or settings.concurrency.sandboxes,
        max_model_calls=max_model_calls or settings.max_model_calls,
        repository=repository or (home / settings.repository if settings.repository else None),
        transcripts=home,
    )
    chosen = cast("Choice", sandbox if sandbox != "auto" else settings.sandbox)
    request = RunRequest(folder, settings.candidates, samples or settings.samples, chosen, out, resume, options)
    with run_progress() as progress:
        run, journal = run_suite(request, progress, lambda text: say(text, as_json=True))
    lock = baseline or (home / settings.baseline if (home / settings.baseline).exists() else None)
    return conclude(run, journal, lock, settings.gate, reports, as_json=as_json)


def _settings(config: Path | None, names: tuple[str, ...]) -> tuple[Config, Path]:
    """Return the configuration and the folder that its paths are relative to; candidates given by name win."""
    path = config or (Path(CONFIG_NAME) if Path(CONFIG_NAME).exists() or not names else None)
    candidates: list[CandidateSpec] = []
    for name in names:
        candidate = parse_candidate(name)
        check_candidate(candidate, f"--candidate {name}")
        candidates.append(candidate)
    if path is None:
        return Config(candidates=tuple(candidates)), Path()
    settings = load_config(path)
    return settings.model_copy(update={"candidates": tuple(candidates)} if candidates else {}), path.parent
