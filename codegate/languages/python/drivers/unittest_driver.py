"""Run one test file under unittest or Django's runner.

This runs inside a sandbox and reports every phase of every test. ``load_tests``, fixtures of modules and classes,
subtests and Django's databases work as usual. Django's tests run by the project's own ``manage.py test``, with its
options. Argument 2 is the workspace.
"""

# ruff: noqa: N802 - a result's methods have unittest's names

from __future__ import annotations

import contextlib
import importlib
import os
import re
import runpy
import sys
import time
import traceback
import types
import unittest
from typing import Any

from codegate.grading.drivers.channel_driver import plain
from codegate.languages.python.drivers.python_driver import Run


def make_result_class(run: Run) -> Any:
    """Return a unittest result class that reports each test."""
    clock = time.perf_counter

    class Result(unittest.TextTestResult):
        #: How many tests of each name there are: loaders make several of one method, which pass or fail as one.
        expected: dict[str, int] = {}
        ended: dict[str, int] = {}

        def startTest(self, test: Any) -> None:
            super().startTest(test)
            self.began = clock()
            if name_of(test) not in self.ended:
                self.tell(test, "setup", "passed")

        def stopTest(self, test: Any) -> None:
            name = name_of(test)
            self.ended[name] = self.ended.get(name, 0) + 1
            if self.ended[name] == self.expected.get(name, 1):
                self.tell(test, "teardown", "passed")
            super().stopTest(test)

        def addSuccess(self, test: Any) -> None:
            if not run.is_variant(name_of(test)):
                super().addSuccess(test)
            self.tell(test, "call", "passed")

        def addFailure(self, test: Any, err: Any) -> None:
            if not run.is_variant(name_of(test)):
                super().addFailure(test, err)
            self.tell(test, "call", "failed", err)

        def addError(self, test: Any, err: Any) -> None:
            if not run.is_variant(name_of(test)):
                super().addError(test, err)
            if hasattr(test, "_testMethodName") and not is_failed_import(test):
                self.tell(test, "call", "failed", err)
                return
            # A module that cannot be loaded, or a fixture of a module or a class: its tests never began.
            holder = re.match(r"setUpClass \((?:.*\.)?(\w+)\)", str(getattr(test, "description", "")))
            file = run.settings["file"]
            run.fail_to_load("%s::%s" % (file, holder.group(1)) if holder else file, err[1])

        def addSkip(self, test: Any, reason: str) -> None:
            super().addSkip(test, reason)
            self.tell(test, "call", "skipped")

        def addExpectedFailure(self, test: Any, err: Any) -> None:
            super().addExpectedFailure(test, err)
            self.tell(test, "call", "xfail")

        def addUnexpectedSuccess(self, test: Any) -> None:
            super().addUnexpectedSuccess(test)
            self.tell(test, "call", "failed")

        def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
            if not run.is_variant(name_of(test)):
                super().addSubTest(test, subtest, err)
            self.tell(test, "call", "passed" if err is None else "failed", err)

        def tell(self, test: Any, when: str, outcome: str, error: Any = None) -> None:
            if not hasattr(test, "_testMethodName") or is_failed_import(test):
                return  # a fixture that skips a class or a module
            seconds = clock() - self.began if when == "teardown" else 0.0
            crash = None if error is None else run.explain(error[1])
            shown = error is not None and run.is_variant(name_of(test))
            text = plain("".join(traceback.format_exception(*error)), 1 << 20)[-4000:] if shown else ""
            test_id = plain("%s::%s" % (run.settings["file"], name_of(test)), 1 << 16)
            run.channel.send(
                kind="phase", id=test_id, when=when, outcome=outcome, seconds=max(seconds, 0.0), markers=[],
                crash=crash, receipts=run.marks(), text=text,
            )  # fmt: skip

    return Result


def name_of(test: Any) -> str:
    """Return a test's name in its file, in pytest's form."""
    return "%s::%s" % (type(test).__qualname__.replace(".", "::"), getattr(test, "_testMethodName", ""))


def is_failed_import(test: Any) -> bool:
    """Return whether a test only stands for a failed import."""
    return type(test).__module__ == "unittest.loader"


def module_name(workspace: str, file: str, start: str) -> tuple[str, str]:
    """Return a test file's import root and dotted module name.

    The root is the working folder ``start``, or a folder below it.
    """
    folder, name = os.path.split(os.path.join(workspace, file))
    parts = [name[: -len(".py")]]
    while folder not in (start, workspace) and os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    return folder, ".".join(parts)


def run_unittest(run: Run, result: Any) -> bool:
    """Run the file by unittest; return whether all passed."""
    folder, name = module_name(run.workspace, run.settings["file"], os.getcwd())
    if folder not in sys.path:
        sys.path.insert(sys.path.index(run.packages), folder)
    with contextlib.suppress(unittest.SkipTest):  # the loader makes a skipped test of it
        importlib.import_module(name)  # the loader would wrap what goes wrong
    suite: Any = unittest.defaultTestLoader.loadTestsFromName(name)
    if run.settings["order"] == "reversed" and is_ordinary(suite):
        suite = unittest.TestSuite(reversed(list(flat(suite))))
    for test in flat(suite):
        result.expected[name_of(test)] = result.expected.get(name_of(test), 0) + 1
    return unittest.TextTestRunner(resultclass=result, verbosity=0).run(suite).wasSuccessful()


def label_from(run: Run, start: str) -> str:
    """Return the dotted name of the selected file, below ``start``."""
    file = os.path.join(run.workspace, run.settings["file"])
    return os.path.relpath(file, start)[: -len(".py")].replace(os.sep, ".")


def is_ordinary(suite: Any) -> bool:
    """Return whether no part of a suite overrides ``run``."""
    return isinstance(suite, unittest.TestCase) or (
        type(suite) is unittest.TestSuite and all(is_ordinary(part) for part in suite)
    )


def flat(suite: Any) -> Any:
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from flat(part)
        else:
            yield part


def run_runtests(run: Run, result: Any) -> bool:
    """Run the file by Django's ``runtests.py``; return its success."""
    runner = importlib.import_module("django.test.runner").DiscoverRunner
    runner.get_resultclass = lambda _: result
    own = os.path.abspath(run.settings["script"])
    start = os.path.dirname(own)
    label = label_from(run, start)
    sys.argv = [own, *run.settings["options"], "--parallel=1", "--noinput"]
    sys.argv += [*(["--reverse"] if run.settings["order"] == "reversed" else []), label]
    os.chdir(start)
    sys.path.insert(sys.path.index(run.packages), start)
    try:
        runpy.run_path(own, run_name="__main__")
    except SystemExit as ending:
        return not ending.code
    return True


def run_manage(run: Run, result: Any) -> bool:
    """Run the file by ``manage.py test``; return whether all passed.

    The project's settings, databases and options are kept.
    """
    script, given = run.settings["script"], ""
    start = os.path.dirname(os.path.abspath(script)) if script else os.getcwd()
    label = label_from(run, start)
    words = list(run.settings["options"])
    for number, word in enumerate(words):
        if word.partition("=")[0] == "--testrunner":
            given = word.partition("=")[2] or words[number + 1]
    steady = {"failfast": False, "parallel": 0, "pdb": False, "shuffle": False}
    if run.settings["order"] == "reversed":
        steady["reverse"] = True

    def make_runner(name: str) -> Any:
        # Django looks our runner up by name: a subclass of the configured one.
        if name != "Runner":
            raise AttributeError(name)
        configured = importlib.import_module("django.conf").settings
        base: Any = importlib.import_module("django.test.utils").get_runner(configured, given or None)

        class Runner(base):  # type: ignore[misc]  # known at run time alone
            test_runner = unittest.TextTestRunner

            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(*args, **{**options, **{key: steady[key] for key in steady if key in options}})

            def get_resultclass(self) -> Any:
                return result

            def build_suite(self, labels: Any = None, *args: Any, **options: Any) -> Any:  # noqa: ARG002
                with contextlib.suppress(unittest.SkipTest):  # the loader makes a skipped test of it
                    importlib.import_module(label)  # the loader would wrap what goes wrong
                return super().build_suite([label], *args, **options)

        return Runner

    module: Any = types.ModuleType("codegate_django")
    module.__getattr__ = make_runner
    sys.modules[module.__name__] = module
    sys.argv = [script or "django-admin", "test", *words, "--testrunner=codegate_django.Runner", "--noinput"]
    sys.path.insert(sys.path.index(run.packages), start)
    try:
        if script:
            runpy.run_path(script, run_name="__main__")
        else:
            importlib.import_module("django.core.management").execute_from_command_line(sys.argv)
    except SystemExit as ending:
        return not ending.code
    return True


def main() -> None:
    """Run the selected file; exit 0 if all passed."""
    run = Run()
    sys.path[sys.path.index(run.packages) : sys.path.index(run.packages)] = run.roots
    run_file = run_unittest
    if run.settings["django"]:
        run_file = run_runtests if run.settings["script"].endswith("runtests.py") else run_manage
    run.watch()
    result = make_result_class(run)
    try:
        passed = run_file(run, result)
    except BaseException as error:  # a module may end the process while it is imported
        run.fail_to_load(run.settings["file"], error)
        passed = False
    run.end(int(not passed))


main()
