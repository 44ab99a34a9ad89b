from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.durable import sha256
from codegate.environments import Recipe, environment_of
from codegate.grading import Sandboxes
from codegate.grading.drivers import driver_source
from codegate.mining.proving import leak
from codegate.mining.proving.leak import audit, audit_tree, own_modules, own_names
from codegate.sandbox import Command, EnvironmentRecipe, Sandbox, SandboxError
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import EnvironmentManifest, LeakAudit, ProblemLimits, Tree, TreeFile

FIX = "def answer(question):\n    if question is None:\n        return fallback_answer(question)\n    return 42\n"
HIDDEN = "import pkg\n\n\ndef test_answer_to_nothing():\n    assert pkg.answer(None) == 'no question at all'\n"


def _files(content: Mapping[str, str]) -> dict[str, TreeFile | None]:
    return {path: TreeFile(text.encode()) for path, text in content.items()}


def _tree(content: Mapping[str, str]) -> Tree:
    return Tree().overlay(_files(content))


class TestTree:
    def _audit(self, base: Mapping[str, str], fix: str = FIX) -> LeakAudit:
        return audit_tree(
            _tree({"pkg.py": "x = 1\n", **base}), _files({"test_pkg.py": HIDDEN}), _files({"pkg.py": fix})
        )

    def test_an_honest_tree_is_clean(self) -> None:
        assert self._audit({"other.py": "def answer(question):\n    return 42\n"}).clean

    def test_a_copy_of_the_fix_is_found(self) -> None:
        found = self._audit({"build/lib/pkg.py": FIX})
        assert found.fix_lines == 3
        assert found.findings == ("build/lib/pkg.py has 3 of the 3 distinctive lines of the fix",)

    def test_a_patch_of_the_fix_is_not_taken_for_its_lines_but_a_hidden_test_is_found_anywhere(self) -> None:
        found = self._audit({"docs/example.txt": HIDDEN})
        assert (found.hidden_files, found.fix_lines) == (1, 0)
        assert not found.clean

    def test_one_line_in_common_is_no_copy(self) -> None:
        assert self._audit({"other.py": "    return fallback_answer(question)\n"}).clean


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ({"pyproject.toml": "[project]\nname = 'Some.Thing'\n"}, ("some-thing",)),
        ({"pyproject.toml": "[tool.poetry]\nname = 'thing'\n"}, ("thing",)),
        ({"setup.cfg": "[metadata]\nname = thing\n"}, ("thing",)),
        ({"setup.py": "from setuptools import setup\nsetup(name='thing', packages=['other'])\n"}, ("thing",)),
        ({"setup.py": "NAME = 'thing'\nsetup(name=NAME)\n"}, ("thing",)),
        ({"package.json": '{"name": "@scope/thing"}'}, ("@scope/thing",)),
        ({"go.mod": "// x\nmodule example.org/thing\n"}, ("example.org/thing",)),
        ({"Cargo.toml": "[package]\nname = 'thing'\n"}, ("thing",)),
        ({"pyproject.toml": "[project", "setup.cfg": "name", "package.json": "[]", "go.mod": ""}, ()),
        ({}, ()),
    ],
)
def test_a_project_is_known_by_its_declarations(content: dict[str, str], names: tuple[str, ...]) -> None:
    assert own_names(_tree(content)) == names


@given(
    st.sampled_from(["pyproject.toml", "setup.cfg", "setup.py", "package.json", "go.mod", "Cargo.toml"]),
    st.binary(max_size=300),
)
def test_no_declaration_is_too_odd(path: str, data: bytes) -> None:
    assert isinstance(own_names(Tree({path: TreeFile(data)})), tuple)


def test_modules_are_the_first_part_of_the_fixes_paths() -> None:
    assert own_modules(_files({"src/pkg/a.py": "", "one.py": "", "web/x.js": "", "setup.py": ""})) == ("one.py", "pkg")


@pytest.mark.parametrize(
    "path",
    [
        "node_modules/own/package.json",
        "node_modules/previous/package.json",
        "node_modules/@a/previous/package.json",
        "mod/example.com/!own@v1.0.0/go.mod",
    ],
)
def test_a_release_is_found_under_whatever_name_it_is_installed(tmp_path: Path, path: str) -> None:
    driver: dict[str, Any] = {}
    exec(driver_source("leak_driver").removesuffix("main()\n"), driver)
    for file, text in {path: '{"name": "own"}', "node_modules/b/package.json": "[" * 9999}.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    found = driver["releases"](str(tmp_path), {"names": ["own", "example.com/Own"], "modules": []})
    assert found == [str(tmp_path / path.rpartition("/")[0])]
    assert driver["releases"](str(tmp_path), {"names": ["other"], "modules": []}) == []


@pytest.fixture(scope="module")
def sandboxes(bwrap_backend: BubblewrapBackend, recipe: EnvironmentRecipe) -> Iterator[Sandboxes]:
    found = Sandboxes(bwrap_backend, {"tests": recipe.lock})
    yield found
    found.close()


@pytest.mark.bwrap
class TestEnvironment:
    """``iniconfig`` comes with pytest: a project that its own environment holds a release of."""

    @contextmanager
    def _open(self, sandboxes: Sandboxes, recipe: EnvironmentRecipe) -> Iterator[Sandbox]:
        manifest = EnvironmentManifest(
            id="tests", python=recipe.python, lock="x.lock", lock_sha256=sha256(recipe.lock.encode()), rung="manual"
        )
        with sandboxes.open(manifest, ProblemLimits()) as sandbox:
            yield sandbox

    def _audit(
        self, sandbox: Sandbox, fix: str, name: str = "iniconfig", base: str = "x = 1\n", hidden: str = HIDDEN
    ) -> LeakAudit:
        path = f"src/{name}/__init__.py"
        tree = _tree({"pyproject.toml": f"[project]\nname = '{name}'\n", path: base})
        return audit(tree, _files({"test_pkg.py": hidden}), _files({path: fix}), sandbox)

    def test_only_a_release_that_may_have_the_fix_is_a_leak(
        self, sandboxes: Sandboxes, recipe: EnvironmentRecipe
    ) -> None:
        with self._open(sandboxes, recipe) as sandbox:
            assert self._audit(sandbox, FIX, name="unheard_of").clean
            assert self._audit(sandbox, FIX).clean  # the release has the file, without the fix
            released = self._audit(sandbox, "class SectionWrapper:\nclass IniConfig:\n")
            assert released.own_release
            assert "released copy" in released.findings[-1]
            assert released.fix_lines  # and the place where it has the fix
            assert self._audit(sandbox, "", base="x = 1\ny = 2\n").own_release  # a deletion: nobody can tell

    def test_what_lies_around_in_the_sandbox_is_found(self, sandboxes: Sandboxes, recipe: EnvironmentRecipe) -> None:
        program = (
            "import os, sys\n"
            "for path in ('/tmp/x/.git/objects/ab/' + 'c' * 38, '/tmp/x/.git/FETCH_HEAD', '/dev/shm/a.bundle'):\n"
            "    os.makedirs(os.path.dirname(path), exist_ok=True)\n"
            "    open(path, 'w').close()\n"
            "open('/tmp/hidden.py', 'w').write(sys.stdin.read())\n"
        )
        with self._open(sandboxes, recipe) as sandbox:
            assert sandbox.run(Command(("{python}", "-c", program), stdin=HIDDEN.encode())).ok
            found = self._audit(sandbox, FIX)
            assert (found.objects, found.hidden_files) == (3, 2)  # by its content, and by its lines
            assert sandbox.run(Command(("{python}", "-c", f"open('/tmp/f.py', 'w').write({FIX!r})"))).ok
            assert self._audit(sandbox, FIX).fix_lines == 3

    def test_an_audit_that_cannot_look_is_no_clean_one(
        self, sandboxes: Sandboxes, recipe: EnvironmentRecipe, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(leak, "_SECONDS", 0.001)
        with self._open(sandboxes, recipe) as sandbox, pytest.raises(SandboxError, match="did not end"):
            self._audit(sandbox, FIX)


@pytest.mark.bwrap
def test_what_a_compiler_left_counts_only_where_an_environment_was_built_from_a_tree(
    bwrap_backend: BubblewrapBackend,
) -> None:
    make = "printf 'order.go\\0cancel_order\\0restore_order' >\"$HOME/std.o\""
    environment = environment_of("hand", Recipe(setup=(make,)), "", day=date(2026, 1, 1))
    tree, fix = (
        _tree({"order.go": "package order\n"}),
        _files({"order.go": "package order\ncancel_order restore_order\n"}),
    )
    with closing(Sandboxes(bwrap_backend, {})) as sandboxes:
        sandboxes.learn(environment)
        with sandboxes.open(environment.manifest, ProblemLimits()) as sandbox:
            assert audit(tree, {}, fix, sandbox).fix_lines
            assert audit(tree, {}, fix, sandbox, from_tree=False).clean
