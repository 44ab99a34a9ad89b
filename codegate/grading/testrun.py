"""Run test files in a sandbox, and report each test.

Results come through a pipe of the supervisor; nothing is parsed from the tests' output. A test counts as passed only if
its report is complete. Every file (in Go, every package) gets a sandbox of its own, because tests can write to the
environment too.
"""

import secrets
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import replace
from functools import partial
from typing import Final

from codegate.grading.behaviour import merge_behaviour, observed_behaviour
from codegate.grading.controls.copies import Copies
from codegate.grading.drivers import driver_command
from codegate.grading.grade import TestResult
from codegate.grading.records import Crash
from codegate.grading.runners import Runner, find_runner
from codegate.grading.sandboxes import Sandboxes, add_to_count
from codegate.grading.testreport import CollectionError, TestReport, TestSelection
from codegate.sandbox import Command, Sandbox, SandboxFile
from codegate.sandbox.relay import Relay
from codegate.sandbox.session import ENVIRONMENT
from codegate.service import SERVICE_ENVIRONMENT, SERVICE_PORT, FakeService
from codegate.suite import Problem, Tree, parent_folders

_OUTPUT_KEPT: Final = 64 << 10
_CUT: Final = "[output truncated]"
_LISTED: Final = 64 << 20
_LOOK_SECONDS: Final = 30.0
_LOOK_BYTES: Final = 16 << 20
_LIST: Final = """
import os, sys
print("interpreter", os.path.realpath(sys.argv[1]))
first = {}
for place in os.environ["PATH"].split(":"):
    for name in os.listdir(place) if os.path.isdir(place) else []:
        first.setdefault(name, []).append(place)
for name, places in first.items():
    if len(places) > 1 or not places[0].startswith("/opt/env/home/"):
        print("program", ascii(name), ascii(places[0]))
for top in ("bin", "lib", "venv", "wheels"):
    for folder, links, names in os.walk("/opt/env/" + top):
        for name in names + [name for name in links if os.path.islink(folder + "/" + name)]:
            facts = os.lstat(folder + "/" + name)
            print("%d,%d,%d" % (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns), ascii(folder + "/" + name))
"""
"""Python program that lists where each program of ``PATH`` is, and the files of the environment with size and times. A
new program in ``HOME`` is left out if it hides no other program. No command can choose a file's change time."""
_FORGED: Final = "something other than the test driver wrote to the result channel"


def run_tests(
    opened: Callable[[], AbstractContextManager[Sandbox]], tree: Tree, selection: TestSelection
) -> TestReport:
    """Run the selected files on ``tree``; return the report.

    ``opened`` opens an empty sandbox for each batch of files. The run ends early if its time is over, or if a command
    before the tests fails.

    Raises:
        FilesRefused: the tree is too large for the sandbox, or its paths conflict.
        SandboxError: a sandbox failed. Failures of the tests are in the report.
    """
    runner = find_runner(selection.runner)
    tree = selection.copies.apply_to(tree)
    watched = _watched_files(tree, selection.files)
    service = FakeService(selection.service) if selection.service else None
    left = selection.timeout_seconds
    reports: list[TestReport] = []
    batches = runner.batches(selection.files)
    with ExitStack() as stack:
        sandbox = stack.enter_context(opened())
        for number, files in enumerate(batches, start=1):
            if number > 1:
                stack.close()
                sandbox = stack.enter_context(opened())
            sandbox.put(tuple(SandboxFile(path, file.data, file.mode) for path, file in tree.items()))
            prepared = _prepare(sandbox, selection, left, watched)
            left -= prepared.seconds
            report = prepared
            if prepared.complete and not prepared.tampering:
                report = _run_batch(sandbox, runner, selection, files, max(left, 0.001), service)
                left -= report.seconds
                report = replace(
                    report,
                    seconds=prepared.seconds + report.seconds,
                    cpu_seconds=prepared.cpu_seconds + report.cpu_seconds,
                )
            gone = report is prepared or report.timed_out or report.memory_exceeded  # the sandbox itself may have ended
            reports.append(report if gone else _with_rewritten_files(sandbox, report, watched))
            if report is prepared or report.timed_out:
                break
    add_to_count(runs=1, cpu_seconds=sum(report.cpu_seconds for report in reports))
    return _with_calls(_merge(reports, len(batches)), service)


def run_hidden_tests(problem: Problem, tree: Tree, sandboxes: Sandboxes, selection: TestSelection) -> TestReport:
    """Run the hidden tests on the sources in ``tree``.

    Raises FilesRefused if the tree does not fit into the sandbox, and SandboxError if a sandbox failed.
    """
    opened = partial(sandboxes.open, problem.environment, problem.manifest.limits)
    return run_tests(opened, tree.overlay(problem.hidden), selection)


def _watched_files(tree: Tree, files: tuple[str, ...]) -> dict[str, bytes]:
    paths = set(files)
    for file in files:
        paths.update({"conftest.py", *(f"{folder}/conftest.py" for folder in parent_folders(file))})
    return {path: tree[path].data for path in paths if path in tree and not tree[path].is_link}


def _prepare(sandbox: Sandbox, selection: TestSelection, seconds: float, watched: Mapping[str, bytes]) -> TestReport:
    """Run, within ``seconds``, the commands that precede the tests.

    Return a report with the commands' time, their failure, and tampering if they changed the ``watched`` files or the
    environment.
    """
    report = TestReport(results={})
    if not selection.before:
        return report
    programs = _programs(sandbox)
    folder = f"cd {shlex.quote(selection.folder or '.')}\n"
    for line in selection.before:
        limit = max(seconds - report.seconds, 0.001)
        argv = ("bash", "-e", "-o", "pipefail", "-c", folder + line)
        done = sandbox.run(Command(argv, timeout_seconds=limit, output_bytes=selection.output_bytes))
        report = replace(
            report, seconds=report.seconds + done.wall_seconds, cpu_seconds=report.cpu_seconds + done.cpu_seconds
        )
        if not done.ok:
            ended = f"exit status {done.exit_code}" if done.exit_code is not None else f"signal {done.signal}"
            ended = f"no end within {limit:.0f} s" if done.timed_out else ended
            output = (done.stdout + done.stderr).decode("utf-8", "replace")
            return replace(
                report,
                complete=False,
                unprepared=f"before: `{line[:200]}` failed ({ended}): {' '.join(output.split())[-300:]}",
                timed_out=done.timed_out,
                memory_exceeded=done.memory_exceeded,
                exit_code=done.exit_code,
                output=_last_part(output),
            )
    # These commands can run code of the patch, which must change neither tests nor environment.
    report = _with_rewritten_files(sandbox, report, watched)
    after = _programs(sandbox)
    changed = [*(programs - after), *(line for line in after - programs if "/__pycache__/" not in line)]
    if changed:
        path = min(line.partition(" ")[2] for line in changed)
        return replace(report, tampering=f"a command before the tests changed the environment: {path[:200]}")
    return report


def _programs(sandbox: Sandbox) -> set[str]:
    # The target of each link has a line too. New byte code does not count, because imports make it, but nothing removes
    # or rewrites any.
    done = sandbox.run(Command(("{python}", "-I", "-S", "-B", "-c", _LIST, "{interpreter}"), output_bytes=_LISTED))
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return set(lines) if done.ok and not done.truncated else {f"{secrets.token_hex(8)} it cannot be listed"}


def _run_batch(
    sandbox: Sandbox,
    runner: Runner,
    selection: TestSelection,
    files: tuple[str, ...],
    timeout: float,
    service: FakeService | None,
) -> TestReport:
    token = secrets.token_hex(16)
    command = runner.command(selection, files, token)
    # Variables with default values are left out, so that the project can set them.
    varied = {name: value for name, value in command.environment.items() if ENVIRONMENT.get(name) != value}
    command = replace(
        command, environment=varied, timeout_seconds=timeout, output_bytes=selection.output_bytes, records=True
    )
    if service is None:
        completed = sandbox.run(command)
    else:
        service.restart()
        with closing(Relay({SERVICE_PORT: service.answer})) as relay:
            completed = sandbox.run(replace(command, environment={**varied, **SERVICE_ENVIRONMENT}, relay=relay))
    reported, used = runner.read(completed, selection, files, token), selection.copies
    code = completed.exit_code if completed.exit_code is not None else -(completed.signal or 0)
    output = (completed.stdout + completed.stderr).decode("utf-8", "replace")
    output += f"\n{_CUT}" if completed.truncated else ""
    return TestReport(
        results={
            test: result.model_copy(update={"message": used.original_text(result.message)[:4000]})
            for test, result in reported.results.items()
        },
        collection_errors=tuple(_revealed(error, used) for error in reported.collection_errors),
        crashes=reported.crashes,
        receipts=reported.receipts,
        texts={test: used.original_text(text) for test, text in reported.texts.items()},
        unsteady=reported.unsteady,
        uncaught=reported.uncaught,
        behaviour=observed_behaviour(reported.attempted, reported.crashes.values(), completed),
        complete=reported.status is not None and reported.status == code and not completed.records_truncated,
        tampering=_FORGED if reported.forged else "",
        timed_out=completed.timed_out,
        memory_exceeded=completed.memory_exceeded,
        exit_code=code,
        seconds=completed.wall_seconds,
        cpu_seconds=completed.cpu_seconds,
        peak_memory_bytes=completed.peak_memory_bytes,
        output=_last_part(used.original_text(output[-2 * _OUTPUT_KEPT :])),
    )


def _revealed(error: CollectionError, used: Copies) -> CollectionError:
    crash = error.crash and error.crash.model_copy(update={"message": used.original_text(error.crash.message)})
    return replace(error, text=used.original_text(error.text), crash=crash)


def _with_calls(report: TestReport, service: FakeService | None) -> TestReport:
    """Return ``report`` with expectations of ``service`` added as tests."""
    # An expectation's result replaces a test's result of the same id.
    results, crashes = dict(report.results), dict(report.crashes)
    for test, why in (service.judge() if service else {}).items():
        results[test] = TestResult(id=test, status="passed")
        if why:
            results[test] = TestResult(id=test, status="failed", exception="AssertionError", message=why[:4000])
            crashes[test] = Crash(exception="AssertionError", message=why, parents=("AssertionError", "Exception"))
    return replace(report, results=results, crashes=crashes)


def _with_rewritten_files(sandbox: Sandbox, report: TestReport, watched: Mapping[str, bytes]) -> TestReport:
    command = driver_command("watched_driver", {}, timeout_seconds=_LOOK_SECONDS)
    for given in _inputs(watched):
        done = sandbox.run(replace(command, stdin=given))
        if not done.ok:
            return replace(report, complete=False)
        if changed := done.records.decode("utf-8", "surrogateescape").split("\0")[:-1]:
            return replace(report, tampering=f"the run rewrote {', '.join(changed)}")
    return report


def _inputs(watched: Mapping[str, bytes]) -> Iterator[bytes]:
    parts, size = list[bytes](), 0
    for path, data in watched.items():
        for at in range(0, max(len(data), 1), _LOOK_BYTES):
            content = data[at : at + _LOOK_BYTES]
            head = f"{path}\0{len(data)} {at} {len(content)}\0".encode("utf-8", "surrogateescape")
            if parts and size + len(content) > _LOOK_BYTES:
                yield b"".join(parts)
                parts, size = [], 0
            parts += [head, content]
            size += len(head) + len(content)
    yield b"".join(parts)


def _last_part(text: str) -> str:
    return text if len(text) <= _OUTPUT_KEPT else f"{_CUT}\n{text[-_OUTPUT_KEPT:]}"


def _merge(reports: list[TestReport], batches: int) -> TestReport:
    codes = [report.exit_code for report in reports if report.exit_code is not None]
    return TestReport(
        results={test: result for report in reports for test, result in report.results.items()},
        collection_errors=tuple(error for report in reports for error in report.collection_errors),
        crashes={test: crash for report in reports for test, crash in report.crashes.items()},
        receipts={test: left for report in reports for test, left in report.receipts.items()},
        texts={test: text for report in reports for test, text in report.texts.items()},
        unsteady=frozenset().union(*(report.unsteady for report in reports)),
        uncaught=any(report.uncaught for report in reports),
        behaviour=merge_behaviour(report.behaviour for report in reports),
        complete=len(reports) == batches and all(report.complete for report in reports),
        tampering=next((report.tampering for report in reports if report.tampering), ""),
        unprepared=next((report.unprepared for report in reports if report.unprepared), ""),
        timed_out=any(report.timed_out for report in reports),
        memory_exceeded=any(report.memory_exceeded for report in reports),
        exit_code=next((code for code in codes if code), 0) if codes else None,
        seconds=sum(report.seconds for report in reports),
        cpu_seconds=sum(report.cpu_seconds for report in reports),
        peak_memory_bytes=max((report.peak_memory_bytes for report in reports), default=0),
        output=_last_part("\n".join(report.output for report in reports)),
    )
