"""Rust, by Cargo; tests run in recorded builds only."""

from typing import Final

from codegate.languages.contract import LanguagePack
from codegate.languages.rust.declarations import RUST
from codegate.languages.rust.files import RustFiles

LANGUAGE: Final = LanguagePack(
    name="rust",
    suffixes=(".rs",),
    files=RustFiles,
    runners={"cargo": "codegate.languages.rust.runners:CARGO"},
    manifests={"Cargo.toml": "cargo"},
    readers=(RUST,),
    controls="codegate.languages.rust.controls:TESTS",
    lines="codegate.languages.rust.tests:DIALECTS",
    varies=frozenset({"random", "timezone"}),
    parameters="::",
)
