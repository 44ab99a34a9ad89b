"""A language: shell scripts, whose tests the repository's own ``run-tests.sh`` runs and reports as JUnit XML."""

from codegate.languages import FileRules, LanguagePack
from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.suite import Tree


class ShellFiles(FileRules):
    """Files of shell scripts."""

    def is_test(self, path: str) -> bool:
        """See ``FileRules.is_test``."""
        return path.startswith("tests/") and path.endswith(".sh")


class Shell(LanguageSupport):
    """What mining asks: the runner."""

    def runner(self, tree: Tree) -> RunnerSettings | None:  # noqa: ARG002
        """See ``LanguageSupport.runner``."""
        return RunnerSettings("junit", ("sh", "run-tests.sh", "{files}"), ("report.xml",))


LANGUAGE = LanguagePack(
    name="shell", suffixes=(".sh",), files=ShellFiles, runners={}, environments="codegate_example.language:Shell"
)
