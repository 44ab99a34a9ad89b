"""A recorded build made by hand: commands run in a build sandbox, and what they leave is frozen."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from codegate.grading import TestReport, TestSelection, run_tests
from codegate.sandbox import Backend, Command, EnvironmentRecipe, Layer, Sandbox, SandboxFile, SandboxLimits, Toolchain
from codegate.suite import Tree, TreeFile
from tests.conftest import PYTHON

LIMITS = SandboxLimits(memory_bytes=3 << 30, disk_bytes=1 << 30, pids=512, cpus=2.0)


class Recorded:
    """An environment that commands left, and runs of tests in it.

    Args:
        backend: where.
        files: the tree that it is made from.
        setup: command lines.
        toolchains: by name, their versions.
        variables: of set-up and of tests.
        folder: where its archive is put.
    """

    def __init__(
        self,
        backend: Backend,
        files: Mapping[str, str],
        setup: tuple[str, ...],
        toolchains: tuple[Toolchain, ...],
        variables: Mapping[str, str],
        folder: Path,
    ) -> None:
        self.backend, self.files = backend, files
        variables = {"HOME": "/opt/env/home", **variables}
        recipe = EnvironmentRecipe(PYTHON, toolchains=toolchains)
        with closing(backend.open_build(recipe, LIMITS)) as build:
            put(build, files)
            for line in setup:
                done = build.run(Command(("bash", "-e", "-c", line), environment=variables, timeout_seconds=240))
                assert done.ok, (done.stdout + done.stderr).decode()
            archive = folder / "layer.tar"
            layer = Layer(build.freeze(list(files), archive), archive, tuple(variables.items()))
        self.recipe = EnvironmentRecipe(PYTHON, layer=layer, toolchains=toolchains)
        self.prepared = backend.prepare(self.recipe)

    def run(self, selection: TestSelection, **files: str) -> TestReport:
        """Run tests of the tree, with ``files`` over it."""
        tree = Tree({path: TreeFile(text.encode()) for path, text in {**self.files, **files}.items()})
        return run_tests(self._open, tree, selection)

    @contextmanager
    def _open(self) -> Iterator[Sandbox]:
        with closing(self.backend.open(self.prepared, LIMITS)) as sandbox:
            yield sandbox


def put(sandbox: Sandbox, files: Mapping[str, str]) -> None:
    """Put texts by their paths."""
    sandbox.put(tuple(SandboxFile(path, text.encode()) for path, text in files.items()))
