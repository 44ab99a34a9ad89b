import pytest

from codegate.languages.syntax import decode


@pytest.mark.parametrize("name", ["rot13", "hex", "zlib", "idna", "undefined", "unicode_escape", "no-such-encoding"])
def test_a_declared_encoding_that_cannot_be_used_is_taken_for_utf_8(name: str) -> None:
    source = f"# coding: {name}\nx = 'ü'\n".encode() + b"\xff" * 70 + b".\\x\n"
    assert decode(source).startswith(f"# coding: {name}\n")


def test_a_declared_encoding_is_used() -> None:
    assert decode("# coding: latin-1\nx = 'ü'\n".encode("latin-1")).endswith("'ü'\n")
