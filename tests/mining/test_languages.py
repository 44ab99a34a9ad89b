"""Which language a change is written in."""

import pytest

from codegate.mining.languages import RunnerSettings, known_languages, language_namer, language_of, same_code
from codegate.suite import Language, Tree, TreeFile

GO = "package a\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n"


@pytest.mark.parametrize(
    ("sources", "tests", "language"),
    [
        (["a.py"], [], "python"),
        (["lib/a.ts", "lib/b.js"], [], "javascript"),
        (["main.go"], [], "go"),
        (["a.py", "b.js", "c.js"], [], "javascript"),
        (["a.py", "b.js", "c.js"], ["test_a.py"], "python"),
        (["src/a.rs", "build.rs"], ["tests/a.rs"], "rust"),
        (["a.css", "b.html"], ["test_a.py"], None),
        ([], [], None),
    ],
)
def test_the_language_is_the_one_of_most_sources_and_with_tests(
    sources: list[str], tests: list[str], language: Language | None
) -> None:
    assert language_of(sources, tests) == language


def test_tests_that_only_a_command_reads_may_be_of_any_source() -> None:
    assert language_of(["src/calc.py"], ["tests/test_calc.rb"], language_namer(reports=True)) == "junit"


@pytest.mark.parametrize(
    ("path", "old", "new", "same"),
    [
        ("a.py", "x = 1\n", "x  =  1 # one\n", True),
        ("a.py", "x = 1\n", "x = 2\n", False),
        ("a.js", "a();\n  b();\n", "  a();\n\n b(); // why\n", True),
        ("a.js", "a();\r\n", "a();\n", True),
        ("a.js", "f(() => { return x });\n", "f(() => { return\nx });\n", False),
        ("a.js", "x = `\n a`\n", "x = `\n  a`\n", False),
        ("a.js", "x = 'a b'\n", "x = 'a  b'\n", False),
        ("a.js", "x = (\n", "x = ( \n", False),
        ("a.go", GO, "package a\n\n// Add adds.\nfunc Add(a,  b int) int {\n\n\treturn a + b // sum\n}\n", True),
        ("a.go", GO, "package a\nfunc Add(a, b int) int { return a + b }", True),
        ("a.go", GO, GO.replace("a + b", "a - b"), False),
        ("a.go", GO, f"//go:build linux\n\n{GO}", False),
        ("a.go", "package a\nvar s = `a\n  b // c`\n", "package a\nvar s = `a\n b`\n", False),
        ("a.css", "a {}\n", "a  {}\n", False),
    ],
)
def test_layout_and_comments_are_no_change(path: str, old: str, new: str, *, same: bool) -> None:
    assert same_code(path, old.encode(), new.encode()) is same


def test_rust_needs_a_manifest() -> None:
    rust = known_languages()["rust"]
    assert rust.runner(Tree({"crates/a/Cargo.toml": TreeFile(b"")})) == RunnerSettings("cargo")
    assert rust.runner(Tree()) is None
