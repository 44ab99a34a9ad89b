"""What a Maven project depends on: its pom files and those of its dependencies, read as data. Maven is never run.

Of Maven's rules it has those that decide which libraries tests see: parents, properties, managed versions, imported
ones, scopes, exclusions, and that the nearest version wins. Profiles, plugins and ranges of versions it leaves out.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import PurePosixPath
from typing import Final

from codegate.errors import UsageError
from codegate.languages.java.repository import Artifact, fetch, read_artifact
from codegate.strict import XmlElement, parse_xml
from codegate.suite import Tree

_LARGEST: Final = 4 << 20
_MOST_PARENTS: Final = 12
_MOST_ARTIFACTS: Final = 400
_PROPERTY: Final = re.compile(r"\$\{([^${}]{1,200})\}")
_PINNED: Final = re.compile(r"\[([^,\[\]()]+)\]")
_SEEN_BY_TESTS: Final = frozenset({"compile", "provided", "runtime", "test"})
_HANDED_ON: Final = frozenset({"compile", "runtime"})
#: The framework is the environment's own: the launcher and the engines have to fit together.
_FRAMEWORK: Final = re.compile(r"org\.junit\.(jupiter|platform|vintage)|org\.junit")


@dataclass(frozen=True)
class Dependency:
    """One entry of a ``dependencies`` list; an empty version is for a managed one to fill in."""

    group: str
    name: str
    version: str
    scope: str
    kind: str
    classifier: str
    optional: bool
    excluded: frozenset[str]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return what two entries for the same file have in common."""
        return self.group, self.name, self.kind, self.classifier


@dataclass
class Project:
    """A pom with what its parents give."""

    group: str = ""
    version: str = ""
    properties: dict[str, str] = field(default_factory=dict)
    managed: dict[tuple[str, str, str, str], Dependency] = field(default_factory=dict)
    dependencies: dict[tuple[str, str, str, str], Dependency] = field(default_factory=dict)


def libraries(tree: Tree, module: str) -> list[Artifact]:
    """Return the jars that the tests of the ``module``, a folder of ``tree``, are compiled and run with.

    Modules of the tree are not among them: their sources are at hand.

    Raises:
        UsageError: a pom of the tree cannot be read.
        InfrastructureError: the repository cannot be reached.
    """
    poms = _Poms(tree)
    root = poms.of_tree(f"{module}/pom.xml".removeprefix("/"))
    found: dict[tuple[str, str, str, str], Artifact] = {}
    seen: set[tuple[str, str, str, str]] = set()
    queue = deque((entry, frozenset[str]()) for entry in root.dependencies.values() if entry.scope in _SEEN_BY_TESTS)
    while queue and len(found) < _MOST_ARTIFACTS:
        entry, excluded = queue.popleft()
        if entry.key in seen or _FRAMEWORK.fullmatch(entry.group):
            continue
        seen.add(entry.key)
        own = poms.local.get((entry.group, entry.name))
        try:
            artifact = read_artifact(":".join(filter(None, (entry.group, entry.name, entry.version, entry.classifier))))
            project = poms.of_tree(own) if own else poms.of_artifact(artifact)
        except UsageError:
            continue  # what cannot be read is lacking, as what the repository does not have
        if not own and entry.kind in {"jar", "test-jar", "bundle"}:
            found[entry.key] = artifact
        barred = excluded | entry.excluded
        for inner in project.dependencies.values():
            handed_on = inner.scope in _HANDED_ON and not inner.optional
            if handed_on and barred.isdisjoint({f"{inner.group}:{inner.name}", f"{inner.group}:*", "*:*"}):
                managed = root.managed.get(inner.key)
                version = managed.version if managed is not None and managed.version else inner.version
                queue.append((replace(inner, version=version), barred))
    return list(found.values())


class _Poms:
    """The poms of one tree and of the repository."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.texts = {
            path: file.data
            for path, file in tree.items()
            if PurePosixPath(path).name == "pom.xml" and not file.is_link and "/src/" not in f"/{path}"
        }
        self.local: dict[tuple[str, str], str] = {}
        self._projects: dict[str, Project] = {}
        for path, data in self.texts.items():
            try:
                element = _parsed(data)
            except UsageError:
                continue
            group = _text(element, "groupId") or _text(element, "parent/groupId")
            self.local.setdefault((group, _text(element, "artifactId")), path)

    def of_tree(self, path: str) -> Project:
        """Return the project of a pom of the tree."""
        if path not in self._projects:
            if path not in self.texts:
                raise UsageError(f"there is no {path}.")
            self._projects[path] = self._project(_parsed(self.texts[path]), path)
        return self._projects[path]

    def of_artifact(self, artifact: Artifact) -> Project:
        """Return the project of a pom of the repository; an empty one where it has none."""
        data = _pom(Artifact(*artifact[:3]))
        return self._project(_parsed(data), None) if data is not None else Project()

    def _project(self, element: XmlElement, path: str | None) -> Project:
        chain = [element, *self._parents(element, path)]
        project = Project()
        for one in reversed(chain):
            project.properties |= {
                each.name: each.text.strip() for group in _inside(one, "properties") for each in group.children
            }
        project.group = next((text for one in chain if (text := _text(one, "groupId"))), "")
        project.version = next((text for one in chain if (text := _text(one, "version"))), "")
        own = {"groupId": project.group, "artifactId": _text(element, "artifactId"), "version": project.version}
        given = {"parent.version": _text(element, "parent/version"), "parent.groupId": _text(element, "parent/groupId")}
        project.properties |= {
            f"{prefix}{name}": text for prefix in ("project.", "pom.", "") for name, text in (own | given).items()
        }
        for one in chain:
            for entry in _entries(one, "dependencyManagement/dependencies/dependency", project.properties):
                if entry.scope == "import" and entry.kind == "pom":
                    for managed in self._imported(entry).values():
                        project.managed.setdefault(managed.key, managed)
                else:
                    project.managed.setdefault(entry.key, entry)
            for entry in _entries(one, "dependencies/dependency", project.properties):
                project.dependencies.setdefault(entry.key, entry)
        for key, entry in project.dependencies.items():
            project.dependencies[key] = _completed(entry, project.managed.get(key))
        return project

    def _imported(self, entry: Dependency) -> Mapping[tuple[str, str, str, str], Dependency]:
        path = self.local.get((entry.group, entry.name))
        try:
            artifact = read_artifact(f"{entry.group}:{entry.name}:{entry.version}")
            return (self.of_tree(path) if path else self.of_artifact(artifact)).managed
        except UsageError:
            return {}

    def _parents(self, element: XmlElement, path: str | None) -> Iterator[XmlElement]:
        for _ in range(_MOST_PARENTS):
            if not _inside(element, "parent"):
                return
            group, name, version = (_text(element, f"parent/{tag}") for tag in ("groupId", "artifactId", "version"))
            path = self.local.get((group, name)) if path is not None else None
            data = self.texts[path] if path is not None else _pom(read_artifact(f"{group}:{name}:{version}"))
            if data is None:
                return
            element = _parsed(data)
            yield element


@cache
def _pom(artifact: Artifact) -> bytes | None:
    return fetch(artifact, "pom")


def _parsed(data: bytes) -> XmlElement:
    """Return a pom's element."""
    try:
        if len(data) <= _LARGEST:
            return parse_xml(data)
    except ValueError as error:
        raise UsageError(f"a pom is no XML: {error}.") from error
    raise UsageError(f"a pom is over {_LARGEST >> 20} MiB.")


def _inside(element: XmlElement, path: str) -> list[XmlElement]:
    """Return the elements that a path of names leads to."""
    found = [element]
    for name in path.split("/"):
        found = [inner for each in found for inner in each.children if inner.name == name]
    return found


def _text(element: XmlElement, path: str) -> str:
    return next((each.text.strip() for each in _inside(element, path)), "")


def _entries(element: XmlElement, path: str, properties: Mapping[str, str]) -> Iterator[Dependency]:
    for each in _inside(element, path):
        words = {name: _filled(_text(each, name), properties) for name in ("groupId", "artifactId", "version")}
        kind = _filled(_text(each, "type"), properties) or "jar"
        classifier = _filled(_text(each, "classifier"), properties) or ("tests" if kind == "test-jar" else "")
        pinned = _PINNED.fullmatch(words["version"])
        yield Dependency(
            group=words["groupId"],
            name=words["artifactId"],
            version=pinned[1] if pinned else words["version"],
            scope=_filled(_text(each, "scope"), properties),
            kind=kind,
            classifier=classifier,
            optional=_filled(_text(each, "optional"), properties) == "true",
            excluded=frozenset(
                f"{_text(one, 'groupId')}:{_text(one, 'artifactId')}" for one in _inside(each, "exclusions/exclusion")
            ),
        )


def _completed(entry: Dependency, managed: Dependency | None) -> Dependency:
    """Return an entry with the version and the scope that are managed, where it has none of its own."""
    if managed is None:
        return replace(entry, scope=entry.scope or "compile")
    return replace(
        entry,
        version=entry.version or managed.version,
        scope=entry.scope or managed.scope or "compile",
        excluded=entry.excluded | managed.excluded,
    )


def _filled(text: str, properties: Mapping[str, str]) -> str:
    """Return ``text`` with the values of the properties that it names; unknown ones stay."""
    for _ in range(10):
        filled = _PROPERTY.sub(lambda match: properties.get(match[1], match[0]), text)
        if filled == text or len(filled) > 1000:
            break
        text = filled
    return text
