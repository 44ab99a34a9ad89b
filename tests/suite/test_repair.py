"""Patches as models and tools write them: repaired where their own lines say what is meant, else refused whole."""

import pytest

from codegate.suite import PatchError, Tree, TreeFile, apply_patch

TEXT = "def a():\n    return 1\n\n\ndef double(n):\n    return n\n\n\ndef b():\n    return 1\n"
CALC = "src/calc.py"
BODY = " def double(n):\n-    return n\n+    return 2 * n\n"
NAMES = f"--- a/{CALC}\n+++ b/{CALC}\n"
GIT = f"diff --git a/{CALC} b/{CALC}\n{NAMES}"
FIXED = TEXT.replace("return n", "return 2 * n")
NEW = "--- /dev/null\n+++ b/two.py\n"


def tree(text: str | bytes = TEXT) -> Tree:
    return Tree({CALC: TreeFile(text.encode() if isinstance(text, str) else text)})


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


@pytest.mark.parametrize(
    "patch",
    [
        f"{GIT}@@ -4,7 +4,8 @@\n \n{BODY} \n",
        f"{GIT}@@ -4,2 +4,1 @@\n \n{BODY} \n",
        f"{NAMES}@@ -4,7 +4,8 @@\n \n{BODY}\n\n",
        f"{NAMES}@@ -5,4 +5,4 @@\n{BODY}".strip(),
        f"{NAMES}@@ -5,2 +5,2 @@\n{BODY}",
        f"{NAMES}@@\n{BODY}",
        f"{NAMES}@@ ... @@\n{BODY}",
        f"{NAMES}@@ def double(n):\n-    return n\n+    return 2 * n\n",
        f"{NAMES}@@ -6 +6 @@\n-    return n\n+    return 2 * n\n",
        f"Here it is.\n\n```diff\n{NAMES}@@ -1,9 +1,9 @@\n{BODY}```\nI hope that it helps.\n",
        f"From 1 Mon\n---\n src/calc.py | 2 +-\n\n{GIT}@@ -5,9 +5,9 @@\n{BODY}-- \n2.39.5\n",
        crlf(f"{GIT}@@ -5,2 +5,2 @@\n{BODY}"),
        crlf(f"{GIT}@@ -5,7 +5,7 @@\n{BODY}"),
        f"{GIT}@@ -5,2 +5,2 @@\n{crlf(BODY)}",
        GIT.replace("a/", "").replace("b/", "") + f"@@ -5,2 +5,2 @@\n{BODY}",
        NAMES.replace("a/", "").replace("b/", "") + f"@@ -5,7 +5,2 @@\n{BODY}",
        GIT.replace("a/", "i/").replace("b/", "w/") + f"@@ -5,7 +5,2 @@\n{BODY}",
        NAMES.replace(".py\n", ".py\t2026-01-01 10:00:00.000000000 +0000\n") + f"@@ -5,9 +5,9 @@\n{BODY}",
    ],
)
def test_a_patch_whose_lines_say_what_is_meant_is_repaired(patch: str) -> None:
    assert apply_patch(tree(), patch) == {CALC: TreeFile(FIXED.encode())}


@pytest.mark.parametrize("header", ["@@ -5,2 +5,2 @@", "@@ -5,9 +5,9 @@", "@@"])
@pytest.mark.parametrize("write", [str, crlf])
def test_line_ends_and_encoding_are_those_of_the_file(header: str, write: type[str]) -> None:
    patch = write(f"{NAMES}{header}\n{BODY}")
    assert apply_patch(tree(crlf(TEXT)), patch) == {CALC: TreeFile(crlf(FIXED).encode())}
    mixed = crlf(TEXT[:20]) + TEXT[20:]
    assert apply_patch(tree(mixed), patch) == {CALC: TreeFile(mixed.replace("return n", "return 2 * n").encode())}
    latin = TEXT.replace("return n", "return n  # é").encode("latin-1")
    patch = patch.replace("return n", "return n  # é").replace("2 * n", "2 * n  # ü")
    assert apply_patch(tree(latin), patch) == {CALC: TreeFile(latin.replace(b"n  # \xe9", b"2 * n  # \xfc"))}


def test_the_end_of_a_file_without_a_line_break_stays() -> None:
    patch = f"{NAMES}@@ -9,2 +9,2 @@\n def b():\n-    return 1\n+    return 2\n"
    fixed = TEXT.rstrip().removesuffix("1") + "2"
    assert apply_patch(tree(TEXT.rstrip()), patch) == {CALC: TreeFile(fixed.encode())}


@pytest.mark.parametrize(
    ("text", "hunk", "made"),
    [
        ("a\nb\nc\n", "@@ -0,0 +1 @@\n+new\n", "new\na\nb\nc\n"),
        ("a\nb\nc\n", "@@ -1,0 +2 @@\n+new\n", "a\nnew\nb\nc\n"),
        ("a\nb\nc\n", "@@ -3,0 +4 @@\n+new\n", "a\nb\nc\nnew\n"),
        ("a\nb\nc\nd\nb\n", "@@ -2 +2 @@\n-b\n+B\n", "a\nB\nc\nd\nb\n"),
        ("a\nb\nc\nd\nb", "@@ -2 +2 @@\n-b\n+B\n", "a\nB\nc\nd\nb"),
        ("a\nb\nc\nd\nb", "@@ -5 +5 @@\n-b\n+B\n", "a\nb\nc\nd\nB"),
        ("a\nb\nc\nd\nb", "@@ -2 +1,0 @@\n-b\n", "a\nc\nd\nb"),
        ("a\n", "@@ -1 +1 @@\n-a\n+b\n", "b\n"),
    ],
)
def test_a_hunk_without_context_applies_at_its_line(text: str, hunk: str, made: str) -> None:
    assert apply_patch(tree(text), f"{NAMES}{hunk}") == {CALC: TreeFile(made.encode())}


@pytest.mark.parametrize(
    ("text", "hunk"),
    [("1.0\n", "@@ -1 +1 @@\n-1.0\n+1.1\n"), ("", "@@ -0,0 +1 @@\n+1.1\n")],
)
def test_a_hunk_that_is_a_whole_file_costs_no_other_its_place(text: str, hunk: str) -> None:
    same = "def fN():\n    x = 1\n    return x\n\n\n" * 6
    near = "@@ -18,3 +18,3 @@\n     x = 1\n-    return x\n+    return x + 1\n \n"  # one line too far
    files = Tree({CALC: TreeFile(same.encode()), "VERSION": TreeFile(text.encode())})
    found = apply_patch(files, f"{NAMES}{near}--- a/VERSION\n+++ b/VERSION\n{hunk}")
    assert found[CALC] == apply_patch(files, f"{NAMES}{near}")[CALC]
    assert set(found) == {CALC, "VERSION"}


@pytest.mark.parametrize("header", ["@@ -0,0 +1,2 @@", "@@ -0,0 +1,9 @@", "@@ -1,3 +1,4 @@", "@@", "@@ -0,0 +1,5 @@"])
@pytest.mark.parametrize("mode", ["", "diff --git a/two.py b/two.py\nnew file mode 100755\n"])
def test_a_new_file_is_made_whole(header: str, mode: str) -> None:
    new = f"{mode}{NEW}{header}\n+ONE = 1\n+THREE = 3\n\n+TWO = 2\n+FOUR = 4\n"
    edit = f"{NAMES}@@ -5,2 +5,2 @@\n{BODY}"
    made = TreeFile(b"ONE = 1\nTHREE = 3\n\nTWO = 2\nFOUR = 4\n", "100755" if mode else "100644")
    for patch in (new, new + edit, edit + new):
        assert apply_patch(tree(), patch)["two.py"] == made


def test_hunks_of_one_file_are_shifted_by_those_above() -> None:
    patch = f"{NAMES}@@ -1,9 +1,9 @@\n def a():\n+    # one\n+    # two\n@@\n{BODY}@@\n def b():\n-    return 1\n"
    fixed = FIXED.replace("def a():\n", "def a():\n    # one\n    # two\n").removesuffix("    return 1\n")
    assert apply_patch(tree(), patch) == {CALC: TreeFile(fixed.encode())}


@pytest.mark.parametrize("between", ["", NAMES])
@pytest.mark.parametrize(
    ("commented", "hunk", "meant", "made"),
    [
        ("def b():\n", "@@ -2 +2 @@\n-    return 1\n+    return 2\n", "a():\n    return 1", "a():\n    return 2"),
        ("def b():\n", "@@ -3,0 +4 @@\n+ONE = 1\n", "1\n\n\n", "1\n\nONE = 1\n\n"),
        ("def a():\n", "@@ -7,0 +8 @@\n+ONE = 1\n", "n\n\n\n", "n\n\nONE = 1\n\n"),
    ],
)
def test_a_hunk_is_shifted_by_all_above_it_and_by_none_below(
    commented: str, hunk: str, meant: str, made: str, between: str
) -> None:
    comments = "    # one\n" * 10
    other = f"@@ -9,9 +9,9 @@\n {commented}{comments.replace('    #', '+    #')}"
    fixed = TEXT.replace(meant, made).replace(commented, commented + comments)
    assert apply_patch(tree(), f"{NAMES}{other}{between}{hunk}") == {CALC: TreeFile(fixed.encode())}


def test_names_without_prefixes_are_told_from_those_with_one() -> None:
    base = Tree({path: TreeFile(b"one\n") for path in ("x.py", "a/x.py", "src/x.py")})
    hunk = "@@ -1 +1 @@\n-one\n+two\n"
    for names, path in {
        "--- a/x.py\n+++ b/x.py\n": "x.py",
        "--- a/x.py\n+++ a/x.py\n": "a/x.py",
        "--- src/x.py\n+++ src/x.py\n": "src/x.py",
        "--- a/src/x.py\n+++ a/src/x.py\n": "src/x.py",
        "--- x.py\n+++ x.py\n": "x.py",
    }.items():
        assert apply_patch(base, names + hunk) == {path: TreeFile(b"two\n")}
    assert [*apply_patch(base, "--- /dev/null\n+++ src/new.py\n@@ -0,0 +1 @@\n+x\n")] == ["src/new.py"]


@pytest.mark.requirement("F2")
@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (f"{NAMES}@@\n     return 1\n+    # which?\n", "line 3 stand in several places in src/calc.py"),
        (f"{NAMES}@@ -1,9 +1,9 @@\n def double(n):\n-    return m\n", "line 3 are not in src/calc.py"),
        (f"{NAMES}@@\n+x = 1\n", "line 3 has no old line to be found by"),
        (f"{NAMES}@@ -5,7 +5,8 @@\n+x = 1\n", "line 3 has no old line to be found by"),
        (f"{NAMES}@@ -5,3 +5,3 @@\n{BODY}def b():\n-    return 1\n+    return 2\n", "line 7, in a hunk"),
        (f"{NAMES}@@\n\n", "line 3 has no lines"),
        (f"@@\n{BODY}{NAMES}@@ -5,2 +5,2 @@\n{BODY}", "line 1 has no file above it"),
        (f"{NAMES}@@ -5,2 +5,2 @@\n{BODY}-    gone\n", "line 3 are not in src/calc.py"),
        (f"{NAMES}@@ -5,2 +5,2 @@\n{BODY}@@ -20,9 +20,9 @@\n nowhere\n-x\n+y\n", "line 7 are not in src/calc.py"),
    ],
)
def test_a_patch_whose_lines_do_not_say_it_is_refused_with_the_line(patch: str, message: str) -> None:
    with pytest.raises(PatchError, match=message):
        apply_patch(tree(), patch)


def test_very_many_hunks_are_not_repaired() -> None:
    with pytest.raises(PatchError, match="over 2000 hunks"):
        apply_patch(tree(), NAMES + f"@@\n{BODY}" * 2001)
