"""Which files of a JavaScript or TypeScript project are tests, support, configuration and source."""

import pytest

from codegate.languages import PathClass, PathClassifier
from codegate.suite import Tree, TreeFile

CALLS = b"import { f } from './f';\ndescribe('f', () => {\n  it('is', () => {});\n});\n"
NO_CALLS = b"export const help = () => 1;\n"


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("src/sum.test.ts", CALLS, "test"),
        ("src/sum.spec.tsx", CALLS, "test"),
        ("src/__tests__/sum.js", CALLS, "test"),
        ("test/res.send.js", CALLS, "test"),
        ("spec/sum-spec.js", CALLS, "test"),
        ("test/test-sum.mjs", b"test('a', async () => {})\n", "test"),
        ("tests/a.js", b"  it.each`a`('x')\n", "test"),
        ("test/support/env.js", NO_CALLS, "test_support"),
        ("test/support/suite.js", CALLS, "test_support"),
        ("test/helpers.js", NO_CALLS, "test_support"),
        ("src/sum.test.ts", NO_CALLS, "test_support"),
        ("test/types.test-d.ts", CALLS, "test_support"),
        ("src/__mocks__/fs.js", NO_CALLS, "test_support"),
        ("src/__snapshots__/sum.test.ts.snap", b"", "test_support"),
        ("test/fixtures/a.json", b"{}", "test_support"),
        ("src/index.ts", NO_CALLS, "source"),
        ("lib/response.js", NO_CALLS, "source"),
        ("src/history.ts", NO_CALLS, "source"),
        ("src/testing/index.ts", NO_CALLS, "source"),
        ("src/latest.js", NO_CALLS, "source"),
        ("src/contest.ts", NO_CALLS, "source"),
        ("index.d.ts", NO_CALLS, "source"),
        ("src/App.vue", NO_CALLS, "source"),
        ("src/inspect.js", CALLS, "source"),
        ("vitest.config.ts", NO_CALLS, "configuration"),
        ("eslint.config.mjs", NO_CALLS, "configuration"),
        ("packages/a/tsconfig.build.json", b"{}", "configuration"),
        (".mocharc.cjs", NO_CALLS, "configuration"),
        (".babelrc", b"{}", "configuration"),
        ("packages/a/jest.config.json", b"{}", "configuration"),
        ("bunfig.toml", b"", "configuration"),
        (".nvmrc", b"22", "configuration"),
        ("jest.setup.ts", NO_CALLS, "configuration"),
        ("pnpm-lock.yaml", b"", "dependencies"),
        ("packages/a/package.json", b"{}", "dependencies"),
        ("yarn.lock", b"", "dependencies"),
        ("dist/index.js", NO_CALLS, "generated"),
        ("node_modules/left/index.js", NO_CALLS, "generated"),
        ("lib/all.min.js", NO_CALLS, "generated"),
        ("src/sum.bench.ts", NO_CALLS, "docs"),
        ("docs/app.js", NO_CALLS, "docs"),
        (".github/scripts/a.test.js", CALLS, "ci"),
    ],
)
def test_the_class_of_a_path(path: str, text: bytes, kind: PathClass) -> None:
    rooms = PathClassifier.of(Tree({path: TreeFile(text)}))
    assert rooms.classify(path) == kind
    assert rooms.is_test_module(path) == (kind == "test" or path.startswith(".github"))


def test_a_file_that_is_gone_is_judged_by_its_name() -> None:
    rooms = PathClassifier.of(Tree({}))
    assert rooms.classify("src/old.test.ts") == "test"
    assert rooms.classify("test/old.js") == "test_support"


def test_a_link_is_no_test() -> None:
    rooms = PathClassifier.of(Tree({"test/a.test.js": TreeFile(b"it('a')", "120000")}))
    assert rooms.classify("test/a.test.js") == "test_support"
