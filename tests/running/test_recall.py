import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.candidates.harness import Harness
from codegate.running.endings import MIN_LINES, changes_of, harness_recall, patch_size, verbatim_recall
from codegate.running.outcome import PatchSize
from codegate.suite import Changes, Tree, TreeFile, make_patch

LINES = [f"    total_{number} = compute_total({number})" for number in range(10)]
BASE = Tree(
    {"src/a.py": TreeFile(b"def compute_total(number):\n    return number\n"), "src/b.py": TreeFile(b"x = 1\n")}
)


def _write(lines: list[str], path: str = "src/b.py") -> Changes:
    return {path: TreeFile("\n".join(["x = 1", *lines, ""]).encode())}


@given(st.integers(0, 10))
@pytest.mark.requirement("D8")
def test_the_share_of_the_fix_that_is_repeated_is_told_wherever_it_stands(count: int) -> None:
    changes = _write([line.replace("    ", "\t") for line in LINES[:count]], "src/other.py")
    assert verbatim_recall(BASE, _write(LINES), changes) == count / 10


def test_short_fixes_and_what_the_base_has_say_nothing() -> None:
    assert verbatim_recall(BASE, _write(LINES[: MIN_LINES - 1]), _write(LINES)) is None
    known = ["def compute_total(number):", "}", "x", "pass", "    return 0  "]
    assert verbatim_recall(BASE, _write(known, "src/a.py"), {}) is None


def test_no_patch_repeats_nothing_and_a_broken_one_is_unknown() -> None:
    assert verbatim_recall(BASE, _write(LINES), changes_of(BASE, "")) == 0
    broken = changes_of(BASE, "--- a/src/b.py\n+++ b/src/b.py\n@@ -9 +9 @@\n-no\n+yes\n")
    assert verbatim_recall(BASE, _write(LINES), broken) is None
    assert patch_size(BASE, _write(LINES), broken) is None


def test_what_a_harness_holds_of_a_fix_is_measured_over_all_of_its_files() -> None:
    laid = [{"path": "AGENTS.md", "text": "\n".join(LINES[:3])}, {"path": "b.md", "text": f"* x\n{LINES[3]}"}]
    assert harness_recall(BASE, _write(LINES), Harness.model_validate({"laid": laid})) == 0.4
    assert harness_recall(BASE, _write(LINES), None) is None


def test_a_patch_is_sized_beside_the_fix_by_its_sources() -> None:
    changes = {
        "src/b.py": TreeFile(b"x = 2\n"),
        "src/c.py": TreeFile(b"y = 1\n" * 3),
        "src/a.py": TreeFile(b"    return number\ndef compute_total(number):\n"),  # moved lines count as none
        "src/d.bin": TreeFile(b"\0\n\n"),
        "tests/test_b.py": TreeFile(b"def test(): pass\n"),
    }
    size = patch_size(BASE, _write(LINES), changes_of(BASE, make_patch(BASE, changes)))
    assert size == PatchSize(lines=5, reference_lines=10, files=4, outside=3)


def test_what_changes_no_source_has_no_size() -> None:
    tests = {"tests/test_b.py": TreeFile(b"def test(): pass\n")}
    assert patch_size(BASE, _write(LINES), {}) is patch_size(BASE, _write(LINES), tests) is None
    assert patch_size(BASE, {"answer.md": TreeFile(b"It does.\n")}, _write(LINES)) is None
