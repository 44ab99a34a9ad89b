"""Tests of any language, by a recipe whose command writes JUnit XML."""

from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.suite import Tree


class Given(LanguageSupport):
    """Tests by the recipe's command."""

    language = "junit"

    def runner(self, tree: Tree) -> RunnerSettings | None:  # noqa: ARG002
        """See ``LanguageSupport.runner``: no tree says it."""
        return None
