"""Run git safely in untrusted repositories.

Git can only read objects or apply a patch: it has no system or user configuration, no hooks, no pager, no prompts, no
transport, and no replaced or grafted objects. Trees are read object by object (``ls-tree`` and ``cat-file``), so
attributes such as ``export-ignore``, ``export-subst`` and filters change nothing.
"""

import hashlib
import logging
import os
import re
import resource
import select
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, Literal, cast

from codegate.errors import UsageError
from codegate.host_program import run_program
from codegate.suite.tree import FileMode, Tree, TreeFile, is_plain_path

_LOG: Final = logging.getLogger(__name__)

WHOLE_HISTORY: Final = (
    "Fetch the whole history (`git fetch --unshallow`; in a workflow, actions/checkout with fetch-depth: 0)."
)
"""Remedy in messages about a clone that lacks commits."""

MAX_TREE_BYTES: Final = 1 << 30
MAX_LISTING_BYTES: Final = 128 << 20
MAX_OUTPUT_BYTES: Final = MAX_TREE_BYTES + (256 << 20)
_MAX_ERRORS: Final = 1 << 20
_LINK_OR_FILE: Final = frozenset({"100644", "100755", "120000"})

_SEALED_OPTIONS: Final = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.quotePath=false",
    "-c", "core.protectNTFS=false",  # nothing is checked out: ``is_plain_path`` alone says which names pass
    "-c", "core.pager=cat",
    "-c", "fastimport.unpackLimit=1",  # else another process unpacks a pack of few objects
    "-c", "log.showSignature=false",
    "-c", "safe.directory=*",
)  # fmt: skip


_COMMANDS_WITH_DIFFS: Final = frozenset({"diff", "diff-index", "diff-tree", "log", "show"})


_REMOTE: Final = re.compile(
    r"(?:(?!file:)(?P<scheme>[a-z+]+)://(?:[^@/]*@)?(?P<host>[A-Za-z0-9._-]+)(?P<port>:\d+)?/"
    r"|(?:[^@/:]+@)?(?P<ssh>[A-Za-z0-9._-]{2,}):/?)"  # one letter is a drive
    r"(?P<path>[A-Za-z0-9_.~-]+(?:/[A-Za-z0-9_.~-]+)+)"
)


class GitError(UsageError):
    """Git failed; the message quotes its errors."""


def git(
    repository: Path,
    *arguments: str,
    stdin: bytes = b"",
    timeout: float = 300.0,
    memory: int | None = None,
    processor_seconds: int | None = None,
    limit: int = MAX_OUTPUT_BYTES,
    codes: Container[int] = (0,),
) -> bytes:
    """Run git in ``repository``; return its standard output.

    No configuration from outside the repository counts. Commands that read the work tree still run the repository's own
    filters.

    Args:
        repository: the folder to run in.
        arguments: the subcommand and its arguments.
        stdin: git's standard input.
        timeout: most seconds of wall-clock time.
        memory: most bytes of address space, for hostile input; None: no limit.
        processor_seconds: most processor time, for hostile input on a busy machine; None: no limit.
        limit: most bytes of output, because a few objects can describe an endless tree.
        codes: exit statuses that are no failure.

    Raises:
        GitError: git is not installed, failed, ran longer than ``timeout`` seconds, or wrote more than ``limit`` bytes.
    """
    program = shutil.which("git")
    if program is None:
        raise GitError("git is not installed or not on PATH.", "Install it (for example `apt-get install git`).")
    command, *rest = arguments
    if command in _COMMANDS_WITH_DIFFS:
        rest = ["--no-ext-diff", "--no-textconv", *rest]
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            [program, *_SEALED_OPTIONS, command, *rest],
            cwd=repository,
            env=_sealed_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise GitError(f"cannot run git in {repository}: {error.strerror or error}.") from error
    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, processor_seconds)):
        if most is not None:
            with suppress(ProcessLookupError):  # git reads its input before it needs this, or has ended
                resource.prlimit(process.pid, kind, (most, most))
    try:
        output, errors = _communicate(process, stdin, began + timeout, limit)
        process.wait(max(0.0, began + timeout - time.monotonic()))
    except (TimeoutError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git {command} in {repository} took longer than {timeout:.0f} s.") from error
    except _TooLong as error:
        raise GitError(f"git {command} in {repository} wrote more than {limit >> 20} MiB.") from error
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            cast("IO[bytes]", stream).close()
    _LOG.debug("git %s in %s: exit %s, %.2f s", command, repository, process.returncode, time.monotonic() - began)
    if process.returncode not in codes:
        if process.returncode in {-signal.SIGXCPU, -signal.SIGKILL} and processor_seconds is not None:
            raise GitError(f"git {command} in {repository} took longer than {processor_seconds} s of processor time.")
        words = " ".join(errors.decode("utf-8", "replace").split())[:500]
        raise GitError(f"git {command} failed in {repository}: {words or f'exit {process.returncode}'}.")
    return bytes(output)


class _TooLong(Exception):
    """A process wrote more output than its limit."""


def _communicate(
    process: "subprocess.Popen[bytes]", stdin: bytes, deadline: float, limit: int
) -> tuple[bytearray, bytearray]:
    """Send ``stdin`` to a process; return its output and errors.

    ``deadline`` is a time of ``time.monotonic``; ``limit`` is in bytes of output. No thread is used, because a signal
    could interrupt its start.
    """
    output, errors, unsent = bytearray(), bytearray(), memoryview(stdin)
    written = {process.stdout: (output, limit), process.stderr: (errors, _MAX_ERRORS)}
    with selectors.DefaultSelector() as selector:
        selector.register(cast("IO[bytes]", process.stdin), selectors.EVENT_WRITE)
        for stream in written:
            selector.register(cast("IO[bytes]", stream), selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                stream = cast("IO[bytes]", key.fileobj)
                if stream is process.stdin:
                    try:
                        unsent = unsent[os.write(key.fd, unsent[: select.PIPE_BUF]) :]
                    except BrokenPipeError:
                        unsent = unsent[:0]
                    ended = not unsent
                else:
                    data, most = written[stream]
                    piece = os.read(key.fd, 1 << 20)
                    data += piece
                    if len(data) > most:
                        raise _TooLong
                    ended = not piece
                if ended:
                    selector.unregister(stream)
                    stream.close()
    return output, errors


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
        "GIT_GRAFT_FILE": "/dev/null",
        "GIT_NO_LAZY_FETCH": "1",
        # Overrides the repository's own protocol.*.allow. Without it, an older git fetches a missing object of a
        # partial clone by whatever command the repository's configuration names (an `ext::` address).
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_OPTIONAL_LOCKS": "0",
    }


def user_setting(name: str, *options: str) -> str:
    """Return a setting of the user's own git, or "".

    It is read from the user's configuration and the files that this includes, never from a repository. ``options`` are
    passed on to ``git config``.
    """
    needed = ("PATH", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL")
    environment = {each: os.environ[each] for each in needed if each in os.environ}
    try:
        done = run_program(
            ["git", "config", "--global", "--includes", *options, "--get", name], env=environment, seconds=10.0
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return os.fsdecode(done.stdout).removesuffix("\n")


def origin_address(repository: Path) -> str:
    """Return the address of the remote origin, or ""."""
    try:
        return git(repository, "config", "--get", "remote.origin.url").decode("utf-8", "replace").strip()
    except GitError:
        return ""


def origin_place(repository: Path) -> tuple[str, str] | None:
    """Return server and path of the remote origin, without credentials.

    The server is in lower case, with the port of a web address. The path has two parts or more, such as ``owner/name``.
    None if there is no remote origin, or if it is no server's.
    """
    found = _REMOTE.fullmatch(origin_address(repository).rstrip("/").removesuffix(".git"))
    if found is None:
        return None
    port = found["port"] if found["scheme"] in {"http", "https"} else None
    return f"{found['host'] or found['ssh']}{port or ''}".lower(), found["path"]


def find_commit(repository: Path, name: str) -> str:
    """Return the id of the commit ``name``.

    Raises:
        GitError: the repository does not have it.
    """
    return _resolved(repository, name, "commit")


def read_commit(repository: Path, commit: str, under: Sequence[str] = (), limit: int = MAX_TREE_BYTES) -> Tree:
    """Return the files of a commit or tree, byte-exact.

    Submodules and unusable paths are left out. ``under`` selects files and folders by path; none selects all. ``limit``
    is the most bytes of all files together.

    Raises:
        GitError: the commit or some of its objects are missing (perhaps in a shallow or partial clone), the files are
            over ``limit``, or git failed.
    """
    tree = _resolved(repository, commit, "tree")
    try:
        return _read_tree(repository, tree, under, limit)
    except GitError as error:
        if "promisor" in error.cause:
            raise _missing_objects(repository) from error
        raise


def _resolved(repository: Path, name: str, kind: Literal["commit", "tree"]) -> str:
    try:
        found = git(repository, "rev-parse", "--verify", "--end-of-options", f"{name}^{{{kind}}}")
    except GitError as error:
        if "promisor" in error.cause:
            raise _missing_objects(repository) from error
        git(repository, "rev-parse", "--git-dir")  # raises if there is no repository
        raise GitError(f"commit {name[:12]!r} is not in {repository}.", WHOLE_HISTORY) from error
    return found.decode("ascii").strip()


def _read_tree(repository: Path, tree: str, under: Sequence[str], limit: int) -> Tree:
    wanted: list[tuple[str, FileMode, str]] = []
    paths = ("--", *under) if under else ()
    listing = git(repository, "ls-tree", "-r", "-z", "--full-tree", tree, *paths, limit=MAX_LISTING_BYTES)
    for entry in listing.split(b"\0")[:-1]:
        facts, _, raw_path = entry.partition(b"\t")
        mode, kind, name = facts.decode("ascii").split(" ")
        path = raw_path.decode("utf-8", "surrogateescape")
        if kind == "blob" and is_plain_path(path):
            # Histories of old hold modes such as 100664; git too takes them for plain files.
            wanted.append((path, cast("FileMode", mode if mode in _LINK_OR_FILE else "100644"), name))
    blobs = read_blobs(repository, {name for _, _, name in wanted}, limit)
    return Tree({path: TreeFile(blobs[name], mode) for path, mode, name in wanted})


def read_blobs(repository: Path, ids: Iterable[str], limit: int) -> dict[str, bytes]:
    """Return, by id, the bytes of the blobs ``ids``.

    Raises:
        GitError: one is missing or damaged, or all together have over ``limit`` bytes.
    """
    names = sorted(ids)
    request = "".join(f"{name}\n" for name in names).encode("ascii")
    sizes = git(repository, "cat-file", "--batch-check=%(objectsize)", stdin=request).split(b"\n")[:-1]
    if any(not size.isdigit() for size in sizes):
        raise _missing_objects(repository)
    if sum(map(int, sizes)) > limit:
        raise GitError(f"the files in {repository} have more than {limit >> 20} MiB.")
    stream = git(repository, "cat-file", "--batch", stdin=request)
    blobs: dict[str, bytes] = {}
    position = 0
    for name, size in zip(names, sizes, strict=True):
        start = stream.index(b"\n", position) + 1
        blobs[name] = stream[start : start + int(size)]
        if object_id(blobs[name], "sha1" if len(name) == 40 else "sha256") != name:
            raise GitError(f"object {name} in {repository} is damaged.", "Clone the repository again.")
        position = start + int(size) + 1
    return blobs


def object_id(data: bytes, algorithm: Literal["sha1", "sha256"] = "sha1") -> str:
    """Return git's id of a blob with these bytes."""
    return hashlib.new(algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _missing_objects(repository: Path) -> GitError:
    return GitError(
        f"objects are missing from {repository}: it is a partial clone.",
        "Fetch them all (`git fetch --refetch --no-filter`, or clone again without --filter).",
    )
