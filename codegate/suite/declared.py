"""Read a repository's configuration files, which are untrusted.

The files are never executed, and larger ones than a limit are not read. A broken file counts as an empty one.
"""

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any, Final

from codegate.errors import UsageError
from codegate.suite.reader import parse_yaml
from codegate.suite.tree import Tree

MAX_FILE_BYTES: Final = 1 << 20
MAX_LOCK_BYTES: Final = 8 << 20
# Strings match too, so that nothing inside of one is taken for a comment.
_COMMENTS: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


def read_tree_text(tree: Tree, path: str, most: int = MAX_FILE_BYTES) -> str:
    """Return a file's text, or "".

    The text is empty if the file is absent, a link, or longer than ``most`` bytes.
    """
    file = tree.get(path)
    if file is None or file.is_link or len(file.data) > most:
        return ""
    return file.text


def read_toml(tree: Tree, path: str) -> dict[str, Any]:
    """Return a TOML file's tables, {} if it is unusable."""
    return _parsed(tomllib.loads, read_tree_text(tree, path))


def read_tree_json(tree: Tree, path: str, most: int = MAX_FILE_BYTES) -> dict[str, Any]:
    """Return a JSON file's object, {} if it is unusable.

    A file of more than ``most`` bytes is unusable.
    """
    return _parsed(json.loads, read_tree_text(tree, path, most).removeprefix("\ufeff"))


def read_json_with_comments(tree: Tree, path: str) -> dict[str, Any]:
    """Return the object in JSON with comments and trailing commas.

    Return {} if the file is unusable.
    """
    return _parsed(json.loads, _COMMENTS.sub(lambda match: match[1] or "", read_tree_text(tree, path)))


def read_plain_yaml(tree: Tree, path: str) -> dict[str, Any]:
    """Return the mapping of another project's YAML file.

    The file is read as YAML 1.2 and may have aliases, which our own files may not. A file that cannot be read gives {}.
    """
    return _parsed(lambda text: parse_yaml(text, path, core=True), read_tree_text(tree, path))


def read_ini(tree: Tree, path: str) -> dict[str, dict[str, str]]:
    """Return an ini file's sections, {} if it is unusable."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(read_tree_text(tree, path))
        return {section: dict(parser.items(section)) for section in parser.sections()}
    except (configparser.Error, AttributeError):  # AttributeError: a known flaw of configparser on broken lines
        return {}


def _parsed(parse: Callable[[str], object], text: str) -> dict[str, Any]:
    try:
        return mapping(parse(text))
    except (ValueError, RecursionError, UsageError):
        return {}


def value_at(value: object, *keys: str) -> object:
    """Return the value at ``keys`` in nested tables, or None."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def mapping(value: object) -> dict[str, Any]:
    """Return a mapping's entries with text keys; otherwise {}."""
    return {key: item for key, item in value.items() if isinstance(key, str)} if isinstance(value, dict) else {}


def strings(value: object) -> list[str]:
    """Return a list's strings, or a text's lines; otherwise []."""
    if isinstance(value, str):
        return lines(value)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []


def nested_strings(data: object) -> Iterator[str]:
    """Yield the strings in nested lists and mappings, without keys."""
    if isinstance(data, str):
        yield data
    for part in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from nested_strings(part)


def lines(text: str) -> list[str]:
    """Return the non-empty lines of ``text`` without ``#`` comments, stripped."""
    stripped = (re.sub(r"(^|\s)#.*$", "", line).strip() for line in text.splitlines())
    return [line for line in stripped if line]


def first_text(*values: object) -> str:
    """Return the first non-blank text of ``values``, stripped; else ""."""
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")
