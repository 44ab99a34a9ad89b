"""The compile and lint stages: what they count, and what cannot break them."""

import pytest

from codegate.grading import Sandboxes
from codegate.grading.grader import Inspection, inspect
from codegate.suite import Environment, ProblemLimits
from tests.grading.conftest import SandboxesWith
from tests.grading.worlds import LARGE, Files, tree
from tests.kit.environment import PLAIN, WITH_NODE
from tests.kit.problem import changes

pytestmark = pytest.mark.bwrap


class Inspector:
    """Inspects changes of small trees; ``used`` is the sandbox of the last one."""

    def __init__(self, sandboxes: Sandboxes, environment: Environment = PLAIN) -> None:
        self.sandboxes, self.environment = sandboxes, environment

    def inspect(self, base: Files, change: Files, *modules: str, limits: ProblemLimits | None = None) -> Inspection:
        chosen = limits or ProblemLimits(seconds=30, memory_mb=256)
        with self.sandboxes.lease(self.environment.manifest, chosen) as lease:
            self.used = lease.sandbox
            return inspect(lease, tree(base), changes(change), frozenset(modules))


@pytest.fixture(scope="module")
def inspector(sandboxes: Sandboxes) -> Inspector:
    """An inspector under bubblewrap."""
    return Inspector(sandboxes)


def _found(inspection: Inspection) -> tuple[int, int, tuple[str, ...]]:
    assert inspection.errors == {}
    assert inspection.lint is not None
    return inspection.lint.new_findings, inspection.lint.score, inspection.lint.rules


@pytest.mark.requirement("G3")
def test_findings_are_counted_against_the_base(inspector: Inspector) -> None:
    before = {"a.py": "import os\nimport sys\nx == None\n", "b.py": "import re\n"}
    assert _found(inspector.inspect(before, {"a.py": "import os\nimport sys\nx == None\ny = 1\n"})) == (0, 100, ())
    after = {"a.py": "import os\nx == None\n", "b.py": "import re\nimport json\nimport abc\n", "c.py": "z()\n"}
    # One import went and two came, and a name that is not defined is in the new file.
    assert _found(inspector.inspect(before, after)) == (2, 80, ("F401", "F821"))
    assert _found(inspector.inspect(before, {"a.py": None, "README.md": "x"})) == (0, 100, ())
    many = "".join(f"import m{number}\n" for number in range(30))
    assert _found(inspector.inspect(before, {"new.py": many})) == (30, 0, ("F401",))


def test_a_patch_in_a_language_without_a_linter_has_no_lint_result(inspector: Inspector) -> None:
    assert inspector.inspect({"a.go": "package a\n"}, {"a.go": "package a\n\nvar b int\n"}) == Inspection()


def test_a_patch_cannot_silence_the_linter(inspector: Inspector) -> None:
    quiet = {
        "pyproject.toml": "[tool.ruff]\nexclude = ['*']\n",
        "ruff.toml": "exclude = ['*']\n",
        ".gitignore": "*\n",
        "a.py": "# ruff: noqa\nimport os  # noqa\n",
        "build/b.py": "import os\n",
        "node_modules/c.pyi": "import os\n",
    }
    assert _found(inspector.inspect({}, quiet)) == (3, 70, ("F401",))


def test_files_of_every_encoding_compile(inspector: Inspector) -> None:
    change: Files = {
        "latin.py": "# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"),
        "japanese.py": "# coding: shift_jis\nx = '日本'\n".encode("shift_jis"),
        "bom.py": b"\xef\xbb\xbfx = 1\n",
        "windows.py": b"x = 1\r\ny = 2\r\n",
        "größe.py": "größe = 1\n",
        "raw\udcff.py": "x = 1\n",
        "empty.py": "",
        "many.pyi": "x: int\n",
    }
    assert _found(inspector.inspect({}, change))[0] == 0


@pytest.mark.parametrize(
    "data",
    [b"x = '\xe9'\n", b"# coding: latin-1\n# \xe9\nx = (\n", b"# coding: nothing\n", b"# coding: hex\n", b"x = 1\0\n"],
)
def test_what_does_not_decode_does_not_compile(inspector: Inspector, data: bytes) -> None:
    found = inspector.inspect({"ok.py": "x = 1\n"}, {"ok.py": "x = 2\n", "pkg/bad.py": data})
    assert list(found.errors) == ["pkg/bad.py"]


def test_a_file_that_never_compiled_is_not_the_patch_s_fault(inspector: Inspector) -> None:
    template = "import {{ cookiecutter.name }}\n{% if x %}\n"
    assert inspector.inspect({"t.py": template}, {"t.py": template + "{% endif %}\n"}).errors == {}
    assert list(inspector.inspect({}, {"t.py": template}).errors) == ["t.py"]


@pytest.mark.parametrize(
    "source",
    [
        "(" * 100_000,
        "x = " + "-" * 200_000 + "1\n",
        "x = " + "1 + " * 200_000 + "1\n",
        "x" + ".y" * 200_000 + "\n",
        "x = " + "[" * 190 + "]" * 190 + "\n",
        "def f():\n" + "".join(f"{' ' * depth}if x:\n" for depth in range(1, 99)) + " " * 99 + "y\n",
        "x = (" + "'a' " * 100_000 + ")\n",
        "x = 1\n" * 500_000,
    ],
    ids=["brackets", "signs", "sums", "dots", "lists", "blocks", "words", "lines"],
)
def test_a_file_that_is_too_much_for_the_compiler(inspector: Inspector, source: str) -> None:
    small = ProblemLimits(seconds=30, memory_mb=128)
    found = inspector.inspect({}, {"a.py": "x = 1\n", "bomb.py": source, "z.py": "x = 1\n"}, limits=small)
    assert set(found.errors) <= {"bomb.py"}


def test_two_hundred_files(inspector: Inspector) -> None:
    base = {f"pkg/m{number}.py": "import os\n" for number in range(200)}
    change = {path: text + "import re\n" for path, text in base.items()}
    assert _found(inspector.inspect(base, change)) == (200, 0, ("F401",))


def test_a_linter_that_gives_no_answer_is_no_result(inspector: Inspector) -> None:
    """The base's file is too large for the linter's memory; only the linter reads it."""
    huge = "x = 1\n" * 1_500_000
    tight = ProblemLimits(seconds=30, memory_mb=128)
    found = inspector.inspect({"a.py": huge}, {"a.py": "import os\n"}, limits=tight)
    assert (found.errors, found.lint) == ({}, None)


def test_a_sandbox_serves_until_something_goes_wrong_in_it(inspector: Inspector) -> None:
    assert _found(inspector.inspect({}, {"first.py": "import os\n"}))[0] == 1
    first = inspector.used
    assert _found(inspector.inspect({}, {"second.py": "import os\n"}))[0] == 1  # and nothing of the first
    assert inspector.used is first
    assert inspector.inspect({}, {"bomb.py": "x = 1\n" * 5_000_000}).errors
    assert _found(inspector.inspect({}, {"third.py": "x = 1\n"}))[0] == 0
    assert inspector.used is not first


def test_new_modules_that_the_environment_has(inspector: Inspector) -> None:
    found = inspector.inspect({}, {"pluggy/__init__.py": "", "shop.py": ""}, "pluggy", "shop", "bin")
    assert found.shadowed == ("pluggy",)
    assert inspector.inspect({}, {"shop.py": ""}, "shop").shadowed == ()


def test_a_script_that_no_longer_compiles_is_an_error_and_none_is_linted(sandboxes_with: SandboxesWith) -> None:
    fine = {
        "module.js": "import x from 'y'; export default await x;\n",
        "common.js": "#!/usr/bin/env node\nconst x = require('y'); return;\n",
        "typed.ts": "enum A { B }\nexport const f = <T>(x: T): T => x!;\n",
    }
    broken = {"a.js": "const = 1;\n", "b.ts": "const x: = 1;\n", "c.mjs": "export {\n"}
    before = {"a.js": "1;\n", "b.ts": "let x: number;\n", "c.mjs": "export {};\n", "jsx.js": "x = <a/>;\n"}
    after = {**fine, **broken, "jsx.js": "y = <b/>;\n", "new.js": "z = <c/>;\n"}
    inspector = Inspector(sandboxes_with(WITH_NODE), WITH_NODE)
    found = inspector.inspect({**before, **dict.fromkeys(fine, ";\n")}, after, limits=LARGE)
    assert set(found.errors) == set(broken), "only what used to compile can fail to"
    assert "SyntaxError" in found.errors["a.js"]
    assert found.lint is None
