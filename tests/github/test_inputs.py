"""Inputs come as the runner gives them, and no path among them leaves the workspace."""

from decimal import Decimal
from pathlib import Path

import pytest

from codegate.errors import UsageError
from codegate.github.inputs import Inputs, read_inputs
from codegate.operations.rules import real_path
from codegate.running.shards import ShardChoice
from tests.github.runner import variables


def read(workspace: Path, **inputs: str) -> Inputs:
    return read_inputs({"GITHUB_WORKSPACE": str(workspace), **variables(inputs)})


def test_nothing_given(tmp_path: Path) -> None:
    inputs = read(tmp_path)
    assert (inputs.mode, inputs.candidates, inputs.on_inconclusive) == ("gate", (), None)
    assert inputs.reports == tmp_path / "codegate-report"
    # The runner sets every declared input, to an empty string when nothing was given.
    assert read(tmp_path, suite="", candidates=" \n ", samples="", report_path="", on_inconclusive="") == inputs


#: By input: what is given, and what the attribute of that name has.
GIVEN: dict[str, tuple[str, object]] = {
    "suite": (" suites/own ", "suites/own"),
    "candidates": (
        "\n  reference\n\n openai:gpt-5-2025-08-07@https://models.example/v1 \r\n",
        ("reference", "openai:gpt-5-2025-08-07@https://models.example/v1"),
    ),
    "config": ("ci/codegate.yml", "ci/codegate.yml"), "baseline": ("ci/codegate.lock", "ci/codegate.lock"),
    "samples": ("3", 3), "max_concurrency": ("8", 8), "jobs": ("4", 4), "max_model_calls": ("500", 500),
    "max_minutes": ("100", 100), "budget_usd": ("7.50", Decimal("7.50")), "cache": ("answers", Path("answers")),
    "environments": ("environments", "environments"), "resume": ("4711", "4711"),
    "run_artifact": ("codegate-shard-2-of-3", "codegate-shard-2-of-3"), "repository": (".", "."),
    "path": ("services/api", "services/api"), "report_path": ("out/gate", Path("out/gate")),
    "on_inconclusive": ("fail", "fail"), "mode": ("merge", "merge"), "github_token": ("ghs_1", "ghs_1"),
    "shards": ("3", 3), "shard": ("2/3", ShardChoice(2, 3, "20260101T000000Z-abcdef-0123456789abcdef")),
    "run_id": ("20260101T000000Z-abcdef-0123456789abcdef",) * 2, "shards_path": ("parts", Path("parts")),
    "comment": ("regression", "regression"), "check": ("true", True), "issue": ("false", False),
    "artifact_name": ("gate of the big suite", "gate of the big suite"),
}  # fmt: skip
NAMED = {"max_concurrency": "models", "report_path": "reports", "github_token": "token"}


def test_everything_given(tmp_path: Path) -> None:
    inputs = read(tmp_path, **{name: text for name, (text, _) in GIVEN.items()})
    for name, (_, wanted) in GIVEN.items():
        found = getattr(inputs, NAMED.get(name, name))
        assert found == (tmp_path / wanted if isinstance(wanted, Path) else wanted), name


@pytest.mark.parametrize(
    ("name", "value"),
    [("resume", "last"), ("resume", "0"), ("resume", "1/2"), ("budget-usd", "-1"), ("budget-usd", "1e3")],
)
def test_a_resumed_run_and_a_budget_are_plain_numbers(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"input `{name}`"):
        read(tmp_path, **{name: value})


@pytest.mark.parametrize("name", ["suite", "config", "baseline", "repository", "report-path"])
@pytest.mark.parametrize("path", ["..", "../other", "/etc", "a/../../b", "link", "link/below", "loop", "loop/x"])
def test_a_path_stays_inside(tmp_path: Path, name: str, path: str) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "link").symlink_to("/etc")
    (workspace / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match=f"input `{name}`"):
        read(workspace, **{name: path})


@pytest.mark.parametrize("name", ["suite", "config", "baseline", "repository", "report-path"])
def test_an_address_in_place_of_a_folder_is_not_shown(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"input `{name}` is an address, not a path") as caught:
        read(tmp_path, **{name: "https://x-access-token:github_pat_SECRET@github.com/acme/demo.git"})
    assert "SECRET" not in str(caught.value)
    assert "actions/checkout" in caught.value.remedy


def test_what_a_link_leads_to_is_not_what_is_named(tmp_path: Path) -> None:
    (tmp_path / "suites" / "easy").mkdir(parents=True)
    (tmp_path / "suite").symlink_to("suites/easy")
    assert read(tmp_path, suite="suite/./x/..").suite == "suite", "at the base commit it may be another"


def test_the_default_for_reports_is_checked_too(tmp_path: Path) -> None:
    (tmp_path / "codegate-report").symlink_to("/tmp")
    with pytest.raises(UsageError, match="leaves the workspace"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["report-path", "shards-path"])
@pytest.mark.parametrize("path", [".", ".git", "a/.GIT/b", "link", "link/x"])
def test_what_is_written_goes_over_no_link_and_not_to_git(tmp_path: Path, name: str, path: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "link").symlink_to(".git")
    with pytest.raises(UsageError, match=f"input `{name}`"):
        read(tmp_path, **{name: path})


def test_paths_that_no_system_has(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`x`"):
        real_path(tmp_path, "a\0b", "`x`")
    assert real_path(tmp_path, "a" * 5000, "`x`").parent == tmp_path  # no such file, and nothing that breaks


def test_a_workspace_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "real" / "suite").mkdir(parents=True)
    (tmp_path / "seen").symlink_to("real")
    assert read(tmp_path / "seen", suite="suite").suite == "suite"


@pytest.mark.parametrize(
    ("name", "most"), [("samples", 100), ("max-concurrency", 256), ("jobs", 256), ("max-model-calls", 999_999_999)]
)
def test_numbers(tmp_path: Path, name: str, most: int) -> None:
    read(tmp_path, **{name: "1"})
    read(tmp_path, **{name: str(most)})
    for wrong in ("0", "-1", "1.0", "1e3", "²", "٣", "many", "9" * 5000, str(most + 1)):
        with pytest.raises(UsageError, match=f"input `{name}` must be a whole number from 1 to {most}"):
            read(tmp_path, **{name: wrong})


def test_choices(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one of neutral, pass, fail, and is 'maybe'"):
        read(tmp_path, on_inconclusive="maybe")
