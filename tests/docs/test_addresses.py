"""Messages name pages of the documentation by their address: who installed the package has no docs/."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "codegate").rglob("*.py"))


def _strings(tree: ast.Module) -> Iterator[str]:
    """Yield the strings of a module that are no docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_message_names_a_file_that_the_package_does_not_have() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {text[:100]}"
        for path in MODULES
        for text in _strings(ast.parse(path.read_text("utf-8")))
        if re.search(r"(?<!/)\bdocs/[\w-]+\.md\b", text)
    ]
    assert found == []


PAGES = sorted(
    {page for path in MODULES for page in re.findall(r"\bdocumentation\(['\"](.+?)['\"]\)", path.read_text())}
)


@pytest.mark.parametrize("page", PAGES)
def test_each_address_in_a_message_is_of_a_page_and_of_a_heading(page: str) -> None:
    name, _, heading = page.partition("#")
    headings = re.findall(r"^#+ (.+)$", (ROOT / "docs" / name).read_text("utf-8"), re.MULTILINE)
    assert heading in {"", *(re.sub(r"[^\w-]", "", text.lower().replace(" ", "-")) for text in headings)}
