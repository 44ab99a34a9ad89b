"""Build environments by a project's own set-up, and freeze them.

A ``Recipe`` says how a project is set up and tested; it is written by hand or found in the project's own files. The
build runs it once with the package indexes in reach. Tests then run on the frozen result, without a network.
"""

from codegate.environments.build import BuildFailed, obtain_build
from codegate.environments.commands import holds_only_dependencies
from codegate.environments.find import find_recipes
from codegate.environments.inputs import inputs_of
from codegate.environments.locks import languages_of, project_parts
from codegate.environments.recipe import (
    FoundRecipe,
    Recipe,
    ServiceRecipe,
    command_words,
    environment_of,
    parse_recipe,
    recipe_of,
    recipe_yaml,
)
from codegate.environments.store import Built
from codegate.environments.tools import Has, is_obtainable, toolchain_check
from codegate.environments.travel import INDEX, SUFFIXES, export_built, import_built, prune_built, read_index
from codegate.environments.variables import VENV, index_secrets

__all__ = [
    "INDEX",
    "SUFFIXES",
    "VENV",
    "BuildFailed",
    "Built",
    "FoundRecipe",
    "Has",
    "Recipe",
    "ServiceRecipe",
    "command_words",
    "environment_of",
    "export_built",
    "find_recipes",
    "holds_only_dependencies",
    "import_built",
    "index_secrets",
    "inputs_of",
    "is_obtainable",
    "languages_of",
    "obtain_build",
    "parse_recipe",
    "project_parts",
    "prune_built",
    "read_index",
    "recipe_of",
    "recipe_yaml",
    "toolchain_check",
]
