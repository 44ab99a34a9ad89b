"""Rust, as mining sees it."""

from pathlib import PurePosixPath

from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.suite import Tree


class Rust(LanguageSupport):
    """Cargo's tests."""

    language = "rust"

    def runner(self, tree: Tree) -> RunnerSettings | None:
        """See ``LanguageSupport.runner``: there is one, and it takes a manifest."""
        return RunnerSettings("cargo") if any(PurePosixPath(path).name == "Cargo.toml" for path in tree) else None
