"""Refresh a suite: retire broken problems, and renumber none."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from codegate.errors import UsageError
from codegate.grading import Sandboxes
from codegate.mining.proving.outcomes import quarantine
from codegate.mining.proving.proof import prove
from codegate.sandbox import SandboxError
from codegate.suite import Problem, ProblemManifest, Suite, load_base, load_suite
from codegate.wording import count_of


@dataclass(frozen=True)
class KeptSuite:
    """The problems of a refreshed suite, kept or retired.

    Attributes:
        problems: all of its problems; broken ones have the status ``retired``.
        retired: ids of the problems that were retired now.
        faults: by problem id, why the problem could not be tried; such a problem stays as it is.
    """

    suite: Suite
    problems: tuple[Problem, ...]
    retired: tuple[str, ...]
    faults: dict[str, str]

    @property
    def commits(self) -> frozenset[str]:
        """Return the commits that already have a problem."""
        found = (problem.manifest.provenance.commit for problem in self.problems)
        return frozenset(commit for commit in found if commit is not None)


def keep_suite(
    suite: Suite, repository: Path, sandboxes: Sandboxes, today: date, progress: Callable[[str, int, int], None]
) -> KeptSuite:
    """Return the suite's problems; retire each whose fix fails.

    Problems that are retired already are not tried. A problem stays if its base is not in ``repository`` (such as in a
    shallow clone), or its fix ran out of time or memory. After each problem, ``progress`` gets a message, the number of
    problems done, and the number of all.
    """
    problems: list[Problem] = []
    retired: list[str] = []
    faults: dict[str, str] = {}
    for number, problem in enumerate(suite.problems, start=1):
        try:
            reason = None if problem.manifest.status == "retired" else _reason(suite, problem, repository, sandboxes)
        except (SandboxError, UsageError) as error:
            faults[problem.id] = str(error)
            reason = None
        if reason is not None:
            retired.append(problem.id)
            changes = {"status": "retired", "quarantine": quarantine("oracle_fails", reason, today)}
            changed = {**problem.manifest.model_dump(by_alias=True), **changes}
            problem = replace(problem, manifest=ProblemManifest.model_validate(changed))  # noqa: PLW2901
        problems.append(problem)
        ending = "could not be tried" if problem.id in faults else problem.manifest.status
        progress(f"{problem.id}: {ending}", number, len(suite.problems))
    return KeptSuite(suite, tuple(problems), tuple(retired), faults)


def _reason(suite: Suite, problem: Problem, repository: Path, sandboxes: Sandboxes) -> str | None:
    """Return why ``problem`` has to be retired, or None.

    Raises:
        SandboxError: a limit ended a run of the fix.
    """
    base = load_base(suite, problem, repository)
    sandboxes.add(suite.environments[problem.manifest.environment])
    for _ in range(2):  # one bad run on a busy machine retires nothing
        proof = prove(problem, base, sandboxes, rounds=1)
        if proof.oracle_resolved:
            return None
    evidence = proof.quarantine.evidence if proof.quarantine else "the fix fails"
    if proof.cut_short:
        raise SandboxError(f"the fix ran out of time or memory: {evidence}")
    return evidence


def check_decisions(out: Path) -> None:
    """Raise UsageError if the suite at ``out`` has dropped problems.

    A reviewer dropped them, and a new suite would have them again.
    """
    try:
        dropped = [problem.id for problem in load_suite(out).problems if problem.dropped]
    except UsageError:
        return  # the folder holds no suite that could be refreshed
    if dropped:
        raise UsageError(
            f"{out} is a suite, and a review of it dropped {count_of(len(dropped), 'problem')}: "
            f"{', '.join(dropped)[:200]}. A new suite would have them again.",
            "Give --refresh, which keeps the suite and adds to it, or another --out.",
        )
