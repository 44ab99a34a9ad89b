"""Smaller suites, and what a suite is worth."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.errors import UsageError
from codegate.mining import assess, choose_problems, write_selection
from codegate.mining.selection import corrected_by
from codegate.suite import (
    Base,
    LeakAudit,
    Problem,
    Provenance,
    Quality,
    Quarantine,
    QuarantinedTest,
    Suite,
    SuiteManifest,
    TestSets,
    Tree,
    TreeFile,
    load_suite,
    load_tree,
    write_suite,
)
from tests.suite.builders import ENVIRONMENT, problem, suite

TODAY = date(2026, 1, 1)


def _dated(number: int, component: str, *, tier: str = "S", days: int = 0, **changes: Any) -> Problem:
    when = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=days)
    return problem(
        f"p-{number}",
        tags={"component": component, "tier": tier, "year": str(when.year)},
        provenance=Provenance(kind="direct", commit="b" * 40, date=when),
        **changes,
    )


def _suite(problems: list[Problem]) -> Suite:
    manifest = SuiteManifest(
        name="many",
        canary="canary-12345678",
        environments=(ENVIRONMENT.manifest,),
        problems=tuple(one.id for one in problems),
    )
    return Suite(Path("nowhere"), manifest, tuple(problems), {ENVIRONMENT.id: ENVIRONMENT})


def test_no_component_crowds_out_the_others_and_the_freshest_come_first() -> None:
    crowd = [_dated(number, "big", days=number) for number in range(20)]
    others = [_dated(100 + number, f"small{number}", days=-number) for number in range(3)]
    chosen = choose_problems(_suite([*crowd, *others]), 4)
    assert {one.id for one in chosen} == {"p-19", "p-100", "p-101", "p-102"}


def test_problems_with_an_executed_example_are_chosen_first() -> None:
    quoted = _dated(1, "big", days=9)
    quoted = replace(quoted, manifest=quoted.manifest.model_copy(update={"tags": {"statement": "quoted"}}))
    many = _suite([quoted, *(_dated(number, "small") for number in (2, 3, 4))])
    assert [one.id for one in choose_problems(many, 3)] == ["p-2", "p-3", "p-4"]
    assert len(choose_problems(many, 4)) == 4


def test_what_a_later_problem_takes_back_is_no_problem() -> None:
    tests = TestSets(FAIL_TO_PASS=("tests/test_a.py::test_one[1]", "tests/test_a.py::TestA::test_two"), PASS_TO_PASS=())
    sentence = "What else works today must keep working. These tests expect the wrong behaviour and will be changed: "
    early = replace(_dated(1, "big"), tests=tests)
    for names, found in (
        ("`tests/test_a.py::test_one`, `tests/test_a.py::test_two`", "p-2"),
        ("`tests/b.py::test_x`", ""),
    ):
        late = replace(_dated(2, "big", days=1), statement=f"# It fails\n\n{sentence}{names}.\n")
        assert corrected_by(early, [late]) == found
        assert corrected_by(late, [early]) == ""


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 900)), min_size=1, max_size=40),
    st.integers(1, 40),
    st.integers(0, 5),
)
def test_a_smaller_choice_is_part_of_a_larger_one(facts: list[tuple[int, int, int]], size: int, seed: int) -> None:
    many = _suite([_dated(n, f"c{c}", tier="SML"[t % 3], days=d) for n, (c, t, d) in enumerate(facts)])
    chosen = choose_problems(many, size, seed)
    assert len(chosen) == min(size, len(many.problems))
    assert [one.id for one in chosen] == [one.id for one in many.problems if one in chosen]
    assert {one.id for one in chosen} <= {one.id for one in choose_problems(many, size + 5, seed)}
    assert chosen == choose_problems(many, size, seed)


def test_chance_depends_on_the_seed_alone() -> None:
    same = _suite([_dated(number, "one") for number in range(30)])
    assert choose_problems(same, 10, 1) != choose_problems(same, 10, 2)


def test_a_chosen_suite_is_a_suite(tmp_path: Path) -> None:
    retired = problem(
        "p-0",
        status="retired",
        quarantine=Quarantine(reason="oracle_fails", evidence="it fails", expires=date(2027, 1, 1)),
    )
    large = suite(tmp_path / "large", retired, *(_dated(number, "x", days=number) for number in range(1, 6)))
    small = write_selection(large, tmp_path / "small", 2)
    assert [one.id for one in small.problems] == ["p-4", "p-5"]
    assert [one.digest for one in small.problems] == [one.digest for one in large.problems[-2:]]
    assert load_suite(tmp_path / "small").digest == small.digest
    with pytest.raises(UsageError, match="is the suite to choose from"):
        write_selection(large, tmp_path / "large", 2)
    with pytest.raises(UsageError, match="no active problem"):
        write_selection(suite(tmp_path / "old", retired), tmp_path / "none", 2)


def test_a_chosen_suite_has_its_base_folders(tmp_path: Path) -> None:
    base = {"a.py": TreeFile(b"x\n")}
    manifest = ENVIRONMENT.manifest.model_copy(update={"base": Base(folder="bases/environment"), "inputs": "0" * 64})
    large = write_suite(
        tmp_path / "large", name="demo", repository=None, environments=[replace(ENVIRONMENT, manifest=manifest)],
        problems=[problem(base=Base(folder="bases/problem"))],
        bases=dict.fromkeys(("bases/environment", "bases/problem"), Tree(base)),
    )  # fmt: skip
    small = write_selection(large, tmp_path / "small", 1)
    assert [load_tree(small, Base(folder=f"bases/{of}")) for of in ("environment", "problem")] == [base, base]


def test_a_suite_is_told_by_its_active_problems_and_the_unknown_is_null() -> None:
    untold = Quarantine(reason="untold", evidence="no example notices it", expires=date(2027, 1, 1))
    new = TestSets(FAIL_TO_PASS=("t.py::a", "t.py::b"), NONE_TO_PASS=("t.py::a", "t.py::b"))
    aside = new.model_copy(update={"QUARANTINED": (QuarantinedTest(id="t.py::c", quarantine=untold),)})
    third = _dated(3, "b", days=300, tests=new, quality=Quality(hunk_coverage=1.0, exact_texts=1))
    many = _suite(
        [
            _dated(1, "a", days=0, kind="bugfix", leak_audit=LeakAudit(), quality=Quality(hunk_coverage=0.5)),
            _dated(2, "a", days=200, leak_audit=LeakAudit(fix_lines=2), quality=Quality(command_clean=False)),
            replace(third, tests=aside),
            problem(
                "p-4",
                status="quarantined",
                quarantine=Quarantine(reason="flaky", evidence="it flickers", expires=date(2027, 1, 1)),
            ),
        ]
    )
    found = assess(many, TODAY, {"openai:new": date(2025, 6, 1), "openai:unknown": None})
    assert found.counts["kind"] == {"unknown": 2, "bugfix": 1}
    assert found.counts["component"] == {"a": 2, "b": 1}
    assert (found.hunk_coverage.n, found.hunk_coverage.median) == (2, 0.75)
    assert (found.leaks, found.unclean, found.narrow, found.new_tests) == (("p-2", "p-3"), ("p-2",), ("p-3",), ("p-3",))
    assert found.untold == ("p-3",)
    assert found.status == {"active": 3, "quarantined": 1}
    assert (found.age_days.median, found.age_days.lowest) == (165, 65)
    assert [(one.candidate, one.after, one.n) for one in found.exposure] == [
        ("openai:new", 2, 3),
        ("openai:unknown", None, 3),
    ]
    assert json.loads(json.dumps(found.document()))["hunk_coverage"]["median"] == 0.75
