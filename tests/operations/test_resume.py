"""A resumed run: what its folder decides, and what the configuration at hand."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from codegate.candidates import CandidateSpec
from codegate.operations.requests import RunRequest, project_here, resumed_project
from codegate.running import Journal
from tests.kit.runs import manifest

URL = "http://127.0.0.1:9/v1"


def test_prices_in_a_run_folder_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    free = {"prices": {"input": 0, "output": 0}, "timeout_seconds": 1}
    fields = [
        {"provider": "openai", "model": "m-1-2025-01-01", "base_url": URL},
        {"provider": "openai", "model": "m-2-2025-01-01", "base_url": URL},
        {"provider": "openai", "model": "gpt-5-2025-08-07"},
        {"provider": "openai", "model": "m-4-2025-01-01", "base_url": URL},
    ]
    planned = tuple(CandidateSpec(**{**one, **free}) for one in fields)
    Journal.create(Path("run"), manifest(specs=planned))
    own = {"candidates": [{**fields[0], "prices": {"input": 5, "output": 30}, "timeout_seconds": 60}],
           "prices": {"m-2-2025-01-01": {"input": 1, "output": 8}}}  # fmt: skip
    Path("codegate.yml").write_text(json.dumps(own))
    request = RunRequest(resume=Path("run"))

    resumed = resumed_project(request, Path("run"), project_here(request, tmp_path, alone=True)).settings.candidates

    assert [one.key() for one in resumed] == [one.key() for one in planned]
    assert [one.prices and one.prices.output for one in resumed] == [30, 8, Decimal(10), None]
    assert resumed[0].timeout_seconds == 60
