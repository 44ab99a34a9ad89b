"""Before any model is asked: the reference passes and no change fails, or the problem is quarantined for the run."""

from pathlib import Path

import pytest

from codegate.errors import InfrastructureError
from codegate.gating import QUARANTINED
from codegate.running import candidate_samples, load_run
from codegate.suite import Suite, load_suite
from tests.running.world import NAMES, ModelServer, run_here

pytestmark = pytest.mark.bwrap


def break_fix(suite: Suite, name: str) -> None:
    (suite.folder / f"problems/calc-{name}/fix/calc/{name}.py").write_text(f"def {name}(n):\n    return None\n")


def test_a_problem_that_the_fix_does_not_solve_here_is_asked_of_nobody(
    own_suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    break_fix(own_suite, "half")
    out = tmp_path / "r"
    run = run_here(load_suite(own_suite.folder), out, server.spec(), precheck=True)
    assert sorted(server.asked) == ["double", "square"]
    reason = run.manifest.excluded["calc-half"]
    assert reason.startswith(f"{QUARANTINED}the reference fix does not pass here (logic_error, 0/1 tests)")
    assert sorted(run.manifest.problems) == ["calc-double", "calc-square"]
    samples = candidate_samples(load_run(out), server.spec())
    assert set(samples.samples) == {"calc-double", "calc-square"}
    assert samples.excluded == {"calc-half": reason}


def test_a_problem_that_needs_no_fix_is_none(own_suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    hidden = own_suite.folder / "problems/calc-half/hidden/tests/test_half.py"
    hidden.write_text("def test_half():\n    assert 1 + 1 == 2\n")
    run = run_here(load_suite(own_suite.folder), tmp_path / "r", server.spec(), precheck=True)
    assert "half" not in server.asked
    assert run.manifest.excluded["calc-half"].endswith("tests/test_half.py::test_half passes here without any fix")


def test_nobody_is_asked_when_the_environment_is_broken(own_suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    for name in NAMES[:2]:
        break_fix(own_suite, name)
    suite = load_suite(own_suite.folder)
    with pytest.raises(InfrastructureError, match="2 of 3 problems are not sound here, which is too many to go on"):
        run_here(suite, tmp_path / "r", server.spec(), precheck=True)
    assert not server.asked
    assert not (tmp_path / "r" / "soundness.json").exists(), "the next try looks again"


def test_a_resumed_run_looks_no_second_time(own_suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    out = tmp_path / "r"
    run_here(own_suite, out, server.spec(), precheck=True)
    found = (out / "soundness.json").read_bytes()
    (out / "outcomes.jsonl").unlink()
    run_here(own_suite, out, precheck=True)
    assert (out / "soundness.json").read_bytes() == found
    assert len(server.asked) == 3
