"""Looks through a sandbox, as code that a model has started could, for the answer to the problem in its workspace.

This text is sent into the sandbox, with the base tree in the workspace. Standard input brings what to look for (see
``_wanted`` in ``codegate.mining.proving.leak``) and the text of ``leak_texts_driver.py``; argument 1 is the pipe, the
others the folders of the wheels and of other packages. Answers with one JSON document. Nothing of the repository or
of a package is imported.
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
from importlib.util import source_hash
from typing import Any, Callable, Iterator

LEFT_OUT = {"/proc", "/sys", "/dev"}
SYSTEM: "tuple[str, ...]" = ("/usr/", "/lib", "/bin", "/sbin", "/etc/", "/opt/codegate/python/", "/opt/env/wheels/")
#: What a recorded build left outside of the tree: caches of compilers and of package managers among it.
LAYER = "/opt/env/"
MOST_FILES = 400_000
MOST_FINDINGS = 10
#: The system's archives that may have packages in them.
PACKED = (".whl", ".egg", ".zip", ".pyz", ".tgz", ".tar.gz", ".crate")
LARGEST_OF_SYSTEM = 32 << 20
#: Names that say nothing without that of their folder.
COMMON = {"__init__", "__main__", "index", "main", "mod", "lib", "setup", "utils", "types", "base", "util"}
#: What ``leak_texts_driver.py`` defines.
TEXTS: dict[str, Any] = {}
OBJECT = re.compile(r".*/objects/(?:[0-9a-f]{2}/[0-9a-f]{38}(?:[0-9a-f]{24})?|pack/pack-[0-9a-f]+\.(?:pack|idx))$")
#: Flags of byte code that carries a hash: checked when it is imported, or not.
HASHED = (b"\3", b"\1")
GIT_FILES = {"FETCH_HEAD", "ORIG_HEAD", "packed-refs"}
PLACES = re.compile(r".*/(?:FETCH_HEAD|ORIG_HEAD|packed-refs|logs/HEAD|logs/refs/.*)$|.*\.bundle$")
ADDRESSES = (("1.1.1.1", 53), ("8.8.8.8", 443), ("169.254.169.254", 80))
NAMES = ("pypi.org", "github.com", "registry.npmjs.org", "proxy.golang.org")


def toolchains() -> tuple[str, ...]:
    """Return the folders above those of ``PATH``: the machine's toolchains are no less the system's."""
    above = (os.path.dirname(folder.rstrip("/")) for folder in os.environ.get("PATH", "").split(":"))
    return tuple(folder + "/" for folder in above if folder not in ("", "/") and not (folder + "/").startswith(LAYER))


def plain(text: str) -> str:
    """Return a path or a name without the bytes that UTF-8 cannot carry, cut."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")[:200]


def walk(wants: Callable[[str, str], bool], told: Callable[[str], None]) -> Iterator[tuple[str, int]]:
    """Yield path and size of the regular files that can be reached.

    Of the system's own files, which are many, only those that ``wants`` takes by their paths, or that are called as a
    part of a git repository. More files than can be looked at are ``told`` about, as what was not looked at may leak.
    """
    count = 0
    for folder, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in LEFT_OUT]
        if folder == "/":
            folders.append("dev/shm")
        system = (folder + "/").startswith(SYSTEM) and "/objects" not in folder and "/logs" not in folder
        for name in files:
            if system and not wants(folder, name) and name not in GIT_FILES and not name.endswith(".bundle"):
                continue
            path = os.path.join(folder, name)
            try:
                facts = os.lstat(path)
            except OSError:
                continue
            count += 1
            if count > MOST_FILES:
                told("there are more than %d files" % MOST_FILES)
                return
            if stat.S_ISREG(facts.st_mode):
                yield path, facts.st_size


def read(path: str, limit: int = 4 << 20) -> bytes:
    """Return a file's first bytes; nothing when it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(limit)
    except OSError:
        return b""


class Search:
    """What was found so far."""

    def __init__(self, wanted: dict[str, Any], places: list[str], workspace: str) -> None:
        self.workspace, self.places = workspace + "/", tuple(place + "/" for place in places)
        self.base = set(wanted["base"])
        self.kept = {path for path, _ in wanted["changed"]} | {"src/" + path for path, _ in wanted["changed"]}
        self.sizes = {size for size, _ in wanted["hidden"]}
        self.digests = {digest for _, digest in wanted["hidden"]}
        self.names = set(wanted["hidden_names"])
        self.folders = {os.path.basename(os.path.dirname(path)) for path, _ in wanted["changed"]}
        self.suffixes = tuple(wanted["suffixes"])
        self.blobs = set(wanted["blobs"])
        self.answer: Any = TEXTS["Answer"](wanted)
        stems = self.answer.stems | self.answer.test_stems
        self.unpacker: Any = TEXTS["Unpacker"](self.suffixes, stems)
        self.found: dict[str, Any] = {"fix_lines": 0, "hidden_files": 0, "objects": 0, "findings": []}

    def tell(self, text: str) -> None:
        if len(self.found["findings"]) < MOST_FINDINGS:
            self.found["findings"].append(plain(text))

    def note(self, kind: str, count: int, path: str, text: str) -> None:
        if count and text:
            self.found[kind] += count
            self.tell("%s %s" % (path, text))

    def wants(self, folder: str, name: str) -> bool:
        """Return whether a file of the system may matter, by its name: there are too many to read them all."""
        stem = name.partition(".")[0]
        if stem not in self.answer.stems or not name.endswith((*self.suffixes, ".pyc")):
            return name in self.names or name.endswith(PACKED)
        home = folder[: -len("/__pycache__")] if folder.endswith("/__pycache__") else folder
        return stem not in COMMON or os.path.basename(home) in self.folders

    def look(self, path: str, size: int) -> None:
        """Look at one file, and into it."""
        own = path[len(self.workspace) :] if path.startswith(self.workspace) else ""
        if own in self.base:
            self.look_at_own(path, own)
            return
        layered = path.startswith(LAYER) and not path.startswith(SYSTEM)
        if (OBJECT.match(path) or PLACES.match(path)) and (not layered or self.has_blob(path)):
            self.note("objects", 1, path, "belongs to a git repository")
        foreign = not path.startswith((*SYSTEM, LAYER, "/opt/"))
        if path.startswith(SYSTEM) and size > LARGEST_OF_SYSTEM:
            return
        if foreign or path.endswith(TEXTS["ARCHIVES"]):
            for name, data in self.unpacker.texts(path, read(path, TEXTS["LARGEST_ARCHIVE"]), foreign):
                self.look_at(name, data, foreign)
        elif size in self.sizes or path.endswith((*self.suffixes, ".pyc")):
            self.look_at(path, read(path), False)
        if (layered or foreign) and not path.endswith((".pyc", *TEXTS["ARCHIVES"])):
            self.look_at_compiled(path)

    def look_at_compiled(self, path: str) -> None:
        """Look at a file that a compiler may have made of the project's own."""
        data = read(path, TEXTS["LARGEST_COMPILED"])
        if b"\0" in data[:4096]:
            self.note("fix_lines", 1, path, self.answer.is_built_from_fix(path, data))
            self.note("hidden_files", 1, path, self.answer.is_built_from_tests(data))

    def has_blob(self, path: str) -> bool:
        """Return whether an object of a git repository, or the index of a pack, has a file of the answer."""
        if path.endswith(".idx"):
            data = read(path, TEXTS["LARGEST_COMPILED"])
            return any(bytes.fromhex(blob) in data for blob in self.blobs)
        return path[-41:].replace("/", "") in self.blobs

    def look_at(self, name: str, data: bytes, foreign: bool) -> None:
        """Look at a file that is not the base tree's."""
        if len(data) in self.sizes and hashlib.sha256(data).hexdigest() in self.digests:
            self.note("hidden_files", 1, name, "is a hidden test")
        if name.endswith(".pyc"):
            self.look_at_byte_code(name, data)
        elif name.endswith(self.suffixes) or foreign:
            self.note("fix_lines", *self.place(name, self.answer.is_fixed_copy(name, data)))
            shared, known = len(TEXTS["lines_of"](data) & self.answer.tests), len(self.answer.tests)
            if shared >= max(2, (known + 1) // 2):
                self.note("hidden_files", 1, name, "has %d of the %d distinctive lines of the tests" % (shared, known))
        if foreign:
            self.note("hidden_files", 1, name, self.answer.tells_tests(name, data))

    def look_at_own(self, path: str, own: str) -> None:
        """Look at a file of the base tree, whose lines were looked through before it was put here, for the rest."""
        for name, data in self.unpacker.texts(own, read(path, TEXTS["LARGEST_ARCHIVE"]), True):
            if name != own or OBJECT.match(path):
                self.look_at(name, data, True)
                continue
            if name.endswith(".pyc"):
                self.look_at_byte_code(path, data)
            elif own not in self.kept and b"@@ -" in data:
                self.note("fix_lines", *self.place(own, self.answer.is_fixed_copy(own, data)))
            elif own not in self.kept and os.path.basename(own).partition(".")[0] in self.answer.stems:
                self.note("fix_lines", *self.place(own, self.answer.has_runs(data)))
            self.note("hidden_files", 1, own, self.answer.tells_tests(own, data))

    def look_at_byte_code(self, path: str, data: bytes) -> None:
        folder, name = os.path.split(path.replace("__pycache__" + os.sep, ""))
        source = os.path.join(folder, name.partition(".")[0] + ".py")
        # With the hash of the source beside it, where the lines are looked at (PEP 552).
        if data[4:5] in HASHED and os.path.isfile(source) and data[8:16] == source_hash(read(source)):
            return
        self.note("fix_lines", 1, path, self.answer.is_compiled_copy(path, data, os.path.isfile(source)))

    @staticmethod
    def place(name: str, found: tuple[int, str]) -> tuple[int, str, str]:
        return found[0], name, found[1]


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
        added = TEXTS["encoded"](lines)
        if (
            not copies
            or not added
            or any(2 * len(added & TEXTS["lines_of"](read(copy))) >= len(added) for copy in copies)
        ):
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
    exec(compile(wanted["texts"], "<texts>", "exec"), TEXTS)
    global SYSTEM
    SYSTEM += toolchains()
    places = sys.argv[2:]
    search = Search(wanted, places, os.getcwd())
    for path, size in walk(search.wants, lambda text: search.note("objects", 1, "/", text)):
        search.look(path, size)
    if search.unpacker.unread:
        search.note("fix_lines", 1, search.unpacker.unread[0], "is more than can be unpacked")
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
