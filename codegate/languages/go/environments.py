"""Go, as mining sees it."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from codegate.languages.go.narrowing import without_errors
from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.suite import Tree, TreeFile


class Go(LanguageSupport):
    """Go's tests, by its own framework."""

    language = "go"

    def runner(self, tree: Tree) -> RunnerSettings | None:
        """See ``LanguageSupport.runner``: there is one, and it takes a module."""
        return RunnerSettings("go") if any(PurePosixPath(path).name == "go.mod" for path in tree) else None

    def narrowed(self, tests: Mapping[str, TreeFile | None], said: str) -> Mapping[str, TreeFile]:
        """See ``LanguageSupport.narrowed``: one new name in a test, and no test of its package runs."""
        return without_errors(tests, said)
