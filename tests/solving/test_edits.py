import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.solving.edits import BlockEdit, DiffEdit, apply_edits, contains_code, parse_edits
from codegate.solving.workspace import Workspace
from codegate.suite import TreeFile, apply_patch
from tests.solving.worlds import FIXED, small_tree

BLOCK = "<<<<<<< SEARCH\n    return n // 3\n=======\n    return n // 2\n>>>>>>> REPLACE"
PATH = "src/pkg/maths.py"
EDIT = BlockEdit(PATH, ("    return n // 3",), ("    return n // 2",))


@pytest.mark.parametrize(
    "text",
    [
        f"{PATH}\n{BLOCK}",
        f"Here:\n\n{PATH}\n```python\n{BLOCK}\n```\nDone.",
        f"```python\n{PATH}\n{BLOCK}\n```",
        f"```python {PATH}\n{BLOCK}\n```",
        f"`{PATH}`\n```\n{BLOCK}\n```",
        f"**{PATH}**\n\n{BLOCK}",
        f"**`{PATH}`:**\n{BLOCK}",
        f"### {PATH}\n{BLOCK}",
        f"File: {PATH}\n{BLOCK}",
        f"{PATH}\n~~~py\n{BLOCK}\n~~~",
        f"{PATH}\n```diff\n{BLOCK}\n```",
        f"{PATH}\n{BLOCK}".replace("\n", "\r\n"),
        f"{PATH}\n{BLOCK}".replace("SEARCH", "SEARCH  ").replace("=======", "======= "),
    ],
)
def test_ways_to_write_a_block(text: str) -> None:
    assert parse_edits(text).edits == (EDIT,)
    assert parse_edits(text).problems == ()
    workspace = Workspace(small_tree())
    assert apply_edits(workspace, parse_edits(text)) is None
    assert workspace.content(PATH) == FIXED
    assert contains_code(text)


def test_second_block_of_the_same_file_needs_no_path() -> None:
    parsed = parse_edits(f"{PATH}\n{BLOCK}\n\nAnd then:\n{BLOCK}\n\nother.py\n{BLOCK}")
    assert [edit.path for edit in parsed.edits if isinstance(edit, BlockEdit)] == [PATH, PATH, "other.py"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BLOCK, "no path above"),
        (f"{PATH}\n<<<<<<< SEARCH\na\n=======\nb\n", "no end"),
        (f"{PATH}\n<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", "no end"),
        (f"{PATH}\n<<<<<<< SEARCH\na\n{BLOCK}", "no end"),
        ("```diff\nnothing\n```", "no hunks"),
        (f"{PATH}\n" + BLOCK.replace("n // 3", "n // 4"), "does not occur"),
        ("src/pkg/nowhere.py\n" + BLOCK, "no file"),
        ("src/pkg/latin.py\n" + BLOCK, "does not occur"),
        ("```diff\n--- a/src/pkg/maths.py\n+++ b/src/pkg/maths.py\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n```", ""),
        ("\n".join([PATH, BLOCK] * 201), "more than 200"),
    ],
)
def test_what_cannot_be_applied_says_why(text: str, problem: str) -> None:
    reason = apply_edits(Workspace(small_tree()), parse_edits(text))
    assert reason
    assert problem in reason


def test_search_must_occur_once_and_in_whole_lines() -> None:
    workspace = Workspace(small_tree())
    workspace.write("src/pkg/twice.py", "a = 1\nb = 1\na = 1\n")
    block = "src/pkg/twice.py\n<<<<<<< SEARCH\n{}\n=======\nc = 2\n>>>>>>> REPLACE"
    assert "more than once" in str(apply_edits(workspace, parse_edits(block.format("a = 1"))))
    assert "does not occur" in str(apply_edits(workspace, parse_edits(block.format("= 1"))))
    assert apply_edits(workspace, parse_edits(block.format("b = 1\na = 1"))) is None
    assert workspace.content("src/pkg/twice.py") == "a = 1\nc = 2\n"


def test_line_endings_and_a_missing_last_one_stay() -> None:
    workspace = Workspace(small_tree())
    block = "src/pkg/dos.py\n<<<<<<< SEARCH\nb = 2\n=======\nb = 3\nc = 4\n>>>>>>> REPLACE"
    assert apply_edits(workspace, parse_edits(block)) is None
    assert workspace.content("src/pkg/dos.py") == "a = 1\r\nb = 3\r\nc = 4\r\n"
    workspace.write("src/pkg/bare.py", "a = 1\nb = 2")
    assert apply_edits(workspace, parse_edits(block.replace("dos.py", "bare.py"))) is None
    assert workspace.content("src/pkg/bare.py") == "a = 1\nb = 3\nc = 4"


@pytest.mark.parametrize("copied", ["", "\ufeff"])
def test_the_mark_at_the_beginning_of_a_file_stays(copied: str) -> None:
    workspace = Workspace(small_tree())
    workspace.write("src/pkg/mark.py", "\ufeffa = 1\nb = 2\n")
    block = f"src/pkg/mark.py\n<<<<<<< SEARCH\n{copied}a = 1\n=======\n{copied}a = 3\n>>>>>>> REPLACE"
    assert apply_edits(workspace, parse_edits(block)) is None
    assert workspace.content("src/pkg/mark.py") == "\ufeffa = 3\nb = 2\n"


def test_a_whole_file_replaces_none_that_is_named_above_another_block() -> None:
    whole = "<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE"
    parsed = parse_edits(f"{PATH}\n{BLOCK}\n\nsrc/a new one.py\n{whole}")
    assert parsed.edits == (EDIT,)
    assert "no path above" in parsed.problems[0]


def test_empty_search_makes_or_replaces_a_file() -> None:
    for path in ("src/pkg/new.py", PATH):
        workspace = Workspace(small_tree())
        text = f"{path}\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE"
        assert apply_edits(workspace, parse_edits(text)) is None
        assert workspace.content(path) == "x = 1\n"


DIFF = f"--- a/{PATH}\n+++ b/{PATH}\n@@ -1,2 +1,2 @@\n def half(n):\n-    return n // 3\n+    return n // 2\n"


@pytest.mark.parametrize(
    "text",
    [
        f"Look:\n```diff\ndiff --git a/{PATH} b/{PATH}\n{DIFF}```\n",
        f"Look:\n```diff\n{DIFF}```\n".replace("\n", "\r\n"),
        DIFF.replace("1,2", "1,9"),
        f"Here:\n\n{DIFF}",
        f"```\n{DIFF}```\nDone.",
        f"```text\n{DIFF}```",
        f"~~~\n{DIFF}~~~\n\nSee above.",
    ],
)
def test_a_diff_with_and_without_a_fence_of_its_own(text: str) -> None:
    parsed, workspace = parse_edits(text), Workspace(small_tree())
    assert isinstance(parsed.edits[0], DiffEdit)
    assert apply_edits(workspace, parsed) is None
    assert workspace.content(PATH) == FIXED
    assert contains_code(text)


@pytest.mark.parametrize("target", ["../out.py", "/etc/x", ".git/hooks/post-checkout", "src/out/x.py", "a/../../b.py"])
def test_unsafe_paths_are_left_out_and_remembered(target: str) -> None:
    workspace = Workspace(small_tree())
    text = f"{target}\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\n\n{PATH}\n{BLOCK}"
    assert apply_edits(workspace, parse_edits(text)) is None
    patches = workspace.patches()
    assert [(path.path, path.reason) for path in patches.dropped] == [(target, "unsafe")]
    assert "return n // 2" in patches.patch
    diff = f"```diff\n--- /dev/null\n+++ b/{target}\n@@ -0,0 +1 @@\n+x\n```"
    workspace = Workspace(small_tree())
    apply_edits(workspace, parse_edits(diff))
    assert workspace.patches().patch == ""


@pytest.mark.requirement("F2")
def test_a_diff_makes_modes_and_links_and_takes_files_away() -> None:
    diff = (
        "```\ndiff --git a/src/pkg/l.py b/src/pkg/l.py\nnew file mode 120000\n--- /dev/null\n"
        "+++ b/src/pkg/l.py\n@@ -0,0 +1 @@\n+maths.py\n\\ No newline at end of file\n"
        "diff --git a/tool b/tool\nnew file mode 100755\n--- /dev/null\n+++ b/tool\n@@ -0,0 +1 @@\n+#!/bin/sh\n"
        "diff --git a/src/pkg/run.py b/src/pkg/run.py\nold mode 100755\nnew mode 100644\n"
        "diff --git a/src/pkg/dos.py b/src/pkg/dos.py\ndeleted file mode 100644\n--- a/src/pkg/dos.py\n+++ /dev/null\n"
        "@@ -1,2 +0,0 @@\n-a = 1\n-b = 2\n```"
    )
    workspace, base = Workspace(small_tree()), small_tree()
    assert apply_edits(workspace, parse_edits(diff)) is None
    assert apply_patch(base, workspace.patches().patch) == {
        "src/pkg/dos.py": None,
        "src/pkg/l.py": TreeFile(b"maths.py", "120000"),
        "src/pkg/run.py": TreeFile(base["src/pkg/run.py"].data),
        "tool": TreeFile(b"#!/bin/sh\n", "100755"),
    }


def test_a_block_changes_a_latin_1_file_and_leaves_its_other_bytes() -> None:
    edit = "src/pkg/latin.py\n<<<<<<< SEARCH\nname = 'é'\n=======\nname = 'é'\nother = 'ü'\n>>>>>>> REPLACE"
    workspace = Workspace(small_tree())
    assert apply_edits(workspace, parse_edits(edit)) is None
    assert workspace.tree()["src/pkg/latin.py"].data == b"name = '\xe9'\nother = '\xfc'\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("I cannot help with that.", False),
        ("The function returns a third; divide by 2 instead.", False),
        ("```\n\n```", False),
        ("```text\nno such table: orders\n```", False),
        ("```text\nfailed\n```\n```sql\nSELECT 1;\n```", True),
        ("```python\nx\n```", True),
        ("def f():\n    return 1\n", True),
        ("import os\nx = os.getcwd()", True),
    ],
)
@pytest.mark.requirement("G10")
def test_code_presence(text: str, expected: bool) -> None:
    assert contains_code(text) is expected


PIECES = st.sampled_from(
    ["<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "```diff", "```", "~~~", PATH, "@@ -1 +1 @@", "+++ b/../x", ""]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=30).map("\n".join))
def test_any_text_can_be_parsed_and_applied(text: str) -> None:
    parsed = parse_edits(text)
    contains_code(text)
    blocks = tuple(edit for edit in parsed.edits if isinstance(edit, BlockEdit))
    workspace = Workspace(small_tree())
    apply_edits(workspace, type(parsed)(blocks, parsed.problems))
    changed = small_tree().changes_to(workspace.tree())
    assert set(changed) <= {edit.path.removeprefix("./") for edit in blocks}


@pytest.mark.parametrize(
    "text",
    [
        "```diff\n~~~diff\n" * 20_000 + "<<<<<<< SEARCH\n",
        "<<<<<<< SEARCH\n" * 100_000,
        "```diff\n<<<<<<< SEARCH\n```\n" * 20_000,
        "x = 1 (" * 300_000,
        "src/pkg/big.py\n<<<<<<< SEARCH\n" + "x\n" * 200_000 + "=======\n>>>>>>> REPLACE\n",
    ],
    ids=["fences", "searches", "mixed", "line", "lines"],
)
def test_hostile_answers_take_no_time(text: str) -> None:
    workspace = Workspace(small_tree())
    workspace.write("src/pkg/big.py", "x\n" * 400_000)
    start = time.process_time()
    apply_edits(workspace, parse_edits(text))
    contains_code(text)
    assert time.process_time() - start < 5
