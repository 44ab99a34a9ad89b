"""What every part of the battery shares: its rows, and how they are printed.

A part is a package of ``tests.redteam`` with

    def run(sandbox: str, only: Collection[str] | None = None) -> Iterator[Row]

that carries out its attacks in sandboxes of that kind (``bwrap``, ``docker``), or those of them whose ids are in
``only``, and yields a row for each as soon as it is known.
"""

import importlib
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import click

PARTS: Final = ("grader", "honest", "harness")
SANDBOXES: Final = ("bwrap", "docker")

_SHOWN: Final = 120


@dataclass(frozen=True)
class Row:
    """What came of one attack, or of one honest control.

    Attributes:
        part: which part of the battery it is of.
        attack: its id, unique in the part.
        sandbox: where it ran.
        expected: what may come of it, in words.
        got: what came of it; may quote a suspect.
        held: whether the defence held; of an honest control, whether it was treated as one.
        limit: it did not, and nobody promised that it would: ``docs/security.md`` names the limit.
    """

    part: str
    attack: str
    sandbox: str
    expected: str
    got: str
    held: bool
    limit: bool = False


def run_parts(parts: Sequence[str], sandboxes: Sequence[str], only: Collection[str] | None = None) -> Iterator[Row]:
    """Run the attacks of ``parts`` in each kind of sandbox; a part that breaks down is a row that did not hold."""
    for part in parts:
        for sandbox in sandboxes:
            try:
                with closing(importlib.import_module(f"tests.redteam.{part}").run(sandbox, only)) as rows:
                    yield from rows
            except Exception as error:  # the table goes on, red
                yield Row(
                    part, "(broke down)", sandbox, "a row for each attack", f"{type(error).__name__}: {error}", False
                )


def print_table(rows: Iterator[Row]) -> bool:
    """Print the rows as they come, and the sums; return whether there were any and each held or is a known limit."""
    started = time.monotonic()
    seen: dict[tuple[str, str], list[Row]] = {}
    click.echo(_line("", "part", "attack", "sandbox", "expected", "got"))
    for row in rows:
        seen.setdefault((row.part, row.sandbox), []).append(row)
        mark = "ok" if row.held else "limit" if row.limit else "NOT HELD"
        click.echo(_line(mark, row.part, row.attack, row.sandbox, row.expected, row.got))
    click.echo()
    for (part, sandbox), kept in seen.items():
        limits = sum(row.limit and not row.held for row in kept)
        known = f", {limits} known to be out of reach" if limits else ""
        click.echo(f"{part} in {sandbox}: {sum(row.held for row in kept)} of {len(kept)} held{known}")
    click.echo(f"{time.monotonic() - started:.0f} s")
    return bool(seen) and all(row.held or row.limit for kept in seen.values() for row in kept)


def _line(mark: str, part: str, attack: str, sandbox: str, expected: str, got: str) -> str:
    return f"{mark:<8}  {part:<7}  {_plain(attack):<40}  {sandbox:<6}  {_plain(expected):<20}  {_plain(got)}".rstrip()


def _plain(text: str) -> str:
    """Return a suspect's words on one short line, without what a terminal or a log would act on."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    line = line.encode("ascii", "backslashreplace").decode("ascii")
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."
