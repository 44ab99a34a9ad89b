"""The gate's policy: what counts as a drop, how sure one must be, and what is too little to say."""

from pydantic import BaseModel, ConfigDict, Field


class GatePolicy(BaseModel):
    """Thresholds of the gate. Every value has a default; unknown keys and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    alpha: float = Field(
        default=0.05,
        ge=0.001,
        le=0.2,
        description="One-sided error rate: how often an equal candidate may be called regressed, and a "
        "candidate that is worse by the margin may be called a pass.",
    )
    margin: float = Field(
        default=0.10,
        ge=0.01,
        le=0.25,
        description="Largest tolerated drop of the pass rate, as a share: 0.10 is ten percentage points.",
    )
    min_problems: int = Field(
        default=16,
        ge=2,
        le=100_000,
        description="Below this number of compared problems the gate is advisory: it may report a regression "
        "but never a pass.",
    )
    max_missing: float = Field(
        default=0.05,
        ge=0.0,
        le=0.5,
        description="Largest share of problems, and of the samples of either side, that infrastructure faults may "
        "take out of the comparison; above it the verdict is infrastructure.",
    )
