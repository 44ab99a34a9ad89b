"""Samples that decide nothing: lost to infrastructure faults, or cut by a limit of the configuration.

Lost samples are left out, never their problems, and never count as failures. A run repeats them at its next look.
Where a limit cut too many answers, no verdict is a regression.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, Literal

from codegate.gating.decision import Decision, Terms, compare_counts, decide
from codegate.gating.matching import Matched, clusters_of, counted
from codegate.gating.samples import CandidateSamples
from codegate.gating.statistics import Pair
from codegate.gating.verdict import VerdictKind

CUT: Final = frozenset({"truncated", "context_overflow", "provider.timeout"})
"""Failure classes and faults of answers that a limit of the configuration ended."""
MOST_CUT: Final = 0.10
"""Largest share of such answers that a regression may rest on."""
TOLERATED_PROBLEMS: Final = 0.10
"""Share of the problems that a look may be without, and that may have less than half of their samples at the end."""
_STOPPED: Final = 0.5  # share of the problems without any sample at which a provider or a machine is down
_MANY: Final = 0.25  # share of lost samples above which a pass must hold with them as failures
_WARN_ABOVE: Final = 0.05  # share of lost samples above which the verdict is shown with them as failures too

Shortage = Literal["wait", "infrastructure"]


def shortage(baseline: CandidateSamples, candidate: CandidateSamples, terms: Terms) -> tuple[Shortage, str] | None:
    """Return why too few graded samples are left to decide now; None where enough are.

    ``wait``: the next look repeats the lost samples. ``infrastructure``: no look is left, or most problems have no
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
    for name, samples in (("the baseline", baseline), (candidate.label, candidate)):
        planned = max((len(entries) for entries in samples.samples.values()), default=0)
        thin = sum(2 * _counts(samples, problem) < planned for problem in problems)
        if thin > most:
            return "infrastructure", (
                f"{thin} of {len(problems)} problems have fewer than half of the {planned} samples of {name}: {_CAUSE}."
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
    """Return whether a pass holds with losses counted as failures.

    Problems without a graded sample always count, single samples where many are lost.
    """
    pairs = dict(matched.pairs)
    if _share_lost(candidate, matched) > _MANY:
        pairs = _with_failures(candidate, matched)
    for name in baseline.problem_digests.keys() - matched.pairs.keys():
        graded = counted(baseline.samples.get(name, ()))
        if graded:
            pairs[name] = Pair(sum(bool(sample.passed) for sample in graded), len(graded), 0, max(terms.samples, 1))
    return pairs == matched.pairs or _decision(pairs, sources, terms) == "pass"


def lost_warning(candidate: CandidateSamples, matched: Matched, sources: Mapping[str, str], terms: Terms) -> str | None:
    """Return a warning with the verdict that counts losses as failures; None where few are lost.

    Losses are taken to be random; answers that a limit of the configuration cut would have failed.
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
    return {
        name: pair._replace(
            candidate_n=pair.candidate_n + sum(sample.passed is None for sample in candidate.samples[name])
        )
        for name, pair in matched.pairs.items()
    }


def _decision(pairs: Mapping[str, Pair], sources: Mapping[str, str], terms: Terms) -> Decision:
    counts = tuple(pairs.values())
    return decide(compare_counts(counts, clusters_of(list(pairs), sources), terms), counts, terms)


def judge_limits(candidate: CandidateSamples, kind: VerdictKind, reason: str) -> tuple[VerdictKind, str]:
    """Return verdict and reason, made inconclusive where a limit cut too many answers."""
    samples = [sample for entries in candidate.samples.values() for sample in entries]
    cut = Counter(sample.failure for sample in samples if sample.failure in CUT)
    answers = sum(sample.passed is not None or sample.failure in CUT for sample in samples)
    if cut.total() <= MOST_CUT * answers or kind not in {"regressed", "inconclusive"}:
        return kind, reason
    what = ", ".join(f"{name} {count}" for name, count in sorted(cut.items()))
    advice = " ".join(candidate.limits[name] for name in sorted(filter(None, cut)) if name in candidate.limits)
    return "inconclusive", (
        f"A limit cut {cut.total()} of {answers} answers ({what}), more than {MOST_CUT:.0%}: this measures the limit, "
        f"not the model. {advice or 'Raise that limit.'} Measured under this limit: {reason}"
    )
