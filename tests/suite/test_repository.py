import os
from pathlib import Path

import pytest

from codegate.errors import UsageError
from codegate.suite import Base, Suite, TreeFile, find_repository, load_base
from tests.kit.repository import make_repository, run_git

from .builders import problem, suite


def home(tmp_path: Path) -> Path:
    """A folder with a repository of somebody's that no suite should reach."""
    make_repository(tmp_path / "home" / "private", {"secret.txt": b"secret\n"})
    return tmp_path / "home"


def suite_at(folder: Path, commit: str, repository: str | None) -> Suite:
    return suite(folder, problem(base=Base(commit=commit)), repository=repository)


def secret_of(tmp_path: Path) -> str:
    return run_git(tmp_path / "home" / "private", "rev-parse", "main")


def refused(made: Suite) -> str:
    with pytest.raises(UsageError) as caught:
        load_base(made, made.problems[0])
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_base_is_read_from_the_repository_that_the_suite_is_in(tmp_path: Path) -> None:
    commit = make_repository(tmp_path / "r", {"a.py": b"x\n"})
    for place, named in [("suites/one", None), ("suites/two", "../.."), ("s", None), ("s2", ".."), ("s3", "../.")]:
        made = suite_at(tmp_path / "r" / place, commit, named)
        assert load_base(made, made.problems[0]) == {"a.py": TreeFile(b"x\n")}
        assert find_repository(made) == tmp_path / "r"


@pytest.mark.parametrize("bare", [True, False])
def test_the_base_is_read_from_a_repository_next_to_the_suite(tmp_path: Path, bare: bool) -> None:
    commit = make_repository(tmp_path / "demo" / "repository", {"a.py": b"x\n"}, bare=bare)
    made = suite_at(tmp_path / "demo" / "suite", commit, "../repository")
    assert load_base(made, made.problems[0]) == {"a.py": TreeFile(b"x\n")}
    commit = make_repository(tmp_path / "demo" / "suite" / "inner", bare=bare)
    made = suite_at(tmp_path / "demo" / "suite", commit, "inner")
    assert set(load_base(made, made.problems[0])) == {"src/add.py"}


def test_the_suite_itself_may_be_a_repository(tmp_path: Path) -> None:
    commit = make_repository(tmp_path / "s")
    made = suite(tmp_path / "other", problem(base=Base(commit=commit)))
    for path in (tmp_path / "other").iterdir():
        path.rename(tmp_path / "s" / path.name)
    found = Suite(tmp_path / "s", made.manifest, made.problems, made.environments, made.digest)
    assert set(load_base(found, found.problems[0])) == {"src/add.py"}


def test_a_linked_work_tree_is_the_repository_that_it_is_of(tmp_path: Path) -> None:
    commit = make_repository(tmp_path / "r")
    run_git(tmp_path / "r", "worktree", "add", "-q", "--detach", str(tmp_path / "tree"), commit)
    made = suite_at(tmp_path / "tree" / "suites" / "s", commit, "../..")
    assert set(load_base(made, made.problems[0])) == {"src/add.py"}


def test_a_suite_cannot_lead_out_of_its_surroundings(tmp_path: Path) -> None:
    private = home(tmp_path) / "private"
    secret = secret_of(tmp_path)
    work = tmp_path / "home" / "work" / "project"
    make_repository(work)
    (work / "link").symlink_to(private)
    for number, named in enumerate(
        ["../../../../private", str(private), f"../../..{private}", "../../link", "..//../../../private/.git"]
    ):
        made = suite_at(work / "suites" / str(number), secret, named)
        message = refused(made)
        assert "leads out of the suite's surroundings" in message or "not a git repository" in message
        assert "--repository" in message
        # A person may say so.
        assert set(load_base(made, made.problems[0], private)) == {"secret.txt"}


def test_a_suite_cannot_lead_into_a_repository_above_that_it_is_not_in(tmp_path: Path) -> None:
    secret_home = home(tmp_path)
    secret = secret_of(tmp_path)
    # Nothing at the named place: git would go on looking above it.
    (secret_home / "private" / "downloads" / "plain").mkdir(parents=True)
    made = suite_at(secret_home / "private" / "downloads" / "s", secret, "../plain")
    message = refused(made)
    assert "is not the top of a git repository" in message


@pytest.mark.parametrize(
    "trick",
    ["gitfile", "git_link", "commondir", "objects_link", "alternates", "pack_link", "loose_link", "worktree", "config"],
)
def test_a_repository_that_came_with_the_suite_cannot_lend_another_s_objects(tmp_path: Path, trick: str) -> None:
    private = home(tmp_path) / "private"
    secret = secret_of(tmp_path)
    if trick != "loose_link":
        run_git(private, "repack", "-adq")
    near = tmp_path / "box" / "repository"
    if trick in {"gitfile", "git_link"}:
        near.mkdir(parents=True)
    else:
        make_repository(near)
    own = near / ".git"
    match trick:
        case "gitfile":
            own.write_text(f"gitdir: {private}/.git\n")
        case "git_link":
            own.symlink_to(private / ".git")
        case "commondir":
            (own / "commondir").write_text(f"{private}/.git\n")
        case "objects_link":
            (own / "objects").rename(near / "away")
            (own / "objects").symlink_to(private / ".git" / "objects")
        case "alternates":
            (own / "objects" / "info").mkdir(exist_ok=True)
            (own / "objects" / "info" / "alternates").write_text(f"{private}/.git/objects\n")
        case "pack_link":
            for pack in (private / ".git" / "objects" / "pack").iterdir():
                (own / "objects" / "pack" / pack.name).symlink_to(pack)
        case "loose_link":
            for loose in (private / ".git" / "objects").glob("??/*"):
                place = own / "objects" / loose.parent.name / loose.name
                place.parent.mkdir(exist_ok=True)
                if not place.exists():
                    place.symlink_to(loose)
        case "worktree":
            own.rename(near / "evil")
            own.write_text("gitdir: evil\n")
            (near / "evil" / "commondir").write_text(f"{private}/.git\n")
            (near / "evil" / "gitdir").write_text(f"{own}\n")
        case "config":
            run_git(near, "config", "core.worktree", str(private))
    assert trick == "config" or run_git(near, "cat-file", "-t", secret) == "commit"  # the trick works on plain git
    made = suite_at(tmp_path / "box" / "suite", secret, "../repository")
    message = refused(made)
    wanted = "is not in" if trick == "config" else "--repository"
    assert wanted in message


def test_a_suite_that_poses_as_a_bare_repository_is_none(tmp_path: Path) -> None:
    private = home(tmp_path) / "private"
    made = suite_at(tmp_path / "s", secret_of(tmp_path), None)
    run_git(tmp_path / "s", "init", "-q", "--bare", ".")
    (tmp_path / "s" / "objects" / "info" / "alternates").write_text(f"{private}/.git/objects\n")
    assert "is in no git repository" in refused(made)


def test_without_a_repository_the_remedy_is_named(tmp_path: Path) -> None:
    made = suite_at(tmp_path / "s", "a" * 40, None)
    assert refused(made) == (
        f"{tmp_path / 's'} is in no git repository; the base commits of suite demo are looked for there. "
        "Give --repository."
    )
    made = suite_at(tmp_path / "s", "a" * 40, "../missing")
    assert "missing is not a git repository" in refused(made)
    for wrong in (tmp_path / "missing", tmp_path):
        with pytest.raises(UsageError, match=r"is not a git repository; .* Give --repository"):
            find_repository(made, wrong)


def test_a_commit_that_is_not_there_names_problem_and_remedy(tmp_path: Path) -> None:
    first = make_repository(tmp_path / "r")
    run_git(tmp_path / "r", "commit", "-q", "--allow-empty", "-m", "second")
    run_git(tmp_path, "clone", "-q", "--depth=1", f"file://{tmp_path}/r", "shallow")
    made = suite_at(tmp_path / "shallow" / "s", first, "..")
    message = refused(made)
    assert message.startswith("base of problem p-1: commit")
    assert "fetch-depth: 0" in message


def test_without_git_it_is_git_that_is_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = make_repository(tmp_path / "r")
    made = suite_at(tmp_path / "r" / "s", commit, "..")
    monkeypatch.setenv("PATH", os.devnull)
    assert "git is not installed" in refused(made)
    with pytest.raises(UsageError, match="git is not installed"):
        find_repository(made, tmp_path / "r")


def test_a_repository_that_a_person_names_may_be_any_folder_of_it(tmp_path: Path) -> None:
    commit = make_repository(tmp_path / "r", {"a/b.py": b"x\n"})
    (tmp_path / "r" / "a").mkdir()
    made = suite_at(tmp_path / "s", commit, None)
    assert set(load_base(made, made.problems[0], tmp_path / "r" / "a")) == {"a/b.py"}
