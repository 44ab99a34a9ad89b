"""Runs a problem's hidden tests and writes the reward.

The reward is 1 if every expected test passed, else 0. Run as a program in a task's container, it puts the hidden files
into the workspace and starts pytest once for each test file. Imported by that pytest as a plugin, it reports every
phase of every test. It uses the standard library only, in syntax that Python 3.8 knows, and is a file of its own in the
task's folder ``tests``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LOGS = Path(os.environ.get("CODEGATE_LOGS", "/logs/verifier"))
# Taken away before any file of the repository is imported.
REPORT = os.environ.pop("CODEGATE_REPORT", "")


def pytest_runtest_logreport(report: Any) -> None:
    """Append the outcome of a test's phase to the report."""
    outcome = "xfail" if hasattr(report, "wasxfail") else report.outcome
    with Path(REPORT).open("a", encoding="utf-8") as file:
        file.write(json.dumps([report.nodeid, report.when, outcome]) + "\n")


def clear(workspace: Path, name: str) -> Path:
    """Remove whatever is at ``name``; return its path.

    Parent folders are made; links and files in their place are removed.
    """
    place = workspace
    *folders, last = name.split("/")
    for folder in folders:
        place /= folder
        if place.is_symlink() or place.is_file():
            place.unlink()
        place.mkdir(exist_ok=True)
    place /= last
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    elif place.is_symlink() or place.exists():
        place.unlink()
    return place


def prepare(settings: dict[str, Any]) -> None:
    """Put the hidden tests into the workspace.

    ``settings`` has the folder ``workspace``, and ``deleted``, the paths to remove from it.
    """
    workspace = Path(settings["workspace"])
    for name in settings["deleted"]:
        clear(workspace, name)
    with tarfile.open(HERE / "hidden.tar") as archive:
        for entry in archive:
            place = clear(workspace, entry.name)
            source = archive.extractfile(entry)
            if source is not None:
                with place.open("wb") as file:
                    shutil.copyfileobj(source, file)
                place.chmod(entry.mode)


def run(settings: dict[str, Any], file: str, report: Path) -> None:
    roots = [os.path.normpath(f"{settings['workspace']}/{root}") for root in settings["python_path"]]
    environment = dict(os.environ, **settings["environment"], CODEGATE_REPORT=str(report))
    given = filter(None, [environment.get("PYTHONPATH")])
    environment["PYTHONPATH"] = os.pathsep.join([*roots, str(HERE), *given])
    arguments = [
        "./" + file, "--rootdir=.", "--confcutdir=.", "--import-mode=prepend", "-q", "--tb=short", "--color=no",
        "--continue-on-collection-errors", "-p", "no:cacheprovider", "-o", "addopts=", "-o", "required_plugins=",
        "-p", "codegate_verify",
    ]  # fmt: skip
    command = [sys.executable, "-B", "-m", "pytest", *arguments]
    subprocess.run(command, cwd=settings["workspace"], env=environment, stdin=subprocess.DEVNULL, check=False)


def statuses(report: Path) -> dict[str, bool]:
    """Return, by test id, whether all its phases passed."""
    phases: dict[str, list[list[str]]] = {}
    for line in report.read_text(encoding="utf-8").splitlines():
        test, when, outcome = json.loads(line)
        phases.setdefault(test, []).append([when, outcome])
    return {
        test: all(outcome == "passed" for _, outcome in found)
        and found[0][0] == "setup"
        and found[-1][0] == "teardown"
        and {when for when, _ in found[1:-1]} == {"call"}
        for test, found in phases.items()
    }


def main() -> None:
    """Run all hidden tests; write the reward and each status."""
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / "reward.txt").write_text("0\n", encoding="utf-8")
    settings = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
    prepare(settings)
    passed: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, file in enumerate(settings["files"]):
            report = Path(folder) / str(number)
            report.touch()
            run(settings, file, report)
            passed.update({test: ok for test, ok in statuses(report).items() if test.startswith(file + "::")})
    results = {test: passed.get(test, False) for test in settings["expected"]}
    (LOGS / "tests.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (LOGS / "reward.txt").write_text("1\n" if all(results.values()) else "0\n", encoding="utf-8")


if __name__ == "__main__":
    main()
