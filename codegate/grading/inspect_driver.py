"""Compiles and lints changed files inside a sandbox, before anything of the repository runs there.

Like ``pytest_driver`` this text is sent into the sandbox. Standard input brings ``{"files": {path: [before,
after]}}`` (base64, or null); argument 1 is the pipe's descriptor, argument 2 the folder with ruff.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import warnings
from typing import Any

#: Pyflakes and the error rules that point at mistakes rather than at taste.
RULES = "E4,E7,E9,F,B,PLE"


def compile_error(path: str, data: bytes) -> str | None:
    """Return why the interpreter does not accept ``data``, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        return "%s: %s" % (type(error).__name__, error)
    return None


def findings(ruff: str, path: str, data: bytes) -> list[str] | None:
    """Return ruff's rule codes for ``data``, one for each finding; None when ruff gave no usable answer."""
    command = [ruff, "check", "--isolated", "--no-cache", "--quiet", "--output-format=json", "--select=" + RULES]
    done = subprocess.run(
        [*command, "--stdin-filename=" + path, "-"], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        return [str(item["code"]) for item in json.loads(done.stdout)]
    except (ValueError, KeyError, TypeError):
        return None


def main() -> None:
    """Report one JSON document over the pipe."""
    settings = json.load(sys.stdin)
    ruff = os.path.join(sys.argv[2], "ruff")
    result: Any = {"errors": {}, "before": [], "after": []}
    for path, sides in settings["files"].items():
        before, after = (None if side is None else base64.b64decode(side) for side in sides)
        if after is not None:
            error = compile_error(path, after)
            if error is not None:
                result["errors"][path] = error[:500]
        for name, data in (("before", before), ("after", after)):
            codes = [] if data is None else findings(ruff, path, data)
            result[name] = None if codes is None or result[name] is None else result[name] + codes
    data = json.dumps(result).encode("ascii")
    while data:
        data = data[os.write(int(sys.argv[1]), data) :]


main()
