"""What the gate compares: per problem, the samples of one candidate, each passed, failed or not to be counted."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field


class Sample(BaseModel):
    """One graded attempt, reduced to what the gate needs. ``passed`` None: infrastructure, excluded with its reason.

    ``answer`` is a digest of the whole answer, by which copies are known; None where it was not kept.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    index: int = Field(ge=0)
    passed: bool | None
    score: float | None = Field(default=None, ge=0, le=100)
    failure: str | None = None
    answer: str | None = None


class CandidateSamples(BaseModel):
    """All samples of one candidate on a suite, with what they must have in common to be comparable.

    Attributes:
        conditions: what must be equal on both sides: the suite's digest, the grader, the sandbox.
        proved: places (sandbox, images) in which the suite was proved to grade the same, this one included.
        settings: what is under test, by field: model, provider, sampling, prompt, solver.
        problem_digests: by problem id, as are ``samples``.
        excluded: why the other problems of the suite were not run.
        clusters: the pull request that a problem comes from; a problem that is not named here stands alone.
        tags: a problem's cohorts.
        plain: by problem id its digest without controls, where it has any; it is known of a run only.
        limits: by failure class or fault, which limit of the candidate to raise; it is known of a run only.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    candidate: str
    label: str
    model: str
    conditions: Mapping[str, str]
    proved: tuple[Mapping[str, str], ...] = ()
    settings: Mapping[str, str] = {}
    problem_digests: Mapping[str, str]
    excluded: Mapping[str, str] = {}
    samples: Mapping[str, tuple[Sample, ...]]
    clusters: Mapping[str, str] = {}
    tags: Mapping[str, tuple[str, ...]] = {}
    plain: Mapping[str, str] = Field(default={}, exclude=True)
    limits: Mapping[str, str] = Field(default={}, exclude=True)

    @property
    def fields(self) -> dict[str, str]:
        """Return conditions and settings together: what samples of one candidate have in common to be pooled."""
        return {**self.conditions, **self.settings}
