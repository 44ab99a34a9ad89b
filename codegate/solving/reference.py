"""The two candidates that ask nobody: ``reference`` applies the fix, ``empty`` changes nothing.

They show that a suite can tell a right answer from none, at no cost.
"""

from codegate.candidates import CandidateSpec
from codegate.solving.attempt import Attempt
from codegate.suite import Problem, Tree, make_patch


def reference(problem: Problem, base: Tree, candidate: CandidateSpec, sample: int) -> Attempt:
    """Return the attempt whose patch is the problem's own fix, or none for the provider ``empty``."""
    fixes = candidate.provider == "reference"
    return Attempt(
        problem=problem.id,
        candidate=candidate.key(),
        sample=sample,
        solver=candidate.provider,
        prompt_version="none",
        patch=make_patch(base, problem.fix) if fixes else "",
        contains_code=fixes,
        iterations=0,
    )
