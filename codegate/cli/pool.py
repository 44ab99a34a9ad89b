"""``codegate pool``: join several repositories' suites into one."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from codegate.cli.options import Argument, as_command
from codegate.cli.output import emit, say
from codegate.errors import UsageError
from codegate.operations.pooling import pool_suites
from codegate.strict import Folder
from codegate.suite import load_suite
from codegate.wording import count_of


@as_command()
def command(
    out: Annotated[Folder, Argument()],
    suites: Annotated[tuple[Folder, ...], Argument("SUITE...")],
    repository: Annotated[
        tuple[str, ...],
        Field(examples=["NAME=PATH"]),
        "Where the base commits of the suite NAME are, if its own path does not lead there; can be repeated.",
    ] = (),
) -> None:
    """Write the problems of every SUITE as one suite.

    OUT is its folder. It contains the base trees, so that it runs without the repositories. The tag `repository` names
    the suite from which a problem comes.
    """
    pairs = dict(one.partition("=")[::2] for one in repository)
    if not all(pairs.values()):
        raise UsageError("--repository is NAME=PATH: the name of a suite and its repository.")
    repositories = {name: Path(path) for name, path in pairs.items()}
    pooled = pool_suites(out, [load_suite(suite) for suite in suites], repositories)
    problems, of = count_of(len(pooled.problems), "problem"), count_of(len(suites), "suite")
    say(f"{out}: {problems} of {of}, {len(pooled.active)} active")
    say(f"next: codegate validate {out}")
    emit({"schema": "codegate.pool/1", "suite_digest": pooled.digest, "problems": pooled.manifest.problems})
