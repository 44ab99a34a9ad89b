"""The command line in forks of a process that has imported it once: a start costs a second, and tests make hundreds.

What is forked is the real command (``codegate.cli.main.run``) with a folder, an environment, streams, limits and a
process group of its own. As a script this module is the process that forks; it imports the command line, and looks but
once at what all commands would look at (``remembered``).
"""

import gc
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
_SLOW: Final = (
    "codegate.candidates.openai", "codegate.github.entry", "codegate.languages.python.runners",
    "codegate.sandbox.bubblewrap", "docker", "genai_prices.data_snapshot", "jinja2", "junit_xml",
    "openai.resources.chat", "rich.console", "rich.table",
)  # fmt: skip
"""What the commands import when they need it, in half a second to two."""


@dataclass(frozen=True)
class Done:
    """How a command ended; ``code`` is None when it had to be killed."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float = 0.0

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.stdout)


class Forker:
    """The process that forks, seen from the tests; started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(
        self,
        *words: object,
        cwd: Path,
        environment: Mapping[str, str],
        seconds: float = 1800,
        file_bytes: int | None = None,
        memory_bytes: int | None = None,
        before: str = "",
    ) -> Done:
        """Run a command with these words and nothing but this environment, and return how it ended.

        ``before`` is a program that its process carries out first.
        """
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            streams = [Path(folder, "out"), Path(folder, "errors")]
            order = {
                "words": [str(word) for word in words], "cwd": str(cwd), "environment": dict(environment),
                "streams": [str(path) for path in streams], "seconds": seconds,
                "before": before, "limits": {resource.RLIMIT_FSIZE: file_bytes, resource.RLIMIT_AS: memory_bytes},
            }  # fmt: skip
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            code, taken = json.loads(self._process.stdout.readline())
            out, errors = (path.read_bytes().decode("utf-8", "backslashreplace") for path in streams)
        return Done(code, out, errors, taken)


FORKER: Final = Forker()
"""One for each process of tests."""


def _serve() -> None:
    """Carry out one command for each line of the input."""
    for room in ("codegate.cli", "codegate.languages"):
        for module in iter_modules(import_module(room).__path__, f"{room}."):
            import_module(module.name)
    for name in _SLOW:
        import_module(name)
    import_module("codegate.candidates.listed").table_names()
    with suppress(Exception):  # whatever proxy or certificates this environment names
        import_module("openai").OpenAI(api_key="none").close()  # it loads what sends requests
    import_module("codegate.reporting.html").__dict__["_template"]().environment.get_template("_charts.html.j2")
    for name in ("report.md.j2", "comment.md.j2"):
        import_module("codegate.reporting.markdown").markdown_template(name).environment.get_template("_tables.md.j2")
    # Mining runs each example in ten processes in each state and each proof three times, and hundreds of gates are
    # simulated to say what one finds: that takes most of the time of these commands.
    import_module("codegate.gating.power").__dict__.update(_GATES=60, _FEWEST_GATES=60)
    import_module("codegate.mining.examples.steady").__dict__["_TIMES"] = 2
    trial, proof = (
        import_module("codegate.mining.proving.validation").Trial,
        import_module("codegate.mining.proving.proof"),
    )
    confirm, prove = trial.confirm, proof.prove
    trial.confirm = lambda self, rounds, *more: confirm(self, 1, *more)
    proof.__dict__["prove"] = lambda problem, base, sandboxes, rounds, *more: prove(problem, base, sandboxes, 1, *more)
    remembered = import_module("tests.kit.remembered")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault(remembered.FOUND, folder)  # not set outside of pytest
        remembered.remember()
        gc.collect()
        gc.freeze()  # else each fork's collections would copy what all of them share
        _carry_out()


def _carry_out() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            _become(order)
        code = _end_of(child, started + order["seconds"])
        sys.stdout.write(json.dumps([code, time.monotonic() - started]) + "\n")
        sys.stdout.flush()


def _end_of(child: int, deadline: float) -> int | None:
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _become(order: dict[str, Any]) -> None:
    """Be the command that ``order`` asks for, and end as it ends."""
    from codegate.cli.main import run

    os.setsid()
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environment"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, path in enumerate(order["streams"], 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
    for kind, most in order["limits"].items():
        if most is not None:
            resource.setrlimit(int(kind), (most, most))
    code = 70
    try:
        exec(order["before"], {})
        run(order["words"])
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


if __name__ == "__main__":
    _serve()
