"""The command line, with one file per command."""


def main() -> None:
    """Run the command line and exit."""
    from codegate.cli.main import run  # noqa: PLC0415  nothing is imported before it is needed

    run()
