"""How a validated change is written as a problem."""

import pytest

from codegate.mining.assemble import main_file
from codegate.suite import Language, TreeFile


@pytest.mark.parametrize(
    ("language", "path"), [("python", "tools/build.py"), ("go", "cmd/main.go"), ("junit", "web/data.json")]
)
def test_a_problem_is_about_the_largest_file_of_its_language(language: Language, path: str) -> None:
    sizes = {"tools/build.py": 9, "cmd/main.go": 10, "cmd/small.go": 5, "web/data.json": 99, "gone.go": 0}
    fix = {name: TreeFile(b"x" * size) if size else None for name, size in sizes.items()}

    assert main_file(fix, language) == path
