"""Run tests by Go's own framework."""

import re
import secrets
from itertools import pairwise
from typing import Final

from typing_extensions import override

from codegate.grading.controls.copies import Copies
from codegate.grading.drivers import driver_command, driver_source
from codegate.grading.records import read_records
from codegate.grading.runners.contract import Runner, RunnerReport, grouped
from codegate.grading.runners.results import runner_report
from codegate.grading.testreport import TestSelection
from codegate.sandbox import Command, Completed

_PACKAGE: Final = re.compile(rb"^package[ \t]+(\w+)", re.MULTILINE)
_DRIVERS: Final = "codegate.languages.go.drivers"
_PIPES: Final = range(100, 200)
_PLACE: Final = re.compile(r"[-.{/]|.*\.\.\.$")
_BREAKS: Final = frozenset({"&&", "||", ";", "|", "&"})
#: Options of ``go test`` that take no value behind a space.
_PLAIN: Final = frozenset({
    *("a", "asan", "benchmem", "buildvcs", "c", "cover", "failfast", "fullpath", "json", "linkshared", "msan", "n"),
    *("race", "short", "trimpath", "v", "work", "x"),
})  # fmt: skip
#: Options of the compiler. An option that no table here lists is one of the test program itself.
_BUILD: Final = frozenset({
    *("asan", "asmflags", "buildmode", "gccgoflags", "gcflags", "installsuffix", "ldflags", "linkshared", "mod"),
    *("modfile", "msan", "pgo", "race", "tags", "trimpath"),
})  # fmt: skip
_TEST: Final = frozenset({"parallel", "short", "skip"})
#: Options that are dropped: they would measure something else, repeat, reorder or select tests, or change the output.
_WITHDRAWN: Final = frozenset({
    *("C", "a", "bench", "benchmem", "benchtime", "blockprofile", "blockprofilerate", "buildvcs", "c", "count"),
    *("cover", "covermode", "coverpkg", "coverprofile", "cpu", "cpuprofile", "exec", "failfast", "fullpath", "fuzz"),
    *("fuzzminimizetime", "fuzztime", "json", "list", "memprofile", "memprofilerate", "mutexprofile"),
    *("mutexprofilefraction", "n", "o", "outputdir", "overlay", "p", "run", "shuffle", "timeout", "trace", "v", "vet"),
    *("work", "x"),
})  # fmt: skip


class Go(Runner):
    """Runs one test program for each package folder.

    Only tests that the selected files declare are run. Ids are the declaring file's path, ``::`` and Go's name of the
    test or subtest (``cache/lru_test.go::TestEvict/empty``). Go's ``-shuffle`` varies the order, with the hash seed as
    its seed. A subtest that has to be isolated runs with its whole test. Options of the project's own ``go test``, such
    as ``-race`` and ``-tags``, are used.
    """

    @override
    def batches(self, files: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        return grouped(files, lambda file: file.rpartition("/")[0])

    @override
    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        pipe = secrets.choice(_PIPES)
        copies = selection.copies
        settings = {
            "token": token,
            "pipe": pipe,
            "added": _marking(copies, files, pipe),
            "variants": sorted(copies.variants),
            "seconds": copies.seconds,
            "folder": files[0].rpartition("/")[0],
            "files": files,
            "outdated": selection.outdated,
            "shuffle": "off" if selection.order == "natural" else str(selection.hash_seed),
            "isolated": [test.partition("::")[2].partition("/")[0] for test in selection.isolated],
            "repeat": selection.repeat,
            "output_bytes": selection.output_bytes,
            **_options(selection.command),
        }
        return driver_command(
            "go_driver", settings, "{workspace}", package=_DRIVERS, environment={"TZ": selection.timezone}
        )

    @override
    def read(self, completed: Completed, selection: TestSelection, files: tuple[str, ...], token: str) -> RunnerReport:
        records = read_records(completed.records, token)
        return runner_report(records, files, selection.copies.receipts, repeated=selection.repeat > 1)


def _options(command: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the options of the project's ``go test`` command.

    The keys are ``build_options``, for the compiler, and ``test_options``, for the test program. Options in
    ``_WITHDRAWN`` are left out.
    """
    starts = [number for number, words in enumerate(pairwise(command)) if words == ("go", "test")]
    words = list(command[starts[0] + 2 :] if starts else ())
    build: list[str] = []
    test: list[str] = []
    while words and words[0] not in _BREAKS:
        word = words.pop(0)
        if word in {"-args", "--args"}:
            test += words
            break
        if not word.startswith("-"):
            continue  # a package: ``files`` decides which packages run
        name, assigned, _ = word.lstrip("-").partition("=")
        option = f"-{word.lstrip('-')}"
        known = name in _BUILD | _TEST | _WITHDRAWN
        valued = not assigned and name not in _PLAIN and words and words[0] != "{files}"
        if valued and (known or not _PLACE.match(words[0])):
            option += f"={words.pop(0)}"
        if name in _BUILD:
            build.append(option)
        elif name not in _WITHDRAWN:
            test.append(f"-test.{option[1:]}" if name in _TEST else option)
    return {"build_options": build, "test_options": test}


def _marking(copies: Copies, files: tuple[str, ...], pipe: int) -> dict[str, str]:
    """Return, by path, Go files that define the mark function.

    Each package of the test ``files`` gets one. The function writes to the file descriptor ``pipe``.
    """
    packages = {found[1].decode("utf-8", "replace") for file in files
                if file in copies.files and (found := _PACKAGE.search(copies.files[file]))}  # fmt: skip
    folder = files[0].rpartition("/")[0]
    added = {}
    for package in packages:
        name = f"z{secrets.token_hex(6)}"
        source = driver_source("go_marks.go", _DRIVERS).replace("package tests", f"package {package}")
        source = source.replace("cg_pipe = 0", f"cg_pipe = {pipe}").replace("cg_mark", copies.mark)
        added[f"{folder}/{name}_test.go".lstrip("/")] = source.replace("cg_", f"_{name}")
    return added


GO: Final = Go()
