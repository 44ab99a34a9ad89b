import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from codegate.suite.schema import schemas

from .builders import problem, suite

Draft202012Validator: Any = import_module("jsonschema").Draft202012Validator  # it has no types
PUBLISHED = Path(__file__).parents[2] / "docs" / "schema"


@pytest.mark.parametrize("name", ["suite", "problem", "proved", "tests"])
def test_the_published_schema_is_fresh(name: str) -> None:
    assert json.loads((PUBLISHED / f"{name}.schema.json").read_text()) == schemas()[name], (
        "run `python -m codegate.suite.schema docs/schema`"
    )
    Draft202012Validator.check_schema(schemas()[name])


def test_the_writer_writes_what_is_published(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "codegate.suite.schema", tmp_path], check=True)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (PUBLISHED / path.name).read_bytes()
    assert {path.name.partition(".")[0] for path in tmp_path.iterdir()} == set(schemas())


def test_a_written_suite_is_valid_by_the_schemas(tmp_path: Path) -> None:
    quarantine = {"reason": "flaky", "evidence": "1 of 3", "expires": "2027-01-01"}
    suite(tmp_path / "s", problem("a"), problem("b", status="quarantined", quarantine=quarantine))
    files = {"suite": [tmp_path / "s/suite.yml"]}
    files["problem"] = sorted((tmp_path / "s").glob("problems/*/problem.yml"))
    files["tests"] = sorted((tmp_path / "s").glob("problems/*/tests.json"))
    for name, paths in files.items():
        assert paths
        tool = [sys.executable, "-m", "check_jsonschema", "--schemafile", str(PUBLISHED / f"{name}.schema.json")]
        tool += map(str, paths)
        done = subprocess.run(tool, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("suite", {"extra": 1}),
        ("suite", {"schema": "codegate.suite/2"}),
        ("suite", {"name": "../x"}),
        ("suite", {"problems": ["a/b"]}),
        ("problem", {"limits": {"seconds": 0}}),
        ("problem", {"limits": {"memory": 64}}),
        ("problem", {"status": "off"}),
        ("problem", {"file_modes": {"fix/x": "120000"}}),
        ("problem", {"base": {"commit": "HEAD"}}),
        ("tests", {"FAIL_TO_PASS": []}),
    ],
)
def test_the_schemas_refuse_what_the_types_refuse(tmp_path: Path, name: str, change: dict[str, object]) -> None:
    suite(tmp_path / "s")
    place = {"suite": "suite.yml", "problem": "problems/p-1/problem.yml", "tests": "problems/p-1/tests.json"}[name]
    data = yaml.safe_load((tmp_path / "s" / place).read_text())
    validator = Draft202012Validator(schemas()[name])
    assert validator.is_valid(data)
    assert not validator.is_valid({**data, **change})


def test_every_key_that_is_not_plain_by_its_name_is_described() -> None:
    described = schemas()["problem"]["properties"]
    for key in ("python_path", "test_files", "public_tests", "file_modes", "tags", "environment"):
        assert described[key]["description"]
