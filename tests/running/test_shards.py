"""Shards: which jobs are whose, what binds the parts of a run, and how limits are shared."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.errors import UsageError
from codegate.running import RunOptions
from codegate.running.outcome import Shard
from codegate.running.shards import (
    ShardChoice,
    plan_parts,
    shard_choice,
    shard_manifest,
    shared_options,
    whole_manifest,
)
from tests.kit.runs import SPECS
from tests.running.sharded import parts, plan

CANDIDATE = SPECS[:1]


@given(problems=st.integers(1, 40), samples=st.integers(1, 3), of=st.integers(1, 50))
def test_every_job_is_in_exactly_one_shard(problems: int, samples: int, of: int) -> None:
    whole = plan(problems, samples)
    shards = parts(whole, of)
    assert len(shards) == min(of, problems), "a shard without a problem is none"
    done = [key for part in shards for key in part.outcome_keys()]
    assert sorted(done) == sorted(whole.outcome_keys())
    assert len(set(done)) == len(done)
    sizes = [len(part.problems) for part in shards]
    assert max(sizes) - min(sizes) <= 1
    together = whole_manifest(shards)
    assert together == whole.model_copy(update={"id": shards[0].id})
    assert list(together.problems) == list(whole.problems), "in the order of the suite"


@given(
    problems=st.integers(1, 60),
    of=st.integers(1, 60),
    calls=st.integers(1, 1000),
    cents=st.integers(0, 10**6),
)
def test_the_parts_of_the_limits_are_never_more_than_the_limits(problems: int, of: int, calls: int, cents: int) -> None:
    of = min(of, problems)
    whole = RunOptions(max_model_calls=calls, budget_usd=Decimal(cents) / 100)
    shared = [shared_options(whole, Shard(number=n, of=of, problems=problems)) for n in range(1, of + 1)]
    assert sum(one.max_model_calls or 0 for one in shared) == calls
    budgets = [one.budget_usd for one in shared if one.budget_usd is not None]
    assert Decimal(cents) / 100 - Decimal(of) / 10**6 <= sum(budgets) <= Decimal(cents) / 100
    assert max(budgets) - min(budgets) <= Decimal(cents) / 100 / problems + Decimal("0.000001")


def test_a_part_of_a_budget_is_shown_without_trailing_zeros() -> None:
    for whole, part in ((80, "20"), (1, "0.25")):
        shared = shared_options(RunOptions(budget_usd=Decimal(whole)), Shard(number=1, of=4, problems=8))
        assert str(shared.budget_usd) == part


def test_no_limit_is_shared_as_none() -> None:
    assert shared_options(RunOptions(), Shard(number=1, of=2, problems=2)) == RunOptions()


@pytest.mark.parametrize(
    "change",
    [
        {"suite_digest": "e" * 64},
        {"samples": 3},
        {"gated_by": "f" * 64},
        {"codegate": "0.2.0"},
        {"candidates": CANDIDATE},
        {"problems": {"p-0": "digest of p-0"}},
        {"problems": dict(reversed(plan().problems.items()))},
        {"conditions": {"suite": "d" * 64, "grader": "2", "sandbox": "bwrap"}},
        {"prompts": {}},
        {"excluded": {}},
    ],
)
def test_a_shard_that_was_planned_otherwise_is_refused(change: dict[str, object]) -> None:
    shared = plan_parts(plan(), 3)
    choice = ShardChoice(1, 3, shared.run_id)
    assert shard_manifest(plan(), choice).id == shared.run_id
    with pytest.raises(UsageError, match=r"planned otherwise than shard 1/3 is here.*the same files and options"):
        shard_manifest(plan().model_copy(update=change), choice)
    with pytest.raises(UsageError, match="planned otherwise"):
        shard_manifest(plan(), ShardChoice(1, 2, shared.run_id))


def test_the_sandbox_is_not_known_before_there_is_one() -> None:
    unknown = plan().model_copy(update={"sandbox": "", "conditions": plan().conditions | {"sandbox": ""}})
    assert plan_parts(unknown, 3) == plan_parts(plan(), 3)


RUN_ID = plan_parts(plan(), 3).run_id
NO_SHARD = ["", "0/3", "4/3", "3", "1/0", "1/257", "a/b", "1/3 ", "-1/3", "01/3", "1/3\n", "¹/3"]
NO_ID = ["", "x", "../../x-0123456789abcdef", "a/b-0123456789abcdef", "x" * 90 + "-" + "0" * 16]


@pytest.mark.parametrize(
    ("shard", "run_id", "words"),
    [
        *((shard, RUN_ID, r"is no shard\. Write it as 2/3") for shard in NO_SHARD),
        *(("1/3", run_id, "is no id of a shared run") for run_id in NO_ID),
    ],
)
def test_what_is_no_shard_or_no_id_of_a_run_is_refused(shard: str, run_id: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        shard_choice(shard, run_id)


def test_a_shard_needs_its_run_and_a_run_its_shard() -> None:
    assert shard_choice(None, None) is None
    for shard, run_id in (("1/3", None), (None, plan_parts(plan(), 3).run_id)):
        with pytest.raises(UsageError, match="needs its part and its run"):
            shard_choice(shard, run_id)
