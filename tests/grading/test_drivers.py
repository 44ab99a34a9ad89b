"""The programs that are sent into sandboxes, as texts."""

import ast
import sys
from importlib import resources

import pytest

from codegate.grading.drivers import driver_command
from codegate.languages import languages

PYTHON = "codegate.languages.python.drivers"
PLACES = ("codegate.grading", *(f"codegate.languages.{language.name}" for language in languages()))
PACKAGES = tuple(f"{place}.drivers" for place in PLACES if (resources.files(place) / "drivers").is_dir())
PROGRAMS = sorted(
    (package, file.name.removesuffix(".py"))
    for package in PACKAGES
    for file in resources.files(package).iterdir()
    if file.name.endswith("_driver.py") and file.read_text("utf-8").endswith("\nmain()\n")
)


@pytest.mark.parametrize(("package", "name"), PROGRAMS)
def test_a_program_is_whole_for_an_old_interpreter_without_codegate(package: str, name: str) -> None:
    text = driver_command(name, {}, package=package).argv[5]
    tree = ast.parse(text, feature_version=(3, 8))
    imported = {
        found.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for found in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
    }
    assert imported <= sys.stdlib_module_names | {"pytest", "_pytest"}
    assert len(text.encode()) < 128 << 10, "the kernel takes no longer argument"


def test_what_a_program_imports_comes_before_it_once() -> None:
    text = driver_command("unittest_driver", {}, package=PYTHON).argv[5]
    assert (text.count("class Channel:"), text.count("def explain(")) == (1, 1)
    assert text.index("class Channel:") < text.index("def explain(") < text.index("def make_result_class(")
