"""Compiles the tests of one Go package inside a sandbox: with what, from where, and what went wrong.

Part of ``go_driver``: its text is sent along with that one's.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from typing import Any

#: Whatever is built by the same settings finds what it is linked with in the environment's build cache.
GO_SETTINGS = {
    "GOENV": "off", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOPROXY": "off", "GOSUMDB": "off", "GOVCS": "*:off",
    "GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0", "GOTELEMETRY": "off", "GOMAXPROCS": "2",
}  # fmt: skip
#: A read-only cache has no index of the standard library's folders, and gets none.
UNINDEXED = {"GODEBUG": "goindex=0"}
#: Less garbage collection: the compiler takes a quarter less time but more memory, so not in a grade.
HURRIED = {"GOGC": "400", "GOMEMLIMIT": "600MiB"}
CACHE = ".codegate-cache"  # what stays between the runs of one sandbox
PLACE = re.compile(r"^(?:\./)?([^\s:]+\.go):\d+", re.MULTILINE)
ABSENT = re.compile(r"(?:no required module provides package|cannot find module providing package) ([^\s;:]+)")


def build_failure(words: str) -> dict[str, Any]:
    """Return the facts about a package that does not compile: which of its sides the fault is on."""
    absent = ABSENT.search(words)
    sources = [file for file in PLACE.findall(words) if not file.endswith("_test.go")]
    return {
        "exception": "BuildFailed",
        "message": "\n".join(line for line in words.splitlines() if not line.startswith("# "))[:1000],
        # Sources that do not compile are what a syntax error is elsewhere; tests that do not miss something in them.
        "parents": ["SyntaxError"] if sources and absent is None else [],
        "dependency": absent.group(1) if absent else None,
    }


def module_of(workspace: str, folder: str) -> str:
    """Return the folder, relative to the workspace, of the module that ``folder`` belongs to."""
    while folder and not os.path.isfile(os.path.join(workspace, folder, "go.mod")):
        folder = os.path.dirname(folder)
    return folder


def module_path(file: str) -> str:
    """Return the path that a ``go.mod`` file names its module by."""
    with open(file, encoding="utf-8", errors="replace") as lines:
        found = re.search(r"^module[ \t]+(\S+)", lines.read(), re.MULTILINE)
    return found.group(1) if found else ""


def module_flags(workspace: str, module: str, packages: str) -> list[str]:
    """Return where the requirements of a module come from: the environment, its own vendor folder, or itself."""
    locked = os.path.join(packages, "modules", "go.mod")
    if module_path(locked) == module_path(os.path.join(workspace, module, "go.mod")):
        return ["-mod=readonly", "-modfile=" + locked]
    vendored = os.path.isfile(os.path.join(workspace, module, "vendor", "modules.txt"))
    return ["-mod=vendor"] if vendored else ["-mod=readonly"]


def kept_cache(packages: str, workspace: str) -> str:
    """Return the folder of this sandbox's build cache: links to the environment's, and what was compiled since."""
    given, own = os.path.join(packages, "gocache"), os.path.join(workspace, CACHE, "go")
    disk = shutil.disk_usage(workspace)
    if disk.used > disk.total // 4:  # of the memory that the tests are to have
        shutil.rmtree(own, ignore_errors=True)
    if not os.path.isdir(own):
        os.makedirs(own)
        for parent, _, names in os.walk(given):
            if parent != given:
                place = os.path.join(own, os.path.relpath(parent, given))
                os.mkdir(place)
                for name in names:
                    os.symlink(os.path.join(parent, name), os.path.join(place, name))
        with open(os.path.join(own, "trim.txt"), "w", encoding="ascii") as file:
            file.write("%d" % time.time())  # old entries stay
    return own


def go_environment(site: str, packages: str, scratch: str) -> dict[str, str]:
    """Return the environment of the tests: the toolchain in reach, no network, no version control."""
    return {
        **os.environ,
        "PATH": os.path.join(site, "go", "bin") + os.pathsep + os.environ.get("PATH", os.defpath),
        **GO_SETTINGS,
        "GOMODCACHE": os.path.join(packages, "mod"), "GOCACHE": os.path.join(packages, "gocache"),
        "GOPATH": os.path.join(scratch, "path"), "GOTMPDIR": scratch,
    }  # fmt: skip


def overlay(texts: dict[str, str], workspace: str, folder: str) -> list[str]:
    """Return the compiler's flag for files that are not in the tree as they are compiled; ``texts`` by their paths."""
    places = {}
    for number, (path, text) in enumerate(texts.items()):
        places[os.path.join(workspace, path)] = place = os.path.join(folder, "%d.go" % number)
        with open(place, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    with open(os.path.join(folder, "overlay.json"), "w", encoding="utf-8") as file:
        json.dump({"Replace": places}, file)
    return ["-overlay=" + file.name] if places else []


def compile_tests(
    program: str, settings: dict[str, Any], site: str, packages: str, workspace: str, variables: dict[str, str]
) -> bytes:
    """Compile the package's tests into the file ``program``, where they can be; return what the compiler printed."""
    module = module_of(workspace, settings["folder"])
    if settings["recorded"]:
        argv = ["go", "test", "-c", "-vet=off", "-o", program, *settings["build_options"]]
        return compile_texts(argv, settings, workspace, module, variables)
    if settings["cached"]:
        variables = {**variables, **HURRIED, "GOCACHE": kept_cache(packages, workspace)}
    else:
        cache = variables["GOCACHE"]
        found = cache if os.path.isdir(cache) else os.path.join(variables["GOTMPDIR"], "cache")
        variables = {**variables, **UNINDEXED, "GOCACHE": found}
    argv = [os.path.join(site, "go", "bin", "go"), "test", "-c", "-vet=off", "-ldflags=-w", "-p=2", "-o", program]
    argv += module_flags(workspace, module, packages)
    return compile_texts(argv, settings, workspace, module, variables)


def compile_texts(
    argv: list[str], settings: dict[str, Any], workspace: str, module: str, variables: dict[str, str]
) -> bytes:
    """Run the compiler on the package, instrumented where it can be; return what it printed."""
    folder = settings["folder"]
    package = "./" + os.path.relpath(folder or ".", module or ".")
    # Instrumented tests that do not compile are compiled as they were. Nothing of the tree can have a text of this in
    # it, and none is there when tests run.
    printed = b""
    for texts in (settings["added"], settings["originals"]) if settings["added"] else ({},):
        with tempfile.TemporaryDirectory() as place:
            done = subprocess.run(
                [*argv, *overlay(texts, workspace, place), package], cwd=os.path.join(workspace, module), env=variables,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
        printed += done.stdout
        if done.returncode == 0:
            return printed
    return done.stdout
