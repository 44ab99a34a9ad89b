"""Marks and copies of Rust's tests: what is found, what is caught, who is left alone."""

import pytest

from codegate.grading import Sandboxes
from codegate.grading.controls.copies import SiteFlip
from codegate.sandbox import Toolchain
from codegate.sandbox.toolchains import find_toolchain
from tests.grading.conftest import SandboxesWith
from tests.grading.worlds import LARGE, Files, World, room_of, statuses
from tests.kit.environment import recorded

pytestmark = pytest.mark.bwrap

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
def sandboxes(sandboxes_with: SandboxesWith) -> Sandboxes:
    """Sandboxes with this machine's Rust."""
    if find_toolchain(Toolchain("rust", "")) is None:
        pytest.skip("this machine has no Rust")
    return sandboxes_with(WITH_RUST)


@pytest.fixture(scope="module")
def crate(sandboxes: Sandboxes) -> World:
    """The problem, with the changes of its tests that its fix fails."""
    return World(
        sandboxes, base=BASE, hidden=TESTS, fix={SOURCE: HEAD + FIX, "src/names.rs": NAMES}, expected=TARGETS,
        environment=WITH_RUST, limits=LARGE, language="rust", runner="cargo",
    ).validated()  # fmt: skip


def change(total: str) -> Files:
    return {SOURCE: HEAD + total, "src/names.rs": NAMES}


@pytest.mark.requirement("G12")
def test_every_test_that_asserts_has_copies_and_the_fix_passes_with_them(crate: World) -> None:
    assert crate.audit.unfit == ()
    assert {*crate.audit.flips, *crate.audit.alone} == set(TARGETS)
    found = crate.grade(change("pub fn total(prices: &[u32]) -> u32 { prices.iter().copied().sum() }\n"))
    assert (found.resolved, found.failure, found.controlled) == (True, None, True), found.detail


def test_a_program_that_forges_its_own_result_does_not_pass(crate: World) -> None:
    found = crate.grade(change(f"pub fn total(prices: &[u32]) -> u32 {{ {FORGED} }}\n"))
    assert (found.resolved, found.failure) == (False, "tampering"), found.detail


def test_a_test_of_the_same_name_in_the_sources_does_not_count(crate: World) -> None:
    names = "pub fn name(_: &str) -> Option<String> { None }\n#[cfg(test)]\nmod tests {\n    #[test] fn is_loud() {}\n"
    found = crate.grade({SOURCE: HEAD + FIX, "src/names.rs": names + '    include!("names/tests.rs");\n}\n'})
    assert not found.resolved
    assert found.detail.startswith(f"{INSIDE}::is_loud"), found.detail


def test_people_see_the_test_as_it_was_written_and_no_copy(crate: World) -> None:
    found = crate.grade(change("pub fn total(_: &[u32]) -> u32 { 17 }\n"))
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
    room = room_of(sandboxes, WITH_RUST, runner="cargo", base=BASE)
    _, separated = room.beside({HIDDEN: FORMS}, HIDDEN, lambda unit: [(SiteFlip(unit.sites[0], 0),)], seconds=2.0)
    names = ("tail", "blocks", "assigns", "documented", "constant", "waits", "value")
    assert statuses(separated.report, HIDDEN) == dict.fromkeys(names, "passed"), separated.report.output
    assert separated.short == ()
    assert {len(separated.passed[f"{HIDDEN}::{name}"]) for name in ("tail", "waits")} == {2, 3}
    assert len(separated.passed[f"{HIDDEN}::value"]) == 3
    (endless,) = separated.copies[f"{HIDDEN}::waits"]
    assert endless.result is not None
    assert endless.result.status == "failed"
