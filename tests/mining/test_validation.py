from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import date

import pytest

from codegate.grading import TestReport, TestResult, mark_tests
from codegate.grading.grade import TestStatus
from codegate.grading.testreport import CollectionError
from codegate.mining.cut import Cut
from codegate.mining.languages import RunnerSettings
from codegate.mining.proving import validation
from codegate.mining.proving.outcomes import classify_tests, without_doubtful_passes
from codegate.mining.proving.validation import OpenSandbox, Trial, ValidatedChange, measured_limit, try_cut
from codegate.mining.units import Rejected
from codegate.sandbox import Sandbox
from codegate.suite import ProblemLimits, TreeFile
from tests.mining.statement_world import cut_of, validate_cut

TODAY = date(2025, 6, 1)


def _report(statuses: str, *, timed_out: bool = False) -> TestReport:
    """Make a report from letters: p(assed) f(ailed) e(rror) s(kipped) m(issing), a dot for not reported."""
    names: dict[str, TestStatus] = {"p": "passed", "f": "failed", "e": "error", "s": "skipped", "m": "missing"}
    results = {
        f"t.py::{index}": TestResult(id=f"t.py::{index}", status=names[letter])
        for index, letter in enumerate(statuses)
        if letter != "."
    }
    return TestReport(results=results, timed_out=timed_out, complete=not timed_out)


class TestClassification:
    @pytest.mark.parametrize(
        ("before", "after", "expected"),
        [
            ("fff", "ppp", "fail_to_pass"),
            ("eee", "ppp", "fail_to_pass"),
            ("...", "ppp", "fail_to_pass"),
            ("fem", "ppp", "fail_to_pass"),
            ("ppp", "ppp", "pass_to_pass"),
            ("ppf", "ppp", "quarantined"),
            ("ffp", "ppp", "quarantined"),
            ("fff", "ppf", "quarantined"),
            ("ppp", "pfp", "quarantined"),
            ("ppp", "pps", "quarantined"),
            ("ppp", "fff", "pass_to_fail"),
            ("fff", "fff", "expected_fail"),
            ("fpf", "efe", "expected_fail"),
            ("sss", "ppp", None),
            ("ppp", "sss", None),
            ("fff", "pp.", None),
        ],
    )
    def test_a_test_counts_only_when_every_run_of_a_state_agrees(
        self, before: str, after: str, expected: str | None
    ) -> None:
        found = classify_tests([_report(b) for b in before], [_report(a) for a in after], TODAY)
        kept = {
            "fail_to_pass": found.fail_to_pass,
            "pass_to_pass": found.pass_to_pass,
            "quarantined": tuple(entry.id for entry in found.quarantined),
            "pass_to_fail": found.pass_to_fail,
            "expected_fail": found.expected_fail,
        }
        assert {name: ids for name, ids in kept.items() if ids} == ({expected: ("t.py::0",)} if expected else {})

    def test_a_test_that_passes_in_some_repetitions_of_a_run_is_set_aside(self) -> None:
        unsteady = replace(_report("f"), unsteady=frozenset({"t.py::0"}))
        (entry,) = classify_tests([_report("f")], [_report("p"), unsteady], TODAY).quarantined
        assert entry.quarantine.evidence.endswith("after it: passed, sometimes failed")

    def test_the_evidence_names_every_run_and_expires(self) -> None:
        varied = {"before": ["seed"], "after": ["order, clock"]}
        found = classify_tests([_report("f"), _report("f")], [_report("p"), _report("f")], TODAY, varied)
        (entry,) = found.quarantined
        assert (
            entry.quarantine.evidence
            == "before the fix: failed, failed (other seed); after it: passed, failed (other order, clock)"
        )
        assert entry.quarantine.expires == date(2025, 8, 30)
        assert found.flaky_fix_tests

    def test_tests_that_only_the_fixed_state_knows_are_told_apart(self) -> None:
        found = classify_tests([_report("f..", timed_out=False)] * 2, [_report("ppp")] * 2, TODAY)
        assert found.fail_to_pass == ("t.py::0", "t.py::1", "t.py::2")
        assert found.none_to_pass == ("t.py::1", "t.py::2")
        assert classify_tests([_report("f.", timed_out=True)], [_report("pp")], TODAY).none_to_pass == ()

    def test_a_run_that_was_cut_short_before_a_test_says_nothing_of_it(self) -> None:
        for before in (_report("..", timed_out=True), replace(_report(".."), complete=False)):
            found = classify_tests([before], [_report("pp")], TODAY)
            assert (found.fail_to_pass, found.pass_to_pass) == ((), ())

    def test_passes_are_unknown_where_a_run_fails_and_none_of_its_tests_does(self) -> None:
        ended = replace(_report("pps"), exit_code=2)
        assert without_doubtful_passes(ended).results.keys() == {"t.py::2"}
        assert not without_doubtful_passes(ended).complete
        empty = replace(ended, exit_code=5)  # as pytest ends for a conftest that is run like a test file
        for sound in (replace(ended, exit_code=0), empty, replace(_report("pfs"), exit_code=1)):
            assert without_doubtful_passes(sound) == sound

    def test_an_address_in_an_id_is_no_stable_name_even_where_it_repeats(self) -> None:
        name = "t.py::test_it[<object object at 0x7f5ae3d3c4e0>]"
        passed = TestReport(results={name: TestResult(id=name, status="passed")})
        found = classify_tests([TestReport(results={})], [passed, passed], TODAY)
        assert (found.fail_to_pass, found.quarantined) == ((), ())

    def test_a_run_that_a_test_ended_blames_that_test_alone(self) -> None:
        died = replace(_report("pm."), complete=False)
        found = classify_tests([_report("fff")] * 2, [_report("ppp"), died], TODAY)
        assert found.fail_to_pass == ("t.py::0", "t.py::2")
        assert [entry.id for entry in found.quarantined] == ["t.py::1"]

    def test_tests_that_a_hanging_one_kept_from_running_are_not_blamed(self) -> None:
        natural, backward = _report("pm..", timed_out=True), _report(".mpp", timed_out=True)
        found = classify_tests([natural, backward, natural], [_report("pppp")] * 3, TODAY)
        assert found.fail_to_pass == ("t.py::1",)
        assert found.pass_to_pass == ("t.py::0", "t.py::2", "t.py::3")
        assert found.quarantined == ()
        assert found.kinds == {"t.py::1": "timeout"}


@pytest.mark.parametrize(
    ("statuses", "code", "errors", "clean"),
    [("pps", 0, (), True), ("pf", 1, (), True), ("pf", 0, (), False), ("pp", 1, (), False), ("p.", 0, ("t.py",), False),
     ("p", 2, ("t.py",), True), ("pm", 0, (), False)],
)  # fmt: skip
def test_a_command_is_clean_when_its_status_says_what_its_tests_do(
    statuses: str, code: int, errors: tuple[str, ...], clean: bool
) -> None:
    found = tuple(CollectionError(file, "broken") for file in errors)
    report = replace(_report(statuses), exit_code=code, collection_errors=found)
    assert report.clean is clean
    assert not replace(report, complete=False).clean


@pytest.mark.parametrize(
    ("wall", "cpu", "limit"), [(0.4, 0.3, 20), (6.0, 0.4, 20), (6.0, 3.0, 60), (30.0, 0.1, 120), (118.0, 118.0, 600)]
)
def test_the_time_limit_is_one_of_a_few_and_follows_processor_time(wall: float, cpu: float, limit: float) -> None:
    assert measured_limit(TestReport(results={}, seconds=wall, cpu_seconds=cpu)) == limit


class _Opener:
    def __init__(self, unboxed: OpenSandbox) -> None:
        self.unboxed, self.opened = unboxed, 0

    def __call__(self, limits: ProblemLimits) -> AbstractContextManager[Sandbox]:
        self.opened += 1
        return self.unboxed(limits)


def _cut(old: str, new: str, tests: str) -> Cut:
    return cut_of({"pkg.py": old}, {"pkg.py": new}, {"test_pkg.py": tests})


@pytest.mark.sandbox
class TestExecution:
    @pytest.fixture
    def opener(self, unboxed: OpenSandbox) -> _Opener:
        return _Opener(unboxed)

    def _validate(
        self, parts: Cut, opener: _Opener, *, rounds: int = 3, new: bool = False
    ) -> ValidatedChange | Rejected:
        return validate_cut(parts, opener, rounds, TODAY, include_new_tests=new)

    @pytest.mark.full
    def test_a_bug_that_hangs_costs_a_limit_made_to_measure(
        self, opener: _Opener, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(validation, "_LIMITS", (3.0,))
        tests = "import pkg\n\ndef test_ends():\n    pkg.answer()\n\ndef test_other():\n    pass\n"
        parts = _cut("def answer():\n    while True: pass\n", "def answer(): return 42\n", tests)

        found = self._validate(parts, opener, rounds=2)

        assert isinstance(found, ValidatedChange)
        assert found.outcomes.fail_to_pass == ("test_pkg.py::test_ends",)
        assert found.outcomes.pass_to_pass == ("test_pkg.py::test_other",)
        assert found.outcomes.kinds == {"test_pkg.py::test_ends": "timeout"}

    def test_a_tree_with_a_large_file_gets_the_room_that_it_takes(self, opener: _Opener) -> None:
        parts = _cut("x = 1", "x = 2", "import pkg\n\ndef test_it():\n    assert pkg.x == 2\n")
        large = {"big.bin": TreeFile(bytes(40 << 20))}
        parts = replace(parts, base=parts.base.overlay(large), fixed=parts.fixed.overlay(large))
        small = ProblemLimits(seconds=120, memory_mb=128, disk_mb=32)

        trial = try_cut(parts, opener, TODAY, False, RunnerSettings("pytest"), small)

        assert isinstance(trial, Trial)
        assert (trial.seen.limits.disk_mb, trial.seen.limits.memory_mb) == (72, 144)

    def test_tests_that_are_all_skipped_are_counted(self, opener: _Opener) -> None:
        parts = _cut("x = 1", "x = 2", "import pytest\n\n@pytest.mark.skip\ndef test_it(): pass")

        assert self._validate(parts, opener) == Rejected("no_f2p", "all tests are skipped (1)")

    def test_a_module_that_is_not_installed_is_named_first(self, opener: _Opener) -> None:
        parts = _cut("x = 1", "x = 2", "import absent\n\ndef test_it(): pass")

        detail = "test_pkg.py: ModuleNotFoundError: No module named 'absent'"
        assert self._validate(parts, opener) == Rejected("env_no_passing_test", detail)

    @pytest.mark.parametrize(
        ("path", "text", "named"),
        [
            ("cases.txt", f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 5\n",
             "cases.txt, which is in LFS,"),
            (".gitmodules", '[submodule "data"]\n\tpath = data\n\turl = https://example.org/data\n',
             "the submodule data"),
        ],
    )  # fmt: skip
    def test_what_git_does_not_have_is_named_where_the_fixed_tests_fail(
        self, opener: _Opener, path: str, text: str, named: str
    ) -> None:
        parts = _cut("x = 1", "x = 2", "def test_it(): assert open('data/cases.txt').read()")
        more = {path: TreeFile(text.encode())}

        found = self._validate(replace(parts, base=parts.base.overlay(more), fixed=parts.fixed.overlay(more)), opener)

        assert isinstance(found, Rejected)
        assert found.detail.startswith(f"{named} is not here; ")

    @pytest.mark.parametrize(
        ("old", "new", "tests", "reason", "runs"),
        [
            ("x = 1", "x = 2", "def test_it(): pass", "no_f2p", 2),
            ("x = 1", "x = 2", "import absent\ndef test_it(): pass", "env_no_passing_test", 1),
            ("x = 1", "x = 2", "def test_it(): assert False", "env_no_passing_test", 1),
            ("x = 1", "y = 2", "from pkg import y\ndef test_it(): pass", "only_new_tests", 2),
            ("x = 1", "x = 2", "import pkg\ndef test_a(): assert pkg.x == 2\ndef test_b(): assert pkg.x == 1",
             "p2f_in_gold", 3),
            ("x = 1", "x = 2", "import os, pkg\ndef test_a(): assert pkg.x == 2 and os.getenv('PYTHONHASHSEED') != '1'",
             "f2p_flaky", 3),
            ("x = 1", "x = 2", "import os, pkg\n\ndef test_a(): assert pkg.x == 2\ndef test_b(): os._exit(0)",
             "collect_error_gold", 1),
        ],
    )  # fmt: skip
    def test_what_proves_nothing_ends_early_with_its_reason(
        self, opener: _Opener, old: str, new: str, tests: str, reason: str, runs: int
    ) -> None:
        found = self._validate(_cut(old, new, tests), opener)
        assert isinstance(found, Rejected)
        assert found.reason == reason
        assert found.detail
        assert opener.opened == runs

    def test_a_fix_that_needs_files_that_are_not_taken_for_source_is_no_problem(self, opener: _Opener) -> None:
        tests = (
            "import pkg\n\ndef test_a():\n    assert pkg.x == 2\n\n"
            "def test_b():\n    assert open('docs/limits.txt').read() == '2'\n"
        )
        parts = _cut("x = 1", "x = 2", tests)
        page = {"docs/limits.txt": TreeFile(b"2")}

        found = self._validate(replace(parts, fixed=parts.fixed.overlay(page)), opener)

        assert found == Rejected("needs_other_files", "test_pkg.py::test_b needs one of docs/limits.txt")
        assert opener.opened == 3
        assert isinstance(self._validate(parts, opener), ValidatedChange), "it fails with the whole change too"

    @pytest.mark.parametrize(("seconds", "processor"), [(5.0, 100.0), (60.0, 0.0)])
    def test_fixed_tests_that_take_too_long_run_once(self, opener: _Opener, seconds: float, processor: float) -> None:
        tests = "import time\n\ndef test_a():\n    assert False\n\ndef test_b(): pass\n"
        hang = "\ndef test_c():\n    time.sleep(60)\n" if processor else ""
        parts = _cut("x = 1", "x = 2", tests + hang)
        parts = replace(parts, fixed=parts.fixed.overlay({"CHANGES.md": TreeFile(b"x is 2")}))
        runner, limits = RunnerSettings("pytest"), ProblemLimits(seconds=seconds)

        found = try_cut(parts, opener, TODAY, False, runner, limits, processor_seconds=processor)

        assert isinstance(found, Rejected)
        assert (found.reason, opener.opened) == ("timeout", 1)

    @pytest.mark.parametrize(("reads", "runs"), [(False, 6), (True, 7)])
    def test_the_unfixed_state_runs_once_with_marks_where_these_change_nothing(
        self, opener: _Opener, *, reads: bool, runs: int
    ) -> None:
        tests = "import pkg\n\ndef test_a():\n    assert pkg.x == 2\n\ndef test_b():\n    assert pkg.x\n"
        own = "\ndef test_own():\n    assert '    assert pkg.x == 2\\n' in open(__file__).read()\n"
        parts = _cut("x = 1", "x = 2", tests + own if reads else tests)
        used = mark_tests(parts.base.overlay(parts.hidden), parts.test_files, "pytest")
        trial = try_cut(parts, opener, TODAY, False, RunnerSettings("pytest"), ProblemLimits(seconds=120.0))
        assert isinstance(trial, Trial)

        found = trial.confirm(3, used)

        assert isinstance(found, ValidatedChange)
        assert len(found.outcomes.pass_to_pass) == 1 + reads
        assert (trial.marked is None) == reads
        assert opener.opened == runs

    def test_tests_without_those_of_new_names_have_to_show_the_bug(self, opener: _Opener) -> None:
        parts = _cut("x = 1", "y = 2", "from pkg import y\ndef test_it(): pass")
        settings, less = RunnerSettings("pytest"), {"test_pkg.py": TreeFile(b"def test_other(): pass\n")}
        found = try_cut(parts, opener, TODAY, False, settings, ProblemLimits(), lambda *_: less)
        assert found == Rejected("only_new_tests", "no fail-to-pass test could be imported before the fix")

    def test_new_modules_can_be_asked_for(self, opener: _Opener) -> None:
        parts = _cut("x = 1", "y = 2", "from pkg import y\ndef test_it(): pass")
        found = self._validate(parts, opener, rounds=1, new=True)
        assert isinstance(found, ValidatedChange)
        assert found.outcomes.kinds == {"test_pkg.py::test_it": "collection"}
