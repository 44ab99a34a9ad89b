"""The command line, with one file per command."""

import sys


def main() -> None:
    """Run the command line and exit."""
    from codegate.errors import UNWRITTEN, ExitCode, held_signals  # noqa: PLC0415  nothing is imported before it is needed

    try:
        with held_signals():
            from codegate.cli.main import run  # noqa: PLC0415
    except KeyboardInterrupt:
        sys.stderr.write(f"\ncodegate: {UNWRITTEN}\n")
        sys.exit(ExitCode.INTERRUPTED)
    run()
