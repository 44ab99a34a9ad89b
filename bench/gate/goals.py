"""The goals of the gate: the simulations that measure them, and the tables that show them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from scipy import stats

from bench.gate.gates import Plan, Shares, lucky_baselines, simulate
from bench.gate.model import LossKind, Relation, World, suite_rates
from bench.gate.nights import Month, simulate_months
from codegate.gating import GatePolicy
from codegate.gating.power import fitted_model, forecast
from codegate.gating.statistics import exact_interval

RELATIONS: Final[tuple[Relation, ...]] = ("same weights", "same family", "other vendor")
FIXED: Final = (1, 3, 5, 10)
FLOORED: Final = (1, 2, 3, 5, 10, 20, 30)
DROPS: Final = (0.03, 0.05, 0.08, 0.1, 0.13, 0.16, 0.2)
SIZES: Final = (16, 20, 24, 30, 40, 60)
NIGHTS_EACH: Final = 30
UNSHAPED: Final = float("inf")  # every problem has the same rate
SHAPES: Final = (
    (0.35, 0.4), (0.6, 0.4), (0.85, 0.4), (0.9, 0.4), (0.95, 0.4), (1.0, 0.4), (0.5, UNSHAPED), (0.9, UNSHAPED)
)  # fmt: skip
SHARED: Final = (0.10, 0.13, 0.16)
MARGINS: Final = (0.05, 0.10, 0.20, 0.25)
KINDS: Final[tuple[LossKind, ...]] = ("share", "shift", "dead", "mixed", "noisier")


@dataclass(frozen=True)
class Job:
    """One simulation: its name in the results, and what to call with what."""

    key: tuple[Any, ...]
    work: Callable[..., Any]
    arguments: dict[str, Any]


def run(job: Job) -> tuple[tuple[Any, ...], Any]:
    return job.key, job.work(**job.arguments)


def foretold(n: int, mean: float, samples: int | None, drop: float, baselines: int) -> tuple[float, float, float]:
    """Return what ``plan`` foretells for simulated baselines of ten samples: means of regressed, passed, samples."""
    rng = np.random.default_rng([n, round(mean * 100)])
    p, _ = suite_rates(rng, baselines, World(n=n, mean=mean))
    found = []
    for row in rng.binomial(10, p):
        model = fitted_model([(int(x), 10) for x in row], [f"p{i}" for i in range(n)])
        found.append(forecast(model, GatePolicy(), looks=(samples,) if samples else None, drop=drop))
    return (
        float(np.mean([one.regressed for one in found])),
        float(np.mean([one.passed for one in found])),
        float(np.mean([one.samples for one in found])),
    )


def false_alarms(floor: float) -> list[float]:
    """Return how often a candidate at its floor is called below it, for each of ``FLOORED`` problems."""
    shares = []
    for n in FLOORED:
        below = [solved for solved in range(n + 1) if exact_interval(solved, n, 0.05)[1] < floor]
        shares.append(float(stats.binom.pmf(below, n, floor).sum()))
    return shares


def jobs(share: float) -> Iterator[Job]:
    """Return all simulations, with ``share`` of the usual number of suites."""

    def cell(key: tuple[Any, ...], suites: int, world: World, plan: Plan, kind: LossKind | None = None) -> Job:
        arguments = {"world": world, "plan": plan, "kind": kind, "suites": max(int(suites * share), 200)}
        return Job(key, simulate, arguments)

    default = Plan()
    for relation in RELATIONS:
        for n in SIZES:
            yield cell(("equal", relation, n), 40_000 if n == 30 else 6000, World(n=n, relation=relation), default)
        for confirm in (0, 3):
            plan = Plan(confirm=confirm)
            yield cell(("confirm", relation, confirm), 2000, World(n=30, relation=relation, drop=0.1), plan)
    for confirm in (0, 3):
        yield cell(("confirm 10 pp", confirm), 10_000, World(n=30, drop=0.1), Plan(confirm=confirm), "share")
    for n in (16, 30, 60):
        for drop in SHARED:
            world, plan = World(n=n, drop=drop), Plan(confirm=3, shared=True)
            yield cell(("shared", n, drop), 10_000, world, plan, "share")
    for drop in (0.0, 0.1, 0.2):
        yield cell(("suite", drop), 20_000, World(n=30, drop=drop), default, "share")
        for n in SIZES:
            yield cell(("by size", n, drop), 6000, World(n=n, drop=drop), default, "share")
    for candidates in (3, 5):
        yield cell(("several", candidates), 4000, World(n=30), Plan(candidates=candidates), "share")
    for samples in FIXED:
        for n in (16, 30, 60):
            for drop in (0.0, 0.1):
                yield cell(("fixed", samples, n, drop), 4000, World(n=n, drop=drop), Plan(samples=samples), "share")
    for n in (16, 30, 60):
        for drop in DROPS:
            yield cell(("power", n, drop), 6000, World(n=n, drop=drop), default, "share")
    for n in (30, 60):
        for mean in (0.6, 1.0):
            for late, right, drop in ((0.8, 0.0, 0.1), (0.4, 0.0, 0.1), (0.04, 0.04, 0.0)):
                plan = Plan(late=late, late_right=right)
                yield cell(("late", n, mean, late, right, drop), 4000, World(n=n, mean=mean, drop=drop), plan, "share")
    for stored in (5, 10, 15, 20):
        world, plan, baselines = World(n=30, drop=0.1), Plan(stored=stored), max(int(500 * share), 50)
        luck = {"world": world, "plan": plan, "baselines": baselines, "gates": 400}
        yield Job(("luck", stored), lucky_baselines, luck)
    for floor in (0.75, 0.8, 0.9, 0.95):
        yield Job(("floors", floor), false_alarms, {"floor": floor})

    for n in SIZES:
        for stored in (5, 10):
            for mean, shape in SHAPES:
                world = World(n=n, mean=mean, shape=shape)
                plan = Plan(stored=stored)
                for kind in KINDS:
                    if kind in {"share", "noisier"}:
                        yield cell(("false regressed", n, stored, mean, shape, kind), 4000, world, plan, kind)
                    for margin in MARGINS:
                        if mean <= margin:
                            continue
                        worse, gate = replace(world, drop=margin), replace(plan, policy=GatePolicy(margin=margin))
                        yield cell(("false pass", n, stored, mean, shape, kind, margin), 4000, worse, gate, kind)
    for few in (5, 6, 8, 10, 12, 15):
        for mean in (0.6, 0.9, 1.0):
            world = World(n=few, mean=mean)
            for drop in (0.0, 0.1, 0.2):
                yield cell(("few", few, mean, drop), 6000, replace(world, drop=drop), default, "share")
    for k in FIXED:
        for n in SIZES:
            for mean, kind in ((0.6, "share"), (0.6, "noisier"), (1.0, "dead"), (1.0, "share")):
                world = World(n=n, mean=mean, drop=0.1)
                yield cell(("false pass, fixed", k, n, mean, kind), 6000, world, Plan(samples=k), kind)

    for lost in (0.0, 0.02, 0.04, 0.08, 0.15):
        for n in (30, 60):
            for drop in (0.0, 0.1):
                world = World(n=n, drop=drop)
                yield cell(("lost", lost, n, drop), 4000, world, Plan(lost=lost), "shift")

    for n in (16, 24, 30, 60):
        for planned in (3, None):
            for mean in (0.6, 0.9, 1.0):
                for drop in (0.0, 0.1, 0.15):
                    world = World(n=n, mean=mean, drop=drop)
                    yield cell(("seen", n, planned, mean, drop), 2000, world, Plan(samples=planned), "share")
                    arguments: dict[str, Any] = {"n": n, "mean": mean, "samples": planned, "drop": drop}
                    baselines = max(int(20 * share), 3)
                    yield Job(("foretold", n, planned, mean, drop), foretold, {**arguments, "baselines": baselines})
    for part in range(4):
        equal, steps = ({"months": max(int(months * share), 10), "seed": part} for months in (750, 100))
        yield Job(("nights", part), simulate_months, {**equal, "nights": NIGHTS_EACH})
        yield Job(("step", part), simulate_months, {**steps, "nights": 14, "drop": 0.10})


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


Row = tuple[str, str, str]


def worst(name: str, goal: float, cells: dict[tuple[Any, ...], Shares], value: Callable[[Shares], float]) -> Row:
    """Return a row with the mean, every cell that was measured above the goal, and else the worst one."""
    errors = {key: value(found) for key, found in cells.items()}
    suites = next(iter(cells.values())).suites
    key = max(errors, key=lambda one: errors[one])
    above = sorted(((share, one) for one, share in errors.items() if share > goal), reverse=True)
    named = "; ".join(f"{percent(share)} ({cell_words(one)})" for share, one in above)
    text = f"mean {percent(float(np.mean(list(errors.values()))))}; "
    text += f"{len(above)} above: {named}" if above else f"worst {percent(errors[key])} ({cell_words(key)})"
    return f"{name}, {len(cells)} cells of {suites:,}", f"<= {percent(goal)}, every cell", text


def cell_words(key: tuple[Any, ...]) -> str:
    return ", ".join(str(part) for part in key[1:])


Results = dict[tuple[Any, ...], Any]
Table = tuple[str, list[Row]]


def of(results: Results, name: str) -> dict[tuple[Any, ...], Any]:
    return {key: value for key, value in results.items() if key[0] == name}


def regressed(shares: Shares) -> float:
    return shares.regressed


def passed(shares: Shares) -> float:
    return shares.passed


def default_gate(results: Results) -> Table:
    equal = [results["equal", relation, 30] for relation in RELATIONS]
    vendor = equal[2]
    none, tenth, fifth = (results["suite", drop] for drop in (0.0, 0.1, 0.2))
    rows: list[Row] = [
        (
            "no answer at zero drop: same weights / same family / other vendor",
            "<= 1 / 3.3 / 7 %",
            " / ".join(f"{100 * one.undecided:.1f}" for one in equal) + " %",
        ),
        worst("regressed at zero drop on the suite", 0.05, of(results, "false regressed"), regressed),
        ("regressed at zero drop on the suite, U-shaped .6", "<= 5 %", percent(none.regressed)),
        ("regressed at zero drop in the population, other vendor", "<= 7 %", percent(vendor.regressed)),
        (
            "detection of a true drop of 10 / 20 pp on the suite",
            ">= 75 / >= 99 %",
            f"{100 * tenth.regressed:.1f} / {100 * fifth.regressed:.1f} %",
        ),
        ("pass at a true drop of one margin on the suite, U-shaped .6", "<= 5 %", percent(tenth.passed)),
        worst("pass at a true drop of one margin on the suite", 0.05, of(results, "false pass"), passed),
        worst("the same, one look at a fixed number", 0.05, of(results, "false pass, fixed"), passed),
        (
            "samples of an equal candidate, share of 10 per problem",
            "<= 45 %",
            " / ".join(f"{10 * one.samples:.0f}" for one in equal) + " %",
        ),
    ]
    return "Default gate, n = 30, baseline 10 samples, at most 10 of the candidate", rows


def by_size(results: Results) -> Table:
    rows: list[Row] = []
    for n in SIZES:
        ends = " ; ".join(
            f"{100 * one.passed:.0f}/{100 * one.regressed:.1f}/{100 * one.undecided:.1f} ({one.samples:.1f})"
            for one in (results["equal", relation, n] for relation in RELATIONS)
        )
        found = ", ".join(
            f"{100 * results['by size', n, drop].regressed:.0f}/{100 * results['by size', n, drop].passed:.0f}"
            for drop in (0.1, 0.2)
        )
        rows.append((f"{n} problems", ends, found))
    return (
        "By size: pass/regressed/no answer % (samples) at zero drop in the population, same weights ; family ; vendor; "
        "then regressed/pass % at a suite drop of 10, 20 pp",
        rows,
    )


def power_curve(results: Results) -> Table:
    rows: list[Row] = []
    for n in (16, 30, 60):
        ends = [results["power", n, drop] for drop in DROPS]
        found = " ; ".join(f"{100 * one.regressed:.0f}/{100 * one.passed:.0f} ({100 * one.size:.1f})" for one in ends)
        rows.append((f"{n} problems", "", found))
    drops = ", ".join(f"{100 * drop:g}" for drop in DROPS)
    return (
        f"Power: regressed/pass % (mean difference reported as regressed) at a suite drop of {drops} pp",
        rows,
    )


def samples(results: Results) -> Table:
    rows: list[Row] = []
    for made in FIXED:
        cells = [(results["fixed", made, n, 0.0], results["fixed", made, n, 0.1]) for n in (16, 30, 60)]
        text = " ; ".join(f"{100 * a.passed:.0f}/{100 * a.undecided:.0f}/{100 * b.regressed:.0f}" for a, b in cells)
        rows.append((f"a fixed number of {made}", "", text))
    for few in (5, 6, 8, 10, 12, 15):
        text = " ; ".join(
            f"{100 * results['few', few, mean, 0.0].passed:.0f}/{100 * results['few', few, mean, 0.0].regressed:.1f}/"
            f"{100 * results['few', few, mean, 0.1].passed:.1f}/{100 * results['few', few, mean, 0.2].regressed:.0f}"
            for mean in (0.6, 0.9, 1.0)
        )
        rows.append((f"{few} problems, 10 samples, pass rate .6 ; .9 ; 1", "<= 5 % each error", text))
    return (
        "Fixed numbers: pass/no answer % at zero drop, regressed % at 10 pp, 16 ; 30 ; 60 problems. Few problems: "
        "pass/regressed % at zero drop, pass % at 10 pp, regressed % at 20 pp",
        rows,
    )


def lost_answers(results: Results) -> Table:
    rows: list[Row] = []
    for late, right, drop, goal, what in (
        (0.8, 0.0, 0.1, "pass <= 5 %", "lost 10 pp, 80 % of its failing answers time out"),
        (0.4, 0.0, 0.1, "pass <= 5 %", "lost 10 pp, 40 % of its failing answers time out"),
        (0.04, 0.04, 0.0, "pass >= 90 %", "equal, 4 % of all answers time out"),
    ):
        cells = [results["late", n, mean, late, right, drop] for mean in (0.6, 1.0) for n in (30, 60)]
        rows.append((what, goal, " ; ".join(f"{100 * one.passed:.1f}/{100 * one.regressed:.1f}" for one in cells)))
    return (
        "Answers lost to time-outs and asked for again: pass/regressed %, U-shaped .6 with 30 ; 60 problems, then "
        "perfect with 30 ; 60",
        rows,
    )


def luck(results: Results) -> Table:
    rows: list[Row] = []
    for stored in (5, 10, 15, 20):
        found = results["luck", stored]
        quantiles = " / ".join(f"{100 * float(np.quantile(found, q)):.1f}" for q in (0.5, 0.9, 0.95, 0.99))
        rows.append((f"baseline of {stored} samples", "", f"{percent(float(found.mean()))}; {quantiles} %"))
    return (
        f"Luck of a pinned baseline, n = 30: pass at a suite drop of 10 pp, mean over {len(found)} baselines; median / "
        "90th / 95th / 99th percentile",
        rows,
    )


def floors(results: Results) -> Table:
    rows: list[Row] = []
    for (_, floor), shares in sorted(of(results, "floors").items()):
        rows.append((f"floor {floor:g}", "<= 5 %", " / ".join(f"{100 * one:.1f}" for one in shares) + " %"))
    problems = " / ".join(map(str, FLOORED))
    return f"Floors, exact: regressed at a true rate equal to the floor, {problems} problems", rows


def lost_samples(results: Results) -> Table:
    rows: list[Row] = []
    for lost in (0.0, 0.02, 0.04, 0.08, 0.15):
        for n in (30, 60):
            zero, drop = results["lost", lost, n, 0.0], results["lost", lost, n, 0.1]
            goal = {0.04: "infrastructure <= 1 %", 0.08: "infrastructure <= 5 %"}.get(lost, "")
            text = (
                f"{percent(zero.infrastructure)} / {percent(zero.regressed)} / {percent(drop.passed)} / "
                f"{percent(drop.regressed)} / {zero.samples:.1f}"
            )
            rows.append((f"{100 * lost:g} % lost, n = {n}", goal, text))
    return (
        "Lost samples, made again at the next look: infrastructure / regressed at zero drop / pass and regressed at "
        "10 pp / samples",
        rows,
    )


def planned(results: Results) -> Table:
    rows: list[Row] = []
    for n in (16, 24, 30, 60):
        for made in (3, None):
            parts = []
            for mean in (0.6, 0.9, 1.0):
                seen = [results["seen", n, made, mean, drop] for drop in (0.0, 0.1, 0.15)]
                told = [results["foretold", n, made, mean, drop] for drop in (0.0, 0.1, 0.15)]
                parts.append(
                    f"{100 * seen[0].passed:.0f}/{100 * told[0][1]:.0f}, {100 * seen[1].regressed:.0f}/"
                    f"{100 * told[1][0]:.0f}, {100 * seen[2].regressed:.0f}/{100 * told[2][0]:.0f}, "
                    f"{seen[0].samples:.1f}/{told[0][2]:.1f}"
                )
            how = f"a fixed number of {made}" if made else "at most 10 samples"
            rows.append((f"n = {n}, {how}", "within 8 points", " ; ".join(parts)))
    return (
        "plan: simulated/foretold, pass rate .6 ; .9 ; 1: pass % at zero drop, regressed % at 10 pp, at 15 pp, samples",
        rows,
    )


def confirmation(results: Results) -> Table:
    confirmed = [results["confirm", relation, 3].regressed for relation in RELATIONS]
    plain = [results["confirm", relation, 0].regressed for relation in RELATIONS]
    tenth_confirmed = [results["confirm 10 pp", confirm].regressed for confirm in (0, 3)]
    months: list[Month] = list(of(results, "nights").values())
    steps: list[Month] = list(of(results, "step").values())
    total = sum(month.months for month in months)
    rows: list[Row] = [
        (
            "regressed at a population drop of 10 pp, without / with confirmation, weights, family, vendor",
            "",
            ", ".join(f"{100 * a:.0f}/{100 * b:.0f}" for a, b in zip(plain, confirmed, strict=True)) + " %",
        ),
        (
            "regressed at a suite drop of 10 pp, without / with confirmation",
            "",
            f"{100 * tenth_confirmed[0]:.0f}/{100 * tenth_confirmed[1]:.0f} %",
        ),
        (
            "regressed at a suite drop of 10, 13, 16 pp that the pinned model shares, 16 ; 30 ; 60 problems",
            "",
            " ; ".join(
                ", ".join(f"{100 * results['shared', n, drop].regressed:.0f}" for drop in SHARED) for n in (16, 30, 60)
            )
            + " %",
        ),
        *(
            (f"any of {m} equal candidates regressed", "<= 5 %", percent(results["several", m].regressed))
            for m in (3, 5)
        ),
        (
            f"pages in {NIGHTS_EACH} equal nights, n=40 ({total} months)",
            "<= 2 %",
            percent(sum(month.months * month.paged for month in months) / total),
        ),
        (
            "a 10 pp step is paged",
            "<= 7 nights, median <= 4",
            f"medians {', '.join(f'{month.median or 0:g}' for month in steps)}; 90 % by night "
            f"{max(month.late or 0 for month in steps):g}",
        ),
    ]
    return "Confirmation, several candidates, nights", rows


TABLES: Final[dict[str, tuple[frozenset[str], Callable[[Results], Table]]]] = {
    "default": (frozenset({"equal", "suite", "false regressed", "false pass", "false pass, fixed"}), default_gate),
    "size": (frozenset({"equal", "by size"}), by_size),
    "power": (frozenset({"power"}), power_curve),
    "samples": (frozenset({"fixed", "few"}), samples),
    "answers": (frozenset({"late"}), lost_answers),
    "luck": (frozenset({"luck"}), luck),
    "floors": (frozenset({"floors"}), floors),
    "lost": (frozenset({"lost"}), lost_samples),
    "plan": (frozenset({"seen", "foretold"}), planned),
    "confirmation": (frozenset({"confirm", "confirm 10 pp", "shared", "several", "nights", "step"}), confirmation),
}
"""By name: the simulations that a table shows, by the first word of their key, and the table itself."""
