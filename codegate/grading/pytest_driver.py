"""Runs one test file under pytest inside a sandbox and reports every phase of every test over its own pipe.

This file is never imported by codegate: its text is sent into the sandbox and run there by an isolated
interpreter (``-I -S -B``), so it uses the standard library and the environment's pytest only, in syntax that
Python 3.8 knows. pytest and its plugins are imported before the repository is on the path, so that no file of
the repository can take their place. Standard input brings the settings; argument 1 is the pipe's descriptor.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Generator

#: Plugins that would run tests elsewhere, again, in another order, or that only watch.
LEFT_OUT = {
    "xdist", "xdist.looponfail", "rerunfailures", "randomly", "random_order", "flaky", "cov", "pytest_cov",
    "benchmark", "instafail", "sugar", "html", "metadata", "json-report", "forked", "parallel", "reverse",
}  # fmt: skip


class Channel:
    """Writes records to the pipe, one JSON line each, opened by a token that only the settings held."""

    def __init__(self, descriptor: int, token: str) -> None:
        self.descriptor = descriptor
        self.token = token

    def send(self, **record: Any) -> None:
        data = ("%s %s\n" % (self.token, json.dumps(record))).encode("ascii")
        while data:
            data = data[os.write(self.descriptor, data) :]


def explain(excinfo: Any) -> dict[str, Any]:
    """Return the qualified name of an exception, its first lines and its errno."""
    kind = excinfo.type
    name = kind.__name__ if kind.__module__ == "builtins" else "%s.%s" % (kind.__module__, kind.__qualname__)
    try:
        message = str(excinfo.value)
    except Exception:
        message = "<no message>"
    number = getattr(excinfo.value, "errno", None)
    parents = [parent.__name__ for parent in kind.__mro__ if parent.__module__ == "builtins"]
    return {
        "exception": name,
        "message": message[:3000],
        "errno": number if isinstance(number, int) else None,
        "parents": parents,
    }


def make_recorder(pytest: Any, channel: Channel, order: str) -> object:
    """Return the plugin that reports what happens."""

    class Recorder:
        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items: list[Any]) -> None:
            if order == "reversed":
                items.reverse()

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_make_collect_report(self, collector: Any) -> Generator[None, Any, None]:  # noqa: ARG002
            outcome = yield
            report = outcome.get_result()
            if report.failed:
                call = getattr(report, "call", None)
                facts = explain(call.excinfo) if call is not None and call.excinfo else {}
                text = str(getattr(report, "longrepr", ""))[-2000:]
                channel.send(kind="collect_error", id=report.nodeid, text=text, **facts)

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
            outcome = yield
            report = outcome.get_result()
            facts = explain(call.excinfo) if call.excinfo and not report.passed else {}
            crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
            if crash is not None:
                facts["message"] = str(crash.message)[:3000]
            channel.send(
                kind="phase",
                id=item.nodeid,
                when=report.when,
                outcome="xfail" if hasattr(report, "wasxfail") else report.outcome,
                seconds=report.duration,
                markers=sorted({marker.name for marker in item.iter_markers()}),
                **facts,
            )

        def pytest_collection_finish(self, session: Any) -> None:
            channel.send(kind="collected", ids=[item.nodeid for item in session.items])

    return Recorder()


def plugin_arguments(site: str) -> list[str]:
    """Return ``-p`` options for the pytest plugins that the environment itself holds."""
    from importlib import metadata

    arguments = []
    for distribution in metadata.distributions(path=[site]):
        for entry in distribution.entry_points:
            if entry.group == "pytest11" and entry.name not in LEFT_OUT:
                arguments += ["-p", entry.name]
    return arguments


def main() -> None:
    """Run the file named by the settings and exit with pytest's status."""
    settings = json.load(sys.stdin)
    channel = Channel(int(sys.argv[1]), settings["token"])
    site = sys.argv[2]
    workspace = sys.argv[3]
    sys.argv[1:] = []
    sys.path.append(site)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import pytest

    plugins = plugin_arguments(site)
    seed = ["--hypothesis-seed=0"] if "hypothesispytest" in plugins else []
    os.chdir(workspace)
    sys.path.extend(os.path.normpath(os.path.join(workspace, root)) for root in settings["python_path"])
    options = [
            "./" + settings["file"],
            "--rootdir=" + workspace, "--confcutdir=" + workspace, "--import-mode=append",
            "-q", "--tb=short", "--color=no", "--continue-on-collection-errors",
            "-o", "addopts=", "-o", "required_plugins=", "-p", "no:cacheprovider",
            *plugins, *seed,
    ]  # fmt: skip
    status = pytest.main(options, plugins=[make_recorder(pytest, channel, settings["order"])])
    channel.send(kind="end", status=int(status))
    sys.stdout.flush()
    sys.stderr.flush()
    # What the repository registered to run at exit, or left running in threads, has no say any more.
    os._exit(int(status))


main()
