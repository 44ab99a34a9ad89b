"""The programs that are sent into sandboxes, as texts."""

import ast
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

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
    assert (text.count("class Channel:"), text.count("class Run:")) == (1, 1)
    assert text.index("class Channel:") < text.index("class Run:") < text.index("def make_result_class(")


def test_many_watched_files_are_compared_in_one_pass(tmp_path: Path) -> None:
    content, kept = b"x" * 2_000, [f"test_{number}.py" for number in range(3)]
    for name in kept:
        (tmp_path / name).write_bytes(content)
    names = [*kept, *(f"gone_{number}.py" for number in range(20_000))]
    given = b"".join(b"%s\0%d 0 %d\0%s" % (name.encode(), len(content), len(content), content) for name in names)
    program, (answers, sink) = driver_command("watched_driver", {}).argv[5], os.pipe()
    subprocess.run(  # if each file copied the rest, 20 000 times 20 MB took minutes
        [sys.executable, "-I", "-S", "-B", "-c", program, str(sink)],
        input=given, cwd=tmp_path, pass_fds=[sink], check=True, timeout=30,
    )  # fmt: skip
    os.close(sink)
    with os.fdopen(answers, "rb") as records:
        assert records.read().decode().split("\0")[:-1] == names[3:23]
