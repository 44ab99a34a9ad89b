"""Java's folder: which files are tests, and what assertions could expect instead."""

from collections.abc import Mapping

import pytest

from codegate.languages import PathClass, PathClassifier, read
from codegate.languages.searching import find
from codegate.suite import Tree, TreeFile


def tree(files: Mapping[str, str]) -> Tree:
    return Tree({path: TreeFile(text.encode()) for path, text in files.items()})


# Files


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/main/java/org/shop/Cart.java", "source"), ("src/main/java/org/shop/TestBench.java", "source"),
        ("core/src/test/java/org/shop/CartTest.java", "test"), ("src/test/java/org/shop/Helper.java", "test_support"),
        ("src/test/resources/cart.json", "test_support"), ("core/pom.xml", "dependencies"),
        ("build.gradle.kts", "dependencies"), (".mvn/jvm.config", "configuration"), ("README.md", "docs"),
        ("target/generated-sources/Cart.java", "generated"), ("a/target/test-classes/CartTest.class", "generated"),
        ("src/main/resources/junit-platform.properties", "configuration"),
    ],
)  # fmt: skip
def test_a_file_is_what_mavens_layout_makes_it(path: str, kind: PathClass) -> None:
    text = "class CartTest {\n  @Test void total() {}\n}\n" if "CartTest" in path else "class Any {}\n"
    room = PathClassifier.of(tree({path: text}))
    assert room.classify(path) == kind
    assert room.is_test_module(path) == (kind == "test")


# Syntax

JUPITER = "import static org.junit.jupiter.api.Assertions.*;\nclass CartTest {{\n  @Test void total() {{ {} }}\n}}\n"
VINTAGE = "import static org.junit.Assert.*;\npublic class CartTest {{\n  @Test public void total() {{ {} }}\n}}\n"


@pytest.mark.parametrize(
    ("frame", "text", "changed"),
    [
        (JUPITER, "assertEquals(7, cart.total());", "assertEquals(8, cart.total());"),
        (JUPITER, "assertEquals(7L, cart.total());", "assertEquals(8L, cart.total());"),
        (JUPITER, 'assertEquals(List.of("pear"), cart.names());', 'assertEquals(List.of("Pear"), cart.names());'),
        (JUPITER, "assertTrue(cart.isEmpty());", "org.junit.jupiter.api.Assertions.assertFalse(cart.isEmpty());"),
        (VINTAGE, "Assert.assertNull(cart.first());", "Assert.assertNotNull(cart.first());"),
        (VINTAGE, 'assertEquals("the total", 7, cart.total());', 'assertEquals("the total", 8, cart.total());'),
        (JUPITER, "assertThrows(IOException.class, () -> cart.load());",
         "assertThrows(java.util.zip.DataFormatException.class, () -> cart.load());"),
        (JUPITER, "assertThat(cart.total()).isEqualTo(7);", "assertThat(cart.total()).isEqualTo(8);"),
        (JUPITER, "assertThat(cart.names()).isEmpty();", "assertThat(cart.names()).isNotEmpty();"),
        (JUPITER, "assertThat(cart.total(), is(equalTo(7)));", "assertThat(cart.total(), is(equalTo(8)));"),
        (JUPITER, "assertEquals('a', cart.letter());", "assertEquals('b', cart.letter());"),
    ],
)  # fmt: skip
def test_an_assertion_can_expect_something_else(frame: str, text: str, changed: str) -> None:
    source = frame.format(text)
    mutants = set()
    for site in find("src/test/java/CartTest.java", source, "maven"):
        assert site["test"] == "total"
        ((start, end, _),) = site["edits"]
        data = source.encode()
        mutants |= {(data[:start] + choice.encode() + data[end:]).decode() for choice in site["choices"]}
    assert frame.format(changed) in mutants


@pytest.mark.parametrize(
    "text",
    [
        "class CartTest { void helper() { assertEquals(7, 7); } }",
        'class CartTest { @Test void total() { assertEquals(wanted(), cart.total(), "a message"); assertNever(1); } }',
    ],
)
def test_what_no_test_asserts_is_left_alone(text: str) -> None:
    assert not [site for site in find("CartTest.java", text, "maven") if "7" in str(site["choices"])]


def test_tests_of_nested_classes_and_of_junit_3_are_known_by_their_names() -> None:
    text = (
        "class CartTest extends TestCase {\n  public void testTotal() { assertEquals(1, 2); }\n"
        "  @Nested class Empty { @ParameterizedTest void zero(int n) { assertEquals(0, n); } }\n}\n"
    )
    assert {site["test"] for site in find("CartTest.java", text, "maven")} == {"testTotal", "Empty.zero"}


def test_declarations_and_uses_are_read() -> None:
    text = (
        "package org.shop;\npublic class Cart<T> {\n  private int total = 0, count;\n  // a comment\n"
        '  public int add(String name, int price) { return parser.read(name).size("x y"); }\n  enum Kind { BIG }\n}\n'
    )
    source = read("Cart.java", TreeFile(text.encode()))
    assert source is not None
    found = {each.qualified: (each.signature, each.public) for each in source.declarations()}
    assert found == {
        "Cart": ("public class Cart<T>", True), "Cart.total": ("int total", False), "Cart.count": ("int count", False),
        "Cart.add": ("public int add(String name, int price)", True), "Cart.Kind": ("enum Kind", True),
        "Cart.Kind.BIG": ("BIG", True),
    }  # fmt: skip
    assert {"read", "size"} <= source.uses().called & source.uses().members
    assert "x y" in source.uses().texts
