"""``codegate plan``: what a gate can find and what it will take, before anything is spent."""

import json
import re
import shlex
from decimal import Decimal
from pathlib import Path

import pytest

from codegate.candidates import CandidateSpec, Prices, Usage
from codegate.running import Outcome, Run, load_run
from codegate.running.expenses import sample_dollars, sample_expense
from codegate.solving import AttemptSummary
from codegate.suite import Suite
from tests.kit.repository import run_git
from tests.kit.runs import manifest, outcome, pinned, solved, write_pinned
from tests.running.world import NAMES, ModelServer, codegate


@pytest.mark.sandbox
def test_without_a_baseline_a_usual_suite_is_assumed(suite: Suite, tmp_path: Path) -> None:
    done = codegate("plan", suite.folder, "--drop", "0.1", "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    plan = done.document
    assert (plan["schema"], plan["problems"], plan["baseline"]) == ("codegate.plan/1", 3, None)
    power = plan["power"]
    assert (power["problems"], power["max_samples"]) == (3, 10)
    assert power["equal"]["passed"] == 0, "three are too few"
    assert "nothing passes below 10 problems (`gate.min_problems`); " in " ".join(done.stderr.split())
    assert 0 < plan["found"] < 1
    assert f"a drop of 10 pp is found in {plan['found']:.0%} of gates with up to 10 samples" in done.stderr
    assert "a pass rate of 60% assumed" in done.stderr
    rows = [line.split() for line in done.stderr.splitlines()]
    shares = [f"{power['equal'][name]:.0%}" for name in ("passed", "regressed", "inconclusive")]
    assert ["equal", "on", "these", "problems", *shares, f"{power['equal']['samples']:.1f}"] in rows, done.stderr
    assert max(map(len, done.stderr.splitlines())) <= 80


@pytest.mark.bwrap
def test_with_a_baseline_all_follows_from_it(suite: Suite, tmp_path: Path) -> None:
    run = ("run", suite.folder, "--candidate", "reference", "--sandbox", "bwrap", "--no-precheck", "--out", "runs/r")
    assert codegate(*run, cwd=tmp_path).code == 0
    journal = tmp_path / "runs" / "r" / "outcomes.jsonl"  # a grade that is remembered takes no time
    journal.write_text(re.sub(r'("grading_seconds": ?)[0-9.e-]+', r"\g<1>2.5", journal.read_text()))
    assert codegate("baseline", "pin", "runs/r", "--min-samples", "1", cwd=tmp_path).code == 0
    (tmp_path / "codegate.yml").write_text(
        f"suite: {suite.folder}\ncandidates:\n  - provider: openai\n    model: m-2025-01-01\n"
        "    prices: {input: 1, output: 2}\nconcurrency: {models: 1, sandboxes: 1}\nsamples: 2\n"
    )
    done = codegate("plan", "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    plan = done.document
    assert plan["baseline"]
    assert "no folder in runs/" not in done.stderr, "the run is there, under a name of its own"
    assert plan["power"]["max_samples"] == 2
    (expense,) = plan["expenses"].values()
    assert expense["samples_known"] == 3
    assert expense["measured"] is False, "the reference has no tokens"
    assert expense["minutes"][1] > 0
    (tmp_path / "runs").rename(tmp_path / "elsewhere")
    clone = codegate("plan", "--json", cwd=tmp_path)
    assert "no folder in runs/ holds run" in clone.stderr
    assert "of the pinned baseline, whose file keeps no tokens and times" in clone.stderr
    assert "runs/ has no folder of a pinned run with the same solver" in " ".join(clone.stderr.split())


def test_what_a_sample_takes_is_the_mean_of_those_that_came_to_something() -> None:
    def made(tokens: int, seconds: float) -> Outcome:
        attempt = AttemptSummary(
            solver="single_shot",
            prompt_version="1",
            usage=Usage(input_tokens=tokens, output_tokens=10, cached_tokens=0),
            model_seconds=seconds,
            tool_seconds=1.0,
        )
        return outcome(True).model_copy(update={"attempt": attempt, "grading_seconds": 3.0})

    run = Run(manifest=manifest(), outcomes=(made(100, 4.0), made(300, 6.0), outcome(None)))
    spec = manifest().candidates[0].model_copy(update={"prices": Prices(input=Decimal(1), output=Decimal(10))})
    expense = sample_expense([run], spec)
    assert (expense.samples, expense.input_tokens.value, expense.output_tokens.value) == (2, 200.0, 10.0)
    assert expense.usd.value == pytest.approx(0.0003)
    assert expense.minutes(60, models=2, sandboxes=1).value == pytest.approx(4.0)
    assert expense.minutes(60, models=1, sandboxes=3).value == pytest.approx(6.0)
    agent = spec.model_copy(update={"solver": "agent"})
    named = run.manifest.model_copy(update={"candidates": (agent,)})
    its = tuple(one.model_copy(update={"candidate": agent.key()}) for one in run.outcomes)
    of_agent = Run(manifest=named, outcomes=its)
    held = sample_expense([of_agent], agent).minutes(60, models=4, sandboxes=2)
    assert held.value == pytest.approx(4.5), "an agent has its sandbox while its model answers, too"
    nothing = sample_expense([], spec)
    assert (nothing.samples, nothing.usd.value, nothing.minutes(60, 1, 1).value) == (0, None, None)


@pytest.mark.bwrap
def test_a_gate_is_priced_before_it_runs(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    candidates = [
        {"provider": "openai", "model": "model-x", "base_url": server.url, "sampling": {"max_output_tokens": 500}},
        {"provider": "openai", "model": "gpt-5-2025-08-07", "solver": "tool_loop"},
        {"agent": "codex", "version": "1", "model": "openai:gpt-5-2025-08-07", "usd": 2},
        {"provider": "openai", "model": "model-x", "base_url": server.url, "solver": "tool_loop"},
    ]
    config = {
        "suite": str(suite.folder),
        "budget_usd": 20,
        "prices": {"model-x": {"input": 100, "output": 1000}},
        "candidates": candidates,
    }
    (tmp_path / "codegate.yml").write_text(json.dumps(config))
    done = codegate("plan", "--json", "--samples", "2", cwd=tmp_path)
    assert done.code == 0, done.stderr
    shot, loop, agent, own = done.document["expenses"].values()
    assert server.asked == []
    assert "(genai-prices 0." in done.stderr
    assert re.search(rf"tokens of a .*\b{shot['prompt_tokens']['median']:,},", done.stderr), done.stderr
    assert 200 < shot["prompt_tokens"]["median"] <= shot["prompt_tokens"]["most"] < 1000
    assert 500 < loop["prompt_tokens"]["median"] <= loop["prompt_tokens"]["most"] < 2000, "with its tools"
    assert agent["prompt_tokens"] is None, "it writes its own"
    assert shot["gate_usd"]["expected"][1] == pytest.approx(6 * (shot["prompt_tokens"]["most"] * 100 + 2e6) / 1e6, 0.01)
    assert loop["gate_usd"]["expected"] is None, "what its turns send is not known before"
    # Five calls of 400,000 tokens in and 32,000 out, on three problems, twice and thrice again to confirm.
    assert loop["gate_usd"]["worst"] == pytest.approx(15 * 5 * (0.402 * 1.25 + 0.032 * 10))
    notes = " ".join(done.stderr.split())
    assert "a tool loop or an agent without `usd` or `tokens` costs at most what calls that fill the model's" in notes
    assert (agent["gate_usd"]["worst"], agent["baseline_usd"]["worst"]) == (15 * 2.0, 30 * 2.0), "its own limit"
    assert own["gate_usd"]["worst"] is None, "how much its model takes is not known"
    assert "`budget_usd` stops each run at $20" in notes

    # What a run sets aside, and then pays, is what the plan said.
    (tmp_path / "codegate.yml").write_text(json.dumps({**config, "candidates": candidates[:1]}))
    ran = codegate("run", "--out", "runs/r", "--sandbox", "bwrap", "--no-precheck", cwd=tmp_path)
    assert ran.code == 0, ran.stderr
    calls = (tmp_path / "runs" / "r" / "calls.log").read_text().split("\n")
    reserved = sum(Decimal(line.split()[2]) for line in calls if line.startswith("call "))
    assert float(reserved) == pytest.approx(shot["baseline_usd"]["worst"] / 10)
    (tmp_path / "codegate.yml").write_text(json.dumps({**config, "candidates": candidates[:2]}))
    again = codegate("plan", "--json", "--like", "runs/r", cwd=tmp_path)
    known, loop = again.document["expenses"].values()
    assert loop["samples_known"] == 0 < known["samples_known"], "single answers tell nothing about a loop of calls"
    assert (known["measured"], known["baseline_usd"]["expected"]) == (True, pytest.approx(30 * 0.006))


@pytest.mark.bwrap
def test_a_gate_of_several_candidates_is_priced_as_a_whole(suite: Suite, tmp_path: Path) -> None:
    models = {"model-x": {"input": 100, "output": 1000}, "model-y": {"input": 1, "output": 2}}
    own = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}
    config = {"suite": str(suite.folder), "prices": models, "candidates": [{**own, "model": name} for name in models]}
    (tmp_path / "codegate.yml").write_text(json.dumps(config))
    done = codegate("plan", "--json", "--samples", "2", cwd=tmp_path)
    whole = sum(one["gate_usd"]["expected"][0] for one in done.document["expenses"].values())
    assert f"a gate of all 2 candidates: about ${whole:.2f}" in done.stderr


@pytest.mark.bwrap
def test_the_confirmation_costs_what_the_pinned_model_does(suite: Suite, tmp_path: Path) -> None:
    spec = CandidateSpec(provider="openai", model="gpt-5-2025-08-07")  # $10 for a million tokens of output
    problems = {problem.id: problem.digest for problem in suite.active}
    write_pinned(tmp_path, pinned(solved(manifest(1, (spec,), problems=problems, suite_digest=suite.digest)), spec))
    cheap: dict[str, object] = {"provider": "openai", "model": "model-x", "base_url": "http://127.0.0.1:9/v1"}
    cheap |= {"prices": {"input": 0.05, "output": 0.3}, "sampling": {"max_output_tokens": 500}}
    (tmp_path / "codegate.yml").write_text(json.dumps({"suite": str(suite.folder), "candidates": [cheap]}))
    done = codegate("plan", "--samples", "1", "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    (expense,) = done.document["expenses"].values()
    own = expense["baseline_usd"]["worst"] / 10
    assert 9 * 0.32 < expense["gate_usd"]["worst"] - own < 9 * 0.33


def test_calls_of_helpers_fill_their_own_context() -> None:
    fields = {"provider": "anthropic", "model": "claude-haiku-4-5-20251001", "prices": {"input": 1, "output": 5},
              "agent": "claude-code", "version": "1", "tokens": 1_000_000}  # fmt: skip
    dear = {"input": 3, "output": 15}

    def worst(**changes: object) -> Decimal | None:
        spec = CandidateSpec.model_validate({**fields, **changes})
        return sample_dollars(spec, sample_expense([], spec), None, calls_at_once=2).worst

    alone = worst()
    helped = worst(harness={"models": {"subagent": "claude-sonnet-4-6"}},
                   prices={"input": 1, "output": 5, "helpers": {"claude-sonnet-4-6": dear}})  # fmt: skip
    unknown = worst(harness={"models": {"subagent": "claude-own-1"}},
                    prices={"input": 1, "output": 5, "helpers": {"claude-own-1": dear}})  # fmt: skip
    # All tokens as output, and two calls of a whole context and 32,000 tokens of output.
    assert alone == 5 + 2 * Decimal("0.202") + 2 * Decimal("0.16")
    assert helped == 15 + 2 * 3 * Decimal("1.002") + 2 * Decimal("0.48")
    assert unknown is None


@pytest.mark.bwrap
def test_a_pilot_prices_the_rest_of_its_run_and_is_paid_for_once(
    suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    candidates = [
        {"provider": "openai", "model": model, "base_url": server.url, "prices": {"input": 100, "output": price}}
        for model, price in (("model-x", 1000), ("model-y", 2000))
    ]
    config: dict[str, object] = {"suite": str(suite.folder), "sandbox": "bwrap", "candidates": candidates}
    (tmp_path / "codegate.yml").write_text(json.dumps(config))
    done = codegate("plan", "--pilot=2", "--samples", "1", "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert len(server.asked) == 4, "two problems for each candidate"
    cheap, dear = done.document["expenses"].values()
    for one in (cheap, dear):
        assert (one["samples_known"], one["problems_known"], one["own"], one["measured"]) == (2, 2, True, True)
        (least, most), (low, high) = one["gate_usd"]["expected"], one["gate_usd"]["interval"]
        assert least == most
        assert low <= least <= high
        assert one["minutes_interval"]
    assert dear["gate_usd"]["expected"] > cheap["gate_usd"]["expected"], "each by its own samples"
    pilot = done.document["pilot"]
    assert pilot["samples"] == 4
    assert f"this continues its run:\n{pilot['continue']}" in done.stderr
    # A job of CI begins anew: it resumes what it names.
    assert codegate("plan", "--pilot=2", "--samples", "1", cwd=tmp_path, environment={"CI": ""}).code == 0
    assert len(server.asked) == 4, "the same pilot again is the one that is there"
    ran = codegate(*shlex.split(pilot["continue"])[1:], cwd=tmp_path)
    assert ran.code == 0, ran.stderr
    assert len(server.asked) == 6
    assert len(load_run(tmp_path / pilot["run"]).outcomes) == 6


@pytest.mark.bwrap
@pytest.mark.full
def test_a_gated_run_goes_on_from_its_pilot_by_itself(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    model = {"provider": "openai", "model": "model-x", "base_url": server.url}
    config = {"suite": str(suite.folder), "sandbox": "bwrap", "samples": 1, "candidates": ["reference"]}
    (tmp_path / "codegate.yml").write_text(json.dumps(config))
    assert codegate("run", "--out", "pinned", cwd=tmp_path).code == 0
    assert codegate("baseline", "pin", "pinned", "--min-samples", "1", cwd=tmp_path).code == 0
    (tmp_path / "codegate.yml").write_text(json.dumps({**config, "candidates": [model]}))
    here = {"CI": ""}
    done = codegate("plan", "--pilot=1", "--json", cwd=tmp_path, environment=here)
    assert (done.code, len(server.asked)) == (0, 1), done.stderr
    assert done.document["pilot"]["usd"] is None, "unknown, and not nothing"
    assert "the pilot made 1 sample for a price that is not known" in done.stderr
    ran = codegate("run", cwd=tmp_path, environment=here)
    assert ran.code == 3, ran.stderr
    assert "has the same plan: its outcomes are reused" in ran.stderr
    assert sorted(server.asked) == sorted(NAMES), "each problem once"


@pytest.mark.bwrap
def test_a_pilot_is_refused_where_a_run_would_be(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    model = {"provider": "openai", "model": "model-x", "base_url": server.url}
    config = {"suite": str(suite.folder), "sandbox": "bwrap", "budget_usd": 5, "candidates": [model]}
    (tmp_path / "codegate.yml").write_text(json.dumps(config))
    done = codegate("plan", "--pilot", cwd=tmp_path)
    assert (done.code, server.asked) == (2, [])
    assert "a budget in dollars needs to know what" in done.stderr
    refused = codegate("plan", "--pilot", "--shards", "2", cwd=tmp_path)
    assert (refused.code, server.asked) == (2, [])
    endless = codegate("run", "--max-minutes", "nan", cwd=tmp_path)
    assert (endless.code, "'nan' is no number" in endless.stderr) == (2, True)


def test_prompts_that_cannot_be_measured_are_said_to_be(suite: Suite, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    run_git(tmp_path / "empty", "init", "--quiet")
    words = ("--candidate", "openai:gpt-5-2025-08-07", "--repository", "empty")
    done = codegate("plan", suite.folder, *words, cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert "the prompts of openai:gpt-5-2025-08-07 cannot be measured" in done.stderr
    assert re.search("tokens of a first prompt: median, most +–", done.stdout), done.stdout


@pytest.mark.sandbox
def test_what_a_harness_means_here_is_listed(suite: Suite, tmp_path: Path) -> None:
    agent = {"agent": "claude-code", "version": "2.1.330", "model": "anthropic:claude-haiku-4-5-20251001"}
    repository = suite.folder.parent / "repository"
    for name in ("CLAUDE.md", "calc/AGENTS.md"):
        (repository / name).write_text("x")
    (repository / "codegate.yml").write_text(json.dumps({"candidates": [{**agent, "name": "c", "harness": "."}]}))
    done = codegate("plan", suite.folder, "--json", cwd=repository)
    assert done.code == 0, done.stderr
    assert done.document["harness"] == {"c": ["CLAUDE.md", "calc/AGENTS.md"]}
    assert "c is given 2 files of this repository: CLAUDE.md, calc/AGENTS.md" in done.stderr


def test_the_limit_of_model_calls_is_each_runs_own(suite: Suite, tmp_path: Path) -> None:
    done = codegate("plan", suite.folder, "--candidate", "openai:gpt-5-2025-08-07", "--json", cwd=tmp_path)
    assert done.document["model_calls"] == {"baseline": 30, "gate": 39, "limit": 39 + 3 + 10}, done.stderr
    assert "the limit is each run's, so `max_model_calls: 52` is enough for either" in done.stderr
