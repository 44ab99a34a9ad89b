"""JSON Schemas of a suite's files, generated from their types.

``python -m codegate.suite.schema FOLDER`` writes them; ``docs/schema/`` holds the ones of this version.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from codegate.durable import write_atomic
from codegate.suite.model import StoredProblemManifest, SuiteManifest, TestSets
from codegate.suite.proved import ProvedPlaces

_MODELS: Final[dict[str, tuple[type[BaseModel], str]]] = {
    "suite": (SuiteManifest, "suite.yml: a suite's name, environments and list of problems."),
    "problem": (StoredProblemManifest, "problems/<id>/problem.yml: one stripped bug fix."),
    "proved": (ProvedPlaces, "proved.json: on which sandboxes `codegate validate` has proved the suite."),
    "tests": (TestSets, "problems/<id>/tests.json: the hidden tests by what they must do."),
}


def schemas() -> dict[str, dict[str, Any]]:
    """Return the suite files' JSON Schemas (draft 2020-12), by kind."""
    found = {}
    for name, (model, title) in _MODELS.items():
        schema = model.model_json_schema(by_alias=True)
        del schema["title"], schema["description"]
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
        found[name] = {**head, **{key: _without_titles(value) for key, value in schema.items()}}
    return found


def _without_titles(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_titles(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_titles(entry) for key, entry in value.items() if not (key == "title" and isinstance(entry, str))
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/schema")
    for name, schema in schemas().items():
        write_atomic(folder / f"{name}.schema.json", json.dumps(schema, indent=2, ensure_ascii=False).encode() + b"\n")
