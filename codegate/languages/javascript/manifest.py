"""What a tree's ``package.json`` and its neighbours say: packages, test runner, Node. Read, never executed."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from codegate.errors import UsageError
from codegate.languages.contract import is_test_data
from codegate.languages.javascript.packages import check_npm_manifest, normal_lock
from codegate.suite import Part, RunnerName, Tree
from codegate.suite.declared import read_json

_LARGEST: Final = 16 << 20
_RELEASED: Final = re.compile(r"(?!0\.0\.0)\d{1,9}\.\d{1,9}\.\d{1,9}(?:-[\w.-]{1,40})?")
_ALIASED: Final = re.compile(r"^npm:(.[^@]*)")
_SECTIONS: Final = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_MAJORS: Final = (22, 24, 20)
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
#: Tools that download or compile on installation, or that no test of a file alone needs: left out, they cost nothing.
_UNNEEDED: Final = re.compile(
    r"eslint|prettier|husky|lint-staged|commitlint|semantic-release|release-it|^np$|puppeteer|playwright|^cypress$|electron"
    r"|^(unbuild|tsup|tsdown|changelogen|automd|standard-version|nyc|c8|coveralls|codecov)$|size-limit"
    r"|^(@types/)?(webdriverio|karma)|^@?(rollup|webpack|lerna|nx|turbo)[-/](plugin|loader|cli)|^@changesets/|^typedoc"
)


@dataclass(frozen=True)
class Manifest:
    """A ``package.json`` reduced to what npm installs by, as canonical text."""

    text: str

    @property
    def name(self) -> str:
        """Return the name of the project."""
        return str(json.loads(self.text)["name"])

    def renamed(self, name: str) -> "Manifest":
        """Return the same for a project of another name."""
        return Manifest(_text({**json.loads(self.text), "name": name}))

    def with_release_before(self, version: str) -> "Manifest":
        """Return the same where every package that depends on the project gets a release below ``version``."""
        content = json.loads(self.text)
        return Manifest(_text({**content, "overrides": {**content.get("overrides", {}), self.name: f"<{version}"}}))

    def only(self, runner: RunnerName) -> "Manifest":
        """Return the manifest with run-time packages and the test runner alone."""
        content = json.loads(self.text)
        wanted = {name: package for package, name in _PACKAGES}.get(runner)
        kept = {
            name: spec
            for section in ("devDependencies", "dependencies")
            for name, spec in content.get(section, {}).items()
            if section == "dependencies" or _near(name, wanted)
        }
        small = {"name": content.get("name"), "version": "0.0.0", "dependencies": kept}
        return Manifest(_text({key: value for key, value in small.items() if value}))


def read_manifest(tree: Tree) -> Manifest | None:
    """Return what the root of ``tree`` declares; None where there is nothing that npm could install.

    A workspace around it counts too (see ``_package_json``).
    Packages from elsewhere than the registry are left out, and so is the project itself, under whatever name.
    """
    content = _package_json(tree)
    if not content:
        return None
    name = content.get("name")
    found: dict[str, Any] = {"name": name if isinstance(name, str) else "project", "version": "0.0.0"}
    for section in _SECTIONS:
        specs = _specs(content, section)
        kept = {
            key: spec for key, spec in specs.items() if _fits(key, spec) and name not in {key, *_ALIASED.findall(spec)}
        }
        if section == "devDependencies":
            kept = {key: spec for key, spec in kept.items() if not _UNNEEDED.search(key)}
        if kept:
            found[section] = dict(sorted(kept.items()))
    if isinstance(content.get("overrides"), dict) and _accepted({"overrides": content["overrides"]}):
        found["overrides"] = content["overrides"]
    if not _accepted(found):
        found["name"] = "project"
    return Manifest(_text(found)) if _accepted(found) else None


def version_of(tree: Tree) -> str:
    """Return the project's own version, or an empty string where ``package.json`` has none that counts releases."""
    version = read_json(tree, "package.json").get("version")
    return version if isinstance(version, str) and _RELEASED.fullmatch(version) else ""


def read_lock(tree: Tree, manifest: Manifest) -> str | None:
    """Return the tree's ``package-lock.json`` for ``manifest``, or None where it has none that can be used."""
    folder = ""
    file = tree.get("package-lock.json") or tree.get("npm-shrinkwrap.json")
    if file is None and isinstance(tree, Part):
        folder = next((above for above in tree.above() if f"{above}package-lock.json" in tree.whole), "")
        file, folder = tree.whole.get(f"{folder}package-lock.json"), tree.folder.removeprefix(folder)
    if file is None or file.is_link or len(file.data) > _LARGEST:
        return None
    try:
        lock = json.loads(file.data)
        if folder:
            lock["packages"] = _of_member(lock["packages"], folder)
        lock["packages"][""] = {key: value for key, value in json.loads(manifest.text).items() if key != "overrides"}
        lock["name"], lock["version"] = lock["packages"][""]["name"], "0.0.0"
        return normal_lock(json.dumps(lock))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _of_member(packages: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the entries of a workspace's lock as its member in ``folder`` sees them: its own come first."""
    shared = {place: entry for place, entry in packages.items() if place.startswith("node_modules/")}
    own = {
        place.removeprefix(f"{folder}/"): entry
        for place, entry in packages.items()
        if place.startswith(f"{folder}/node_modules/")
    }
    return {place: entry for place, entry in {**shared, **own}.items() if not entry.get("link")}


def has_release(lock: str, name: str) -> bool:
    """Return whether ``lock`` installs the package ``name`` anywhere."""
    return any(place and _package(place, entry) == name for place, entry in json.loads(lock)["packages"].items())


def nest(lock: str, name: str, project: str) -> str:
    """Return ``lock`` with the package ``name`` where only the packages that depend on it find it.

    The top-level copy becomes one in the ``node_modules`` of each dependent, as npm itself places what it cannot
    hoist; the project is then called ``project``.
    """
    content = json.loads(lock)
    packages: dict[str, dict[str, Any]] = content["packages"]
    top = f"node_modules/{name}"
    copies = {place: entry for place, entry in packages.items() if f"{place}/".startswith(f"{top}/")}
    kept = {place: entry for place, entry in packages.items() if place not in copies}
    for place, entry in list(kept.items()):
        wanted = any(name in entry.get(section, {}) for section in _SECTIONS)
        if place and wanted and not any(f"{outer}/{top}" in packages for outer in _around(place)):
            kept |= {f"{place}/{copy}": facts for copy, facts in copies.items()}
    content["name"] = kept[""]["name"] = project
    return json.dumps({**content, "packages": kept}, indent=1, sort_keys=True) + "\n"


def _around(place: str) -> list[str]:
    """Return the place of a package and those of the packages that it is inside of."""
    parts = place.split("/node_modules/")
    return ["/node_modules/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


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


def node_major(tree: Tree) -> int:
    """Return the major version of Node for ``tree``: its version file's, or the first that its engines allow."""
    for name in (".nvmrc", ".node-version"):
        file = tree.get(name)
        match = re.match(rb"\s*v?(\d{1,2})(?:\.|\s|$)", file.data) if file is not None else None
        if match is not None:
            return next((major for major in sorted(_MAJORS) if major >= int(match[1])), max(_MAJORS))
    engines = read_json(tree, "package.json").get("engines")
    text = engines.get("node") if isinstance(engines, dict) else None
    if not isinstance(text, str):
        return _MAJORS[0]
    return next((major for major in _MAJORS if _allows(text[:500], major)), _MAJORS[0])


def _allows(engines: str, major: int) -> bool:
    for alternative in engines.split("||"):
        low = re.match(r"\s*(>=?|\^|~|=)?\s*v?(\d+)", alternative)
        high = re.search(r"<\s*v?(\d+)", alternative)
        if high is not None and major >= int(high[1]):
            continue
        if low is None or (low[1] in {">=", ">"} and major >= int(low[2])) or major == int(low[2]):
            return True
    return False


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


def _near(name: str, wanted: str | None) -> bool:
    """Whether a development package makes the runner work: itself, its plugins, and what compiles TypeScript."""
    helpers = {
        "typescript",
        "tsx",
        "ts-node",
        "ts-jest",
        "esbuild",
        "babel-jest",
        "chai",
        "should",
        "supertest",
        "sinon",
    }
    return name in helpers or name.startswith("@babel/") or (wanted is not None and wanted in name)


def _fits(name: str, spec: object) -> bool:
    return isinstance(spec, str) and _accepted({"dependencies": {name: spec}})


def _accepted(content: Mapping[str, Any]) -> bool:
    try:
        check_npm_manifest(_text(content))
    except UsageError:
        return False
    return True


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


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=1, sort_keys=True) + "\n"
