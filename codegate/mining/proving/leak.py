"""Audit whether a model can reach answers or hidden tests.

A base tree is a snapshot of one commit, without history. Copies of the fix or of hidden tests can be in the tree
(vendored or built code, a patch file) or in the environment (a later release of the project that a dependent
installed). A program searches the environment in a sandbox, and sees the same files as code that a model starts.
"""

import difflib
import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any, Final

from packaging.utils import canonicalize_name

from codegate.durable import sha256
from codegate.grading.drivers import driver_command
from codegate.languages.syntax import IDENTIFIER, decode, new_lines
from codegate.sandbox import Sandbox, SandboxError, SandboxFile
from codegate.suite import Changes, LeakAudit, Subtree, Tree, TreeFile, object_id
from codegate.suite.declared import first_text, read_ini, read_toml, read_tree_json, read_tree_text, value_at
from codegate.wording import escaped_bytes

_MIN_LENGTH: Final = 20
_MAX_FINDINGS: Final = 10
_MIN_BYTES: Final = 64
_MAX_LINES: Final = 2000
_SECONDS: Final = 120.0
_GO_MODULE: Final = re.compile(r"^module\s+(\S{1,200})", re.MULTILINE)
_SETUP_NAME: Final = re.compile(r"\bname\s*=\s*[\"']([\w.-]{1,100})[\"']", re.IGNORECASE)
_AROUND: Final = 2
_LONGEST_RUN: Final = 12
_SHORTEST_RUN: Final = 60
_MAX_RUNS: Final = 64
_MAX_NAMES: Final = 50
_SHORTEST_NAME: Final = 10
_SHORTEST_TITLE: Final = 12
_UNSQUEEZED: Final = str.maketrans("", "", " \t\r\n\f\v'\"`\\")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
_COMMENT: Final = re.compile(r"(?:^|\s)(?:#|//).*")
_TEST_NAME: Final = re.compile(r"\b(?:def|func)\s+([Tt]est\w+)")
_TEST_TITLE: Final = re.compile(r"\b(?:it|test)(?:\.\w+)?\(\s*['\"`]([^'\"`\n]+)['\"`]")
_PROSE: Final = ("#", "//", "*", "import ", "from ", "package ")


def audit_leaks(
    base: Tree, hidden: Changes, fix: Changes, sandbox: Sandbox, folder: str = "", *, from_tree: bool = True
) -> LeakAudit:
    """Return where models can reach the fix or hidden tests.

    A leak is:

    - a file with several lines of the fix that have an identifier and at least 20 characters;
    - a file with the fixed content of a hidden test;
    - an installed release of the project, unless its copies of the files that the fix changes all lack the fix;
    - compiled code of the project. Only an environment that was built ``from_tree`` can have any.

    The project is the content of ``folder``, if only a part of the repository is mined.

    Raises:
        FilesRefused: the tree does not fit.
        SandboxError: the sandbox failed, or the search in it did not finish.
    """
    inside = audit_tree(base, hidden, fix)
    sandbox.put(tuple(SandboxFile(path, file.data, file.mode) for path, file in base.items()))
    request = _search_request(base, hidden, fix, folder) | ({} if from_tree else {"unheard": []})
    done = sandbox.run(driver_command("leak_driver", request, timeout_seconds=_SECONDS))
    if not done.ok:
        raise SandboxError(f"the leak audit did not end: {done.stderr.decode('utf-8', 'replace').strip()[-300:]}")
    found = LeakAudit.model_validate_json(done.records)
    return LeakAudit(
        fix_lines=inside.fix_lines + found.fix_lines,
        hidden_files=inside.hidden_files + found.hidden_files,
        objects=found.objects,
        own_release=found.own_release,
        network=found.network,
        findings=(inside.findings + found.findings)[:_MAX_FINDINGS],
    )


def audit_tree(base: Tree, hidden: Changes, fix: Changes) -> LeakAudit:
    """Return the leaks of the base tree; nothing is run."""
    distinctive = _distinctive(base, fix)
    known = {file.data: path for path, file in hidden.items() if file is not None and len(file.data) >= _MIN_BYTES}
    findings: list[str] = []
    lines = copies = 0
    for path, file in base.items():
        if len(findings) >= _MAX_FINDINGS:
            break
        copied = known.get(file.data)
        if copied is not None and base.get(copied) != hidden.get(copied):
            copies += 1
            findings.append(f"{escaped_bytes(path)} has the content of the hidden test {escaped_bytes(copied)}")
        shared = {line.strip() for line in file.text.splitlines()} & distinctive
        # One shared line is a coincidence of idiom; several are a copy.
        if len(shared) >= max(2, (len(distinctive) + 1) // 2):
            lines += len(shared)
            findings.append(
                f"{escaped_bytes(path)} has {len(shared)} of the {len(distinctive)} distinctive lines of the fix"
            )
    return LeakAudit(fix_lines=lines, hidden_files=copies, findings=tuple(findings))


def own_names(tree: Tree) -> tuple[str, ...]:
    """Return the project's package names, from its manifests."""
    pyproject, module = read_toml(tree, "pyproject.toml"), _GO_MODULE.search(read_tree_text(tree, "go.mod"))
    distributions = (
        value_at(pyproject, "project", "name"),
        value_at(pyproject, "tool", "poetry", "name"),
        value_at(read_ini(tree, "setup.cfg"), "metadata", "name"),
        *_SETUP_NAME.findall(read_tree_text(tree, "setup.py")),
    )
    names = {
        *(canonicalize_name(name) for name in distributions if isinstance(name, str)),
        first_text(read_tree_json(tree, "package.json").get("name")),
        first_text(value_at(read_toml(tree, "Cargo.toml"), "package", "name")),
        module[1] if module else "",
    }
    return tuple(sorted(escaped_bytes(name) for name in names if name))


def _search_request(base: Tree, hidden: Changes, fix: Changes, folder: str = "") -> dict[str, Any]:
    inside = f"{folder}/" if folder else ""
    changed = []
    for path, file in fix.items():
        added, removed = new_lines(file, base.get(path)), new_lines(base.get(path), file)
        short = [[line for line in lines if len(line) > 3][:_MAX_LINES] for lines in (added, removed)]
        changed.append((escaped_bytes(path.removeprefix(inside).removeprefix("src/")), *short))
    after = [file.data for path, file in hidden.items() if file is not None and base.get(path) != file]
    fixed = [file.data for file in fix.values() if file is not None]
    return {
        "base": [escaped_bytes(path) for path in base],
        "fix_lines": sorted(_distinctive(base, fix))[:_MAX_LINES],
        "test_lines": sorted(_distinctive(base, hidden))[:_MAX_LINES],
        "hidden": [(len(data), sha256(data)) for data in after if len(data) >= _MIN_BYTES],
        "blobs": sorted({object_id(data) for data in (*after, *fixed) if len(data) >= _MIN_BYTES}),
        "hidden_names": sorted({escaped_bytes(path.rpartition("/")[2]) for path in hidden}),
        "suffixes": sorted({PurePosixPath(path).suffix for path in (*fix, *hidden)} - {""}),
        "names": own_names(Subtree.of(base, folder)),
        "version": first_text(read_tree_json(Subtree.of(base, folder), "package.json").get("version")),
        "changed": changed,
        "runs": _runs(base, fix),
        "words": [
            (escaped_bytes(path.removeprefix("src/")), _new_words(base.get(path), file)) for path, file in fix.items()
        ],
        "unheard": _rare_words(base, fix),
        "test_names": _new_names(base, hidden, _TEST_NAME, _SHORTEST_NAME),
        "test_titles": _new_names(base, hidden, _TEST_TITLE, _SHORTEST_TITLE),
    }


def _runs(base: Tree, fix: Changes) -> list[list[str]]:
    """Return hunks of the fix, to recognise copies of it.

    A hunk is a list of the fixed file's lines, stripped and without blank lines, with up to ``_AROUND`` lines of
    context on each side. Hunks with little code, and hunks whose text is already in the old file, are left out.
    """
    found: list[list[str]] = []
    for path, file in fix.items():
        old = base.get(path)
        if old is None or file is None:
            continue
        before, after = (
            [line.strip() for line in decode(data).splitlines() if line.strip()] for data in (old.data, file.data)
        )
        known = _squeezed(before)
        for tag, _, _, start, end in difflib.SequenceMatcher(None, before, after).get_opcodes():
            run = [] if tag == "equal" else after[max(start - _AROUND, 0) : min(end, start + _LONGEST_RUN) + _AROUND]
            code = [line for line in run if not line.startswith(_PROSE)]
            if len(_squeezed(code)) >= _SHORTEST_RUN and _squeezed(run) not in known:
                found.append([escaped_bytes(line) for line in run])
    return found[:_MAX_RUNS]


def _squeezed(lines: Iterable[str]) -> str:
    return "".join(lines).translate(_UNSQUEEZED)


def _new_words(old: TreeFile | None, new: TreeFile | None) -> list[str]:
    known = set(_WORD.findall(decode(old.data))) if old is not None else set()
    words = set(_WORD.findall(_COMMENT.sub("", decode(new.data)))) if new is not None else set()
    return sorted(words - known)[:_MAX_LINES]


def _rare_words(base: Tree, fix: Changes) -> list[tuple[str, list[str]]]:
    """Return, by path, the fix's words that the base lacks."""
    # Only base files with suffixes of the fix's files are compared. Compiled code keeps the words that are names.
    new = {path: set(_new_words(base.get(path), file)) for path, file in fix.items()}
    suffixes = tuple({PurePosixPath(path).suffix for path, words in new.items() if words} - {""})
    left = set().union(*new.values())
    for path, file in base.items():
        if left and suffixes and path.endswith(suffixes):
            left.difference_update(_WORD.findall(decode(file.data)))
    return [(escaped_bytes(path), sorted(words & left)) for path, words in new.items() if words & left]


def _new_names(base: Tree, hidden: Changes, pattern: re.Pattern[str], shortest: int) -> list[str]:
    names: set[str] = set()
    for path, file in hidden.items():
        old = base.get(path)
        text = decode(old.data) if old is not None else ""
        found = set(pattern.findall(decode(file.data))) if file is not None else set()
        names |= {escaped_bytes(name) for name in found if len(name) >= shortest and name not in text}
    return sorted(names, key=lambda name: (-len(name), name))[:_MAX_NAMES]


def _distinctive(base: Tree, changes: Changes) -> set[str]:
    return {
        line
        for path, file in changes.items()
        for line in new_lines(file, base.get(path))
        if len(line) >= _MIN_LENGTH and IDENTIFIER.search(line) and not line.startswith(_PROSE)
    }
