"""Compile and lint changed files inside a sandbox.

No code of the repository has run in the sandbox before, and the interpreter is that of the tests. The changed files are
in the workspace's folders ``before`` and ``after``. Standard input brings texts, each followed by a NUL: the program
with which Node compiles JavaScript; each changed file, after ``1`` if ``before`` has it, else ``0``; each new top-level
module, after ``m``. Argument 2 is the folder with ruff. The driver writes a record for each file, so a missing record
shows which file ended the compiler. Few modules are imported, because every attempt pays for them: json alone takes as
long as the rest.
"""

from __future__ import annotations

import os
import sys
import warnings

#: Pyflakes and the error rules that point at mistakes rather than at taste.
RULES = "E4,E7,E9,F,B,PLE"
#: An encoding error: the linter reads only UTF-8, but the interpreter decides which encodings are valid.
IGNORED = "E902"


def send(kind: str, name: str, text: str = "") -> None:
    """Write one record: three texts, each followed by a NUL."""
    parts = (part.replace("\0", "").encode("utf-8", "surrogateescape") for part in (kind, name, text))
    data = b"".join(part + b"\0" for part in parts)
    while data:
        data = data[os.write(int(sys.argv[1]), data) :]


def compile_error(side: str, path: str) -> str | None:
    """Return the compiler's error for a Python file, or None.

    ``side`` is the folder of the file: ``before`` or ``after``.
    """
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
    """Return the compile error of each script, or None.

    ``program`` is JavaScript that compiles files; ``files`` has, by path, whether the file existed before. An error
    does not count if the script did not compile before. Without Node there are no errors.
    """
    import json
    import shutil
    import subprocess

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


def findings(ruff: str, side: str) -> str | None:
    """Return ruff's counts by rule as JSON; None on failure.

    ``ruff`` is the program, ``side`` the folder to check.
    """
    if not os.path.isdir(side):
        return "[]"
    version = "py%d%d" % sys.version_info[:2]
    reader, writer = os.pipe()
    child = os.posix_spawn(
        ruff,
        [ruff, "check", "--isolated", "--no-cache", "--quiet", "--exit-zero", "--ignore-noqa", "--no-respect-gitignore",
         "--config=exclude=[]", "--target-version=" + version, "--select=" + RULES, "--ignore=" + IGNORED,
         "--statistics", "--output-format=json", side],
        {"RAYON_NUM_THREADS": "1"},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, writer, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )  # fmt: skip
    os.close(writer)
    with open(reader, encoding="utf-8", errors="replace") as file:
        counted = file.read()
    if os.waitpid(child, 0)[1]:
        return None
    return counted.strip() or "[]"  # without findings ruff prints nothing at all


def main() -> None:
    """Report shadowed modules, compile errors, then ruff's counts."""
    os.set_inheritable(int(sys.argv[1]), False)
    compiler, *words = sys.stdin.buffer.read().decode("utf-8", "surrogateescape").split("\0")[:-1]
    files = {word[1:]: word[0] == "1" for word in words if word[0] != "m"}
    modules = {word[1:] for word in words if word[0] == "m"}
    # The packages of a virtual environment, which -S does not add to the path.
    above = os.path.dirname(os.path.dirname(sys.executable))
    place = os.path.join(above, "lib/python%d.%d/site-packages" % sys.version_info[:2])
    found = os.listdir(place) if os.path.isdir(place) else []
    names = [name for name in found if name not in {"bin", "__pycache__"}]
    installed = {name.partition(".")[0] for name in names if not name.endswith((".dist-info", ".data"))}
    for name in sorted(installed & modules):
        send("installed", name)
    python = {path: there for path, there in files.items() if path.endswith((".py", ".pyi"))}
    scripts = {path: there for path, there in files.items() if path not in python}
    for path, error in script_errors(compiler, scripts).items() if scripts else ():
        send("compiled", path, error or "")
    for path, was_there in python.items():
        error = compile_error("after", path)
        if error is not None and was_there and compile_error("before", path) is not None:
            error = None  # the file is for another interpreter
        send("compiled", path, error or "")
    ruff = os.path.join(sys.argv[2], "ruff")
    after = findings(ruff, "after") if python else None
    if after is not None:
        # Only findings that are new count, so that there is nothing to compare with where there is none.
        before = findings(ruff, "before") if after != "[]" else "[]"
        if before is not None:
            send("before", "", before)
            send("after", "", after)
    for side in ("before", "after"):
        for folder, _, held in os.walk(side, topdown=False):
            for name in held:
                os.unlink(os.path.join(folder, name))
            os.rmdir(folder)


main()
