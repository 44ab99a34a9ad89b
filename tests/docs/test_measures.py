"""The tables in docs/measures.md are what the recorded run gives today."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.requirement("D13")
@pytest.mark.requirement("D1")
@pytest.mark.requirement("D2")
@pytest.mark.requirement("G11")
def test_the_page_of_measures_is_the_report_of_its_recorded_run() -> None:
    script = [sys.executable, str(ROOT / ".ci" / "measure_docs.py"), "-"]
    written = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "measures.md").read_text() == written, "run `make schema`"
    for title in ("Floors", "Ranking", "Measures", "Weighted score", "Failure classes", "Cohorts",
                  "Turns of the tool loop", "Judge against execution"):  # fmt: skip
        assert f"<!-- table: {title} -->\n\n|" in written
    for suite in (ROOT / "suites").glob("*/suite.yml"):
        assert f"| `careful` | `suite:{suite.parent.name}` |" in written, "python -m tests.docs.record"
