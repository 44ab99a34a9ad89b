"""Looks through a sandbox, as code that a model has started could, for the answer to the problem in its workspace.

This text is sent into the sandbox, with the base tree in the workspace. Standard input brings what to look for (see
``_wanted`` in ``codegate.mining.proving.leak``); argument 1 is the pipe, the others the folders of the wheels and
of other packages. Answers with one JSON document. Nothing of the repository or of a package is imported.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import socket
import stat
import sys
from typing import Any, Iterator

LEFT_OUT = {"/proc", "/sys", "/dev"}
SYSTEM = ("/usr/", "/lib", "/bin", "/sbin", "/etc/", "/opt/codegate/python/")
LARGEST = 4 << 20
MOST_FILES = 400_000
MOST_FINDINGS = 10
OBJECT = re.compile(r".*/objects/(?:[0-9a-f]{2}/[0-9a-f]{38}(?:[0-9a-f]{24})?|pack/pack-[0-9a-f]+\.(?:pack|idx))$")
GIT_FILES = {"FETCH_HEAD", "ORIG_HEAD", "packed-refs"}
PLACES = re.compile(r".*/(?:FETCH_HEAD|ORIG_HEAD|packed-refs|logs/HEAD|logs/refs/.*)$|.*\.bundle$")
ADDRESSES = (("1.1.1.1", 53), ("8.8.8.8", 443), ("169.254.169.254", 80))
NAMES = ("pypi.org", "github.com", "registry.npmjs.org", "proxy.golang.org")


def plain(text: str) -> str:
    """Return a path or a name without the bytes that UTF-8 cannot carry, cut."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")[:200]


def walk(names: set[str]) -> Iterator[tuple[str, int]]:
    """Yield path and size of the regular files that can be reached.

    Of the system's own files, which are many and the same for every problem, only those that are called as something
    in ``names`` or as a part of a git repository.
    """
    count = 0
    for folder, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in LEFT_OUT]
        if folder == "/":
            folders.append("dev/shm")
        system = folder.startswith(SYSTEM) and "/objects" not in folder and "/logs" not in folder
        for name in files:
            if system and name not in names and name not in GIT_FILES and not name.endswith(".bundle"):
                continue
            path = os.path.join(folder, name)
            try:
                facts = os.lstat(path)
            except OSError:
                continue
            count += 1
            if count > MOST_FILES:
                return
            if stat.S_ISREG(facts.st_mode):
                yield path, facts.st_size


def read(path: str) -> bytes:
    """Return a file's first bytes; nothing when it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST)
    except OSError:
        return b""


def lines_of(data: bytes) -> set[bytes]:
    """Return the lines of a file, stripped."""
    return {line.strip() for line in data.split(b"\n")}


def encoded(lines: list[str]) -> set[bytes]:
    """Return lines as they are in files."""
    return {line.encode("utf-8", "replace") for line in lines}


class Search:
    """What was found so far."""

    def __init__(self, wanted: dict[str, Any], places: list[str], workspace: str) -> None:
        self.wanted, self.places, self.workspace = wanted, places, workspace + "/"
        self.base = set(wanted["base"])
        self.fix = encoded(wanted["fix_lines"])
        self.tests = encoded(wanted["test_lines"])
        self.sizes = {size for size, _ in wanted["hidden"]}
        self.digests = {digest for _, digest in wanted["hidden"]}
        self.found: dict[str, Any] = {"fix_lines": 0, "hidden_files": 0, "objects": 0, "findings": []}

    def tell(self, text: str) -> None:
        if len(self.found["findings"]) < MOST_FINDINGS:
            self.found["findings"].append(plain(text))

    def look(self, path: str, size: int) -> None:
        """Look at one file."""
        own = path.startswith(self.workspace) and path[len(self.workspace) :] in self.base
        if own:
            return  # the base tree was looked through before it was put here
        if OBJECT.match(path) or PLACES.match(path):
            self.found["objects"] += 1
            self.tell("%s belongs to a git repository" % path)
        if size in self.sizes and hashlib.sha256(read(path)).hexdigest() in self.digests:
            self.found["hidden_files"] += 1
            self.tell("%s is a hidden test" % path)
        installed = any(path.startswith(place + "/") for place in self.places)
        foreign = not path.startswith((*SYSTEM, "/opt/"))
        if (installed or foreign) and size <= LARGEST and path.endswith(tuple(self.wanted["suffixes"])):
            lines = lines_of(read(path)) if self.fix or self.tests else set()
            for kind, known in (("fix", self.fix), ("tests", self.tests)):
                shared = len(lines & known)
                if shared >= max(2, (len(known) + 1) // 2):
                    self.found["fix_lines" if kind == "fix" else "hidden_files"] += shared if kind == "fix" else 1
                    self.tell("%s has %d of the %d distinctive lines of the %s" % (path, shared, len(known), kind))


def releases(place: str, wanted: dict[str, Any]) -> list[str]:
    """Return how the project itself is installed in a folder: as a distribution, a package or a module."""
    found = []
    names = os.listdir(place) if os.path.isdir(place) else []
    own = set(wanted["names"])
    for name in sorted(names):
        stem, dot, _ = name.partition(".dist-info")
        told = re.sub(r"[-_.]+", "-", stem.rpartition("-")[0]).lower() if dot else ""
        if told in own or name in wanted["modules"]:
            found.append(os.path.join(place, name))
    for name in own:
        escaped = re.sub("[A-Z]", lambda capital: "!" + capital.group().lower(), name)  # as in Go's module cache
        for candidate in (os.path.join(place, "node_modules", name), os.path.join(place, "mod", escaped)):
            parent, last = os.path.split(candidate)
            near = os.listdir(parent) if os.path.isdir(parent) else []
            found += [os.path.join(parent, entry) for entry in near if entry == last or entry.startswith(last + "@")]
    modules = os.path.join(place, "node_modules")
    found += [path for path in packages(modules) if path not in found and package_name(path) in own]
    return found


def packages(modules: str) -> Iterator[str]:
    """Yield the folders of the packages in a ``node_modules``, those of scopes included."""
    for name in sorted(os.listdir(modules)) if os.path.isdir(modules) else ():
        path = os.path.join(modules, name)
        if not name.startswith("@"):
            yield path
        elif os.path.isdir(path):
            yield from (os.path.join(path, inner) for inner in sorted(os.listdir(path)))


def package_name(path: str) -> object:
    """Return what a package calls itself, whatever alias it is installed under; None when it does not say."""
    try:
        name = json.loads(read(os.path.join(path, "package.json")))["name"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def has_fix(places: list[str], wanted: dict[str, Any]) -> bool:
    """Return whether an installed copy may have the fix: unless each file that the fix changes is there without it."""
    for path, lines in wanted["changed"]:
        copies = [os.path.join(place, path) for place in places if os.path.isfile(os.path.join(place, path))]
        if not copies or not lines or any(encoded(lines) <= lines_of(read(copy)) for copy in copies):
            return True
    return not wanted["changed"]


def network() -> list[str]:
    """Return what answered; nothing should."""
    answered = []
    for address in ADDRESSES:
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=0.3):
            answered.append("%s:%d" % address)
    for name in NAMES:
        with contextlib.suppress(OSError):
            socket.getaddrinfo(name, 443)
            answered.append(name)
    return answered


def main() -> None:
    """Look everywhere and report."""
    wanted = json.load(sys.stdin)
    places = sys.argv[2:]
    search = Search(wanted, places, os.getcwd())
    for path, size in walk(set(wanted["hidden_names"])):
        search.look(path, size)
    installed = [found for place in places for found in releases(place, wanted)]
    own = bool(installed) and has_fix([*places, *installed], wanted)
    if own:
        search.tell("%s is a released copy of the project" % ", ".join(installed[:3]))
    reached = network()
    if reached:
        search.tell("%s answered" % ", ".join(reached))
    data = json.dumps({**search.found, "own_release": own, "network": bool(reached)}).encode("ascii")
    while data:
        data = data[os.write(int(sys.argv[1]), data) :]


main()
