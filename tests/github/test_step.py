"""What a step ends with, where several candidates were judged."""

import pytest

from codegate.errors import ExitCode
from codegate.gating.verdict import VerdictKind
from codegate.github.step import step_outputs
from codegate.reporting import build_view
from tests.reporting.example import example


@pytest.mark.parametrize(
    ("kinds", "shown"),
    [
        (("pass", "regressed"), "regressed"),
        (("regressed", "infrastructure"), "infrastructure"),
        (("inconclusive", "incomparable"), "incomparable"),
    ],
)
def test_the_figures_are_those_of_the_verdict_that_decides(
    kinds: tuple[VerdictKind, VerdictKind], shown: VerdictKind
) -> None:
    run, verdicts = example()
    judged = [
        verdict.model_copy(update={"kind": kind, "problems": number})
        for number, (verdict, kind) in enumerate(zip(verdicts, kinds, strict=False))
    ]
    outputs = step_outputs(build_view([run], judged), ExitCode.INCONCLUSIVE)
    assert outputs["verdict"] == shown
    assert outputs["problems"] == str(kinds.index(shown))
