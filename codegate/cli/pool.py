"""``codegate pool``: join several repositories' suites into one."""

from pathlib import Path

import click

from codegate.cli.options import FOLDER, json_option
from codegate.cli.output import emit, say
from codegate.errors import UsageError
from codegate.operations.pooling import pool_suites
from codegate.suite import load_suite
from codegate.wording import count_of


@click.command()
@click.argument("out", type=FOLDER)
@click.argument("suites", metavar="SUITE...", type=FOLDER, nargs=-1, required=True)
@click.option(
    "--repository",
    "named",
    metavar="NAME=PATH",
    multiple=True,
    help="Where the base commits of the suite NAME are, if its own path does not lead there; can be repeated.",
)
@json_option
def command(out: Path, suites: tuple[Path, ...], named: tuple[str, ...]) -> None:
    """Write the problems of every SUITE as one suite.

    OUT is its folder. It carries the base trees itself, so that it runs without the repositories. The tag `repository`
    says where a problem is from.
    """
    pairs = dict(one.partition("=")[::2] for one in named)
    if not all(pairs.values()):
        raise UsageError("--repository is NAME=PATH: the name of a suite and its repository.")
    repositories = {name: Path(path) for name, path in pairs.items()}
    pooled = pool_suites(out, [load_suite(suite) for suite in suites], repositories)
    problems, of = count_of(len(pooled.problems), "problem"), count_of(len(suites), "suite")
    say(f"{out}: {problems} of {of}, {len(pooled.active)} active")
    say(f"next: codegate validate {out}")
    emit({"schema": "codegate.pool/1", "suite_digest": pooled.digest, "problems": pooled.manifest.problems})
