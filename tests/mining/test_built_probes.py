"""Probes of Java and Rust: what is read of a test, and what Maven and Cargo give on both trees."""

import shutil
from textwrap import dedent

import pytest

from codegate.languages.java.tests import DIALECTS as OF_JAVA
from codegate.languages.lines import Line
from codegate.languages.rust.tests import DIALECTS as OF_RUST
from codegate.mining.examples.example import Example
from codegate.mining.examples.variants import slices
from codegate.sandbox import Toolchain
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.toolchains import find_toolchain
from tests.kit.environment import recorded, sandboxes_of
from tests.mining.statement_world import cut_of
from tests.mining.test_line_probes import checked, examples
from tests.mining.test_maven import POM
from tests.mining.test_rust import CRATE

JAVA, RUST = OF_JAVA[".java"], OF_RUST[".rs"]


def java(members: str, *tests: str, base: str = "", head: str = "class ATest {") -> list[Line]:
    return list(JAVA.lines(f"{head}\n{dedent(members)}\n}}\n", tests, base))


def rust(source: str, *tests: str) -> list[Line]:
    return list(RUST.lines(dedent(source), tests, ""))


class TestJava:
    def test_each_way_of_asserting_gives_what_it_checks(self) -> None:
        members = """
            @Test void adds() {
              assertEquals(3, add(1, 2), "a sum");
              assertTrue(names.contains("pear"));
              assertThat(later(4)).isNotNull().isEqualTo(5);
              MatcherAssert.assertThat("why", size(), is(6));
              assertThrows(IOException.class, () -> load("x"));
              IOException error = assertThrows(IOException.class, () -> { start(); load("y"); });
              try (Cart cart = open()) { cart.load(7); fail("no error"); } catch (IOException e) { }
              log.info("done");
            }
        """
        lines = java(members, "adds")
        assert [text for line in lines[:1] for text in checked(line)] == [
            "add(1, 2)", "names", 'names.contains("pear")', "later(4)", "size()", 'load("x")', 'load("y")',
        ]  # fmt: skip
        assert lines[0].code.splitlines() == ["start();", "IOException error = null;", 'log.info("done");']
        assert checked(lines[1])[-1] == "cart.load(7)"
        assert [step.panics for step in lines[1].steps if step.checked][-3:] == [True, True, True]
        assert "Cart cart = open();" in lines[1].code

    def test_a_line_begins_with_the_fields_and_what_runs_before_each_test(self) -> None:
        members = """
            @TempDir Path folder;
            private static final String NAME = "pear";
            private Cart cart;
            private int unused = 1;
            @BeforeEach void begin() { this.cart = new Cart(NAME); cart.open(); }
            @Nested class Full {
              private final Cart full = new Cart("plum");
              @Test void total() { assertEquals(full.total(), cart.total()); }
            }
        """
        [line] = java(members, "Full.total")
        assert line.code.splitlines() == [
            'String NAME = "pear";', "Cart cart = new Cart(NAME);", "cart.open();", 'Cart full = new Cart("plum");'
        ]  # fmt: skip
        assert line.test == "Full.total"

    def test_a_block_that_asserts_nothing_stays_in_its_place(self) -> None:
        members = """
            @Test void prints() {
              try (Printer printer = new Printer(out)) { printer.print("pear"); }
              assertEquals("PEAR", out.toString());
            }
        """
        [line] = java(members, "prints")
        assert line.code == 'try (Printer printer = new Printer(out)) { printer.print("pear"); }'

    def test_comments_of_a_test_are_left_out(self) -> None:
        members = """
            @Test void prints() {
              try (Printer printer = new Printer(out)) {
                // Is written in capitals.
                printer.print("pear // x"); // also here
              }
              assertEquals("PEAR", out.toString());
            }
        """
        [line] = java(members, "prints")
        assert line.code.splitlines() == [
            "try (Printer printer = new Printer(out)) {", '  printer.print("pear // x");', "}"
        ]  # fmt: skip

    def test_each_new_row_and_value_is_a_line(self) -> None:
        members = """
            @ParameterizedTest @ValueSource(strings = {"pear", "plum"}) void one(String name) { assertNull(f(name)); }
            @ParameterizedTest @CsvSource({"pear, 2"}) void two(String name, int size) { assertEquals(size, f(name)); }
            @ParameterizedTest @MethodSource("rows") void three(int size) { assertNull(f(size)); }
            static Stream<Arguments> rows() { return Stream.of(Arguments.of(3), Arguments.of(4)); }
            @Test void each() { for (String name : Arrays.asList("fig")) { assertNull(g(name)); } }
        """
        tests = ("one(String)[1]", "two(String, int)[1]", "three(int)[2]", "each")
        lines = java(members, *tests, base='"pear" Arguments.of(3)')
        assert [line.code.splitlines() for line in lines] == [
            ['String name = "plum";'], ['String name = "pear";', "int size = 2;"], ["int size = 4;"],
            ['String name = "fig";'],
        ]  # fmt: skip
        assert lines[0].test == "one(String)"

    def test_methods_that_assert_are_written_out(self) -> None:
        members = """
            private void check(String given, int size) { assertEquals(size, parse(given).size()); }
            @Test void parses() { check("a b", 2); }
            @Test(expected = IOException.class) public void fails() { start(); load("x"); }
        """
        [line] = java(members, "parses")
        assert line.code.splitlines() == ['String given = "a b";', "int size = 2;"]
        assert checked(line) == ("size", "parse(given).size()")
        [line] = java(members, "fails")
        assert (line.code, checked(line), line.steps[-1].panics) == ("start();", ('load("x")',), True)

    def test_an_earlier_check_that_changes_a_value_becomes_a_statement(self) -> None:
        members = '@Test void a() { Basket all = open("x"); assertEquals(1, all.next()); assertEquals(2, all.next()); }'
        [line] = java(members, "a")
        found = slices(JAVA, line, len(line.steps) - 1, "all.next()")
        assert [each.code.splitlines()[1:] for each in found] == [[], ["all.next();"]]

    def test_a_compilers_message_names_the_probes(self) -> None:
        [line] = java("@Test void a() { assertNull(f(1)); }", "a")
        source = "import org.junit.Test;\npublic class ATest extends TestCase {\n  @Test public void testA() { }\n}\n"
        files = JAVA.files("src/test/java/ATest.java", source, {"4": line, "15": line})
        text = files["src/test/java/ATest.java"]
        assert "@org.junit.Test public void testCodegateProbe4()" in text
        assert not any(text.count(gone) for gone in ("@Test", " testA("))
        at = text[: text.index("testCodegateProbe15")].count("\n") + 5
        message = f"[ERROR] /workspace/src/test/java/ATest.java:[{at},9] cannot find symbol"
        assert JAVA.rejected_probes("src/test/java/ATest.java", text, message) == {"15"}


class TestRust:
    def test_each_way_of_asserting_gives_what_it_checks(self) -> None:
        source = """
            #[test]
            fn adds() -> Result<(), Error> {
                let cart = Cart::open("x")?;
                assert_eq!(cart.add(1, 2), 3, "a sum of {}", 3);
                assert!(cart.names().contains(&"pear"));
                assert!(matches!(cart.last()?, Some(_)));
                assert_ne!(Some(4), cart.size);
                match cart.load() { Ok(_) => panic!(), Err(error) => assert_eq!(error.code, 5) }
                println!("done");
                Ok(())
            }
        """
        [line] = rust(source, "adds")
        assert line.code == 'let cart = Cart::open("x").unwrap();'
        assert checked(line) == (
            "cart.add(1, 2)", "cart.names()", 'cart.names().contains(&"pear")', "cart.last().unwrap()", "cart.size",
            "cart.load()",
        )  # fmt: skip

    def test_constants_come_first_and_what_asserts_of_itself_is_checked_whole(self) -> None:
        source = """
            const NAMES: &[&str] = &["pear"];
            static UNUSED: u8 = 1;
            #[test]
            fn finds() {
                let shop = Shop::with(NAMES);
                #[cfg(unix)]
                shop.assert_output(&["plum"], "");
                shop.command().arg("fig").assert().success().stdout("figs");
            }
        """
        [line] = rust(source, "finds")
        assert line.code.splitlines() == ['const NAMES: &[&str] = &["pear"];', "let shop = Shop::with(NAMES);"]
        whole = 'shop.assert_output(&["plum"], "")'
        assert checked(line) == (whole, 'shop.command().arg("fig").output().unwrap()')
        shown = RUST.render_example("tests/a.rs", "", (), whole, ("x", "no plum"), ("v", "()"))
        assert (shown.observed, shown.expected) == ("panics: no plum", "no panic")
        assert Example(*shown).poor

    def test_values_of_loops_and_functions_that_assert_are_written_out(self) -> None:
        source = """
            fn check(given: &str, size: usize) { assert_eq!(parse(given).len(), size); }
            mod inner {
                #[test]
                fn parses() {
                    check("a b", 2);
                    for (given, size) in [("c", 1)].iter() { assert_eq!(parse(given), *size); }
                }
            }
            #[test]
            #[should_panic]
            fn panics() { assert_eq!(parse("x"), 1); }
        """
        lines = rust(source, "inner::parses", "panics")
        assert [line.code.splitlines() for line in lines] == [
            ['let given: &str = "a b";', "let size: usize = 2;"], ['let (given, size) = &("c", 1);']
        ]  # fmt: skip
        assert {(line.test, line.frame) for line in lines} == {("parses", "inner")}

    def test_only_the_first_place_of_an_error_is_what_fails(self) -> None:
        [line] = rust("mod m {\n    #[test]\n    fn a() { assert_eq!(f(1), 2); }\n}\n", "m::a")
        text = RUST.files("tests/a.rs", "mod m {\n    #[test]\n    fn a() {}\n}\n", {"4": line, "15": line})[
            "tests/a.rs"
        ]
        assert text.count("#[test]") == 2
        first, second = (text[: text.index(f"fn codegate_probe_{name}(")].count("\n") + 3 for name in (4, 15))
        message = (
            f"warning: unused\n  --> tests/a.rs:{first}:1\n\nerror[E0425]: cannot find\n  --> tests/a.rs:{second}:5\n"
            f"note: here\n  --> tests/a.rs:{first}:1\n"
        )
        assert RUST.rejected_probes("tests/a.rs", text, message) == {"15"}
        assert RUST.probe_name("15", line) == "m::codegate_probe_15"


_WARM = f"""\
mkdir -p warm/src/test/java && cd warm && cat >pom.xml <<'end'
{POM}end
echo 'class ATest {{ @org.junit.jupiter.api.Test void a() {{ }} }}' >src/test/java/ATest.java
mvn -B -ntp -q test -Dtest=ATest -DfailIfNoTests=false && cd .. && rm -r warm"""


@pytest.mark.bwrap
@pytest.mark.full
@pytest.mark.timeout(1800)
class TestReal:
    CART = (
        "package org.shop;\n\nimport java.util.List;\n\npublic class Cart {\n"
        "  public static String join(List<String> names) {\n    return String.join(WITH, names);\n  }\n\n"
        "  public static int size(String text) {\n    THROW\n    return text.length();\n  }\n}\n"
    )
    WRONG = CART.replace("WITH", '"+"').replace("THROW", "")
    RIGHT = CART.replace("WITH", '" und "').replace(
        "THROW", 'if (text.length() > 6) throw new IllegalArgumentException("too long");'
    )
    TESTS = (
        "package org.shop;\n\nimport static org.junit.jupiter.api.Assertions.*;\n\nimport java.util.List;\n"
        'import org.junit.jupiter.api.Test;\n\nclass CartTest {\n  private static final String FIRST = "quince";\n\n'
        '  @Test\n  void joins() {\n    String all = Cart.join(List.of(FIRST, "pears"));\n'
        '    assertEquals("quince und pears", all);\n  }\n\n'
        "  @Test\n  void tooLong() {\n"
        '    assertThrows(IllegalArgumentException.class, () -> Cart.size("quinces"));\n  }\n}\n'
    )

    def test_a_call_of_java_is_shown_with_other_values(self, bwrap_backend: BubblewrapBackend) -> None:
        if shutil.which("mvn") is None:
            pytest.skip("this machine has no Maven")
        environment = recorded("maven", _WARM)
        sandboxes = sandboxes_of(bwrap_backend, environment)
        source, test = "src/main/java/org/shop/Cart.java", "src/test/java/org/shop/CartTest.java"
        cut = cut_of({"pom.xml": POM, source: self.WRONG}, {source: self.RIGHT}, {test: self.TESTS})
        found = examples(cut, sandboxes, environment.manifest, "maven", f"{test}::joins", f"{test}::tooLong")
        sandboxes.close()
        joined, long = sorted(found, key=lambda each: each.expression, reverse=True)
        assert long.expression.startswith('Cart.size("')
        assert (long.observed, long.expected) == ("7", "throws IllegalArgumentException: too long")
        assert joined.code.splitlines()[-1].startswith("String all = Cart.join(List.of(")
        assert joined.expression == "all"
        assert ("+" in joined.observed, " und " in joined.expected) == (True, True)
        assert not any(word in f"{each.code}{each.expression}" for each in found for word in ("quince", "pears"))

    def test_a_call_of_rust_is_shown_with_other_values(self, bwrap_backend: BubblewrapBackend) -> None:
        if find_toolchain(Toolchain("rust", "")) is None:
            pytest.skip("this machine has no Rust")
        environment = recorded("cargo")
        sandboxes = sandboxes_of(bwrap_backend, environment)
        wrong = 'pub fn join(names: &[&str]) -> String {\n    names.join("+")\n}\n'
        tests = (
            'use cart::join;\n\n#[test]\nfn joins() {\n    let all = join(&["quince", "pears"]);\n'
            '    assert_eq!(all, "quince und pears");\n}\n\n'
            "#[test]\nfn bytes() {\n    let last: u8 = 255;\n"
            '    assert_eq!(join(&[&last.to_string()]), "255 und");\n}\n'
        )
        cut = cut_of(
            {**{name: str(text) for name, text in CRATE.items()}, "src/lib.rs": wrong},
            {"src/lib.rs": wrong.replace('"+"', '" und "')},
            {"tests/a.rs": tests},
        )
        [joined] = examples(cut, sandboxes, environment.manifest, "cargo", "tests/a.rs::joins", "tests/a.rs::bytes")
        sandboxes.close()
        assert joined.code.splitlines()[0] == "use cart::join;"
        assert joined.expression == "all"
        assert ("+" in joined.observed, " und " in joined.expected) == (True, True)
        assert not any(word in f"{joined.code}{joined.expected}" for word in ("quince", "pears"))
