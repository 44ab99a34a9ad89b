"""Choose a smaller suite: stratified, seeded, freshest problems first.

A suite that one module or one year dominates says little about the rest. So problems are drawn in turns from strata of
component, tier and year.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from codegate.durable import digest
from codegate.errors import UsageError
from codegate.mining.examples.example import function_of
from codegate.mining.statements.statement import tests_to_change
from codegate.suite import Problem, Suite, find_repository, load_tree, repository_path, write_suite


def choose_problems(suite: Suite, size: int, seed: int = 0) -> tuple[Problem, ...]:
    """Return ``size`` active problems of ``suite``, in its order.

    Problems with an executed example come first. Each turn takes the freshest remaining problem of every stratum,
    strata with fresher problems first; ``seed`` orders equally fresh problems. With the same seed, a smaller choice is
    part of a larger one.
    """
    strata: dict[tuple[str, str, str], list[Problem]] = defaultdict(list)
    for problem in sorted(suite.active, key=lambda problem: _freshness(problem, seed)):
        tags = problem.manifest.tags
        strata[tags.get("component", ""), tags.get("tier", ""), tags.get("year", "")].append(problem)
    ranked = [
        (problem.quoted, turn, _freshness(problem, seed), problem)
        for group in strata.values()
        for turn, problem in enumerate(group)
    ]
    chosen = {problem.id for *_, problem in sorted(ranked, key=lambda entry: entry[:3])[:size]}
    return tuple(problem for problem in suite.problems if problem.id in chosen)


def write_selection(suite: Suite, out: Path, size: int, seed: int = 0) -> Suite:
    """Write the chosen problems as a suite; return it.

    Raises:
        UsageError: the suite has no active problem, ``out`` holds something that is no suite, or is the folder of
            ``suite``.
        InfrastructureError: the disk could not be written.
    """
    if out.resolve() == suite.folder.resolve():
        raise UsageError(f"{out} is the suite to choose from.", "Choose another folder.")
    problems = choose_problems(suite, size, seed)
    if not problems:
        raise UsageError(f"{suite.folder} has no active problem to choose.")
    used = dict.fromkeys(problem.manifest.environment for problem in problems)
    environments = [suite.environments[environment] for environment in used]
    bases = [problem.manifest.base for problem in problems] + [
        environment.manifest.base for environment in environments if environment.manifest.base is not None
    ]
    return write_suite(
        out,
        name=suite.name,
        repository=_repository_seen_from(suite, out),
        environments=environments,
        problems=problems,
        scanned=suite.manifest.scanned,
        bases={base.folder: load_tree(suite, base) for base in bases if base.folder is not None},
    )


def _repository_seen_from(suite: Suite, out: Path) -> str | None:
    try:
        return repository_path(find_repository(suite), out)
    except UsageError:  # the suite's path does not lead to it either: --repository will be needed
        return None


def _freshness(problem: Problem, seed: int) -> tuple[float, str]:
    when = problem.manifest.provenance.date or datetime.min.replace(tzinfo=UTC)
    stamp = when if when.tzinfo else when.replace(tzinfo=UTC)
    return -(stamp - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds(), digest([seed, problem.id])


def corrected_by(problem: Problem, others: Iterable[Problem]) -> str:
    """Return the id of a later problem that overturns ``problem``.

    The project has then corrected the fix of ``problem``. Return "" if no problem does.
    """
    tests = set(map(function_of, problem.tests.FAIL_TO_PASS))
    for other in others:
        days = [str(each.manifest.provenance.date) for each in (problem, other)]
        if days[0] < days[1] and 2 * len(tests & tests_to_change(other.statement)) > len(tests):
            return other.id
    return ""
