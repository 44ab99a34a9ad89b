"""Rust's tests: compiled by Cargo, each in a process of its own, believed by its status and by libtest's count."""

import pytest

from codegate.grading import TestReport, TestSelection
from codegate.languages.rust.runners import CARGO
from codegate.sandbox import Toolchain
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.toolchains import find_toolchain
from tests.grading.worlds import statuses
from tests.kit.recorded import Recorded

pytestmark = pytest.mark.bwrap

MANIFEST = '[package]\nname = "cart"\nversion = "0.1.0"\nedition = "2021"\n\n[features]\nextra = []\n'
LOCK = 'version = 3\n\n[[package]]\nname = "cart"\nversion = "0.1.0"\n'
SOURCE = """
pub fn total(prices: &[u32]) -> u32 { prices.iter().sum() }
pub fn nothing() {}
#[cfg(feature = "extra")]
pub fn extra() {}
#[cfg(test)]
mod total_tests;
"""
TESTS = """
mod more;
use cart::*;
#[test] fn adds() { assert_eq!(total(&[1, 2]), 3); }
#[test] fn is_wrong() { nothing(); assert_eq!(total(&[1]), 2, "the sum"); }
#[test] #[should_panic] fn panics() { panic!("as it should") }
#[test] #[ignore] fn is_ignored() {}
#[test] fn goes_down() { std::process::abort(); }
#[test] fn leaves() { nothing(); std::process::exit(0); }
#[test] fn prints() { println!("test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured;"); panic!("really") }
#[test] fn returns() -> Result<(), String> { Err("no such price".into()) }
mod inner { #[test] fn is_run() {} }
"""
FILES = {
    "Cargo.toml": MANIFEST,
    "Cargo.lock": LOCK,
    "src/lib.rs": SOURCE,
    "src/total_tests.rs": "#[test] fn of_the_crate() { assert_eq!(crate::total(&[4]), 4) }\n",
    "tests/cart.rs": TESTS,
    "tests/more/mod.rs": "#[test] fn is_in_a_file() {}\n",
    "tests/broken.rs": "#[test] fn t() { cart::absent() }\n",
    "tests/featured.rs": "#[test] fn t() { cart::extra() }\n",
    "tests/alone.rs": "#[test] fn t() {}\n",
    "tests/unused/help.rs": "#[test] fn never() {}\n",
}


@pytest.fixture(scope="module")
def crate(bwrap_backend: BubblewrapBackend, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A crate without dependencies, compiled once."""
    if find_toolchain(Toolchain("rust", "")) is None:
        pytest.skip("this machine has no Rust")
    setup = ("cargo test --offline --no-run --lib",)
    variables = {"CARGO_HOME": "/opt/env/home/.cargo", "CARGO_INCREMENTAL": "0"}
    folder = tmp_path_factory.mktemp("crate")
    return Recorded(bwrap_backend, FILES, setup, (Toolchain("rust", ""),), variables, folder)


def run(crate: Recorded, *files: str, command: tuple[str, ...] = (), source: str = SOURCE) -> TestReport:
    return crate.run(TestSelection(files, runner="cargo", command=command), **{"src/lib.rs": source})


@pytest.fixture(scope="module")
def report(crate: Recorded) -> TestReport:
    """All files that compile, and two that do not."""
    files = ("tests/cart.rs", "tests/more/mod.rs", "src/total_tests.rs", "tests/broken.rs", "tests/unused/help.rs")
    return run(crate, *files)


def test_each_test_is_reported_by_its_file_and_path(report: TestReport) -> None:
    passing = ("adds", "panics", "inner::is_run", "tests/more/mod.rs::is_in_a_file", "src/total_tests.rs::of_the_crate")
    failing = ("is_wrong", "goes_down", "leaves", "prints", "returns")
    wanted = {**dict.fromkeys(passing, "passed"), **dict.fromkeys(failing, "failed"), "is_ignored": "skipped"}
    assert statuses(report, "tests/cart.rs") == wanted
    assert report.proven


def test_a_failed_test_says_what_its_assertion_said(report: TestReport) -> None:
    crash = report.crashes["tests/cart.rs::is_wrong"]
    assert crash.message == "assertion `left == right` failed: the sum\n  left: 1\n right: 2"
    assert crash.parents == ("AssertionError",)
    assert "no such price" in report.crashes["tests/cart.rs::returns"].message
    first = report.crashes["tests/cart.rs::leaves"].message.splitlines()[0]
    assert first == "the test process ended with status 0 and no result"


def test_a_file_that_does_not_compile_takes_no_other_along(report: TestReport) -> None:
    broken, unused = report.collection_errors
    assert (broken.id, unused.id) == ("tests/broken.rs", "tests/unused/help.rs")
    assert broken.text.startswith("error[E0425]: cannot find function `absent`")
    assert "no test target" in unused.text
    assert report.exit_code == 2


def test_sources_that_do_not_compile_are_the_fault_of_the_sources(crate: Recorded) -> None:
    report = run(crate, "tests/cart.rs", source="pub fn total(")
    (error,) = report.collection_errors
    assert error.crash is not None
    assert error.crash.parents == ("SyntaxError",)
    assert not report.results


@pytest.mark.parametrize(
    ("source", "dependency"),
    [
        ("use regex::Regex;", "regex"),
        ("fn f() { regex::escape(1); }", "regex"),
        ("extern crate regex;", "regex"),
        ("use crate::regex::Regex;", None),
        ("mod a { fn f() { regex::escape(1); } } mod b { pub mod regex {} }", None),
        ("fn f() { total_tests::g(); }", None),
    ],
)
def test_a_crate_that_is_not_there_is_a_missing_dependency_and_a_module_is_not(
    crate: Recorded, source: str, dependency: str | None
) -> None:
    changed = SOURCE.replace("#[cfg(test)]\nmod total_tests;", source)
    (error,) = run(crate, "tests/cart.rs", source=changed).collection_errors
    assert error.crash is not None
    assert (error.crash.dependency, error.crash.parents) == (dependency, () if dependency else ("SyntaxError",))


@pytest.mark.parametrize(
    "command",
    [
        "cargo test --all-targets --test broken --features extra -- --test-threads=1",
        "cargo nextest run --profile ci --features extra -E test(t) --retries=2",
    ],
)
def test_the_options_of_the_recipe_are_kept_and_its_choice_of_targets_is_not(crate: Recorded, command: str) -> None:
    found = run(crate, "tests/featured.rs", command=tuple(command.split()))
    assert statuses(found) == {"tests/featured.rs::t": "passed"}
    assert not run(crate, "tests/featured.rs").results


def test_a_command_that_is_no_test_of_cargos_is_said(crate: Recorded) -> None:
    (error,) = run(crate, "tests/alone.rs", command=("cargo", "make", "ci")).collection_errors
    assert "name the JUnit XML" in error.text


def test_a_changed_source_is_compiled_again(crate: Recorded) -> None:
    report = run(crate, "tests/cart.rs", source=SOURCE.replace(".sum()", ".count() as u32"))
    assert report.results["tests/cart.rs::adds"].status == "failed"


def test_crates_share_no_process() -> None:
    files = ("a/tests/x.rs", "a/src/b/tests.rs", "tests/y.rs", "tests/more/mod.rs", "odd.rs")
    assert CARGO.batches(files) == (files[:2], files[2:])
