"""What a person gives to mine a repository in any language: a command, the reports that it writes, an environment."""

from collections.abc import Iterator
from datetime import date

from codegate.durable import digest
from codegate.mining.environments.declarations import read_declarations
from codegate.mining.environments.environment import EnvironmentResolver, lock_environment
from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.suite import LockedEnvironment, ProblemLimits, Tree


class Given(LanguageSupport):
    """Tests by the user's command, in the user's environment."""

    language = "junit"

    def __init__(self, resolver: EnvironmentResolver) -> None:
        self.resolver = resolver

    def runner(self, tree: Tree) -> RunnerSettings | None:  # noqa: ARG002
        """See ``LanguageSupport.runner``."""
        user = self.resolver.user
        return RunnerSettings("junit", user.command, user.reports) if user is not None and user.command else None

    def environments(self, base: Tree, fixed: Tree, committed: date) -> Iterator[LockedEnvironment]:  # noqa: ARG002
        """See ``LanguageSupport.environments``: the user's, or else the interpreter alone."""
        user = self.resolver.user
        if user is not None and (user.lock or user.requirements):
            found = next(self.resolver.ladder(read_declarations(Tree()), committed), None)
            yield from () if found is None else (found,)
            return
        python, image = self.resolver.python, user.image if user is not None else None
        name = f"given-{digest([python, image])[:8]}"
        yield lock_environment(name, python, "", {}, "user", image=image)

    def limits(self) -> ProblemLimits:
        """See ``LanguageSupport.limits``: the command may compile everything and run all tests."""
        return ProblemLimits(seconds=300, memory_mb=2048, pids=512, disk_mb=1024)
