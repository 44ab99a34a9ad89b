"""A repository of small bug fixes, made for measuring: each has a test file of five tests, of which two fail before it.

Running such a file bare takes about 0.6 s.
"""

import os
import subprocess
from datetime import date
from pathlib import Path

CODE = """\
def part{n}(items, size):
    if size < 1:
        raise ValueError(size)
    return [items[at:at + size] for at in range(0, len(items), size)]


def label{n}(text, width):
    {label}


# The two functions are far from each other, so that a fix of both has two hunks.
SIZES = (
    1,
    2,
    3,
)


def mean{n}(items):
    {mean}
"""
TESTS = """\
import pytest

from pkg.part{n} import label{n}, mean{n}, part{n}


def work():
    return sum(number * number for number in range(700_000))


def test_parts():
    work()
    assert part{n}([1, 2, 3], 2) == [[1, 2], [3]]


def test_size():
    work()
    with pytest.raises(ValueError):
        part{n}([1], 0)


def test_label():
    work()
    assert label{n}("ab", 4) == "ab.."
"""
NEW_TESTS = """

def test_label_of_a_long_text():
    assert label{n}("abcdef{n}", 3) == "abc"


def test_mean_of_nothing():
    assert mean{n}([]) == {n}
"""
WRONG = {"label": 'return text + "." * (width - len(text))', "mean": "return sum(items) / len(items)"}
RIGHT = {
    "label": 'return (text + "." * (width - len(text)))[:width]',
    "mean": "return sum(items) / len(items) if items else {n}",
}
MESSAGE = """Fix labels and means of part {n}

A label of a long text is longer than its width. The label should be cut at the width. The mean of an empty list raises
a ZeroDivisionError. The mean of an empty list should be {n}.
"""


def build_history(folder: Path, problems: int) -> Path:
    """Make a repository whose last ``problems`` commits each fix a bug, and return its folder."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*words: str, day: int = 0) -> None:
        moment = f"{date.fromordinal(date(2025, 1, 1).toordinal() + day)}T12:00:00+00:00"
        subprocess.run(
            ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words],
            cwd=folder,
            env={**environment, "GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment},
            check=True,
        )

    (folder / "pkg").mkdir(parents=True)
    (folder / "tests").mkdir()
    git("init", "--quiet", "--initial-branch=main")
    (folder / "pyproject.toml").write_text("[project]\nname = 'pkg'\nversion = '1'\n")
    (folder / "pkg" / "__init__.py").write_text("")
    for n in range(problems):
        (folder / "pkg" / f"part{n}.py").write_text(CODE.format(n=n, **WRONG))
        (folder / "tests" / f"test_part{n}.py").write_text(TESTS.format(n=n))
    git("add", "--all")
    git("commit", "--quiet", "-m", "Begin")
    for n in range(problems):
        fixed = {name: line.format(n=n) for name, line in RIGHT.items()}
        (folder / "pkg" / f"part{n}.py").write_text(CODE.format(n=n, **fixed))
        (folder / "tests" / f"test_part{n}.py").write_text((TESTS + NEW_TESTS).format(n=n))
        git("add", "--all")
        git("commit", "--quiet", "-m", MESSAGE.format(n=n), day=n + 1)
    return folder
