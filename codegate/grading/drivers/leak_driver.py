"""Search a sandbox for a problem's fix and hidden tests.

The search sees the same files and network as code that a model starts, with the base tree in the workspace. Standard
input brings the search request (see ``_search_request`` in ``codegate.mining.proving.leak``). It answers with one JSON
document.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import socket
import sys
from importlib.util import source_hash
from typing import Any, Callable, Iterator

from codegate.grading.drivers.leak_texts_driver import (
    ARCHIVES,
    LARGEST_ARCHIVE,
    LARGEST_COMPILED,
    KnownAnswer,
    Unpacker,
    lines_of,
    looks_fixed,
)

LEFT_OUT = {"/proc", "/sys", "/dev"}
SYSTEM: "tuple[str, ...]" = ("/usr/", "/lib", "/bin", "/sbin", "/etc/", "/opt/codegate/python/", "/opt/env/wheels/")
#: The frozen build outside of the tree, with caches of compilers and of package managers.
LAYER = "/opt/env/"
MOST_FILES = 400_000
MOST_FINDINGS = 10
#: The system's archives that may have packages in them.
PACKED = (".whl", ".egg", ".zip", ".pyz", ".tgz", ".tar.gz", ".crate")
LARGEST_OF_SYSTEM = 32 << 20
#: Common names; a file counts only together with the name of its folder.
COMMON = {"__init__", "__main__", "index", "main", "mod", "lib", "setup", "utils", "types", "base", "util"}
OBJECT = re.compile(r".*/objects/(?:[0-9a-f]{2}/[0-9a-f]{38}(?:[0-9a-f]{24})?|pack/pack-[0-9a-f]+\.(?:pack|idx))$")
#: Flags of byte code that carries a hash: checked when it is imported, or not.
HASHED = (b"\3", b"\1")
#: Files that show an installed package; the groups are its folder and its name.
DISTRIBUTION = re.compile(r"(.*)/([^/]+)-[^/]+\.dist-info/METADATA")
#: Lines of a RECORD: of descriptions, scripts and hidden files; of what leads to an editable project.
DESCRIBED = re.compile(rb"[^/,]+\.dist-info/|\.\./|\.\w+,")
REDIRECTS = re.compile(rb"[^/,]+\.pth,|(?:__pycache__/)?_+editable_[^/,]+,")
PACKAGE = re.compile(r"(.*/node_modules/((?:@[^/]+/)?[^/]+))/package\.json")
#: Packages in the caches of Go's modules and Rust's crates.
CACHED = r".*/(?:mod/(?:%s)@|registry/src/[^/]+/(?:%s)-[0-9])[^/]*"
GIT_FILES = {"FETCH_HEAD", "ORIG_HEAD", "packed-refs"}
PLACES = re.compile(r".*/(?:FETCH_HEAD|ORIG_HEAD|packed-refs|logs/HEAD|logs/refs/.*)$|.*\.bundle$")
ADDRESSES = (("1.1.1.1", 53), ("8.8.8.8", 443), ("169.254.169.254", 80))
NAMES = ("pypi.org", "github.com", "registry.npmjs.org", "proxy.golang.org")


def toolchains() -> tuple[str, ...]:
    """Return the folders of the machine's toolchains."""
    # They are the folders above those of ``PATH``, and this Python's. They count as parts of the system.
    above = (os.path.dirname(folder.rstrip("/")) for folder in os.environ.get("PATH", "").split(":"))
    found = [sys.base_prefix, *above]
    return tuple(folder + "/" for folder in found if folder not in ("", "/") and not (folder + "/").startswith(LAYER))


def printable_path(text: str) -> str:
    """Return a path or name, shortened and valid as UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")[:200]


def reachable_files(wants: Callable[[str, str], bool], report: Callable[[str], None]) -> Iterator[tuple[str, int]]:
    """Yield path and size of the regular files to search.

    System folders have too many files. In them, only files that ``wants`` accepts by folder and name are searched, and
    parts of git repositories. ``report`` gets a line if there are still too many files, because files that are not
    searched may leak.
    """
    count, folders = 0, ["/dev/shm", "/"]
    while folders:
        folder = folders.pop()
        system = (folder + "/").startswith(SYSTEM) and "/objects" not in folder and "/logs" not in folder
        for entry in entries_of(folder):
            if entry.is_dir(follow_symlinks=False):
                folders += [] if entry.path in LEFT_OUT else [entry.path]
                continue
            name = entry.name
            if system and not wants(folder, name) and name not in GIT_FILES and not name.endswith(".bundle"):
                continue
            count += 1
            if count > MOST_FILES:
                report("there are more than %d files" % MOST_FILES)
                return
            with contextlib.suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    yield entry.path, entry.stat(follow_symlinks=False).st_size


def entries_of(folder: str) -> "list[os.DirEntry[str]]":
    """Return a folder's entries, or [] if it is unreadable."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def read_start(path: str, limit: int = 4 << 20) -> bytes:
    """Return a file's first ``limit`` bytes; b"" if unreadable."""
    try:
        with open(path, "rb") as file:
            return file.read(limit)
    except OSError:
        return b""


class LeakSearch:
    """Searches files for the fix and the hidden tests."""

    def __init__(self, wanted: dict[str, Any], workspace: str) -> None:
        self.workspace = workspace + "/"
        self.base = set(wanted["base"])
        self.sizes = {size for size, _ in wanted["hidden"]}
        self.digests = {digest for _, digest in wanted["hidden"]}
        self.names = set(wanted["hidden_names"])
        self.suffixes = tuple(wanted["suffixes"])
        self.blobs = set(wanted["blobs"])
        self.answer = KnownAnswer(wanted)
        changed = [path for path, _, _ in self.answer.changed]
        self.kept = {*changed, *("src/" + path for path in changed)}
        self.folders = {os.path.basename(os.path.dirname(path)) for path in changed}
        self.modules = tuple("/site-packages/" + path for path in changed)
        self.projects = set(wanted["names"])
        self.version = version_numbers(wanted["version"])
        names = "|".join(re.escape(name) for name in self.projects) or "(?!)"
        # Go writes a capital as an exclamation mark and the small letter.
        escaped = re.sub("[A-Z]", lambda capital: "!" + capital.group().lower(), names)
        self.cached = re.compile(CACHED % (escaped, names))
        #: Folders of installed copies of the project, by the file or folder that shows them.
        self.releases: dict[str, str] = {}
        stems = self.answer.stems | self.answer.test_stems
        self.unpacker = Unpacker(self.suffixes, stems)
        self.found: dict[str, Any] = {"fix_lines": 0, "hidden_files": 0, "objects": 0, "findings": []}

    def tell(self, text: str) -> None:
        if len(self.found["findings"]) < MOST_FINDINGS:
            self.found["findings"].append(printable_path(text))

    def note(self, kind: str, count: int, path: str, text: str) -> None:
        if count and text:
            self.found[kind] += count
            self.tell("%s %s" % (path, text))

    def note_fix(self, path: str, found: tuple[int, str]) -> None:
        self.note("fix_lines", found[0], path, found[1])

    def wants(self, folder: str, name: str) -> bool:
        """Return whether to search a system file.

        Only files named like a hidden test, a changed file or an archive are searched.
        """
        # There are too many system files to read all of them.
        stem = name.partition(".")[0]
        if stem not in self.answer.stems or not name.endswith((*self.suffixes, ".pyc")):
            return name in self.names or name.endswith(PACKED)
        home = folder[: -len("/__pycache__")] if folder.endswith("/__pycache__") else folder
        return stem not in COMMON or os.path.basename(home) in self.folders

    def search_file(self, path: str, size: int) -> None:
        """Search a file for the fix and the hidden tests.

        An archive's members are searched, too.
        """
        own = path[len(self.workspace) :] if path.startswith(self.workspace) else ""
        if own in self.base:
            self.search_tree_file(path, own)
            return
        layered = path.startswith(LAYER) and not path.startswith(SYSTEM)
        if (OBJECT.match(path) or PLACES.match(path)) and (not layered or self.has_blob(path)):
            self.note("objects", 1, path, "belongs to a git repository")
        foreign = not path.startswith((*SYSTEM, LAYER, "/opt/"))
        if path.startswith(SYSTEM) and size > LARGEST_OF_SYSTEM:
            return
        if foreign or path.endswith(ARCHIVES):
            for name, data in self.unpacker.texts(path, read_start(path, LARGEST_ARCHIVE), foreign):
                self.search_content(name, data, foreign)
        elif size in self.sizes or path.endswith((*self.suffixes, ".pyc")):
            self.search_content(path, read_start(path), False)
        if layered or foreign:
            self.look_for_release(path)
            if not path.endswith((".pyc", *ARCHIVES)):
                self.search_binary(path)

    def look_for_release(self, path: str) -> None:
        """Record ``path`` if it belongs to an installed project release."""
        distribution, package, cached = DISTRIBUTION.fullmatch(path), PACKAGE.fullmatch(path), self.cached.match(path)
        if distribution:
            name, folder = re.sub(r"[-_.]+", "-", distribution.group(2)).lower(), os.path.dirname(path)
            # A package that was installed from a folder is the tree itself, or a copy whose files are searched anyway.
            # So is what a build leaves in the tree: a description without a list of files.
            described = path.startswith(self.workspace) and not os.path.isfile(os.path.join(folder, "RECORD"))
            from_folder = b'"dir_info"' in read_start(os.path.join(folder, "direct_url.json"))
            from_folder = from_folder or is_editable(read_start(os.path.join(folder, "RECORD")))
            if name in self.projects and not described and not from_folder:
                self.releases[folder] = distribution.group(1)
        elif package:
            name, version = package_facts(path)
            # A tool of the project may depend on a release that is older than the tree, as its version says.
            if {package.group(2), name} & self.projects and not () < version_numbers(version) < self.version:
                self.releases[package.group(1)] = package.group(1)
        elif cached:
            self.releases[cached.group()] = cached.group()
        elif path.endswith(self.modules):
            self.releases[path] = path[: path.rindex("/site-packages/") + len("/site-packages")]

    def has_release(self) -> bool:
        """Return whether an installed release may contain the fix.

        It may if an installed copy of the project has a changed file that looks fixed, or if no changed file could be
        compared.
        """
        # It may, unless it has changed files and all of them lack the fix. A copy that has a changed file's folder
        # without the file is of another time than the fix.
        copies = [
            os.path.isfile(copy) and looks_fixed(lines_of(read_start(copy)), added, removed)
            for path, added, removed in self.answer.changed
            for place in set(self.releases.values())
            for copy in (os.path.join(place, path), os.path.join(place, "src", path))
            if os.path.isfile(copy) or ("/" in path and os.path.isdir(os.path.dirname(copy)))
        ]
        return any(copies) or (bool(self.releases) and not copies)

    def search_binary(self, path: str) -> None:
        """Search a binary file for the fix's and tests' names."""
        data = read_start(path, LARGEST_COMPILED)
        if b"\0" in data[:4096]:
            self.note("fix_lines", 1, path, self.answer.find_fix_in_binary(path, data))
            self.note("hidden_files", 1, path, self.answer.find_tests_in_binary(data))

    def has_blob(self, path: str) -> bool:
        """Return whether git data contains a fixed or hidden file.

        ``path`` leads to a git object or a pack's index.
        """
        # A pack's index lists its objects.
        if path.endswith(".idx"):
            data = read_start(path, LARGEST_COMPILED)
            return any(bytes.fromhex(blob) in data for blob in self.blobs)
        return path[-41:].replace("/", "") in self.blobs

    def search_content(self, name: str, data: bytes, foreign: bool) -> None:
        """Search the content of a file outside the base tree.

        ``foreign``: search it whatever its suffix, and for names of tests too.
        """
        if len(data) in self.sizes and hashlib.sha256(data).hexdigest() in self.digests:
            self.note("hidden_files", 1, name, "is a hidden test")
        if name.endswith(".pyc"):
            self.look_at_byte_code(name, data)
        elif name.endswith(self.suffixes) or foreign:
            self.note_fix(name, self.answer.find_fix(name, data))
            shared, known = len(lines_of(data) & self.answer.tests), len(self.answer.tests)
            if shared >= max(2, (known + 1) // 2):
                self.note("hidden_files", 1, name, "has %d of the %d distinctive lines of the tests" % (shared, known))
        if foreign:
            self.note("hidden_files", 1, name, self.answer.find_test_name(name, data))

    def search_tree_file(self, path: str, own: str) -> None:
        """Search a file of the base tree.

        ``path`` is its path in the sandbox, ``own`` its path in the tree.
        """
        # Its lines were searched on the host already, so only other traces count.
        for name, data in self.unpacker.texts(own, read_start(path, LARGEST_ARCHIVE), True):
            if name != own or OBJECT.match(path):
                self.search_content(name, data, True)
                continue
            if name.endswith(".pyc"):
                self.look_at_byte_code(path, data)
            elif own not in self.kept and b"@@ -" in data:
                self.note_fix(own, self.answer.find_fix(own, data))
            elif own not in self.kept and os.path.basename(own).partition(".")[0] in self.answer.stems:
                self.note_fix(own, self.answer.count_fixed_places(data))
            self.note("hidden_files", 1, own, self.answer.find_test_name(own, data))

    def look_at_byte_code(self, path: str, data: bytes) -> None:
        folder, name = os.path.split(path.replace("__pycache__" + os.sep, ""))
        source = os.path.join(folder, name.partition(".")[0] + ".py")
        # Byte code with the hash of the source beside it (PEP 552) says the same as that source, which is searched.
        if data[4:5] in HASHED and os.path.isfile(source) and data[8:16] == source_hash(read_start(source)):
            return
        self.note("fix_lines", 1, path, self.answer.find_fix_in_byte_code(path, data, os.path.isfile(source)))


def is_editable(record: bytes) -> bool:
    """Return whether a wheel's RECORD lists only links to code."""
    # Tox installs an editable project from such a wheel. A release may have a path file too, beside its code.
    files = [line for line in record.splitlines() if line and not DESCRIBED.match(line)]
    return any(b".pth," in line for line in files) and all(map(REDIRECTS.match, files))


def package_facts(path: str) -> "tuple[str, str]":
    """Return name and version in a package.json, or two ""."""
    try:
        facts = json.loads(read_start(path))
        return str(facts["name"]), str(facts.get("version", ""))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "", ""


def version_numbers(version: str) -> "tuple[int, ...]":
    """Return the three numbers of a version, or ()."""
    found = re.match(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", version)
    return tuple(map(int, found.groups())) if found else ()


def network() -> list[str]:
    """Return the reachable internet addresses and names; none should be."""
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
    """Search all files and the network; send findings as JSON."""
    wanted = json.load(sys.stdin)
    global SYSTEM
    SYSTEM += toolchains()
    search = LeakSearch(wanted, os.getcwd())
    for path, size in reachable_files(search.wants, lambda text: search.note("objects", 1, "/", text)):
        search.search_file(path, size)
    if search.unpacker.unread:
        search.note("fix_lines", 1, search.unpacker.unread[0], "is more than can be unpacked")
    own = search.has_release()
    if own:
        search.tell("%s is a released copy of the project" % ", ".join(sorted(search.releases)[:3]))
    reached = network()
    if reached:
        search.tell("%s answered" % ", ".join(reached))
    data = json.dumps({**search.found, "own_release": own, "network": bool(reached)}).encode("ascii")
    while data:
        data = data[os.write(int(sys.argv[1]), data) :]


main()
