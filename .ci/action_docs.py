"""Writes the tables of inputs and outputs in docs/action.md from action.yml: ``python .ci/action_docs.py``."""

import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "action.md"


def tables(action: dict[str, Any]) -> dict[str, str]:
    """Return the Markdown of each table, by the name of its marks."""
    inputs = [f"| `{name}` | {_default(field)} | {field['description']} |" for name, field in action["inputs"].items()]
    outputs = [f"| `{name}` | {field['description']} |" for name, field in action["outputs"].items()]
    return {
        "inputs": "\n".join(["| input | default | |", "|---|---|---|", *inputs]),
        "outputs": "\n".join(["| output | |", "|---|---|", *outputs]),
    }


def written(page: str, action: dict[str, Any]) -> str:
    """Return ``page`` with its tables as ``action`` has them."""
    for name, table in tables(action).items():
        begin, end = f"<!-- {name}: generated from action.yml -->\n", f"<!-- end of {name} -->"
        head, marked, rest = page.partition(begin)
        _, ended, tail = rest.partition(end)
        if not marked or not ended:
            raise SystemExit(f"{PAGE} has no marks for the table of {name}")
        page = f"{head}{begin}{table}\n{end}{tail}"
    return page


def _default(field: dict[str, Any]) -> str:
    return f"`{field['default']}`" if "default" in field else ""


if __name__ == "__main__":
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(written(page, action), encoding="utf-8")
    sys.exit(0)
