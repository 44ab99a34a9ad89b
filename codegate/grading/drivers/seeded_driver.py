"""Start a driver with the hash seed of its environment.

``-I`` isolates an interpreter from all variables, ``PYTHONHASHSEED`` included. This program runs under ``-I`` and
replaces itself by an interpreter that sees ``PYTHONHASHSEED`` and no other variable of Python's. That interpreter runs
the driver, whose text is argument 1, and gives it the other variables back. No module of the workspace can be imported
on the way.
"""

from __future__ import annotations

import os
import sys

KEPT = "CODEGATE_"
DRIVER = """\
import sys
sys.path[:] = [path for path in sys.path if path]
import os
for name in [name for name in os.environ if name.startswith("CODEGATE_PYTHON")]:
    os.environ[name[len("CODEGATE_"):]] = os.environ.pop(name)
exec(compile(sys.argv.pop(1), "<string>", "exec"))
"""
SEED = "PYTHONHASHSEED"


def main() -> None:
    with open("/proc/self/cmdline", "rb") as file:
        words = file.read().split(b"\0")[:-1]
    given = len(words) - len(sys.argv) + 1
    isolated = given - 5  # -I, -S, -B, -c and this text
    kept = [word for word in words[1:isolated] if word not in {b"-E", b"-I"}]  # they hide the seed too
    variables = {KEPT * (name.startswith("PYTHON") and name != SEED) + name: os.environ[name] for name in os.environ}
    # From 3.13 on -c imports a module before the first line of its text; older versions have no -P and do not.
    own = [b"-P"] if sys.version_info >= (3, 11) else []
    options = [*own, b"-s", b"-S", b"-B", b"-c", DRIVER.encode("ascii")]
    os.execve(sys.executable, [words[0], *kept, *options, *words[given:]], variables)


main()
