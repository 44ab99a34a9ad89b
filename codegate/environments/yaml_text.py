"""Write a proposed recipe as YAML, with sources as comments."""

import json
import re
from collections.abc import Sequence
from typing import Final

from codegate.environments.find import FoundRecipe
from codegate.strict import shown

_PLAIN: Final = re.compile(r"[A-Za-z./][\w ./=+@,-]*")
_MEANING: Final = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~", ".", "..", "-"}


def recipe_yaml(found: FoundRecipe) -> str:
    """Return a recipe as YAML, each part's source as comment."""
    given = found.recipe.model_dump(mode="json", exclude_defaults=True)
    lines = ["environment:"]
    for key, value in given.items():
        if isinstance(value, dict):
            entries = [(f"    {name}: ", item, found.sources.get(f"{key}.{name}", "")) for name, item in value.items()]
            lines += _entries(key, entries)
        elif key == "setup":
            entries = [("    - ", item, found.sources.get(f"setup.{index}", "")) for index, item in enumerate(value)]
            lines += _entries(key, entries)
        elif isinstance(value, list):
            lines.append(_comment(f"  {key}: [{', '.join(map(_scalar, value))}]", found.sources.get(key, "")))
        else:
            lines.append(_entry(f"  {key}: ", value, found.sources.get(key, "")))
    lines += ["  {}"] if not given else []
    lines += [f"  # left out: {shown(' '.join(clause.split()), 300)}" for clause in found.left_out]
    return "\n".join(lines) + "\n"


def _entries(key: str, entries: Sequence[tuple[str, object, str]]) -> list[str]:
    places = {place for _, _, place in entries}
    first = _comment(f"  {key}:", places.pop()) if len(places) == 1 else f"  {key}:"
    return [first, *(_entry(start, item, "" if "#" in first else place) for start, item, place in entries)]


def _entry(start: str, value: object, source: str) -> str:
    lines = str(value).split("\n")
    if (
        len(lines) > 1
        and not lines[0][:1].isspace()
        and all(one and one.isprintable() for one in map(str.rstrip, lines))
    ):
        indent = " " * (len(start) - len(start.lstrip()) + 2)
        return "\n".join([_comment(f"{start}|-", source), *(f"{indent}{line}" for line in lines)])
    return _comment(start + _scalar(value), source)


def _scalar(value: object) -> str:
    text = str(value)
    unlike = text.endswith(" ") or text.lower() in _MEANING
    is_plain = isinstance(value, str) and not unlike and _PLAIN.fullmatch(text)
    return text if is_plain else json.dumps(value)


def _comment(line: str, source: str) -> str:
    return f"{line}  # {shown(' '.join(source.split()), 300)}" if source else line
