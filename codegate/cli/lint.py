"""``codegate lint``: check a suite's files without running anything."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

from codegate.cli.options import SuiteFolder, as_command
from codegate.cli.output import emit, say
from codegate.errors import ExitCode
from codegate.operations.lint import FIXABLE, fix_suite, lint_suite, update_digests
from codegate.suite import load_suite
from codegate.wording import count_of


@as_command()
def command(
    suite: SuiteFolder,
    fix: Annotated[bool, "Take over edited statements and recipes; write missing titles and canaries."] = False,
) -> ExitCode:
    """Check the files of SUITE.

    Each finding is a line `CODE problem: message`. Nothing is executed; `codegate validate` proves by execution that
    each problem is sound. Exits 0 without findings, 3 with some, and 2 if the suite cannot be read at all.
    """
    for path in update_digests(suite) if fix else ():
        say(f"{path}: the edited text is taken over, which changes the suite's digest")
    loaded = fix_suite(load_suite(suite)) if fix else load_suite(suite)
    found = lint_suite(loaded, datetime.now(UTC).date())
    for finding in found:
        say(str(finding))
    fixable = sum(finding.code in FIXABLE for finding in found)
    fixed = f", {fixable} of which --fix corrects" if fixable else ""
    say(f"{loaded.name}: {count_of(len(found), 'finding')} in {count_of(len(loaded.problems), 'problem')}{fixed}")
    emit({"schema": "codegate.lint/1", "suite": loaded.name, "findings": [asdict(finding) for finding in found]})
    return ExitCode.INCONCLUSIVE if found else ExitCode.PASS
