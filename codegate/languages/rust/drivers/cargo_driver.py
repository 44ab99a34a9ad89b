"""Compile tests with Cargo; run each in its own process.

These processes cannot write results to the host. A test has passed if its process ended with status 0 and libtest
reported that one test passed. So a process that ends early has not passed, and other tests are not lost.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Iterator

from codegate.grading.drivers.channel_driver import Channel, plain

#: Cargo starts this program in place of a test program. It notes how, in a file of its own.
NOTE = """import json, os, sys, tempfile
descriptor, path = tempfile.mkstemp(dir=sys.argv[1])
with open(descriptor, "w") as file:
    json.dump({"argv": sys.argv[2:], "folder": os.getcwd(), "variables": dict(os.environ)}, file)
"""
#: Options that choose targets, or what happens to them; the first take a value.
VALUED = frozenset({"--bin", "--test", "--example", "--bench"})
PLAIN = frozenset({"--lib", "--bins", "--tests", "--examples", "--benches", "--all-targets", "--doc", "--no-run",
                   "--offline", "--locked", "--frozen"})  # fmt: skip
CHOSEN = ("--workspace", "--all", "-p", "--package", "--manifest-path")
#: Options of nextest that say how to compile, and whether they take a value.
SHARED = {
    "--workspace": False, "--all": False, "--all-features": False, "--no-default-features": False, "--release": False,
    "-r": False, "-p": True, "--package": True, "--exclude": True, "-F": True, "--features": True, "--target": True,
    "--manifest-path": True, "--cargo-profile": True,
}  # fmt: skip
HOST = re.compile(r"^host: (\S+)$", re.MULTILINE)
ENDED = re.compile(r"^test result: (ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;", re.MULTILINE)
MACRO = re.compile(r"[\w:]+!")
UNPANICKED = "note: test did not panic as expected"
PANIC = re.compile(r"panicked at ([^\n]+:\d+:\d+):\n(.*?)(?=\nnote: |\nstack backtrace:|\n\n|\Z)", re.DOTALL)
SECTION = re.compile(r"^---- .* stdout ----\n(.*?)(?=^failures:$)", re.MULTILINE | re.DOTALL)
ERROR = re.compile(r"^error(?:\[\w+\])?: .*\n *--> (.+?):\d+:\d+$", re.MULTILINE)
ABSENT = re.compile(r"(?:unlinked crate|undeclared crate or module|missing crate|find crate for) `(?:r#)?(\w+)`")
KEPT = 64 << 10
LISTED = 8 << 20
TEXT = 8 << 10


def run(argv: list[str], folder: str, variables: dict[str, str], kept: int = KEPT,
        limit: float | None = None) -> tuple[int, str, float]:  # fmt: skip
    """Run a program; return its exit status, output and seconds.

    The output is cut to its last ``kept`` bytes. The program is killed after ``limit`` seconds, and all processes that
    it leaves running are killed at its end.
    """
    with tempfile.TemporaryFile() as output:  # a process that it leaves running could hold a pipe open
        begun = time.monotonic()
        process = subprocess.Popen(argv, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(limit)
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        status, seconds = process.wait(), time.monotonic() - begun
        output.seek(max(0, output.seek(0, os.SEEK_END) - kept))
        return status, output.read().decode("utf-8", "replace"), seconds


class Target:
    """A target of a Cargo package that may have tests."""

    def __init__(self, package: dict[str, Any], target: dict[str, Any]) -> None:
        self.package, self.root = package["id"], target["src_path"]
        self.crate = os.path.dirname(package["manifest_path"])
        kind = target["kind"][0]
        option = {"test": "--test", "bin": "--bin", "example": "--example"}.get(kind)
        self.chosen = [option, target["name"]] if option else ["--lib"]

    @property
    def folder(self) -> str:
        return str(os.path.dirname(self.root))

    def has(self, pattern: re.Pattern[bytes]) -> bool:
        """Return whether the target's main source file matches ``pattern``."""
        with open(self.root, "rb") as file:
            return pattern.search(file.read()) is not None

    def file_of(self, test: str) -> tuple[str, str]:
        """Return a test's source file, and its name in it."""
        *modules, name = test.split("::")
        for depth in range(len(modules), 0, -1):
            place = os.path.join(self.folder, *modules[:depth])
            for path in (place + ".rs", os.path.join(place, "mod.rs")):
                if path != self.root and os.path.isfile(path):
                    return path, "::".join([*modules[depth:], name])
        return self.root, test


class Cargo:
    """Calls Cargo with the options of the recipe's command."""

    def __init__(self, settings: dict[str, Any], python: str, workspace: str) -> None:
        words = list(settings["command"])
        self.tail = words[words.index("--") :] if "--" in words else []
        words = words[: len(words) - len(self.tail)]
        self.program = [words.pop(0)] if words else ["cargo"]
        if words and words[0].startswith("+"):
            self.program.append(words.pop(0))
        self.known = words[:1] in (["test"], ["t"], ["nextest"])
        self.options = list(nextest_options(words[2:]) if words[:1] == ["nextest"] else cargo_options(words[1:]))
        self.folder = os.path.join(workspace, settings["folder"])
        self.scratch = tempfile.mkdtemp()
        self.variables = {**os.environ, "CARGO_TERM_COLOR": "never", "CARGO_TERM_PROGRESS_WHEN": "never"}
        note = os.path.join(self.scratch, "note.py")
        with open(note, "w", encoding="utf-8") as file:
            file.write(NOTE)
        _, about, _ = run([*self.program, "-vV"], self.folder, self.variables)
        host = HOST.search(about)
        triple = host.group(1) if host else ""
        if "--target" in self.options[:-1]:
            triple = self.options[self.options.index("--target") + 1]
        self.runner = "CARGO_TARGET_%s_RUNNER" % re.sub(r"\W", "_", triple).upper()
        self.runs = "%s -I -S -B %s" % (python, note)
        self.marks = os.path.join(self.scratch, "marks")
        if settings["mark"]:
            self.variables[settings["mark"]] = self.marks

    def targets(self) -> tuple[list[Target], set[str], str]:
        """Return test targets, ids of default packages, and an error.

        Cargo tests default packages without an option ``-p``. The error is "" if Cargo worked.
        """
        if not self.known:
            why = "the command is no `cargo test`: for another one, name the JUnit XML that it writes as `report`"
            return [], set(), why
        argv = [*self.program, "metadata", "--offline", "--locked", "--no-deps", "--format-version", "1"]
        if "--manifest-path" in self.options:
            at = self.options.index("--manifest-path")
            argv += self.options[at : at + 2]
        done = subprocess.run(argv, cwd=self.folder, env=self.variables, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        if done.returncode != 0:
            return [], set(), done.stderr.decode("utf-8", "replace")
        found = json.loads(done.stdout)
        every = [Target(package, target) for package in found["packages"] for target in package["targets"]
                 if target.get("test", True)]  # fmt: skip
        return every, set(found.get("workspace_default_members", found["workspace_members"])), ""

    def compile(self, target: Target, default: set[str]) -> tuple[dict[str, Any] | None, str]:
        """Compile a target; return how to start its tests.

        The first value has ``argv``, ``folder`` and ``variables``; None if Cargo fails. The second is Cargo's output.
        ``default`` has the ids of packages that need no option ``-p``.
        """
        folder = tempfile.mkdtemp(dir=self.scratch)
        chosen = any(word.split("=")[0] in CHOSEN for word in self.options)
        package = [] if chosen or target.package in default else ["-p", target.package]
        argv = [*self.program, "test", "--offline", "--locked", *self.options, *package, *target.chosen, *self.tail]
        status, words, _ = run(argv, self.folder, {**self.variables, self.runner: "%s %s" % (self.runs, folder)})
        found = []
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found.append(json.load(file))
        found = [each for each in found if each["folder"] == target.crate]
        return found[0] if status == 0 and len(found) == 1 else None, words


def nextest_options(words: list[str]) -> Iterator[str]:
    """Yield nextest's options that affect compiling, in Cargo's form."""
    left = iter(words)
    for word in left:
        name = word.split("=")[0]
        values = [next(left)] if "=" not in word and name in SHARED and SHARED[name] else []
        if name in SHARED:
            yield from (word.replace("--cargo-profile", "--profile"), *values)


def cargo_options(words: list[str]) -> Iterator[str]:
    """Yield ``cargo test``'s options that affect compiling."""
    left = iter(words)
    for word in left:
        if word in VALUED:
            next(left, None)
        elif word.split("=")[0] not in VALUED | PLAIN:
            yield word


def targets_of(targets: list[Target], path: str) -> list[Target]:
    """Return the targets that may contain a file's tests.

    They are those whose main file is at ``path``. Without any, they are the nearest targets above whose main file
    declares the file as a module.
    """
    own = [target for target in targets if target.root == path]
    above = [target for target in targets if path.startswith(target.folder + os.sep)]
    nearest = max((len(target.folder) for target in above), default=0)
    module = os.path.splitext(path[nearest + 1 :].partition(os.sep)[0])[0]
    named = re.compile(rb"^[^/\n]*\bmod\s+(?:r#)?%s\b" % re.escape(module.encode()), re.MULTILINE)
    return own or [target for target in above if len(target.folder) == nearest and target.has(named)]


def outcome_of(status: int, output: str) -> str:
    """Return a test's outcome: ``passed``, ``skipped`` or ``failed``.

    It is ``failed`` unless the exit status and libtest's last summary agree.
    """
    ended = ENDED.findall(output)
    counted = ended[-1] if ended else None
    if status == 0 and counted == ("ok", "1", "0", "0"):
        return "passed"
    return "skipped" if status == 0 and counted == ("ok", "0", "0", "1") else "failed"


def list_tests(start: dict[str, Any]) -> list[str]:
    """Return a test program's tests; empty if built without libtest."""
    argv = [*start["argv"], "--list", "--format", "terse"]
    status, output, _ = run(argv, start["folder"], start["variables"], LISTED)
    return [line[:-6] for line in output.splitlines() if line.endswith(": test")] if status == 0 else []


def is_module(name: str, crate: str) -> bool:
    """Return whether a crate's folder has a module ``name``."""
    declared = re.compile(rb"^[^/\n]*\bmod\s+(?:r#)?%s\b" % re.escape(name.encode()), re.MULTILINE)
    for folder, folders, files in os.walk(crate):
        folders[:] = [each for each in folders if each != "target" and not each.startswith(".")]
        if name in folders or name + ".rs" in files:
            return True
        for file in files:
            path = os.path.join(folder, file)
            if file.endswith(".rs") and os.path.isfile(path):
                with open(path, "rb") as source:
                    if declared.search(source.read()):
                        return True
    return False


class Reporter:
    """Runs the tests of test programs and reports them.

    Attributes:
        files: by path, the names of the selected test files.
        marks: the file to which marks write tokens.
    """

    def __init__(self, channel: Channel, settings: dict[str, Any], files: dict[str, str], marks: str) -> None:
        self.channel, self.settings, self.files, self.marks = channel, settings, files, marks

    def run(self, start: dict[str, Any], tests: dict[str, str]) -> bool:
        """Run tests (ids by name); return whether none failed."""
        good, left = True, self.settings["output_bytes"] // 2
        for name, test in tests.items():
            has_copies = any(word in name for word in self.settings["variants"])  # or is one
            for _ in range(self.settings["repeat"]):
                argv = [*start["argv"], name, "--exact"]
                with open(self.marks, "w", encoding="utf-8"):
                    pass
                limit = self.settings["seconds"] if has_copies else None
                status, output, seconds = run(argv, start["folder"], start["variables"], limit=limit)
                outcome = outcome_of(status, output)
                crash = self.failure(status, output) if outcome == "failed" else None
                good = good and crash is None
                if crash is not None and left > 0 and not has_copies:
                    sys.stdout.write(plain(output, left))
                    left -= len(output)
                with open(self.marks, encoding="utf-8", errors="replace") as file:
                    receipts = file.read(KEPT).split()
                self.channel.send(kind="phase", id=plain(test, 1 << 16), when="call", outcome=outcome, seconds=seconds,
                                  markers=[], crash=crash, receipts=receipts,
                                  text=plain(output, TEXT) if crash and has_copies else "")  # fmt: skip
        return good

    def failure(self, status: int, output: str) -> dict[str, Any]:
        """Return a failed test's ``Crash`` fields from status and output."""
        panic, section = PANIC.search(output), SECTION.search(output)
        message = panic.group(2) if panic else section.group(1).strip() if section else ""
        if ENDED.search(output) is None:
            ended = "the test process ended with status %d and no result" % status
            message = "%s\n%s" % ((message, ended) if message else (ended, output[-500:]))
        wrong = UNPANICKED in output or (panic and (message.startswith("assertion") or self.asserts(panic.group(1))))
        parents = ["AssertionError"] if wrong else []
        if "memory allocation of" in output and status == -signal.SIGABRT:
            parents = ["MemoryError"]
        return {"exception": "panic" if panic else "TestFailed", "message": plain(message.strip(), 4000),
                "parents": parents}  # fmt: skip

    def asserts(self, place: str) -> bool:
        """Return whether ``file:line:column`` is an assertion in a test file."""
        name, line, column = place.rsplit(":", 2)
        path = next((path for path in self.files if path.endswith(os.sep + name)), None)
        if path is None:
            return False
        with open(path, encoding="utf-8", errors="replace") as file:
            text = next(itertools.islice(file, int(line) - 1, None), "")
        return MACRO.match(text, int(column) - 1) is not None

    def build_failure(self, words: str, crate: str) -> dict[str, Any]:
        """Return the ``Crash`` fields of a crate's compile error.

        ``words`` is Cargo's output.
        """
        error = ERROR.search(words)
        if error is None or any(path.endswith(os.sep + error.group(1)) for path in self.files):
            return {"exception": "BuildFailed", "parents": []}
        absent = ABSENT.search(words[error.start() :].partition("\n\n")[0])
        if absent is None or is_module(absent.group(1), crate):
            return {"exception": "BuildFailed", "parents": ["SyntaxError"]}
        return {"exception": "BuildFailed", "parents": [], "dependency": absent.group(1)}

    def report_broken(self, file: str, words: str, crash: dict[str, Any]) -> None:
        """Report why a file's tests gave no results."""
        sys.stdout.write(plain(words, 4000) + "\n")
        crash = {**crash, "message": plain(words, 1000)}
        self.channel.send(kind="collection_error", id=file, text=plain(words, KEPT), crash=crash)


def main() -> None:
    """Compile and run the selected tests.

    Exit with 0 if all passed, with 1 if not, and with 2 if some file's tests could not be run.
    """
    settings = json.load(sys.stdin)
    channel = Channel(int(sys.argv[1]), settings["token"])
    python, workspace = sys.argv[2:4]
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # not dumpable: the tests cannot open our pipe through /proc
    cargo = Cargo(settings, python, workspace)
    files = {os.path.join(workspace, file): file for file in settings["files"]}
    reporter = Reporter(channel, settings, files, cargo.marks)
    targets, default, words = cargo.targets()
    inside = {path: targets_of(targets, path) for path in files}
    good = True
    found: set[str] = set()
    unlisted = {"exception": "NoTests", "parents": []}
    why: dict[str, tuple[str, dict[str, Any]]] = dict.fromkeys(files, (words, unlisted))
    for target in {target.root: target for each in inside.values() for target in each}.values():
        start, words = cargo.compile(target, default)
        if start is None:
            facts = (words[words.find("\nerror") + 1 :], reporter.build_failure(words, target.crate))
            why.update((path, facts) for path, each in inside.items() if target in each)
            continue
        placed = {name: target.file_of(name) for name in list_tests(start)}
        tests = {name: "%s::%s" % (files[path], inner) for name, (path, inner) in placed.items() if path in files}
        found.update(path for path, _ in placed.values())
        good = reporter.run(start, tests) and good
    missing = [path for path in files if path not in found]
    for path in missing:
        words, crash = why[path]
        reporter.report_broken(files[path], words or "no test target lists a test of this file", crash)
    status = 2 if missing else 0 if good else 1
    channel.send(kind="end", status=status)
    sys.exit(status)


main()
