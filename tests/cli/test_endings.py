"""Models that end, by their providers' lists at their own addresses."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from codegate.candidates import CandidateSpec
from codegate.running import plan_run
from codegate.suite import Suite
from tests.kit.runs import pinned, solved, write_pinned
from tests.kit.scripted_model import Say
from tests.kit.stand_in import KEY, StandIn
from tests.running.world import codegate

ENDING = "openai:gpt-5-2025-08-07: its provider shuts this model down on 2999-12-11"
PAST = "openai:gpt-4.1-2025-04-14: its provider has shut this model down on 2020-01-14"
GONE = "openai:gpt-9: its provider's list has no such model: it does not exist, or was retired"


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    with StandIn(lambda turn: Say("OK"), tmp_path) as played:
        played.models |= {"gpt-5-2025-08-07": "2999-12-11", "gpt-4.1-2025-04-14": "2020-01-14", "gpt-6.1-sol": None}
        yield played


@pytest.fixture
def folder(suite: Suite, tmp_path: Path) -> Path:
    names = "gpt-5-2025-08-07", "gpt-4.1-2025-04-14", "gpt-6.1-sol", "gpt-9"
    candidates = ", ".join(f"'openai:{name}'" for name in names)
    (tmp_path / "codegate.yml").write_text(f"suite: {suite.folder}\ncandidates: [{candidates}]\n")
    return tmp_path


def test_doctor_and_plan_name_what_ends_with_the_day(stand_in: StandIn, folder: Path) -> None:
    check = codegate("doctor", "--json", cwd=folder, environment=stand_in.environment).document["checks"][
        "codegate.yml"
    ]
    assert (check["level"], check["detail"]) == ("warn", f"4 candidates; {ENDING}; {PAST}; {GONE}")
    done = codegate("plan", "--json", cwd=folder, environment=stand_in.environment)
    assert (done.code, done.document["endings"]) == (0, [ENDING, PAST, GONE])
    for line in (ENDING, PAST, GONE):
        assert line in done.stderr


@pytest.mark.parametrize("change", [{"OPENAI_API_KEY": ""}, {"HTTPS_PROXY": "http://127.0.0.1:9"}])
def test_without_a_key_or_a_list_nothing_is_said_and_nothing_fails(
    stand_in: StandIn, folder: Path, change: dict[str, str]
) -> None:
    environment = {**stand_in.environment, **change, "https_proxy": change.get("HTTPS_PROXY", stand_in.url)}
    done = codegate("plan", "--json", cwd=folder, environment=environment)
    assert (done.code, done.document["endings"]) == (0, [])


def test_no_key_goes_where_only_a_baseline_sends_it(stand_in: StandIn, folder: Path, suite: Suite) -> None:
    spec = CandidateSpec(provider="openai", model="gpt-9", api_key_env="OTHER_TOKEN")
    write_pinned(folder, pinned(solved(plan_run(suite, (spec,), 1, "bwrap", "r")), spec))
    token = "sk-canary-of-another-service"
    done = codegate("plan", cwd=folder, environment={**stand_in.environment, "OTHER_TOKEN": token})
    assert done.code == 0
    assert stand_in.keys == {f"Bearer {KEY}"}


@pytest.mark.requirement("C4")
def test_a_dated_form_in_the_list_is_asked_for(stand_in: StandIn, folder: Path) -> None:
    stand_in.models["gpt-6.1-sol-2026-09-29"] = None
    for command in ("doctor", "plan"):
        done = codegate(command, cwd=folder, environment=stand_in.environment)
        assert done.code == 2
        assert re.search(r"'gpt-6\.1-sol' is a floating alias.*gpt-6\.1-sol-2026-09-29", done.stdout + done.stderr)


@pytest.mark.bwrap
def test_a_run_of_a_retired_model_says_so(stand_in: StandIn, folder: Path) -> None:
    command = ("run", "--candidate", "openai:gpt-4.1-2025-04-14", "--sandbox", "bwrap", "--no-gate", "--samples", "1")
    done = codegate(*command, cwd=folder, environment=stand_in.environment)
    assert done.code == 2
    assert "The model does not exist or was retired" in done.stderr


@pytest.mark.bwrap
def test_a_model_that_answers_is_not_said_to_be_gone(stand_in: StandIn, folder: Path) -> None:
    command = ("run", "--candidate", "openai:gpt-9", "--sandbox", "bwrap", "--no-gate", "--limit", "1")
    done = codegate(*command, cwd=folder, environment=stand_in.environment)
    assert "openai:gpt-9 answers" in done.stderr
    assert GONE not in done.stderr


@pytest.mark.bwrap
def test_what_was_served_to_a_name_without_a_date_is_reported_and_a_change_of_it_is_a_warning(
    stand_in: StandIn, folder: Path
) -> None:
    def enter(*words: str) -> tuple[int | None, str]:
        done = codegate(*words, cwd=folder, environment=stand_in.environment)
        return done.code, " ".join((done.stdout + done.stderr).split())

    run = ("run", "--candidate", "openai:gpt-6.1-sol", "--sandbox", "bwrap", "--no-gate", "--samples", "2")
    stand_in.model.served = {"gpt-6.1-sol": "gpt-6.1-sol-a"}
    assert enter(*run, "--out", "before")[0] == 0
    assert enter("baseline", "pin", "before", "--min-samples", "2")[0] == 0
    stand_in.model.served = {"gpt-6.1-sol": "gpt-6.1-sol-b"}
    assert enter(*run, "--out", "after")[0] == 0
    report = (folder / "after" / "reports" / "report.md").read_text()
    assert "gives no dated name, so the model behind it may change; served as gpt-6.1-sol-b" in report
    warning = "gpt-6.1-sol was served as gpt-6.1-sol-a for the baseline and as gpt-6.1-sol-b now"
    assert warning in enter("gate", "after")[1]
