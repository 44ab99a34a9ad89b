"""``codegate run``: candidates on a suite; with a baseline, the gate right after it."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final, get_args

import click
from click.core import ParameterSource

from codegate.candidates import CandidateSpec, check_base_url
from codegate.cli.conclude import conclude
from codegate.cli.options import FILE, FOLDER, Finite, dollars, json_option, repository_option, sandbox_option
from codegate.cli.output import json_wanted, note
from codegate.cli.policy import project_by, rules_option
from codegate.cli.predictions import STAND_IN, check_predictions, given_answers, predictions_options
from codegate.cli.progress import run_progress
from codegate.errors import ExitCode, UsageError
from codegate.gating import Baseline, load_pinned
from codegate.gating.pinning import MIN_SAMPLES
from codegate.operations import run
from codegate.operations.rules import Project
from codegate.reporting import terms_of
from codegate.running import CONFIG_NAME, Config, Gate, Journal, RunRequest, configuration, named_candidates
from codegate.running.config import load_config, priced
from codegate.running.engine import EngineName
from codegate.running.shards import shard_choice
from codegate.sandbox import Choice
from codegate.suite import images_of
from codegate.wording import count_of

_PLANNED: Final = frozenset(
    {
        "samples",
        "out",
        "resume",
        "limit",
        "problems",
        "shard",
        "run_id",
        "predictions",
        "label",
        "pilot",
        "drop",
        "like",
    }
)
"""Parameters that a run keeps by itself when it is continued, or that only ``codegate plan`` has."""


@click.command()
@click.argument("suite", type=FOLDER, required=False)
@click.option("--candidate", "names", multiple=True, help="provider:model[@base_url]; may be given several times.")
@predictions_options
@click.option("--config", type=FILE, help=f"Configuration file; default {CONFIG_NAME} where there is one.")
@click.option(
    "--samples",
    type=click.IntRange(1, 100),
    help="Samples per problem, all of them made; default: as many of the gate's looks as it takes, or 1 ungated.",
)
@click.option("--out", type=FOLDER, help="Folder of the run; default runs/<id>.")
@click.option("--resume", type=FOLDER, help="Continue the run in this folder, with its own candidates and samples.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Run only the first N problems, without a gate.")
@click.option("--problem", "problems", multiple=True, metavar="ID", help="Only this problem; repeatable.")
@click.option("--shard", metavar="K/N", help="Do part K of N only; all parts need the same --run-id.")
@click.option("--run-id", help="Id of the shared run, as `codegate plan --shards N` gives it.")
@click.option("--baseline", type=FILE, help="Lock file of the pinned baseline; default: codegate.lock, if present.")
@rules_option
@click.option(
    "--no-precheck", is_flag=True, help="Skip the first small request to each candidate, and the check of the problems."
)
@click.option("--no-gate", is_flag=True, help="Compare with no baseline, for example to make a new one.")
@click.option("--reports", type=FOLDER, help="Where the reports go; default <run>/reports.")
@click.option("--models", type=click.IntRange(1, 256), help="Concurrent model calls; default 4.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Concurrent sandboxes; default 2.")
@click.option("--max-model-calls", type=click.IntRange(min=1), help="Stop, resumable, before more calls than this.")
@click.option(
    "--max-minutes",
    type=Finite(min=0, min_open=True),
    help="Begin nothing that would take longer than this, and stop, resumable.",
)
@click.option(
    "--budget-usd", callback=dollars, metavar="USD", help="Stop, resumable, before a call that might cost more in all."
)
@click.option(
    "--cache", type=FOLDER, help="Take answers that earlier runs paid for from this folder, and add new ones."
)
@click.option(
    "--engine",
    type=click.Choice(get_args(EngineName)),
    help="Where sandboxes are: on this machine, or on the nodes of the Ray cluster at RAY_ADDRESS; default local.",
)
@repository_option
@sandbox_option
@json_option
def command(
    suite: Path | None,
    names: tuple[str, ...],
    predictions: Path | None,
    label: str | None,
    config: Path | None,
    samples: int | None,
    out: Path | None,
    resume: Path | None,
    limit: int | None,
    problems: tuple[str, ...],
    shard: str | None,
    run_id: str | None,
    baseline: Path | None,
    rules: str | None,
    no_precheck: bool,
    no_gate: bool,
    reports: Path | None,
    models: int | None,
    jobs: int | None,
    max_model_calls: int | None,
    max_minutes: float | None,
    budget_usd: Decimal | None,
    cache: Path | None,
    engine: EngineName | None,
    repository: Path | None,
    sandbox: Choice,
) -> ExitCode:
    """Run candidates on SUITE, and compare them with the pinned baseline where there is one.

    The baseline is what --baseline names, else what `baseline` in codegate.yml names, else codegate.lock; only
    codegate.lock may be missing. A gated run looks at its verdicts after each sample of every problem, and stops
    sampling candidates whose verdict is settled. Without a baseline the critical floors of `gate.cohorts` in
    codegate.yml decide alone, with `gate.must_pass`; without floors the exit code is 0 when every outcome has a grade,
    and 4 when infrastructure faults left some without. A run that --max-model-calls, --max-minutes or --budget-usd
    stopped exits 2 and can be resumed.

    With --predictions the answers were made elsewhere: each model in the file is a candidate, no model is called, and
    no key is needed. All samples in the file are graded. A problem that the file leaves out counts as an empty answer.

    With --rules-from only the candidates and their prices are those of the work tree. Suite, baseline, policy and
    limits are those of a commit, and keys go where its configuration sends them: a proposal cannot pass itself.

    With --limit or --problem only some problems are tried, which gives no verdict and cannot be pinned.

    With --shard one part of the problems is done, and compared with nothing: `codegate merge` puts the parts together
    and gates the whole. A shard makes a fixed number of samples (as many as the gate has looks, or --samples), and
    gets its part of --max-model-calls and --budget-usd, by its number of problems.
    """
    partial = limit is not None or bool(problems)
    if partial and (resume or shard or baseline):
        raise UsageError(
            "--limit and --problem try some problems out, in a run of their own that nothing is compared with.",
            "Leave out --resume, --shard and --baseline.",
        )
    if no_gate and baseline is not None:
        raise UsageError("--no-gate compares with no baseline.", "Leave out --baseline.")
    if resume is not None and (samples or out or shard or run_id):
        raise UsageError(
            "--resume continues a run as it was planned.", "Leave out --samples, --out, --shard and --run-id."
        )
    choice = shard_choice(shard, run_id)
    check_predictions(predictions, label, names)
    if resume is not None and predictions is not None:
        raise UsageError("--resume continues a run with the answers in its folder.", "Leave out --predictions.")
    project = project_by(rules, config, baseline, names, suite, repository) if rules is not None else None
    settings, home, keyless = _settings(config, names, resume, project, asked=predictions is None)
    folder = suite or (home / settings.suite if settings.suite else None)
    transcripts = Path() if names else home
    if project is not None:
        folder, repository, transcripts = project.suite, project.repository, project.transcripts
    if folder is None:
        raise UsageError("no suite was given.", "Name its folder, or set `suite` in codegate.yml.")
    answers = given_answers(predictions, folder, label)
    if answers is not None:
        settings = settings.model_copy(update={"candidates": answers.candidates, "samples": None})
    options = settings.run_options(
        models=models,
        sandboxes=jobs,
        max_model_calls=max_model_calls,
        max_minutes=max_minutes,
        budget_usd=budget_usd,
        repository=repository or (home / settings.repository if settings.repository else None),
        transcripts=transcripts,
        precheck=not no_precheck,
        cache=cache,
        engine=engine,
    )
    chosen = settings.sandbox if sandbox == "auto" else sandbox
    partial = partial or (resume is not None and Journal.open(resume).manifest.part is not None)
    lock = None if no_gate or partial or project is not None else _lock(baseline, settings, home)
    first = []
    if partial:
        first.append("not gated: a run of some problems cannot be compared with a baseline")
    elif lock is None and not no_gate and (project is None or project.gate is None):
        alone = "gated by floors alone" if settings.gate.stands_alone else "not gated"
        first.append(f"{alone}: there is no {home / settings.baseline} (codegate baseline pin writes it)")
    made = samples or settings.samples or 1
    if lock is None and project is None and resume is None and choice is None and not partial and made < MIN_SAMPLES:
        first.append(f"{count_of(made, 'sample')} per problem: pinning needs {MIN_SAMPLES} or more (--samples 10)")
    # A broken baseline is better known before money is spent than after.
    gate = Gate(load_pinned(lock), settings.gate) if lock is not None else None
    if project is not None and not (no_gate or partial):
        gate = project.gate
    floors = settings.gate if gate is None and not (no_gate or partial) and settings.gate.stands_alone else None
    request = RunRequest(
        folder,
        settings.candidates,
        samples or settings.samples,
        chosen,
        out,
        resume,
        options,
        keyless,
        settings.prices,
        gate,
        choice,
        answers,
        pinned_images(gate.baseline if gate is not None else home / settings.baseline) if gate or not project else {},
        problems,
        limit,
        command=command_again(),
    )

    def announce(text: str) -> None:
        while first:  # a request that is refused needs no notes
            note(first.pop(0))
        note(text)

    with run_progress() as progress:
        report = run(request, progress, announce, reports=reports, terms=terms_of(settings), floors=floors)
    if report.run.manifest.shard is not None:
        note(f"shard {report.run.manifest.shard.words} is done: `codegate merge` puts the shards together")
    return conclude(report)


def command_again() -> tuple[str, ...]:
    """Return the words of ``codegate run`` that continue this command's run, without the run's folder."""
    context = click.get_current_context()
    words = ["codegate", "run"]
    for one in context.command.params:
        name = one.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not given or not one.expose_value or name in _PLANNED:
            continue
        value = context.params[name]
        for each in value if one.multiple else (value,):
            words += [one.opts[0]] * isinstance(one, click.Option) + [str(each)] * (each is not True)
    return (*words, *["--json"] * json_wanted())


def pinned_images(baseline: Baseline | Path) -> dict[str, str]:
    """Return the base images of the baseline, or of the one that a lock pins: nothing where it cannot be read.

    An ungated run, too, may be made to be pooled or watched with it. A broken baseline is refused where it gates.
    """
    try:
        pinned = load_pinned(baseline) if isinstance(baseline, Path) else baseline
    except UsageError:
        return {}
    return images_of(pinned.samples.conditions)


def _lock(baseline: Path | None, settings: Config, home: Path) -> Path | None:
    if baseline is not None:
        return baseline
    lock = home / settings.baseline
    return lock if settings.gates_with(lock) else None


def _settings(
    config: Path | None, names: tuple[str, ...], resume: Path | None, project: Project | None, *, asked: bool
) -> tuple[Config, Path, frozenset[str]]:
    """Return the configuration, the folder that its paths are relative to, and the candidates to send no key for.

    Candidates given by name win over those of the file; a resumed run has its own, and those that would send a key
    somewhere have to be named by the user too, or by the commit that ``project`` is read from.
    """
    if project is not None and resume is None:
        return project.settings, Path(), frozenset()
    named = named_candidates(names, "--candidate") if asked else STAND_IN
    if resume is None:
        return *configuration(named, config, Path(CONFIG_NAME)), frozenset()
    planned = Journal.open(resume).manifest.candidates
    if strange := {one.key() for one in named} - {one.key() for one in planned}:
        label = next(one.label for one in named if one.key() in strange)
        raise UsageError(f"{resume} has no candidate {label}.", "--resume continues a run as it was planned.")
    if project is not None:
        settings = project.settings.model_copy(update={"candidates": priced(planned, project.settings.prices)})
        return settings, Path(), _check_destinations(planned, project.trusted, resume)
    if config is None and Path(CONFIG_NAME).exists():
        config = Path(CONFIG_NAME)
    own = (*named, *(load_config(config).candidates if config is not None else ()))
    return *configuration(planned, config, Path(CONFIG_NAME)), _check_destinations(planned, own, resume)


def _check_destinations(
    candidates: Sequence[CandidateSpec], own: Sequence[CandidateSpec], resume: Path
) -> frozenset[str]:
    """Refuse a run folder that decides by itself where a key goes, or which variable of the environment is one.

    The folder may be somebody else's.

    Returns:
        The candidates, by their keys, at addresses on this machine that only the folder names: they get no key.
    """
    keyless = set()
    for candidate in candidates:
        if candidate.is_trusted_by(own):
            continue
        here = candidate.base_url is not None and check_base_url(candidate.base_url, allow_http=candidate.allow_http)
        if not here or not candidate.model_copy(update={"base_url": None}).is_trusted_by(()):
            raise UsageError(
                f"{resume / 'run.json'}: candidate {candidate.label} has an address or a key of its own, "
                "which a run's folder alone does not decide.",
                "If you trust it, name it with --config or --candidate, just as the run has it.",
            )
        note(f"no key is sent to {candidate.base_url}: name it with --config or --candidate if it needs one")
        keyless.add(candidate.key())
    return frozenset(keyless)
