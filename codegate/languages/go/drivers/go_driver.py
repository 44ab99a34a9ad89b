"""Compile a Go package's tests, run some, report each.

This runs inside a sandbox. Only tests that the selected files declare are run. Their processes cannot write results to
the host; ``output_driver`` reads their output. If a test crashes its process, another process runs the remaining tests.
The compiler is the one on ``PATH``, with the caches and the options of the project.
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
from typing import Any

from codegate.grading.drivers.channel_driver import Channel, plain
from codegate.languages.go.drivers.output_driver import FATAL, KEPT, Listener, Printer, listen

SCRATCH = ".codegate-go"  # below the workspace, where programs may be run; Go's patterns skip such a name
MAX_RUNS = 25
TEST = re.compile(r"^func\s+((?:Test|Example|Fuzz)(?![a-z])\w*)\s*\(", re.MULTILINE)
PLACE = re.compile(r"^(?:\./)?([^\s:]+\.go):\d+", re.MULTILINE)
ABSENT = re.compile(r"(?:no required module provides package|cannot find module providing package) ([^\s;:]+)")
#: What a file adds to a package for others: set-up, ``TestMain``, methods, variables, embedded or nameless packages.
SHARED = re.compile(
    r"^(?:func\s*\(|func\s+(?:init|TestMain)\b|var\b|//go:|(?:import)?\s*[_.]\s)|\bimport\s+\"C\"", re.MULTILINE
)
ENDINGS = {
    "out of memory": "MemoryError",
    "cannot allocate memory": "MemoryError",
    "test timed out after": "TimeoutError",
}


def failure(name: str, listener: Listener, fatal: str) -> dict[str, Any]:
    """Return the ``Crash`` fields of a failed test.

    ``fatal`` is why the process ended while the test ran; empty if the test ended before.
    """
    said = listener.said.get(name, "")
    own = FATAL.search(said)
    if not fatal and own is None:
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        by_others = not lines and any(other.startswith(name + "/") for other in listener.failed())
        return {
            "exception": "testing.SubtestFailed" if by_others else "testing.Failed",
            "message": plain("\n".join(lines) or "the test failed without a message", 1000),
            "parents": ["AssertionError"],
        }
    text = own.group(0) if own else fatal
    parents = [parent for words, parent in ENDINGS.items() if words in text]
    return {"exception": "panic", "message": plain(text, 1000), "parents": parents}


def declaring_files(workspace: str, files: list[str]) -> dict[str, str]:
    """Return, by test, the one of ``files`` that declares it."""
    found: dict[str, str] = {}
    for file in files:
        with open(os.path.join(workspace, file), encoding="utf-8", errors="replace") as source:
            for name in TEST.findall(source.read()):
                if name != "TestMain":
                    found.setdefault(name, file)
    return found


def has_main(folder: str) -> bool:
    """Return whether a package's test files define ``TestMain``."""
    # ``TestMain`` may fail though no test does.
    for name in os.listdir(folder):
        if name.endswith("_test.go"):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as source:
                if "TestMain" in TEST.findall(source.read()):
                    return True
    return False


class Run:
    """Runs the test program; collects passed tests and crashes.

    Attributes:
        files: by test, the file that declares it.
    """

    def __init__(
        self, argv: list[str], folder: str, variables: dict[str, str], settings: dict[str, Any], channel: Channel
    ) -> None:
        self.argv, self.folder, self.variables, self.settings = argv, folder, variables, settings
        self.channel = channel
        self.files: dict[str, str] = {}
        self.printer = Printer(settings["output_bytes"])
        self.variants = frozenset(settings["variants"])
        self.passed: list[str] = []
        self.crashed = False

    def run_once(self, names: list[str]) -> tuple[int, Listener, list[str]]:
        argv = [self.argv[0], "-test.run=^(%s)$" % "|".join(names), *self.argv[1:]]
        listener = Listener(self.printer, self.variants)
        status, receipts = listen(argv, self.folder, self.variables, listener, self.settings)
        self.crashed = self.crashed or status not in (0, 1)
        failed = listener.failed().union(listener.running())
        self.passed += [name for name in names if name in listener.results and name not in failed]
        return status, listener, receipts

    def run_together(self, names: list[str]) -> bool:
        """Run tests in one process; return whether any failed."""
        # If the process crashes, another one runs the rest. A process that fails though none of its tests does proves
        # nothing: a test may be reported as passed before its goroutine panics.
        failed = False
        for _ in range(MAX_RUNS + len(self.variants)):
            if not names:
                return failed
            status, listener, receipts = self.run_once(names)
            failed = failed or status != 0
            outcomes = {outcome for found in listener.results.values() for outcome, _ in found}
            if status != 0 and listener.started and not listener.running() and "failed" not in outcomes:
                sys.exit(3)  # no end is announced
            # Go says which test panics: those that ran in parallel to it are run again, each alone.
            panicked = listener.panicked()
            unclear = {name.partition("/")[0] for name in listener.running()} - panicked if panicked else set()
            broken = self.send_results(listener, status, receipts, unclear)
            for name in sorted(unclear):
                failed = self.run_together([name]) or failed
            if status != 0 and not listener.started:
                found = FATAL.search(listener.last)
                text = listener.last[found.start() if found else -1000 :][:2000]
                kind = "panic" if found else "TestMainFailed" if has_main(self.folder) else "ProcessEnded"
                words = text if found else "the test process ended with status %d before any test\n%s" % (status, text)
                for file in sorted(set(self.files.values())):
                    crash = {"exception": kind, "message": plain(words, 1000), "parents": []}
                    self.channel.send(kind="collection_error", id=file, text=plain(text, 2000), crash=crash)
            left = [name for name in names if name not in broken and name not in listener.results]
            if len(left) == len(names) or not (broken or status not in (0, 1)):
                return failed
            names = left
        # So many tests took their process down that the rest was never tried: no end is announced.
        sys.exit(3)

    def send_results(self, listener: Listener, status: int, receipts: list[str], unclear: set[str]) -> set[str]:
        """Send a process's results; return its unfinished top-level tests.

        Unfinished tests were running when the process crashed. ``unclear`` tests may have been ended by another test's
        panic, so their results are not sent. The ``receipts`` (tokens of the marks that ran) go with the first result.
        """
        unfinished, fatal = listener.running(), ""
        if unfinished:
            found = FATAL.search(listener.last)
            fatal = found.group(0) if found else "the test process ended with status %d" % status
        # In the order in which they began: parallel ones end in another each time.
        for name in listener.started:
            top = name.partition("/")[0]
            if top not in self.files or top in unclear:
                continue
            unknown = [("failed", 0.0)] if name in unfinished else []
            for outcome, seconds in listener.results.get(name, unknown):
                crash = failure(name, listener, fatal if name in unfinished else "") if outcome == "failed" else None
                test = plain("%s::%s" % (self.files[top], name), 1 << 16)
                text = plain(listener.said.get(name, ""), 2 * KEPT) if crash and listener.is_variant(name) else ""
                self.channel.send(
                    kind="phase", id=test, when="call", outcome=outcome, seconds=seconds, markers=[], crash=crash,
                    receipts=receipts, text=text,
                )  # fmt: skip
                receipts = []
        return {name.partition("/")[0] for name in unfinished}


def build_failure(words: str) -> dict[str, Any]:
    """Return a compile error's ``Crash`` fields, from the output."""
    absent = ABSENT.search(words)
    sources = [file for file in PLACE.findall(words) if not file.endswith("_test.go")]
    return {
        "exception": "BuildFailed",
        "message": "\n".join(line for line in words.splitlines() if not line.startswith("# "))[:1000],
        # Sources that do not compile are what a syntax error is elsewhere; tests that do not miss something in them.
        "parents": ["SyntaxError"] if sources and absent is None else [],
        "dependency": absent.group(1) if absent else None,
    }


def outdated_tests(words: str, settings: dict[str, Any], workspace: str) -> list[str]:
    """Return outdated test files that break a package's build.

    ``words`` is the compiler's output; paths begin with ``workspace``. Empty if the compiler also names other files, or
    if other tests may need an outdated file.
    """
    folder = os.path.join(workspace, settings["folder"])
    files = {os.path.join(folder, os.path.basename(file)) for file in PLACE.findall(words)}
    known = {os.path.join(workspace, file) for file in settings["outdated"]}
    for file in files:
        if file not in known or not file.endswith("_test.go") or os.path.islink(file):
            return []
        with open(file, encoding="utf-8", errors="replace") as source:
            if SHARED.search(source.read()):
                return []
    return sorted(files)


def module_of(workspace: str, folder: str) -> str:
    """Return the folder of a package's Go module."""
    # Both folders are relative to the workspace.
    while folder and not os.path.isfile(os.path.join(workspace, folder, "go.mod")):
        folder = os.path.dirname(folder)
    return folder


def overlay(texts: dict[str, str], workspace: str, folder: str) -> list[str]:
    """Write ``texts`` into ``folder``; return the compiler's option.

    The option makes the compiler see them at their paths in ``workspace``.
    """
    places = {}
    for number, (path, text) in enumerate(texts.items()):
        places[os.path.join(workspace, path)] = place = os.path.join(folder, "%d.go" % number)
        with open(place, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    with open(os.path.join(folder, "overlay.json"), "w", encoding="utf-8") as file:
        json.dump({"Replace": places}, file)
    return ["-overlay=" + file.name] if places else []


def compile_tests(program: str, settings: dict[str, Any], workspace: str, variables: dict[str, str]) -> bytes:
    """Compile the package's tests; return the compiler's output.

    If that works, the test program is at the path ``program``.
    """
    folder = settings["folder"]
    module = module_of(workspace, folder)
    argv = ["go", "test", "-c", "-vet=off", "-o", program, *settings["build_options"]]
    package = "./" + os.path.relpath(folder or ".", module or ".")
    # Nothing of the tree can have a text of this in it, and none is there when tests run.
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(
            [*argv, *overlay(settings["added"], workspace, place), package], cwd=os.path.join(workspace, module),
            env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    return done.stdout


def main() -> None:
    """Compile the package and run its tests.

    Exit with 0 if all passed, with 1 if not, and with 2 if nothing could be run.
    """
    settings = json.load(sys.stdin)
    channel = Channel(int(sys.argv[1]), settings["token"])
    workspace = sys.argv[2]
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # not dumpable: the tests cannot open our pipe through /proc
    folder, files = settings["folder"], settings["files"]
    scratch = os.path.join(workspace, SCRATCH)
    shutil.rmtree(scratch, ignore_errors=True)  # the tree may have such a folder
    os.makedirs(scratch)
    variables = {**os.environ, "GOTMPDIR": scratch}
    if "-race" in settings["build_options"]:
        # Without a C compiler Go turns cgo off, and then asks to turn it on instead of naming the compiler.
        variables.setdefault("CGO_ENABLED", "1")
    program = os.path.join(scratch, "package.test")
    options = [
        "-test.v=test2json", "-test.paniconexit0", "-test.timeout=0", "-test.shuffle=" + settings["shuffle"],
        *settings["test_options"],
    ]  # fmt: skip
    run = Run([program, *options], os.path.join(workspace, folder), variables, settings, channel)
    printed = compile_tests(program, settings, workspace, variables)
    if not os.path.isfile(program):
        # No selected test is in such a file, and the answer has changed what it calls.
        outdated = outdated_tests(printed.decode("utf-8", "replace"), settings, workspace)
        for file in outdated:
            os.unlink(file)
        again = compile_tests(program, settings, workspace, variables) if outdated else b""
        printed = again if os.path.isfile(program) else printed
    run.printer.print(printed)
    if not os.path.isfile(program):
        words = plain(printed[:3000].decode("utf-8", "replace"), 2000)
        for file in files:
            channel.send(kind="collection_error", id=file, text=words, crash=build_failure(words))
        channel.send(kind="end", status=2)
        sys.exit(2)
    run.files = declaring_files(workspace, files)
    alone = [name for name in run.files if name in settings["isolated"]]
    groups = [[name] for name in alone] + [[name for name in run.files if name not in alone]]
    failed = False
    for group in groups * settings["repeat"]:
        failed = run.run_together(group) or failed
    if run.variants and run.passed and (run.crashed or has_main(os.path.join(workspace, folder))):
        # Copies fail, so the exit status says nothing about the tests that passed; it does when they run without them.
        run.printer.left = 0
        if run.run_once(run.passed)[0] != 0:
            sys.exit(3)  # no end is announced
    channel.send(kind="end", status=int(failed))
    sys.exit(int(failed))


main()
