"""Find which changed files influence a gate's verdict.

Files are read from two commits, never from the work tree. The configurations of both commits count: a pull request
cannot make a file irrelevant by no longer naming it.
"""

import os
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec
from codegate.candidates.harness import changed_paths
from codegate.errors import UsageError
from codegate.gating.baseline import parse_lock
from codegate.running import Config
from codegate.running.config import candidate_files
from codegate.solving.harness import chosen_files, paths_through, resolve_links
from codegate.strict import printable
from codegate.suite import check_model, git, is_plain_path, parent_folders, parse_yaml, read_commit
from codegate.suite.git import WHOLE_HISTORY, find_commit
from codegate.suite.reader import MAX_YAML_BYTES

_EVERYTHING: Final = "."


@dataclass(frozen=True)
class AffectedFiles:
    """The files that a gate reads, and the changed files.

    Attributes:
        watched: reasons why the gate reads a path, by path from the repository's top; ``.`` is every file.
        files: the same reasons for the changed files only.
    """

    watched: Mapping[str, str]
    files: Mapping[str, str]


def affected(repository: Path, base: str, head: str, config: str, also: Sequence[str]) -> AffectedFiles:
    """Return the files that the gate reads and ``head`` changes.

    Changes are counted from the merge base of ``base`` and ``head``. Every changed file counts if a configuration or a
    lock cannot be read, or a path leads over a symbolic link; a harness's links inside the repository are followed.
    ``also`` names further files and folders that matter.

    Raises:
        UsageError: neither commit has the file ``config``, or a commit is missing.
    """
    commits = [find_commit(repository, name) for name in (base, head)]
    config, *further = (_from_the_top(path) for path in (config, *also))
    watched, laid = {config: "the configuration", **dict.fromkeys(further, "named by --also")}, dict[str, str]()
    for commit in commits:
        named, harness = _named(repository, commit, config)
        watched, laid = named | watched, harness | laid
    for commit in commits:
        watched |= _links(repository, commit, watched)
    watched = laid | watched
    listed = [git(repository, "ls-tree", "--full-tree", commit, "--", config) for commit in commits]
    if _EVERYTHING not in watched and not any(b" blob " in each for each in listed):
        raise UsageError(
            f"neither {base[:12]} nor {head[:12]} has {printable(config)}: what the gate reads is not known.",
            "Give the path of the configuration with --config.",
        )
    changed = sorted(_changed(repository, *commits))
    return AffectedFiles(watched, {path: what for path in changed if (what := _role(path, watched)) is not None})


def merged_before(
    repository: Path, base: str, folder: Path, pinned: CandidateSpec, candidates: Sequence[CandidateSpec]
) -> tuple[str, ...]:
    """Return harness files that changed between pin and base.

    They differ from the pinned candidate's, and HEAD does not change them since the commit ``base``. ``folder`` has the
    configuration.
    """
    touched = _changed(repository, base, "HEAD")
    root = Path(os.path.realpath(os.fsdecode(git(repository, "rev-parse", "--show-toplevel")).removesuffix("\n")))
    found: set[str] = set()
    for spec in candidates:
        if (old := pinned.harness) is None or (new := spec.harness) is None:
            continue
        for path in changed_paths(old.words(), new.words()):
            place = folder / new.folder / path
            itself = Path(os.path.realpath(place.parent)) / place.name
            ends = {os.path.relpath(each, root) for each in (itself, os.path.realpath(place))}
            if (old.file(path) or new.file(path)) and not ends & touched:
                found.add(path)
    return tuple(sorted(found))


def _from_the_top(path: str) -> str:
    normal = posixpath.normpath(path)
    if normal != _EVERYTHING and not is_plain_path(normal):
        raise UsageError(f"{printable(path)!r} is no path in the repository.", "Give it from the repository's top.")
    return normal


def _named(repository: Path, commit: str, config: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return two mappings of paths to reasons why they count.

    The second has the files of harnesses. Every file counts if the configuration or the lock cannot be read.
    """
    settings, baseline, harness = Config.model_construct(candidates=()), "", dict[str, str]()
    try:
        if (data := _file(repository, commit, config)) is not None:
            settings = check_model(parse_yaml(data.decode("utf-8", "surrogateescape"), config), Config, config)
        lock = _below(config, settings.baseline)
        if lock and (data := _file(repository, commit, lock)) is not None:
            baseline = parse_lock(data, lock).baseline
        for spec in settings.candidates:
            harness |= _harness(repository, commit, posixpath.dirname(config), spec)
    except UsageError as error:
        cause = error.cause.removesuffix(".")
        return {_EVERYTHING: f"what the gate reads is not known at {commit[:12]}: {cause}"}, {}
    transcripts = [one.model for one in settings.candidates if one.provider == "replay"]
    found = [
        (_below(config, settings.suite or ""), "the suite"),
        (lock, "the lock of the baseline"),
        (_below(lock, baseline), "the baseline"),
        *((_below(config, path), "a file of a candidate") for path in candidate_files(settings)),
        *((_below(config, path), "a candidate's recorded answers") for path in transcripts),
    ]
    return {path: what for path, what in found if path}, harness


def _harness(repository: Path, commit: str, home: str, spec: CandidateSpec) -> dict[str, str]:
    """Return reasons for a harness's files and links, by path."""
    if spec.harness is None:
        return {}
    names, links = _listing(repository, commit)
    found, what = dict[str, str](), "a file of a candidate's harness"

    def follow(path: str) -> str:
        place, over = resolve_links(path, links)
        found.update(dict.fromkeys(over, what))
        if over and not place:
            found[_EVERYTHING] = f"the gate reads over the symbolic link {printable(over[0])}"
        return place

    folder = follow(posixpath.join(home, spec.harness.folder))
    top = f"{folder}/" if folder else ""
    below = [name for name in names if name.startswith(top)]
    linked = paths_through({link: resolve_links(link, links)[0] for link in links.keys() & below}, below)
    known = [name.removeprefix(top) for name in chain(below, *linked.values())]

    def read(path: str) -> tuple[bytes, bool]:
        place, _ = resolve_links(f"{top}{path}", links)
        file = read_commit(repository, commit, (place,)).get(place) if place else None
        return file.data if file is not None else b"", False  # a submodule has no content

    for path, *_ in chosen_files(spec, known, read):
        if place := follow(f"{top}{path}"):
            found[place] = what
    return found


def _listing(repository: Path, commit: str) -> tuple[list[str], dict[str, str]]:
    listing = git(repository, "ls-tree", "-r", "-z", "--full-tree", commit).decode("utf-8", "surrogateescape")
    entries = [entry.partition("\t") for entry in listing.split("\0") if entry]
    links = tuple(name for kind, _, name in entries if kind.startswith("120000 "))
    read = read_commit(repository, commit, links) if links else {}
    return [name for *_, name in entries], {
        name: file.data.decode("utf-8", "surrogateescape") for name, file in read.items() if file.is_link
    }


def _below(file: str, path: str) -> str:
    normal = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
    return normal if path and (normal == _EVERYTHING or is_plain_path(normal)) else ""


def _file(repository: Path, commit: str, path: str) -> bytes | None:
    file = read_commit(repository, commit, (path,), MAX_YAML_BYTES).get(path)
    if file is not None and file.is_link:
        raise UsageError(f"{printable(path)} is a symbolic link.")
    return file.data if file is not None else None


def _links(repository: Path, commit: str, paths: Mapping[str, str]) -> dict[str, str]:
    places = {place for path in paths for place in (path, *parent_folders(path))}
    listing = git(repository, "ls-tree", "-z", "--full-tree", commit, "--", *sorted(places)).split(b"\0")
    found = [entry.partition(b"\t")[2].decode("utf-8", "replace") for entry in listing if entry.startswith(b"120000 ")]
    return {_EVERYTHING: f"the gate reads over the symbolic link {printable(found[0])}"} if found else {}


def _changed(repository: Path, base: str, head: str) -> set[str]:
    try:
        merge_bases = git(repository, "merge-base", "--all", base, head).decode("ascii").split()
    except UsageError as error:
        cause = f"commits {base[:12]} and {head[:12]} have no common commit in {repository}."
        raise UsageError(cause, WHOLE_HISTORY) from error
    options = ("-r", "-z", "--name-only", "--ignore-submodules=none")
    found = b"".join(git(repository, "diff-tree", *options, one, head) for one in merge_bases)
    return {path.decode("utf-8", "surrogateescape") for path in found.split(b"\0")[:-1]}


def _role(path: str, watched: Mapping[str, str]) -> str | None:
    for place, what in watched.items():
        if path == place or path.startswith(f"{place}/") or place.startswith(f"{path}/"):  # last: replaces a folder
            return what
    return watched.get(_EVERYTHING)
