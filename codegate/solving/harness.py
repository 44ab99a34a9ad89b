"""Read a candidate's harness, and put it into problems' trees.

A pull request can change any file of the repository. So a link is followed only to files that git lists, and
no file is replaced that a problem's fix or hidden tests change.
"""

import contextlib
import os
import posixpath
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec
from codegate.candidates.agents import agent_named, harness_places
from codegate.candidates.harness import HarnessFile, matches_any, part_of
from codegate.errors import UsageError
from codegate.languages import PathClassifier
from codegate.strict import error_line, printable
from codegate.suite import GitError, Problem, Tree, TreeFile, git, is_plain_path, parent_folders
from codegate.suite.git import user_setting

MAX_HARNESS_BYTES: Final = 1 << 20
"""Most bytes of all harness files together, because every run and baseline of the candidate holds them."""
_MAX_LINKED: Final = 100_000  # most paths through links
_MAX_LINKS: Final = 40  # most links on one path, as in Linux
_IMPORTING: Final = ("instructions", "servers", "settings")


def read_harness(candidate: CandidateSpec, folder: Path) -> CandidateSpec:
    """Return the candidate with its harness files, read from ``folder``."""
    harness = candidate.harness
    if harness is None or candidate.agent is None:
        return candidate
    top = folder / harness.folder
    try:
        _check_folder(candidate, harness.folder, folder)
        listed = "ls-files", "-z", "--cached", "--others", "--exclude-standard", *_own_ignores()
        listing = git(top, *listed).split(b"\0")
    except (GitError, OSError) as error:
        raise UsageError(f"candidate {candidate.label}: `harness` is read from git, and {top} is in no repository.",
                         "Run `git init` there.") from error  # fmt: skip
    files = {os.fsdecode(name) for name in listing if name and os.path.lexists(top / os.fsdecode(name))}
    inside = os.path.realpath(top)
    links = {name: str((top / name).readlink()) for name in files if (top / name).is_symlink()}
    try:
        linked = paths_through({link: resolve_links(link, links)[0] for link in links}, files)
    except UsageError as error:
        raise UsageError(
            f"candidate {candidate.label}: `harness`: {error.cause}",
            "Remove links to large folders, or give `harness` a smaller `folder`.",
        ) from error
    known = files.difference(name for name, below in linked.items() if below).union(*linked.values())

    def read(path: str) -> tuple[bytes, bool]:
        place, _ = resolve_links(path, links)
        real = Path(os.path.realpath(top / path))
        if place in files and real.is_dir():
            remedy = "Copy its files, or name `files` without it."
            raise UsageError(f"the harness's {printable(path)!r} is a submodule, and is not read.", remedy)
        if place not in files or os.path.relpath(real, inside) != place or not real.is_file():
            raise UsageError(f"the harness's file {printable(path)!r} is a link to what git does not have.", "Copy it.")
        with real.open("rb") as file:
            return file.read(MAX_HARNESS_BYTES + 1), os.access(real, os.X_OK)

    laid, size = [], 0
    for _, path, data, program in chosen_files(candidate, known, read):
        if (size := size + len(data)) > MAX_HARNESS_BYTES:
            raise UsageError(f"the harness of {candidate.label} has over {MAX_HARNESS_BYTES} bytes.", "Name `files`.")
        laid.append(HarnessFile.of(path, data, program=program))
    found = tuple(sorted(laid, key=lambda file: file.path))
    return candidate.model_copy(update={"harness": harness.model_copy(update={"laid": found})})


def _check_folder(candidate: CandidateSpec, name: str, folder: Path) -> None:
    """Raise UsageError for a harness outside of the repository.

    Also for a plain ``.`` below its top: it would stand for the top of problems' trees, without the files above it.
    """
    root = os.path.realpath(os.fsdecode(git(folder, "rev-parse", "--show-toplevel")).removesuffix("\n"))
    place = os.path.relpath(os.path.realpath(folder / name), root)
    if posixpath.isabs(name) or not (place == "." or is_plain_path(place)):
        raise UsageError(f"the harness {name[:100]!r} is no folder of the repository.", "Move it.")
    if name == "." != place:
        up = os.path.relpath(root, os.path.realpath(folder))
        raise UsageError(
            f"candidate {candidate.label}: `harness: .` is {printable(place)}; agents work at the repository's top.",
            f"Write `harness: {up}` (key `folder`) for what they read there and below, or name another folder.",
        )


def _own_ignores() -> tuple[str, ...]:
    """Return git's option for the user's own ignored files.

    These list agents' personal settings, which can hold keys. No other part of the user's configuration is used.
    """
    usual = f"{os.environ.get('XDG_CONFIG_HOME') or '~/.config'}/git/ignore"
    with contextlib.suppress(RuntimeError, OSError):  # there is no home folder, or it is unreadable
        place = Path(user_setting("core.excludesFile", "--type=path") or usual).expanduser()
        return (f"--exclude-from={place}",) if place.is_file() else ()
    return ()


def resolve_links(path: str, links: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return where a path leads, and the links followed.

    ``links`` has the links' targets by path. The place is "" for a loop of links, a path that leaves the folder of all
    paths, or a link to an absolute path, which leads elsewhere in each checkout.
    """
    left, place, over = path.split("/")[::-1], "", list[str]()
    while left:
        part = left.pop()
        if part == ".." and not place:
            return "", over
        inside = posixpath.normpath(posixpath.join(place, part))  # `place` has no links, so `..` is its parent
        place = "" if inside == "." else inside
        if (target := links.get(place)) is not None:
            over.append(place)
            if posixpath.isabs(target) or len(over) > _MAX_LINKS:
                return "", over
            left += target.split("/")[::-1]
            place = posixpath.dirname(place)
    return place, over


def paths_through(links: Mapping[str, str], files: Collection[str]) -> dict[str, list[str]]:
    """Return, by link, the paths through it that reach ``files``.

    ``links`` has, by a link's path, the folder to which it leads. Raises UsageError if the paths are too many, because
    each link can lead to every file.
    """
    ordered, count, found = sorted(files), 0, dict[str, list[str]]()
    for link, folder in links.items():
        below = ordered[bisect_left(ordered, f"{folder}/") : bisect_left(ordered, f"{folder}0")]  # "0" comes after "/"
        if (count := count + len(below)) > _MAX_LINKED:
            raise UsageError(f"over {_MAX_LINKED} paths lead through symbolic links.")
        found[link] = [f"{link}{path.removeprefix(folder)}" for path in below]
    return found


def chosen_files(
    candidate: CandidateSpec, known: Collection[str], read: Callable[[str], tuple[bytes, bool]]
) -> Iterator[tuple[str, str, bytes, bool]]:
    """Yield the candidate's harness files among the paths ``known``.

    A file comes as its path, its path in a problem's tree, its bytes, and whether it is a program. ``read`` returns
    bytes and that flag for a path. Raises UsageError if a named or imported file is missing or broken.
    """
    harness, agent = candidate.harness, agent_named(candidate.agent.name) if candidate.agent else None
    if harness is None or agent is None:
        return
    if harness.files is None and not agent.places:
        raise UsageError(
            f"candidate {candidate.label}: {agent.name} reads no file of a repository by itself.",
            "Name `files` in its `harness`, or remove `harness`.",
        )
    known = {path for path in known if is_plain_path(path)}
    named = list(harness.files or ()) + [one for one in (harness.mcp, harness.skills) if one is not None]
    for pattern in named:
        if not any(matches_any(path, [pattern]) for path in known):
            raise UsageError(
                f"candidate {candidate.label}: its `harness` names {printable(pattern)!r}, and there is no such file.",
                "Correct it, or remove it from `harness`.",
            )
    wanted = [
        path
        for path in sorted(known)
        if (matches_any(path, named) or (harness.files is None and part_of(path, agent.places) is not None))
    ]
    skills = next((place for place, part in agent.places.items() if part == "skill"), None)
    moved = harness.skills if part_of(f"{harness.skills}/x", agent.places) != "skill" else None
    done: set[str] = set()
    while wanted:
        path = wanted.pop(0)
        if path in done:
            continue
        done.add(path)
        data, program = read(path)
        text = data.decode("utf-8", "replace")
        kind = "servers" if path == harness.mcp else part_of(path, agent.places)
        if kind == "settings" and agent.hooks_in_settings and not harness.hooks:
            continue
        if kind == "servers":
            try:
                agent.servers(path, text)
            except ValueError as error:
                cause = f"the harness's file {printable(path)!r} is broken: {error_line(error)}."
                raise UsageError(cause, "Correct it.") from error
        names = map(posixpath.normpath, agent.imports(path, text) if kind in _IMPORTING else ())
        for found in sorted(
            one for name in names for one in known if one == name or ("*" in name and matches_any(one, [name]))
        ):
            if harness.files is not None and not matches_any(found, named):
                raise UsageError(
                    f"the harness's file {printable(path)!r} imports {printable(found)!r}, which `files` does not "
                    "list.",
                    "List it: problems would have it as it was at their own commits.",
                )
            wanted.append(found)
        below = skills is not None and moved is not None and matches_any(path, [moved])
        yield path, f"{skills}{path.removeprefix(f'{moved}/')}" if below else path, data, program


def is_harness_path(path: str, candidate: CandidateSpec, problem: Problem) -> bool:
    """Return whether ``path`` is a harness file of any agent.

    False for paths that the problem's fix or hidden tests change.
    """
    if path in problem.fix or path in problem.hidden:
        return False
    harness = candidate.harness
    own = harness is not None and (harness.file(path) is not None or matches_any(path, harness.files or ()))
    return own or part_of(path, harness_places()) is not None


def tree_with_harness(base: Tree, candidate: CandidateSpec, problem: Problem) -> Tree:
    """Return ``base`` with the candidate's harness files.

    All other harness files in the tree are removed, except files that the fix or hidden tests change.
    """
    files = {path: file for path, file in base.items() if not is_harness_path(path, candidate, problem)}
    folders = {folder for path in files for folder in parent_folders(path)}
    classifier = PathClassifier.of(base)
    for file in (candidate.harness.laid or ()) if candidate.harness is not None else ():
        blocked = file.path in folders or any(folder in files for folder in parent_folders(file.path))
        kind = classifier.classify(file.path)
        tested = part_of(file.path, harness_places()) is None and kind in {"test", "test_support"}
        if is_harness_path(file.path, candidate, problem) and not blocked and not tested:
            files[file.path] = TreeFile(file.content(), "100755" if file.program else "100644")
    return Tree(files)
