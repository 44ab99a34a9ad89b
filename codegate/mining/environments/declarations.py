"""What a tree says it needs to run and to be tested: read from its files, never executed.

Sources: ``pyproject.toml`` (PEP 621, PEP 735, Poetry, PDM, Hatch), ``setup.cfg``, literals in ``setup.py``,
``tox.ini``, ``Pipfile`` and requirements files; next to them what its lock files pin and what its automation
installs. What cannot be taken from an index as a wheel by name (URLs, version control, local paths, editable
installs, the project itself) is dropped.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from codegate.languages.contract import is_test_data
from codegate.mining.environments.lockfiles import read_pins
from codegate.mining.environments.recipes import read_recipe
from codegate.mining.environments.setup_script import setup_arguments
from codegate.suite import Part, Tree, is_plain_path
from codegate.suite.declared import (
    at,
    first_text,
    lines,
    mapping,
    read_ini,
    read_requirements,
    read_toml,
    strings,
)

_TEST_GROUPS: Final = ("tests", "test", "testing", "pytest", "unittest", "ci")
_DEV_GROUPS: Final = ("dev", "develop", "development", "all")
_TEST_FILES: Final = re.compile(
    r"(?:requirements/)?(?:requirements[-_.])?(?:test|tests|testing)(?:[-_.]requirements)?\.(?:txt|in)"
)
_DEV_FILES: Final = re.compile(
    r"(?:requirements/)?(?:requirements[-_.])?(?:dev|develop|development|ci)(?:[-_.]requirements)?\.(?:txt|in)"
)
_RUNTIME_FILES: Final = re.compile(r"requirements(?:/(?:base|main|requirements|prod))?\.(?:txt|in)")
_NOT_NEEDED: Final = frozenset(
    {"pre-commit", "tox", "tox-uv", "nox", "twine", "build", "black", "ruff", "flake8", "isort", "pylint", "bandit",
     "bump2version", "bumpversion", "bump-my-version", "codecov", "coveralls", "wheel", "pip",
     "check-manifest", "cibuildwheel", "zest-releaser", "towncrier", "reno", "uv", "poetry", "hatch", "mypy", "pyright",
     "commitizen", "sphinx-rtd-theme", "furo", "mkdocs", "mkdocs-material"}
)  # fmt: skip
_BROUGHT: Final = {"mypy": "typing-extensions", "pyright": "typing-extensions"}  # and code imports it undeclared
_INSTALLER_NAME: Final = re.compile(r"setuptools\b")
_RESOURCES: Final = re.compile(rb"^[ \t]*(?:from|import) (?:[\w., ]+, )?pkg_resources\b", re.MULTILINE)
_MAX_GROUPS: Final = 100
_MAX_ENTRY: Final = 2000
_MAX_VERSION: Final = 200


@dataclass(frozen=True)
class Declarations:
    """What a tree declares; requirements are sorted, normalised PEP 508 strings.

    Attributes:
        name: of the distribution, normalised; empty when it has none.
        runtime: what it needs to run.
        test: what its tests need.
        automation: what its automation installs for its tests beyond these.
        pins: what its lock file pins, as ``name==version``.
        requires_python: its specifier, such as ``>=3.9``.
        pythons: minor versions that it names: its classifiers and the matrix of its automation.
    """

    name: str
    runtime: tuple[str, ...]
    test: tuple[str, ...]
    automation: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    requires_python: str = ""
    pythons: tuple[str, ...] = ()


def read_declarations(tree: Tree) -> Declarations:
    """Return what ``tree`` declares. Broken files declare nothing.

    In a part of a repository, the repository's other projects are not packages of an index: what they need to run takes
    their place.
    """
    declared = _read(tree)
    siblings = _siblings(tree, declared)
    if not siblings:
        return declared
    needed = [entry for sibling in siblings.values() for entry in sibling.runtime]
    runtime, test, automation = (
        tuple(sorted({entry for entry in entries if canonicalize_name(Requirement(entry).name) not in siblings}))
        for entries in ((*declared.runtime, *needed), declared.test, declared.automation)
    )
    return replace(declared, runtime=runtime, test=test, automation=automation)


def _siblings(tree: Tree, declared: Declarations) -> dict[str, "_Sibling"]:
    """Return, by name, the repository's other projects that the part ``tree`` depends on, and those that they do."""
    if not isinstance(tree, Part):
        return {}
    declaring = (path for path in tree.whole if path.endswith("/pyproject.toml") and not is_test_data(path))
    folders = [path.rpartition("/")[0] for path in declaring]
    parts = {folder: Part(tree.whole, folder) for folder in folders if folder != tree.folder}
    known = {}
    for folder, part in parts.items():
        own = _read(part)
        if own.name:
            known[own.name] = _Sibling(folder, own.runtime)
    found: dict[str, _Sibling] = {}
    queue = [*declared.runtime, *declared.test, *declared.automation]
    while queue:
        name = canonicalize_name(Requirement(queue.pop()).name)
        if name in known and name not in found:
            found[name] = known[name]
            queue += known[name].runtime
    return found


class _Sibling(NamedTuple):
    folder: str
    runtime: tuple[str, ...]


def _read(tree: Tree) -> Declarations:
    project = read_toml(tree, "pyproject.toml")
    pipfile = read_toml(tree, "Pipfile")
    setup_cfg = read_ini(tree, "setup.cfg")
    setup_py = setup_arguments(tree)
    recipe = read_recipe(tree)
    name = first_text(
        at(project, "project", "name"), at(project, "tool", "poetry", "name"),
        setup_cfg.get("metadata", {}).get("name"), setup_py.get("name"),
    )  # fmt: skip
    own = canonicalize_name(name) if name else ""
    extras = _extras(project, setup_cfg, setup_py)
    groups = _groups(project, setup_py)
    runtime = [
        *strings(at(project, "project", "dependencies")),
        *_poetry(at(project, "tool", "poetry", "dependencies")),
        *lines(setup_cfg.get("options", {}).get("install_requires", "")),
        *strings(setup_py.get("install_requires")),
    ]
    runtime = runtime or [*_poetry(pipfile.get("packages")), *_files(tree, _RUNTIME_FILES)]
    test = [
        *_named(extras, _TEST_GROUPS), *_named(groups, _TEST_GROUPS),
        *_files(tree, _TEST_FILES), *_tox(tree),
    ]  # fmt: skip
    if not test:
        test = [*_named(extras, _DEV_GROUPS), *_named(groups, _DEV_GROUPS), *_files(tree, _DEV_FILES)]
        test += _poetry(pipfile.get("dev-packages"))
    automation = [
        *recipe.requirements, *_named(extras, recipe.extras), *_named(groups, recipe.groups),
        *read_requirements(tree, recipe.files),
    ]  # fmt: skip
    pins = read_pins(tree, own)
    if not any(_INSTALLER_NAME.match(entry) for entry in (*runtime, *test, *automation, *pins)):
        runtime += _installer(tree)
    cleaned = (_clean(runtime, own, extras), _clean(test, own, extras, dropped=_NOT_NEEDED))
    return Declarations(
        name=own,
        runtime=cleaned[0],
        test=cleaned[1],
        automation=_beyond(_clean(automation, own, extras, dropped=_NOT_NEEDED), cleaned),
        pins=pins,
        requires_python=_specifier(
            first_text(
                at(project, "project", "requires-python"), setup_cfg.get("options", {}).get("python_requires"),
                setup_py.get("python_requires"), *_poetry_version_of(at(project, "tool", "poetry", "dependencies")),
            )
        ),
        pythons=_pythons([*_classifiers(project, setup_cfg, setup_py), *recipe.pythons]),
    )  # fmt: skip


def _installer(tree: Tree) -> list[str]:
    """Return setuptools where code imports ``pkg_resources``: until 2023 virtual environments had it without asking."""
    paths = (path for path in tree if path.endswith(".py") and not path.endswith("setup.py") and not is_test_data(path))
    return ["setuptools<81"] if any(_RESOURCES.search(tree[path].data) for path in paths) else []


def import_roots(tree: Tree) -> tuple[str, ...]:
    """Return the folders that ``tree``'s code is imported from: its top, ``src``, and what it configures itself.

    Those of a part come with the part's folder before them, and are followed by those of the repository's other
    projects that it depends on, and by the repository's root.
    """
    roots = _roots(tree)
    if not isinstance(tree, Part):
        return roots
    siblings = [sibling.folder for sibling in _siblings(tree, _read(tree)).values()]
    places = [(tree.folder, roots), *((folder, _roots(Part(tree.whole, folder))) for folder in siblings)]
    found = [f"{folder}/{root}".rstrip("/") for folder, own in places for root in own]
    return tuple(dict.fromkeys([*found, ""]))


def _roots(tree: Tree) -> tuple[str, ...]:
    project = read_toml(tree, "pyproject.toml")
    setup_cfg = read_ini(tree, "setup.cfg")
    roots = ["", "src"]
    roots += strings(at(project, "tool", "pytest", "ini_options", "pythonpath"))
    roots += strings(at(project, "tool", "setuptools", "packages", "find", "where"))
    roots += strings(at(project, "tool", "setuptools", "package-dir", ""))
    roots += lines(setup_cfg.get("options.packages.find", {}).get("where", ""))
    roots += [root for root in ("lib", "python") if any(path.startswith(f"{root}/") for path in tree)]
    plain = [root.removeprefix("./").rstrip("/") for root in roots]
    return tuple(
        dict.fromkeys("" if root == "." else root for root in plain if root in {"", "."} or is_plain_path(root))
    )


def _clean(
    entries: Iterable[str], own: str, extras: Mapping[str, list[str]], dropped: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    kept: set[str] = set()
    seen: set[str] = set()
    expanded: set[str] = set()
    queue = list(entries)
    while queue and len(seen) < 500:
        entry = queue.pop()
        if entry in seen:
            continue
        seen.add(entry)
        if len(entry) > _MAX_ENTRY:
            continue
        try:
            requirement = Requirement(entry)
        except (InvalidRequirement, RecursionError):
            continue
        name = canonicalize_name(requirement.name)
        if name == own:
            # "project[extra]" inside the project's own extras stands for that extra's list.
            fresh = {canonicalize_name(extra) for extra in requirement.extras} - expanded
            expanded |= fresh
            queue += _named(extras, fresh)
        elif requirement.url is None and name not in dropped:
            kept.add(str(requirement))
        elif name in _BROUGHT:
            kept.add(_BROUGHT[name])
    return tuple(sorted(kept))


def _beyond(automation: tuple[str, ...], cleaned: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """Return what the automation installs that is not declared under the same name."""
    names = {Requirement(entry).name.lower() for entries in cleaned for entry in entries}
    return tuple(entry for entry in automation if Requirement(entry).name.lower() not in names)


def _specifier(text: str) -> str:
    try:
        return str(SpecifierSet(text[:_MAX_VERSION]))
    except InvalidSpecifier:
        return ""


def _poetry_version_of(dependencies: object) -> list[str]:
    python = mapping(dependencies).get("python")
    return [_poetry_version(python)] if isinstance(python, str) and len(python) <= _MAX_VERSION else []


def _classifiers(
    project: Mapping[str, Any], setup_cfg: Mapping[str, Any], setup_py: Mapping[str, Any]
) -> Iterable[str]:
    texts = [
        *strings(at(project, "project", "classifiers")),
        *lines(setup_cfg.get("metadata", {}).get("classifiers", "")),
        *strings(setup_py.get("classifiers")),
    ]
    return [text.rpartition("::")[2].strip() for text in texts if text.startswith("Programming Language :: Python ::")]


def _pythons(versions: Iterable[str]) -> tuple[str, ...]:
    minors = {int(match[1]) for text in versions if (match := re.fullmatch(r"3\.(\d{1,2})", text))}
    return tuple(f"3.{minor}" for minor in sorted(minors))


def _extras(
    project: Mapping[str, Any], setup_cfg: Mapping[str, Any], setup_py: Mapping[str, Any]
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    sources = [
        mapping(at(project, "project", "optional-dependencies")),
        {key: lines(value) for key, value in setup_cfg.get("options.extras_require", {}).items()},
        mapping(setup_py.get("extras_require")),
    ]
    for source in sources:
        for key, value in source.items():
            found.setdefault(key, []).extend(strings(value))
    return found


def _groups(project: Mapping[str, Any], setup_py: Mapping[str, Any]) -> dict[str, list[str]]:
    raw = mapping(at(project, "dependency-groups"))
    used = {*_TEST_GROUPS, *_DEV_GROUPS}
    found = {key: _group(raw, key) for key in raw if canonicalize_name(key) in used}
    for key, value in mapping(at(project, "tool", "pdm", "dev-dependencies")).items():
        found.setdefault(key, []).extend(strings(value))
    for key, value in mapping(at(project, "tool", "poetry", "group")).items():
        found.setdefault(key, []).extend(_poetry(at(value, "dependencies")))
    found.setdefault("dev", []).extend(_poetry(at(project, "tool", "poetry", "dev-dependencies")))
    found["dev"].extend(strings(at(project, "tool", "uv", "dev-dependencies")))
    for environment in ("test", "tests", "hatch-test", "default"):
        settings = at(project, "tool", "hatch", "envs", environment)
        names = [*strings(at(settings, "dependencies")), *strings(at(settings, "extra-dependencies"))]
        found.setdefault("dev" if environment == "default" else "test", []).extend(names)
    found.setdefault("tests", []).extend(strings(setup_py.get("tests_require")))
    return found


def _group(raw: Mapping[str, Any], key: str) -> list[str]:
    """Return a group's entries and those of the groups that it includes, each group once: they may go in circles."""
    found: list[str] = []
    groups = [key]
    for name in groups:
        entries = raw.get(name)
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, str):
                found.append(entry)
            elif isinstance(entry, dict) and isinstance(entry.get("include-group"), str):
                groups += {entry["include-group"]}.difference(groups) if len(groups) < _MAX_GROUPS else ()
    return found


def _named(groups: Mapping[str, list[str]], names: Iterable[str]) -> list[str]:
    wanted = {canonicalize_name(name) for name in names}
    return [entry for key, entries in groups.items() if canonicalize_name(key) in wanted for entry in entries]


def _poetry(table: object) -> list[str]:
    """Translate Poetry's version language (https://python-poetry.org/docs/dependency-specification/) to PEP 508."""
    found = []
    for name, value in mapping(table).items():
        version = value.get("version") if isinstance(value, dict) else value
        if name.lower() == "python" or (isinstance(version, str) and len(version) > _MAX_VERSION):
            continue
        if isinstance(value, str):
            found.append(f"{name}{_poetry_version(value)}")
        elif isinstance(value, dict) and not value.get("optional") and isinstance(value.get("version"), str):
            extras = ",".join(strings(value.get("extras")))
            marker = value.get("markers")
            tail = f"; {marker}" if isinstance(marker, str) else ""
            found.append(f"{name}{f'[{extras}]' if extras else ''}{_poetry_version(value['version'])}{tail}")
    return found


def _poetry_version(text: str) -> str:
    clauses = []
    for clause in text.split(","):
        part = clause.strip()
        match = re.fullmatch(r"([\^~])\s*(\d+(?:\.\d+)*)(\S*)", part)
        if match is not None:
            numbers = [int(number) for number in match[2].split(".")]
            clauses += [f">={match[2]}{match[3]}", f"<{_upper(match[1], numbers)}"]
        elif re.fullmatch(r"\d[\w.]*(\.\*)?", part):
            clauses.append(f"=={part}")
        elif part not in {"", "*"}:
            clauses.append(part)
    return ",".join(clauses)


def _upper(operator: str, numbers: list[int]) -> str:
    if operator == "~":
        keep = min(len(numbers), 2) - 1
    else:
        keep = next((index for index, number in enumerate(numbers) if number), len(numbers) - 1)
    return ".".join(str(number) for number in [*numbers[:keep], numbers[keep] + 1])


def _tox(tree: Tree) -> list[str]:
    deps = read_ini(tree, "tox.ini").get("testenv", {}).get("deps", "")
    found, files = [], []
    for line in lines(deps):
        if line.startswith("-r"):
            files.append(line[2:].strip().removeprefix("{toxinidir}/"))
        elif re.match(r"[\w.-]+\s*(\[|[<>=!~;]|$)", line):
            found.append(line)
    return found + read_requirements(tree, files)


def _files(tree: Tree, pattern: re.Pattern[str]) -> list[str]:
    return read_requirements(tree, [path for path in tree if pattern.fullmatch(path)])
