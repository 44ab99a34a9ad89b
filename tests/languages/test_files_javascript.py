"""Which files of a JavaScript or TypeScript project are tests, support, configuration and source."""

import pytest

from codegate.languages import PathClass, PathClassifier
from codegate.suite import Tree, TreeFile

CALLS = b"import { f } from './f';\ndescribe('f', () => {\n  it('is', () => {});\n});\n"
NO_CALLS = b"export const help = () => 1;\n"


@pytest.mark.parametrize(
    ("kind", "text", "paths"),
    [
        ("test", CALLS, (
            "src/sum.test.ts src/sum.spec.tsx src/__tests__/sum.js test/res.send.js spec/sum-spec.js "
            "test/test-sum.mjs tests/a.js"
        )),
        ("test_support", NO_CALLS, (
            "test/support/env.js test/helpers.js src/sum.test.ts src/__mocks__/fs.js "
            "src/__snapshots__/sum.test.ts.snap test/fixtures/a.json"
        )),
        ("test_support", CALLS, "test/support/suite.js test/types.test-d.ts"),
        ("source", NO_CALLS, (
            "src/index.ts lib/response.js src/history.ts src/testing/index.ts src/latest.js src/contest.ts "
            "index.d.ts src/App.vue src/app/app.config.ts src/dist/index.js src/insurance/coverage/plan.ts"
        )),
        ("source", CALLS, "src/inspect.js"),
        ("configuration", NO_CALLS, (
            "vitest.config.ts eslint.config.mjs packages/a/tsconfig.build.json .mocharc.cjs .babelrc "
            "packages/a/jest.config.json bunfig.toml .nvmrc jest.setup.ts config/jest.unit.config.js "
            "config/unit.jest.config.js src/x/base.jest.config.ts scripts/wdio.conf.js config/ava.config.js"
        )),
        ("dependencies", NO_CALLS, "pnpm-lock.yaml packages/a/package.json yarn.lock"),
        ("generated", NO_CALLS, "dist/index.js node_modules/left/index.js lib/all.min.js"),
        ("docs", NO_CALLS, "src/sum.bench.ts docs/app.js"),
        ("ci", CALLS, ".github/scripts/a.test.js"),
    ],
)  # fmt: skip
def test_the_class_of_a_path(kind: PathClass, text: bytes, paths: str) -> None:
    for path in paths.split():
        rooms = PathClassifier.of(Tree({"package.json": TreeFile(b"{}"), path: TreeFile(text)}))
        assert rooms.classify(path) == kind, path
        assert rooms.is_test_module(path) == (kind == "test" or path.startswith(".github")), path


def test_a_manifest_says_what_is_a_tools_configuration_and_what_a_build_writes() -> None:
    manifest = TreeFile(b'{"scripts": {"test": "run-tests -c config/own.config.js"}}')
    rooms = PathClassifier.of(Tree({"package.json": manifest, "packages/a/package.json": TreeFile(b"{}")}))
    for path, kind in {
        "config/own.config.js": "configuration",
        "src/own.config.js": "configuration",
        "packages/a/tool.config.mjs": "configuration",
        "packages/a/src/a.config.mjs": "source",
        "app/src/a.config.ts": "source",
        "packages/a/dist/a.js": "generated",
        "packages/a/src/dist/a.js": "source",
        "app/src/vendor/a.ts": "source",
        "src/dist/a.js": "source",
    }.items():
        assert rooms.classify(path) == kind, path


def test_a_bundle_in_a_project_of_another_language_is_generated() -> None:
    rooms = PathClassifier.of(Tree({"app/__init__.py": TreeFile(b""), "src/frontend/package.json": TreeFile(b"{}")}))
    for folder in ("app/static/dist", "src/app/static/dist", "public/coverage", "app/static/vendor", "lib/vendor/a"):
        assert rooms.classify(f"{folder}/app.js") == "generated", folder


def test_a_file_that_is_gone_is_judged_by_its_name() -> None:
    rooms = PathClassifier.of(Tree({}))
    assert rooms.classify("src/old.test.ts") == "test"
    assert rooms.classify("test/old.js") == "test_support"


def test_a_link_is_no_test() -> None:
    rooms = PathClassifier.of(Tree({"test/a.test.js": TreeFile(b"it('a')", "120000")}))
    assert rooms.classify("test/a.test.js") == "test_support"


@pytest.mark.parametrize("text", [b"test('a', async () => {})\n", b"  it.each`a`('x')\n"])
def test_each_call_that_declares_a_test_makes_one(text: bytes) -> None:
    assert PathClassifier.of(Tree({"tests/a.js": TreeFile(text)})).classify("tests/a.js") == "test"
