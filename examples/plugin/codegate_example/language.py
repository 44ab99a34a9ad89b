"""A language: shell scripts, whose tests the repository's own ``run-tests.sh`` runs and reports as JUnit XML."""

from collections.abc import Iterator
from datetime import date

from codegate.languages import FileRules, LanguagePack
from codegate.mining.environments.environment import EnvironmentResolver, lock_environment
from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.suite import LockedEnvironment, Tree


class ShellFiles(FileRules):
    """Files of shell scripts."""

    def is_test(self, path: str) -> bool:
        """See ``FileRules.is_test``."""
        return path.startswith("tests/") and path.endswith(".sh")


class Shell(LanguageSupport):
    """What mining asks: the runner, and an environment without packages."""

    language = "shell"

    def __init__(self, resolver: EnvironmentResolver) -> None:
        self.python = resolver.python

    def runner(self, tree: Tree) -> RunnerSettings | None:  # noqa: ARG002
        """See ``LanguageSupport.runner``."""
        return RunnerSettings("junit", ("sh", "run-tests.sh", "{files}"), ("report.xml",))

    def environments(self, base: Tree, fixed: Tree, committed: date) -> Iterator[LockedEnvironment]:  # noqa: ARG002
        """See ``LanguageSupport.environments``."""
        yield lock_environment("shell", self.python, "", {}, "user")


LANGUAGE = LanguagePack(
    name="shell", suffixes=(".sh",), files=ShellFiles, runners={}, environments="codegate_example.language:Shell"
)
