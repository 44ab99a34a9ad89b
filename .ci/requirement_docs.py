"""Writes docs/requirements.md: each requirement of tests/requirements.yml, and the tests that name its id.

``python .ci/requirement_docs.py``, or ``-`` to print it. Tests are read, not run.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "requirements.md"
SOURCE = "https://github.com/codegate-ci/codegate/blob/main"
HEAD = """\
# Requirements

What codegate has to do, and the tests that show it. Tests name the ids with
`@pytest.mark.requirement("G1")`; `make schema` writes this page from them and from `tests/requirements.yml`. What is
not shown by a test, or only in part, is marked as open.
"""


def named(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the ids that a file's tests name, each with the name of the test."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    methods = [node for each in body if isinstance(each, ast.ClassDef) for node in each.body]
    for node in [*body, *methods]:
        for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else []:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.requirement":
                yield from ((ast.literal_eval(argument), node.name) for argument in mark.args)


def written() -> str:
    """Return the page."""
    groups = yaml.safe_load((ROOT / "tests" / "requirements.yml").read_text(encoding="utf-8"))
    tests: dict[str, list[str]] = {name: [] for group in groups.values() for name in group}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, test in named(file):
            if name not in tests:
                raise SystemExit(f"{file}: {test} names {name}, which is not in tests/requirements.yml")
            path = file.relative_to(ROOT)
            words = test.removeprefix("test_").replace("_", " ")
            tests[name].append(f"[{words}]({SOURCE}/{path})")
    lines = [HEAD]
    for title, group in groups.items():
        lines += [f"## {title}\n", "| id | codegate | shown by |", "|---|---|---|"]
        for name, entry in group.items():
            missing = entry.get("open") or ("" if tests[name] else "no test shows it")
            shown = [*tests[name], *([f"**open: {missing}**"] if missing else [])]
            lines.append(f"| {name} | {entry['text']} | {'<br>'.join(shown)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] == ["-"]:
        sys.stdout.write(written())
    else:
        PAGE.write_text(written(), encoding="utf-8")
