"""Pins are read from every kind of lock file, and what no index has pins nothing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from codegate.mining.environments.lockfiles import read_pins
from codegate.suite import Tree, TreeFile

UV = """
version = 1
[[package]]
name = "own"
source = { editable = "." }
[[package]]
name = "Six_X"
version = "1.16.0"
source = { registry = "https://pypi.org/simple" }
[[package]]
name = "forked"
version = "1.0"
source = { registry = "https://pypi.org/simple" }
[[package]]
name = "forked"
version = "2.0"
source = { registry = "https://pypi.org/simple" }
[[package]]
name = "elsewhere"
version = "1.0"
source = { git = "https://example.org/x?rev=1" }
"""
POETRY = """
[[package]]
name = "six"
version = "1.16.0"
[[package]]
name = "second"
version = "1"
[package.source]
type = "legacy"
url = "https://example.org/simple"
[[package]]
name = "elsewhere"
version = "1.0"
[package.source]
type = "git"
url = "https://example.org/x"
"""
PDM = '[[package]]\nname = "six"\nversion = "1.16.0"\n[[package]]\nname = "a"\nversion = "1"\npath = "./a"\n'
PYLOCK = (
    '[[packages]]\nname = "six"\nversion = "1.16.0"\n[[packages]]\nname = "a"\nversion = "1"\n[packages.vcs]\nx = 1\n'
)
PIPFILE = json.dumps(
    {
        "default": {"six": {"version": "==1.16.0"}, "git": {"git": "x", "ref": "y"}},
        "develop": {"mock": {"version": "==5.0"}},
    }
)
HASHED = "six==1.16.0 \\\n    --hash=sha256:00\nmock==5.0 ; python_version > '3'  # why\n"


def _pins(files: dict[str, str], own: str = "own") -> tuple[str, ...]:
    return read_pins(Tree({name: TreeFile(text.encode("utf-8", "surrogatepass")) for name, text in files.items()}), own)


@pytest.mark.parametrize(
    ("files", "pins"),
    [
        ({"uv.lock": UV}, ("six-x==1.16.0",)),
        ({"poetry.lock": POETRY}, ("second==1", "six==1.16.0")),
        ({"pdm.lock": PDM}, ("six==1.16.0",)),
        ({"pylock.toml": PYLOCK}, ("six==1.16.0",)),
        ({"Pipfile.lock": PIPFILE}, ("mock==5.0", "six==1.16.0")),
        ({"requirements.txt": HASHED}, ("mock==5.0", "six==1.16.0")),
        ({"requirements.txt": "six==1.16.0\nmock>=5\n", "requirements/test.txt": "attrs==23.1\n"}, ("attrs==23.1",)),
        ({"requirements.txt": "six==1.*\n"}, ()),
        ({"requirements.txt": "six==1.0\n", "requirements/dev.txt": "six==2.0\nown==1\n"}, ()),
        ({"uv.lock": "broken [", "poetry.lock": POETRY}, ("second==1", "six==1.16.0")),
        ({"uv.lock": 'package = [1, {name = 1}, {name = "a b", version = "1"}, {name = "a", version = "x y"}]\n'}, ()),
        ({"Pipfile.lock": "[]"}, ()),
        ({}, ()),
    ],
)
def test_every_kind_of_lock(files: dict[str, str], pins: tuple[str, ...]) -> None:
    assert _pins(files) == pins


@given(st.text(max_size=200), st.sampled_from(["uv.lock", "Pipfile.lock", "requirements.txt"]), st.text(max_size=30))
def test_whatever_a_lock_holds_only_plain_pins_come_out(text: str, name: str, odd: str) -> None:
    table = f"[[package]]\nname = {json.dumps(odd)}\nversion = {json.dumps(text)}\n"
    for content in (text, table, json.dumps({"default": {odd: {"version": f"=={text}"}}})):
        for pin in _pins({name: content}):
            assert "\n" not in pin
            assert Requirement(pin).url is None
