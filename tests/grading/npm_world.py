"""An environment of real npm packages, as of today."""

from datetime import date

from codegate.durable import sha256
from codegate.grading import Sandboxes
from codegate.languages.javascript.environments import TOOLCHAINS
from codegate.languages.javascript.packages import resolve_npm
from codegate.sandbox import EnvironmentRecipe
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import EnvironmentManifest, PackageFile
from tests.conftest import PYTHON


def npm_environment(manifest: str) -> tuple[EnvironmentManifest, str, dict[str, str]]:
    """Return Node 22 with what ``manifest``, a ``package.json``, asks for: entry, lock and package files."""
    toolchain = TOOLCHAINS[22]
    lock = resolve_npm(EnvironmentRecipe(PYTHON, toolchain), manifest, None)
    assert lock is not None
    packages = {"package-lock.json": lock, "package.json": manifest}
    environment = EnvironmentManifest(
        id="javascript",
        python=PYTHON,
        lock="requirements.lock",
        lock_sha256=sha256(toolchain.encode()),
        exclude_newer=date(2026, 1, 1),
        rung="manual",
        packages=tuple(PackageFile(path=name, sha256=sha256(text.encode())) for name, text in packages.items()),
    )
    return environment, toolchain, packages


def npm_world(backend: BubblewrapBackend, manifest: str) -> tuple[Sandboxes, EnvironmentManifest]:
    """Return sandboxes of ``npm_environment``, and its entry."""
    environment, toolchain, packages = npm_environment(manifest)
    return Sandboxes(backend, {"javascript": toolchain}, packages={"javascript": packages}), environment
