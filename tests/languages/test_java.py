"""Which of Java's tests have controls, what their assertions could expect instead, and which names a file declares."""

from codegate.languages import read
from codegate.languages.controls import EditableTest
from codegate.languages.searching import find
from codegate.suite import TreeFile
from tests.languages.kit import changes, units_of

TEXT = """import static org.junit.jupiter.api.Assertions.*;
class CartTest {
  @DisplayName("adds") @Test(timeout = 1000)
  void total() throws Exception {
    assertEquals(List.of("pear", "plum\\n"), cart.names(3L));
    assertTrue(cart.size() == 1.5); Assertions.assertNull(cart.first('a', true));
    assertThrows(IOException.class, () -> cart.load());
    IOException error = assertThrows(IOException.class, () -> cart.load());
    assertThat(cart.name()).contains("pear tree").isEqualTo("plum");
    try { cart.load(7); } catch (IOException e) { fail("no pear"); }
    switch (cart.size()) { case 8: cart.load(9); }
  }
  @Nested class Empty {
    @ParameterizedTest @CsvSource({"pear, 2", "plum, 4"}) @Timeout(5)
    void row(String name, int size) { assertEquals(size, cart.of(name)); }
    @ParameterizedTest @MethodSource("rows") void other(int size) { assertEquals(size, cart.size()); }
  }
  void helper() { assertEquals(7, 7); }
}
class OldTest extends TestCase { public void testIt() { assertTrue(cart.isEmpty()); } }
"""


def units(text: str = TEXT) -> dict[str, EditableTest]:
    return units_of("src/test/java/CartTest.java", text, "maven")


def test_tests_are_methods_by_their_annotations_or_by_their_class() -> None:
    assert list(units()) == ["total", "Empty.row", "Empty.other", "testIt"]
    assert not any(unit.marks or unit.alone for unit in units().values())
    assert all(one["alone"] for one in find("CartTest.java", TEXT, "gradle")), "its status tells nothing beside copies"


def test_literals_are_flipped_but_not_what_annotations_or_labels_have() -> None:
    found = changes(units()["total"], TEXT)
    assert set(found) == {'"pear"', '"plum\\n"', "3L", "1.5", "'a'", "true", '"pear tree"', '"plum"', "9"}
    assert found["3L"][:2] == ("0L", "1L")
    assert {one[:9] for one in found['"pear tree"']} == {'"pear tre'}, "another word of the file may be in it, too"
    rows = units()["Empty.row"].sites
    assert {TEXT.encode()[site.start : site.end].decode() for site in rows if site.row} == {'"pear, 2"', '"plum, 4"'}
    assert not changes(units()["Empty.other"], TEXT), "the name of what gives the rows"


def test_what_is_asserted_of_something_is_a_weak_flip() -> None:
    found = changes(units()["total"], TEXT, strong=False)
    assert found["=="] == ("!=",)
    assert found["assertTrue"] == ("org.junit.jupiter.api.Assertions.assertFalse",)
    assert found["IOException.class"] == ("java.util.zip.DataFormatException.class",)
    old = TEXT.replace("org.junit.jupiter.api.Assertions", "org.junit.Assert")
    assert changes(units(old)["testIt"], old, strong=False)["assertTrue"] == ("org.junit.Assert.assertFalse",)


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
