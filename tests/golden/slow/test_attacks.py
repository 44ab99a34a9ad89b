"""The attack table: what became of each attack of the tier that ``make test`` runs, here in both sandboxes.

The tier is the one of ``tests/redteam/test_*.py``. All other attacks are proved by ``make redteam``, which fails when
one is not held; ``tests/golden/test_attacks.py`` keeps the list of them.
"""

import importlib
from typing import Final

import pytest

from tests.golden.golden import check, lines
from tests.redteam import test_grader, test_harness, test_sandbox
from tests.redteam.battery import SANDBOXES

_TIER: Final = {
    "grader": test_grader.ATTACKS | {test_grader.LIMIT},
    "honest": test_grader.HONEST,
    "sandbox": test_sandbox.FAST,
    "harness": test_harness.FAST,
}


@pytest.mark.bwrap
@pytest.mark.docker
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_attacks(sandbox: str) -> None:
    rows = {
        f"{row.part} {row.attack}": "held" if row.held else "limit" if row.limit else "NOT HELD"
        for part, attacks in _TIER.items()
        for row in importlib.import_module(f"tests.redteam.{part}").run(sandbox, attacks)
    }
    check(f"attacks_{sandbox}.json", lines(dict(sorted(rows.items()))))
