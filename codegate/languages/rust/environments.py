"""Rust, as mining sees it: nothing is resolved here, a recorded build brings what Cargo.lock names."""

from collections.abc import Iterator
from datetime import date
from pathlib import PurePosixPath

from codegate.mining.environments.environment import EnvironmentResolver
from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.suite import LockedEnvironment, ProblemLimits, Tree


class Rust(LanguageSupport):
    """Cargo's tests."""

    language = "rust"

    def runner(self, tree: Tree) -> RunnerSettings | None:
        """See ``LanguageSupport.runner``: there is one, and it takes a manifest."""
        return RunnerSettings("cargo") if any(PurePosixPath(path).name == "Cargo.toml" for path in tree) else None

    def environments(self, base: Tree, fixed: Tree, committed: date) -> Iterator[LockedEnvironment]:  # noqa: ARG002
        """See ``LanguageSupport.environments``: there is none."""
        yield from ()

    def unresolved(self, fixed: Tree, committed: date) -> str:  # noqa: ARG002
        """See ``LanguageSupport.unresolved``."""
        return "Rust is mined in recorded builds only: write `environment:` in codegate.yml, or run `codegate init`"

    def limits(self) -> ProblemLimits:
        """See ``LanguageSupport.limits``: a compiler takes memory, and its output is large."""
        return ProblemLimits(seconds=600, memory_mb=3072, pids=512, disk_mb=2048)


def support(_resolver: EnvironmentResolver) -> Rust:
    """Return Rust for mining."""
    return Rust()
