"""Split a run over machines; each takes all samples and candidates of some problems.

Only the run's id passes between them. It ends with a digest of the whole plan: each machine plans the run again and
checks that digest before anything is spent. Problems are distributed round-robin in the order of the suite, because
neighbours cost about the same.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final

from codegate.durable import digest
from codegate.errors import UsageError
from codegate.running.gate import Gate
from codegate.running.outcome import MAX_SHARDS, RunManifest, Shard
from codegate.running.plan import RunOptions
from codegate.suite import is_place

_DIGITS: Final = 16
_SHARD: Final = re.compile(r"([1-9][0-9]{0,2})/([1-9][0-9]{0,2})")
_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,82}-[0-9a-f]{16}")
_CENT: Final = Decimal("0.000001")


@dataclass(frozen=True)
class ShardChoice:
    """The part ``number`` of ``of``, from 1, of the run with this id."""

    number: int
    of: int
    run_id: str


@dataclass(frozen=True)
class ShardPlan:
    """A shared run: its id, its parts as for ``--shard``, and its samples per problem."""

    run_id: str
    shards: tuple[str, ...]
    samples: int

    def document(self) -> dict[str, Any]:
        """Return the outputs for a workflow; ``matrix`` is for ``strategy.matrix: ${{ fromJSON(…) }}``."""
        return {"run_id": self.run_id, "matrix": {"shard": list(self.shards)}}


def shard_choice(shard: str | None, run_id: str | None) -> ShardChoice | None:
    """Return the part that was chosen as ``2/3``; None without one.

    Raises:
        UsageError: it is no part, or one of the two is missing.
    """
    if shard is None and run_id is None:
        return None
    if shard is None or run_id is None:
        raise UsageError(
            "a shard needs its part and its run, as in --shard 2/3 --run-id ID.",
            "`codegate plan --shards 3` gives both.",
        )
    found = _SHARD.fullmatch(shard)
    number, of = (int(part) for part in found.groups()) if found else (0, 0)
    if not 1 <= number <= of <= MAX_SHARDS:
        raise UsageError(f"{shard[:40]!r} is no shard.", f"Write it as 2/3; there are at most {MAX_SHARDS}.")
    if not _RUN_ID.fullmatch(run_id):
        raise UsageError(f"{run_id[:100]!r} is no id of a shared run.", "`codegate plan --shards` gives one.")
    return ShardChoice(number, of, run_id)


def share(plan: RunManifest, of: int) -> ShardPlan:
    """Return the parts of ``plan``: ``of``, or one per problem where these are fewer."""
    parts = min(of, len(plan.problems))
    run_id = f"{plan.id}-{plan_digest(plan, parts)}"
    return ShardPlan(run_id, tuple(f"{number}/{parts}" for number in range(1, parts + 1)), plan.samples)


def plan_digest(plan: RunManifest, of: int) -> str:
    """Return the digest of what shards must agree on before there is a sandbox."""
    conditions = {name: value for name, value in plan.conditions.items() if not is_place(name)}
    known = plan.model_copy(update={"sandbox": "", "conditions": conditions, "proved": (), "shard": None})
    return digest([known.fingerprint(), list(plan.problems), plan.codegate, of])[:_DIGITS]


def part_of(plan: RunManifest, choice: ShardChoice) -> RunManifest:
    """Return the manifest of one part of ``plan``.

    Raises:
        UsageError: the run of the choice's id was planned otherwise.
    """
    if choice.run_id.rpartition("-")[2] != plan_digest(plan, choice.of):
        raise UsageError(
            f"run {choice.run_id} was planned otherwise than shard {choice.number}/{choice.of} is here: another suite, "
            "configuration, baseline, number of samples or shards, or version of codegate.",
            "Give `codegate plan --shards` and `codegate run --shard` the same files and options.",
        )
    shard = Shard(number=choice.number, of=choice.of, problems=len(plan.problems))
    mine = dict(list(plan.problems.items())[shard.number - 1 :: shard.of])
    return plan.model_copy(
        update={
            "id": choice.run_id,
            "problems": mine,
            "clusters": {name: value for name, value in plan.clusters.items() if name in mine},
            "tags": {name: value for name, value in plan.tags.items() if name in mine},
            "shard": shard,
        }
    )


def joined(parts: Sequence[RunManifest]) -> RunManifest:
    """Return the manifest of the whole run from those of all of its parts, in order.

    Raises:
        UsageError: they are not the parts of one plan, which the run's id has the digest of.
    """
    first = parts[0]
    shares = [list(part.problems) for part in parts]
    longest = max(map(len, shares))
    order = [names[turn] for turn in range(longest) for names in shares if turn < len(names)]
    problems = {name: digest_ for part in parts for name, digest_ in part.problems.items()}
    whole = first.model_copy(
        update={
            "created": min(part.created for part in parts),
            "problems": {name: problems[name] for name in order},
            "clusters": {name: value for part in parts for name, value in part.clusters.items()},
            "tags": {name: value for part in parts for name, value in part.tags.items()},
            "shard": None,
        }
    )
    planned = [list(whole.problems)[number :: len(parts)] for number in range(len(parts))]
    if planned != shares or first.id.rpartition("-")[2] != plan_digest(whole, len(parts)):
        raise UsageError(
            f"the shards of run {first.id} do not match its plan: problems, samples, candidates or conditions differ.",
            "Run all shards again.",
        )
    return whole


def check_planned_gate(manifest: RunManifest, gate: Gate | None) -> None:
    """Raise UsageError unless the shared run was planned for ``gate``."""
    if (gate.digest if gate is not None else None) == manifest.gated_by:
        return
    if manifest.gated_by is None:
        raise UsageError(
            f"run {manifest.id} was planned without a baseline, but one is configured.",
            "Leave it out (--no-gate), or plan the run again.",
        )
    raise UsageError(
        f"run {manifest.id} was planned for another baseline or gate policy than the current one.",
        "Restore codegate.lock and `gate` in codegate.yml as they were, or plan the run again.",
    )


def shared_options(options: RunOptions, shard: Shard) -> RunOptions:
    """Return ``options`` with the shard's share of the limits; shares never exceed the whole."""
    before, after = _problems_up_to(shard, shard.number - 1), _problems_up_to(shard, shard.number)
    calls, budget = options.max_model_calls, options.budget_usd
    if calls is not None:
        calls = calls * after // shard.problems - calls * before // shard.problems
    if budget is not None:
        budget = (budget * (after - before) / shard.problems).quantize(_CENT, ROUND_DOWN)
    return replace(options, max_model_calls=calls, budget_usd=budget)


def _problems_up_to(shard: Shard, number: int) -> int:
    """Return how many problems the first ``number`` shards have together."""
    each, more = divmod(shard.problems, shard.of)
    return each * number + min(number, more)
