"""A repository of Rust, from its history to a verdict: by Cargo, in a recorded build."""

from pathlib import Path

import pytest
import yaml

from codegate.sandbox import Toolchain
from codegate.sandbox.toolchains import find_toolchain
from codegate.suite import load_suite
from tests.kit.repository import HistoryBuilder
from tests.mining.statement_world import BODY
from tests.running.world import codegate, results

pytestmark = [pytest.mark.bwrap, pytest.mark.full]

CRATE: dict[str, str | bytes | None] = {
    "Cargo.toml": '[package]\nname = "cart"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "cart"\nversion = "0.1.0"\n',
    ".gitignore": "target\n",
}
SOURCE = "/// Returns the sum of all prices.\npub fn total(prices: &[u32]) -> u32 {\n    %s\n}\n"
TEST = "use cart::total;\n\n#[test]\nfn one() {\n    assert_eq!(total(&[4]), 4);\n}\n"
MORE = "\n#[test]\nfn nothing() {\n    assert_eq!(total(&[]), 0);\n}\n"
RECIPE = {"setup": ["cargo test --locked --no-run"], "tests": "cargo test --locked"}


def test_a_fix_is_mined_proved_and_graded(history: HistoryBuilder, tmp_path: Path) -> None:
    if find_toolchain(Toolchain("rust", "")) is None:
        pytest.skip("this machine has no Rust")
    history.commit("begin", {**CRATE, "src/lib.rs": SOURCE % "prices[0] + prices[1..].iter().sum::<u32>()",
                             "tests/total.rs": TEST})  # fmt: skip
    fixed: dict[str, str | bytes | None] = {"src/lib.rs": SOURCE % "prices.iter().sum()", "tests/total.rs": TEST + MORE}
    history.commit(f"Fix the total of nothing (#2){BODY}", fixed)
    history.write({"codegate.yml": yaml.safe_dump({"environment": RECIPE})})
    place = ("--sandbox", "bwrap")
    mined = codegate("mine", history.folder, "--out", "suite", "--name", "cart", *place, cwd=tmp_path)
    assert mined.code == 0, mined.stderr
    (problem,) = load_suite(tmp_path / "suite").problems
    assert (problem.manifest.language, problem.manifest.runner) == ("rust", "cargo")
    assert problem.tests.FAIL_TO_PASS == ("tests/total.rs::nothing",)
    assert problem.tests.PASS_TO_PASS == ("tests/total.rs::one",)
    run = ("run", "suite", "--repository", history.folder, *place, "--samples", "1")
    for candidate, resolved in (("reference", True), ("empty", False)):
        done = codegate(*run, "--candidate", candidate, "--out", candidate, cwd=tmp_path)
        assert done.code in (0, 1), done.stderr
        assert results(tmp_path / candidate) == {("cart-2", 0): resolved}
