"""Generate the files that installing a project adds.

There are two kinds: the module that a version tool writes when it builds (``_version.py`` of setuptools-scm, hatch-vcs
and the like), and the distribution's metadata (``NAME-VERSION.dist-info``), by which a project finds its own version
and its own plugins through ``importlib.metadata``. They are made from the tree's declarations; nothing of the tree is
run. Every test run has them in its workspace, so that mining, grading and a model's public runs see the same. A patch
cannot forge them: they are made from configuration, which a patch may not change, and a patch that brings metadata of
its own is tampering.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

from codegate.suite import Tree, TreeFile, is_plain_path, parent_folders
from codegate.suite.declared import mapping, read_ini, read_toml, read_tree_text, strings

_MAX_TEXT: Final = 500
_MAX_ENTRIES: Final = 200
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_VERSION: Final = re.compile(r"\d+(?:\.\d+){0,4}(?:(?:a|b|rc|\.dev|\.post)\d+)?")
_ASSIGNED: Final = re.compile(
    r"^(?:__version__|VERSION|version)\b[^=\n]{0,40}=\s*[\"']([^\"'\n]{1,40})[\"']", re.MULTILINE
)
_HEADING: Final = re.compile(
    r"^[^\w\n]{0,6}(?:version |release )?v?(\d+\.\d+(?:\.\d+)?)\b", re.MULTILINE | re.IGNORECASE
)
_CHANGES: Final = re.compile(
    r"(?:docs?/)?(?:change(?:s|log)|history|news|releases?)(?:\.(?:md|rst|txt))?", re.IGNORECASE
)
_ENTRY: Final = re.compile(r"[\w.-]{1,100}\s*=\s*[\w.]{1,200}(?:\s*:\s*[\w.]{1,200})?(?:\s*\[[\w,. -]{0,100}\])?")
_GROUP: Final = re.compile(r"[\w.-]{1,100}")
#: Placeholder of a project whose version is not found; most projects have been released once.
_UNKNOWN: Final = "1.0.0"
_MODULE: Final = """\
__version__ = version = {version!r}
__version_tuple__ = version_tuple = {parts!r}
__commit_id__ = commit_id = None
"""


def installed_files(tree: Tree) -> dict[str, TreeFile]:
    """Return, by path, the files that installing ``tree`` would add.

    The files are the version modules that the build configuration names, and ``METADATA`` and ``entry_points.txt`` of
    the distribution at the tree's top. There is no metadata if the tree declares no name. No file of the tree is
    replaced.
    """
    project = _Project(tree)
    name = project.name()
    version = project.version(name)
    found = {path: _version_module(path, version) for path in project.version_files()}
    if name:
        folder = f"{re.sub(r'[-_.]+', '_', name).lower()}-{version}.dist-info"
        found[f"{folder}/METADATA"] = project.metadata(name, version)
        entries = project.entry_points()
        if entries:
            found[f"{folder}/entry_points.txt"] = entries
    return {path: TreeFile(text.encode("utf-8", "replace")) for path, text in found.items() if _is_free(tree, path)}


def _is_free(tree: Tree, path: str) -> bool:
    return is_plain_path(path) and not any(place in tree for place in (path, *parent_folders(path)))


def _version_module(path: str, version: str) -> str:
    if not path.endswith(".py"):
        return f"{version}\n"
    parts = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    return _MODULE.format(version=version, parts=parts)


class _Project:
    """The build configuration of a tree's Python project."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        pyproject = read_toml(tree, "pyproject.toml")
        self.setup_cfg = read_ini(tree, "setup.cfg")
        self.setup_py = _setup_py(tree)
        self.declared = mapping(pyproject.get("project"))
        self.tool = mapping(pyproject.get("tool"))
        self.poetry = mapping(self.tool.get("poetry"))

    def _stated(self, key: str) -> list[object]:
        setup_cfg = self.setup_cfg.get("metadata", {})
        return [table.get(key) for table in (self.declared, self.poetry, setup_cfg, self.setup_py)]

    def name(self) -> str:
        flit = _table(self.tool, "flit", "metadata")
        places = (*self._stated("name"), flit.get("dist-name"), flit.get("module"))
        return next((text for text in map(_line, places) if _NAME.fullmatch(text)), "")

    def version(self, name: str) -> str:
        """Return the project's version.

        The first valid version is taken from the configuration, a module or the newest change log entry; else a
        placeholder. ``name`` is the project's.
        """
        modules = (match[1] for text in self._version_sources(name) if (match := _ASSIGNED.search(text)))
        logs = (read_tree_text(self.tree, path)[:20_000] for path in self.tree if _CHANGES.fullmatch(path))
        headings = (match[1] for text in logs if (match := _HEADING.search(text)))
        found = chain(map(_line, self._stated("version")), modules, headings)
        return next(filter(_VERSION.fullmatch, found), _UNKNOWN)

    def _version_sources(self, name: str) -> Iterator[str]:
        yield read_tree_text(self.tree, _line(_table(self.tool, "hatch", "version").get("path")))
        dynamic = _table(self.tool, "setuptools", "dynamic", "version").get("attr")
        attribute = _line(dynamic) or _line(self.setup_cfg.get("metadata", {}).get("version")).removeprefix("attr:")
        modules = [attribute.strip().rpartition(".")[0].replace(".", "/")] if "." in attribute else []
        package = re.sub(r"[-.]", "_", name)
        for folder in dict.fromkeys((*modules, package, package.lower())):
            for root in ("", "src/", "lib/"):
                for ending in (".py", "/__init__.py", "/__about__.py", "/_version.py", "/version.py"):
                    if folder:
                        yield read_tree_text(self.tree, f"{root}{folder}{ending}")

    def version_files(self) -> list[str]:
        """Return the files that the build's version tool writes."""
        scm = mapping(self.tool.get("setuptools_scm")) or mapping(self.tool.get("setuptools-scm"))
        hatch, pdm = _table(self.tool, "hatch", "build", "hooks", "vcs"), _table(self.tool, "pdm", "version")
        written = _table(self.tool, "versioningit", "write")
        used = mapping(self.setup_py.get("use_scm_version"))
        places = [
            scm.get("version_file"), scm.get("write_to"), hatch.get("version-file"), pdm.get("write_to"),
            written.get("file"), used.get("version_file"), used.get("write_to"),
        ]  # fmt: skip
        found = [_line(place).removeprefix("./") for place in places]
        if pdm.get("write_to"):  # pdm's path is relative to the folder of packages
            found += [f"src/{_line(pdm['write_to'])}"] if any(path.startswith("src/") for path in self.tree) else []
        return [path for path in dict.fromkeys(found) if re.fullmatch(r"[\w./-]+\.(?:py|txt)", path)]

    def metadata(self, name: str, version: str) -> str:
        urls = mapping(self.declared.get("urls"))
        fields = [
            ("Metadata-Version", "2.1"),
            ("Name", name),
            ("Version", version),
            ("Summary", _line(self.declared.get("description"))),
            ("Requires-Python", _line(self.declared.get("requires-python"))),
            ("License", _line(self.declared.get("license"))),
            *(("Project-URL", f"{_line(key)}, {_line(value)}") for key, value in urls.items()),
            *(("Requires-Dist", _line(entry)) for entry in strings(self.declared.get("dependencies"))),
        ]
        return "".join(f"{key}: {value}\n" for key, value in fields[:_MAX_ENTRIES] if value)

    def entry_points(self) -> str:
        groups: dict[str, list[str]] = {}
        tables = {
            **mapping(self.declared.get("entry-points")),
            **mapping(self.poetry.get("plugins")),
            "console_scripts": {**mapping(self.declared.get("scripts")), **mapping(self.poetry.get("scripts"))},
        }
        for group, table in tables.items():
            groups.setdefault(group, []).extend(f"{key} = {_line(value)}" for key, value in mapping(table).items())
        for group, text in self.setup_cfg.get("options.entry_points", {}).items():
            groups.setdefault(group, []).extend(text.splitlines())
        for group, value in mapping(self.setup_py.get("entry_points")).items():
            groups.setdefault(group, []).extend(value.splitlines() if isinstance(value, str) else strings(value))
        lines: list[str] = []
        for group, entries in sorted(groups.items()):
            good = [entry.strip() for entry in entries[:_MAX_ENTRIES] if _ENTRY.fullmatch(entry.strip())]
            if good and _GROUP.fullmatch(group):
                lines += [f"[{group}]", *good, ""]
        return "\n".join(lines)


def _setup_py(tree: Tree) -> dict[str, Any]:
    try:
        module = ast.parse(read_tree_text(tree, "setup.py"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, Any] = {}
    for call in ast.walk(module):
        if isinstance(call, ast.Call) and (getattr(call.func, "id", "") or getattr(call.func, "attr", "")) == "setup":
            for word in call.keywords:
                try:
                    found[word.arg or ""] = ast.literal_eval(word.value)
                except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                    continue
    return found


def _table(document: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return the table at nested keys, or an empty one."""
    for name in names:
        document = mapping(document.get(name))
    return document


def _line(value: object) -> str:
    return " ".join(value.split())[:_MAX_TEXT] if isinstance(value, str) else ""
