import subprocess
import sys
from pathlib import Path

from codegate.suite.schema import schemas

from .builders import problem, suite

PUBLISHED = Path(__file__).parents[2] / "docs" / "schema"


def test_the_writer_writes_what_is_published(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "codegate.suite.schema", tmp_path], check=True)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (PUBLISHED / path.name).read_bytes(), (
            "`python -m codegate.suite.schema docs/schema`"
        )
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
