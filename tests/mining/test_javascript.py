"""What a JavaScript project's files say of its test runner, and which of its changes count."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.languages import PathClassifier
from codegate.languages.javascript.environments import runner_of
from codegate.mining.cut import Cut, cut, reject_by_paths
from codegate.mining.sources.history import read_merged_changes
from codegate.suite import RunnerName, Subtree, Tree, TreeFile, read_commit
from tests.kit.repository import HistoryBuilder


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


def test_the_runner_of_a_part_is_also_what_its_workspace_depends_on() -> None:
    own = {"web/package.json": {"name": "web"}, "package.json": {"devDependencies": {"vitest": "3"}}}
    whole = Tree({path: TreeFile(json.dumps(content).encode()) for path, content in own.items()})
    assert runner_of(Subtree.of(whole, "web")) == "vitest"


@given(st.dictionaries(st.text(), st.dictionaries(st.text(), st.text() | st.integers()) | st.text() | st.none()))
def test_whatever_a_manifest_holds_its_runner_is_known_or_none(package: dict[str, Any]) -> None:
    runner_of(tree({**package, "scripts": package, "dependencies": package}))


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
    (unit,) = read_merged_changes(history.folder)
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
