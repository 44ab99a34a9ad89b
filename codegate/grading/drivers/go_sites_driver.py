"""Builds the program that finds where Go test files can be instrumented, and runs it; nothing of them is compiled.

This file is never imported by codegate: its text is sent into a fresh sandbox and run there by an isolated
interpreter (``-I -S -B``). Standard input is a JSON object ``{"files": {path: text}, "program": …}``: the texts of
``go_sites.go`` and its parts, each behind the byte 0. What the program finds goes to the records pipe, whose
descriptor is argument 1; the toolchain is below argument 2, its build cache below argument 3.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile

from codegate.grading.drivers.go_settings_driver import BUILDING, GO_SETTINGS


def main() -> None:
    """Build, run, and leave nothing behind; exit with the first status that is not 0."""
    records, site, packages = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    settings = json.load(sys.stdin)
    # Below the workspace, where programs may be run.
    scratch = tempfile.mkdtemp(prefix=".codegate-sites-", dir=os.getcwd())
    try:
        for number, text in enumerate(["module sites\n\ngo 1.21\n", *settings["program"].split("\0")]):
            name = "part%d.go" % number if number else "go.mod"
            with open(os.path.join(scratch, name), "w", encoding="utf-8") as file:
                file.write(text)
        cache = os.path.join(packages, "gocache")
        variables = {
            **os.environ, **GO_SETTINGS, **BUILDING, "GOPATH": os.path.join(scratch, "path"), "GOTMPDIR": scratch,
            "GOCACHE": cache if os.path.isdir(cache) else os.path.join(scratch, "cache"),
        }  # fmt: skip
        go = os.path.join(site, "go", "bin", "go")
        status = subprocess.call([go, "build", "-ldflags=-s -w", "-o", "sites", "."], cwd=scratch, env=variables)
        if status == 0:
            files = json.dumps({"files": settings["files"]}).encode("ascii")
            status = subprocess.run([os.path.join(scratch, "sites")], input=files, stdout=records).returncode
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(status)


main()
