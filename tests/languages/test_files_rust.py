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
    "src/vendor.rs": b"pub mod who;\n",
    "src/vendor/who.rs": b"",
    "src/shop/vendor/mod.rs": b"",
    "tests/cart.rs": TEST,
    "tests/common/mod.rs": b"pub fn cart() {}\n",
    "tests/data/input.json": b"{}",
    "crates/core/tests/all/main.rs": b"mod cart;\n",
    "crates/core/tests/all/cart.rs": TEST,
    "crates/core/benches/cart.rs": b"",
    "examples/cart.rs": b"",
    "src/examples/mod.rs": b"",
}


KINDS = {
    "dependencies": "Cargo.toml",
    "configuration": "rust-toolchain.toml .cargo/config.toml",
    "generated": "crates/a/target/debug/deps/a-1 target/x86_64-unknown-linux-musl/release/a",
    "source": (
        "src/target/debug.rs build.rs src/lib.rs src/speed_test.rs src/commands/test.rs src/latest.rs "
        "src/vendor/who.rs src/shop/vendor/mod.rs src/examples/mod.rs"
    ),
    "test_support": "src/cart/tests.rs tests/common/mod.rs tests/data/input.json crates/core/tests/all/main.rs",
    "test": (
        "src/cart/tests/total.rs src/price_test.rs src/price_tests.rs tests/cart.rs tests/gone.rs "
        "crates/core/tests/all/cart.rs"
    ),
    "docs": "crates/core/benches/cart.rs examples/cart.rs",
}


@pytest.mark.parametrize(("kind", "paths"), KINDS.items(), ids=KINDS)
def test_a_rust_file_is_what_cargo_takes_it_for(kind: str, paths: str) -> None:
    classifier = PathClassifier.of(Tree({path: TreeFile(data) for path, data in FILES.items()}))
    for path in paths.split():
        assert classifier.classify(path) == kind, path
        assert classifier.is_test_module(path) == (kind == "test"), path
