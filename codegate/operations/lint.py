"""Find flaws of a suite's files; nothing is executed."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from codegate.durable import sha256, write_atomic
from codegate.strict import read_text
from codegate.suite.folder import MAX_FILE_BYTES, path_inside
from codegate.suite.loaded import RECIPE, RESOLVED, Problem, Suite
from codegate.suite.model import StoredProblemManifest
from codegate.suite.reader import read_yaml
from codegate.suite.store import load_suite, read_manifest

FIXABLE: Final = frozenset({"CG003", "CG005"})
"""Codes of the flaws that ``fix_suite`` corrects. None of them changes the suite's digest."""

_WORDS: Final = 8
_SHORTEST_NAME: Final = 8  # least length of a test's name that is searched in the statement; shorter ones can be words


@dataclass(frozen=True)
class LintFinding:
    """A flaw in a suite's files, and its place.

    The page on the suite's files explains the codes. A code is never given to another kind of flaw.
    """

    code: str
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.code} {self.place}: {self.message}"


def lint_suite(suite: Suite, today: date) -> tuple[LintFinding, ...]:
    """Check a suite's files; return all flaws, the problems' first."""
    found = [one for problem in suite.active_or_quarantined for one in _problem(problem)]
    for problem in suite.problems:
        quarantine = problem.manifest.quarantine
        if problem.expired(today) and quarantine is not None:
            message = f"its quarantine ended on {quarantine.expires}; `codegate validate` releases or renews it"
            found.append(LintFinding("CG007", problem.id, message))
    found += [LintFinding("CG005", path, f"line 1 has no {suite.manifest.canary}") for path in _without_canary(suite)]
    found += [LintFinding("CG008", path, "nothing in suite.yml uses it; remove it") for path in _unused(suite)]
    return tuple(found)


def update_digests(folder: Path) -> tuple[str, ...]:
    """Update the stored digests of edited files; return the files.

    The files are recipes, resolved versions and statements; suite.yml and problem.yml have their digests.
    """
    manifest = read_manifest(folder)
    changed = []
    for environment in manifest.environments:
        for name, key, known in ((RECIPE, "recipe", environment.recipe), (RESOLVED, "resolved", environment.resolved)):
            path = f"environments/{environment.id}/{name}"
            if _update_digest(folder, path, "suite.yml", key, known, behind=environment.id):
                changed.append(path)
    for problem in manifest.problems:
        stored = read_yaml(path_inside(folder, f"problems/{problem}") / "problem.yml", StoredProblemManifest)
        path, known = f"problems/{problem}/statement.md", stored.statement.sha256
        if _update_digest(folder, path, f"problems/{problem}/problem.yml", "sha256", known):
            changed.append(path)
    return tuple(changed)


def _update_digest(folder: Path, path: str, manifest: str, key: str, known: str, behind: str = "") -> bool:
    """Replace a file's stored digest; return whether it changed.

    The file ``path`` is in ``folder``. ``manifest`` is the file that has the digest ``known`` as value of ``key``,
    somewhere after the text ``behind``.
    """
    now = sha256(read_text(path_inside(folder, path), MAX_FILE_BYTES).encode())
    if known != now:
        place = path_inside(folder, manifest)
        text = place.read_text(encoding="utf-8")
        start = max(text.find(behind), 0)
        written = re.sub(rf"""({key}["']?: *["']?){known}""", rf"\g<1>{now}", text[start:], count=1)
        write_atomic(place, (text[:start] + written).encode())
    return known != now


def fix_suite(suite: Suite) -> Suite:
    """Add missing canary strings and titles; return the suite."""
    for path in _without_canary(suite):
        place = suite.folder / path
        write_atomic(place, f"# {suite.manifest.canary}\n".encode() + place.read_bytes())
    for problem in suite.problems:
        if not problem.manifest.provenance.title:
            place = suite.folder / "problems" / problem.id / "problem.yml"
            title = re.sub(r"[-_.]+", " ", problem.id).strip().capitalize()
            text = re.sub(r"^  title: (?:''|\"\")\n", "", place.read_text(encoding="utf-8"), flags=re.MULTILINE)
            line = f"provenance:\n  title: {json.dumps(title)}\n"
            write_atomic(place, text.replace("provenance:\n", line, 1).encode())
    return load_suite(suite.folder)


def _problem(problem: Problem) -> Iterator[LintFinding]:
    manifest, words = problem.manifest, len(problem.statement.split())
    if words < _WORDS:
        yield LintFinding(
            "CG001", problem.id, f"the statement has {words} words; say what is wrong and what is expected"
        )
    for name in _named(problem):
        yield LintFinding("CG002", problem.id, f"the statement names {name!r}, which the model does not see")
    if not manifest.provenance.title:
        yield LintFinding(
            "CG003", problem.id, "no `provenance.title`; reports show it beside the id (--fix takes the id)"
        )
    if not manifest.tags:
        yield LintFinding("CG004", problem.id, "no `tags`; cohorts and floors are by tag")
    if manifest.controls is None and manifest.answer is None:  # a question has no tests, so no controls
        yield LintFinding("CG006", problem.id, "never validated; `codegate validate` proves it and finds its controls")


def _named(problem: Problem) -> Iterator[str]:
    # Names of public tests are ignored, because the model sees these tests.
    public = "|".join(map(re.escape, problem.manifest.public_tests)) or "(?!)"
    statement = re.sub(rf"`(?:{public})::[^`]+`", "", problem.statement)
    tests = (test.rpartition("::")[2].partition("[")[0] for test in problem.tests.expected)
    names = {name for name in tests if name.isidentifier() and len(name) >= _SHORTEST_NAME}
    files = {path for path in problem.manifest.test_files if path not in problem.manifest.public_tests}
    for name in sorted(names | files | {path.rpartition("/")[2] for path in files}):
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", statement):
            yield name


def _without_canary(suite: Suite) -> list[str]:
    paths = ("suite.yml", *(f"problems/{problem.id}/problem.yml" for problem in suite.problems))
    heads = {path: (suite.folder / path).read_text(encoding="utf-8").partition("\n")[0] for path in paths}
    return [path for path, head in heads.items() if suite.manifest.canary not in head]


def _unused(suite: Suite) -> Iterator[str]:
    used = {problem.manifest.environment for problem in suite.problems}
    yield from (f"environment {entry.id}" for entry in suite.manifest.environments if entry.id not in used)
    named = {f"problems/{problem.id}" for problem in suite.problems}
    named |= {problem.manifest.base.folder for problem in suite.problems if problem.manifest.base.folder}
    for entry in suite.manifest.environments:
        named |= {f"environments/{entry.id}"} | ({entry.base.folder} if entry.base and entry.base.folder else set())
    for top in ("bases", "environments", "problems"):
        place = suite.folder / top
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            name = f"{top}/{path.name}"
            if not any(one == name or one.startswith(f"{name}/") for one in named):
                yield name
