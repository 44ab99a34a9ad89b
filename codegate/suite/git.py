"""Git, sealed: reads objects by id and derives or applies patches, and nothing in a repository can make it do more.

No system or user configuration, no hooks, no pager, no prompts, no lazy fetch, no replaced objects. Trees are
read object by object (``ls-tree`` and ``cat-file``), so attributes such as ``export-ignore``, ``export-subst``
and filters change nothing.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from codegate.errors import UsageError
from codegate.suite.tree import Tree, TreeFile, is_plain_path

_SEALED_OPTIONS: Final = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.quotePath=false",
    "-c", "core.pager=cat",
    "-c", "diff.external=",
    "-c", "protocol.allow=never",
    "-c", "log.showSignature=false",
    "-c", "safe.directory=*",
)  # fmt: skip


class GitError(UsageError):
    """Git refused; the message holds its own words."""


def git(repository: Path, *arguments: str, stdin: bytes = b"", timeout: float = 300.0) -> bytes:
    """Run git sealed in ``repository`` and return its standard output.

    Raises:
        GitError: git is not installed, failed, or took longer than ``timeout`` seconds.
    """
    program = shutil.which("git")
    if program is None:
        raise GitError("git is not installed or not on PATH.", "Install it (for example `apt-get install git`).")
    try:
        done = subprocess.run(
            [program, *_SEALED_OPTIONS, *arguments],
            cwd=repository,
            input=stdin,
            env=_sealed_environment(),
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except OSError as error:
        raise GitError(f"cannot run git in {repository}: {error.strerror or error}.") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"git {arguments[0]} in {repository} took longer than {timeout:.0f} s.") from error
    if done.returncode != 0:
        words = done.stderr.decode("utf-8", "replace").strip()[:500]
        raise GitError(f"git {arguments[0]} failed in {repository}: {words or f'exit {done.returncode}'}.")
    return done.stdout


def _sealed_environment() -> Mapping[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
    }


def read_commit(repository: Path, commit: str) -> Tree:
    """Return the files of ``commit`` (or of a tree's id), byte-exact. Submodules and unusable paths are left out.

    Raises:
        GitError: the commit is not in the repository (a shallow clone, perhaps) or git failed.
    """
    listing = git(repository, "ls-tree", "-r", "-z", "--full-tree", f"{commit}^{{tree}}", "--")
    wanted: list[tuple[str, str, str]] = []
    for entry in listing.split(b"\0"):
        if not entry:
            continue
        facts, _, raw_path = entry.partition(b"\t")
        mode, kind, name = facts.decode("ascii").split(" ")
        path = raw_path.decode("utf-8", "surrogateescape")
        if kind == "blob" and is_plain_path(path):
            wanted.append((path, mode, name))
    blobs = _read_blobs(repository, sorted({name for _, _, name in wanted}))
    files = {}
    for path, mode, name in wanted:
        match mode:
            case "100755":
                files[path] = TreeFile(blobs[name], "100755")
            case "120000":
                files[path] = TreeFile(blobs[name], "120000")
            case _:
                files[path] = TreeFile(blobs[name])
    return Tree(files)


def _read_blobs(repository: Path, names: list[str]) -> dict[str, bytes]:
    stream = git(repository, "cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode("ascii"))
    blobs: dict[str, bytes] = {}
    position = 0
    for name in names:
        end = stream.index(b"\n", position)
        header = stream[position:end].decode("ascii").split(" ")
        if len(header) != 3:
            raise GitError(
                f"object {name} is missing from {repository}.",
                "Fetch the whole history (not a partial clone).",
            )
        size = int(header[2])
        blobs[name] = stream[end + 1 : end + 1 + size]
        position = end + 1 + size + 1
    return blobs
