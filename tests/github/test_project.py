"""In a pull request the proposal says who is asked, and the base commit everything that decides."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from codegate.environments import Recipe
from codegate.errors import UsageError
from codegate.github.inputs import read_inputs
from codegate.operations.rules import Project, Skipped, project_of
from codegate.running.config import with_user_prices
from codegate.suite import GitError
from tests.github.runner import variables
from tests.kit.repository import commit_all

RULES = (
    "suite: suites/own\ncandidates: [reference]\nbudget_usd: 3\ngate: {margin: 0.05, newer_than: 2025-01-31}\n"
    "prices: {m-2025-01-01: {input: 2, output: 8}}\n"
)
PROPOSED = (
    "suite: suites/easy\ncandidates: ['openai:m-2025-01-01', 'openai:n-2025-01-01']\nbudget_usd: 9999\n"
    "gate: {margin: 0.25, alpha: 0.01, newer_than: 2025-05-31}\nbaseline: other.lock\n"
    "prices: {m-2025-01-01: {input: 0, output: 0}, n-2025-01-01: {input: 1, output: 1}}\n"
)


def commit(workspace: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    return commit_all(workspace)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


def project(workspace: Path, base: str | None, scratch: Path, **inputs: str) -> Project:
    return project_of(read_inputs({"GITHUB_WORKSPACE": str(workspace), **variables(inputs)}), base, scratch)


@pytest.mark.requirement("F3")
def test_a_pull_request_proposes_candidates_and_their_prices(workspace: Path, scratch: Path) -> None:
    base = commit(
        workspace,
        {"codegate.yml": RULES, "codegate.lock": "the pinned", "suites/own/suite.yml": "own", "suites/easy/x": "easy"},
    )
    (workspace / "suites/own/suite.yml").write_text("made easier")
    (workspace / "codegate.lock").unlink()
    (workspace / "codegate.yml").write_text(PROPOSED)
    commit_all(workspace)
    found = project(workspace, base, scratch)
    assert found.notes == (
        "This change edits suites/own and codegate.yml (baseline, budget_usd, gate, suite); until it is "
        "merged, what the base commit has counts.",
    )
    assert [spec.label for spec in found.settings.candidates] == ["openai:m-2025-01-01", "openai:n-2025-01-01"]
    assert [spec.prices.input for spec in found.settings.candidates if spec.prices] == [Decimal(2), Decimal(1)]
    assert (found.settings.gate.margin, found.settings.budget_usd) == (0.05, Decimal(3))
    assert found.settings.gate.newer_than == date(2025, 1, 31), "a proposal does not choose its problems"
    assert (found.suite / "suite.yml").read_text() == "own"
    assert not (found.suite.parent / "easy").exists()
    assert found.lock == "codegate.lock"
    assert (found.repository, found.transcripts) == (workspace, workspace)


def test_a_pull_request_does_not_choose_what_the_project_is_built_with(workspace: Path, scratch: Path) -> None:
    own = "environment: {setup: [uv sync --frozen], secrets: [INDEX_TOKEN], hosts: [index.example.com]}\n"
    base = commit(workspace, {"codegate.yml": RULES + own, "suites/own/suite.yml": "own"})
    other = "environment: {image: evil:1, setup: [./steal], packages: [nc], secrets: [KEY], hosts: [evil.example]}\n"
    (workspace / "codegate.yml").write_text(RULES + other)
    commit_all(workspace)
    found = project(workspace, base, scratch)
    assert found.settings.environment == Recipe(
        setup=("uv sync --frozen",), secrets=("INDEX_TOKEN",), hosts=("index.example.com",)
    )
    assert found.notes == (
        "This change edits codegate.yml (environment); until it is merged, what the base commit has counts.",
    )


@pytest.mark.parametrize("rules", ["", None])
def test_a_base_without_a_recipe_takes_none_from_a_pull_request(
    workspace: Path, scratch: Path, rules: str | None
) -> None:
    files = {"suites/own/suite.yml": "own"} | ({"codegate.yml": RULES} if rules is not None else {})
    base = commit(workspace, files)
    (workspace / "codegate.yml").write_text(RULES + "environment: {setup: [./steal], secrets: [KEY]}\n")
    commit_all(workspace)
    assert project(workspace, base, scratch, suite="suites/own").settings.environment is None


def test_prompts_of_the_base_are_read_from_it_and_proposed_ones_are_under_test(workspace: Path, scratch: Path) -> None:
    rules = "suite: suites/own\ncandidates: [{provider: openai, model: m-2025-01-01, prompt: {system: p/s.md}}]\n"
    files = {"ci/codegate.yml": rules, "ci/p/s.md": "Be good.", "ci/suites/own/suite.yml": "own"}
    base = commit(workspace, files)
    (workspace / "ci/p/s.md").write_text("Be better.")
    found = project(workspace, base, scratch, config="ci/codegate.yml")
    texts = [one.prompt.system_text for one in (*found.settings.candidates, *found.trusted) if one.prompt is not None]
    assert texts == ["Be better.", "Be good."]


def test_without_a_base_the_workspace_has_the_say(workspace: Path, scratch: Path) -> None:
    commit(workspace, {"ci/codegate.yml": RULES.replace("suites/own", "../suites/own"), "ci/codegate.lock": "pinned"})
    found = project(workspace, None, scratch, config="ci/codegate.yml")
    assert found.suite == workspace / "suites/own"
    assert found.lock == "ci/codegate.lock"
    assert (found.repository, found.transcripts) == (None, workspace / "ci")
    assert not list(scratch.iterdir())
    (workspace / "ci/codegate.lock").unlink()
    assert project(workspace, None, scratch, config="ci/codegate.yml").lock is None


def test_a_base_without_a_suite_has_nothing_to_gate_with(workspace: Path, scratch: Path) -> None:
    bare = commit(workspace, {"readme": "x"})
    base = commit(workspace, {"codegate.yml": RULES})
    commit(workspace, {"suites/own/suite.yml": "own"})
    with pytest.raises(Skipped, match=r"has no codegate\.yml"):
        project(workspace, bare, scratch)
    with pytest.raises(Skipped, match="has no suite at suites/own"):
        project(workspace, base, scratch)
    with pytest.raises(GitError, match="fetch-depth: 0"):
        project(workspace, "1" * 40, scratch)


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("codegate.lock", "pins/real.lock"), ("codegate.yml", "ci/codegate.yml"), ("suites/own", "../elsewhere"),
        ("suites", "elsewhere"), ("suites/own/problems", "/etc"),
    ],
)  # fmt: skip
def test_a_link_at_the_base_does_not_decide(workspace: Path, scratch: Path, link: str, target: str) -> None:
    files = {"codegate.yml": RULES, "codegate.lock": "pinned", "suites/own/suite.yml": "own", "elsewhere/own/x": ""}
    kept = {name: text for name, text in files.items() if name != link and not name.startswith(f"{link}/")}
    if link == "suites/own/problems":
        kept = files
    commit(workspace, kept | {"suites.txt": "x"})
    (workspace / link).parent.mkdir(parents=True, exist_ok=True)
    (workspace / link).symlink_to(target)
    base = commit(workspace, {})
    (workspace / link).unlink()
    with pytest.raises(UsageError, match="is a symbolic link in the base commit"):
        project(workspace, base, scratch, suite="suites/own")


def test_a_suite_that_nobody_has_is_a_mistake(workspace: Path, scratch: Path) -> None:
    base = commit(workspace, {"codegate.yml": RULES.replace("suites/own", "suites/owm"), "suites/own/suite.yml": ""})
    with pytest.raises(UsageError, match="there is no suite at suites/owm, neither here nor at the base"):
        project(workspace, base, scratch)
    (workspace / "codegate.yml").write_text(RULES.replace("suites/own", "../../etc"))
    with pytest.raises(UsageError, match="`suite` in the configuration leaves the workspace"):
        project(workspace, None, scratch)


def test_a_proposal_names_and_prices_nothing_that_the_base_knows(workspace: Path, scratch: Path) -> None:
    long = "{provider: openai, model: m-2025-01-01, name: %s, prices: {input: %d, output: %d}}"
    rules = f"suite: suites/own\nbudget_usd: 5\ncandidates: [{long % ('ours', 2, 8)}]\n"
    base = commit(workspace, {"codegate.yml": rules, "suites/own/suite.yml": "own"})
    config = workspace / "codegate.yml"
    config.write_text(f"candidates: [{long % ('x', 0, 0)}, {{provider: reference, name: 'openai:gpt-5-2025-08-07'}}]\n")
    asked, answers = project(workspace, base, scratch).settings.candidates
    assert asked.prices is not None
    assert (asked.prices.output, asked.label, answers.label) == (Decimal(8), "openai:m-2025-01-01", "reference")
    config.write_text(f"candidates: [{(long % ('x', 0, 0)).replace('m-2025', 'n-2025')}]\n")
    with pytest.raises(UsageError, match="there is a budget in dollars, and only the proposal says what"):
        project(workspace, base, scratch).run()
    config.write_text(f"candidates: [{(long % ('x', 1, 1)).replace('m-2025-01-01', 'gpt-4o-2024-08-06')}]\n")
    (asked,) = project(workspace, base, scratch).settings.candidates
    assert asked.prices is not None
    assert asked.prices.output == Decimal(10), "of the list"
    helped = "agent: opencode, version: '1', model: openai:m-2025-01-01, harness: {models: {small: %s}}"
    cheap = "prices: {input: 1, output: 1, helpers: {%s: {input: %d, output: %d}}}"
    for helper, price in (("gpt-4o-2024-08-06", Decimal(10)), ("m-2025-02-02", Decimal(1))):
        config.write_text(f"candidates: [{{{helped % helper}, {cheap % (helper, 1, 1)}}}]\n")
        (asked,) = project(workspace, base, scratch).settings.candidates
        assert asked.prices is not None
        assert (asked.prices.output, asked.prices.helpers[helper].output) == (Decimal(8), price)
    new = (helped % "gpt-4o-2024-08-06").replace("m-2025-01-01", "new-2025-03-03")
    config.write_text(f"candidates: [{{{new}, {cheap % ('gpt-4o-2024-08-06', 1, 1)}}}]\n")
    (asked,) = project(workspace, base, scratch).settings.candidates
    assert asked.prices is not None
    assert asked.prices.helpers["gpt-4o-2024-08-06"].output == Decimal(10), "of the list, though the candidate is not"
    config.write_text(f"candidates: [{{{helped % 'm-2025-02-02'}, {cheap % ('m-2025-02-02', 0, 0)}}}]\n")
    with pytest.raises(UsageError, match="there is a budget in dollars, and only the proposal says what"):
        project(workspace, base, scratch).run()


def test_a_models_price_is_the_one_that_the_base_declares_for_its_address(workspace: Path, scratch: Path) -> None:
    at = "{provider: openai, model: gpt-4o-2024-08-06, base_url: 'https://%s.corp.example/v1', %s}"
    dear, free = at % ("dear", "prices: {input: 2, output: 8}"), at % ("free", "prices: {input: 0, output: 0}")
    rules = f"suite: suites/own\nbudget_usd: 1\ncandidates: [{dear}, {free}]\n"
    base = commit(workspace, {"codegate.yml": rules, "suites/own/suite.yml": "own"})
    proposed = f"candidates: [{dear}, {free}, 'openai:gpt-4o-2024-08-06']\n"
    (workspace / "codegate.yml").write_text(proposed.replace("output: 8", "output: 0"))
    asked = project(workspace, base, scratch).run().candidates
    assert [one.prices and one.prices.output for one in asked] == [8, 0, 10]
    # A pinned model too has no price of another address.
    pinned = with_user_prices(asked[2].model_copy(update={"prices": None}), asked[:2], {})
    assert pinned.prices is not None
    assert pinned.prices.output == 10


def test_no_price_of_a_proposal_alone_counts_for_a_budget(workspace: Path, scratch: Path) -> None:
    model = "{provider: openai, model: %s, base_url: 'https://models.corp.example/v1'%s}"
    cheap = ", prices: {input: 0.000001, output: 0.000001}"
    known, new, listed = model % ("m-2025-01-01", cheap), model % ("new-2025-01-01", cheap), "openai:gpt-5-2025-08-07"
    rules = f"suite: suites/own\ncandidates: [{model % ('m-2025-01-01', ', prices: {input: 2, output: 8}')}]\n"
    base = commit(workspace, {"codegate.yml": rules, "suites/own/suite.yml": "own"})
    table = "prices: {gpt-5-2025-08-07: {input: 0.000001, output: 0.000001}}\n"
    (workspace / "codegate.yml").write_text(f"candidates: [{known}, '{listed}']\n{table}")
    upgrade = project(workspace, base, scratch).run(budget_usd=Decimal(2))
    assert [one.prices and one.prices.output for one in upgrade.candidates] == [Decimal(8), Decimal(10)]
    assert "gpt-5-2025-08-07" not in upgrade.prices, "by which a pinned model is priced"
    (workspace / "codegate.yml").write_text(f"candidates: [{known}, {new}]\n")
    proposed = project(workspace, base, scratch)
    assert proposed.run().options.budget_usd is None
    budgets: tuple[dict[str, Any], ...] = ({"budget_usd": Decimal(2)}, {"budget_usd_per_month": Decimal(2)})
    for budget in budgets:
        with pytest.raises(UsageError, match=r"only the proposal says what openai:new-2025-01-01@.* costs"):
            proposed.run(**budget)


def test_an_input_names_a_configured_candidate(workspace: Path, scratch: Path) -> None:
    candidate = "{provider: openai, model: m-2025-01-01, solver: tool_loop}"
    commit(workspace, {"codegate.yml": f"suite: s\ncandidates: [{candidate}]\n"})
    for name in ("m-2025-01-01", "openai:m-2025-01-01"):
        (spec,) = project(workspace, None, scratch, candidates=name).settings.candidates
        assert spec.solver == "tool_loop", "else a baseline would be of another solver than the gate's candidate"
    (other,) = project(workspace, None, scratch, candidates="openai:n-2025-01-01").settings.candidates
    assert other.solver != spec.solver


def test_an_input_that_fits_several_candidates_chooses_none(workspace: Path, scratch: Path) -> None:
    model = "{provider: openai, model: m-2025-01-01, name: %s, sampling: {max_output_tokens: %d}}"
    both = f"{model % ('short', 2000)}, {model % ('long', 9000)}"
    commit(workspace, {"codegate.yml": f"suite: s\ncandidates: [{both}]\n"})
    (spec,) = project(workspace, None, scratch, candidates="long").settings.candidates
    assert spec.sampling.max_output_tokens == 9000
    with pytest.raises(UsageError, match=r"2 candidates of the configuration fit 'm-2025-01-01'"):
        project(workspace, None, scratch, candidates="m-2025-01-01")


def test_candidates_of_the_inputs_win(workspace: Path, scratch: Path) -> None:
    base = commit(workspace, {"codegate.yml": RULES, "suites/own/suite.yml": "own"})
    found = project(workspace, base, scratch, candidates="empty", repository="sub")
    assert [spec.label for spec in found.settings.candidates] == ["empty"]
    assert found.repository == workspace / "sub"
    (workspace / "codegate.yml").unlink()
    with pytest.raises(UsageError, match="no candidate was given"):
        project(workspace, None, scratch, suite="s")
