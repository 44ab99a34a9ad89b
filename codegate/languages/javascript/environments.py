"""JavaScript and TypeScript, as mining sees them."""

from codegate.languages.javascript.manifest import runner_of
from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.suite import Tree


class JavaScript(LanguageSupport):
    """JavaScript's tests, by node:test, jest, vitest or mocha."""

    language = "javascript"
    parts = True

    def runner(self, tree: Tree) -> RunnerSettings | None:
        """See ``LanguageSupport.runner``: what the scripts of ``package.json`` run, or else what it depends on."""
        found = runner_of(tree)
        return RunnerSettings(found) if found is not None else None
