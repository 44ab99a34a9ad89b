import re
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from codegate.durable import digest
from codegate.errors import ExitCode, Interrupted, UsageError
from codegate.grading import Grade, TestReport, TestResult
from codegate.grading.grade import TestStatus
from codegate.mining import Proof, validate_suite
from codegate.mining.proving.proof import proof_of
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import (
    Base,
    ControlAudit,
    Environment,
    Problem,
    ProblemLimits,
    ProblemManifest,
    Quarantine,
    Suite,
    TestSets,
    Tree,
    TreeFile,
    load_suite,
    make_problem,
    write_suite,
)
from tests.kit import problem as kit
from tests.kit.environment import PLAIN, PYTHON, recorded
from tests.kit.problem import changes
from tests.kit.repository import HistoryBuilder

TODAY = date(2025, 6, 1)


def unseen(_: Proof) -> None:
    """What is proven is in the report."""


A, B = "test_pkg.py::test_a", "test_pkg.py::test_b"


def _problem(
    name: str,
    fixed: str = "x = 2\n",
    tests: str = "import pkg\n\ndef test_a():\n    assert pkg.x == 2\n\ndef test_b():\n    assert pkg.x > 0\n",
    known: tuple[str, ...] = (B,),
) -> Problem:
    base = Tree({"pkg.py": TreeFile(b"x = 1\n")})
    return kit.problem(
        name, PLAIN.manifest, hidden=changes({"test_pkg.py": tests}), fix=changes({"pkg.py": fixed}), wanted=[A],
        known=known, base_digest=base.digest(),
    )  # fmt: skip


BARE = recorded("bare", python=PYTHON)
QUESTION = kit.problem(
    "q", BARE.manifest, wanted=["answer::prose"], hidden={}, fix=changes({"answer.md": "Yes."}), answer="prose",
    test_files=(),
)  # fmt: skip
"""A problem without tests to run."""


class TestJudge:
    def _judge(self, fixed: list[str], unfixed: list[str]) -> Proof:
        """Judge rounds given as two letters each: the status of test_a and of test_b."""
        names: dict[str, TestStatus] = {"p": "passed", "f": "failed"}
        grades, reports = [], []
        for a, b in map(tuple, fixed):
            tests = (TestResult(id=A, status=names[a]), TestResult(id=B, status=names[b]))
            passed = sum(test.status == "passed" for test in tests)
            grades.append(
                Grade(resolved=passed == 2, score=50.0 * passed, tests_passed=passed, tests_total=2, tests=tests)
            )
        for a, b in map(tuple, unfixed):
            results = {A: TestResult(id=A, status=names[a]), B: TestResult(id=B, status=names[b])}
            reports.append(TestReport(results=results))
        return proof_of(_problem("p"), grades, reports, TODAY)

    @pytest.mark.parametrize(
        ("fixed", "unfixed", "quarantined", "reason"),
        [
            (["pp", "pp", "pp"], ["fp", "fp", "fp"], [], None),
            (["pp", "pf", "pp"], ["fp", "fp", "fp"], ["test_b"], None),
            (["pp", "pp", "pp"], ["fp", "ff", "fp"], ["test_b"], None),
            (["pp", "fp", "pp"], ["fp", "fp", "fp"], ["test_a"], "flaky"),
            (["pp", "pp", "pp"], ["fp", "pp", "fp"], ["test_a"], "flaky"),
            (["ff", "ff", "ff"], ["fp", "fp", "fp"], [], "oracle_fails"),
            (["pp", "pp", "pp"], ["pp", "pp", "pp"], ["test_a"], "nop_resolves"),
        ],
    )
    def test_what_flickers_is_set_aside_and_what_is_left_must_hold(
        self, fixed: list[str], unfixed: list[str], quarantined: list[str], reason: str | None
    ) -> None:
        proof = self._judge(fixed, unfixed)
        assert [entry.id.rpartition("::")[2] for entry in proof.tests] == quarantined
        assert (proof.quarantine.reason if proof.quarantine else None) == reason
        assert proof.proven == (not quarantined and reason is None)

    def test_a_problem_that_lost_a_test_still_holds_without_it(self) -> None:
        proof = self._judge(["pp", "pf"], ["fp", "fp"])
        assert (proof.oracle_resolved, proof.nop_resolved) == (2, 0)
        assert proof.tests[0].quarantine.evidence == "fixed: passed/failed; not fixed: passed/passed"


@pytest.mark.bwrap
class TestValidateSuite:
    def _suite(self, history: HistoryBuilder, *problems: Problem, environment: Environment = PLAIN) -> Suite:
        history.commit("begin", {"pkg.py": "x = 1\n"})
        base = Base(commit=history.git("rev-parse", "HEAD"))
        placed = [
            make_problem(
                problem.manifest.model_copy(update={"base": base}), problem.statement, problem.tests, problem.hidden,
                problem.fix, environment.manifest,
            )
            for problem in problems
        ]  # fmt: skip
        return write_suite(
            history.folder / "suite", name="tests", repository="..", problems=placed,
            environments=[environment],
        )  # fmt: skip

    @pytest.mark.full
    @pytest.mark.parametrize(("wait", "quarantined"), [("time.sleep(5)", ()), ("while True:\n        pass", ("slow",))])
    def test_tests_that_only_waited_past_their_limit_get_more_time(
        self, history: HistoryBuilder, bwrap_backend: BubblewrapBackend, wait: str, quarantined: tuple[str, ...]
    ) -> None:
        tests = f"import time\nimport pkg\n\ndef test_a():\n    {wait}\n    assert pkg.x == 2\n"
        problem = _problem("slow", tests=tests, known=())
        manifest = problem.manifest.model_copy(update={"limits": ProblemLimits(seconds=4)})
        suite = self._suite(history, replace(problem, manifest=manifest))

        report = validate_suite(suite, history.folder, bwrap_backend, rounds=1, progress=unseen)

        assert report.quarantined == quarantined

    def test_one_validation_proves_problems_with_and_without_what_they_need(
        self, history: HistoryBuilder, bwrap_backend: BubblewrapBackend
    ) -> None:
        fixed = "def brass_lantern():\n    return 'a light in the dark'\n\nx = 2\n"
        history.commit("built", {"build/pkg.py": fixed, "docs/more.txt": "nothing\n"})
        holds, broken = _problem("holds"), ("test_pkg.py::test_c",)
        sets = TestSets(FAIL_TO_PASS=(A, B), NONE_TO_PASS=(A, B), EXPECTED_FAIL=broken)
        gone = _problem("gone", fixed="x = 3\n")
        aside = Quarantine(reason="environment", evidence="no longer builds", expires=TODAY)
        retired = {**gone.manifest.model_dump(by_alias=True), "status": "retired", "quarantine": aside}
        gone = replace(gone, manifest=ProblemManifest.model_validate(retired))
        less = replace(_problem("less"), tests=sets)
        given, leaky = ControlAudit(tried=1), _problem("leaks", fixed=fixed)
        leaky = replace(leaky, manifest=leaky.manifest.model_copy(update={"controls": given}))
        suite = self._suite(history, holds, less, leaky, gone)

        waited: list[str] = []
        report = validate_suite(
            suite, None, bwrap_backend, rounds=1, progress=unseen,
            waiting=lambda done, total, text: waited.append(f"{done} of {total}: {text}"),
        )  # fmt: skip

        assert re.match(r"0 of 3: proving (holds|less) \(\d+ s\)", waited[0])
        assert (report.quarantined, report.proven) == (("leaks",), False)
        assert load_suite(suite.folder) == report.suite
        found = {problem.id: problem for problem in load_suite(suite.folder).problems}
        proofs = {proof.problem: (proof.oracle_resolved, proof.proven) for proof in report.proofs}
        assert proofs == {"holds": (1, True), "less": (1, False), "leaks": (1, False)}, "a retired one is not tried"
        assert found["gone"].manifest.status == "retired"
        # What is known of other tests stays where one is quarantined.
        tests = found["less"].tests
        assert [entry.id for entry in tests.QUARANTINED] == [B], "it passes without the fix"
        assert tests.FAIL_TO_PASS == tests.NONE_TO_PASS == (A,)
        assert broken == tests.EXPECTED_FAIL
        # What gives the answer away is quarantined.
        leaks = found["leaks"].manifest
        assert leaks.leak_audit is not None
        assert leaks.leak_audit.fix_lines == 2
        assert leaks.quarantine is not None
        assert leaks.quarantine.reason == "environment"
        assert "build/pkg.py has 2 of the 2 distinctive lines" in leaks.quarantine.evidence
        # Controls are made where there are none, and others stay.
        made = found["holds"].manifest.controls
        assert made is not None
        assert made.flips.keys() == {A}
        assert leaks.controls == given

    @pytest.mark.full
    @pytest.mark.requirement("G7")
    def test_an_expired_quarantine_is_lifted_or_renewed_by_a_new_proof(
        self, history: HistoryBuilder, bwrap_backend: BubblewrapBackend
    ) -> None:
        def aside(problem: Problem, expires: date) -> Problem:
            quarantine = Quarantine(reason="flaky", evidence="once", expires=expires)
            changes = {"status": "quarantined", "quarantine": quarantine}
            return replace(problem, manifest=problem.manifest.model_copy(update=changes))

        suite = self._suite(
            history,
            aside(_problem("holds"), TODAY),
            aside(_problem("fails", fixed="x = 3\n"), TODAY),
            aside(_problem("waits"), TODAY + timedelta(days=1)),
        )
        assert suite.expired(TODAY) == ("holds", "fails")

        report = validate_suite(suite, None, bwrap_backend, rounds=1, progress=unseen, today=TODAY)

        assert (report.released, report.quarantined) == (("holds",), ("fails",))
        again = load_suite(suite.folder)
        found = {problem.id: problem.manifest for problem in again.problems}
        assert {name: manifest.status for name, manifest in found.items()} == {
            "holds": "active", "fails": "quarantined", "waits": "quarantined",
        }  # fmt: skip
        renewed = found["fails"].quarantine
        assert renewed is not None
        assert (renewed.reason, renewed.expires) == ("oracle_fails", TODAY + timedelta(days=90))
        assert again.expired(TODAY) == ()

    def test_an_environment_that_cannot_be_built_is_a_fault_not_a_verdict(
        self, history: HistoryBuilder, bwrap_backend: BubblewrapBackend
    ) -> None:
        suite = self._suite(history, _problem("p"), environment=recorded("tests", "exit 7", python=PYTHON))

        report = validate_suite(suite, None, bwrap_backend, rounds=1, progress=unseen)

        assert report.proofs == ()
        assert "`exit 7` failed with exit code 7" in report.faults["p"]
        assert load_suite(suite.folder).problems[0].active
        assert not report.proven

    def test_a_proof_says_nothing_of_packages_that_every_virtual_environment_begins_with(
        self, history: HistoryBuilder, bwrap_backend: BubblewrapBackend
    ) -> None:
        suite = self._suite(history, QUESTION, environment=BARE)
        assert validate_suite(suite, None, bwrap_backend, rounds=1, progress=unseen).proven
        (proved,) = load_suite(suite.folder).proved
        assert proved.environments["bare"].packages == digest([[], [BARE.manifest.recipe]])

    def test_an_empty_suite_proves_nothing(self, history: HistoryBuilder, bwrap_backend: BubblewrapBackend) -> None:
        with pytest.raises(UsageError, match="has no problems"):
            validate_suite(self._suite(history), None, bwrap_backend, rounds=1, progress=unseen)

    def test_a_base_commit_that_is_not_there_is_told(
        self, history: HistoryBuilder, bwrap_backend: BubblewrapBackend, tmp_path: Path
    ) -> None:
        suite = self._suite(history, _problem("p"))
        other = HistoryBuilder(tmp_path / "other")
        with pytest.raises(UsageError, match="fetch-depth"):
            validate_suite(suite, other.folder, bwrap_backend, rounds=1, progress=unseen)

    def test_an_interrupt_ends_it_with_the_right_code(self, history: HistoryBuilder) -> None:
        suite = self._suite(history, QUESTION, environment=BARE)
        backend = BubblewrapBackend("interrupted")

        def interrupt(_: Proof) -> None:
            raise KeyboardInterrupt

        with pytest.raises(Interrupted) as caught:
            validate_suite(suite, None, backend, rounds=1, progress=interrupt)
        assert caught.value.exit_code is ExitCode.INTERRUPTED
        backend.close()
