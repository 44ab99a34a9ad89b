"""Writes the tables of docs/measures.md from the recorded run in tests/docs/recorded.

``python .ci/measure_docs.py``, or ``-`` to print the page. They are the Markdown report of `codegate gate` on it.
"""

import re
import sys
import tempfile
from pathlib import Path

from codegate.operations.runs import gate
from codegate.reporting import terms_of
from codegate.running import Journal
from codegate.running.config import load_config

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "measures.md"
RUN = ROOT / "tests" / "docs" / "recorded"
MARK = re.compile(r"(<!-- table: ([^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def written() -> str:
    """Return the page with the tables of today."""
    settings = load_config(RUN / "codegate.yml")
    with tempfile.TemporaryDirectory() as scratch:
        gate(Journal.open(RUN), settings.gate, reports=Path(scratch), terms=terms_of(settings))
        report = Path(scratch, "report.md").read_text(encoding="utf-8")
    tables: dict[str, str] = {}
    for section in re.split(r"^### ", report, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        tables.setdefault(title, re.split(r"^(?:##|Run `)", text, flags=re.MULTILINE)[0].strip())
    tables["Verdicts"] = "\n\n".join(
        f"{head}: {reason}" for head, reason in re.findall(r"^## (.+)\n\n(.+)$", report, flags=re.MULTILINE)
    )
    return MARK.sub(lambda mark: f"{mark[1]}\n{tables[mark[2]]}\n\n{mark[3]}", PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    if sys.argv[1:] == ["-"]:
        sys.stdout.write(written())
    else:
        PAGE.write_text(written(), encoding="utf-8")
