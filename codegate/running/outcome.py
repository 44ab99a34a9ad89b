"""Outcome: attempt and grade, one line of a run's journal; and the run's own description."""

import json
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from codegate.candidates import CandidateSpec
from codegate.grading import Grade
from codegate.sandbox import Assurance
from codegate.solving import AttemptSummary

RUN_SCHEMA: Literal["codegate.run/1"] = "codegate.run/1"
OUTCOME_SCHEMA: Literal["codegate.outcome/1"] = "codegate.outcome/1"
SANDBOX_SCHEMA: Literal["codegate.sandbox/1"] = "codegate.sandbox/1"
MAX_SAMPLES: Final = 100
MAX_OUTCOMES: Final = 1_000_000
"""Candidates x problems x samples of one run: a plan that no journal could hold is refused when it is read."""


class Fault(BaseModel):
    """Why an outcome has no grade: an infrastructure fault, after its retries."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cause: str = Field(description="Key of the row in the fault table, for example provider.rate_limit.")
    message: str = Field(max_length=2000)
    retries: int = Field(ge=0)


class Outcome(BaseModel):
    """One line of ``outcomes.jsonl``: exactly one of ``grade`` and ``fault`` is set.

    ``attempt`` is None when the fault came before the model had answered.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    outcome_schema: Literal["codegate.outcome/1"] = Field(default=OUTCOME_SCHEMA, alias="schema")
    problem: str
    problem_digest: str
    candidate: str = Field(description="`CandidateSpec.key()`, or what a predictions file calls its model")
    sample: int = Field(ge=0)
    attempt: AttemptSummary | None = None
    grade: Grade | None = None
    fault: Fault | None = None
    recall: float | None = Field(
        default=None, ge=0, le=1, description="Share of the reference fix that the patch repeats word for word."
    )
    recited: bool = Field(default=False, description="The answer holds the suite's canary: the model has seen it.")
    sandbox: str | None = Field(
        default=None,
        max_length=1000,
        description="What was found of the sandboxes, as `verified (docker, runc 1.3.5)`.",
    )
    grading_seconds: float = 0.0
    finished: str = Field(default="", description="UTC time, ISO 8601.")

    @model_validator(mode="after")
    def _grade_or_fault(self) -> "Outcome":
        if (self.grade is None) == (self.fault is None):
            message = "exactly one of `grade` and `fault` is set"
            raise ValueError(message)
        return self

    def line(self) -> str:
        """Return the outcome as one line of JSON.

        Patches and test names can hold bytes that are not UTF-8, as lone surrogates: only escaped do they survive.
        """
        return json_text(self)

    def words(self) -> str:
        """Return the outcome in a few words, for people."""
        if self.grade is None:
            return f"infrastructure: {self.fault.cause}" if self.fault else "infrastructure"
        if self.grade.resolved:
            return "solved"
        return f"{self.grade.failure} ({self.grade.tests_passed}/{self.grade.tests_total} tests)"

    @property
    def key(self) -> tuple[str, str, int]:
        """Return (candidate, problem, sample): at most one counted outcome each."""
        return (self.candidate, self.problem, self.sample)


class RunManifest(BaseModel):
    """``run.json``: what the run is made of; two runs with equal ``conditions`` are comparable.

    ``problems`` maps problem id to digest, in suite order; ``excluded`` problem id to the reason it does not run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    run_schema: Literal["codegate.run/1"] = Field(default=RUN_SCHEMA, alias="schema")
    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    created: str
    codegate: str
    suite: str
    suite_digest: str
    sandbox: str
    samples: int = Field(ge=1, le=MAX_SAMPLES)
    candidates: tuple[CandidateSpec, ...]
    problems: dict[str, str]
    excluded: dict[str, str] = {}
    conditions: dict[str, str]
    prompts: dict[str, str] = Field(default={}, description="Prompt version by candidate key, as of this run.")

    @model_validator(mode="after")
    def _bounded(self) -> "RunManifest":
        if len(self.candidates) * len(self.problems) * self.samples > MAX_OUTCOMES:
            message = f"it plans more than {MAX_OUTCOMES} outcomes"
            raise ValueError(message)
        return self


class SandboxRecord(BaseModel):
    """``sandbox.json``: what was found of the sandboxes that a run used, whenever it was carried on."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    sandbox_schema: Literal["codegate.sandbox/1"] = Field(default=SANDBOX_SCHEMA, alias="schema")
    assurances: tuple[Assurance, ...] = Field(max_length=200)


def json_text(model: BaseModel) -> str:
    """Return ``model`` as JSON in ASCII, on one line in which no CI system finds a command to itself."""
    text = json.dumps(model.model_dump(mode="json", by_alias=True), ensure_ascii=True, allow_nan=False)
    return text.replace("##[", "#\\u0023[")


class Run(BaseModel):
    """A run as read from its folder: the manifest, the outcome that counts for each key, what holds its sandboxes."""

    model_config = ConfigDict(frozen=True)

    manifest: RunManifest
    outcomes: tuple[Outcome, ...]
    assurances: tuple[Assurance, ...] = ()

    def of(self, candidate: str) -> tuple[Outcome, ...]:
        """Return the outcomes of the candidate with this key."""
        return tuple(outcome for outcome in self.outcomes if outcome.candidate == candidate)
