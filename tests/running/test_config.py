"""codegate.yml: every key, and what is refused."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from codegate.candidates import CandidateSpec, price_words
from codegate.errors import UsageError
from codegate.running import CONFIG_NAME, Config, config_schema, configuration, named_candidates
from codegate.running.config import candidate_files, load_config
from codegate.suite import read_yaml
from tests.kit.repository import make_repository, run_git

SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "codegate.schema.json"
EVERY_KEY = """\
suite: suites/mine
repository: ..
candidates:
  - openai:gpt-4o-2024-08-06
  - anthropic:claude-haiku-4-5-20251001
  - openai:qwen@http://127.0.0.1:8080/v1
  - replay:answers.jsonl
  - reference
  - provider: openai
    model: gpt-4o-2024-08-06
    base_url: https://models.example.org/v1
    allow_http: true
    api_key_env: OTHER_KEY
    name: by another way
    solver: tool_loop
    max_iterations: 3
    sampling: {temperature: 0.2, top_p: 0.9, max_output_tokens: 1000, seed: 7}
    timeout_seconds: 30
    training_cutoff: 2024-10-01
    snapshot: mine-2024-08-06
    headers: {x-team: gate}
    query: {api-version: v1}
    prices: {input: 2.5, output: 10, cache_read: 1.25, cache_write: 3.125}
samples: 3
sandbox: bwrap
engine: ray
concurrency: {models: 8, sandboxes: 3}
full_test_suite: true
max_model_calls: 100
max_minutes: 45.5
budget_usd: 20.5
budget_usd_per_month: 300
prices: {gpt-4o-2024-08-06: {input: 2.5, output: 10}}
sandbox_hour_usd: 0.12
score: {correctness: 0.5, latency: 0.1, cost: 0.2, context: 0.1, reliability: 0.1, latency_half: 60, cost_half: 1}
environment: {tools: {python: "3.13"}, setup: [uv sync --frozen], env: {KEY: dummy}, tests: pytest}
baseline: gate/codegate.lock
gate: {alpha: 0.01, margin: 0.05, min_problems: 20, max_samples: 1}
"""


HELPED = "agent: opencode, version: '1', model: 'openai:gpt-4o-2024-08-06'"


def load(folder: Path, text: str) -> Config:
    path = folder / CONFIG_NAME
    path.write_text(text)
    return load_config(path)


def test_every_key_is_read(tmp_path: Path) -> None:
    config = load(tmp_path, EVERY_KEY)
    assert set(config.model_dump()) == config.model_fields_set, "a key is missing from the example"
    assert config.concurrency.models == 8
    assert config.gate.margin == 0.05
    short, *_, long_form = config.candidates
    assert (short.provider, short.model, short.label) == ("openai", "gpt-4o-2024-08-06", "openai:gpt-4o-2024-08-06")
    elsewhere = {"agent", "harness", "prompt", "protocol", "max_prompt_tokens", "api_key_command"}
    assert type(long_form).model_fields.keys() == long_form.model_fields_set | elsewhere, "which have tests"
    assert long_form.sampling.seed == 7
    assert short.prices == config.prices["gpt-4o-2024-08-06"]
    assert long_form.prices is not None
    assert long_form.prices.cache_write == Decimal("3.125")


def test_prices_of_the_table_are_for_candidates_without_their_own(tmp_path: Path) -> None:
    load(tmp_path, "candidates: [reference]\nprices: {m-2025-01-01: {input: 1, output: 2}}")
    named = named_candidates(["openai:m-2025-01-01", "openai:n-2025-01-01"], "--candidate")
    settings, _ = configuration(named, tmp_path / CONFIG_NAME)
    assert [candidate.prices and candidate.prices.output for candidate in settings.candidates] == [2, None]
    known = "openai:gpt-4o-2024-08-06"
    declared = load(
        tmp_path, f"candidates: ['{known}', '{known}@https://x.org/v1']\nprices: {{m: {{input: 1, output: 2}}}}"
    )
    assert [candidate.prices and candidate.prices.output for candidate in declared.candidates] == [10, None]
    without_a_file, _ = configuration(named_candidates([known], "--candidate"), None)
    assert without_a_file.candidates == declared.candidates[:1]
    listed_at = f"candidates: [{{agent: codex, version: '1', usd: 1, model: '{known}'}}]"
    assert load(tmp_path, listed_at).candidates[0].prices, "a limit in dollars needs no declared prices"
    with pytest.raises(UsageError, match=r"prices\.m\.output: this key is missing"):
        load(tmp_path, "candidates: [reference]\nprices: {m: {input: 1}}")


def test_costs_are_unknown_where_those_of_a_helper_are(tmp_path: Path) -> None:
    small = (
        f"candidates: [{{{HELPED}, harness: {{models: {{small: %s}}}}}}]\nprices: {{tiny-1: {{input: 1, output: 2}}}}"
    )
    known = load(tmp_path, small % "tiny-1").candidates[0]
    assert known.prices is not None
    assert known.prices.helpers["tiny-1"].output == 2
    assert "; tiny-1: $1 in, $2 out" in price_words(known)
    unknown = load(tmp_path, small % "tiny-2").candidates[0]
    assert unknown.prices is None
    assert "no price of it or of one of its helpers is known" in price_words(unknown)
    assert len({known.key(), unknown.key()}) == 2


def test_the_files_of_an_own_agent_are_part_of_what_it_is(tmp_path: Path) -> None:
    own = "{agent: command, model: 'openai:m-1', command: ['{python}', '{files}/a.py'], files: [a.py, lib/b.py]}"
    (tmp_path / "lib").mkdir()
    (tmp_path / "a.py").write_text("import b\n")
    (tmp_path / "lib" / "b.py").write_text("x = 1\n")
    before = load(tmp_path, f"candidates: [{own}]").candidates[0]
    assert before.agent is not None
    assert before.agent.file_texts == ("import b\n", "x = 1\n")
    assert before.settings()["agent files"].startswith("a.py, lib/b.py (")
    assert candidate_files(read_yaml(tmp_path / "codegate.yml", Config)) == ("a.py", "lib/b.py")
    (tmp_path / "lib" / "b.py").write_text("x = 2\n")
    assert load(tmp_path, f"candidates: [{own}]").candidates[0].key() != before.key()
    (tmp_path / "a.py").write_text("#" * (1 << 20))
    with pytest.raises(UsageError, match="the files of its agent have over 1048576 characters together"):
        load(tmp_path, f"candidates: [{own}]")
    (tmp_path / "a.py").unlink()
    with pytest.raises(UsageError, match=r"a\.py does not exist"):
        load(tmp_path, f"candidates: [{own}]")
    with pytest.raises(UsageError, match="no path below the folder of the configuration"):
        load(tmp_path, f"candidates: [{own.replace('[a.py,', '[../a.py,')}]")
    with pytest.raises(UsageError, match="codex is installed by `version`"):
        load(tmp_path, "candidates: [{agent: codex, version: '1', model: 'openai:m-1', install: [x==1]}]")


def test_all_but_the_candidates_has_a_default(tmp_path: Path) -> None:
    config = load(tmp_path, "candidates: [reference]")
    assert (config.samples, config.sandbox, config.baseline) == (None, "auto", "codegate.lock")
    with pytest.raises(UsageError, match="candidates: this key is missing"):
        load(tmp_path, "samples: 2")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            "candidates: [reference]\nscore: {correctness: 0, latency: 0, cost: 0, reliability: 0}",
            "one weight is above 0",
        ),
        ("candidates: [reference, 'opneai:x']", "candidates.1: .*unknown provider 'opneai'"),
        ("candidates: [reference]\ngate: {cohorts: {a: {floo: 1}}}", "did you mean `floor`"),
        # Keys of other tables are no keys here.
        ("candidates: [reference]\nmodle: x", r"modle: there is no such key\. "),
    ],
)
def test_what_is_wrong_is_named_with_the_file_and_the_key(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(UsageError, match=rf"codegate\.yml.*{place}"):
        load(tmp_path, text)


def test_the_published_schema_is_fresh() -> None:
    published = SCHEMA.read_text() if SCHEMA.exists() else ""
    current = json.dumps(config_schema(), indent=2) + "\n"
    assert published == current, (
        "refresh it: python -c 'import json; from codegate.running import config_schema; "
        "print(json.dumps(config_schema(), indent=2))' > docs/schema/codegate.schema.json"
    )


def test_a_candidate_is_an_agent_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "codegate.yml"
    line = "{agent: claude-code, version: 2.1.330, model: 'anthropic:claude-sonnet-4-5-20250929', minutes: 5}"
    path.write_text(f"candidates: [{line}]\n")
    (spec,) = load_config(path).candidates
    assert (spec.provider, spec.model, spec.solver, spec.max_iterations) == (
        "anthropic", "claude-sonnet-4-5-20250929", "agent", 100,
    )  # fmt: skip
    assert spec.agent is not None
    assert (spec.agent.name, spec.agent.version, spec.agent.minutes) == ("claude-code", "2.1.330", 5)
    assert spec.label == "claude-code 2.1.330 anthropic:claude-sonnet-4-5-20250929"
    assert spec.settings()["agent version"] == "2.1.330"
    assert CandidateSpec.model_validate(spec.model_dump(mode="json")) == spec
    assert not list(Draft202012Validator(config_schema()).iter_errors(yaml.safe_load(path.read_text())))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{agent: claude-kode, version: '1', model: 'openai:gpt-5-2025-08-07'}", "did you mean claude-code"),
        ("{agent: codex, model: 'openai:gpt-5-2025-08-07'}", "codex needs its `version`, for example"),
        ("{agent: command, model: 'openai:gpt-5-2025-08-07'}", "the agent `command` has a `command`"),
        ("{agent: codex, version: '1', model: 'gpt-5'}", "unknown provider"),
        ("{agent: codex, version: '1', usd: 1, model: 'openai:gpt-99-2031-01-01'}", "`usd`\\), and its prices are not"),
        (
            "{agent: codex, version: '1', usd: 0.05, model: 'openai:m-1', prices: {input: 1, output: 10}}",
            r"may spend \$0.05 an attempt \(`usd`\), and one call of 32000 output tokens may cost \$0.32",
        ),
        ("{agent: codex, version: '1', model: reference}", "an agent needs a model"),
        ("{agent: codex, version: '1 || true', model: 'openai:gpt-5-2025-08-07'}", "version"),
        ("{provider: openai, model: gpt-5-2025-08-07, solver: agent}", "the solver `agent` has an `agent`"),
        ("{provider: openai, model: gpt-5-2025-08-07, harness: .}", "`harness` is for an agent"),
        (
            f"{{{HELPED}, harness: {{models: {{subagent: m-1}}}}}}",
            "opencode has no subagent model of its own; `harness.models` may have: small",
        ),
        (f"{{{HELPED}, harness: {{models: {{small: 'openai:m-1'}}}}}}", "own provider: write m-1 alone"),
        (f"{{{HELPED}, harness: {{models: {{small: gpt-4o}}}}}}", "'gpt-4o' is a floating alias"),
    ],
)
def test_an_agent_that_cannot_be_is_refused_by_name(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "codegate.yml"
    path.write_text(f"candidates: [{line}]\n")
    with pytest.raises(UsageError, match=reason):
        load_config(path)


def test_a_prompt_is_told_apart_by_its_text(tmp_path: Path) -> None:
    path = tmp_path / "codegate.yml"
    path.write_text("candidates: [{provider: openai, model: gpt-4o-2024-08-06, prompt: prompts/fix.md}]\n")
    (tmp_path / "prompts").mkdir()
    task = tmp_path / "prompts" / "fix.md"

    def key(text: str) -> str:
        task.write_text(text)
        return load_config(path).candidates[0].key()

    first = key("Fix {statement} in {context}.")
    assert first == key("Fix {statement} in {context}.")
    assert first != key("Please fix {statement} in {context}.")
    (tmp_path / "prompts" / "other.md").write_text("Fix {statement} in {context}.")
    path.write_text(path.read_text().replace("fix.md", "other.md"))
    assert load_config(path).candidates[0].key() == first, "the file's name is no part of it"


@pytest.mark.parametrize(
    ("prompt", "text", "reason"),
    [
        ("fix.md", "Fix it.", r"has no \{statement\}"),
        ("fix.md", "Fix {statement}.", r"has no \{context\}"),
        ("missing.md", "", "missing.md"),
        ("../fix.md", "", "no path below the folder"),
        ("/etc/hostname", "", "no path below the folder"),
        ("linked/environ", "", "no path below the folder"),
        ("git/config", "", "no path below the folder"),
        ("loop/fix.md", "", "loop"),
        ("fix.md", "x" * 100_001, "fix.md"),
    ],
)
def test_a_prompt_that_cannot_be_is_refused(tmp_path: Path, prompt: str, text: str, reason: str) -> None:
    path = tmp_path / "codegate.yml"
    path.write_text(f"candidates: [{{provider: openai, model: gpt-4o-2024-08-06, prompt: {prompt}}}]\n")
    (tmp_path / "fix.md").write_text(text)
    (tmp_path / "linked").symlink_to("/proc/self")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("Fix {statement} in {context}, with a token.")
    (tmp_path / "git").symlink_to(".git")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match=reason):
        load_config(path)


def test_a_matrix_is_one_candidate_for_each_combination(tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"{name}: fix {{statement}} in {{context}}.")
    entry = "provider: openai, model: m-2025-01-01, sampling: {seed: 7}"
    config = load(
        tmp_path,
        f"candidates: [reference, {{{entry}, matrix: {{temperature: [0, 0.5, null], prompt: [a.md, b.md]}}}}]",
    )
    _, *swept = config.candidates
    assert [spec.label for spec in swept] == [
        "m-2025-01-01 temperature=0 prompt=a.md", "m-2025-01-01 temperature=0 prompt=b.md",
        "m-2025-01-01 temperature=0.5 prompt=a.md", "m-2025-01-01 temperature=0.5 prompt=b.md",
        "m-2025-01-01 temperature=default prompt=a.md", "m-2025-01-01 temperature=default prompt=b.md",
    ]  # fmt: skip
    assert [spec.sampling.temperature for spec in swept] == [0, 0, 0.5, 0.5, None, None]
    assert {spec.sampling.seed for spec in swept} == {7}
    assert [spec.prompt and spec.prompt.task_text and spec.prompt.task_text[:4] for spec in swept[:2]] == [
        "a.md",
        "b.md",
    ]
    assert len({spec.key() for spec in swept}) == 6
    written = yaml.safe_load((tmp_path / CONFIG_NAME).read_text())
    assert not list(Draft202012Validator(config_schema()).iter_errors(written))


def test_unnamed_candidates_of_one_model_are_named_by_what_differs(tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("{statement} {context}")
    model = "provider: openai, model: m-2025-01-01"
    rest = (
        f"{{{model}, sampling: {{effort: low}}}}, {{{model}, prompt: p.md}}, {{{model}, name: own, solver: tool_loop}}"
    )
    found = load(tmp_path, f"candidates: [{{{model}}}, {rest}]").candidates
    plain = "openai:m-2025-01-01"
    assert [one.label for one in found] == [plain, f"{plain} effort=low", f"{plain} prompt=p.md", "own"]
    with pytest.raises(UsageError, match="two candidates have the name 'own'"):
        load(tmp_path, f"candidates: [{{{model}, name: own}}, {rest}]")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("model: m, matrix: {temprature: [0]}", r"candidates\.1: .*'temprature'; did you mean `temperature`"),
        ("model: m, matrix: {timeout_seconds: [3, 4]}", "no setting 'timeout_seconds'; it takes keys of `sampling`"),
        ("model: m, matrix: {temperature: [0, 3]}", r"candidates\.1\.sampling\.temperature: Input should be less"),
        ("model: m, matrix: {temperature: 0}", "`matrix.temperature` is a list of values"),
        ("model: m, matrix: []", "`matrix` is a table of settings"),
        ("model: m, sampling: {seed: 1}, matrix: {seed: [2]}", "`seed` is set twice"),
        (
            "model: m, sampling: {thinking: 8000}, matrix: {max_output_tokens: [4000]}",
            "`thinking` has to be below the output limit, which is 4000 tokens",
        ),
        ("model: m, matrix: {version: ['1']}", r"candidates\.1\.version: there is no such key"),
        ("model: m, matrix: {seed: [1, 2, 3, 4, 5], top_p: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}", "makes 65 cand"),
    ],
)
def test_a_matrix_that_cannot_be_is_refused_by_name(tmp_path: Path, entry: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        load(tmp_path, f"candidates: [reference, {{provider: openai, {entry}}}]")


def test_a_matrix_varies_the_settings_of_an_agent_however_it_is_written(tmp_path: Path) -> None:
    entry = "candidates: [{agent: %s, model: 'openai:m-2025-01-01@http://127.0.0.1:1/v1', matrix: {minutes: [5, 10]}}]"
    for agent in ("{name: aider, version: 0.86.2}", "aider, version: 0.86.2"):
        found = load(tmp_path, entry % agent).candidates
        assert [one.agent.minutes for one in found if one.agent] == [5, 10]
    with pytest.raises(UsageError, match="`minutes` is set twice"):
        load(tmp_path, entry % "{name: aider, version: 0.86.2, minutes: 7}")


def test_a_matrix_varies_the_harness_of_an_agent(tmp_path: Path) -> None:
    make_repository(tmp_path / "r", {"CLAUDE.md": b"long", "terse/CLAUDE.md": b"short"})
    run_git(tmp_path / "r", "reset", "--quiet", "--hard")
    line = "{agent: claude-code, version: '1', model: 'anthropic:m-2025-01-01', matrix: {harness: [., terse, null]}}"
    (tmp_path / "r" / CONFIG_NAME).write_text(f"candidates: [{line}]")
    found = load_config(tmp_path / "r" / CONFIG_NAME, tmp_path / "r").candidates
    assert [one.settings()["harness"].count(".md") for one in found] == [2, 1, 0]
    assert len({one.key() for one in found}) == 3


def test_what_a_run_is_asked_for_wins_over_the_configuration_and_is_checked() -> None:
    config = Config.model_validate({"candidates": ["reference"], "concurrency": {"sandboxes": 3}})
    assert (config.run_options(jobs=5).jobs, config.run_options(jobs=None).jobs) == (5, 3)
    for wrong in ({"sandboxes": 8}, {"budget_usd": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            config.run_options(**wrong)
