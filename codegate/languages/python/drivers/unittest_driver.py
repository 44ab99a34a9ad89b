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

from codegate.grading.drivers.channel_driver import Channel, plain
from codegate.languages.python.drivers.python_driver import begin_run, end, explain, start_watch, take_marks


def make_result_class(channel: Channel, file: str, roots: list[str], marks: Any, is_variant: Any) -> Any:
    """Return a unittest result class that reports each test.

    ``roots`` are the repository's import roots. ``marks`` returns the tokens since its last call, and ``is_variant``
    whether a test has altered copies or is one.
    """
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
            if not is_variant(name_of(test)):
                super().addSuccess(test)
            self.tell(test, "call", "passed")

        def addFailure(self, test: Any, err: Any) -> None:
            if not is_variant(name_of(test)):
                super().addFailure(test, err)
            self.tell(test, "call", "failed", err)

        def addError(self, test: Any, err: Any) -> None:
            if not is_variant(name_of(test)):
                super().addError(test, err)
            if hasattr(test, "_testMethodName") and not is_failed_import(test):
                self.tell(test, "call", "failed", err)
                return
            # A module that cannot be loaded, or a fixture of a module or a class: its tests never began.
            holder = re.match(r"setUpClass \((?:.*\.)?(\w+)\)", str(getattr(test, "description", "")))
            place = "%s::%s" % (file, holder.group(1)) if holder else file
            fail_to_load(channel, place, err[1], roots)

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
            if not is_variant(name_of(test)):
                super().addSubTest(test, subtest, err)
            self.tell(test, "call", "passed" if err is None else "failed", err)

        def tell(self, test: Any, when: str, outcome: str, error: Any = None) -> None:
            if not hasattr(test, "_testMethodName") or is_failed_import(test):
                return  # a fixture that skips a class or a module
            seconds = clock() - self.began if when == "teardown" else 0.0
            crash = None if error is None else explain(error[1], roots)
            shown = error is not None and is_variant(name_of(test))
            text = plain("".join(traceback.format_exception(*error)), 1 << 20)[-4000:] if shown else ""
            channel.send(
                kind="phase", id=plain("%s::%s" % (file, name_of(test)), 1 << 16), when=when, outcome=outcome,
                seconds=max(seconds, 0.0), markers=[], crash=crash, receipts=marks(), text=text,
            )  # fmt: skip

    return Result


def name_of(test: Any) -> str:
    """Return a test's name in its file, in pytest's form."""
    return "%s::%s" % (type(test).__qualname__.replace(".", "::"), getattr(test, "_testMethodName", ""))


def is_failed_import(test: Any) -> bool:
    """Return whether a test is unittest's stand-in for failed imports."""
    return type(test).__module__ == "unittest.loader"


def fail_to_load(channel: Channel, place: str, error: Any, roots: list[str]) -> None:
    """Report a file, or class in it, that cannot load.

    ``place`` is its path, or ``path::Class``; ``roots`` are the repository's import roots.
    """
    channel.send(kind="collection_error", id=plain(place, 4096), text=plain(error, 2000), crash=explain(error, roots))


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


def run_unittest(settings: dict[str, Any], workspace: str, result: Any) -> bool:
    """Run a test file by unittest; return whether everything passed.

    The file is ``settings["file"]``, loaded as by ``python -m unittest``. ``result`` is the class of the test results.
    """
    folder, name = module_name(workspace, settings["file"], os.getcwd())
    if folder not in sys.path:
        sys.path.insert(sys.path.index(settings["packages"]), folder)
    with contextlib.suppress(unittest.SkipTest):  # the loader makes a skipped test of it
        importlib.import_module(name)  # the loader would wrap what goes wrong
    suite: Any = unittest.defaultTestLoader.loadTestsFromName(name)
    if settings["order"] == "reversed" and is_ordinary(suite):
        suite = unittest.TestSuite(reversed(list(flat(suite))))
    for test in flat(suite):
        result.expected[name_of(test)] = result.expected.get(name_of(test), 0) + 1
    return unittest.TextTestRunner(resultclass=result, verbosity=0).run(suite).wasSuccessful()


def is_ordinary(suite: Any) -> bool:
    """Return whether a suite has plain suites and cases only."""
    # A part with its own ``run`` is not plain.
    return isinstance(suite, unittest.TestCase) or (
        type(suite) is unittest.TestSuite and all(is_ordinary(part) for part in suite)
    )


def flat(suite: Any) -> Any:
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from flat(part)
        else:
            yield part


def run_own(settings: dict[str, Any], workspace: str, result: Any) -> bool:
    """Run one of Django's test files; return whether everything passed.

    Django's ``runtests.py`` runs ``settings["file"]``. ``result`` is the class of the test results.
    """
    runner = importlib.import_module("django.test.runner").DiscoverRunner
    runner.get_resultclass = lambda _: result
    own = os.path.abspath(settings["script"])
    start = os.path.dirname(own)
    label = os.path.relpath(os.path.join(workspace, settings["file"]), start)[: -len(".py")].replace(os.sep, ".")
    sys.argv = [own, *settings["options"], "--parallel=1", "--noinput"]
    sys.argv += [*(["--reverse"] if settings["order"] == "reversed" else []), label]
    os.chdir(start)
    sys.path.insert(sys.path.index(settings["packages"]), start)
    try:
        runpy.run_path(own, run_name="__main__")
    except SystemExit as ending:
        return not ending.code
    return True


def run_manage(settings: dict[str, Any], workspace: str, result: Any) -> bool:
    """Run a file by ``manage.py test``; return whether everything passed.

    The file is ``settings["file"]``. The project's settings, databases and options are kept. ``result`` is the class of
    the test results.
    """
    script, given = settings["script"], ""
    start = os.path.dirname(os.path.abspath(script)) if script else os.getcwd()
    label = os.path.relpath(os.path.join(workspace, settings["file"]), start)[: -len(".py")].replace(os.sep, ".")
    words = list(settings["options"])
    for number, word in enumerate(words):
        if word.partition("=")[0] == "--testrunner":
            given = word.partition("=")[2] or words[number + 1]
    steady = {"failfast": False, "parallel": 0, "pdb": False, "shuffle": False}
    if settings["order"] == "reversed":
        steady["reverse"] = True

    def make_runner(name: str) -> Any:
        """Return our runner class, a subclass of the configured one."""
        # Django looks it up by name.
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
    sys.path.insert(sys.path.index(settings["packages"]), start)
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
    leave = os._exit
    settings, channel, workspace, packages, roots = begin_run()
    sys.path[sys.path.index(packages) : sys.path.index(packages)] = roots
    run = run_unittest
    if settings["django"]:
        run = run_own if settings["script"].endswith("runtests.py") else run_manage
    settings["packages"] = packages
    finish_watch = start_watch(settings, channel, workspace, packages)
    result = make_result_class(channel, settings["file"], roots, *take_marks(settings))
    try:
        passed = run(settings, workspace, result)
    except BaseException as error:  # a module may end the process while it is imported
        fail_to_load(channel, settings["file"], error, roots)
        passed = False
    end(channel, finish_watch, int(not passed), leave)


main()
