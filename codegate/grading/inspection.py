"""The compile and lint stages: the changed files as text, before anything of the repository has run."""

import base64
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from codegate.grading.grade import LintResult
from codegate.sandbox import Command, Sandbox, SandboxError
from codegate.suite import Changes, Tree


@dataclass(frozen=True)
class Inspection:
    """Compile errors by path (empty: every changed file compiles) and the lint result (None: not known)."""

    errors: Mapping[str, str]
    lint: LintResult | None


@cache
def _driver_source() -> str:
    return resources.files("codegate.grading").joinpath("inspect_driver.py").read_text("utf-8")


def inspect(sandbox: Sandbox, base: Tree, changes: Changes, timeout_seconds: float) -> Inspection:
    """Compile and lint the changed Python files.

    A file that the compiler cannot finish within the sandbox's limits counts as one that does not compile.

    Raises:
        SandboxError: the sandbox failed, or its interpreter does not start.
    """
    files: dict[str, list[str | None]] = {}
    for path, file in changes.items():
        if path.endswith((".py", ".pyi")) and file is not None:
            before = base.get(path)
            files[path] = [_encoded(before.data) if before else None, _encoded(file.data)]
    if not files:
        return Inspection({}, LintResult(new_findings=0, score=100))
    completed = sandbox.run(
        Command(
            argv=("{python}", "-I", "-S", "-B", "-c", _driver_source(), "{records}", "{tools}"),
            stdin=json.dumps({"files": files}).encode("ascii"),
            timeout_seconds=timeout_seconds,
            records=True,
        )
    )
    if completed.timed_out or completed.memory_exceeded or completed.signal is not None:
        return Inspection(dict.fromkeys(files, "the compiler did not finish within the limits"), None)
    if not completed.ok:
        words = completed.stderr.decode("utf-8", "replace").strip()[-300:]
        raise SandboxError(f"the inspection of changed files failed in the sandbox: {words}")
    result = json.loads(completed.records)
    if result["before"] is None or result["after"] is None:
        return Inspection(result["errors"], None)
    new = Counter(result["after"]) - Counter(result["before"])
    count = new.total()
    return Inspection(
        result["errors"],
        LintResult(new_findings=count, score=max(0, 100 - 10 * count), rules=tuple(sorted(new))[:50]),
    )


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
