"""Java's folder: which files are tests, which jars poms ask for, and what assertions could expect instead."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from codegate.durable import sha256
from codegate.errors import InfrastructureError, UsageError
from codegate.languages import PathClass, PathClassifier, read
from codegate.languages.java.environments import module_of_tests
from codegate.languages.java.packages import lock_text, read_lock
from codegate.languages.java.poms import libraries
from codegate.languages.java.repository import ADDRESS, fetch, read_artifact
from codegate.languages.searching import find
from codegate.suite import Tree, TreeFile
from tests.kit.http import Reply, Request, Server


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


def test_the_module_is_the_one_that_the_tests_are_in() -> None:
    fixed = tree({"a/src/test/java/ATest.java": "", "b/src/test/java/BTest.java": "", "b/src/test/java/CTest.java": ""})
    assert module_of_tests(Tree(), fixed) == "b"
    assert module_of_tests(fixed, fixed) is None


# Poms

POM = "<project><modelVersion>4.0.0</modelVersion>{}</project>"


def entry(name: str, version: str = "", more: str = "") -> str:
    given = f"<version>{version}</version>" if version else ""
    return f"<dependency><groupId>org.x</groupId><artifactId>{name}</artifactId>{given}{more}</dependency>"


def listed(*entries: str) -> str:
    return f"<dependencies>{''.join(entries)}</dependencies>"


def named(name: str, version: str, more: str = "") -> str:
    return POM.format(f"<groupId>org.x</groupId><artifactId>{name}</artifactId><version>{version}</version>{more}")


POMS = {
    ("a", "1"): named("a", "1", listed(entry("b", "1"), entry("c", "1"), entry("d", "1", "<scope>test</scope>"))),
    ("b", "1"): named("b", "1", listed(entry("c", "2"), entry("e", "1", "<optional>true</optional>"))),
    ("b", "9"): named("b", "9"),
    ("c", "1"): named("c", "1"),
    ("bom", "3"): named("bom", "3", f"<dependencyManagement>{listed(entry('b', '9'))}</dependencyManagement>"),
    ("parent", "5"): named(
        "parent", "5", "<properties><c>1</c></properties>"
        f"<dependencyManagement>{listed(entry('c', '${c}', '<scope>test</scope>'))}</dependencyManagement>",
    ),
}  # fmt: skip


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    asked: list[str] = []

    def respond(request: Request) -> Reply:
        asked.append(request.path)
        *_, name, version, file = request.path.split("/")
        found = POMS.get((name, version)) if file.endswith(".pom") else f"jar of {name}" if name != "gone" else None
        return Reply(b"", 404) if found is None else Reply(found.encode())

    server = Server(respond)
    monkeypatch.setenv(ADDRESS, server.url)
    monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path / "cache"))
    yield asked
    server.close()


@pytest.mark.parametrize(
    ("pom", "wanted"),
    [
        (listed(entry("a", "1")), "a:1 b:1 c:1"),
        (listed(entry("a", "1"), entry("c", "7")), "a:1 c:7 b:1"),
        (listed(entry("a", "1", "<exclusions><exclusion><groupId>org.x</groupId><artifactId>b</artifactId></exclusion>"
                                "</exclusions>")), "a:1 c:1"),
        ("<properties><v>1</v></properties>" + listed(entry("a", "${v}")), "a:1 b:1 c:1"),
        ("<parent><groupId>org.x</groupId><artifactId>parent</artifactId><version>5</version></parent>"
         + listed(entry("c")), "c:1"),
        (f"<dependencyManagement>{listed(entry('bom', '3', '<type>pom</type><scope>import</scope>'))}"
         f"</dependencyManagement>{listed(entry('a', '1'))}", "a:1 b:9 c:1"),
        (listed(entry("a", "1").replace("org.x", "org.junit.jupiter")), ""),
        (listed(entry("a", "${unknown}"), entry("c", "[1]")), "c:1"),
    ],
    ids=["transitive", "nearest", "excluded", "property", "parent", "imported", "framework", "unknown"],
)  # fmt: skip
def test_the_jars_are_those_that_maven_would_give_to_tests(repository: list[str], pom: str, wanted: str) -> None:
    found = libraries(tree({"pom.xml": POM.format(f"<artifactId>own</artifactId>{pom}")}), "")
    assert " ".join(f"{one.name}:{one.version}" for one in found) == wanted


def test_a_module_of_the_tree_is_no_jar_and_hands_on_its_own(repository: list[str]) -> None:
    files = {
        "pom.xml": named("own", "1"),
        "core/pom.xml": named("core", "1", listed(entry("c", "1"))),
        "app/pom.xml": named("app", "1", listed(entry("core", "${project.version}"))),
    }
    assert [one.name for one in libraries(tree(files), "app")] == ["c"]


@pytest.mark.parametrize("text", ["<project", '<!DOCTYPE x [<!ENTITY a "b">]><project>&a;</project>', "\xff"])
def test_an_odd_pom_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        libraries(tree({"pom.xml": text}), "")


def test_a_lock_pins_what_the_repository_has(repository: list[str]) -> None:
    there, gone = read_artifact("org.x:a:1"), read_artifact("org.x:gone:1")
    text = lock_text([gone, there])
    assert text == f"org.x:a:1 {sha256(b'jar of a')}\n"
    assert read_lock(text) == [(there, sha256(b"jar of a"))]
    assert fetch(there, "jar") == b"jar of a"
    assert repository.count("/org/x/a/1/a-1.jar") == 1  # the second time, it is from the cache


@pytest.mark.parametrize("line", ["org.x:a:1", f"org.x:a:../1 {'0' * 64}", f"org.x:a {'0' * 64}", f"/a:b:c {'0' * 64}"])
def test_a_lock_has_nothing_but_pinned_artifacts(line: str) -> None:
    with pytest.raises(UsageError):
        read_lock(f"{line}\n")


def test_a_repository_that_cannot_be_reached_is_no_fault_of_the_project(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(ADDRESS, "http://127.0.0.1:9")
    monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path))
    with pytest.raises(InfrastructureError, match=r"org\.x:a:1 cannot be fetched"):
        fetch(read_artifact("org.x:a:1"), "pom")


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
    for site in find("src/test/java/CartTest.java", source, "java"):
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
    assert not [site for site in find("CartTest.java", text, "java") if "7" in str(site["choices"])]


def test_tests_of_nested_classes_and_of_junit_3_are_known_by_their_names() -> None:
    text = (
        "class CartTest extends TestCase {\n  public void testTotal() { assertEquals(1, 2); }\n"
        "  @Nested class Empty { @ParameterizedTest void zero(int n) { assertEquals(0, n); } }\n}\n"
    )
    assert {site["test"] for site in find("CartTest.java", text, "java")} == {"testTotal", "Empty.zero"}


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
