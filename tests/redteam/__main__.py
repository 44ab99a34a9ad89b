"""``python -m tests.redteam``: the whole battery, or a part of it, as a table; exits 1 when a row did not hold."""

import sys

import click

from tests.redteam.battery import PARTS, SANDBOXES, print_table, run_parts


@click.command()
@click.option("--sandbox", "sandboxes", type=click.Choice(SANDBOXES), multiple=True, help="Default: each of them.")
@click.option("--part", "parts", type=click.Choice(PARTS), multiple=True, help="Default: all of them.")
@click.option("--only", multiple=True, metavar="ID", help="Only the attack of this id; may be given several times.")
def main(sandboxes: tuple[str, ...], parts: tuple[str, ...], only: tuple[str, ...]) -> None:
    """Run the attacks and print what came of each."""
    rows = run_parts(parts or PARTS, sandboxes or SANDBOXES, frozenset(only) or None)
    sys.exit(0 if print_table(rows) else 1)


if __name__ == "__main__":
    main()
