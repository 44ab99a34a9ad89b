"""Read a repository's own templates of issues and pull requests."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from codegate.languages.syntax import decode
from codegate.suite import Tree
from codegate.suite.declared import mapping, nested_strings, read_plain_yaml

_TEMPLATE: Final = re.compile(r"(?:^|/)(?:issue|pull_request|merge_request)_templates?(?:/|\.md$)", re.IGNORECASE)
_MAX_FILES: Final = 50
_MAX_BYTES: Final = 1 << 16
#: Fields of a form that a person writes text in.
_WRITTEN: Final = frozenset({"textarea", "markdown"})


@dataclass(frozen=True)
class Template:
    """Text that a repository's templates put into people's issues.

    Attributes:
        lines: lines that have words, with one blank between words.
        choices: labels of a form's fields whose answers are no prose.
    """

    lines: frozenset[str] = frozenset()
    choices: frozenset[str] = frozenset()

    def __contains__(self, line: str) -> bool:
        return " ".join(line.split()) in self.lines


NO_TEMPLATE: Final = Template()


def template_of(tree: Tree) -> Template:
    """Return the lines and choices of the templates in ``tree``."""
    lines: set[str] = set()
    choices: set[str] = set()
    paths = [path for path, file in tree.items() if _TEMPLATE.search(path) and len(file.data) <= _MAX_BYTES]
    for path in paths[:_MAX_FILES]:
        if path.endswith((".yml", ".yaml")):
            form = read_plain_yaml(tree, path)
            lines |= set(_lines("\n".join(nested_strings(form))))
            fields = form.get("body")
            for field in map(mapping, fields if isinstance(fields, list) else []):
                attributes = mapping(field.get("attributes"))
                if field.get("type") not in _WRITTEN or attributes.get("render"):
                    choices.add(str(attributes.get("label", "")).strip())
        else:
            lines |= set(_lines(decode(tree[path].data)))
    return Template(frozenset(lines), frozenset(choices))


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        # Marks of code and comments stay, or what follows them would be read as prose.
        if re.search(r"\w", line) and not re.search(r"^\s*(?:```|~~~)|<!--|-->", line):
            yield " ".join(line.split())
