"""Providers' lists of models, through the real SDKs over real HTTP: which models end, and when."""

import threading
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from codegate.candidates import CandidateSpec, ListedModel, ListsModels, check_snapshot, model_shutdown, sdk
from codegate.candidates.registry import open_provider
from codegate.candidates.snapshots import ModelShutdown, successor
from codegate.errors import UsageError
from tests.kit.http import Reply, Request, Server, as_json


def listed(provider: str, respond: Callable[[Request], Reply | None]) -> tuple[ListedModel, ...]:
    server = Server(respond)
    base = server.url + ("" if provider == "anthropic" else "/v1")
    try:
        opened: object = open_provider(CandidateSpec(provider=provider, model="m", base_url=base))
        assert isinstance(opened, ListsModels)
        found = opened.models()
        assert found is not None
    finally:
        server.close()
    return found


@pytest.mark.parametrize(
    ("provider", "entries", "models", "path"),
    [
        (
            "openai",
            [
                {"id": "gpt-5-2025-08-07", "object": "model", "created": 1, "shutdown_date": "2026-12-11"},
                {"id": "gpt-6.1-sol", "shutdown_date": None, "created": 1790000000},
                {"id": "odd", "shutdown_date": "soon"},
                {"x": 1},
            ],
            (
                ListedModel(id="gpt-5-2025-08-07", ends=date(2026, 12, 11)),
                ListedModel(id="gpt-6.1-sol", created=date(2026, 9, 21)),
                ListedModel(id="odd"),
            ),
            "/v1/models",
        ),
        (
            "anthropic",
            [{"id": "c-1", "created_at": "2025-09-29T00:00:00Z", "retires_at": "2026-11-30T00:00:00Z"}],
            (ListedModel(id="c-1", ends=date(2026, 11, 30), created=date(2025, 9, 29)),),
            "/v1/models?limit=1000",  # a page has 20 otherwise
        ),
    ],
)
def test_a_list_names_the_last_day_of_each_model(
    provider: str, entries: list[dict[str, Any]], models: tuple[ListedModel, ...], path: str
) -> None:
    asked: list[str] = []

    def respond(request: Request) -> Reply:
        asked.append(request.path)
        return as_json({"data": entries, "has_more": False})

    assert (listed(provider, respond), asked) == (models, [path])


@pytest.mark.parametrize(
    "reply",
    [Reply(status=404), Reply(b"<html>"), Reply(b"[]"), as_json({"data": {"id": 1}}), as_json({}, 401), None],
    ids=["404", "html", "array", "object", "401", "hangs up"],
)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_server_without_a_list_is_no_error(provider: str, reply: Reply | None) -> None:
    assert listed(provider, lambda _request: reply) == ()


def test_a_list_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "LIST_SECONDS", 0.2)
    released = threading.Event()

    def hang(_request: Request) -> None:
        released.wait(600)

    try:
        assert listed("openai", hang) == ()
    finally:
        released.set()


def test_a_model_that_ends_is_named_with_its_day() -> None:
    spec = CandidateSpec(provider="openai", model="m-2025-08-07")
    past, future = date(2020, 1, 2), date(2999, 1, 2)
    found = model_shutdown(spec, [ListedModel(id="m-2025-08-07", ends=future)])
    assert found == ModelShutdown("openai:m-2025-08-07: its provider shuts this model down on 2999-01-02", future)
    assert not found.within(30)
    shut = "openai:m-2025-08-07: its provider has shut this model down on 2020-01-02"
    assert model_shutdown(spec, [ListedModel(id="models/m-2025-08-07", ends=past)]) == ModelShutdown(shut, past)
    assert model_shutdown(spec, [ListedModel(id="m-2025-08-07"), ListedModel(id="other", ends=past)]) is None
    assert model_shutdown(spec, []) is None, "no list is known"
    assert model_shutdown(spec, [ListedModel(id="other")]) == ModelShutdown(
        "openai:m-2025-08-07: its provider's list has no such model: it does not exist, or was retired"
    )
    own = spec.model_copy(update={"base_url": "http://127.0.0.1:1/v1"})
    assert model_shutdown(own, [ListedModel(id="file.gguf")]) is None, "a server of one's own may answer to any name"


def test_a_dated_form_in_the_list_refuses_the_name_without_one() -> None:
    spec = CandidateSpec(provider="openai", model="gpt-6.1-sol")
    other = ListedModel(id="gpt-6.1-sol-pro-2026-10-26")
    check_snapshot(spec, [ListedModel(id="gpt-6.1-sol"), other])
    with pytest.raises(UsageError, match=r"for example gpt-6\.1-sol-2026-09-29 "):
        check_snapshot(spec, [ListedModel(id="gpt-6.1-sol-2026-09-29"), other])
    own = CandidateSpec(provider="openai", model="m", base_url="http://127.0.0.1:1/v1")
    check_snapshot(own, [ListedModel(id="m-2026-09-29")])


@pytest.mark.parametrize(
    ("model", "listed", "expected"),
    [
        ("claude-3-5-sonnet-20241022", ["claude-sonnet-4-5-20250929", "claude-opus-5"], "claude-sonnet-4-5-20250929"),
        ("gpt-4o-2024-08-06", ["gpt-5.4-2026-03-05", "gpt-5.4-mini-2026-03-17", "gpt-image-7"], "gpt-5.4-2026-03-05"),
        ("gemini-2.5-pro", ["models/gemini-2.0-pro", "models/gemini-3-pro", "models/gemini-4-preview"], "gemini-3-pro"),
        ("o3-mini-2025-01-31", ["o4-mini-2025-04-16", "o1-mini-2024-09-12"], "o4-mini-2025-04-16"),
        ("gpt-6.1-sol", ["gpt-6.1-sol"], None),
        ("m-2-2025-01-01", ["m-3", "m-3-2026-01-01"], "m-3-2026-01-01"),
        ("m-2-2025-01-01", ["m-3-latest"], None),
        ("m-2-2025-01-01", ["m-3\n  base_url: https://x.example", "m-3 # x"], None),
    ],
)  # fmt: skip
def test_a_models_successor_is_the_newest_of_its_family(model: str, listed: list[str], expected: str | None) -> None:
    provider = "anthropic" if model.startswith("claude") else "openai"
    spec = CandidateSpec(provider=provider, model=model)
    found = successor(spec, [ListedModel(id=one) for one in listed])
    assert (found.id if found is not None else None) == expected


def test_the_lists_days_decide_which_model_is_newer() -> None:
    spec = CandidateSpec(provider="openai", model="m-9-2025-01-01")
    first = ListedModel(id=spec.model, created=date(2025, 1, 1), ends=date(2999, 6, 1))
    older = ListedModel(id="m-10-2024-01-01", created=date(2024, 1, 1))
    newer = ListedModel(id="m-1-2026-01-01", created=date(2026, 1, 1))
    assert successor(spec, [first, older, newer]) == newer
    assert successor(spec, [first, older]) is None
    ending_first = newer.model_copy(update={"ends": date(2999, 5, 1)})
    assert successor(spec, [first, ending_first]) is None, "a successor that ends before is none"
    ending_later = newer.model_copy(update={"ends": date(2999, 7, 1)})
    assert successor(spec, [first, ending_later]) == ending_later
