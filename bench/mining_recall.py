"""How many published benchmark instances mining finds in a clone, offline, and whether it cuts them alike.

    python bench/mining_recall.py rows.jsonl ids.txt --clone psf/requests=/clones/requests ... [--patches]

An input is JSONL rows in SWE-bench's format, or a text file with one instance id (``owner__name-number``) a line. An
instance is found when a unit of the clone's history (with ``--branches``: of any local branch) names its pull request,
and cut when that unit has source and tests. ``--patches`` compares, for rows that have them, the added and removed
lines of code of ``patch`` and ``test_patch`` with those of our cut; documentation and change logs are left out, blank
lines too.

The goals hold over all repositories together: at least 99 % found, 98.8 % cut, and every compared cut alike.
"""

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from codegate.languages import PathClassifier
from codegate.mining.cut import Cut, cut
from codegate.mining.sources.history import MergedChange, read_merged_changes
from codegate.suite import GitError, git, read_commit

FOUND_GOAL = 0.99
CUT_GOAL = 0.988
WORDS = frozenset({"", ".rst", ".md", ".txt"})
ID = re.compile(r"(?P<owner>[\w.-]+?)__(?P<name>[\w.-]+)-(?P<number>\d+)")
FILE = re.compile(r"^diff --git a/(?P<path>\S+) b/\S+$")

Lines = Mapping[str, Counter[str]]


@dataclass(frozen=True)
class Instance:
    """One published instance; ``patch`` is its source and test patch, or empty."""

    name: str
    repository: str
    number: int
    patch: str


@dataclass
class Score:
    """What became of one repository's instances."""

    total: int = 0
    unread: int = 0
    found: int = 0
    cut: int = 0
    compared: int = 0
    alike: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)


def read_instances(files: Iterable[Path]) -> list[Instance]:
    """Return the instances of all files, each once; one with a patch is preferred."""
    instances: dict[str, Instance] = {}
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line) if line.startswith("{") else {"instance_id": line.strip()}
            match = ID.fullmatch(str(row.get("instance_id", "")))
            if match is None:
                continue
            patch = "\n".join(str(row.get(key) or "") for key in ("patch", "test_patch"))
            instance = Instance(match[0], f"{match['owner']}/{match['name']}", int(match["number"]), patch.strip())
            if instance.patch or match[0] not in instances:
                instances[match[0]] = instance
    return list(instances.values())


def score(instances: list[Instance], clone: Path, patches: bool, branches: bool) -> Score:
    """Look for ``instances`` of one repository in its clone."""
    result = Score(total=len(instances))
    head = PathClassifier.of(read_commit(clone, "HEAD"))
    by_number: dict[int, list[MergedChange]] = defaultdict(list)
    found: set[int] = set()
    wanted = {instance.number for instance in instances}
    for branch in [None, *(other_branches(clone) if branches else ())]:
        if wanted <= by_number.keys():
            break
        for unit in read_merged_changes(clone, branch):
            if unit.pull_request in wanted - found:
                by_number[unit.pull_request].append(unit)
        found |= by_number.keys()
    for instance in instances:
        units = by_number.get(instance.number, [])
        if not units:
            result.remarks.append(f"{instance.name}: not found")
            continue
        unit = max(units, key=lambda unit: code_lines(unit, head))
        result.found += 1
        result.kinds[unit.kind] += 1
        try:
            parts = cut(unit, read_commit(clone, unit.base), read_commit(clone, unit.commit))
        except GitError as error:
            result.unread += 1
            result.remarks.append(f"{instance.name}: {unit.commit[:10]} not read, {error}")
            continue
        if parts == "too_large":
            result.cut += 1  # it has source and tests, and more of them than a problem may have
            result.remarks.append(f"{instance.name}: {unit.commit[:10]} is too large for a problem")
            continue
        if not isinstance(parts, Cut):
            result.remarks.append(f"{instance.name}: {unit.commit[:10]} not cut, {parts}")
            continue
        result.cut += 1
        if patches and instance.patch:
            result.compared += 1
            difference = compare(instance.patch, unit, parts, clone)
            result.alike += not difference
            result.remarks += [f"{instance.name}: {unit.commit[:10]} differs in {difference}"] if difference else []
    return result


def other_branches(clone: Path) -> list[str]:
    """Return the clone's local branches, the one that was worked on last first."""
    refs = git(clone, "for-each-ref", "--sort=-committerdate", "--format=%(refname)", "refs/heads")
    return refs.decode("utf-8", "surrogateescape").split()


def code_lines(unit: MergedChange, head: PathClassifier) -> int:
    """Return how many lines of source and tests a unit changed."""
    kinds = {"source", "test", "test_support"}
    return sum(
        max(change.added or 0, change.removed or 0) for change in unit.changes if head.classify(change.path) in kinds
    )


def compare(patch: str, unit: MergedChange, parts: Cut, clone: Path) -> str:
    """Return the first file whose changed lines differ between a published patch and our cut, or nothing."""
    paths = [f":(top,literal){path}" for path in (*parts.hidden, *parts.fix)]
    diff = git(clone, "diff-tree", "-p", "-r", "--no-renames", unit.base, unit.commit, "--", *paths)
    ours, theirs = changed_lines(diff.decode("utf-8", "replace")), changed_lines(patch)
    return next((path for path in sorted({*ours, *theirs}) if ours.get(path) != theirs.get(path)), "")


def changed_lines(patch: str) -> Lines:
    """Return the added and removed lines of each file of code in ``patch``; files without any are left out."""
    lines: dict[str, Counter[str]] = defaultdict(Counter)
    path = ""
    for line in patch.splitlines():
        match = FILE.match(line)
        if match is not None:
            path = match["path"]
        elif PurePosixPath(path).suffix in WORDS or line.startswith(("--- ", "+++ ")):
            continue
        elif line.startswith(("+", "-")) and line[1:].strip():
            lines[path][line.rstrip()] += 1
    return {path: found for path, found in lines.items() if found}


def main() -> int:
    """Print one line per repository, what is missing, and the shares; 1 when below a goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("instances", nargs="+", type=Path, help="JSONL rows, or instance ids one a line")
    parser.add_argument("--clone", action="append", required=True, metavar="OWNER/NAME=PATH", help="repeat as needed")
    parser.add_argument("--patches", action="store_true", help="compare cuts with the rows' patches")
    parser.add_argument("--branches", action="store_true", help="look on the other local branches for what is missing")
    options = parser.parse_args()
    clones = dict(entry.split("=", 1) for entry in options.clone)
    by_repository: dict[str, list[Instance]] = defaultdict(list)
    for instance in read_instances(options.instances):
        if instance.repository in clones:
            by_repository[instance.repository].append(instance)
    total = Score()
    print(f"{'repository':28} {'n':>4} {'found':>6} {'cut':>5} {'alike':>9}  how")
    for repository, instances in sorted(by_repository.items()):
        found = score(instances, Path(clones[repository]), options.patches, options.branches)
        for name in ("total", "unread", "found", "cut", "compared", "alike"):
            setattr(total, name, getattr(total, name) + getattr(found, name))
        how = ", ".join(f"{count} {kind}" for kind, count in found.kinds.most_common())
        print(
            f"{repository:28} {found.total:4} {found.found:6} {found.cut:5} {found.alike:4}/{found.compared:<4}  {how}"
        )
        print("".join(f"    {remark}\n" for remark in found.remarks), end="", flush=True)
    if not total.total:
        print("none of the instances is of one of the clones' repositories")
        return 1
    shares = (total.found / total.total, total.cut / max(total.total - total.unread, 1))
    print(f"{'all':28} {total.total:4} {total.found:6} {total.cut:5} {total.alike:4}/{total.compared:<4}")
    print(f"found {shares[0]:.2%} (goal {FOUND_GOAL:.1%}), cut {shares[1]:.2%} (goal {CUT_GOAL:.1%})")
    if total.unread:
        print(f"{total.unread} are left out of the second figure: their clones lack objects of them")
    return int(shares[0] < FOUND_GOAL or shares[1] < CUT_GOAL or total.alike < total.compared)


if __name__ == "__main__":
    sys.exit(main())
