"""A judge's verdicts against what execution showed. Nothing is gated on them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from codegate.gating.estimates import Estimate, share
from codegate.reporting.plain import one_line
from codegate.running import Outcome
from codegate.running.judge import Judged


@dataclass(frozen=True)
class JudgeCounts:
    """Judged attempts of one candidate: solved and broken ones, as execution showed, by the judge's verdict.

    Attributes:
        judge: its label.
        unclear: attempts whose answer had no verdict; they count nowhere else.
        agreement: attempts on which judge and execution agree.
        broken_passed_share: broken attempts that the judge passes, of the broken ones.
        solved_passed_share: solved attempts that the judge passes, of the solved ones.
    """

    judge: str
    solved_passed: int
    solved_failed: int
    broken_passed: int
    broken_failed: int
    unclear: int
    agreement: Estimate
    broken_passed_share: Estimate
    solved_passed_share: Estimate


def judge_counts(found: Mapping[str, Sequence[Outcome]], judged: Judged | None) -> JudgeCounts | None:
    """Return how the judge's verdicts on one candidate's outcomes compare; None where it judged none of them."""
    if judged is None:
        return None
    verdicts = judged.verdicts
    pairs = [
        [(one.grade.resolved, verdicts[one.key]) for one in outcomes if one.grade is not None and one.key in verdicts]
        for outcomes in found.values()
    ]
    every = [pair for entries in pairs for pair in entries]
    if not every:
        return None

    def parts(solved: Iterable[bool], right: bool | None) -> Estimate:
        """Return the share of the attempts with that result that got the verdict ``right``, None: the fitting one."""
        of = [[pair for pair in entries if pair[0] in solved and pair[1] is not None] for entries in pairs]
        counts = [(sum(said == (truth if right is None else right) for truth, said in one), len(one)) for one in of]
        return share(counts, of="attempts")

    return JudgeCounts(
        judge=one_line(judged.header.judge),
        solved_passed=every.count((True, True)),
        solved_failed=every.count((True, False)),
        broken_passed=every.count((False, True)),
        broken_failed=every.count((False, False)),
        unclear=sum(said is None for _, said in every),
        agreement=parts((True, False), None),
        broken_passed_share=parts((False,), True),
        solved_passed_share=parts((True,), True),
    )
