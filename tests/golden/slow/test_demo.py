"""The demo: the suite that it mines, why every other change was left out, and its reports."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.golden.golden import check, codegate, lines, pretty

pytestmark = [pytest.mark.bwrap, pytest.mark.timeout(900)]

#: What differs from one demo to the next, or from one host to another; all else in the reports is the same.
_VOLATILE_KEYS: Final = {
    "created", "codegate", "assurance", "seconds", "sandbox_seconds", "peak_memory_bytes",
    "infrastructure_median", "infrastructure_p95", "trace_id", "span_id", "output",
}  # fmt: skip
_VOLATILE_TEXT: Final = {
    r"\d{8}T\d{6}Z-[0-9a-f]{6}": "RUN",
    r" in \d+\.\d+s": " in TIME",
    r"0x[0-9a-f]{6,}": "ADDRESS",
    r"codegate `[^`]+`": "codegate `VERSION`",
    r"bubblewrap \d[\d.]*": "bubblewrap VERSION",
    r"\| Time: sandboxes.*": "| Time: sandboxes",
}
_LONGEST: Final = 400


def _steady(value: Any) -> Any:
    """Return ``value`` without what is volatile, and long texts as their digests."""
    match value:
        case dict():
            return {key: "VOLATILE" if key in _VOLATILE_KEYS else _steady(each) for key, each in value.items()}
        case list():
            return [_steady(each) for each in value]
        case str():
            for pattern, name in _VOLATILE_TEXT.items():
                value = re.sub(pattern, name, value)
            digest = hashlib.sha256(value.encode()).hexdigest()[:16]
            return value if len(value) <= _LONGEST else f"{value[:60]}... {len(value)} characters, sha256 {digest}"
    return value


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("demo")
    done = codegate("demo", "--out", "demo", "--sandbox", "bwrap", "--fresh", "--json", cwd=home)
    assert done.code == 0, done.stderr
    assert done.document == json.loads((home / "demo" / "reports" / "report.json").read_text())
    return home / "demo"


def test_the_mined_suite(demo: Path) -> None:
    mining = json.loads((demo / "suite" / "mining.json").read_text())
    kept = {name: mining[name] for name in ("suite_digest", "funnel", "reasons", "problems")}
    changes = map(json.loads, (demo / "suite" / "funnel.jsonl").read_text().splitlines())
    fates = {
        change["commit"][:12]: {name: change[name] for name in ("kind", "score", "status", "reason", "problem")}
        for change in changes
    }
    check("suite.json", lines({**kept, **fates}))


def test_its_report_as_json(demo: Path) -> None:
    check("report.json", pretty(_steady(json.loads((demo / "reports" / "report.json").read_text()))))


def test_its_report_as_markdown(demo: Path) -> None:
    text = (demo / "reports" / "report.md").read_text()
    check("report.md", "".join(f"{_steady(line)}\n" for line in text.splitlines()))
