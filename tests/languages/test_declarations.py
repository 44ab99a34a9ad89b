import pytest

from codegate.languages import added_lines, read
from codegate.suite import TreeFile

PYTHON = """\
LIMIT, _low = 3, 4
@decorator
class Sum(Base):
    size: int = 1
    def __init__(self, items, /, *rest, start=secret()): self.items = other.name = items
    def _add(self): hidden = 1
if LIMIT:
    async def total(**options): pass
"""
JAVASCRIPT = """\
const local = 1
export const mean = async (a) => { const inner = 1 }, { one, two: three } = rest
export default class Sum extends Base { #held = 1; static of(items) {} }
module.exports = { local, ...rest, 'a-b': 1, [computed]: 2 }
"""
TYPESCRIPT = (
    "export declare function mean(a: string): void\nexport interface Sum { total(a: number): void; size?: string }\n"
)
GO = """\
package sums
type ( Sum[T any] struct { Items, held []T }; adder interface { Add(a int) error } )
func (s *Sum[T]) Total(of int) (T, error) { inner := 1 }
const Most, least = 1, 2
"""
RUST = """\
pub struct Sum<T: Copy> { pub items: Vec<T>, held: u8 }
impl<T: Copy> Sum<T> { pub const MOST: u32 = 1; pub fn of(items: &[T]) -> Self { fn inner() {} } fn held(&self) {} }
impl<T: Copy> Total for Sum<T> { fn total(&self) -> T { todo!() } }
pub enum Kind { Small, Large(u8) }
mod parts { pub fn deep() {} }
#[cfg(test)]
mod tests { fn helper() {} }
#[test]
fn works() {}
"""


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("a.py", PYTHON, [
            "LIMIT value", "_low value private", "Sum type", "Sum.size field", "Sum.__init__ function",
            "Sum.items attribute", "name attribute bare", "Sum._add function private", "total function",
        ]),
        ("a.js", JAVASCRIPT, [
            "Sum.#held field private bare", "Sum.of function bare", "mean function", "one value", "three value",
            "Sum type", "local value",
        ]),
        ("a.ts", TYPESCRIPT, ["Sum.total function bare", "Sum.size field bare", "mean function", "Sum type"]),
        ("a.go", GO, [
            "Sum type", "Sum.Items field bare", "Sum.held field private bare", "adder type private",
            "adder.Add function private bare", "Sum.Total function", "Most value", "least value private",
        ]),
        ("a.rs", RUST, [
            "Sum type", "Sum.items field", "Sum.held field private", "Sum.MOST value", "Sum.of function",
            "Sum.held function private", "Sum.total function", "Kind type", "Kind.Small value", "Kind.Large value",
            "deep function",
        ]),
    ],
)  # fmt: skip
def test_what_others_can_use_is_declared_and_what_is_local_is_not(path: str, source: str, expected: list[str]) -> None:
    file = read(path, TreeFile(source.encode()))
    assert file is not None
    found = [
        f"{each.qualified} {each.kind}{'' if each.public else ' private'}{' bare' if each.bare else ''}"
        for each in file.declarations() if each.kind != "key"
    ]  # fmt: skip
    assert found == expected


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", "old\nfrom lib import member\nthing.asked('said', key=word)  # remark\n"),
        ("a.js", "old\nconst { member } = lib\nthing.asked({ key: word }, 'said') // remark\n"),
        ("a.go", 'old\nvar x = lib.member\nvar y = thing.asked(T{key: word}, "said") // remark\n'),
        ("a.rs", 'old\nlet x = lib::member;\nlet y = thing.asked(T { key: word }, "said"); // remark\n'),
    ],
)
def test_names_are_told_apart_by_their_use_in_the_lines_that_were_added(path: str, source: str) -> None:
    new = TreeFile(source.encode())
    file = read(path, new)
    assert file is not None
    uses = file.uses(added_lines(new, TreeFile(b"  old")))
    assert {"thing", "asked", "member", "word"} <= uses.words
    assert not {"old", "key", "said", "remark"} & uses.words
    assert {"member", "asked"} <= uses.members
    assert (uses.keywords, uses.called, uses.texts) == ({"key"}, {"asked"}, {"said"})


@pytest.mark.parametrize(
    ("path", "data"), [("a.rb", b"x"), ("a.py", b"x\0"), ("a.py", b"x" * (1 << 20)), ("a.py", None)]
)
def test_what_no_grammar_reads_has_no_syntax(path: str, data: bytes | None) -> None:
    assert read(path, TreeFile(data) if data is not None else None) is None


def test_a_signature_has_no_comments_of_the_source() -> None:
    file = read("A.java", TreeFile(b"class A { int total(int a, /* why */ int b) { return a; } }"))
    assert file is not None
    assert [each.signature for each in file.declarations() if each.name == "total"] == ["int total(int a, int b)"]
