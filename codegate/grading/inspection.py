"""Compile and lint changed files before any code runs."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from codegate.grading.drivers import driver_command, driver_source
from codegate.grading.grade import LintResult
from codegate.languages import languages
from codegate.sandbox import Lease, SandboxError, SandboxFile
from codegate.suite import Changes, Tree

_LINTED = (".py", ".pyi")


@dataclass(frozen=True)
class Inspection:
    """The results of compiling and linting.

    Attributes:
        errors: compile errors by path; empty: every changed file compiles.
        lint: None when no file was linted, or the linter gave no answer.
        shadowed: new top-level modules that the environment has too.
    """

    errors: Mapping[str, str] = field(default_factory=dict)
    lint: LintResult | None = None
    shadowed: tuple[str, ...] = ()


def inspect(lease: Lease, base: Tree, changes: Changes, new_modules: frozenset[str]) -> Inspection:
    """Compile and lint the changed files in a sandbox.

    A Python file that the compiler cannot finish within the sandbox's limits counts as an error; an error does not
    count if the file did not compile in ``base`` either. A JavaScript or TypeScript file counts only if it compiled in
    ``base``, because only the project's own tools know what they accept; such files are not linted. ``new_modules`` are
    the top-level modules that ``changes`` add.

    Raises:
        FilesRefused: the changed files do not fit into the sandbox.
        SandboxError: the sandbox failed, or its interpreter does not start.
    """
    suffixes = tuple(suffix for language in languages() for suffix in language.compiled)
    files: dict[str, bool] = {}
    placed: list[SandboxFile] = []
    for path, file in changes.items():
        if path.endswith(suffixes) and file is not None and not file.is_link:
            before = base.get(path)
            files[path] = before is not None and not before.is_link
            placed.append(SandboxFile(f"after/{path}", file.data))
            if before is not None and files[path]:
                placed.append(SandboxFile(f"before/{path}", before.data))
    linted = any(path.endswith(_LINTED) for path in changes)
    if not files:
        return Inspection(lint=_lint({}, {}) if linted else None)
    lease.sandbox.put(tuple(placed))
    texts = [driver_source("compile_check.cjs"), *(f"{there:d}{path}" for path, there in files.items())]
    texts += [f"m{name}" for name in sorted(new_modules)]
    given = "".join(f"{text}\0" for text in texts).encode("utf-8", "surrogateescape")
    command = driver_command("inspect_driver", {}, "{tools}", interpreter=("{interpreter}",))
    done = lease.sandbox.run(replace(command, stdin=given))
    lease.reusable = done.ok
    parts = done.records.decode("utf-8", "surrogateescape").split("\0")[:-1]
    records = list(zip(parts[::3], parts[1::3], parts[2::3], strict=False))
    compiled = {path: error for kind, path, error in records if kind == "compiled"}
    shadowed = tuple(name for kind, name, _ in records if kind == "installed")
    errors = {path: error for path, error in compiled.items() if error}
    unfinished = next((path for path in files if path not in compiled), None)
    if unfinished is not None:
        if done.exit_code is not None and not (done.timed_out or done.memory_exceeded):
            words = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise SandboxError(f"the inspection of changed files failed in the sandbox: {words}")
        errors.setdefault(unfinished, "the compiler did not finish within the limits")
    counts = {kind: _counts(text) for kind, _, text in records if kind in {"before", "after"}}
    old, new = counts.get("before"), counts.get("after")
    lint = _lint(old, new) if old is not None and new is not None and linted and not unfinished else None
    return Inspection(errors, lint, shadowed)


def _counts(text: str) -> Mapping[str, int] | None:
    try:
        return {str(entry["code"] or entry["name"]): int(entry["count"]) for entry in json.loads(text)}
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _lint(before: Mapping[str, int], after: Mapping[str, int]) -> LintResult:
    new = Counter(after) - Counter(before)
    count = new.total()
    return LintResult(new_findings=count, score=max(0, 100 - 10 * count), rules=tuple(sorted(new))[:50])
