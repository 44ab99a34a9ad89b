"""A candidate as configured is read back equal from every file that holds it."""

import json
import tempfile
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from codegate.candidates import CandidateSpec, Sampling
from codegate.candidates.agents import AGENTS, OWN_COMMAND
from codegate.candidates.harness import Harness, HarnessFile
from codegate.candidates.prices import LongPromptPrices, Prices
from codegate.candidates.spec import AgentSettings, Prompt
from codegate.errors import UsageError
from codegate.gating import Baseline, Origin, pin
from codegate.gating.baseline import write_baseline
from codegate.running import Journal
from tests.gating.sampling import NOON, load_baseline, part, uniform
from tests.kit.runs import manifest

TEXT = st.text("abc é\n{}:'\"\\#-", min_size=1, max_size=12)
WORD = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,8}", fullmatch=True)
PRICE = st.decimals(0, 1_000_000, allow_nan=False, allow_infinity=False) | st.just(Decimal("1.25"))
SECONDS = st.floats(0, 200, exclude_min=True)
DAY = st.dates(date(2000, 1, 1), date(2100, 1, 1))


def some_of(model: type[BaseModel], needed: tuple[str, ...] = (), /, **values: st.SearchStrategy[Any]) -> Any:
    """Return a strategy of a model's fields as keywords: those that are needed, and any of the others."""
    assert values.keys() == set(model.model_fields), "a field was added: say here which values it has"
    optional = {name: value for name, value in values.items() if name not in needed}
    return st.fixed_dictionaries({name: values[name] for name in needed}, optional=optional)


AMOUNTS = {"input": PRICE, "output": PRICE, "cache_read": PRICE, "cache_write": PRICE}
LONG = some_of(LongPromptPrices, ("input", "output", "above"), **AMOUNTS, above=st.integers(1, 10**6))
HELPERS = st.dictionaries(WORD, st.fixed_dictionaries({"input": PRICE, "output": PRICE}), max_size=2)
PRICES = some_of(Prices, ("input", "output"), **AMOUNTS, long_prompts=LONG, source=TEXT, helpers=HELPERS)
SAMPLING = some_of(
    Sampling,
    temperature=st.floats(0, 2),
    top_p=st.floats(0, 1, exclude_min=True),
    max_output_tokens=st.integers(5000, 200_000),
    seed=st.integers(-(2**63), 2**63 - 1),
    stop=st.lists(TEXT, min_size=1, max_size=4).map(tuple),
    effort=st.sampled_from(["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
    thinking=st.sampled_from(["adaptive", "disabled"]) | st.integers(1024, 4000),
)
PROMPT = some_of(Prompt, system=TEXT, task=TEXT, system_text=TEXT, task_text=TEXT)
AGENT = some_of(
    AgentSettings,
    ("name", "version"),
    name=st.sampled_from(sorted(set(AGENTS) - {OWN_COMMAND})),
    version=st.just("1.2.3"),
    as_of=DAY,
    command=st.none(),
    minutes=SECONDS,
    tokens=st.integers(1, 10**9),
    usd=PRICE,
    files=st.none(),
    file_texts=st.none(),
    install=st.none(),
)
COMMAND = st.fixed_dictionaries(
    {"name": st.just(OWN_COMMAND), "command": st.lists(TEXT, min_size=1, max_size=3).map(tuple)},
    optional={
        "files": st.just(("agent.py", "lib/tools.py")),
        "file_texts": st.tuples(TEXT, TEXT),
        "install": st.just(("httpx==0.28.1", "openai[realtime]==1.66.0")),
    },
).filter(lambda own: "files" in own or "file_texts" not in own)
HARNESS = some_of(
    Harness,
    folder=WORD,
    files=st.lists(WORD, min_size=1, max_size=3).map(tuple),
    skills=WORD,
    mcp=WORD,
    hooks=st.booleans(),
    models=st.dictionaries(st.sampled_from(["small", "subagent"]), WORD),
    laid=st.lists(
        some_of(HarnessFile, ("path",), path=WORD, text=TEXT, data=st.just("/w=="), program=st.booleans())
    ).map(tuple),
)
FIELDS = some_of(
    CandidateSpec,
    ("provider", "model"),
    provider=st.sampled_from(["openai", "anthropic", "azure", "gemini", "bedrock", "vertex"]),
    model=WORD,
    snapshot=WORD,
    allow_http=st.booleans(),
    base_url=st.sampled_from(["https://models.example/v1", "http://127.0.0.1:8080/v1"]),
    api_key_env=st.just("TEAM_KEY"),
    api_key_command=st.lists(TEXT, min_size=1, max_size=3).map(tuple),
    headers=st.dictionaries(st.just("x-team"), WORD, min_size=1),
    query=st.dictionaries(st.just("api-version"), WORD, min_size=1),
    name=TEXT,
    protocol=st.sampled_from(["chat", "responses"]),
    solver=st.sampled_from(["single_shot", "tool_loop"]),
    max_iterations=st.integers(1, 1000),
    max_prompt_tokens=st.integers(1000, 10**6),
    agent=AGENT | COMMAND,
    harness=HARNESS,
    prompt=PROMPT | TEXT,
    sampling=SAMPLING,
    training_cutoff=DAY,
    timeout_seconds=SECONDS,
    prices=PRICES,
)


def possible(fields: dict[str, Any]) -> CandidateSpec:
    """Return the candidate of these fields, less those that exclude each other."""
    if "agent" in fields:
        fields = {name: value for name, value in fields.items() if name not in {"protocol", "solver"}}
        roles, harness = AGENTS[fields["agent"]["name"]].roles, dict(fields.get("harness", {}))
        if "models" in harness:
            harness["models"] = {role: model for role, model in harness["models"].items() if role in roles}
            fields["harness"] = harness
    else:
        fields = {name: value for name, value in fields.items() if name != "harness"}
    if "agent" in fields or fields.get("solver") == "tool_loop":
        fields.pop("max_prompt_tokens", None)
    if "api_key_env" in fields:
        fields.pop("api_key_command", None)
    return CandidateSpec(**fields)


SPECS = FIELDS.map(possible)


def pinned(spec: CandidateSpec) -> Baseline:
    return pin([part(uniform(2, 1, 2), spec=spec)], origin=Origin(None, None, NOON), min_samples=1)


@given(SPECS)
def test_a_pinned_specification_is_read_back_equal(spec: CandidateSpec) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_baseline(Path(folder) / "baseline.json", pinned(spec))
        assert load_baseline(Path(folder) / "baseline.json") == pinned(spec)


@given(SPECS)
def test_a_run_specification_is_read_back_equal(spec: CandidateSpec) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Journal.create(Path(folder) / "run", manifest(specs=(spec,)))
        assert Journal.open(Path(folder) / "run").manifest.candidates == (spec,)


@given(SPECS)
def test_a_configured_specification_is_read_back_equal(spec: CandidateSpec) -> None:
    """As `codegate.yml` has it when a run's record is written: only what is not the default."""
    written = json.loads(json.dumps(spec.model_dump(mode="json", exclude_defaults=True)))
    assert CandidateSpec.model_validate(written) == spec
    assert CandidateSpec.model_validate(written).key() == spec.key()


@pytest.mark.parametrize("wrong", [{"minutes": 1}, {"prices": {"input": -1, "output": 1}}, {"provider": "nosuch"}])
def test_a_specification_that_is_none_is_refused_with_its_place(tmp_path: Path, wrong: dict[str, Any]) -> None:
    path = tmp_path / "baseline.json"
    write_baseline(path, pinned(CandidateSpec(provider="openai", model="m-2026-01-01")))
    document = json.loads(path.read_text())
    document["spec"].update(wrong)
    path.write_text(json.dumps(document))
    with pytest.raises(UsageError, match=r"broken at spec\."):
        load_baseline(path)
