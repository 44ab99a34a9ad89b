"""Run one test file under pytest; report every phase.

This runs inside a sandbox. pytest and its plugins are imported before the repository is on the path, so that no file of
the repository can take their place. They are the project's own, with its own options except those that would disturb a
measurement. Every phase of every test is reported over a pipe. Argument 2 is the workspace.
"""

from __future__ import annotations

import copy
import importlib.util
import math
import os
import signal
import sys
import traceback
from importlib.machinery import PathFinder
from typing import Any, Generator

from codegate.grading.drivers.channel_driver import plain
from codegate.languages.python.drivers.python_driver import Run, exception_chain

#: What keeps an option of pytest or a plugin from disturbing a measurement, by the name that pytest keeps it under:
#: tests elsewhere, some of them only, in another order, again, or slower. A plugin that is not there has no such name.
SWITCHES = {
    "maxfail": ["--maxfail=0"],
    "numprocesses": ["-n0", "--dist=no"],
    "no_cov": ["--no-cov"],
    "reruns": ["--reruns=0"],
    "randomly_reorganize": ["--randomly-dont-reorganize", "--randomly-seed=0"],
    "random_order_bucket": ["--random-order-bucket=none"],
    "benchmark_disable": ["--benchmark-disable"],
    "hypothesis_seed": ["--hypothesis-seed=0"],
}
#: Options that no later one takes back.
WITHDRAWN = {"--benchmark-only", "--benchmark-enable", "--forked", "--random-order", "--reverse"}
#: Markers that a failing test is classified by; known to pytest whether or not the repository registers them.
MARKERS = ("edge_case", "temporal", "performance")


#: Packages that tests are called by.
CALLERS = ("_pytest", "pluggy", "unittest")


class SearchPath(list):  # type: ignore[type-arg]  # Python 3.8 cannot subscript it
    """``sys.path`` that keeps the standard library first.

    pytest and conftest files insert folders at the beginning; files in these must not replace Python's own modules.
    """

    def insert(self, index: Any, entry: Any) -> None:
        super().insert(max(index, self.first) if index >= 0 else index, entry)

    first = 0


class OwnTestModule:
    """Import finder that prefers the repository's ``test`` module to Python's."""

    def __init__(self, roots: list[str]) -> None:
        self.roots = roots

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        return PathFinder.find_spec(name, self.roots) if name == "test" and path is None else None


def wrapped_error(pytest: Any, error: Any) -> Any:
    """Return the error that pytest's own import error wraps."""
    wrappers = (pytest.Collector.CollectError,)
    for candidate in exception_chain(error):
        if not isinstance(candidate, wrappers) and type(candidate).__name__ != "ConftestImportFailure":
            return candidate
    return error


def run_alone(run: Run, item: Any) -> bool:
    """Run a test in a forked child; return its success."""
    child = run.vary["fork"]()
    if not child:
        try:
            run.channel.process = run.channel.getpid()  # the child reports over the same pipe
            before = item.session.testsfailed
            item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
            run.real_exit(int(item.session.testsfailed > before))
        finally:
            run.real_exit(3)
    try:
        return os.waitpid(child, 0)[1] == 0
    except BaseException:  # a plugin's timer, set in this process
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return False


def make_protocol(pytest: Any, run: Run) -> object:
    """Return a pytest plugin that runs isolated tests in children."""
    from _pytest.runner import pytest_runtest_protocol as run_once

    alone, channel = frozenset(run.settings["isolated"]), run.channel
    main = channel.process

    class Protocol:
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Any:
            if plain(item.nodeid, 1 << 16) not in alone or channel.process != main:
                return run_once(item, nextitem)
            for _ in range(run.settings["repeat"]):
                if not run_alone(run, item):
                    item.session.testsfailed += 1
            return True

    return Protocol()


def make_recorder(pytest: Any, run: Run) -> object:
    """Return the pytest plugin that reports all phases of tests.

    It makes the repository importable too.
    """
    settings, channel, roots = run.settings, run.channel, run.roots
    alone = frozenset(settings["isolated"])

    class Recorder:
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_load_initial_conftests(
            self, early_config: Any, parser: Any, args: list[str]
        ) -> Generator[None, Any, None]:
            if settings["clock_days"] and has_time_machine():
                run.vary["move_clock"](settings["clock_days"])
            for words in steady_options(early_config, parser, args):
                sys.stdout.write("codegate: for the measurement, pytest's %s\n" % words)
            # Behind the standard library; before the packages, where the project may have another version.
            path = SearchPath(entry for entry in sys.path if entry not in roots)
            path.first = path.index(run.packages)
            path[path.first : path.first] = roots
            sys.path = path
            places = [*roots, *folders_above(os.path.relpath(settings["file"], settings["folder"] or "."))]
            if any(os.path.isfile(f"{root}/{name}") for root in places for name in ("test/__init__.py", "test.py")):
                sys.meta_path.insert(0, OwnTestModule(places))
            outcome = yield
            if outcome.excinfo is not None:
                error = outcome.excinfo[1]
                facts = run.explain(wrapped_error(pytest, error))
                channel.send(kind="collection_error", id=settings["file"], text=plain(error, 2000), crash=facts)

        def pytest_configure(self, config: Any) -> None:
            config.args[:] = config.args[-1:]  # no other path that the project's options name
            for marker in MARKERS:
                config.addinivalue_line("markers", marker)

        def pytest_sessionstart(self, session: Any) -> None:
            # Of plugins, the one that was registered last has the first say.
            session.config.pluginmanager.register(make_protocol(pytest, run))

        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items: list[Any]) -> None:
            if settings["order"] == "reversed":
                items.reverse()
            items.sort(key=lambda item: plain(item.nodeid, 1 << 16) not in alone)

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self) -> None:
            if settings["busy"]:
                run.vary["start_busy_processes"](settings["busy"])

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_make_collect_report(self, collector: Any) -> Generator[None, Any, None]:  # noqa: ARG002
            outcome = yield
            report = outcome.get_result()
            if report.failed:
                call = getattr(report, "call", None)
                facts = run.explain(wrapped_error(pytest, call.excinfo.value)) if call and call.excinfo else None
                text = plain(getattr(report, "longrepr", ""), 1 << 20)[-2000:]
                channel.send(kind="collection_error", id=plain(report.nodeid, 4096), text=text, crash=facts)

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
            if run.is_variant(item.nodeid):
                item.repr_failure = show_failure  # pytest's own parses the whole file for each, which has all copies
            outcome = yield
            report = outcome.get_result()
            facts = None
            if report.failed:
                crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
                message = getattr(crash, "message", None)
                if call.excinfo and message is None:
                    message = call.excinfo.exconly(tryshort=True)
                # An unexpected success, for one, fails without an exception.
                facts = run.explain(call.excinfo.value, message) if call.excinfo else None
            seconds = float(report.duration)
            outcome_name = report.outcome if report.passed or report.failed else "skipped"
            channel.send(
                kind="phase",
                id=plain(item.nodeid, 1 << 16),
                when=report.when,
                outcome="xfail" if hasattr(report, "wasxfail") else outcome_name,
                seconds=seconds if math.isfinite(seconds) and seconds > 0 else 0.0,  # a test may turn the clock
                markers=sorted({plain(marker.name, 100) for marker in item.iter_markers()})[:50],
                crash=facts,
                receipts=run.marks(),
                text=plain(report.longrepr, 1 << 20)[-4000:] if report.failed and run.is_variant(item.nodeid) else "",
            )

        @pytest.hookimpl(tryfirst=True)
        def pytest_report_teststatus(self, report: Any) -> Any:
            # Who reads the output is shown the real ones.
            return ("", "", "") if run.is_variant(report.nodeid) else None

    return Recorder()


def show_failure(failure: Any, style: Any = None) -> str:  # noqa: ARG001
    """Return an exception with its traceback, beginning at the test.

    It has Python's own form. ``failure`` is pytest's ``ExceptionInfo``; ``style`` is ignored.
    """
    first = trace = failure._excinfo[2]
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] in CALLERS:
        trace = trace.tb_next
    return "".join(traceback.format_exception(failure.type, failure.value, trace or first))


def steady_options(early_config: Any, parser: Any, args: list[str]) -> list[str]:
    """Replace options in ``args`` that disturb measurements.

    Return a line of text for each option of the project that changed.
    """
    # Called once every plugin has declared its options, and before these are parsed for good.
    known = early_config.known_args_namespace
    steady = [word for word in args if word not in WITHDRAWN]
    steady += [word for name, words in SWITCHES.items() if hasattr(known, name) for word in words]
    usual, before, after = (
        vars(parser.parse_known_args(each, copy.copy(early_config.option))) for each in ([], args, steady)
    )
    if "no_cov" in after:
        after["cov_source"] = []  # what it stands for
    changed = sorted(name for name, value in after.items() if before.get(name) != value)
    for name in changed:
        setattr(known, name, after[name])
    args[:] = steady
    own = (name for name in changed if before.get(name) != usual.get(name))
    return ["%s: %s is now %s" % (name, before.get(name), after[name]) for name in own]


def folders_above(file: str) -> list[str]:
    """Return the folders between a file and the current folder."""
    parts = file.split("/")[:-1]
    return [os.path.join(os.getcwd(), *parts[:count]) for count in range(len(parts), -1, -1)]


def has_time_machine() -> bool:
    """Return whether the environment has ``time_machine``."""
    return importlib.util.find_spec("time_machine") is not None


def main() -> None:
    """Run the selected file; exit with pytest's status."""
    run = Run()
    settings = run.settings
    if settings["clock_days"] and not has_time_machine():
        run.vary["move_clock"](settings["clock_days"])
    import pytest

    sys.path += run.roots  # for what the project's options load; the packages come first until plugins are there
    run.watch()
    recorder = make_recorder(pytest, run)
    here = "./" + os.path.relpath(os.path.join(run.workspace, settings["file"]))
    options = [*settings["options"], "--rootdir=" + run.workspace, "--tb=short", "--color=no", "-q", here]
    run.end(int(pytest.main(options, plugins=[recorder])))


main()
