"""Java, as mining sees it."""

from pathlib import PurePosixPath

from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.suite import Tree


class Java(LanguageSupport):
    """Java's tests, by the project's own build tool."""

    language = "java"

    def runner(self, tree: Tree) -> RunnerSettings | None:
        """See ``LanguageSupport.runner``: Maven where there is a pom, else Gradle."""
        names = {PurePosixPath(path).name for path in tree}
        if "pom.xml" in names:
            return RunnerSettings("maven")
        return RunnerSettings("gradle") if names & {"build.gradle", "build.gradle.kts"} else None
