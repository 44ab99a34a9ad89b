"""``codegate.yml``: candidates, samples, limits, gate policy, baseline.

Only candidates have no default.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidatorFunctionWrapHandler, WrapValidator, model_validator

from codegate.candidates import (
    EXAMPLE_CANDIDATE,
    CandidateSpec,
    Price,
    Prices,
    answers_in_file,
    check_snapshot,
    list_entry,
    parse_candidate,
    with_helper_prices,
    worst_case_call_cost,
)
from codegate.candidates.agents import AGENTS
from codegate.environments import Recipe
from codegate.errors import UsageError
from codegate.gating import GatePolicy
from codegate.running.matrix import MATRIX_SCHEMA, expand_matrix, with_own_names
from codegate.running.plan import EngineName, FullTestSuite, RunLimits, RunOptions
from codegate.sandbox import Choice, check_choice
from codegate.solving import read_agent_files, read_harness, read_prompt
from codegate.strict import Strict
from codegate.suite import is_plain_path, read_yaml

CONFIG_NAME = "codegate.yml"


def _candidates_of(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    if isinstance(value, str):
        try:
            return parse_candidate(value)
        except UsageError as error:
            raise ValueError(str(error)) from error
    if isinstance(value, dict) and "matrix" in value:
        return tuple(map(handler, expand_matrix(value)))
    return handler(value)


def _judging(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    found = _candidates_of(value, handler)
    if not isinstance(found, CandidateSpec) or not (found.calls_a_model or found.provider == "replay"):
        raise ValueError("a judge is one model, without a matrix")
    return found


def _flat(entries: tuple[Any, ...]) -> tuple[CandidateSpec, ...]:
    return tuple(one for entry in entries for one in (entry if isinstance(entry, tuple) else (entry,)))


def _choice(value: str) -> str:
    try:
        return check_choice(value)
    except UsageError as error:
        raise ValueError(str(error)) from error


class Concurrency(Strict):
    """The most model calls and the most sandboxes at once."""

    models: int = Field(default=4, ge=1, le=256, strict=True, description="Model calls under way at once.")
    sandboxes: int = Field(default=2, ge=1, le=256, strict=True, description="Sandboxes at work at once.")


class ScoreWeights(Strict):
    """How much each measure counts in the weighted score.

    Each weight counts relative to the sum of all.
    """

    correctness: float = Field(default=0.30, ge=0, le=1, description="Weight of pass@1.")
    latency: float = Field(default=0.20, ge=0, le=1, description="Weight of the P95 time to an answer.")
    cost: float = Field(default=0.20, ge=0, le=1, description="Weight of the cost per completed task.")
    context: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Weight of the share of input read from a cache; codegate requests no caching, so a provider that "
        "caches on request only has a share of 0.",
    )
    reliability: float = Field(
        default=0.15, ge=0, le=1, description="Weight of answered attempts and of valid tool calls."
    )
    latency_half: float = Field(
        default=120, gt=0, le=86_400, description="Seconds at which latency is worth half of its points."
    )
    cost_half: float = Field(
        default=0.5, gt=0, le=100_000, description="US dollars per completed task at which cost is worth half."
    )

    @model_validator(mode="after")
    def _something_counts(self) -> "ScoreWeights":
        if not any((self.correctness, self.latency, self.cost, self.context, self.reliability)):
            message = "at least one weight is above 0"
            raise ValueError(message)
        return self


Samples = Annotated[
    int | None,
    Field(
        ge=1,
        le=100,
        strict=True,
        description="Samples per problem and candidate, a fixed number. Without it a gated run makes one at each of "
        "the gate's looks until the verdict is settled, and a run without a baseline makes one.",
    ),
]


class Config(RunLimits):
    """The configuration file. Paths are relative to the file."""

    suite: str | None = Field(default=None, description="Folder of the suite.")
    repository: str | None = Field(default=None, description="Repository that the base commits are in.")
    environment: Recipe | None = Field(
        default=None,
        description="How the project is set up and its tests are run, for mining; `codegate init` finds one. On a pull "
        "request the base commit's counts.",
    )
    candidates: Annotated[
        tuple[Annotated[CandidateSpec, WrapValidator(_candidates_of)], ...], AfterValidator(_flat)
    ] = Field(min_length=1, description="Each `provider:model[@base_url]`, or the long form.")
    samples: Samples = None
    sandbox: Annotated[Choice, AfterValidator(_choice)] = "auto"
    engine: EngineName = "local"
    concurrency: Concurrency = Concurrency()
    full_test_suite: FullTestSuite = False
    budget_usd_per_month: Price | None = Field(
        default=None,
        description="The same limit for all runs together that lie in the run's folder and began in this month (UTC).",
    )
    prices: Mapping[str, Prices] = Field(
        default={},
        description="Prices by model, for candidates that have none of their own; default: list prices, of models at "
        "their provider's own address.",
    )
    sandbox_hour_usd: Price | None = Field(
        default=None, description="US dollars for an hour of a sandbox's time; default: unknown, and not counted."
    )
    score: ScoreWeights = Field(default=ScoreWeights(), description="Weights of the weighted score, for reports.")
    baseline: str = Field(default="codegate.lock", description="The lock file that pins the baseline.")
    judge: Annotated[CandidateSpec, WrapValidator(_judging)] | None = Field(
        default=None, description="Model that `codegate judge` asks; as a candidate. It never gates."
    )
    gate: GatePolicy = GatePolicy()

    def run_options(self, **own: Any) -> RunOptions:
        """Return the configuration's run options, overridden by ``own`` if set."""
        given = {name: value for name, value in own.items() if value is not None}
        options: dict[str, Any] = {
            "models": self.concurrency.models,
            "jobs": self.concurrency.sandboxes,
            "budget_usd_per_month": self.budget_usd_per_month,
            "engine": self.engine,
            "full_test_suite": self.full_test_suite,
            **{name: getattr(self, name) for name in RunLimits.model_fields},
        }
        return RunOptions(**{**options, **given})

    def gates_with(self, lock: Path) -> bool:
        """Return whether a run has a gate, because ``lock`` exists.

        A dangling link counts as existing. Raises UsageError if the file is missing and the configuration sets
        ``baseline``.
        """
        if os.path.lexists(lock):
            return True
        if "baseline" in self.model_fields_set:
            raise UsageError(
                f"there is no {lock}, which `baseline` in the configuration names.",
                "Restore it, or pin a run with `codegate baseline pin`; to run ungated until then, remove the key.",
            )
        return False


def load_config(path: Path, harness: Path | None = None) -> Config:
    """Read the configuration file; check its candidates.

    Files that candidates name are read from the configuration's folder. Candidates' harness files are read from the
    folder ``harness``; None: no harness is read. Raises UsageError that names the file and the key.
    """
    if not path.exists():
        hint = (
            path == Path(CONFIG_NAME) and parent_config_hint()
        ) or "Write one with `codegate init`, or give --candidate."
        raise UsageError(f"{path} does not exist.", hint)
    config = read_yaml(path, Config)
    for candidate in (*config.candidates, *([config.judge] if config.judge else [])):
        check_candidate(candidate, str(path))
    candidates = tuple(read_agent_files(read_prompt(one, path.parent), path.parent) for one in config.candidates)
    if harness is not None:
        candidates = tuple(read_harness(one, harness) for one in candidates)
    candidates = with_prices(with_own_names(candidates, path), config.prices)
    for candidate in candidates:
        _check_dollar_limit(candidate, path)
    judge = with_prices((config.judge,), config.prices)[0] if config.judge else None
    return config.model_copy(update={"candidates": candidates, "judge": judge})


def _check_dollar_limit(candidate: CandidateSpec, path: Path) -> None:
    limit = candidate.agent.usd if candidate.agent is not None else None
    if limit is None:
        return
    least = worst_case_call_cost(0, candidate.sampling.output_limit, candidate.prices)
    if least is None:
        raise UsageError(
            f"{path}: candidate {candidate.label} has a limit in US dollars (`usd`), and its prices are not known.",
            "Declare what its model costs (`prices`), or limit its `tokens`.",
        )
    if limit < least:
        raise UsageError(
            f"{path}: candidate {candidate.label} may spend ${limit:f} an attempt (`usd`), and one call of "
            f"{candidate.sampling.output_limit} output tokens may cost ${least:.2f}: no call could be made.",
            "Raise `usd`, or lower `sampling.max_output_tokens`.",
        )


def candidate_files(config: Config) -> tuple[str, ...]:
    """Return the files that candidates name, relative to the configuration."""
    prompts = [one.prompt for one in config.candidates if one.prompt is not None]
    names = {name for prompt in prompts for name in (prompt.system, prompt.task) if name is not None}
    names.update(name for one in config.candidates if one.agent is not None for name in one.agent.files or ())
    return tuple(sorted(filter(is_plain_path, names)))  # ``load_config`` refuses the others


def with_prices(candidates: Sequence[CandidateSpec], prices: Mapping[str, Prices]) -> tuple[CandidateSpec, ...]:
    """Return the candidates with their prices filled in.

    A candidate's own prices are used if it has any, else the model's prices in ``prices``, else list prices.
    """
    known = ((one, one.prices or prices.get(one.model) or list_entry(one).prices) for one in candidates)
    return tuple(one.model_copy(update={"prices": with_helper_prices(one, own, prices)}) for one, own in known)


def with_user_prices(
    pinned: CandidateSpec, candidates: Sequence[CandidateSpec], prices: Mapping[str, Prices]
) -> CandidateSpec:
    """Return the pinned candidate with the user's prices.

    The prices are those of a candidate with the same model at the same address, else from ``prices``, else list prices.
    Prices in the baseline file are ignored.
    """
    fields = ("provider", "model", "base_url")
    same = (one.prices for one in candidates if all(getattr(one, name) == getattr(pinned, name) for name in fields))
    known = next((known for known in same if known is not None), None)
    return with_prices((pinned.model_copy(update={"prices": known}),), prices)[0]


def named_candidates(names: Sequence[str], place: str) -> tuple[CandidateSpec, ...]:
    """Return the checked candidates of short forms like ``openai:MODEL``.

    ``place`` names their source in messages.
    """
    candidates = tuple(parse_candidate(name) for name in names)
    for candidate in candidates:
        check_candidate(candidate, place)
    return candidates


def config_file(given: Path | None) -> Path | None:
    """Return ``given``; without it codegate.yml if it exists, else None."""
    return given or (Path(CONFIG_NAME) if Path(CONFIG_NAME).exists() else None)


def parent_config_hint() -> str:
    """Return a hint at a parent folder's configuration, or ""."""
    above = next((folder for folder in Path.cwd().parents if (folder / CONFIG_NAME).exists()), None)
    there = os.path.relpath(above / CONFIG_NAME) if above is not None else ""
    return f"{CONFIG_NAME} is looked for in this folder only, and there is {there}." if there else ""


def configuration(candidates: Sequence[CandidateSpec], path: Path | None) -> tuple[Config, Path]:
    """Read the configuration; return it with its folder.

    ``candidates`` replace the file's candidates. If candidates are given, but no ``path``, no file is read.
    """
    if path is None and candidates:
        return Config(candidates=with_prices(candidates, {})), Path()
    path = path or Path(CONFIG_NAME)
    settings = load_config(path, path.parent)
    if candidates:
        settings = settings.model_copy(update={"candidates": with_prices(candidates, settings.prices)})
    return settings, path.parent


def config_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``codegate.yml``."""
    schema = Config.model_json_schema()
    schema["$defs"]["CandidateSpec"]["properties"]["matrix"] = MATRIX_SCHEMA
    long_form = schema["properties"]["candidates"]["items"]
    short_form = {"type": "string", "description": f"provider:model[@base_url], for example {EXAMPLE_CANDIDATE}."}
    schema["properties"]["candidates"]["items"] = {"anyOf": [short_form, long_form, _agent_form(schema["$defs"])]}
    schema["properties"]["judge"]["anyOf"].insert(0, short_form)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": CONFIG_NAME}


def _agent_form(definitions: dict[str, Any]) -> dict[str, Any]:
    candidate = definitions["CandidateSpec"]["properties"]
    settings = dict(definitions["AgentSettings"]["properties"])
    agent = {"type": "string", "examples": list(AGENTS), "description": "The agent that the model works in."}
    settings.pop("name")
    rest = {name: value for name, value in candidate.items() if name not in {"agent", "solver", "provider", "model"}}
    model = {"type": "string", "description": "provider:model[@base_url]"}
    return {
        "type": "object",
        "properties": {"agent": agent, **settings, "provider": candidate["provider"], "model": model, **rest},
        "required": ["agent"],
        "anyOf": [{"required": ["model"]}, {"required": ["matrix"]}],
        "additionalProperties": False,
    }


def check_candidate(candidate: CandidateSpec, place: str) -> None:
    """Raise UsageError for a candidate that ``codegate run`` cannot call.

    Such a candidate has a floating alias as model, or its answers are in a predictions file. ``place`` begins the
    message.
    """
    if candidate.provider == "predictions":
        raise answers_in_file(f"{place}: candidate {candidate.label}")
    try:
        for one in (candidate, *candidate.helpers):
            check_snapshot(one)
    except UsageError as error:
        raise UsageError(f"{place}: {error.cause}", error.remedy) from error
