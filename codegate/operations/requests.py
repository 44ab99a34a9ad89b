"""The options of ``codegate plan`` and ``codegate run``.

Together with the configuration they make a run's request.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, Self, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from codegate.errors import UsageError
from codegate.gating import load_pinned
from codegate.operations.rules import STAND_IN, Project, check_same_tags
from codegate.running import CONFIG_NAME, Config, Gate, Journal, RunOptions, RunSpec, configuration, named_candidates
from codegate.running.config import Samples, config_file, load_config, parent_config_hint, with_prices
from codegate.running.gate import gate_of_floors
from codegate.running.plan import EngineName, FullTestSuite, RunLimits
from codegate.running.predictions import predicted_candidates
from codegate.sandbox import Choice, check_choice
from codegate.strict import File, Folder, Strict
from codegate.suite import images_of, load_suite

_NAME_SUITE: Final = "Name its folder, or set `suite` in codegate.yml."
Repository: TypeAlias = Annotated[
    Folder | None, "Repository that the base commits are in, when not where suite.yml says."
]
Reports: TypeAlias = Annotated[Folder | None, "Where the reports go; default <run>/reports."]
RulesFrom: TypeAlias = Annotated[
    str | None,
    Field(examples=["COMMIT"]),
    "Take suite, baseline, policy and limits from this commit, as the action does for pull requests.",
]
Conflicts = Iterator[tuple[Any, str, str]]
"""Items with a value that is true if options conflict, then the cause and the remedy as sentences."""


class SuiteRequest(Strict):
    """Options that plan and run share; None: as configured."""

    candidates: Annotated[tuple[str, ...], "provider:model[@base_url]; may be given several times."] = ()
    predictions: Annotated[
        File | None, "Answers made elsewhere, in SWE-bench's predictions format; no model is called."
    ] = None
    label: Annotated[str | None, "With --predictions: what to call their model; default as in the file."] = None
    config: Annotated[File | None, f"Configuration file; default {CONFIG_NAME} where there is one."] = None
    baseline: Annotated[File | None, "Lock file of the pinned baseline; default as in the configuration."] = None
    samples: Samples = None
    no_gate: Annotated[bool, "Compare with no baseline, for example to make a new one."] = False
    repository: Repository = None
    rules_from: RulesFrom = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        for wrong, cause, remedy in self._conflicts():
            if wrong:
                raise UsageError(cause, remedy)
        return self

    def _conflicts(self) -> Conflicts:
        yield self.no_gate and self.baseline, "--no-gate compares with no baseline.", "Leave out --baseline."
        yield self.predictions and self.candidates, "--predictions brings its own candidates.", "Leave out --candidate."
        yield (
            self.label is not None and self.predictions is None,
            "--label names the model of --predictions.",
            "Give --predictions, too.",
        )


class PlanRequest(SuiteRequest):
    """Options of ``codegate plan``."""

    drop: Annotated[float | None, Field(ge=0.01, le=0.9), "Show how often a drop of this share is found."] = None
    like: Annotated[tuple[Folder, ...], "Earlier run to estimate tokens and minutes from."] = ()
    shards: Annotated[int | None, Field(ge=1, le=256), "Split the run; print its id and a matrix of shards."] = None


class RunRequest(RunLimits, SuiteRequest):
    """Options of ``codegate run``."""

    out: Annotated[Folder | None, "Folder of the run; default runs/<id>."] = None
    resume: Annotated[Folder | None, "Continue the run in this folder, with its own candidates and samples."] = None
    limit: Annotated[int | None, Field(ge=1, examples=["N"]), "Run only the first N problems, without a gate."] = None
    problems: Annotated[tuple[str, ...], Field(examples=["ID"]), "Only this problem; repeatable."] = ()
    shard: Annotated[str | None, Field(examples=["K/N"]), "Do part K of N only; all parts need the same --run-id."] = (
        None
    )
    run_id: Annotated[str | None, "Id of the shared run, as `codegate plan --shards N` gives it."] = None
    no_precheck: Annotated[bool, "Skip the first small request to each candidate, and the check of the problems."] = (
        False
    )
    reports: Reports = None
    models: Annotated[int | None, Field(ge=1, le=256), "Concurrent model calls; default 4."] = None
    jobs: Annotated[int | None, Field(ge=1, le=256), "Concurrent sandboxes; default 2."] = None
    cache: Annotated[Folder | None, "Take answers that earlier runs paid for from this folder, and add new ones."] = (
        None
    )
    engine: EngineName | None = None
    full_test_suite: FullTestSuite | None = None
    sandbox: Annotated[Choice, AfterValidator(check_choice)] = "auto"

    def _conflicts(self) -> Conflicts:
        yield (
            self.is_restricted and (self.resume or self.shard or self.baseline),
            "--limit and --problem try some problems out, in a run of their own that nothing is compared with.",
            "Leave out --resume, --shard and --baseline.",
        )
        yield (
            self.resume and (self.samples or self.out or self.shard or self.run_id),
            "--resume continues a run as it was planned.",
            "Leave out --samples, --out, --shard and --run-id.",
        )
        yield from super()._conflicts()
        yield (
            self.resume and self.predictions,
            "--resume continues a run with the answers in its folder.",
            "Leave out --predictions.",
        )

    @property
    def is_restricted(self) -> bool:
        """Return whether the options select only some problems."""
        return self.limit is not None or bool(self.problems)


def project_here(request: SuiteRequest, suite: Path | None, *, gated: bool = True, alone: bool) -> Project:
    """Return the project that this folder's configuration describes.

    With ``alone``, the candidate ``reference`` is used if there is neither a configuration nor a candidate. Unless
    ``gated``, the project has no gate.
    """
    named, file = named_candidates(request.candidates, "--candidate"), config_file(request.config)
    if request.predictions or (alone and not named and file is None):
        named = STAND_IN
    settings, home = configuration(named, file)
    folder = suite or (home / settings.suite if settings.suite else None)
    if folder is None:
        raise UsageError("no suite was given.", (file is None and parent_config_hint()) or _NAME_SUITE)
    # A broken baseline is found now, before money is spent.
    gate = gate_here(settings, home, request.baseline) if gated and not request.no_gate else None
    compared = gate is not None and gate.baseline is not None
    return Project(
        settings=settings,
        suite=folder,
        repository=request.repository or (home / settings.repository if settings.repository else None),
        transcripts=Path() if request.candidates else home,
        gate=gate,
        images={} if compared else _pinned_images(home / settings.baseline),
    )


def gate_here(settings: Config, home: Path, lock: Path | None) -> Gate | None:
    """Return what decides runs here; None if nothing does.

    It is the baseline that ``lock`` pins. Without ``lock``, it is the one that the configuration in the folder ``home``
    names, or else critical floors.
    """
    place = lock or home / settings.baseline
    if lock is not None or settings.gates_with(place):
        return Gate(load_pinned(place), settings.gate)
    return gate_of_floors(settings.gate)


def requested_run(request: SuiteRequest, project: Project) -> RunSpec:
    """Return the run that options, else the configuration, describe."""
    names = RunOptions.model_fields.keys() - {"repository"}
    options = {name: value for name, value in request if name in names}
    if request.predictions is None:
        return _gated(project.run(samples=request.samples, **options), request)
    answers = predicted_candidates(request.predictions, load_suite(project.suite), request.label)
    spec = project.run(answers.candidates, request.samples or answers.samples, **options)
    return _gated(replace(spec, answers=answers), request)


def _gated(spec: RunSpec, request: SuiteRequest) -> RunSpec:
    return replace(spec, gate=None, no_gate=True) if request.no_gate else spec


def resumed_project(request: RunRequest, resume: Path, project: Project) -> Project:
    """Return ``project`` with the candidates of a run to resume.

    The run's folder is untrusted: a candidate with an address or a key of its own must also be named by the user, or by
    the base commit's configuration. Prices and time limits are the project's.
    """
    manifest = Journal.open(resume).manifest
    if request.rules_from is not None:
        check_same_tags(manifest, load_suite(project.suite))
    planned = manifest.candidates
    named = named_candidates(request.candidates, "--candidate")
    if unplanned := {one.key() for one in named} - {one.key() for one in planned}:
        label = next(one.label for one in named if one.key() in unplanned)
        raise UsageError(f"{resume} has no candidate {label}.", "--resume continues a run as it was planned.")
    own = project.trusted
    if request.rules_from is None:
        file = config_file(request.config)
        own = (*named, *(load_config(file).candidates if file is not None else ()))
    if strange := [one.label for one in planned if not one.is_trusted_by(own)]:
        raise UsageError(
            f"{resume / 'run.json'}: candidate {strange[0]} has an address or a key of its own, "
            "which a run's folder alone does not decide.",
            "If you trust it, name it with --config or --candidate, just as the run has it.",
        )
    terms = {one.key(): one.model_dump(include={"timeout_seconds"}) | {"prices": one.prices}
             for one in (*own, *project.settings.candidates)}  # fmt: skip
    candidates = tuple(one.model_copy(update=terms.get(one.key(), {"prices": None})) for one in planned)
    candidates = with_prices(candidates, project.settings.prices)
    return replace(project, settings=project.settings.model_copy(update={"candidates": candidates}))


def _pinned_images(lock: Path) -> dict[str, str]:
    """Return the base images of the baseline that ``lock`` pins.

    Empty if the baseline cannot be read. Ungated runs use these images, because they may be pooled with the baseline.
    """
    try:
        return images_of(load_pinned(lock).samples.conditions)
    except UsageError:
        return {}
