"""What a killed process leaves of a patch is removed by the next one; what is in use stays."""

import fcntl
import os
import tempfile
import time
from pathlib import Path

import pytest

from codegate.suite import Tree, TreeFile, make_patch


def test_the_store_of_a_killed_process_goes_and_that_of_a_live_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old = time.time() - 3600
    for name in ("codegate-patch-dead", "codegate-patch-live", "codegate-patch-young", "another"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "objects").touch()
        if name != "codegate-patch-young":
            os.utime(tmp_path / name, (old, old))
    (tmp_path / "codegate-patch-link").symlink_to(tmp_path / "another")
    held = os.open(tmp_path / "codegate-patch-live", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_SH)
    try:
        assert make_patch(Tree(), {"a": TreeFile(b"a\n")})
    finally:
        os.close(held)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"codegate-patch-live", "codegate-patch-young", "codegate-patch-link", "another"}
    assert (tmp_path / "another" / "objects").exists()
