"""Collect the files that an agent changed in its sandbox.

These are the files that git would commit, byte for byte. Git decides on the host, without a work tree, which files are
ignored: the listing comes from the agent's sandbox and is hostile.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from codegate.errors import UsageError
from codegate.sandbox import Command, Completed, Sandbox, SandboxClosed
from codegate.solving.answer import MAX_FILES, paths_to_drop, show_path, sort_paths, too_large
from codegate.solving.attempt import DroppedPath
from codegate.solving.drivers import program_text
from codegate.suite import MAX_CHANGED_BYTES, Changes, Tree, TreeFile, find_ignored, is_plain_path, object_id

_SECONDS: Final = 120.0
_LISTING_BYTES: Final = 64 << 20
_MODES: Final = frozenset({"100644", "100755", "120000"})
_IGNORED: Final = """\
.hypothesis/
.mypy_cache/
.nox/
.pytest_cache/
.ruff_cache/
.tox/
.venv/
__pycache__/
node_modules/
venv/
*.egg-info/
"""
"""Ignore rules for a repository that has none. They match files that common tools leave behind."""


@dataclass(frozen=True)
class CollectedChanges:
    """The changes that an agent left, or a reading error."""

    changes: Changes = field(default_factory=dict)
    dropped: tuple[DroppedPath, ...] = ()
    error: str | None = None


def collect_changes(
    sandbox: Sandbox, base: Tree, is_left_out: Callable[[str], bool], done: Completed
) -> CollectedChanges:
    """Read the agent's changes from its sandbox.

    Paths for which ``is_left_out`` is true are left out. ``done`` is the agent's command. If the agent exceeded the
    memory limit and the sandbox closed, no change is returned.
    """
    try:
        return _collected(sandbox, base, is_left_out)
    except SandboxClosed:
        if not done.memory_exceeded:
            raise
        return CollectedChanges()
    except (UsageError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return CollectedChanges(error=f"what the agent left cannot be read: {error or type(error).__name__}")


def _collected(sandbox: Sandbox, base: Tree, is_left_out: Callable[[str], bool]) -> CollectedChanges:
    given = {path: (file.mode, object_id(file.data)) for path, file in base.items()}
    listing = _run_collector(sandbox, {"given": given}, _LISTING_BYTES)
    found: dict[str, tuple[Any, int]] = {**listing["changed"], **listing["new"]}
    rules = {path: TreeFile(base64.b64decode(text)) for path, text in listing["rules"].items() if is_plain_path(path)}
    # Files with ignore rules are only read; a new one is not a part of the answer.
    new = [path for path in listing["new"] if path not in rules]
    odd = [path for path in new if not is_plain_path(path)]
    plain = sorted({*new}.difference(odd))
    ignored = find_ignored(Tree(rules), plain, _IGNORED)
    own = [path for path in (*listing["gone"], *listing["changed"], *plain) if not is_left_out(path)]
    sources, dropped = sort_paths(base, [path for path in own if path not in ignored])
    dropped += [DroppedPath(path=show_path(path), reason="unsafe") for path in odd]
    over = f"an answer may have {MAX_FILES} files"
    dropped += [DroppedPath(path=show_path(path), reason="too_large", detail=over) for path in sources[MAX_FILES:]]
    sources = sources[:MAX_FILES]
    sizes = {path: found[path][1] for path in sources if path in found}
    for path in paths_to_drop(sizes, MAX_CHANGED_BYTES):
        dropped.append(too_large(path, sizes.pop(path), f"an answer's files may have {MAX_CHANGED_BYTES} bytes"))
    changed = {*listing["gone"], *found}
    own = [drop.path for drop in dropped if drop.reason == "test" and drop.path in changed][:MAX_FILES]
    tests = {path: found[path][1] for path in own if path in found}
    if sum(sizes.values()) + sum(tests.values()) <= MAX_CHANGED_BYTES and all(found[p][0] in _MODES for p in tests):
        sources, sizes = [*sources, *own], {**sizes, **tests}
    # Twice the size, because base64 takes four bytes for three.
    texts = _run_collector(sandbox, {"read": [*sizes]}, 2 * MAX_CHANGED_BYTES) if sizes else {}
    changes: dict[str, TreeFile | None] = {path: None for path in sources if path not in found}
    for path in sizes:
        mode = found[path][0]
        if mode not in _MODES:
            raise ValueError(f"mode {mode!r}")
        changes[path] = TreeFile(base64.b64decode(texts[path]), mode)
    base.overlay(changes)
    return CollectedChanges(changes, tuple(dropped))


def _run_collector(sandbox: Sandbox, request: dict[str, Any], most: int) -> dict[str, Any]:
    done = sandbox.run(
        Command(
            ("{python}", "-I", "-S", "-c", program_text("collect_driver")),
            stdin=json.dumps(request).encode(),
            timeout_seconds=_SECONDS,
            output_bytes=most,
        )
    )
    if done.truncated:
        raise ValueError(f"its paths or files have more than {most} bytes")
    if not done.ok:
        how = "no end" if done.timed_out else f"exit status {done.exit_code}"
        raise ValueError(f"the collector ended with {how}: {done.stderr[-300:].decode('utf-8', 'replace').strip()}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
