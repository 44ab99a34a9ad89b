"""Real git repositories: in one step, or commit by commit with fixed authors and dates."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "PATH": os.environ["PATH"],
}


class HistoryBuilder:
    """A repository on branch ``main``; the clock moves on by an hour with each commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._hours = 0
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main", "--template=")

    def later(self, hours: int) -> None:
        """Move the clock on."""
        self._hours += hours

    def git(self, *arguments: str) -> str:
        moment = f"2025-03-{1 + self._hours // 24:02d}T{self._hours % 24:02d}:00:00+00:00"
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", "-c", "maintenance.auto=false", *arguments],
            cwd=self.folder,
            env={**_ENVIRONMENT, "GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment},
            capture_output=True,
            check=True,
        )
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, files: dict[str, str | bytes | None]) -> None:
        for name, content in files.items():
            path = self.folder / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)

    def commit(
        self, message: str, files: dict[str, str | bytes | None] | None = None, author: str = "Ada <ada@example.org>"
    ) -> str:
        self.write(files or {})
        self.git("add", "--all")
        return self.commit_staged(message, author)

    def commit_staged(self, message: str, author: str = "Ada <ada@example.org>") -> str:
        """Commit what was added."""
        name, _, email = author.partition(" <")
        self._hours += 1
        self.git(
            "-c", f"user.name={name}", "-c", f"user.email={email.rstrip('>')}", "-c", "core.autocrlf=false",
            "commit", "--quiet", "--allow-empty", "--allow-empty-message", "--cleanup=verbatim", "-m", message,
        )  # fmt: skip
        return self.git("rev-parse", "HEAD")

    def branch(self, name: str) -> None:
        self.git("checkout", "--quiet", "-b", name)

    def merge(self, branch: str, message: str) -> str:
        """Merge ``branch`` into main."""
        self.git("checkout", "--quiet", "main")
        self._hours += 1
        self.git(
            "-c", "user.name=Ada", "-c", "user.email=ada@example.org",
            "merge", "--quiet", "--no-ff", "--no-verify", "-m", message, branch,
        )  # fmt: skip
        return self.git("rev-parse", "HEAD")

    def copy(self, folder: Path) -> "HistoryBuilder":
        shutil.copytree(self.folder, folder)
        return HistoryBuilder(folder)


def run_git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run plain git, as a user would, without the machine's configuration."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8",
        "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_AUTHOR_DATE": "1700000000 +0000",
        "GIT_COMMITTER_DATE": "1700000000 +0000",
    }  # fmt: skip
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, input=stdin, capture_output=True, check=True
    )
    return done.stdout.decode(errors="replace").strip()


def make_repository(folder: Path, files: Mapping[str, bytes] | None = None, *, bare: bool = False) -> str:
    """Make a repository with one commit of ``files`` and return the commit's id."""
    folder.mkdir(parents=True)
    run_git(folder, "init", "--quiet", "-b", "main", *(["--bare"] if bare else []))
    stream = bytearray(b"commit refs/heads/main\ncommitter A <a@example.com> 1700000000 +0000\ndata 1\nx\n")
    for path, data in (files or {"src/add.py": b"x = 1\n"}).items():
        stream += b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)
    run_git(folder, "fast-import", "--quiet", stdin=bytes(stream))
    return run_git(folder, "rev-parse", "main")


def commit_all(folder: Path) -> str:
    """Make a repository of ``folder``, or go on with the one that is there; commit everything and return the commit."""
    run_git(folder, "init", "--quiet", "--initial-branch=main", ".")
    run_git(folder, "add", "--all")
    run_git(folder, "commit", "--quiet", "--allow-empty", "--message", "all")
    return run_git(folder, "rev-parse", "HEAD")
