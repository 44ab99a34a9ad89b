"""Which files of a Go, Rust, Java, JavaScript or TypeScript project are tests, support, configuration and source."""

import pytest

from codegate.languages import PathClass, PathClassifier
from codegate.suite import Tree, TreeFile
from tests.languages.kit import check, classifier

GO_TEST = 'package shop\n\nimport "testing"\n\nfunc TestTotal(t *testing.T) {}\n'
GO = {
    **dict.fromkeys(("shop_test.go", "testdata/src/a/a_test.go", "test/whole_test.go", "_tools/gen_test.go"), GO_TEST),
    "bench_test.go": "package shop\n\nfunc BenchmarkTotal(b *testing.B) {}\n",
    "main_test.go": "package shop\n\nfunc TestMain(m *testing.M) {}\n\nfunc Testing() {}\n",
    "example_test.go": "package shop_test\n\nfunc ExampleTotal() {}\n",
    "export_test.go": "package shop\n\nvar Internal = internal\n",
    "vendor/modules.txt": "",
}
RUST_TEST = "#[test]\nfn total() {}\n"
RUST = {
    **dict.fromkeys(("src/cart/tests/total.rs", "tests/cart.rs", "crates/core/tests/all/cart.rs"), RUST_TEST),
    "src/lib.rs": f"pub fn total() {{}}\n\n#[cfg(test)]\nmod tests {{\n    {RUST_TEST}}}\n",
    "src/cart/tests.rs": "mod total;\n",
    "src/price_test.rs": "#[ tokio :: test ]\nasync fn total() {}\n",
    "src/price_tests.rs": '#[test_case(1; "one")]\nfn total(x: u8) {}\n',
    "src/speed_test.rs": '#[cfg(feature = "test")]\npub fn speed() {}\n',
    "src/vendor.rs": "pub mod who;\n",
    "src/shop/vendor/mod.rs": "",
    "tests/common/mod.rs": "pub fn cart() {}\n",
    "crates/core/tests/all/main.rs": "mod cart;\n",
}
JAVA_TEST = "class CartTest {\n  @Test void total() {}\n}\n"
JAVA = {
    "core/src/test/java/org/shop/CartTest.java": JAVA_TEST,
    **dict.fromkeys(("src/test/java/org/shop/Helper.java", "src/main/app.test.ts"), "class Any {}\n"),
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (GO, {
            "dependencies": "go.mod go.sum",
            "configuration": ".golangci.yml",
            "source": "shop.go internal/shoptest/server.go testing/fake.go shop_string.go",
            "test": "shop_test.go example_test.go test/whole_test.go gone_test.go",
            "test_support": "bench_test.go main_test.go export_test.go testdata/input.json testdata/src/a/a_test.go "
            "test/helper.go _tools/gen_test.go",
            "generated": "vendor/example.com/a/a.go vendor/example.com/a/README",
            "docs": "examples/cart/main.go",
        }),
        (RUST, {
            "dependencies": "Cargo.toml",
            "configuration": "rust-toolchain.toml .cargo/config.toml",
            "generated": "crates/a/target/debug/deps/a-1 target/x86_64-unknown-linux-musl/release/a",
            "source": "src/target/debug.rs build.rs src/lib.rs src/speed_test.rs src/commands/test.rs src/latest.rs "
            "src/vendor/who.rs src/shop/vendor/mod.rs src/examples/mod.rs",
            "test_support": "src/cart/tests.rs tests/common/mod.rs tests/data/input.json crates/core/tests/all/main.rs",
            "test": "src/cart/tests/total.rs src/price_test.rs src/price_tests.rs tests/cart.rs tests/gone.rs "
            "crates/core/tests/all/cart.rs",
            "docs": "crates/core/benches/cart.rs examples/cart.rs",
        }),
        (JAVA, {
            "source": "src/main/java/org/shop/Cart.java src/main/java/org/shop/TestBench.java "
            "src/main/java/org/shop/vendor/Vendor.java a/src/main/java/org/shop/test/Lab.java",
            "test": "core/src/test/java/org/shop/CartTest.java src/test/java/GoneTest.java",
            "test_support": "src/test/java/org/shop/Helper.java src/test/resources/cart.json src/main/conftest.py "
            "src/main/app.test.ts",
            "dependencies": "core/pom.xml build.gradle.kts src/main/go.mod",
            "configuration": ".mvn/jvm.config src/main/resources/junit-platform.properties",
            "generated": "target/generated-sources/Cart.java a/target/test-classes/CartTest.class",
            "docs": "README.md",
        }),
        ({}, {  # other languages
            "test": "tests/parse.lua src/parser_test.cc src/test/kotlin/org/ParserTest.kt spec/parser_spec.rb "
            "Sources/ParserTests.swift t/parse.t",
            "test_support": "tests/data.json",
            "source": "src/latest.lua src/Contest.kt src/main/java/org/Parser.java spec/rules.json",
        }),
    ],
    ids=["go", "rust", "java", "others"],
)  # fmt: skip
def test_a_file_is_what_its_languages_tools_take_it_for(files: dict[str, str], expected: dict[str, str]) -> None:
    check(files, expected, modules=True)


CALLS = "import { f } from './f';\ndescribe('f', () => {\n  it('is', () => {});\n});\n"
NO_CALLS = "export const help = () => 1;\n"


@pytest.mark.parametrize(
    ("kind", "text", "paths"),
    [
        ("test", CALLS, (
            "src/sum.test.ts src/sum.spec.tsx src/__tests__/sum.js test/res.send.js spec/sum-spec.js "
            "test/test-sum.mjs tests/a.js"
        )),
        ("test", "test('a', async () => {})\n", "tests/a.js"),
        ("test", "  it.each`a`('x')\n", "tests/a.js"),
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
def test_a_javascript_file_is_judged_by_its_place_and_its_calls(kind: PathClass, text: str, paths: str) -> None:
    for path in paths.split():
        check({"package.json": "{}", path: text}, {kind: path}, modules=kind != "ci")


def test_a_manifest_says_what_is_a_tools_configuration_and_what_a_build_writes() -> None:
    check(
        {
            "package.json": '{"scripts": {"test": "run-tests -c config/own.config.js"}}',
            "packages/a/package.json": "{}",
        },
        {
            "configuration": "config/own.config.js src/own.config.js packages/a/tool.config.mjs",
            "source": "packages/a/src/a.config.mjs app/src/a.config.ts packages/a/src/dist/a.js app/src/vendor/a.ts "
            "src/dist/a.js",
            "generated": "packages/a/dist/a.js",
        },
    )


def test_a_bundle_in_a_project_of_another_language_is_generated() -> None:
    folders = ("app/static/dist", "src/app/static/dist", "public/coverage", "app/static/vendor", "lib/vendor/a")
    bundles = " ".join(f"{folder}/app.js" for folder in folders)
    check({"app/__init__.py": "", "src/frontend/package.json": "{}"}, {"generated": bundles})


def test_a_file_that_is_gone_is_judged_by_its_name() -> None:
    check({}, {"test": "src/old.test.ts src/add/test.ts", "test_support": "test/old.js"})


def test_a_link_is_no_test() -> None:
    rooms = PathClassifier.of(Tree({"test/a.test.js": TreeFile(b"it('a')", "120000")}))
    assert rooms.classify("test/a.test.js") == "test_support"
    assert classifier({"test/a.test.js": "it('a')"}).classify("test/a.test.js") == "test"
