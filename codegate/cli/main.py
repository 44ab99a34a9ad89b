"""The ``codegate`` command: lazy subcommands, errors as exit codes."""

import errno
import os
import signal
import sys
import traceback
from difflib import get_close_matches
from importlib import import_module
from types import FrameType
from typing import Any, Final, NoReturn

import click
from click.shell_completion import CompletionItem

from codegate import __version__
from codegate.cli.output import note, print_error, set_level, want_json
from codegate.errors import (
    SIGNALS,
    UNWRITTEN,
    CodegateError,
    ExitCode,
    InfrastructureError,
    Interrupted,
    UsageError,
    end_process,
    held_signals,
    interrupted_as,
)

_COMMANDS: Final = {
    "demo": "Mine, run and gate a bundled history: no key, no Docker needed.",
    "init": "Write a codegate.yml to start from, and the GitHub workflows.",
    "doctor": "Check what this machine has: git, sandboxes, keys.",
    "mine": "Mine a suite from a repository's past bug fixes.",
    "pool": "Make one suite of several repositories' suites.",
    "review": "Show every problem of a suite on one page; drop those that a maintainer rejects.",
    "lint": "Check a suite's files without running anything.",
    "new": "Add a problem to a suite, by hand or from a commit.",
    "validate": "Prove again, by execution, that every problem of a suite is sound.",
    "plan": "Show what a gate can find and what it costs, before any model call.",
    "run": "Run candidates on a suite, and gate them when a baseline is pinned.",
    "merge": "Put the shards of a run together, and gate the whole.",
    "grade": "Grade patches from a predictions file.",
    "gate": "Compare a run with the pinned baseline.",
    "affected": "Show whether a change touches anything that the gate reads.",
    "baseline": "Pin runs as the baseline; show, refresh or reset it.",
    "upgrades": "Show which pinned models end, and which newer models and agents there are.",
    "history": "Keep a line of each run; show the trend; watch the pinned model night by night.",
    "judge": "Compare what a model says of a run's patches with what execution showed.",
    "report": "Write a run's reports again.",
    "environments": "Export built environments to a folder, import them, or remove old ones.",
    "sweep": "Show what each setting of the candidates does: temperature, prompt, solver.",
    "action": "Entry point of the GitHub Action.",
}
_ELSEWHERE: Final = {"action": "codegate.github.entry"}
# Errors of the disk or its permissions, not of wrong paths in codegate.
_MACHINE: Final = frozenset({
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE,
    errno.ENFILE, errno.ENOMEM, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP,
})  # fmt: skip


class _LazyGroup(click.Group):
    """A click group that imports a subcommand only when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        with interrupted_as(UNWRITTEN), held_signals():
            command = import_module(_ELSEWHERE.get(cmd_name, f"codegate.cli.{cmd_name}")).command
        if not isinstance(command, click.Command):
            raise TypeError(f"codegate.cli.{cmd_name} has no command")
        _add_levels(command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete subcommands' names without importing the subcommands."""
        named = [CompletionItem(name, help=words) for name, words in _COMMANDS.items() if name.startswith(incomplete)]
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _COMMANDS and not args[0].startswith("-"):
            near = sorted(get_close_matches(args[0], _COMMANDS), key=lambda name: name[0] != args[0][0])
            raise UsageError(
                f"there is no command {args[0]!r}.",
                f"Did you mean {near[0]}?" if near else "codegate --help lists them.",
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; turn a broken pipe into an error.

        Raises:
            InfrastructureError: a pipe to another program broke. click itself would exit with 1, which is "regressed".
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise InfrastructureError("a pipe to another program broke.") from error


def _level_options(*, hidden: bool) -> tuple[click.Option, ...]:
    def choose(_context: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value:
            set_level({"quiet": "error", "verbose": "debug"}.get(parameter.name or "", str(value)))

    def option(*names: str, words: str, **kind: Any) -> click.Option:
        return click.Option(names, expose_value=False, callback=choose, help=words, hidden=hidden, **kind)

    levels = click.Choice(["error", "info", "debug"])
    return (
        option("-q", "--quiet", words="Print only results and errors; may stand after the command, too.", is_flag=True),
        option("-v", "--verbose", words="Also log git, sandboxes and model calls.", is_flag=True),
        option("--log-level", words="Level of messages: -q is error, -v is debug; default info.", type=levels),
    )


_EVERYWHERE: Final = _level_options(hidden=True)


def _add_levels(command: click.Command) -> None:
    command.params += [one for one in _EVERYWHERE if one not in command.params]
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        _add_levels(inner)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="codegate")
def group() -> None:
    """Gate model upgrades on your own past bugs.

    Exit codes: 0 pass, 1 regressed, 2 usage or configuration error, 3 inconclusive or incomparable,
    4 infrastructure, 130 interrupted.
    """


group.params += _level_options(hidden=False)


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    A click usage error and a ``CodegateError`` become one line and their exit code. Any other exception is a bug. Its
    traceback is shown and the exit code is 4, because Python's own 1 would mean that a model regressed.
    """
    words = sys.argv[1:] if arguments is None else arguments
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # a shell lets its background jobs ignore Ctrl-C
            signal.signal(number, _interrupt)
    set_level("info")
    want_json("--json" in words)  # set before parsing, so that usage errors are JSON, too
    try:
        code: Any = group.main(args=words, prog_name="codegate", standalone_mode=False)
    except BaseException as error:
        code = _explain(error)
    _leave(int(code) if isinstance(code, int) else 0)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    """Raise KeyboardInterrupt; the next signal ends the process."""
    for other in SIGNALS:
        signal.signal(other, end_process)
    raise KeyboardInterrupt


def _explain(error: BaseException) -> int:
    match error:
        case CodegateError():
            known = error
        case click.exceptions.Exit():
            return error.exit_code
        case SystemExit(code=1):  # click exits with 1 if the reader of a help text goes away, which is no regression
            return int(ExitCode.INFRASTRUCTURE)
        case click.UsageError() if type(error).__name__ == "NoArgsIsHelpError":  # click 8.2 raises it; older ones exit
            note(error.format_message())
            return int(ExitCode.USAGE)
        case click.Abort() | KeyboardInterrupt():
            known = Interrupted("interrupted.")
        case click.UsageError() if error.ctx is not None:
            words = error.format_message()
            known = UsageError(
                words if words.endswith(("?", ".")) else f"{words}.", f"Try:\n{error.ctx.command_path.rstrip()} --help"
            )
        case click.ClickException():
            known = CodegateError(error.format_message())
        case OSError() if error.errno in _MACHINE:
            place = f"{error.filename}: " if error.filename else ""
            known = InfrastructureError(f"{place}{error.strerror}.", "Check the disk, its space and its permissions.")
        case Exception():
            set_level("info")
            note("".join(traceback.format_exception(error)))
            known = InfrastructureError("this is a bug in codegate.", "Please report it with the lines above.")
        case _:
            raise error
    print_error(known)
    return int(known.exit_code)


def _leave(code: int) -> NoReturn:
    """Exit with ``code``, even if stdout cannot be flushed."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if code == ExitCode.INTERRUPTED:
        os._exit(code)  # sys.exit would wait for threads, which may wait for a daemon
    sys.exit(code)
