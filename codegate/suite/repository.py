"""Find the repository of a suite's base commits.

A suite is untrusted, and its base trees go into prompts. So a suite may name only the repository around its folder or
one beside its folder, and this repository must have no links or alternates to objects elsewhere. The person who runs
the suite has to name any other repository.
"""

import os
from pathlib import Path

from codegate.errors import UsageError
from codegate.strict import read_text
from codegate.suite.folder import base_folder
from codegate.suite.git import GitError, git, read_commit
from codegate.suite.loaded import Problem, Suite
from codegate.suite.model import Base
from codegate.suite.tree import Tree


def load_base(suite: Suite, problem: Problem, repository: Path | None = None) -> Tree:
    """Return the base tree of ``problem``.

    ``repository`` has the base commits; None: the repository that the suite names.

    Raises:
        UsageError: the tree cannot be read, or the suite may not name the repository.
    """
    try:
        return load_tree(suite, problem.manifest.base, repository)
    except GitError as error:
        raise UsageError(f"base of problem {problem.id}: {error.cause}", error.remedy) from error


def load_tree(suite: Suite, base: Base, repository: Path | None = None) -> Tree:
    """Return a tree from the suite's folder or from git.

    ``repository`` has the base commits; None: the repository that the suite names.

    Raises:
        UsageError: there is no such repository, or it does not have the commit.
    """
    if base.folder is not None:
        return base_folder(suite.folder, base.folder)
    return read_commit(find_repository(suite, repository), base.commit or "")


def find_repository(suite: Suite, repository: Path | None = None) -> Path:
    """Return the repository of the suite's base commits.

    Any ``repository`` is accepted, because a person named it. Without it, the suite may name the repository around its
    folder, or one below its parent folder. A repository that the suite names must hold all of its objects itself.

    Raises:
        UsageError: there is none, or the suite may not name it.
    """
    if repository is not None:
        try:
            git(repository, "rev-parse", "--git-dir")
        except GitError as error:
            raise _none(suite, repository, error) from error
        return repository
    folder = suite.folder.resolve()
    around = next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), None)
    if suite.manifest.repository is None:
        if around is None:
            raise UsageError(
                f"{suite.folder} is in no git repository; the base commits of suite {suite.name} are looked for there.",
                "Give --repository.",
            )
        home = around
    else:
        home = Path(os.path.realpath(folder / suite.manifest.repository))
        if home != around and not home.is_relative_to(folder.parent):
            raise UsageError(
                f"{suite.folder / 'suite.yml'}: repository leads out of the suite's surroundings, to {home}.",
                "If you trust the suite with it, give --repository.",
            )
    try:
        _check_own(home)
    except GitError as error:
        raise _none(suite, home, error) from error
    return home


def repository_path(home: Path, folder: Path) -> str | None:
    """Return the relative path from ``folder`` to ``home``, or None.

    None if a suite in ``folder`` may not name ``home``, because it is neither around the suite nor beside it.
    """
    home, folder = home.resolve(), folder.resolve()
    near = folder.is_relative_to(home) or home.is_relative_to(folder.parent)
    return os.path.relpath(home, folder) if near else None


def _none(suite: Suite, home: Path, error: GitError) -> UsageError:
    if "not a git repository" not in error.cause and home.is_dir():
        return error
    return UsageError(
        f"{home} is not a git repository; the base commits of suite {suite.name} are looked for there.",
        "Give --repository.",
    )


def _check_own(home: Path) -> None:
    """Raise GitError unless ``home`` is a self-contained repository.

    ``home`` must be the top folder of a repository or of a linked work tree. The repository must hold all of its
    objects in its own folder.
    """
    found = git(home, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir")
    folder, common = (Path(os.path.realpath(line)) for line in os.fsdecode(found).removesuffix("\n").split("\n"))
    own = folder == common and folder in {home, home / ".git"}
    # A linked work tree: git's record of it and its own file `.git` name each other.
    linked = folder.parent == common / "worktrees" and (
        os.path.realpath(read_text(folder / "gitdir", 1 << 16).strip()) == str(home / ".git")
    )
    if not own and not linked:
        raise GitError(f"{home} is not the top of a git repository: git looks in {folder}.", "Give --repository.")
    try:
        borrows = _borrows(common / "objects")
    except OSError as error:
        raise GitError(f"cannot read {common}: {error.strerror or error}.") from error
    if borrows:
        raise GitError(
            f"the repository {home} borrows objects from elsewhere.", f"If that is meant, give --repository {home}."
        )


def _borrows(objects: Path) -> bool:
    if any((objects / "info" / name).exists() for name in ("alternates", "http-alternates")):
        return True
    # Git follows a link at each of these: the folder, a fan-out folder, a loose object, a pack. A glob would pass over
    # a folder that it may not list, while git opens the objects in it by name.
    inside = list(objects.iterdir())
    if any(path.is_symlink() for path in (objects, *inside)):
        return True
    return any(path.is_symlink() for folder in inside if folder.is_dir() for path in folder.iterdir())
