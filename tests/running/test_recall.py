import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.candidates.harness import Harness
from codegate.running.endings import MIN_LINES, harness_recall, verbatim_recall
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
    patch = make_patch(BASE, _write([line.replace("    ", "\t") for line in LINES[:count]], "src/other.py"))
    assert verbatim_recall(BASE, _write(LINES), patch) == count / 10


def test_short_fixes_and_what_the_base_has_say_nothing() -> None:
    assert verbatim_recall(BASE, _write(LINES[: MIN_LINES - 1]), make_patch(BASE, _write(LINES))) is None
    known = ["def compute_total(number):", "}", "x", "pass", "    return 0  "]
    assert verbatim_recall(BASE, _write(known, "src/a.py"), "") is None


def test_no_patch_repeats_nothing_and_a_broken_one_is_unknown() -> None:
    assert verbatim_recall(BASE, _write(LINES), "") == 0
    assert verbatim_recall(BASE, _write(LINES), "--- a/src/b.py\n+++ b/src/b.py\n@@ -9 +9 @@\n-no\n+yes\n") is None


def test_what_a_harness_holds_of_a_fix_is_measured_over_all_of_its_files() -> None:
    laid = [{"path": "AGENTS.md", "text": "\n".join(LINES[:3])}, {"path": "b.md", "text": f"* x\n{LINES[3]}"}]
    assert harness_recall(BASE, _write(LINES), Harness.model_validate({"laid": laid})) == 0.4
    assert harness_recall(BASE, _write(LINES), None) is None
