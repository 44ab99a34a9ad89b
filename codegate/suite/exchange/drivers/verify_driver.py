"""Runs a problem's hidden tests in a task's container and writes the reward: 1 if every expected test passed, else 0.

Run as a program, it puts the hidden files into the workspace and starts pytest once for each test file. Imported by
that pytest as a plugin, it reports every phase of every test. It uses the standard library only, in syntax that
Python 3.8 knows, and is a file of its own in the task's folder ``tests``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
LOGS = os.environ.get("CODEGATE_LOGS", "/logs/verifier")
# Taken away before any file of the repository is imported.
REPORT = os.environ.pop("CODEGATE_REPORT", "")


def pytest_runtest_logreport(report: Any) -> None:
    """Append what became of one phase of one test."""
    outcome = "xfail" if hasattr(report, "wasxfail") else report.outcome
    with open(REPORT, "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write(json.dumps([report.nodeid, report.when, outcome]) + "\n")


def put(workspace: str, name: str) -> str:
    """Return the place of ``name``, with nothing there and real folders above it: no link leads elsewhere."""
    place = workspace
    parts = name.split("/")
    for number, part in enumerate(parts):
        place = os.path.join(place, part)  # noqa: PTH118
        last = number == len(parts) - 1
        if os.path.islink(place) or os.path.isfile(place):  # noqa: PTH113, PTH114
            os.unlink(place)  # noqa: PTH108
        elif last and os.path.isdir(place):  # noqa: PTH112
            shutil.rmtree(place)
        if not last and not os.path.isdir(place):  # noqa: PTH112
            os.mkdir(place)  # noqa: PTH102
    return place


def prepare(settings: dict[str, Any]) -> None:
    """Make the hidden tests the workspace's."""
    for name in settings["deleted"]:
        put(settings["workspace"], name)
    with tarfile.open(os.path.join(HERE, "hidden.tar")) as archive:  # noqa: PTH118
        for entry in archive:
            place = put(settings["workspace"], entry.name)
            source = archive.extractfile(entry)
            if source is not None:
                with open(place, "wb") as file:  # noqa: PTH123
                    shutil.copyfileobj(source, file)
                os.chmod(place, entry.mode)  # noqa: PTH101


def run(settings: dict[str, Any], file: str, report: str) -> None:
    """Run the tests of one file; what they print goes to the verifier's own output."""
    roots = [os.path.normpath(os.path.join(settings["workspace"], root)) for root in settings["python_path"]]  # noqa: PTH118
    environment = dict(os.environ, CODEGATE_REPORT=report, PYTHONPATH=os.pathsep.join([*roots, HERE]))
    arguments = [
        "./" + file, "--rootdir=.", "--confcutdir=.", "--import-mode=prepend", "-q", "--tb=short", "--color=no",
        "--continue-on-collection-errors", "-p", "no:cacheprovider", "-o", "addopts=", "-o", "required_plugins=",
        "-p", "codegate_verify",
    ]  # fmt: skip
    command = [sys.executable, "-B", "-m", "pytest", *arguments]
    subprocess.run(command, cwd=settings["workspace"], env=environment, stdin=subprocess.DEVNULL, check=False)


def statuses(report: str) -> dict[str, bool]:
    """Return whether each reported test passed: set up, called and taken down, each without a fault."""
    phases: dict[str, list[list[str]]] = {}
    with open(report, encoding="utf-8") as file:  # noqa: PTH123
        for line in file:
            test, when, outcome = json.loads(line)
            phases.setdefault(test, []).append([when, outcome])
    return {
        test: all(outcome == "passed" for _, outcome in found)
        and found[0][0] == "setup"
        and found[-1][0] == "teardown"
        and {when for when, _ in found[1:-1]} == {"call"}
        for test, found in phases.items()
    }


def write(name: str, text: str) -> None:
    """Write one of the verifier's files."""
    with open(os.path.join(LOGS, name), "w", encoding="utf-8") as file:  # noqa: PTH118, PTH123
        file.write(text)


def main() -> None:
    """Run all hidden tests and write the reward, and what became of each expected test."""
    os.makedirs(LOGS, exist_ok=True)  # noqa: PTH103
    write("reward.txt", "0\n")
    with open(os.path.join(HERE, "expected.json"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
        settings = json.load(file)
    prepare(settings)
    passed: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, file in enumerate(settings["files"]):
            report = os.path.join(folder, str(number))  # noqa: PTH118
            with open(report, "w", encoding="utf-8"):  # noqa: PTH123
                pass
            run(settings, file, report)
            found = statuses(report)
            passed.update({test: found[test] for test in found if test.startswith(file + "::")})
    results = {test: passed.get(test, False) for test in settings["expected"]}
    write("tests.json", json.dumps(results, indent=1) + "\n")
    write("reward.txt", "1\n" if all(results.values()) else "0\n")


if __name__ == "__main__":
    main()
