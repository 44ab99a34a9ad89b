"""One thin file per command: parse, call one function, map the result to an exit code."""


def main() -> None:
    """Run the command line and exit with its code (see ``codegate.errors.ExitCode``)."""
    from codegate.cli.main import run  # noqa: PLC0415  nothing is imported before it is needed

    run()
