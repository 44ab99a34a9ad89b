"""Pooling: problems of several repositories in one suite that needs none of them."""

import shutil
from pathlib import Path

import pytest

from codegate.errors import UsageError
from codegate.operations.pooling import pool_suites
from codegate.suite import Base, Suite, Tree, TreeFile, load_base, load_suite, read_commit, write_suite
from tests.kit.repository import make_repository, run_git
from tests.suite import builders

FOLDER = Tree({"src/add.py": TreeFile(b"x = 3\n")})


def _suite(home: Path, name: str) -> Suite:
    base = make_repository(home / name, {"src/add.py": name.encode(), "run.sh": b"#!/bin/sh\n"})
    (home / name / "later.py").write_text("the fix\n")
    run_git(home / name, "reset", "--quiet", "--hard")
    run_git(home / name, "add", "--all")
    run_git(home / name, "commit", "--quiet", "--allow-empty", "--message", "the fix")
    problems = [
        builders.problem(f"{name}-1", base=Base(commit=base)),
        builders.problem(f"{name}-2", base=Base(commit=base)),
    ]
    problems.append(builders.problem(f"{name}-3", base=Base(folder="base"), base_digest=FOLDER.digest()))
    return write_suite(
        home / name / "suite", name=name, repository="..", environments=[builders.ENVIRONMENT], problems=problems,
        bases={"base": FOLDER},
    )  # fmt: skip


@pytest.mark.requirement("M8")
def test_a_pooled_suite_has_every_problem_with_its_base_and_no_history(tmp_path: Path) -> None:
    suites = [_suite(tmp_path, name) for name in ("api", "web")]
    expected = {one.id: (one.digest, load_base(suite, one)) for suite in suites for one in suite.problems}
    later = run_git(tmp_path / "api", "rev-parse", "HEAD")
    pool_suites(tmp_path / "pool", suites, {})
    pooled = pool_suites(tmp_path / "pool", suites, {})  # again, over the first
    for name in ("api", "web"):
        shutil.rmtree(tmp_path / name)

    # As a clone of a repository that has the suite in it: git keeps no empty folders.
    run_git(tmp_path, "init", "--quiet")
    run_git(tmp_path, "add", "--all")
    run_git(tmp_path, "commit", "--quiet", "--message", "suite")
    run_git(tmp_path, "clone", "--quiet", ".", "clone")
    loaded = load_suite(tmp_path / "clone" / "pool")

    assert (loaded.name, loaded.digest) == ("pool", pooled.digest)
    assert loaded.manifest.pooled_canaries == tuple(suite.manifest.canary for suite in suites), (
        "a sign of contamination"
    )
    assert {one.id: (one.digest, load_base(loaded, one)) for one in loaded.problems} == expected
    assert {one.id[:3]: one.manifest.tags["repository"] for one in loaded.problems} == {"api": "api", "web": "web"}
    run_git(tmp_path / "clone" / "pool" / "bases.git", "fsck", "--strict")
    with pytest.raises(UsageError):
        read_commit(tmp_path / "clone" / "pool" / "bases.git", later)


def test_suites_that_contradict_each_other_are_not_pooled(tmp_path: Path) -> None:
    api, web = (_suite(tmp_path, name) for name in ("api", "web"))
    with pytest.raises(UsageError, match="another suite is called api too"):
        pool_suites(tmp_path / "pool", [api, api], {})
    with pytest.raises(UsageError, match="one of the suites"):
        pool_suites(api.folder, [api, web], {})
    with pytest.raises(UsageError, match="no suite has this name"):
        pool_suites(tmp_path / "pool", [api, web], {"wbe": tmp_path})
    shutil.rmtree(tmp_path / "api" / ".git")
    with pytest.raises(UsageError) as failed:
        pool_suites(tmp_path / "pool", [api, web], {})
    assert "base commits of suite api" in str(failed.value)
    assert "--repository api=PATH" in failed.value.remedy
    assert not (tmp_path / "pool").exists()
