"""Go's module files, read strictly: what a repository or a suite wrote decides only which modules are downloaded."""

import re
from dataclasses import dataclass
from typing import Final

from codegate.errors import UsageError

_LARGEST: Final = 4 << 20
_PATH: Final = r"[A-Za-z0-9][A-Za-z0-9._~+-]*(?:/[A-Za-z0-9._~+-]+)*"
_VERSION: Final = r"v\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?"
_LOCAL: Final = r"\.{1,2}(?:/[A-Za-z0-9._~+-]+)*/?"
_MODULE: Final = re.compile(_PATH)
_GO: Final = re.compile(r"\d+\.\d+(?:\.\d+)?(?:(?:beta|rc)\d+)?")
_REQUIRE: Final = re.compile(rf"({_PATH}) ({_VERSION})")
_REPLACE: Final = re.compile(rf"({_PATH})(?: ({_VERSION}))? => (?:({_PATH}) ({_VERSION})|({_LOCAL}))")
_SUM: Final = re.compile(rf"({_PATH}) ({_VERSION})(/go\.mod)? (h1:[A-Za-z0-9+/]{{43}}=)")
_DROPPED: Final = frozenset({"toolchain", "retract", "tool", "godebug", "ignore"})


@dataclass(frozen=True)
class GoModule:
    """What decides which modules a module is built with; comments, retractions and tools are left out.

    Attributes:
        path: the module's own path.
        go: its language version, such as ``1.22`` or ``1.22.3``.
        requires: ``path version`` of each requirement.
        excludes: likewise.
        replaces: ``path [version] => path version`` or ``path [version] => ./folder``.
    """

    path: str
    go: str
    requires: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()

    def text(self) -> str:
        """Return it as a ``go.mod`` file, in one order."""
        lines = [f"module {self.path}", f"go {self.go}"]
        for word, entries in (("require", self.requires), ("exclude", self.excludes), ("replace", self.replaces)):
            lines += [f"{word} {entry}" for entry in sorted(set(entries))]
        return "\n".join([*lines, ""])

    @property
    def local_folders(self) -> tuple[tuple[str, str], ...]:
        """Return the path and the relative folder of each module that is replaced by a folder."""
        found = (_REPLACE.fullmatch(entry) for entry in self.replaces)
        return tuple((match[1], match[5]) for match in found if match is not None and match[5])


def read_go_mod(text: str) -> GoModule:
    """Read a ``go.mod`` file.

    Raises:
        UsageError: it has a line that is none of a module file's, or a form that is not taken here (quoted paths,
            branches in place of versions, absolute folders).
    """
    if len(text) > _LARGEST:
        raise UsageError(f"go.mod is over {_LARGEST >> 20} MiB.")
    path, go, block = "", "1.16", ""
    found: dict[str, list[str]] = {"require": [], "exclude": [], "replace": []}
    for line in text.splitlines():
        words = line.partition("//")[0].split()
        if not words:
            continue
        if block and words == [")"]:
            block = ""
            continue
        if not block and len(words) == 2 and words[1] == "(":
            block = words[0]
            continue
        word, rest = (block, " ".join(words)) if block else (words[0], " ".join(words[1:]))
        if word == "module" and _MODULE.fullmatch(rest):
            path = rest
        elif word == "go" and _GO.fullmatch(rest):
            go = rest
        elif word in found and (_REPLACE if word == "replace" else _REQUIRE).fullmatch(rest):
            found[word].append(rest)
        elif word not in _DROPPED:
            raise _refused("go.mod", line)
    if not path:
        raise UsageError("go.mod names no module.")
    return GoModule(path, go, tuple(found["require"]), tuple(found["exclude"]), tuple(found["replace"]))


def read_go_sum(text: str) -> dict[str, str]:
    """Return the hash of each ``path version`` (and ``path version/go.mod``) in a ``go.sum`` file.

    Raises:
        UsageError: a line is no hash of a module.
    """
    if len(text) > _LARGEST:
        raise UsageError(f"go.sum is over {_LARGEST >> 20} MiB.")
    sums: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        match = _SUM.fullmatch(" ".join(line.split()))
        if match is None:
            raise _refused("go.sum", line)
        sums[f"{match[1]} {match[2]}{match[3] or ''}"] = match[4]
    return sums


def go_sum_text(sums: dict[str, str]) -> str:
    """Return hashes as a ``go.sum`` file, in one order."""
    return "".join(f"{name} {value}\n" for name, value in sorted(sums.items()))


def _refused(file: str, line: str) -> UsageError:
    shown = line.strip()[:120].encode("unicode_escape").decode("ascii")
    return UsageError(f"{file} has a line that is not taken: {shown!r}.")
