"""The part of the battery against the sandbox that every landing runs; `make redteam` runs all of it."""

import json

import pytest

from codegate.sandbox.bubblewrap import BubblewrapBackend
from tests.redteam import sandbox
from tests.redteam.sandbox.cell import Bait, report_of

FAST = frozenset({
    "sb_01_fork_bomb", "sb_02_memory_of_many", "sb_04_disk", "sb_06_descriptors", "sb_07_flood", "sb_10_daemon",
    "sb_14_network", "sb_15_families", "sb_18_keys", "sb_21_kernel_surface", "sb_22_kernel_settings",
    "sb_27_read_only_places", "sb_36_supervisor", "sb_37_namespaces", "sb_32_image_by_tag",
})  # fmt: skip


@pytest.mark.bwrap
def test_nothing_gives_way_and_nothing_is_left(bwrap_backend: BubblewrapBackend) -> None:
    rows = list(sandbox.run("bwrap", FAST))
    assert {row.attack for row in rows} == {*FAST, sandbox.AFTERWARDS, sandbox.AT_ONCE, sandbox.TERMINAL}
    assert [row for row in rows if not row.held] == []


def test_a_wall_that_gives_way_is_told() -> None:
    grade = {"resolved": False, "failure": "logic_error", "detail": "", "tests": [
        {"message": 'AssertionError: SEEN{"gave way": ["raw: 3"], "noted": []} and more'}]}  # fmt: skip
    assert report_of(grade) == {"gave way": ["raw: 3"], "noted": []}
    assert len(sandbox.ATTACKS) >= 30
    assert FAST - {"sb_32_image_by_tag"} <= sandbox.ATTACKS.keys()


def test_a_row_without_a_grade_or_a_report_or_with_a_key_does_not_hold() -> None:
    bait = Bait("1.5", "sk-redteam-key", 1)
    quiet = {"resolved": False, "failure": "logic_error", "detail": "", "tests": []}
    told = {**quiet, "tests": [{"message": 'SEEN{"gave way": ["x"], "noted": []}'}]}
    key = {**quiet, "tests": [{"message": 'SEEN{"gave way": [], "noted": ["sk-redteam-key"]}'}]}
    held = {**quiet, "tests": [{"message": 'SEEN{"gave way": [], "noted": ["EPERM"]}'}]}
    outcomes = [
        {"candidate": "a", "grade": None, "fault": {"message": "gone"}},
        *({"candidate": "a", "grade": grade, "fault": None} for grade in (quiet, told, key, held)),
    ]
    rows = [sandbox._row("a", "bwrap", json.dumps(outcome).encode(), bait) for outcome in outcomes]
    assert [row.held for row in rows] == [False, False, False, False, True]
