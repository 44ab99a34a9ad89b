"""Join the suites of several repositories into one.

The pooled suite holds the base trees of all its problems itself.
"""

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from codegate.errors import UsageError
from codegate.suite import (
    Base,
    Environment,
    Problem,
    Suite,
    Tree,
    find_repository,
    git,
    load_base,
    load_tree,
    write_suite,
)

BASES: Final = "bases.git"
"""Name of the bare repository in a pooled suite. It has the base commits without their history."""

_SLUG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


def pool_suites(out: Path, suites: Sequence[Suite], repositories: Mapping[str, Path]) -> Suite:
    """Write all suites' problems as one suite; return it.

    The new suite is named after its folder ``out``, and replaces a suite there. Each problem gets the tag
    ``repository`` with the name of its suite. ``repositories`` has, by a suite's name, the repository with the suite's
    base commits.
    """
    name = out.resolve().name
    if not _SLUG.fullmatch(name):
        raise UsageError(f"{name!r} is not a name for a suite.", "Use letters, digits, dots, dashes; at most 60.")
    _check(out, suites, repositories)
    environments: dict[str, Environment] = {}
    problems: list[Problem] = []
    folders: dict[str, Tree] = {}
    for suite in suites:
        for environment in suite.manifest.environments:
            own = suite.environments[environment.id]
            if environment.base is not None and environment.base.folder is not None:
                place = f"bases/{environment.id}"
                folders[place] = load_tree(suite, environment.base)
                own = replace(own, manifest=environment.model_copy(update={"base": Base(folder=place)}))
            if environments.setdefault(environment.id, own) != own:
                raise UsageError(f"{suite.folder}: another suite has another environment {environment.id}.")
        for problem in suite.problems:
            changes: dict[str, object] = {"tags": {**problem.manifest.tags, "repository": suite.name}}
            if problem.manifest.base.folder is not None:
                place = f"bases/{problem.id}"
                folders[place] = load_base(suite, problem)
                changes["base"] = problem.manifest.base.model_copy(update={"folder": place})
            problems.append(replace(problem, manifest=problem.manifest.model_copy(update=changes)))
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".codegate-pool-") as scratch:
        bases = Path(scratch, BASES)
        bases.mkdir()
        git(bases, "init", "--quiet", "--bare", "--template=", ".")
        commits = [_copy_bases(suite, repositories.get(suite.name), bases) for suite in suites]
        # The parents of these commits are not copied; git needs the file ``shallow`` to accept that.
        (bases / "shallow").write_text("".join(f"{commit}\n" for some in commits for commit in some), encoding="ascii")
        pooled = write_suite(
            out,
            name=name,
            repository=BASES,
            environments=[*environments.values()],
            problems=problems,
            pooled_canaries=[word for one in suites for word in (one.manifest.canary, *one.manifest.pooled_canaries)],
            bases=folders,
        )
        shutil.rmtree(out / BASES, ignore_errors=True)
        bases.rename(out / BASES)
    return pooled


def _check(out: Path, suites: Sequence[Suite], repositories: Mapping[str, Path]) -> None:
    names, problems = set[str](), set[str]()
    for suite in suites:
        if suite.folder.resolve() == out.resolve():
            raise UsageError(f"{out} is one of the suites to pool.", "Choose another folder.")
        if suite.name in names:
            raise UsageError(
                f"{suite.folder}: another suite is called {suite.name} too.", "Mine it with another --name."
            )
        again = problems & {problem.id for problem in suite.problems}
        if again:
            raise UsageError(f"{suite.folder}: another suite has a problem {min(again)} too.")
        names.add(suite.name)
        problems |= {problem.id for problem in suite.problems}
    for unknown in sorted(repositories.keys() - names):
        raise UsageError(
            f"--repository {unknown}: no suite has this name.", f"They are called {', '.join(sorted(names))}."
        )


def _copy_bases(suite: Suite, repository: Path | None, bases: Path) -> list[str]:
    bases_of: list[Base | None] = [problem.manifest.base for problem in suite.problems]
    bases_of += [entry.base for entry in suite.manifest.environments]
    commits = sorted({base.commit for base in bases_of if base is not None and base.commit})
    if not commits:
        return []
    try:
        home = find_repository(suite, repository)
        trees = [f"{commit}^{{tree}}" for commit in commits]
        listed = git(home, "rev-list", "--objects", "--no-object-names", *trees).decode("ascii")
        wanted = listed + "".join(f"{commit}\n" for commit in commits)
        pack = git(home, "pack-objects", "--stdout", "--quiet", stdin=wanted.encode("ascii"))
        git(bases, "index-pack", "--stdin", stdin=pack)
    except UsageError as error:
        remedy = f"Give --repository {suite.name}=PATH, a clone with its whole history."
        raise UsageError(f"the base commits of suite {suite.name}: {error.cause}", remedy) from error
    references = "".join(f"update refs/bases/{commit} {commit}\n" for commit in commits)
    git(bases, "update-ref", "--stdin", stdin=references.encode("ascii"))
    return commits
