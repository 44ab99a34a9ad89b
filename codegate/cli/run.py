"""``codegate run``: candidates on a suite; with a baseline, the gate right after it."""

from collections.abc import Sequence
from pathlib import Path

import click

from codegate.candidates import CandidateSpec, check_base_url, parse_candidate
from codegate.cli.conclude import conclude
from codegate.cli.options import FILE, FOLDER, json_option, repository_option, sandbox_option
from codegate.cli.output import note
from codegate.cli.progress import run_progress
from codegate.errors import ExitCode, UsageError
from codegate.gating import load_pinned
from codegate.running import (
    CONFIG_NAME,
    Config,
    Journal,
    RunOptions,
    RunRequest,
    check_candidate,
    load_config,
    run_suite,
)
from codegate.sandbox import Choice


@click.command()
@click.argument("suite", type=FOLDER, required=False)
@click.option("--candidate", "names", multiple=True, help="provider:model[@base_url]; may be given several times.")
@click.option("--config", type=FILE, help=f"Configuration file; default {CONFIG_NAME} where there is one.")
@click.option("--samples", type=click.IntRange(1, 100), help="Samples per problem; default 1.")
@click.option("--out", type=FOLDER, help="Folder of the run; default runs/<id>.")
@click.option("--resume", type=FOLDER, help="Continue the run in this folder, with its own candidates and samples.")
@click.option("--baseline", type=FILE, help="Lock file of the baseline to gate with; default codegate.lock if it is.")
@click.option("--reports", type=FOLDER, help="Where the reports go; default <run>/reports.")
@click.option("--models", type=click.IntRange(1, 256), help="Model calls under way at once; default 4.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Sandboxes at work at once; default 2.")
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
    sandbox: Choice,
    as_json: bool,
) -> ExitCode:
    """Run candidates on SUITE, and compare them with the pinned baseline where there is one.

    The baseline is what --baseline names, else what `baseline` in codegate.yml names, else codegate.lock; only
    codegate.lock may be missing. Without one the exit code is 0 when every outcome has a grade, and 4 when
    infrastructure faults left some without. A run that --max-model-calls stopped exits 2 and can be resumed.
    """
    if resume is not None and (samples or out):
        raise UsageError("--resume continues a run as it was planned.", "Leave out --samples and --out.")
    settings, home = _settings(config, names, resume)
    folder = suite or (home / settings.suite if settings.suite else None)
    if folder is None:
        raise UsageError("no suite was given.", "Name its folder, or set `suite` in codegate.yml.")
    options = RunOptions(
        models=models or settings.concurrency.models,
        sandboxes=jobs or settings.concurrency.sandboxes,
        max_model_calls=max_model_calls or settings.max_model_calls,
        repository=repository or (home / settings.repository if settings.repository else None),
        transcripts=Path() if names else home,
    )
    chosen = settings.sandbox if sandbox == "auto" else sandbox
    request = RunRequest(folder, settings.candidates, samples or settings.samples, chosen, out, resume, options)
    lock = baseline or (home / settings.baseline if settings.gates_with(home / settings.baseline) else None)
    if lock is None:
        note(f"not gated: there is no {home / settings.baseline} (codegate baseline pin writes it)")
    else:
        load_pinned(lock)  # a broken baseline is better known before money is spent than after
    with run_progress() as progress:
        run, journal = run_suite(request, progress, note)
    return conclude(run, journal, lock, settings.gate, reports, as_json=as_json)


def _settings(config: Path | None, names: tuple[str, ...], resume: Path | None) -> tuple[Config, Path]:
    """Return the configuration and the folder that its paths are relative to.

    Candidates given by name win over those of the file; a resumed run has its own, and those that would send a key
    somewhere have to be named by the user too.
    """
    candidates: list[CandidateSpec] = []
    for name in names:
        candidate = parse_candidate(name)
        check_candidate(candidate, f"--candidate {name}")
        candidates.append(candidate)
    own = tuple(candidates)
    if resume is not None:
        candidates = list(Journal.open(resume).manifest.candidates)
        if strange := {one.key() for one in own} - {one.key() for one in candidates}:
            label = next(one.label for one in own if one.key() in strange)
            raise UsageError(f"{resume} has no candidate {label}.", "--resume continues a run as it was planned.")
    if config is None and (Path(CONFIG_NAME).exists() or not candidates):
        config = Path(CONFIG_NAME)
    if config is None:
        if resume is not None:
            _check_destinations(candidates, own, resume)
        return Config(candidates=tuple(candidates)), Path()
    settings = load_config(config)
    if resume is not None:
        _check_destinations(candidates, (*own, *settings.candidates), resume)
    return settings.model_copy(update={"candidates": tuple(candidates)} if candidates else {}), config.parent


def _check_destinations(candidates: Sequence[CandidateSpec], own: Sequence[CandidateSpec], resume: Path) -> None:
    """Refuse a run folder that decides by itself where a key goes, or which variable of the environment is one.

    The folder may be somebody else's. Servers on this machine that get the provider's usual key are no concern.
    """
    known = {(candidate.key(), candidate.api_key_env) for candidate in own}
    for candidate in candidates:
        away = candidate.base_url is not None and not check_base_url(candidate.base_url)
        if (away or candidate.api_key_env is not None) and (candidate.key(), candidate.api_key_env) not in known:
            raise UsageError(
                f"{resume / 'run.json'}: candidate {candidate.label} has an address or a key variable of its own, "
                "which a run's folder alone does not decide.",
                "If you trust it, name it with --config or --candidate, just as the run has it.",
            )
