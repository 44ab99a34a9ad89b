"""Java, as mining sees it: nothing is resolved here, a recorded build brings what Maven or Gradle loads."""

from collections.abc import Iterator
from datetime import date
from pathlib import PurePosixPath

from codegate.mining.environments.environment import EnvironmentResolver
from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.suite import LockedEnvironment, ProblemLimits, Tree


class Java(LanguageSupport):
    """Java's tests, by the project's own build tool."""

    language = "java"

    def runner(self, tree: Tree) -> RunnerSettings | None:
        """See ``LanguageSupport.runner``: Maven where there is a pom, else Gradle."""
        names = {PurePosixPath(path).name for path in tree}
        if "pom.xml" in names:
            return RunnerSettings("maven")
        return RunnerSettings("gradle") if names & {"build.gradle", "build.gradle.kts"} else None

    def environments(self, base: Tree, fixed: Tree, committed: date) -> Iterator[LockedEnvironment]:  # noqa: ARG002
        """See ``LanguageSupport.environments``: there is none."""
        yield from ()

    def unresolved(self, fixed: Tree, committed: date) -> str:  # noqa: ARG002
        """See ``LanguageSupport.unresolved``."""
        return "Java is mined in recorded builds only: write `environment:` in codegate.yml, or run `codegate init`"

    def limits(self) -> ProblemLimits:
        """See ``LanguageSupport.limits``: a virtual machine keeps threads and memory for itself."""
        return ProblemLimits(seconds=240, memory_mb=3072, pids=512, disk_mb=512)


def support(_resolver: EnvironmentResolver) -> Java:
    """Return Java for mining."""
    return Java()
