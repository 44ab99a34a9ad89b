"""All problems that are written down as the fields of a project, by its id."""

from collections.abc import Mapping
from typing import Any, Final

from tests.redteam.grader.sources.checks import CHECKS
from tests.redteam.grader.sources.forms import FORMS
from tests.redteam.grader.sources.habits import HABITS
from tests.redteam.grader.sources.javascript_forms import NODE_FORMS

PARTS: Final[tuple[Mapping[str, dict[str, Any]], ...]] = (FORMS, HABITS, CHECKS, NODE_FORMS)
SHAPES: Final[Mapping[str, dict[str, Any]]] = {name: fields for part in PARTS for name, fields in part.items()}
