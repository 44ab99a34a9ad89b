"""What was found of the sandboxes is in the run's folder, in every outcome and in the reports."""

import json
from pathlib import Path

import pytest

from codegate.candidates import CandidateSpec
from codegate.errors import UsageError
from codegate.running import RunSpec, load_run, run_suite
from codegate.suite import Suite
from tests.running.world import run_here

pytestmark = pytest.mark.bwrap


def test_a_run_says_what_its_sandboxes_were_found_to_be(suite: Suite, tmp_path: Path) -> None:
    out = tmp_path / "r"
    run = run_here(suite, out, CandidateSpec(provider="reference"))
    (assurance,) = run.assurances
    assert assurance.words.startswith("verified (bwrap, bubblewrap ")
    assert {outcome.sandbox for outcome in run.outcomes} == {assurance.words}
    assert {"process limit", "memory limit in total"} & {finding.check for finding in assurance.checks}
    assert all(finding.held for finding in assurance.checks)
    assert load_run(out).assurances == run.assurances

    (out / "outcomes.jsonl").write_text("".join((out / "outcomes.jsonl").read_text().splitlines(keepends=True)[:-1]))
    assert len(run_here(suite, out).assurances) == 1, "the same place, looked at again"

    manifest = json.loads((out / "run.json").read_text())
    for sandbox in ("docker:runsc", "auto", "none", "docker:../x"):
        conditions = {**manifest["conditions"], "sandbox": sandbox}
        (out / "run.json").write_text(json.dumps({**manifest, "sandbox": sandbox, "conditions": conditions}))
        with pytest.raises(UsageError, match="cannot continue with bwrap"):
            run_suite(RunSpec(suite.folder, (), 1, "bwrap", None, out), lambda step: None, lambda text: None)
