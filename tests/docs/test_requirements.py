"""The page of requirements is what the tests say."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_page_of_requirements_is_what_the_tests_name() -> None:
    script = [sys.executable, str(ROOT / ".ci" / "requirement_docs.py"), "-"]
    written = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "requirements.md").read_text() == written, "run `make schema`"
    assert "no test shows it**" not in written, "say in tests/requirements.yml what is open"


@pytest.mark.requirement("M7")
def test_the_packages_that_codegate_builds_on_are_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.match(r"[a-z0-9-]+", line).group() for line in project["dependencies"]}  # type: ignore[union-attr]
    assert names >= {"pyyaml", "docker", "openai", "anthropic", "junit-xml", "requests"}
