"""The attack table: what became of each attack and honest patch that ``make test`` runs, here in both sandboxes."""

import importlib
from typing import Final

import pytest

from tests.golden.golden import check, lines
from tests.redteam import test_grader, test_harness
from tests.redteam.battery import SANDBOXES

_PARTS: Final = {"grader": None, "honest": test_grader.HONEST, "harness": test_harness.FAST}


@pytest.mark.bwrap
@pytest.mark.docker
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_attacks(sandbox: str) -> None:
    rows = {
        f"{row.part} {row.attack}": "held" if row.held else "limit" if row.limit else "NOT HELD"
        for part, attacks in _PARTS.items()
        for row in importlib.import_module(f"tests.redteam.{part}").run(sandbox, attacks)
    }
    check(f"attacks_{sandbox}.json", lines(dict(sorted(rows.items()))))
