"""Prove a suite again.

In every round the reference fix must resolve each problem, and the unfixed tree must not. The fix goes through
``grading.grade``, the code that grades a model's patch. Flaky tests are quarantined with their evidence; nothing is
dropped silently. A problem is released when its quarantine has expired and every round of the proof holds; otherwise
the quarantine is renewed.

The environment is built from its lock on the machine that runs this. If a rebuilt environment gives another result, the
proof fails and the evidence names the environment. Leaks are audited again too. Retired problems are left out.
"""

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, Literal

from codegate.durable import digest
from codegate.environments import VENV
from codegate.errors import Interrupted, UsageError
from codegate.grading import (
    Grade,
    Sandboxes,
    TestReport,
    base_images,
    find_flips,
    grade,
    grade_answer,
    run_hidden_tests,
    test_selection,
)
from codegate.mining.proving.leak import audit_leaks
from codegate.mining.proving.outcomes import quarantine
from codegate.sandbox import Backend, Command, SandboxError, close_soon
from codegate.solving import contains_code
from codegate.suite import (
    ControlAudit,
    LeakAudit,
    Problem,
    ProblemManifest,
    ProvedEnvironment,
    ProvedPlace,
    Quarantine,
    QuarantinedTest,
    Suite,
    Tree,
    load_base,
    load_suite,
    make_patch,
    record_proved,
    sandbox_place,
    update_problem,
)

_SECONDS: Final = 60.0
_WORKED: Final = 0.5
"""Tests that reach a time limit are slow themselves if they used more than this share of it as processor time."""
_LONGER: Final = 3.0
_MOST_SECONDS: Final = 3600.0
_SEEDS: Final = frozenset({"packaging", "pip", "setuptools", "wheel"})
"""Packages of every new virtual environment; their versions depend on the day."""
_PROGRAM: Final = """\
import glob, importlib.metadata, json, platform, sys
path = glob.glob(sys.argv[1])
found = {(d.metadata["Name"] or "", d.version) for d in importlib.metadata.distributions(path=path)}
print(json.dumps([platform.python_version(), sorted(found)]))
"""


@dataclass(frozen=True)
class Proof:
    """The result of proving one problem again.

    Attributes:
        rounds: how often the tests ran without the fix, and with it.
        oracle_resolved: number of rounds in which the reference fix resolved the problem, quarantined tests not
            counted.
        nop_resolved: number of rounds in which the unfixed tree passed every graded test.
        tests: hidden tests to quarantine, with the evidence.
        quarantine: why to quarantine the problem as a whole, or None.
        leaks: where a model can reach the fix or hidden tests; None: not audited.
        controls: changes of tests with which the reference fix fails; None: not searched for.
        cut_short: number of rounds in which the reference fix ran out of time or memory.
    """

    problem: str
    rounds: int
    oracle_resolved: int
    nop_resolved: int
    tests: tuple[QuarantinedTest, ...] = ()
    quarantine: Quarantine | None = None
    seconds: float = 0.0
    leaks: LeakAudit | None = None
    controls: ControlAudit | None = None
    cut_short: int = 0

    @property
    def proven(self) -> bool:
        """Return whether every round proved the problem."""
        holds = self.oracle_resolved == self.rounds and self.nop_resolved == 0 and not self.tests
        return holds and (self.leaks is None or self.leaks.clean)


@dataclass(frozen=True)
class ValidationReport:
    """The results of ``validate_suite``.

    Attributes:
        suite: the suite as it is on disk now, with the new quarantines.
        proofs: one for each problem that could be run, in suite order; none for retired problems.
        faults: by problem id, the infrastructure fault because of which it did not run.
        expired: ids of problems whose quarantine had expired.
        proved: the sandbox and packages with which problems were proved; None: no problem was.
    """

    suite: Suite
    proofs: tuple[Proof, ...]
    faults: dict[str, str]
    rounds: int
    seconds: float
    expired: tuple[str, ...] = ()
    proved: ProvedPlace | None = None

    @property
    def quarantined(self) -> tuple[str, ...]:
        """Return the problems that this validation quarantined."""
        return tuple(proof.problem for proof in self.proofs if proof.quarantine is not None)

    @property
    def released(self) -> tuple[str, ...]:
        """Return the problems whose quarantine this validation lifted."""
        return tuple(problem.id for problem in self.suite.active if problem.id in self.expired)

    @property
    def proven(self) -> bool:
        """Return whether every problem ran and was proved."""
        return not self.faults and all(proof.proven for proof in self.proofs)


def prove(problem: Problem, base: Tree, sandboxes: Sandboxes, rounds: int, today: date | None = None) -> Proof:
    """Return the proof that a problem's tests detect its fix.

    The fix is graded, and the hidden tests run without it, ``rounds`` times each, in fresh sandboxes. Leaks are audited
    once. Controls are searched for if the problem has none. A failed proof has a ``quarantine`` with the reason.

    Raises:
        SandboxError: a fault of the sandbox or its daemon.
    """
    started = time.monotonic()
    day = today or datetime.now(UTC).date()
    if problem.manifest.answer is not None:
        return _prove_question(problem, rounds, day)
    patch = make_patch(base, problem.fix)
    with sandboxes.open(problem.environment, problem.manifest.limits) as sandbox:
        from_tree = problem.environment.base is not None
        leaks = audit_leaks(base, problem.hidden, problem.fix, sandbox, problem.manifest.folder, from_tree=from_tree)
    controls = problem.manifest.controls
    if controls is None:
        controls = find_flips(problem, base, sandboxes)
        manifest = ProblemManifest.model_validate({**problem.manifest.model_dump(by_alias=True), "controls": controls})
        problem = replace(problem, manifest=manifest)
    grades, reports = [], []
    for _ in range(rounds):
        grades.append(_grade_fix(problem, base, patch, sandboxes))
        reports.append(run_hidden_tests(problem, base, sandboxes, test_selection(problem)))
    proof = proof_of(problem, grades, reports, day)
    aside = proof.quarantine
    if aside is None and not leaks.clean:
        evidence = f"what a model can reach gives the answer away: {'; '.join(leaks.findings)}"
        aside = quarantine("environment", evidence, day)
    return replace(proof, quarantine=aside, leaks=leaks, controls=controls, seconds=time.monotonic() - started)


def _grade_fix(problem: Problem, base: Tree, patch: str, sandboxes: Sandboxes) -> Grade:
    """Return the grade of the reference fix.

    If tests reached the time limit but spent most of it waiting, they run again with more time, because a busy machine
    may be the reason.
    """
    limits = problem.manifest.limits
    result = grade(problem, base, patch, sandboxes)
    if result.failure != "timeout" or (result.cpu_seconds or 0.0) > _WORKED * limits.seconds:
        return result
    longer = limits.model_copy(update={"seconds": min(_LONGER * limits.seconds, _MOST_SECONDS)})
    manifest = problem.manifest.model_copy(update={"limits": longer})
    return grade(replace(problem, manifest=manifest), base, patch, sandboxes)


def proof_of(problem: Problem, grades: list[Grade], reports: list[TestReport], today: date) -> Proof:
    """Return the proof from runs with and without the fix.

    ``grades`` are the reference fix's; ``reports`` are of the hidden tests on the base tree.
    """
    fixed = [{test.id: test.status for test in result.tests} for result in grades]
    unfixed = [
        {test: report.results[test].status for test in problem.tests.expected if test in report.results}
        for report in reports
    ]
    tests = []
    for test in problem.tests.expected:
        after = [statuses.get(test, "missing") for statuses in fixed]
        before = [statuses.get(test, "missing") for statuses in unfixed]
        reason = _unstable(after, before, fails_before=test in problem.tests.FAIL_TO_PASS)
        if reason is not None:
            evidence = f"fixed: {'/'.join(after)}; not fixed: {'/'.join(before)}"
            tests.append(QuarantinedTest(id=test, quarantine=quarantine(reason, evidence, today)))
    aside = {entry.id for entry in tests}
    graded = [test for test in problem.tests.expected if test not in aside]
    signal = any(test in graded for test in problem.tests.FAIL_TO_PASS)
    oracle = sum(_resolves(result, graded, aside) for result in grades)
    claimed = graded if signal else problem.tests.expected
    nop = sum(all(statuses.get(test) == "passed" for test in claimed) for statuses in unfixed)
    whole = None
    if oracle < len(grades) or nop or not signal:
        detail = next((f"{result.failure}: {result.detail}" for result in grades if not result.resolved), "")
        evidence = (
            f"reference fix resolved {oracle} of {len(grades)}, no change {nop} of {len(reports)}, "
            f"in environment {problem.environment.id} as built from its lock. {detail}"
        )
        if nop == len(reports):
            whole = quarantine("nop_resolves", evidence, today)
        else:
            whole = quarantine("oracle_fails" if oracle == 0 and signal else "flaky", evidence, today)
    short = sum(result.failure in {"timeout", "memory_exceeded"} for result in grades)
    return Proof(problem.id, len(grades), oracle, nop, tuple(tests), whole, cut_short=short)


def _prove_question(problem: Problem, rounds: int, today: date) -> Proof:
    # The result is the same in each round. Without the fix, the answer is empty, which is always wrong.
    answer = problem.reference_answer
    result = grade_answer(problem, answer, contains_code=contains_code(answer))
    if result.resolved:
        return Proof(problem.id, rounds, rounds, 0)
    return Proof(problem.id, rounds, 0, 0, (), quarantine("oracle_fails", result.detail, today))


def _resolves(result: Grade, graded: Sequence[str], aside: set[str]) -> bool:
    statuses = {test.id: test.status for test in result.tests}
    only_aside = bool(aside) and bool(result.tests) and result.failure != "tampering"
    return (result.resolved or only_aside) and all(statuses.get(test) == "passed" for test in graded)


def _unstable(
    after: Sequence[str], before: Sequence[str], *, fails_before: bool
) -> Literal["flaky", "nop_resolves"] | None:
    if any("passed" in statuses and set(statuses) != {"passed"} for statuses in (after, before)):
        return "flaky"
    if fails_before and set(before) == set(after) == {"passed"}:
        return "nop_resolves"
    return None


def validate_suite(
    suite: Suite,
    repository: Path | None,
    backend: Backend,
    rounds: int,
    progress: Callable[[Proof], None],
    concurrency: int = 2,
    today: date | None = None,
    waiting: Callable[[int, int, str], None] | None = None,
) -> ValidationReport:
    """Prove every problem again and write the results back.

    Retired problems are left out. New quarantines are written. So are the sandbox and the packages with which problems
    were proved. A new proof lifts or renews an expired quarantine; one that has not expired stays. ``concurrency``
    problems are proved at a time. The caller closes ``backend``.

    ``progress`` is called from worker threads for each finished problem. ``waiting`` is called every second with the
    number of finished problems, the number of all, and a text on the problems in progress.

    Raises:
        UsageError: the suite has no problems, or a base tree cannot be found.
        Interrupted: stopped by the user; proofs made by then are written.
    """
    tried = suite.active_or_quarantined
    if not tried:
        raise UsageError(f"{suite.folder / 'suite.yml'} has no problems.", "Mine some with `codegate mine`.")
    started = time.monotonic()
    day = today or datetime.now(UTC).date()
    expired = suite.expired(day)
    sandboxes = Sandboxes.of(suite, backend, repository)
    proofs: list[Proof] = []
    faults: dict[str, str] = {}

    begun: dict[str, float] = {}  # start time by id of each problem in progress

    def task(problem: Problem) -> Proof:
        begun[problem.id] = time.monotonic()
        try:
            proof = prove(problem, load_base(suite, problem, repository), sandboxes, rounds, day)
        finally:
            del begun[problem.id]
        progress(proof)
        return proof

    def wait_for(future: Future[Proof]) -> Proof:
        while waiting is not None and not wait([future], 1.0).done:
            now = time.monotonic()
            under_way = ", ".join(f"{name} ({now - since:.0f} s)" for name, since in tuple(begun.items()))
            waiting(sum(each.done() for _, each in futures), len(futures), f"proving {under_way}")
        return future.result()

    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="validate")
    try:
        futures = [(problem, pool.submit(task, problem)) for problem in tried]
        for problem, future in futures:
            try:
                proofs.append(wait_for(future))
            except SandboxError as error:
                place = suite.folder / "environments" / problem.environment.id
                faults[problem.id] = f"{error} ({place})"
                continue
            suite = _write_back(suite, problem, proofs[-1], day)
        proven = [proof.problem for proof in proofs if proof.proven]
        proved = _proved_place(suite, proven, sandboxes, rounds) if proven else None
        if proved is not None:
            record_proved(suite.folder, proved)
            suite = load_suite(suite.folder)
    except KeyboardInterrupt as error:
        pool.shutdown(wait=False, cancel_futures=True)
        close_soon(backend)
        raise Interrupted("validation was stopped; what was proven by then is written.") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        sandboxes.close()
    return ValidationReport(suite, tuple(proofs), faults, rounds, time.monotonic() - started, expired, proved)


def _write_back(suite: Suite, problem: Problem, proof: Proof, today: date) -> Suite:
    manifest, tests = problem.manifest, problem.tests
    changes: dict[str, object] = {}
    if proof.quarantine is not None and (problem.active or problem.expired(today)):
        changes |= {"status": "quarantined", "quarantine": proof.quarantine}
    elif proof.proven and problem.expired(today):
        changes |= {"status": "active", "quarantine": None}
    if proof.leaks is not None and proof.leaks != (manifest.leak_audit or LeakAudit()):
        changes["leak_audit"] = proof.leaks
    if proof.controls is not None and proof.controls != manifest.controls:
        changes["controls"] = proof.controls
    if changes:
        manifest = ProblemManifest.model_validate({**manifest.model_dump(by_alias=True), **changes})
    aside = {entry.id for entry in proof.tests}
    if aside and not aside.issuperset(tests.FAIL_TO_PASS):
        kept = {
            name: tuple(test for test in getattr(tests, name) if test not in aside)
            for name in ("FAIL_TO_PASS", "PASS_TO_PASS", "NONE_TO_PASS")
        }
        tests = tests.model_copy(update={**kept, "QUARANTINED": (*tests.QUARANTINED, *proof.tests)})
    if (manifest, tests) == (problem.manifest, problem.tests):
        return suite
    return update_problem(suite, replace(problem, manifest=manifest, tests=tests))


def _proved_place(suite: Suite, proven: Sequence[str], sandboxes: Sandboxes, rounds: int) -> ProvedPlace:
    problems = [problem for problem in suite.problems if problem.id in set(proven)]
    first = {problem.environment.id: problem for problem in reversed(problems)}
    return ProvedPlace(
        place=sandbox_place(sandboxes.backend.name, base_images(sandboxes.backend, suite.environments.values())),
        validated=datetime.now(UTC).isoformat(timespec="seconds"),
        rounds=rounds,
        environments={name: _installed(problem, sandboxes) for name, problem in sorted(first.items())},
        problems={problem.id: problem.digest for problem in problems},
    )


def _installed(problem: Problem, sandboxes: Sandboxes) -> ProvedEnvironment:
    place = f"{VENV}/lib/python3*/site-packages"
    command = Command(("{interpreter}", "-I", "-S", "-B", "-c", _PROGRAM, place), timeout_seconds=_SECONDS)
    with sandboxes.open(problem.environment, problem.manifest.limits) as sandbox:
        done = sandbox.run(command)
    if not done.ok:
        raise SandboxError(f"cannot list the packages of environment {problem.environment.id}: {done.stderr[-300:]!r}.")
    version, found = json.loads(done.stdout)
    packages = [entry for entry in found if entry[0] not in _SEEDS]
    return ProvedEnvironment(python=version, packages=digest([packages, [problem.environment.recipe]]))
