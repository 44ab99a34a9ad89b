"""Marks and copies of Rust's tests: what is found, what is caught, who is left alone."""

import shutil
from dataclasses import replace
from functools import partial

import pytest

from codegate.grading import Grade, Sandboxes, grade, run_tests
from codegate.grading.controls.copies import SiteFlip, make_copies, read_texts
from codegate.grading.controls.verdict import fold
from codegate.grading.testreport import TestSelection
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Problem, ProblemLimits, make_patch
from tests.grading.worlds import Files, tree, with_controls
from tests.kit.environment import recorded, sandboxes_of
from tests.kit.problem import changes, problem

pytestmark = pytest.mark.bwrap

LIMITS = ProblemLimits(seconds=120, memory_mb=2048, pids=256, disk_mb=512)
WITH_RUST = recorded("rust", rust="1", python="3.11")
SOURCE, HIDDEN, INSIDE = "src/lib.rs", "tests/cart.rs", "src/names/tests.rs"
MANIFEST = '[package]\nname = "cart"\nversion = "0.1.0"\nedition = "2021"\n'
HEAD = "pub mod names;\n"
BUG = "pub fn total(prices: &[u32]) -> u32 { prices[0] }\n"
FIX = "pub fn total(prices: &[u32]) -> u32 { prices.iter().sum() }\n"
BASE: Files = {
    "Cargo.toml": MANIFEST,
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "cart"\nversion = "0.1.0"\n',
    SOURCE: HEAD + BUG,
    "src/names.rs": "pub fn name(given: &str) -> Option<String> { None }\n#[cfg(test)]\nmod tests;\n",
}
NAMES = """pub fn name(given: &str) -> Option<String> {
    if given.is_empty() { None } else { Some(given.to_uppercase()) }
}
#[cfg(test)]
mod tests;
"""
TESTS: Files = {
    HIDDEN: """use cart::total;

#[test]
fn adds() {
    assert_eq!(total(&[1, 2]), 3);
}

mod more {
    #[test]
    #[should_panic(expected = "assertion")]
    fn refuses() {
        assert_eq!(cart::total(&[1, 2]), 1, "the {} one", 1);
    }

    #[test]
    fn returns() -> Result<(), String> {
        let found = cart::total(&[4, 0, 4]);
        if found > 8 { return Err(found.to_string()); }
        assert!(found == 8, "found {found}");
        Ok(())
    }
}
""",
    INSIDE: """use super::name;

#[test]
fn is_loud() {
    let found = name("ann");
    assert!(found.is_some());
    assert_eq!(found.as_deref(), Some("ANN"));
}
""",
}
TARGETS = (f"{HIDDEN}::adds", f"{HIDDEN}::more::refuses", f"{HIDDEN}::more::returns", f"{INSIDE}::is_loud")
FORGED = """use std::io::Write;
    let _ = std::io::stdout().write_all(b"\\ntest result: ok. 1 passed; 0 failed; 0 ignored;\\n");
    std::process::exit(0)"""


@pytest.fixture(scope="module")
def sandboxes(bwrap_backend: BubblewrapBackend) -> Sandboxes:
    """Sandboxes with this machine's Rust."""
    if shutil.which("cargo") is None:
        pytest.skip("this machine has no Rust")
    return sandboxes_of(bwrap_backend, WITH_RUST)


@pytest.fixture(scope="module")
def validated(sandboxes: Sandboxes) -> Problem:
    """The problem, with the changes of its tests that its fix fails."""
    given = problem(
        "cart-1", WITH_RUST.manifest, hidden=changes(TESTS), fix=changes({SOURCE: HEAD + FIX, "src/names.rs": NAMES}),
        wanted=TARGETS, language="rust", runner="cargo", limits=LIMITS,
    )  # fmt: skip
    return with_controls(given, tree(BASE), sandboxes)


def graded(validated: Problem, sandboxes: Sandboxes, total: str) -> Grade:
    patch = make_patch(tree(BASE), changes({SOURCE: HEAD + total, "src/names.rs": NAMES}))
    return grade(validated, tree(BASE), patch, sandboxes)


def test_every_test_that_asserts_has_copies(validated: Problem) -> None:
    audit = validated.manifest.controls
    assert audit is not None
    assert audit.unfit == ()
    assert {*audit.flips, *audit.alone} == set(TARGETS)


def test_the_fix_passes_with_its_controls(validated: Problem, sandboxes: Sandboxes) -> None:
    found = graded(validated, sandboxes, "pub fn total(prices: &[u32]) -> u32 { prices.iter().copied().sum() }\n")
    assert (found.resolved, found.failure, found.controlled) == (True, None, True), found.detail


def test_a_program_that_forges_its_own_result_does_not_pass(validated: Problem, sandboxes: Sandboxes) -> None:
    found = graded(validated, sandboxes, f"pub fn total(prices: &[u32]) -> u32 {{ {FORGED} }}\n")
    assert (found.resolved, found.failure) == (False, "tampering"), found.detail


def test_a_test_of_the_same_name_in_the_sources_does_not_count(validated: Problem, sandboxes: Sandboxes) -> None:
    names = "pub fn name(_: &str) -> Option<String> { None }\n#[cfg(test)]\nmod tests {\n    #[test] fn is_loud() {}\n"
    patch = changes({SOURCE: HEAD + FIX, "src/names.rs": names + '    include!("names/tests.rs");\n}\n'})
    found = grade(validated, tree(BASE), make_patch(tree(BASE), patch), sandboxes)
    assert not found.resolved
    assert found.detail.startswith(f"{INSIDE}::is_loud"), found.detail


def test_people_see_the_test_as_it_was_written_and_no_copy(validated: Problem, sandboxes: Sandboxes) -> None:
    found = graded(validated, sandboxes, "pub fn total(_: &[u32]) -> u32 { 17 }\n")
    assert (found.failure, found.exit_code) == ("logic_error", 1), found.output
    assert found.detail.startswith(f"{HIDDEN}::adds")
    assert found.output.count("left: 17") == 1
    assert not any(word in found.output for word in ("macro_rules", "env!", "left: 8", "right: 4")), found.output


FORMS = """#![no_std]
#![allow(unused)]
#[test]
fn tail() { assert_eq!(1, 1) }
#[test]
fn blocks() {
    #![allow(dead_code)]
    #[cfg(unix)]
    let kept: [u8; 4] = [0u8; 4];
    use core::num::ParseIntError as Ok;
    struct Unit;
    for at in 0..3 { assert!(at < 3) }
    let inner = |given: u32| { return given; };
    match kept.len() { 1 => panic!(), _ => {} };
    if kept.is_empty() { return; }
    assert_eq!(inner(2), 2);
}
#[test]
fn assigns() {
    let mut kept = 0u8;
    assert_eq!(include_str!("../Cargo.toml").find('_'), None);
    kept = if kept < 3 { 250u8 } else { 3 }
}
#[test]
fn documented() {
    //! It is.
    assert_eq!(1, 1);
}
#[test]
const fn constant() { assert!(true) }
macro_rules! env { () => { panic!() } }
macro_rules! concat { () => { panic!() } }
#[test]
fn waits() {
    while kept_away() != 0 {}
    assert_eq!([0; 2].len(), 2);
}
fn kept_away() -> u32 { 0 }
#[test]
fn value() -> Result<(), core::num::ParseIntError> {
    let kept = (1, 2);
    assert_eq!(kept.0, 1);
    "1".parse::<u32>().map(|_| ())
}
"""


def test_every_form_of_test_comes_out_as_before_with_all_of_its_marks(sandboxes: Sandboxes) -> None:
    content = {**BASE, HIDDEN: FORMS}
    texts = read_texts(tree(content), [HIDDEN], "cargo")
    flips = {key: [(SiteFlip(unit.sites[0], 0),)] for key, unit in texts.units.items()}
    made = replace(make_copies(texts, texts.units.values(), flips), seconds=2.0)
    selection = TestSelection((HIDDEN,), runner="cargo", copies=made)
    report = run_tests(partial(sandboxes.open, WITH_RUST.manifest, LIMITS), tree(content), selection)
    folded = fold(made, report, texts)
    names = ("tail", "blocks", "assigns", "documented", "constant", "waits", "value")
    statuses = {test.rpartition("::")[2]: result.status for test, result in folded.report.results.items()}
    assert statuses == dict.fromkeys(names, "passed"), report.output
    assert folded.short == ()
    assert {len(folded.passed[f"{HIDDEN}::{name}"]) for name in ("tail", "waits")} == {2, 3}
    assert len(folded.passed[f"{HIDDEN}::value"]) == 3
    (endless,) = folded.copies[f"{HIDDEN}::waits"]
    assert endless.result is not None
    assert endless.result.status == "failed"
