"""The names of the checks that every sandbox has to pass, as ``tests/sandbox/test_conformance.py`` collects them."""

import re
import subprocess
import sys
from typing import Final

from tests.golden.golden import check, pretty
from tests.kit.command import ROOT

_TESTS: Final = "tests/sandbox/test_conformance.py"


def test_conformance_checks() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "-p", "no:cacheprovider", _TESTS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, list[str]] = {}
    for sandbox, name in re.findall(r"\[(\w+)-(\w+)\]$", done.stdout, re.MULTILINE):
        found.setdefault(sandbox, []).append(name)
    check("conformance.json", pretty({sandbox: sorted(names) for sandbox, names in sorted(found.items())}))
