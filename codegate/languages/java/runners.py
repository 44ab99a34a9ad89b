"""Run JUnit 3 to 5 by Maven or Gradle.

The recipe's own command runs, for the selected test classes.
"""

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from typing_extensions import override

from codegate.grading.drivers import driver_command
from codegate.grading.grade import TestResult, file_of, worse_result
from codegate.grading.records import Crash
from codegate.grading.runners.contract import Runner, RunnerReport, grouped
from codegate.grading.testreport import CollectionError, TestSelection
from codegate.languages.java.files import TEST_ROOT
from codegate.languages.junit.runners import read_reports
from codegate.sandbox import Command, Completed
from codegate.sandbox.session import WORKSPACE

_PLACE: Final = re.compile(r"(?:(.+)/)?src/\w+/\w+/(.+)\.\w+")
_ERROR: Final = re.compile(r"^(?:\[ERROR\] )?(/\S+\.\w+):(?:\[\d+,\d+\]|\d+: error:) (.+)$", re.MULTILINE)
_ABSENT: Final = re.compile(r"package (\w+(?:\.\w+)+) does not exist")
_ASSERTION: Final = "java.lang.AssertionError"
_ASSERTIONS: Final = ("AssertionFailedError", "AssertionError", "ComparisonFailure", "MultipleFailuresError")
_MAX_ERRORS: Final = 1 << 14
_CRASH: Final = "The forked VM terminated"


class BuildTool(Runner):
    """Runs the recipe's build tool once for each module.

    A test id is the path of the file that declares the test, ``::`` and the method, such as
    ``src/test/java/org/shop/CartTest.java::total``. In a nested class it ends in ``::Empty.total``; for the second set
    of arguments, in ``::total(int)[2]``. Tests with equal ids count as one, which passes if all of them pass. A class
    whose virtual machine crashes has no results. If the build tool fails although no test did, all results are dropped,
    because none can be trusted.
    """

    program: ClassVar[str]
    reports: ClassVar[str]
    """Folder of the reports, below the module's folder."""
    valued: ClassVar[frozenset[str]]
    """Options whose value is the next word."""
    own: ClassVar[frozenset[str]]
    """Options that codegate sets itself; if they take a value, ``valued`` lists them too."""

    def batches(self, files: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """Return one batch of ``files`` for each module."""
        return grouped(files, _module)

    @override
    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        module = _module(files[0]).removeprefix(selection.folder).lstrip("/")
        program, *words = selection.command or (self.program,)
        classes = tuple(name.replace("/", ".") for file in files if (name := _class(file)))
        settings = {
            "token": token,
            "folder": selection.folder,
            "command": [program, *self.arguments(tuple(self._options(words)), module, classes, selection)],
            "reports": [f"{module}/{self.reports}".lstrip("/")],
            "variants": sorted(selection.copies.variants),
        }
        return driver_command(
            "junit_driver", settings, package="codegate.languages.junit.drivers", environment={"TZ": selection.timezone}
        )

    def arguments(
        self, options: tuple[str, ...], module: str, classes: tuple[str, ...], selection: TestSelection
    ) -> Iterator[str]:
        """Yield the build tool's arguments to run test classes."""
        raise NotImplementedError

    @override
    def read(self, completed: Completed, selection: TestSelection, files: tuple[str, ...], token: str) -> RunnerReport:
        found, status, broken, forged = read_reports(completed.records, token)
        copies, said = selection.copies, completed.stdout.decode("utf-8", "replace")
        places = {name: file for file in files if (name := _class(file))}
        results: dict[str, TestResult] = {}
        for result in found:
            name, _, method = result.id.partition("::")
            outer, _, inner = name.partition("$")
            file = places.get(outer.replace(".", "/"))
            if file is not None:
                test = f"{file}::{'.'.join(filter(None, (inner.replace('$', '.'), method.removesuffix('()'))))}"
                known = result.model_copy(
                    update={"id": test, "message": _message(result), "exception": _exception_of(result)}
                )
                results[test] = worse_result(results.get(test), known)
        ignores_failures = bool(copies.variants)
        unexplained = status and (ignores_failures or not any(result.failed for result in results.values()))
        if unexplained or (ignores_failures and _CRASH in said):
            results = {}
        reported = {file_of(test) for test in results}
        errors = [_unreported(file, files, said, status) for file in files if file not in reported]
        crashes = {test: _crash(result) for test, result in results.items() if result.failed}
        texts = {test: results[test].message for test in crashes if copies.split_id(test)}
        return RunnerReport(results, (*broken, *errors), crashes, texts=texts, status=status, forged=forged)

    def _options(self, words: list[str]) -> Iterator[str]:
        """Yield a command's options, except those that codegate sets."""
        left = iter(words)
        for word in left:
            values = [next(left)] if word in self.valued else []
            if word.startswith("-") and word.partition("=")[0] not in self.own:
                yield from (word, *values)


class Maven(BuildTool):
    """Runs Maven with Surefire.

    Each class has a virtual machine of its own, so that a crash loses no other class.
    """

    program = "mvn"
    reports = "target/surefire-reports"
    valued = frozenset(
        {"-P", "-pl", "-f", "-s", "-gs", "-T", "-t", "-b", "-l", "-D", "-rf"}
        | {f"--{name}" for name in ("activate-profiles", "projects", "file", "settings", "global-settings", "threads")}
        | {f"--{name}" for name in ("toolchains", "builder", "log-file", "define", "resume-from")}
    )
    own = frozenset(
        {"-o", "--offline", "-q", "--quiet", "-pl", "--projects", "-am", "--also-make", "-amd", "-rf", "--resume-from"}
        | {"-l", "--log-file", "-Dtest", "-DskipTests", "-Dmaven.test.skip"}
    )

    @override
    def arguments(
        self, options: tuple[str, ...], module: str, classes: tuple[str, ...], selection: TestSelection
    ) -> Iterator[str]:
        yield from ("-o", "-B", *options, "test", f"-Dtest={','.join(classes)}", "-DreuseForks=false")
        # Modules that the tested module depends on lack the class, which is no failure. The first option is for
        # Surefire 2.
        yield from ("-DfailIfNoTests=false", "-Dsurefire.failIfNoSpecifiedTests=false")
        yield "-Dsurefire.rerunFailingTestsCount=0"
        if selection.copies.variants:
            yield "-Dmaven.test.failure.ignore=true"  # copies fail, so the status shows only other errors
        if module:
            yield from ("-pl", module, "-am")
        if selection.order != "natural":
            yield "-Djunit.jupiter.testmethod.order.default=org.junit.jupiter.api.MethodOrderer$Random"
            yield f"-Djunit.jupiter.execution.order.random.seed={selection.hash_seed}"


class Gradle(BuildTool):
    """Runs Gradle's task ``test``, once for each class.

    After a crash of the virtual machine, the report can still contain passed tests.
    """

    program = "gradle"
    reports = "build/test-results/test"
    valued = frozenset({"-x", "-p", "-b", "-c", "-g", "-I", "-P", "-D", "--tests", "--exclude-task", "--project-dir"})
    own = frozenset({"--offline", "--tests", "--build-cache", "--daemon", "-q", "--quiet", "-x", "--exclude-task"})

    @override
    def batches(self, files: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        return Runner.batches(self, files)

    @override
    def arguments(
        self,
        options: tuple[str, ...],
        module: str,
        classes: tuple[str, ...],
        selection: TestSelection,
    ) -> Iterator[str]:
        # The build cache is off, because a cached result is no run.
        yield from ("--offline", "--no-daemon", "--no-build-cache", "--console=plain", *options)
        yield f":{module.replace('/', ':')}:test" if module else "test"
        yield from (word for name in classes for nested in ("", "$*") for word in ("--tests", name + nested))


def _module(file: str) -> str:
    found = _PLACE.fullmatch(file)
    return found[1] or "" if found else ""


def _class(file: str) -> str:
    """Return a test file's class as ``org/shop/CartTest``, or ""."""
    found = _PLACE.fullmatch(file)
    return found[2] if found else ""


def _top_package(file: str) -> str:
    """Return the first names of a file's package, like ``org.shop.``."""
    return "".join(f"{name}." for name in _class(file).split("/")[:-1][:2]) or "."


def _exception_of(result: TestResult) -> str | None:
    """Return the class of the test's exception, None without one.

    For all assertion errors, it is ``java.lang.AssertionError``.
    """
    kind = result.exception
    return _ASSERTION if kind and kind.rpartition(".")[2] in _ASSERTIONS else kind


def _crash(result: TestResult) -> Crash:
    kind = result.exception or ""
    parents = {_ASSERTION: ("AssertionError",), "java.lang.OutOfMemoryError": ("MemoryError",)}.get(kind, ())
    return Crash(exception=kind, message=result.message, parents=parents)


def _message(result: TestResult) -> str:
    """Return a result's message without exception class and stack trace."""
    kind = result.exception or ""
    text = result.message.removeprefix(f"{kind}: ")
    return (text.partition(kind)[0].strip() or text) if kind else text


def _unreported(file: str, files: tuple[str, ...], said: str, status: int | None) -> CollectionError:
    error = _ERROR.search(said)
    if error is None:
        words = f"no test of it was reported, and the build tool ended with status {status}"
        return CollectionError(file, f"{words}\n{said[-1500:]}", Crash(exception="NoReport", message=words))
    absent = _ABSENT.fullmatch(error[2])
    missing = absent[1] if absent else ""
    # A missing package that begins like the project's own packages is no dependency.
    own = any(f"{missing}.".startswith(_top_package(path)) for path in (error[1], *files))
    dependency = None if own else missing or None
    of_tests = TEST_ROOT.fullmatch(error[1])
    parents: tuple[str, ...] = () if of_tests or dependency else ("SyntaxError",)
    where = error[1].removeprefix(f"{WORKSPACE}/")
    crash = Crash(
        exception="BuildFailed", message=f"{where}: {error[2]}"[:1000], parents=parents, dependency=dependency
    )
    return CollectionError(file, said[error.start() :][:_MAX_ERRORS], crash)


MAVEN: Final = Maven()
GRADLE: Final = Gradle()
