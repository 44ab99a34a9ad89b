"""Which files of a Rust repository are tests."""

import pytest

from codegate.languages import PathClassifier
from codegate.suite import Tree, TreeFile

TEST = b"#[test]\nfn total() {}\n"
INLINE = b"pub fn total() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn total() {}\n}\n"
FILES = {
    "Cargo.toml": b"",
    "rust-toolchain.toml": b"",
    ".cargo/config.toml": b"",
    "build.rs": b"fn main() {}\n",
    "src/lib.rs": INLINE,
    "src/cart/tests.rs": b"mod total;\n",
    "src/cart/tests/total.rs": TEST,
    "src/price_test.rs": b"#[ tokio :: test ]\nasync fn total() {}\n",
    "src/price_tests.rs": b'#[test_case(1; "one")]\nfn total(x: u8) {}\n',
    "src/speed_test.rs": b'#[cfg(feature = "test")]\npub fn speed() {}\n',
    "src/commands/test.rs": b"pub fn run() {}\n",
    "src/latest.rs": b"",
    "tests/cart.rs": TEST,
    "tests/common/mod.rs": b"pub fn cart() {}\n",
    "tests/data/input.json": b"{}",
    "crates/core/tests/all/main.rs": b"mod cart;\n",
    "crates/core/tests/all/cart.rs": TEST,
    "crates/core/benches/cart.rs": b"",
    "examples/cart.rs": b"",
    "src/examples/mod.rs": b"",
}


@pytest.fixture(scope="module")
def classifier() -> PathClassifier:
    """The classifier of a Rust repository."""
    return PathClassifier.of(Tree().overlay({path: TreeFile(data) for path, data in FILES.items()}))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("Cargo.toml", "dependencies"),
        ("rust-toolchain.toml", "configuration"),
        (".cargo/config.toml", "configuration"),
        ("crates/a/target/debug/deps/a-1", "generated"),
        ("target/x86_64-unknown-linux-musl/release/a", "generated"),
        ("src/target/debug.rs", "source"),
        ("build.rs", "source"),
        ("src/lib.rs", "source"),
        ("src/cart/tests.rs", "test_support"),
        ("src/cart/tests/total.rs", "test"),
        ("src/price_test.rs", "test"),
        ("src/price_tests.rs", "test"),
        ("src/speed_test.rs", "source"),
        ("src/commands/test.rs", "source"),
        ("src/latest.rs", "source"),
        ("tests/cart.rs", "test"),
        ("tests/gone.rs", "test"),
        ("tests/common/mod.rs", "test_support"),
        ("tests/data/input.json", "test_support"),
        ("crates/core/tests/all/main.rs", "test_support"),
        ("crates/core/tests/all/cart.rs", "test"),
        ("crates/core/benches/cart.rs", "docs"),
        ("examples/cart.rs", "docs"),
        ("src/examples/mod.rs", "source"),
    ],
)
def test_a_rust_file_is_what_cargo_takes_it_for(classifier: PathClassifier, path: str, kind: str) -> None:
    assert classifier.classify(path) == kind
    assert classifier.is_test_module(path) == (kind == "test")
