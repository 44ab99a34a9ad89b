"""Lost samples: what infrastructure faults took out of a comparison, and when they leave too little to decide.

Samples are left out, not problems, and never count as failures. A run makes them again at its next look.
"""

from collections.abc import Mapping
from typing import Final, Literal

from codegate.gating.decision import Decision, Terms, compare_counts, decide
from codegate.gating.matching import Matched, clusters_of, counted
from codegate.gating.samples import CandidateSamples
from codegate.gating.statistics import Pair

TOLERATED_PROBLEMS: Final = 0.10
"""Share of the problems that a look may be without, and that may have less than half of their samples at the end."""
_STOPPED: Final = 0.5  # share of the problems without any sample at which a provider or a machine is down
_MANY: Final = 0.25  # share of lost samples above which a pass must hold with them as failures
_WARN_ABOVE: Final = 0.05  # share of lost samples above which the verdict is shown with them as failures too

Shortage = Literal["wait", "infrastructure"]


def shortage(baseline: CandidateSamples, candidate: CandidateSamples, terms: Terms) -> tuple[Shortage, str] | None:
    """Return why there are too few graded samples to decide now, or None.

    ``wait``: the next look makes the lost samples again. ``infrastructure``: no look is left, or most problems have no
    sample at all.
    """
    problems = list(baseline.problem_digests)
    most = max(1, int(TOLERATED_PROBLEMS * len(problems)))
    without = sum(not _counts(baseline, name) or not _counts(candidate, name) for name in problems)
    if terms.pending:
        if without > _STOPPED * len(problems):
            return "infrastructure", f"{without} of {len(problems)} problems have no graded sample: {_CAUSE}."
        if without > TOLERATED_PROBLEMS * len(problems):
            return "wait", f"{without} of {len(problems)} problems have no graded sample yet; the next look retries."
        return None
    for whose, samples in (("the baseline", baseline), (candidate.label, candidate)):
        planned = max((len(entries) for entries in samples.samples.values()), default=0)
        thin = sum(2 * _counts(samples, name) < planned for name in problems)
        if thin > most:
            return "infrastructure", (
                f"{thin} of {len(problems)} problems have fewer than half of the {planned} samples of {whose}: "
                f"{_CAUSE}."
            )
    return None


_CAUSE: Final = "infrastructure faults took the others, so nothing was decided"


def _counts(samples: CandidateSamples, problem: str) -> int:
    return len(counted(samples.samples.get(problem, ())))


def survives_losses(
    baseline: CandidateSamples,
    candidate: CandidateSamples,
    matched: Matched,
    sources: Mapping[str, str],
    terms: Terms,
) -> bool:
    """Tell whether a pass holds with what was lost counted as failed: whole problems always, samples where many are."""
    pairs = dict(matched.pairs)
    if _share_lost(candidate, matched) > _MANY:
        pairs = _with_failures(candidate, matched)
    for name in baseline.problem_digests.keys() - matched.pairs.keys():
        graded = counted(baseline.samples.get(name, ()))
        if graded:
            pairs[name] = Pair(sum(bool(sample.passed) for sample in graded), len(graded), 0, max(terms.samples, 1))
    return pairs == matched.pairs or _decision(pairs, sources, terms) == "pass"


def lost_warning(candidate: CandidateSamples, matched: Matched, sources: Mapping[str, str], terms: Terms) -> str | None:
    """Return what the verdict would be with the lost samples as failures, where many are lost.

    Losses are taken to be random. Where a limit of the configuration took them, those answers would have failed.
    """
    share = _share_lost(candidate, matched)
    if share <= _WARN_ABOVE:
        return None
    return (
        f"{share:.0%} of the candidate's samples were lost to infrastructure faults; counted as failures they would "
        f"make the verdict {_decision(_with_failures(candidate, matched), sources, terms)}."
    )


def _share_lost(candidate: CandidateSamples, matched: Matched) -> float:
    samples = [sample for name in matched.pairs for sample in candidate.samples[name]]
    return sum(sample.passed is None for sample in samples) / max(len(samples), 1)


def _with_failures(candidate: CandidateSamples, matched: Matched) -> dict[str, Pair]:
    """Return the counts with the candidate's lost samples as failures."""
    return {
        name: pair._replace(
            candidate_n=pair.candidate_n + sum(sample.passed is None for sample in candidate.samples[name])
        )
        for name, pair in matched.pairs.items()
    }


def _decision(pairs: Mapping[str, Pair], sources: Mapping[str, str], terms: Terms) -> Decision:
    counts = tuple(pairs.values())
    return decide(compare_counts(counts, clusters_of(list(pairs), sources), terms), counts, terms)
