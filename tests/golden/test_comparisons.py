"""Verdict, p values and intervals: 500 seeded comparisons by ``compare``, and some by ``codegate gate``."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from codegate.gating import CandidateSamples, GatePolicy, Sample, compare
from codegate.gating.policy import CohortPolicy
from tests.golden.golden import check, codegate, lines
from tests.golden.runs import write_run

_CASES: Final = 490
#: Decimals of every number: enough to see another formula, too few to see another order of additions.
_DECIMALS: Final = 10
_EVIDENCE: Final = (
    "kind", "advisory", "problems", "look", "futile", "baseline_rate", "candidate_rate", "difference",
    "interval", "p_regression", "p_noninferior", "level", "level_regressed", "detectable_drop", "population",
    "cohorts", "must_pass_failed",
)  # fmt: skip
_WORDS: Final = {"reason", "sentence", "advice"}
_CONDITIONS: Final = {"suite": "s" * 64, "grader": "1", "sandbox": "bwrap"}
_SETTINGS: Final = {"provider": "replay", "model": "x.jsonl", "prompt": "1", "max_output_tokens": "8192"}


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return round(value, _DECIMALS) + 0.0  # no negative zero
        case dict():
            return {key: _rounded(each) for key, each in value.items() if key not in _WORDS}
        case list():
            return [_rounded(each) for each in value]
    return value


def _evidence(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a verdict (as a document) decides and measures, without its words."""
    told = {name: verdict[name] for name in _EVIDENCE}
    told["cohorts"] = [[each[name] for name in ("tag", "problems", "p_holm", "upper")] for each in verdict["cohorts"]]
    told["flips"] = [len(verdict[name]) for name in ("regressions", "improvements")]
    told["lost"] = [flip["problem"] for flip in verdict["regressions"] if flip["beyond_chance"]]
    for name in ("mismatches", "changes"):
        told[name] = [each["field"] for each in verdict[name]]
    told["excluded"] = [each["problem"] for each in verdict["excluded"]]
    return {name: value for name, value in _rounded(told).items() if value not in (None, [], False)} | {
        "warnings": len(verdict["warnings"])
    }


class _Dice:
    """Draws from ``random()`` alone, whose numbers no version of Python changes."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed).random

    def one_of(self, *values: Any) -> Any:
        return values[int(self.draw() * len(values))]

    def chance(self, share: float) -> bool:
        return self.draw() < share


def _samples(dice: _Dice, rates: Mapping[str, float], samples: int, faults: float, copies: bool) -> dict[str, Any]:
    """Draw samples by problem: passed with the problem's rate, lost with the rate of faults."""
    drawn = {}
    for problem, rate in rates.items():
        first = dice.chance(rate)
        entries = []
        for index in range(samples):
            passed = None if dice.chance(faults) else first if copies else dice.chance(rate)
            failure = "provider.timeout" if passed is None else None if passed else dice.one_of("logic_error", "cut")
            answer = ("same" if copies else f"{problem}-{index}") if passed is not None else None
            score = None if passed is None else 100.0 * passed
            lost = {"provider.timeout": 1} if passed is None else {}
            entries.append(Sample(index=index, passed=passed, score=score, failure=failure, answer=answer, lost=lost))
        drawn[problem] = tuple(entries)
    return drawn


def _case(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the case of this number compares, in short, and what came of it."""
    dice = _Dice(number)
    n = dice.one_of(1, 6, 10, 12, 16, 20, 30, 30, 50, 80)
    policy = GatePolicy(
        alpha=dice.one_of(0.05, 0.05, 0.01, 0.1),
        margin=dice.one_of(0.1, 0.1, 0.05, 0.2),
        max_samples=dice.one_of(1, 10, 10),
        compare=dice.one_of("candidate", "candidate", "model"),
        drop_changed=dice.chance(0.2),
        must_pass=("p00",) if dice.chance(0.1) else (),
        cohorts={"red": CohortPolicy(floor=0.7, tier=dice.one_of("critical", "supporting", "advisory"))}
        if dice.chance(0.2)
        else {},
    )
    drop = dice.one_of(-0.1, 0.0, 0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
    taken = dice.one_of(*policy.looks)
    faults, copies = dice.one_of(0.0, 0.0, 0.0, 0.01, 0.15), dice.chance(0.1)
    rates = {f"p{index:02}": dice.one_of(0.0, 0.3, 0.6, 0.9, 1.0, 1.0) for index in range(n)}
    lower = {problem: min(1.0, max(0.0, rate - drop)) for problem, rate in rates.items()}
    digests = {problem: f"digest of {problem}" for problem in rates}
    pinned = CandidateSamples(
        candidate="old", label="old", model="model-old", conditions=_CONDITIONS, settings=_SETTINGS,
        problem_digests=digests, samples=_samples(dice, rates, dice.one_of(1, 5, 10), faults / 2, copies=False),
        clusters={p: f"pull {int(p[1:]) // 2}" for p in rates} if dice.chance(0.4) else {},
        tags={p: ("red" if int(p[1:]) % 3 else "blue",) for p in rates},
    )  # fmt: skip
    candidate = pinned.model_copy(
        update={
            "candidate": "new", "label": "new", "model": "model-new",
            "conditions": _CONDITIONS | ({"grader": "2"} if dice.chance(0.03) else {}),
            "settings": _SETTINGS | ({"prompt": "2"} if dice.chance(0.1) else {}) | {"model": "y.jsonl"},
            "problem_digests": digests | ({"p00": "changed"} if dice.chance(0.1) else {}),
            "samples": _samples(dice, lower, taken, faults, copies),
        }
    )  # fmt: skip
    looks = policy.looks if dice.chance(0.7) else None
    together, confirming = dice.one_of(1, 1, 2, 3), dice.chance(0.1)
    verdict = compare(pinned, candidate, policy, looks=looks, candidates=together, confirming=confirming)
    given = {"n": n, "drop": drop, "samples": taken, "looks": looks, "together": together, "confirming": confirming}
    return given | {"margin": policy.margin}, verdict.model_dump(mode="json")


def test_comparisons() -> None:
    rows = {}
    for number in range(_CASES):
        given, verdict = _case(number)
        rows[f"{number:03}"] = {"given": given, **_evidence(verdict)}
    kinds = {row["kind"] for row in rows.values()}
    assert kinds == {"pass", "regressed", "inconclusive", "incomparable", "infrastructure"}
    check("comparisons.json", lines(rows))


@pytest.mark.sandbox
def test_gates_of_written_runs(tmp_path: Path) -> None:
    policies: dict[str, dict[str, float]] = {
        "default": {},
        "strict": {"alpha": 0.01, "margin": 0.05},
    }
    for name, policy in policies.items():
        (tmp_path / f"{name}.yml").write_text(json.dumps({"candidates": ["empty"], "gate": policy}))
    rates = {f"p-{index:02}": (1.0, 0.9, 0.5, 0.9)[index % 4] for index in range(40)}

    def write(name: str, seed: int, drop: float = 0.0, samples: int = 3, grader: str = "1", lost: float = 0.0) -> None:
        dice = _Dice(seed)
        results = {
            problem: [None if dice.chance(lost) else dice.chance(rate - drop) for _ in range(samples)]
            for problem, rate in rates.items()
        }
        write_run(tmp_path / name, results, "m-2025-06-01" if name == "pinned" else "m-2025-12-01", grader)

    write("pinned", 1, samples=10)
    write("same", 2, samples=10)
    write("worse", 3, drop=0.4)
    write("slightly", 4, drop=0.08)
    write("other-grader", 5, grader="2")
    write("lost", 6, lost=0.6)
    assert codegate("baseline", "pin", "pinned", cwd=tmp_path).code == 0
    rows = {}
    for run, chosen in (
        ("same", "default"), ("same", "strict"), ("worse", "default"), ("slightly", "default"),
        ("slightly", "strict"), ("other-grader", "default"), ("lost", "default"),
    ):  # fmt: skip
        done = codegate("gate", run, "--config", f"{chosen}.yml", "--json", cwd=tmp_path)
        assert done.stdout, done.stderr
        (verdict,) = done.document["verdicts"]
        rows[f"{run}, {chosen}"] = {"exit": done.code, **_evidence(verdict)}
    check("gates.json", lines(rows))
