"""What people install holds the workflows that ``codegate init`` writes, however it was built."""

import subprocess
import zipfile
from pathlib import Path

from uv import find_uv_bin

from tests.action.act.harness import ROOT, TEMPLATES


def test_the_wheel_of_the_source_package_holds_every_workflow(tmp_path: Path) -> None:
    done = subprocess.run(
        [find_uv_bin(), "build", "--quiet", "--out-dir", str(tmp_path), str(ROOT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    found = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("codegate/workflow_templates/")}
    assert found == {f"codegate/workflow_templates/{path.name}" for path in TEMPLATES.iterdir()}
