"""The plan of a run and its outcomes."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from codegate.candidates import CandidateSpec
from codegate.durable import digest
from codegate.gating import QUARANTINED
from codegate.gating.policy import MAX_LOOKS
from codegate.grading import Grade, OwnTests, Regressions
from codegate.sandbox import Assurance
from codegate.solving import AttemptSummary
from codegate.strict import Strict, log_json
from codegate.suite.model import Sha256

MAX_SAMPLES: Final = 100
MAX_OUTCOMES: Final = 1_000_000
"""Most outcomes (candidates x problems x samples) of one run. A larger plan is refused when it is read."""
MAX_SHARDS: Final = 256
"""Most shards, because a matrix of GitHub Actions can have no more jobs."""


BY_PROBLEM: Final = ("problems", "clusters", "tags", "origins", "plain")
"""Fields of a manifest with an entry per problem. A shard's manifest has only the entries of its own problems."""


def _optional(description: str, **limits: Any) -> Any:
    """Return a field that JSON leaves out if None."""
    return Field(default=None, exclude_if=lambda value: value is None, description=description, **limits)


class Fault(Strict):
    """An infrastructure fault that left an outcome without a grade."""

    cause: str = Field(description="Key of the row in the fault table, for example provider.rate_limit.")
    message: str = Field(max_length=2000)
    retries: int = Field(ge=0)


class PatchSize(Strict):
    """Size of a patch's source changes, and the reference fix's.

    Added and removed lines count; a line that moved within its file does not.
    """

    lines: int = Field(ge=0)
    reference_lines: int = Field(ge=0)
    files: int = Field(ge=1)
    outside: int = Field(ge=0, description="Files among these that the reference fix does not change.")


class Outcome(Strict):
    """One line of ``outcomes.jsonl``, with a grade or a fault.

    ``attempt`` is None if a fault came before the model had answered.
    """

    outcome_schema: Literal["codegate.outcome/1"] = Field(default="codegate.outcome/1", alias="schema")
    problem: str
    problem_digest: str
    candidate: str = Field(description="`CandidateSpec.key()`, or what a predictions file calls its model")
    sample: int = Field(ge=0)
    attempt: AttemptSummary | None = None
    grade: Grade | None = None
    fault: Fault | None = None
    lost: dict[str, Annotated[int, Field(ge=1)]] = Field(
        default={},
        exclude_if=lambda lost: not lost,
        description="Answers of this sample that were lost before the one recorded here, by fault. An answer may "
        "cause each of these faults, so such a sample counts against a pass.",
    )
    recall: float | None = Field(
        default=None, ge=0, le=1, description="Share of the reference fix that the patch repeats word for word."
    )
    size: PatchSize | None = _optional("Missing where no source file is changed.")
    own_tests: OwnTests | None = _optional("Missing where none were run.")
    regressions: Regressions | None = _optional(
        "Missing where the repository's full test suite was not run, or showed nothing."
    )
    regressions_fault: Fault | None = _optional(
        "What kept the repository's full test suite from running on this answer or on the reference fix."
    )
    harness_recall: float | None = _optional(
        "Share of the reference fix that the candidate's harness holds word for word.", ge=0, le=1
    )
    recited: bool = Field(default=False, description="The answer holds the suite's canary: the model has seen it.")
    sandbox: str | None = Field(
        default=None,
        max_length=1000,
        description="Assurance of the sandboxes, as `verified (docker, runc 1.3.5)`.",
    )
    grading_seconds: float = 0.0
    seconds: float | None = _optional("Time from the beginning of the attempt to its grade or fault, waiting included.")
    finished: str = Field(default="", description="UTC time, ISO 8601.")

    @model_validator(mode="after")
    def _grade_or_fault(self) -> "Outcome":
        if (self.grade is None) == (self.fault is None):
            raise ValueError("exactly one of `grade` and `fault` is set")
        return self

    def line(self) -> str:
        """Return the outcome as one line of JSON."""
        return json_text(self)

    def words(self) -> str:
        """Describe the outcome in a few words, for people."""
        if self.grade is None:
            return f"infrastructure: {self.fault.cause}" if self.fault else "infrastructure"
        if self.grade.resolved:
            return "solved"
        return f"{self.grade.failure} ({self.grade.tests_passed}/{self.grade.tests_total} tests)"

    @property
    def reused(self) -> bool:
        """Return whether the attempt was taken from an earlier run."""
        return self.attempt is not None and self.attempt.reused

    @property
    def key(self) -> tuple[str, str, int]:
        """Return candidate key, problem id and sample."""
        return (self.candidate, self.problem, self.sample)


class Shard(Strict):
    """Part ``number`` (from 1) of ``of`` parts of a run.

    ``problems`` is the number of problems of the whole run.
    """

    number: int = Field(ge=1, strict=True)
    of: int = Field(ge=1, le=MAX_SHARDS, strict=True)
    problems: int = Field(ge=1, strict=True)

    @model_validator(mode="after")
    def _possible(self) -> "Shard":
        if not self.number <= self.of <= self.problems:
            raise ValueError(f"there is no part {self.number} of {self.of} of {self.problems} problems")
        return self

    @property
    def words(self) -> str:
        """Return the shard as ``2/3``."""
        return f"{self.number}/{self.of}"


class ProblemRecord(Strict):
    """A problem's statement and reference fix (a diff), for reports."""

    statement: str
    fix: str


class ProblemOrigin(Strict):
    """The change that a problem was mined from, for reports.

    It may reveal the fix, so no model sees it.
    """

    title: str = ""
    date: str | None = None
    commit: str | None = None
    pull_request: int | None = None
    issues: tuple[int, ...] = ()
    project: str | None = Field(default=None, description="Web page of the repository.")


class RunManifest(Strict):
    """``run.json``: the plan of a run.

    Two runs with equal ``conditions`` are comparable.

    Attributes:
        samples: most samples per problem and candidate.
        looks: numbers of samples per problem at which the gate compares during the run; the last number is ``samples``.
            A candidate whose verdict is clear gets no more. A single entry: a fixed number of samples.
        gated_by: digest of the gate: baseline and policy, or only the policy if its floors decide; None: no gate.
        problems: digest by problem id, in suite order.
        excluded: by problem id, why it does not run.
        clusters: by problem id, the change that it was mined from, if several problems came from that change.
        plain: by problem id, the digest without the controls that validation adds, if there are any.
        proved: places (sandbox, base images, interpreters) where every problem of the suite was proved.
        shard: None for a whole run. A shard's manifest has only its own problems in the fields of ``BY_PROBLEM``.
        part: text that names the problems to which the run is restricted, or None; such a run is not gated.
        no_gate: the run was started with ``--no-gate``, and stays ungated when it is resumed.
    """

    run_schema: Literal["codegate.run/1"] = Field(default="codegate.run/1", alias="schema")
    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    created: str
    codegate: str
    suite: str
    suite_digest: str
    sandbox: str
    samples: int = Field(ge=1, le=MAX_SAMPLES)
    looks: tuple[Annotated[int, Field(ge=1)], ...] = Field(min_length=1, max_length=MAX_LOOKS)
    gated_by: Sha256 | None = None
    candidates: tuple[CandidateSpec, ...]
    problems: dict[str, str]
    excluded: dict[str, str] = {}
    clusters: dict[str, str] = {}
    tags: dict[str, tuple[str, ...]] = {}
    origins: dict[str, ProblemOrigin] = Field(default={}, description="By problem, the change that it was mined from.")
    conditions: dict[str, str]
    plain: dict[str, str] = {}
    proved: tuple[dict[str, str], ...] = ()
    prompts: dict[str, str] = Field(default={}, description="Prompt version by candidate key, as of this run.")
    shard: Shard | None = None
    part: str | None = Field(default=None, exclude_if=lambda part: part is None)
    no_gate: bool = Field(default=False, exclude_if=lambda no_gate: not no_gate)

    @model_validator(mode="after")
    def _bounded(self) -> "RunManifest":
        if len(self.candidates) * len(self.problems) * self.samples > MAX_OUTCOMES:
            raise ValueError(f"it plans more than {MAX_OUTCOMES} outcomes")
        if list(self.looks) != sorted(set(self.looks)) or self.looks[-1] != self.samples:
            raise ValueError(f"its looks at {list(self.looks)} samples do not ascend to its {self.samples} samples")
        return self

    @property
    def problem_count(self) -> int:
        """Return the whole run's number of problems, also for shards."""
        return self.shard.problems if self.shard is not None else len(self.problems)

    @property
    def trace_id(self) -> str:
        """Return the run's OpenTelemetry trace id, 32 hexadecimal digits."""
        return digest(["trace", self.id])[:32]

    def span_id(self, *part: str | int) -> str:
        """Return the id of the span ``part``, 16 hexadecimal digits."""
        return digest(["span", self.id, *part])[:16]

    @property
    def sequential(self) -> bool:
        """Return whether the run has several planned comparisons."""
        return len(self.looks) > 1

    def planned(self) -> tuple[tuple[str, int], ...]:
        """Return problem and sample of each outcome, in running order."""
        return tuple((name, index) for index in range(self.samples) for name in self.problems)

    def outcome_keys(self) -> tuple[tuple[str, str, int], ...]:
        """Return (candidate, problem, sample) of each outcome, in running order."""
        candidates = [candidate.key() for candidate in self.candidates]
        return tuple((candidate, *place) for place in self.planned() for candidate in candidates)

    def fingerprint(self) -> str:
        """Return a digest that is the same for equal plans.

        A repeated gate reuses the run with the same fingerprint; repeating a gate until it passes would defeat it.
        """
        plan = self.model_dump(mode="json", by_alias=True, exclude={"id", "created", "codegate", "candidates"})
        return digest({"plan": plan, "candidates": [candidate.key() for candidate in self.candidates]})

    def only(self, problems: Collection[str]) -> "RunManifest":
        """Return a copy restricted to these problems."""
        kept = {
            name: {problem: value for problem, value in getattr(self, name).items() if problem in problems}
            for name in BY_PROBLEM
        }
        return self.model_copy(update=kept)

    def without(self, unsound: Mapping[str, str]) -> "RunManifest":
        """Return a copy that excludes the ``unsound`` problems as quarantined."""
        return self.model_copy(
            update={
                "problems": {name: value for name, value in self.problems.items() if name not in unsound},
                "excluded": self.excluded | {name: f"{QUARANTINED}{reason}" for name, reason in unsound.items()},
            }
        )


class SoundnessRecord(Strict):
    """``soundness.json``: by problem, why it is unsound, or None.

    A problem is sound if on this machine the reference fix passes and the unchanged tree fails.
    """

    soundness_schema: Literal["codegate.soundness/1"] = Field(default="codegate.soundness/1", alias="schema")
    checked: AwareDatetime
    problems: dict[str, Annotated[str, StringConstraints(max_length=2000)] | None]


class SandboxRecord(Strict):
    """``sandbox.json``: the tested isolation of a run's sandboxes."""

    sandbox_schema: Literal["codegate.sandbox/1"] = Field(default="codegate.sandbox/1", alias="schema")
    assurances: tuple[Assurance, ...] = Field(max_length=200)


def json_text(model: BaseModel) -> str:
    """Return one line of ASCII JSON, with workflow commands escaped."""
    return log_json(model.model_dump(mode="json", by_alias=True))


class Run(BaseModel):
    """A run as read from its folder.

    A run has one outcome per (candidate, problem, sample). ``confirmation`` is the run that sampled the pinned model
    again after a regression, if any.
    """

    model_config = ConfigDict(frozen=True)

    manifest: RunManifest
    outcomes: tuple[Outcome, ...]
    assurances: tuple[Assurance, ...] = ()
    confirmation: "Run | None" = None

    def of(self, candidate: str) -> tuple[Outcome, ...]:
        """Return the outcomes of the candidate with this key."""
        return tuple(outcome for outcome in self.outcomes if outcome.candidate == candidate)
