"""A run with every kind of outcome, built by hand, for the reporting tests; ``text`` is what the attacker controls."""

from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from typing import Any

from codegate.candidates import CandidateSpec, Message, Prices, Usage
from codegate.gating import CandidateSamples, GatePolicy, Sample, Verdict, compare
from codegate.grading import Behaviour, Grade, TestResult
from codegate.grading.grade import LintResult
from codegate.reporting import Evidence, ReportTerms, ReportView, build_view
from codegate.running import Outcome, Run, ScoreWeights, candidate_samples
from codegate.running.outcome import Fault, PatchSize, ProblemOrigin, ProblemRecord
from codegate.solving.attempt import DroppedPath
from tests.kit import runs

PATCH = """\
diff --git a/src/money.py b/src/money.py
--- a/src/money.py
+++ b/src/money.py
@@ -12,7 +12,7 @@ class Money:
     def split(self, parts: int) -> list["Money"]:
-        share = self.cents // parts
+        share, rest = divmod(self.cents, parts)
         return [Money(share) for _ in range(parts)]
"""
OUTPUT = """\
    def test_split_keeps_every_cent():
>       assert sum(m.cents for m in Money(100).split(3)) == 100
E       assert 99 == 100

tests/test_money.py:31: AssertionError
"""


def bounded(text: str) -> str:
    """Return what a field with a length limit takes: pydantic refuses lone surrogates there."""
    return text.encode("utf-8", "replace").decode()[:2000]


def grade(*, resolved: bool, text: str = "", output: str = OUTPUT) -> Grade:
    """Return the grade of a patch that resolves its problem or fails one of four tests."""
    known: dict[str, Any] = {"applied": True, "compiled": True, "tests_total": 4}
    if resolved:
        lint = LintResult(new_findings=0, score=100)
        known |= {"resolved": True, "score": 100, "tests_passed": 4, "lint": lint, "exit_code": 0}
        return Grade(**known, seconds=0.41, peak_memory_bytes=31_000_000)
    failed = TestResult(
        id=f"tests/test_money.py::test_split_keeps_every_cent{text}", status="failed",
        exception=f"AssertionError{text}", message=bounded(f"assert 99 == 100{text}"),
    )  # fmt: skip
    behaviour = Behaviour(
        watched=True, counts={"network": 3, "processes": 1}, limits=("output",),
        details={"network": (f"connect 192.0.2.1:80{text}",), "processes": ("/bin/sh",)},
    )  # fmt: skip
    return Grade(
        **known, resolved=False, score=75, tests_passed=3, failure="logic_error",
        detail=bounded(f"AssertionError: assert 99 == 100{text}"),
        tests=(failed, TestResult(id="tests/test_money.py::test_split", status="passed")),
        lint=LintResult(new_findings=2, score=80, rules=("F841", "E711")), exit_code=1, seconds=0.38,
        peak_memory_bytes=33_000_000, output=output + text, behaviour=behaviour,
    )  # fmt: skip


def outcome(spec: CandidateSpec, problem: str, result: bool | None, *, sample: int = 0, text: str = "") -> Outcome:
    """Return the outcome of a passed, failed or (None) faulted attempt."""
    lost = Fault(cause="provider.rate_limit", message=bounded(f"429 Too Many Requests{text}"), retries=3)
    if result is None:
        return runs.outcome(None, problem, sample, spec, problem_digest="0" * 64, attempt=None, fault=lost)
    attempt = runs.attempt(
        solver="single_shot", prompt_version="1", patch=PATCH + text, patch_error=text or None,
        dropped=(DroppedPath(path=f"tests/test_money.py{text}", reason="test"),), contains_code=True,
        usage=Usage(input_tokens=1850, output_tokens=240), models=(spec.model,), model_seconds=1.5 + len(problem) / 10,
    )  # fmt: skip
    size = PatchSize(lines=3, reference_lines=4, files=2, outside=1)
    made = {"problem_digest": "0" * 64, "attempt": attempt, "grade": grade(resolved=result, text=text), "size": size}
    return runs.outcome(result, problem, sample, spec, **made)


def run_of(
    results: dict[str, dict[str, list[bool | None]]],
    *,
    text: str = "",
    excluded: dict[str, str] | None = None,
    run: str = "20250601-120000",
) -> Run:
    """Return a run from candidate name to problem to results, one per sample."""
    specs = {
        name: CandidateSpec(provider="openai").model_copy(
            update={"model": f"{name}-2025-04-14{text}", "name": f"{name}{text}"}
        )
        for name in results
    }
    problems = list(dict.fromkeys(problem for entries in results.values() for problem in entries))
    samples = max((len(found) for entries in results.values() for found in entries.values()), default=1)
    return Run(
        manifest=runs.manifest(
            samples,
            tuple(specs.values()),
            created="2025-06-01T12:00:00+00:00",
            suite=f"quickstart{text}",
            problems=dict.fromkeys(problems, "0" * 64),
            excluded=excluded or {},
            origins={
                name: ProblemOrigin(
                    title=f"Fix {name} losing a cent",
                    date="2025-03-02",
                    commit=f"{number:040x}",
                    pull_request=100 + number,
                    issues=(7,),
                    project="https://github.com/acme/shop",
                )
                for number, name in enumerate(problems)
            },
            conditions={"suite": "d" * 64},
        ).model_copy(update={"id": f"{run}{text}"}),
        outcomes=tuple(
            outcome(specs[name], problem, result, sample=sample, text=text)
            for name, entries in results.items()
            for problem, found in entries.items()
            for sample, result in enumerate(found)
        ),
    )


def altered(run: Run, *changes: dict[str, Any], spec: CandidateSpec | None = None, **plan: Any) -> Run:
    """Return the run with these fields of its outcomes, one by one, and of its plan changed.

    A table for ``attempt`` or ``grade`` changes fields of it; ``spec`` replaces the run's only candidate.
    """
    own: dict[str, Any] = {} if spec is None else {"candidate": spec.key()}
    outcomes = []
    for one, fields in zip(run.outcomes, (*changes, *[{}] * len(run.outcomes)), strict=False):
        parts = {name: getattr(one, name) for name, value in fields.items() if isinstance(value, dict)}
        inner = {name: part and part.model_copy(update=fields[name]) for name, part in parts.items()}
        outcomes.append(one.model_copy(update=own | fields | inner))
    plan |= {} if spec is None else {"candidates": (spec,)}
    return run.model_copy(update={"outcomes": tuple(outcomes), "manifest": run.manifest.model_copy(update=plan)})


def samples_of(run: Run, spec: CandidateSpec) -> CandidateSamples:
    """Return what the gate sees of one candidate."""
    pinned, _, text = spec.model.partition("-2025-04-14")
    settings = {"max_output_tokens": f"{8192 if pinned == 'pinned' else 32000}{text}"}
    made = candidate_samples(run, spec)
    scoreless = {name: tuple(one.model_copy(update={"score": None}) for one in of) for name, of in made.samples.items()}
    return made.model_copy(update={"settings": settings, "samples": scoreless})


def example(text: str = "", n: int = 30) -> tuple[Run, tuple[Verdict, ...]]:
    """Return a run of a good and a worse candidate on ``n`` problems, and both verdicts."""
    names = [f"{kind}-{i:02}{text}" for i, kind in zip(range(n), ["money", "dates", "cache"] * n, strict=False)]
    good: dict[str, list[bool | None]] = {name: [i % 6 != 5] for i, name in enumerate(names)}
    worse: dict[str, list[bool | None]] = {name: [i % 2 == 0] for i, name in enumerate(names)}
    pinned: dict[str, list[bool | None]] = {name: [i % 6 != 4] for i, name in enumerate(names)}
    worse[names[2]] = [None]
    run = run_of({"good": good, "worse": worse}, text=text, excluded={f"flaky-01{text}": f"quarantined: flaky{text}"})
    baseline = samples_of(base := run_of({"pinned": pinned}, text=text), base.manifest.candidates[0])
    verdicts = [compare(baseline, samples_of(run, spec), GatePolicy()) for spec in run.manifest.candidates]
    other = baseline.model_copy(update={"conditions": {"suite": f"e{text}"}})
    verdicts.append(compare(baseline, other, GatePolicy()))
    return run, tuple(verdicts)


def pinned_samples(text: str = "", n: int = 30) -> CandidateSamples:
    """Return the samples of the baseline that ``example`` compares with; one of its failures is hostile."""
    names = [f"{kind}-{i:02}{text}" for i, kind in zip(range(n), ["money", "dates", "cache"] * n, strict=False)]
    base = run_of({"pinned": {name: [i % 6 != 4] for i, name in enumerate(names)}}, text=text)
    samples = samples_of(base, base.manifest.candidates[0])
    odd = (Sample(index=0, passed=False, score=50, failure=f"odd{text}"),)
    return samples.model_copy(update={"samples": {**samples.samples, names[0]: odd}})


@cache
def example_view(text: str = "", n: int = 30) -> ReportView:
    """Return the view of ``example`` with all there can be beside it: transcripts, prices, tags, a baseline."""
    run, verdicts = example(text, n)
    names = list(run.manifest.problems)
    tags = {name: (f"kind:{name.partition('-')[0]}{text}", f"date:202{i % 4}-01-01") for i, name in enumerate(names)}
    run = altered(run, tags=tags)

    def transcripts(_run: str, _outcome: Outcome) -> Sequence[Message]:
        return (
            Message(role="user", text=f"Splitting money loses a cent.{text}"),
            Message(role="assistant", text=f"Here is the fix.{text}"),
        )

    prices = {spec.model: Prices(input=Decimal(2), output=Decimal(10)) for spec in run.manifest.candidates}
    weights = ScoreWeights(context=0.15)
    terms = ReportTerms(prices, Decimal("0.12"), weights, max_cost_per_resolved=0.001, max_p95_latency=0.5)

    def problems(_run: str, name: str) -> ProblemRecord:
        return ProblemRecord(
            statement=f"Money is lost in {name}.{text}", fix=PATCH.replace("// parts", f"/ parts{text}")
        )

    return build_view([run], verdicts, Evidence(terms, pinned_samples(text, n), transcripts, problems))
