"""How much a validated problem's tests see of its fix: what of it can be left out before one of them fails?

A test suite that does not notice a missing part of the fix passes wrong answers too. Each hunk of the fix is taken out
of it, one at a time, and the fail-to-pass tests are run on what is left.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from codegate.grading import TestSelection, run_tests
from codegate.languages.syntax import parse_python
from codegate.mining.cut import Cut
from codegate.mining.proving.outcomes import status_of
from codegate.mining.proving.validation import OpenSandbox, Validated
from codegate.suite import Changes, PatchError, ProblemLimits, Quality, Tree, apply_patch, make_patch

MAX_HUNKS: Final = 3
_FILE: Final = re.compile(r"^(?=diff --git )", re.MULTILINE)
_HUNK: Final = re.compile(r"^(?=@@ -)", re.MULTILINE)


def measure_quality(
    cut: Cut,
    validated: Validated,
    open_sandbox: OpenSandbox,
    exact_texts: int | None = None,
    statement_words: int | None = None,
) -> Quality:
    """Return what is known of a problem's worth; runs the tests up to three times, so it is for survivors.

    Raises:
        SandboxError: ours or the daemon's fault.
    """
    covered, total = hunk_coverage(cut, validated.selection, validated.outcomes.fail_to_pass, open_sandbox)
    return Quality(
        hunk_coverage=round(covered / total, 4) if total else None,
        hunks=total,
        exact_texts=exact_texts,
        command_clean=validated.command_clean,
        statement_words=statement_words,
        validation_seconds=round(validated.seconds, 3),
    )


def hunk_coverage(
    cut: Cut, selection: TestSelection, fail_to_pass: tuple[str, ...], open_sandbox: OpenSandbox
) -> tuple[int, int]:
    """Return how many hunks of the fix the fail-to-pass tests notice when they are missing, and how many were tried.

    Of a fix with more than three hunks, three are tried, evenly spread. The only hunk of a fix, and one without which
    a fix of Python no longer compiles, are noticed without a run.

    Raises:
        SandboxError: ours or the daemon's fault.
    """
    files = tuple(file for file in selection.files if any(test.startswith(f"{file}::") for test in fail_to_pass))
    narrowed = replace(selection, files=files or selection.files)
    limits = ProblemLimits(seconds=narrowed.timeout_seconds, output_kb=max(16, narrowed.output_bytes >> 10))
    hidden = cut.base.overlay(cut.hidden)
    covered = total = 0
    for changes in without_each_hunk(cut.base, cut.fix):
        total += 1
        if changes and _still_compiles(changes, cut.fix):
            with open_sandbox(limits) as sandbox:
                report = run_tests(sandbox, hidden.overlay(changes), narrowed)
            covered += any(status_of(report, test) != "passed" for test in fail_to_pass)
        else:
            covered += 1
    return covered, total


def without_each_hunk(base: Tree, fix: Changes) -> Iterator[Changes]:
    """Yield the fix without one of its hunks, for up to three of them, as changes of ``base``.

    Hunks are git's, with three lines of context; a file without any (binary, mode) is one.
    """
    sections = [section for section in _FILE.split(make_patch(base, fix)) if section]
    parts = [_HUNK.split(section) for section in sections]
    places = [(file, hunk) for file, pieces in enumerate(parts) for hunk in range(1, max(len(pieces), 2))]
    step = max(1.0, len(places) / MAX_HUNKS)
    for file, hunk in [places[int(number * step)] for number in range(min(len(places), MAX_HUNKS))]:
        pieces = parts[file]
        rest = [piece for number, piece in enumerate(pieces) if number != hunk]
        kept = "".join(rest) if len(rest) > 1 else ""
        patch = "".join([*sections[:file], kept, *sections[file + 1 :]])
        try:
            yield dict(apply_patch(base, patch)) if patch else {}
        except PatchError:
            continue  # what is left does not stand without it


def _still_compiles(changes: Changes, fix: Changes) -> bool:
    for path, file in changes.items():
        whole = fix.get(path)
        if not path.endswith(".py") or file is None or whole is None or file == whole:
            continue
        if parse_python(whole.data) is not None and parse_python(file.data) is None:
            return False
    return True
