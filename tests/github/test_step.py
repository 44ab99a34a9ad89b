"""What a step ends with, where several candidates were judged."""

import io

import pytest

from codegate.errors import ExitCode, UsageError
from codegate.gating.verdict import VerdictKind
from codegate.github.step import bug_result, fault_result, step_outputs
from codegate.github.workflow import StepLog
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


def test_an_error_that_is_commented_on_holds_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "canary-Zq7Lw2Xv9Rt4Bn8Kp1"
    monkeypatch.setenv("PROVIDER_TOKEN", f"{secret}\n")
    for result in (bug_result(StepLog(io.StringIO()), f"ValueError: {secret}"), fault_result(UsageError(secret))):
        assert secret not in repr(result)
        assert "[redacted]" in result.annotations[0][2]
