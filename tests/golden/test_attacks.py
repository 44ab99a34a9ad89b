"""Which attacks, and which honest patches beside them, the battery of ``tests/redteam`` has.

Each attack on the grader is there once for every project that it is handed in on.
"""

from tests.golden.golden import check, pretty
from tests.redteam import grader, harness, honest, sandbox


def test_the_battery() -> None:
    ids = {
        "grader": sorted(grader.submissions(grader.ATTACKS)),
        "honest": sorted(honest.submissions()),
        "sandbox": sorted(sandbox.ATTACKS),
        "harness": sorted(harness.ATTACKS),
    }
    check("battery.json", pretty(ids))
