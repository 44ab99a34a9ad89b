"""Answers of earlier runs: an unchanged candidate on an unchanged problem is not paid for twice."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from codegate.candidates import CandidateSpec, Prices, Sampling
from codegate.durable import sha256
from codegate.errors import UsageError
from codegate.operations.baselines import samples_of
from codegate.reporting import Evidence, build_view
from codegate.running import Gate, Journal, Run
from codegate.running.call_log import Spending
from codegate.suite import Suite
from tests.kit.scripted_model import ScriptedModel
from tests.running.test_agents import play, spec
from tests.running.test_looks import STRICT, all_solved, various
from tests.running.world import ModelServer, Said, always_right, answer, codegate, only, run_here

pytestmark = pytest.mark.bwrap


def made(suite: Suite, out: Path, cache: Path, *candidates: CandidateSpec, gate: Gate | None = None) -> tuple[Run, str]:
    """Return a run with the cache, and all that it announced."""
    said: list[str] = []
    run = run_here(suite, out, *candidates, samples=None, gate=gate, announce=said.append, cache=cache)
    return run, "\n".join(said)


@pytest.mark.requirement("C10")
def test_an_unchanged_candidate_is_not_paid_for_twice(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    prices = Prices(input=Decimal(1000), output=Decimal(1000))
    candidate = server.spec(prices=prices)
    first, said = made(suite, tmp_path / "1", tmp_path / "c", candidate)
    assert (len(server.asked), "reused" in said) == (3, False)
    again, said = made(suite, tmp_path / "2", tmp_path / "c", candidate)
    assert len(server.asked) == 3
    assert "3 of 3 answers are reused from earlier runs" in said
    spending = Journal.open(tmp_path / "2").calls.spending()
    assert spending == Spending()
    for one, other in zip(
        sorted(first.outcomes, key=lambda o: o.problem), sorted(again.outcomes, key=lambda o: o.problem), strict=True
    ):
        assert one.attempt is not None
        assert one.attempt.model_copy(update={"reused": True}) == other.attempt
        assert (one.reused, other.reused, one.grade and one.grade.resolved) == (False, True, True)
    (view,) = build_view([again], (), Evidence(calls={(again.manifest.id, candidate.key()): 0})).candidates
    assert view.measures.costs.total_usd == pytest.approx(3 * 0.015), "what the attempts cost, whenever that was"
    assert view.measures.costs.lost_calls == 0
    assert any("3 of 3 answers were made and paid for by earlier runs" in doubt for doubt in view.doubts)
    with pytest.raises(UsageError, match=r"earlier runs made 3 answers of"):
        samples_of(again)


def test_what_determines_an_answer_is_in_the_key(own_suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    cache = tmp_path / "c"
    made(own_suite, tmp_path / "1", cache, server.spec())
    made(own_suite, tmp_path / "2", cache, server.spec(sampling=Sampling(temperature=0.5)))
    assert len(server.asked) == 6, "another candidate"
    run_here(own_suite, tmp_path / "3", server.spec(), samples=2, cache=cache)
    assert len(server.asked) == 9, "another sample"
    statement = own_suite.folder / "problems" / "calc-half" / "statement.md"
    stored = statement.with_name("problem.yml")
    before, after = statement.read_bytes(), statement.read_bytes() + b"Always.\n"
    statement.write_bytes(after)
    stored.write_text(stored.read_text().replace(sha256(before), sha256(after)))
    made(own_suite, tmp_path / "4", cache, server.spec())
    assert len(server.asked) == 10, "another problem"


def test_what_is_broken_or_another_attempt_is_not_used(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    candidate = server.spec()
    made(suite, tmp_path / "1", tmp_path / "c", candidate)
    first, second, third = sorted((tmp_path / "c" / candidate.key()).iterdir())
    first.write_text(first.read_text()[:-20])
    second.write_bytes(third.read_bytes())
    outside = tmp_path / "outside.json"
    outside.write_bytes(third.read_bytes())
    third.unlink()
    third.symlink_to(outside)
    again, said = made(suite, tmp_path / "2", tmp_path / "c", candidate)
    assert len(server.asked) == 6
    assert not any(outcome.reused for outcome in again.outcomes)
    for path in (first, second, third):
        assert sum(str(path) in line for line in said.splitlines()) == 1
    assert outside.read_bytes() != b"", "nothing is written through a link"
    made(suite, tmp_path / "3", tmp_path / "c", candidate)
    assert len(server.asked) == 6, "new answers have taken their place"


def test_a_folder_that_cannot_be_written_to_ends_no_run(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "c").write_text("a file, as full as any disk")
    run, said = made(suite, tmp_path / "1", tmp_path / "c", server.spec())
    assert [outcome.grade is not None for outcome in run.outcomes] == [True] * 3
    assert said.count("answers are not kept for later runs: cannot write") == 1


def test_a_fault_is_not_kept(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    server.script = lambda name, turn, request: Said(status=500) if name == "half" else Said(answer(name))
    run, _ = made(suite, tmp_path / "1", tmp_path / "c", server.spec())
    assert [outcome.problem for outcome in run.outcomes if outcome.fault] == ["calc-half"]
    assert len(list((tmp_path / "c").glob("*/*.json"))) == 2
    server.script = always_right
    again, _ = made(suite, tmp_path / "2", tmp_path / "c", server.spec())
    assert sorted((outcome.problem, outcome.reused) for outcome in again.outcomes) == [
        ("calc-double", True), ("calc-half", False), ("calc-square", True),
    ]  # fmt: skip


def test_a_content_filters_refusal_is_asked_again(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    filtered = {"error": {"message": "The response was filtered", "code": "content_filter"}}
    declined, refused = Said(raw=json.dumps(filtered).encode(), status=400), Said("", finish="content_filter")
    kinds = {"half": declined, "double": refused, "square": Said("I will not.")}
    server.script = lambda name, turn, request: kinds[name]
    first, _ = made(suite, tmp_path / "1", tmp_path / "c", server.spec())
    assert [outcome.grade and outcome.grade.failure for outcome in first.outcomes].count("refused") == 2
    server.script = always_right
    again, _ = made(suite, tmp_path / "2", tmp_path / "c", server.spec())
    assert {outcome.problem: outcome.reused for outcome in again.outcomes} == {
        "calc-double": False, "calc-half": False, "calc-square": True,
    }  # fmt: skip


def test_an_agents_answers_are_kept_where_its_version_and_day_are_pinned(own_suite: Suite, tmp_path: Path) -> None:
    suite = only(own_suite, "square")
    with ScriptedModel(play) as model:
        loose, exact = spec(model, version="1"), spec(model, version="1", as_of="2026-01-01")
        made(suite, tmp_path / "1", tmp_path / "c", loose, exact)
        asked = model.answered
        run, _ = made(suite, tmp_path / "2", tmp_path / "c", loose, exact)
        assert model.answered == asked + 4
    assert {outcome.reused for outcome in run.of(exact.key())} == {True}
    assert {outcome.reused for outcome in run.of(loose.key())} == {False}


def test_a_regression_is_confirmed_by_fresh_answers(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    server.script = various(worse="model-y")
    old, new = server.spec(), server.spec().model_copy(update={"model": "model-y"})
    made(suite, tmp_path / "1", tmp_path / "c", old)
    kept = len(list((tmp_path / "c").glob("*/*.json")))
    asked = len(server.asked)
    run, _ = made(suite, tmp_path / "2", tmp_path / "c", new, gate=Gate(all_solved(suite, old, 5), STRICT))
    assert run.confirmation is not None
    assert not any(outcome.reused for outcome in run.confirmation.outcomes)
    assert len(server.asked) == asked + 3 + 9
    assert len(list((tmp_path / "c").glob("*/*.json"))) == kept + 3, "and they are not kept as a candidate's samples"


def test_the_command_reuses_and_says_so(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    tried = ("--sandbox", "bwrap", "--no-precheck", "--limit", "1", "--cache", "c")
    words = ("run", suite.folder, "--candidate", server.candidate, *tried)
    assert codegate(*words, "--out", "1", cwd=tmp_path).code == 0
    done = codegate(*words, "--out", "2", cwd=tmp_path)
    assert (done.code, len(server.asked)) == (0, 1), done.stderr
    assert "1 of 1 answers are reused from earlier runs" in done.stderr
