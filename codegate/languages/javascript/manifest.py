"""What a tree's ``package.json`` and its neighbours say: packages, test runner, Node. Read, never executed."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from codegate.languages.contract import is_test_data
from codegate.suite import Part, RunnerName, Tree
from codegate.suite.declared import read_json

_RELEASED: Final = re.compile(r"(?!0\.0\.0)\d{1,9}\.\d{1,9}\.\d{1,9}(?:-[\w.-]{1,40})?")
_SECTIONS: Final = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
#: Most telling first: a project that has jest's types or mocha next to vitest has moved on to the latter.
_PACKAGES: Final[tuple[tuple[str, RunnerName], ...]] = (("vitest", "vitest"), ("jest", "jest"), ("mocha", "mocha"))
_WORDS: Final[tuple[tuple[re.Pattern[str], RunnerName], ...]] = (
    (re.compile(r"(?:^|[\s/])vitest(?:\.mjs)?(?:\s|$)"), "vitest"),
    (re.compile(r"(?:^|[\s/])jest(?:\.js)?(?:\s|$)"), "jest"),
    (re.compile(r"(?:^|[\s/])_?mocha(?:\.js)?(?:\s|$)"), "mocha"),
    (re.compile(r"(?:^|\s)(?:node|tsx)\s(?:[^&|;]*\s)?--test(?:\s|$)"), "node"),
)
_TEST_SCRIPTS: Final = ("test:unit", "unit", "test", "test:node", "test-unit", "tests", "test:only", "test:js", "mocha")
_CALLED: Final = re.compile(r"(?:npm|pnpm|yarn|bun)(?:\s+run)?\s+([\w:.-]+)|run-[sp]\s+([\w:. -]+)")


def version_of(tree: Tree) -> str:
    """Return the project's own version, or an empty string where ``package.json`` has none that counts releases."""
    version = read_json(tree, "package.json").get("version")
    return version if isinstance(version, str) and _RELEASED.fullmatch(version) else ""


def has_release(lock: str, name: str) -> bool:
    """Return whether ``lock`` installs the package ``name`` anywhere."""
    return any(place and _package(place, entry) == name for place, entry in json.loads(lock)["packages"].items())


def _package(place: str, entry: Mapping[str, Any]) -> str:
    return str(entry.get("name") or place.rpartition("node_modules/")[2])


def runner_of(tree: Tree) -> RunnerName | None:
    """Return what runs the project's tests: what its scripts call, or else what it depends on."""
    content = _package_json(tree)
    scripts = content.get("scripts")
    texts = {
        name: text for name, text in (scripts if isinstance(scripts, dict) else {}).items() if isinstance(text, str)
    }
    for name in _TEST_SCRIPTS:
        found = _said(_expanded(name, texts))
        if found is not None:
            return found
    for section in _SECTIONS:
        for package, runner in _PACKAGES:
            if package in _specs(content, section):
                return runner
    return _said(text for name, text in texts.items() if "test" in name)


def _expanded(name: str, scripts: Mapping[str, str], depth: int = 0) -> list[str]:
    """Return a script and, in order, the scripts that it runs."""
    text = scripts.get(name)
    if text is None or depth > 5:
        return []
    found = [text]
    for one, several in _CALLED.findall(text[:4000]):
        for called in (one, *several.split()):
            found += _expanded(called, scripts, depth + 1)
    return found


def _said(texts: Iterable[str]) -> RunnerName | None:
    for text in texts:
        for words, runner in _WORDS:
            if words.search(text[:4000]):
                return runner
    return None


def _package_json(tree: Tree) -> dict[str, Any]:
    """Return the root's ``package.json``; of a workspace's member, with what it gets from the workspace.

    That is what the folders above declare, and what the members that it depends on need to run. The members themselves
    are left out: they are no packages of a registry.
    """
    own = read_json(tree, "package.json")
    if not isinstance(tree, Part) or not own:
        return own
    places = [
        path
        for path in tree.whole
        if path.endswith("/package.json")
        and "node_modules" not in path.split("/")
        and not is_test_data(path)  # which may call itself as it likes
    ]
    members = {str(content.get("name")): content for path in places for content in [read_json(tree.whole, path)]}
    needed = [own]
    for content in needed:  # grows
        wanted = {name for section in _SECTIONS for name in _specs(content, section)}
        needed += [members[name] for name in sorted(wanted & members.keys()) if members[name] not in needed]
    above = [read_json(tree.whole, f"{folder}package.json") for folder in tree.above()]
    merged = dict(own)
    for section in _SECTIONS:
        givers = [own, *(needed[1:] if section == "dependencies" else []), *above]
        specs = {name: spec for content in reversed(givers) for name, spec in _specs(content, section).items()}
        merged[section] = {name: spec for name, spec in specs.items() if name not in members}
    overrides = next((content["overrides"] for content in above if "overrides" in content), None)
    return {**merged, **({"overrides": overrides} if overrides is not None else {})}


def _specs(content: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    found = content.get(section)
    return found if isinstance(found, dict) else {}
