"""Which files git ignores, by rules that stand in an index alone."""

import pytest

from codegate.suite import Tree, TreeFile, find_ignored, gitstore
from codegate.suite.git import GitError

RULES = {".gitignore": "build/\n*.bin\n!keep.bin\n", "sub/env/.gitignore": "*\n", "a\udcff/.gitignore": "x\n"}


def test_ignored_files_are_those_of_the_rules_in_every_folder_and_the_defaults() -> None:
    rules = Tree({path: TreeFile(text.encode()) for path, text in RULES.items()})
    ignored = ["build/lib/x.py", "x.bin", ":/odd.bin", "-x.bin", 'q"x.bin', "sub/env/lib/x.py", "a\udcff/x", "a/tmp/x"]
    kept = ["a/keep.bin", "build", "x", "src/x.py", "tmp"]
    assert find_ignored(rules, [*ignored, *kept], "tmp/\n") == set(ignored)
    assert find_ignored(Tree(), kept, "") == frozenset()


def test_rules_that_would_keep_git_busy_for_ever_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitstore, "_IGNORE_SECONDS", 1)
    rules = Tree({".gitignore": TreeFile(b"*a*a*a*a*a*a*a*a*a*a*a*b\n" * 200)})
    with pytest.raises(GitError, match="took longer than 1 s of processor time"):
        find_ignored(rules, ["a" * 200 + ".py"], "")
