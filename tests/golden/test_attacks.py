"""Which attacks, and which honest patches beside them, the battery of ``tests/redteam`` has."""

from tests.golden.golden import check, pretty
from tests.redteam import grader, harness, honest


def test_the_battery() -> None:
    ids = {
        "grader": sorted(grader.submissions()),
        "honest": sorted(honest.submissions()),
        "harness": sorted(harness.ATTACKS),
    }
    check("battery.json", pretty(ids))
