"""What a project's own automation installs before its tests, and on which Pythons: read, never executed.

Read are GitHub workflows, ``tox.ini`` and literals in ``noxfile.py``. Of their commands, the few verbs that install are
understood; everything else, and every word that is no requirement of an index, is passed over.
"""

import ast
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import dropwhile, groupby
from typing import Any, Final

from packaging.requirements import InvalidRequirement, Requirement

from codegate.languages.syntax import parse_python
from codegate.suite import Tree
from codegate.suite.declared import lines, mapping, read_ini, read_plain_yaml, read_text

_TESTING: Final = re.compile(r"\b(?:pytest|py\.test|unittest|tox|nox|coverage run|make (?:test|check|ci)|trial)\b")
_FILLED_IN: Final = re.compile(r"\$\{\{[^}\n]*\}\}")  # GitHub's expressions
_ASSIGNMENT: Final = re.compile(r"\w+=\S*")
_MINOR: Final = re.compile(r"3\.\d{1,2}")
_LOCAL: Final = re.compile(r"(?:\.|\./)?(?:\[([\w., -]+)\])?")
_LISTED: Final = re.compile(r"[\w.-]+")
#: Options that take a value; of those with a meaning here, which list the value goes to.
_VALUED: Final = {
    "-r": "files", "--requirement": "files", "--requirements": "files", "--with-requirements": "files",
    "--group": "groups", "-G": "groups", "--with": "groups", "--only": "groups", "--only-group": "groups",
    "--extra": "extras", "-E": "extras", "--extras": "extras",
    "-c": "", "--constraint": "", "-i": "", "--index-url": "", "--extra-index-url": "", "-f": "", "--find-links": "",
    "-t": "", "--target": "", "--prefix": "", "--python": "", "-p": "", "--no-binary": "", "--only-binary": "",
    "--without": "", "--no-group": "", "--no-extra": "", "--progress-bar": "", "--timeout": "", "--retries": "",
}  # fmt: skip
_INSTALLERS: Final = (
    ("pip", "install"), ("pip3", "install"), ("uv", "pip", "install"), ("uv", "sync"), ("uv", "run"),
    ("poetry", "install"), ("pdm", "install"), ("pdm", "sync"),
)  # fmt: skip
_MAX_FILES: Final = 50
_MAX_COMMANDS: Final = 500
_MAX_LINE: Final = 2000


@dataclass(frozen=True)
class Recipe:
    """What was found.

    Attributes:
        requirements: as written after a verb that installs.
        files: paths of requirements files.
        extras: of the project itself.
        groups: dependency groups.
        pythons: minor versions, such as ``3.11``.
    """

    requirements: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    extras: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    pythons: list[str] = field(default_factory=list)


def read_recipe(tree: Tree) -> Recipe:
    """Return what the automation of ``tree`` installs for its tests. Broken files name nothing."""
    found = Recipe()
    commands = [*_workflows(tree, found), *_tox(tree, found), *_nox(tree)]
    for command in commands[:_MAX_COMMANDS]:
        _read_command(command, found)
    return found


def _workflows(tree: Tree, found: Recipe) -> Iterator[list[str]]:
    paths = [path for path in tree if re.fullmatch(r"\.github/workflows/[^/]+\.ya?ml", path)]
    for path in paths[:_MAX_FILES]:
        for job in mapping(read_plain_yaml(tree, path).get("jobs")).values():
            steps = mapping(job).get("steps")
            runs = [mapping(step).get("run") for step in steps] if isinstance(steps, list) else []
            texts = [text for text in runs if isinstance(text, str)]
            if any(_TESTING.search(text) for text in texts):
                found.pythons.extend(_pythons(mapping(job)))
                yield from (command for text in texts for command in _commands(text))


def _pythons(job: Mapping[str, Any]) -> Iterator[str]:
    matrix = mapping(mapping(job.get("strategy")).get("matrix"))
    included = matrix.get("include")
    tables = [matrix, *(map(mapping, included) if isinstance(included, list) else ())]
    for table in tables:
        for key in ("python-version", "python", "python_version", "py", "version"):
            value = table.get(key)
            for item in value if isinstance(value, list) else [value]:
                if _MINOR.fullmatch(str(item)):
                    yield str(item)


def _tox(tree: Tree, found: Recipe) -> Iterator[list[str]]:
    sections = read_ini(tree, "tox.ini")
    settings = sections.get("testenv", {})
    found.extras.extend(_LISTED.findall(settings.get("extras", "")))
    found.groups.extend(_LISTED.findall(settings.get("dependency_groups", "")))
    for version in re.findall(r"\bpy3?(\d{1,2})\b", sections.get("tox", {}).get("envlist", "")):
        found.pythons.append(f"3.{version.removeprefix('3')}")
    for line in lines(settings.get("commands", "") + "\n" + settings.get("commands_pre", "")):
        yield from _commands(line.replace("{toxinidir}/", ""))


def _nox(tree: Tree) -> Iterator[list[str]]:
    module = parse_python(read_text(tree, "noxfile.py").encode("utf-8"))
    for function in ast.walk(module) if module is not None else ():
        if isinstance(function, ast.FunctionDef) and "test" in function.name:
            for call in ast.walk(function):
                name = getattr(call.func, "attr", "") if isinstance(call, ast.Call) else ""
                if isinstance(call, ast.Call) and name in {"install", "run", "run_install"}:
                    words = [_word(argument) for argument in call.args]
                    yield ["pip", "install", *words] if name == "install" else words


def _word(node: ast.expr) -> str:
    """Return a literal word; what is computed becomes one that a shell would expand, which nothing reads."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "$"


def _commands(text: str) -> Iterator[list[str]]:
    """Yield the words of the single commands of a shell text."""
    for line in _FILLED_IN.sub("$", text).replace("\\\n", " ").splitlines()[:_MAX_COMMANDS]:
        lexer = shlex.shlex(line[:_MAX_LINE], posix=True, punctuation_chars=";&|")
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:
            continue
        for apart, command in groupby(words, key=lambda word: set(word) <= set(";&|")):
            plain = list(dropwhile(_ASSIGNMENT.fullmatch, command))
            if plain and not apart:
                yield plain


def _read_command(words: list[str], found: Recipe) -> None:
    if re.fullmatch(r"(?:.*/)?python[\d.]*", words[0]) and words[1:2] == ["-m"]:
        words = words[2:]
    for verb in _INSTALLERS:
        if tuple(words[: len(verb)]) == verb:
            _read_arguments(words[len(verb) :], verb, found)
            return


def _read_arguments(words: list[str], verb: tuple[str, ...], found: Recipe) -> None:
    pip = verb[-1] == "install" and verb[0] in {"pip", "pip3", "uv"}
    queue = iter(words)
    for word in queue:
        option, _, value = word.partition("=") if word.startswith("--") else (word, "", "")
        local = _LOCAL.fullmatch(word)
        if option in _VALUED:
            kind = "requirements" if (verb, option) == (("uv", "run"), "--with") else _VALUED[option]
            _add(found, kind, value or next(queue, ""))
        elif re.match(r"-r\S", word):
            _add(found, "files", word[2:])
        elif word.startswith("-"):
            continue
        elif not pip:
            return  # the command that `uv run` runs, which is no requirement
        elif local is not None:
            _add(found, "extras", local[1] or "")
        elif _is_requirement(word):
            found.requirements.append(word)


def _is_requirement(word: str) -> bool:
    try:
        Requirement(word)
    except (InvalidRequirement, RecursionError):
        return False
    return True


def _add(found: Recipe, kind: str, value: str) -> None:
    if kind == "files":
        found.files.append(posixpath.normpath(value))
    elif kind:
        names = value.replace(",", " ").split()
        getattr(found, kind).extend(name for name in names if kind == "requirements" or _LISTED.fullmatch(name))
