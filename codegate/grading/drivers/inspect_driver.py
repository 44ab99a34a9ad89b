"""Compile and lint changed files inside a sandbox.

No code of the repository has run in it before, and the interpreter is that of the tests. The changed files are in the
workspace's folders ``before`` and ``after``. Standard input brings ``{"files": {path: whether it was there before},
"modules": [...], "compiler": Node's program that compiles JavaScript}``; argument 2 is the folder with ruff, argument 3
the environment's packages. It answers in lines of JSON as it goes, so that a file which ends the compiler is known by
its absence.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from typing import Any

#: Pyflakes and the error rules that point at mistakes rather than at taste.
RULES = "E4,E7,E9,F,B,PLE"
#: An encoding error: the linter reads only UTF-8, but the interpreter decides which encodings are valid.
IGNORED = "E902"


def send(**record: Any) -> None:
    """Write one record."""
    data = (json.dumps(record) + "\n").encode("ascii")
    while data:
        data = data[os.write(int(sys.argv[1]), data) :]


def compile_error(side: str, path: str) -> str | None:
    """Return the compiler's error for a Python file, or None."""
    with open(os.path.join(side, path), "rb") as file:
        data = file.read()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, path, "exec", dont_inherit=True)
    except Exception as error:  # codecs have errors of their own next to SyntaxError, ValueError, MemoryError ...
        text = "%s: %s" % (type(error).__name__, error)
        return text[:500].encode("utf-8", "backslashreplace").decode("utf-8")
    return None


def script_errors(program: str, files: dict[str, bool]) -> dict[str, str | None]:
    """Return, by path, compile errors that are new since ``before``."""
    # A script counts only if it compiled before. Without Node there are no errors.
    node = shutil.which("node")
    known = [path for path, was_there in files.items() if was_there]
    paths = [os.path.join(side, path) for path in known for side in ("before", "after")]
    errors: dict[str, str | None] = dict.fromkeys(files)
    if not paths or node is None:
        return errors
    try:
        done = subprocess.run(
            [node, "--no-warnings", "--experimental-vm-modules", "-e", program],
            input=json.dumps(paths).encode("utf-8", "surrogateescape"), stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=30,
        )  # fmt: skip
        answers = [json.loads(line) for line in done.stdout.splitlines()]
    except (subprocess.TimeoutExpired, ValueError):
        return errors
    if len(answers) == len(paths):
        for number, path in enumerate(known):
            before, after = answers[2 * number : 2 * number + 2]
            errors[path] = str(after)[:500] if after is not None and before is None else None
    return errors


def findings(ruff: str, side: str) -> dict[str, int] | None:
    """Return the number of ruff's findings by rule, or None."""
    if not os.path.isdir(side):
        return {}
    version = "py%d%d" % sys.version_info[:2]
    done = subprocess.run(
        [ruff, "check", "--isolated", "--no-cache", "--quiet", "--exit-zero", "--ignore-noqa", "--no-respect-gitignore",
         "--config=exclude=[]", "--target-version=" + version, "--select=" + RULES, "--ignore=" + IGNORED,
         "--statistics", "--output-format=json", side],
        env={"RAYON_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode != 0:
        return None
    try:
        counted = json.loads(done.stdout or b"[]")  # without findings ruff prints nothing at all
        return {str(entry["code"] or entry["name"]): int(entry["count"]) for entry in counted}
    except (ValueError, KeyError, TypeError):
        return None


def main() -> None:
    """Report shadowed modules, compile errors, then ruff's counts."""
    settings = json.load(sys.stdin)
    # The packages of a virtual environment, which -S does not add to the path.
    above = os.path.dirname(os.path.dirname(sys.executable))
    place = os.path.join(above, "lib/python%d.%d/site-packages" % sys.version_info[:2])
    found = os.listdir(place) if os.path.isdir(place) else []
    names = [name for name in found if name not in {"bin", "__pycache__"}]
    installed = {name.partition(".")[0] for name in names if not name.endswith((".dist-info", ".data"))}
    send(kind="installed", modules=sorted(installed.intersection(settings["modules"])))
    python = {path: there for path, there in settings["files"].items() if path.endswith((".py", ".pyi"))}
    scripts = {path: there for path, there in settings["files"].items() if path not in python}
    for path, error in script_errors(settings["compiler"], scripts).items():
        send(kind="compiled", path=path, error=error)
    for path, was_there in python.items():
        error = compile_error("after", path)
        if error is not None and was_there and compile_error("before", path) is not None:
            error = None  # the file is for another interpreter
        send(kind="compiled", path=path, error=error)
    if python:
        ruff = os.path.join(sys.argv[2], "ruff")
        send(kind="linted", before=findings(ruff, "before"), after=findings(ruff, "after"))
    for side in ("before", "after"):
        if os.path.isdir(side):
            shutil.rmtree(side)


main()
