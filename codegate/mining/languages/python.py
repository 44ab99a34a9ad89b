"""Python, as mining sees it."""

from collections.abc import Iterator
from datetime import date

from codegate.mining.environments.declarations import import_roots, read_declarations
from codegate.mining.environments.environment import EnvironmentResolver
from codegate.mining.languages.contract import LanguageSupport, RunnerSettings
from codegate.mining.languages.python_runner import choose_python_runner, django_project
from codegate.suite import LockedEnvironment, Tree


class Python(LanguageSupport):
    """Python's tests, by pytest unless the tree needs another runner; environments are resolved by ``resolver``."""

    language = "python"

    def __init__(self, resolver: EnvironmentResolver) -> None:
        self.resolver = resolver

    def runner(self, tree: Tree) -> RunnerSettings | None:
        """See ``LanguageSupport.runner``: pytest runs unittest's cases too."""
        return RunnerSettings(choose_python_runner(tree))

    def environments(self, base: Tree, fixed: Tree, committed: date) -> Iterator[LockedEnvironment]:  # noqa: ARG002
        """See ``LanguageSupport.environments``."""
        return self.resolver.ladder(read_declarations(fixed), committed)

    def worked(self, environment: LockedEnvironment, committed: date) -> None:
        """See ``LanguageSupport.worked``."""
        self.resolver.worked(environment, committed)

    def unresolved(self, fixed: Tree, committed: date) -> str:
        """See ``LanguageSupport.unresolved``."""
        return self.resolver.unresolved(read_declarations(fixed), committed)

    def python_path(self, tree: Tree) -> tuple[str, ...]:
        """See ``LanguageSupport.python_path``; a Django project's folder comes first."""
        project = django_project(tree) if choose_python_runner(tree) == "django" else None
        return tuple(dict.fromkeys((*([] if project is None else [project]), *import_roots(tree))))
