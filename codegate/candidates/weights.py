"""Weights of the weighted score in reports; the gate does not use it."""

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ScoreWeights(BaseModel):
    """Weights of the parts of the weighted score, relative to their sum, and two half-value points."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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
