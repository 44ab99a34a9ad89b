"""Read pytest's configuration from a tree; broken files configure nothing."""

import configparser
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from codegate.suite import Tree

_MAX_BYTES: Final = 1 << 20


def read_settings(tree: Tree) -> Mapping[str, Any]:
    """Return pytest's ini options, from the first file that has them in pytest's own order of precedence."""
    for name in ("pytest.toml", ".pytest.toml"):
        if name in tree:
            return _table(_toml(tree, name), "pytest")
    for name in ("pytest.ini", ".pytest.ini"):
        if name in tree:
            return _section(tree, name, "pytest")
    tables = _table(_table(_toml(tree, "pyproject.toml"), "tool"), "pytest")
    found = (
        _table(tables, "ini_options") or tables,
        _section(tree, "tox.ini", "pytest"),
        _section(tree, "setup.cfg", "tool:pytest"),
    )
    return next((settings for settings in found if settings), {})


def words(value: object) -> list[str]:
    """Return the words of an option that is a list, or a text with blanks between them."""
    if isinstance(value, str):
        return value.split()
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def _text(tree: Tree, name: str) -> str:
    file = tree.get(name)
    if file is None or file.is_link or len(file.data) > _MAX_BYTES:
        return ""
    return file.data.decode("utf-8", "replace")


def _toml(tree: Tree, name: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(_text(tree, name))
    except (ValueError, RecursionError):
        return {}


def _table(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _section(tree: Tree, name: str, section: str) -> Mapping[str, Any]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(_text(tree, name))
        return dict(parser.items(section)) if parser.has_section(section) else {}
    except (configparser.Error, AttributeError):  # AttributeError: a known flaw of configparser on broken lines
        return {}
