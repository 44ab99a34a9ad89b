"""Run one JavaScript test file; report each test.

This runs inside a sandbox. It starts Node with a reporter of ours, which is loaded before any code of the repository.
The reporter reads its settings from a pipe that it then closes, and reports over another pipe; no process that the
tests start inherits either. Its reports are passed on unchanged. The end record is sent only if the framework reported
its end and the process ended by itself. Node is the one on ``PATH``, packages are the tree's own, and options are those
of the script that the project's command names. Argument 2 is the workspace.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from typing import Any

#: Options of a test script that decide whether its tests can run at all; with a value or without one.
NODE_VALUED = {"--import", "--require", "-r", "--loader", "--experimental-loader", "--conditions", "-C"}
NODE_PLAIN = re.compile(
    r"--(experimental-[a-z-]+|enable-source-maps|expose[-_]gc|no-warnings|allow-natives-syntax|test-force-exit)"
)
MOCHA_VALUED = {
    *("--require", "-r", "--ui", "-u", "--timeout", "--timeouts", "-t", "--file", "--globals", "--global"),
    *("--extension", "--compilers", "--config", "--opts", "--node-option", "-n", "--retries", *NODE_VALUED),
}
MOCHA_PLAIN = re.compile(r"--(check-leaks|async-only|delay|exit|full-trace|no-timeouts?)|" + NODE_PLAIN.pattern)
MOCHA_PROGRAMS = {"mocha", "_mocha", "mocha.js"}
#: Options of mocha that can be given once; of several the last counts.
MOCHA_SINGLE = {"-u": "--ui", "--ui": "--ui", "--retries": "--retries"}
MOCHA_SINGLE.update(dict.fromkeys(("-t", "--timeout", "--timeouts"), "--timeout"))
JEST_VALUED = {"--config", "-c", "--env", "--testEnvironment", "--preset", "--rootDir", "--selectProjects"}
VITEST_VALUED = {"--config", "-c", "--root", "-r", "--environment", "--project", "--dir", "--mode"}
SCRIPTS = ("test:unit", "unit", "test", "test:node", "test-unit", "tests", "unit-test", "test:only", "test-only")
BREAKS = {"&&", "||", ";", "|", "&"}
ABSENT = re.compile(r"Cannot find (?:module|package) '([^'\n]{1,300})'")
ERROR = re.compile(r"\b((?:[A-Z]\w*)?Error)(?: \[\w+\])?: ?(.*)")
KEPT = 16 << 10


def scripts(workspace: str, command: list[str]) -> list[list[str]]:
    """Return command lines that may run tests, split into words.

    They are ``command``, scripts of ``package.json`` that it names, and other scripts, usual test scripts first.
    """
    try:
        with open(os.path.join(workspace, "package.json"), encoding="utf-8") as file:
            found = json.load(file).get("scripts", {})
        rank = {name: number for number, name in enumerate(SCRIPTS)}
        names = sorted(found, key=lambda name: (name not in command, rank.get(name, 99), name))
        texts = [found[name] for name in names if isinstance(found[name], str)]
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return [command]
    split = [command]
    for text in texts[:200]:
        with contextlib.suppress(ValueError):
            split.append(shlex.split(text[:4000]))
    return split


def options_after(words: list[str], programs: set[str], valued: set[str], plain: re.Pattern[str]) -> list[str] | None:
    """Return a program's options in a command line.

    The program is the first of ``programs`` in ``words``; None if there is none. Only options in ``valued`` (which take
    a value) or that match ``plain`` (which take none) are returned.
    """
    starts = [number for number, word in enumerate(words) if re.split("[/\\\\]", word)[-1] in programs]
    if not starts:
        return None
    found = []
    rest = iter(words[starts[0] + 1 :])
    for word in rest:
        if word in BREAKS:
            break
        name, assigned, value = word.partition("=")
        if name in valued:
            found += [name, value if assigned else next(rest, "")]
        elif plain.fullmatch(word):
            found.append(word)
    return found


def opts_options(path: str) -> list[str]:
    """Return the supported options in mocha's old file ``mocha.opts``."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("#")]
        words = [word for line in lines for word in shlex.split(line)]
    except (OSError, ValueError):
        return []
    return options_after(["mocha", *words], {"mocha"}, MOCHA_VALUED, MOCHA_PLAIN) or []


class Launcher:
    """Builds the arguments with which Node starts a test framework.

    Attributes:
        node: the path of Node.
        folder: the folder of codegate's reporter.
        workspace: the project's folder.
        command_lines: words of each command that may run the project's tests.
    """

    def __init__(self, settings: dict[str, Any], node: str, folder: str, workspace: str) -> None:
        self.settings, self.node, self.folder, self.workspace = settings, node, folder, workspace
        self.command_lines = scripts(workspace, settings["command"])
        self.reporter = os.path.join(folder, settings["reporter"])

    def first_options(self, programs: set[str], valued: set[str], plain: re.Pattern[str]) -> list[str]:
        """Return a program's options from the first command naming it."""
        every = (options_after(words, programs, valued, plain) for words in self.command_lines)
        return next((options for options in every if options is not None), [])

    def node_options(self) -> list[str]:
        """Return Node's options in the command that starts the framework."""
        runner = self.settings["runner"]
        for words in self.command_lines:
            runs = any(runner in re.split(r"[/\\.]", word) for word in words) if runner != "node" else "--test" in words
            if not runs:
                continue
            options = options_after(words, {"node"}, NODE_VALUED, NODE_PLAIN) or []
            given = [word.partition("=")[2] for word in words if word.startswith("NODE_OPTIONS=")]
            for text in given:
                options += options_after(["node", *text.split()], {"node"}, NODE_VALUED, NODE_PLAIN) or []
            if "tsx" in words and runner == "node":
                options += ["--import", "tsx"]
            return options
        return []

    def mocha_command(self) -> list[str]:
        """Return mocha's command line; Node's options come first."""
        # Mocha reads no configuration of its own, which could add test files.
        version = version_of("mocha")
        given = self.first_options(MOCHA_PROGRAMS, MOCHA_VALUED, MOCHA_PLAIN)
        named = {name: given[given.index(name) + 1] for name in ("--config", "--opts") if name in given}
        if version >= (6,):
            given = self.config_options(named.get("--config")) + given
        empty = os.path.join(self.folder, "mocha.opts")
        if version < (8,):
            given = opts_options(os.path.join(self.workspace, named.get("--opts", "test/mocha.opts"))) + given
            with open(empty, "w", encoding="utf-8"):
                pass
        own = [
            *(["--no-config", "--no-package"] if version >= (6,) else []),
            *(["--opts", empty] if version < (8,) else []),
            *(["--exit"] if version >= (4,) and not self.settings["until_exit"] else []),  # older ones always do
        ]
        options, flags = split_flags(given)
        return [*flags, bin_of("mocha", "_mocha"), *options, "--reporter", self.reporter, *own]

    def config_options(self, named: str | None) -> list[str]:
        """Return supported options in the project's mocha configuration.

        ``named`` is the configuration file that the project's command names.
        """
        description = os.path.join(package_folder("mocha"), "package.json")
        command = [self.node, os.path.join(self.folder, "mocha_config.cjs"), description, *([named] if named else [])]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=self.workspace)
        try:
            settings = dict(json.loads(done.stdout))
        except (ValueError, TypeError):
            return []
        words = ["mocha"]
        for key, value in settings.items():
            dashed = re.sub("[A-Z]", lambda capital: "-" + capital.group().lower(), key)
            name = ("--" if len(key) > 1 else "-") + dashed
            for one in value if isinstance(value, list) else [value]:
                words += [name] if one is True else [name + "=" + str(one)] if one not in (False, None) else []
        return options_after(words, {"mocha"}, MOCHA_VALUED, MOCHA_PLAIN) or []

    def arguments(self) -> list[str]:
        """Return the arguments with which Node runs the selected file."""
        settings, reporter = self.settings, self.reporter
        until_exit, runner = settings["until_exit"], settings["runner"]
        file = os.path.relpath(settings["file"], settings["folder"] or ".")
        # Loaded before whatever the project's options load, which may be the code under test.
        own = [*(["--require", reporter] if reporter.endswith(".cjs") else []), *self.node_options()]
        if runner == "node":
            early = [] if until_exit else ["--test-force-exit"]
            return [*own, *early, "--test-reporter=" + reporter, "--test-reporter-destination=stdout", file]
        if runner == "mocha":
            return [*own, *self.mocha_command(), file]
        if runner == "jest":
            given = self.first_options({"jest", "jest.js"}, JEST_VALUED, re.compile("--forceExit"))
            shuffle = ["--randomize", "--seed=%d" % settings["seed"]] if settings["order"] == "reversed" else []
            shuffle = shuffle if version_of("jest") >= (29, 5) else []
            early = [] if until_exit else ["--forceExit"]
            return [
                *own, bin_of("jest", "jest"), *given, *shuffle, *early, "--ci", "--runInBand",
                "--coverage=false", "--bail=0", "--passWithNoTests", "--watchman=false",
                "--cacheDirectory=" + os.path.join(self.folder, "cache"),
                "--reporters=" + reporter, "--runTestsByPath", file,
            ]  # fmt: skip
        return [*own, reporter, *self.first_options({"vitest"}, VITEST_VALUED, re.compile("--globals"))]


def split_flags(given: list[str]) -> tuple[list[str], list[str]]:
    """Return mocha's options and Node's options, separately."""
    # The last of several equal options of mocha counts.
    mocha: list[str] = []
    node: list[str] = []
    single: dict[str, list[str]] = {}
    rest = iter(given)
    for name in rest:
        value = [next(rest, "")] if name in MOCHA_VALUED else []
        if name in {"-n", "--node-option"}:
            node += ["--" + value[0]]
        elif name in NODE_VALUED - {"-r", "--require"} or NODE_PLAIN.fullmatch(name):
            node += [name, *value]
        elif name in MOCHA_SINGLE:
            single[MOCHA_SINGLE[name]] = value
        elif name not in {"--config", "--opts"}:
            mocha += [name, *value]
    return [*mocha, *(word for name, value in single.items() for word in (name, *value))], node


def package_folder(name: str) -> str:
    """Return the folder of the nearest installed package, or ""."""
    place = os.getcwd()
    while not os.path.isdir(os.path.join(place, "node_modules", name)):
        if place == "/":
            return ""
        place = os.path.dirname(place)
    return os.path.join(place, "node_modules", name)


def package(name: str) -> dict[str, Any]:
    """Return the ``package.json`` of an installed package."""
    try:
        with open(os.path.join(package_folder(name), "package.json"), encoding="utf-8") as file:
            return dict(json.load(file))
    except (OSError, ValueError):
        raise SystemExit("the environment has no " + name) from None


def version_of(name: str) -> tuple[int, ...]:
    """Return the major and minor version of an installed package."""
    return tuple(int(part) for part in re.findall(r"\d+", package(name)["version"])[:2])


def bin_of(name: str, program: str) -> str:
    """Return the path of a program that a package brings."""
    entry = package(name).get("bin")
    path = entry.get(program) or entry[name] if isinstance(entry, dict) else entry
    return os.path.join(package_folder(name), str(path))


class LineRelay:
    """Passes the reporter's lines on to the records pipe.

    Attributes:
        finished: the framework reported its end.
        reported: the reporter sent a line before the end.
    """

    def __init__(self, descriptor: int, token: str) -> None:
        self.descriptor, self.opening = descriptor, token.encode("ascii") + b" "
        self.finished, self.reported = False, False

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.descriptor, data) :]

    def send(self, **record: Any) -> None:
        self.write(self.opening + json.dumps(record).encode("ascii") + b"\n")

    def run(self, source: int) -> None:
        with open(source, "rb") as lines:
            for line in lines:
                if line == self.opening + b'{"kind":"finished"}\n':
                    self.finished = True
                else:
                    self.reported = True
                    self.write(line)


def write_and_close(descriptor: int, data: bytes) -> None:
    """Write ``data`` to a pipe whose reader may stop early."""
    with contextlib.suppress(OSError), open(descriptor, "wb") as pipe:
        pipe.write(data)


class Tail:
    """Passes standard error on, and stores its last part."""

    def __init__(self) -> None:
        self.kept = b""

    def run(self, source: Any) -> None:
        for data in iter(lambda: os.read(source.fileno(), 1 << 16), b""):
            self.kept = (self.kept + data)[-KEPT:]
            with contextlib.suppress(OSError):
                os.write(2, data)


def crash(text: str, workspace: str) -> dict[str, Any] | None:
    """Return the last error in Node's output ``text``, or None.

    It has the fields of ``codegate.grading.records.Crash``.
    """
    found = ERROR.search(text)
    if found is None:
        return None
    absent = ABSENT.search(text)
    name = absent[1] if absent and not absent[1].startswith((".", "/", "file:", "#")) else None
    if name is not None:
        name = "/".join(name.split("/")[: 2 if name.startswith("@") else 1])
    parents = ["SyntaxError"] if found[1] == "SyntaxError" else ["ImportError"] if absent else []
    return {
        "exception": found[1], "message": found[2][:2000], "parents": parents, "causes": [], "errno": None,
        "dependency": name if name and not os.path.exists(os.path.join(workspace, name)) else None,
    }  # fmt: skip


def main() -> None:
    """Run the selected file; exit with the framework's status."""
    settings = json.load(sys.stdin)
    records, workspace = int(sys.argv[1]), sys.argv[2]
    os.set_inheritable(records, False)
    relay, tail = LineRelay(records, settings["token"]), Tail()
    node = shutil.which("node") or "node"
    folder = tempfile.mkdtemp(prefix="run-", dir="/tmp")
    place = os.path.join(workspace, settings["folder"]) if settings["folder"] else workspace
    for name, text in settings["sources"].items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    os.chdir(place)
    if package_folder(settings["runner"]):  # our own programs import it
        os.mkdir(os.path.join(folder, "node_modules"))
        os.symlink(package_folder(settings["runner"]), os.path.join(folder, "node_modules", settings["runner"]))
    os.environ["PATH"] = os.pathsep.join(
        [os.path.dirname(node), os.path.join(place, "node_modules", ".bin"), os.environ.get("PATH", "/usr/bin:/bin")]
    )
    if settings["clock_days"]:
        os.environ["CODEGATE_CLOCK_DAYS"] = str(settings["clock_days"])
        os.environ["NODE_OPTIONS"] = "--require=" + os.path.join(folder, "clock.cjs")
    command = [node, *Launcher(settings, node, folder, place).arguments()]
    told, tell = os.pipe()
    heard, hear = os.pipe()
    process = subprocess.Popen(
        command, env={**os.environ, "CODEGATE_CHANNEL": "%d,%d" % (told, hear)}, pass_fds=(told, hear),
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=place,
    )  # fmt: skip
    os.close(told)
    os.close(hear)
    said = {key: settings[key] for key in ("token", "file", "order", "seed", "copies")}
    said["workspace"] = workspace
    workers = [
        threading.Thread(target=write_and_close, args=(tell, json.dumps(said).encode("ascii")), daemon=True),
        threading.Thread(target=relay.run, args=(heard,), daemon=True),
        threading.Thread(target=tail.run, args=(process.stderr,), daemon=True),
    ]
    for worker in workers:
        worker.start()
    status = process.wait()
    for worker in workers:
        worker.join(5)  # a process that a test left running may hold its output open
    text = tail.kept.decode("utf-8", "replace")
    if status > 0 and not relay.finished and not relay.reported:
        facts = crash(text, workspace)
        relay.send(kind="collection_error", id=settings["file"], text=text[-2000:], crash=facts)
        relay.finished = True
    if status >= 0 and relay.finished:
        relay.send(kind="end", status=status)
    os._exit(status if status >= 0 else 1)


main()
